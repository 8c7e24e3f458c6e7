//! What is kept: users with their credentials, which credentials are known, and challenges.

use rialto_sdk::canonical::sha256_hex;
use rialto_sdk::documents::Collection;
use rialto_sdk::operators::Amount;
use rialto_webauthn::options;
use serde::{Deserialize, Serialize};

use crate::settings::Fido;

/// Users, by their owner and their id.
pub const USERS: Collection<User> = Collection::new("fido-users").with_elements_named_by(&["id"]);
/// Credentials of all users, by the SHA-256 of their ids: whose they are. They stay, so that none is registered twice.
pub const CREDENTIALS: Collection<Known> = Collection::new("fido-credentials");
/// Challenges, by their ids.
pub const CHALLENGES: Collection<Challenge> = Collection::new("fido-challenges");
/// When challenges expire, in the order of time.
pub const EXPIRIES: Collection<Expiry> = Collection::new("fido-expiries");

/// A user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct User {
    /// Whose the user is: `participant/<id>` or `program/<name>`.
    pub owner: String,
    /// The owner's id of the user.
    pub id: String,
    /// The name of the account, which authenticators show.
    pub name: String,
    /// The name of the person.
    pub display_name: String,
    /// What authenticators know the user by: 32 random bytes as base64url, so that it says nothing.
    pub handle: String,
    /// At most as many as [`super::CREDENTIALS_MAX`].
    pub credentials: Vec<Credential>,
    /// Challenges that may still be there, from the oldest on.
    pub challenges: Vec<Given>,
    /// When the user was first named: UTC, milliseconds since 1970.
    pub created_at: u64,
}

/// Whether a credential works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum State {
    /// It works.
    Active,
    /// Its counter was seen to go back. It no longer works.
    Suspect,
}

/// A credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Credential {
    /// Its id: base64url without padding.
    pub id: String,
    /// Its public key: SubjectPublicKeyInfo as PEM.
    pub public_key: String,
    /// The greatest counter that was seen.
    pub sign_count: u32,
    /// How browsers reach the authenticator.
    pub transports: Vec<String>,
    /// Whether it may be copied to the user's other devices.
    pub is_backup_eligible: bool,
    /// Whether it works.
    pub state: State,
    /// When it was registered: UTC, milliseconds since 1970.
    pub registered_at: u64,
    /// When it was last used: UTC, milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_at: Option<u64>,
}

/// A challenge that a user was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Given {
    /// Its id.
    pub id: String,
    /// What it is for.
    pub purpose: Purpose,
    /// When it expires: UTC, milliseconds since 1970.
    pub expires_at: u64,
}

/// When a challenge expires; the instant is in the document's key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Expiry {
    /// The challenge's id.
    pub challenge: String,
    /// The key of its user's document.
    pub user: String,
}

/// A credential that is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Known {
    /// The key of its user's document.
    pub user: String,
    /// Who has revoked it, and when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<Revoked>,
}

/// The end of a credential by an operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Revoked {
    /// The operator's name.
    pub by: String,
    /// When: UTC, milliseconds since 1970.
    pub at: u64,
}

/// What a challenge is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Purpose {
    /// Registering an authenticator.
    Register,
    /// Authenticating a user.
    Authenticate,
    /// Authorizing a transaction.
    Authorize,
}

/// A challenge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Challenge {
    /// A UUID.
    pub id: String,
    /// What it is for.
    pub purpose: Purpose,
    /// Whose the user is.
    pub owner: String,
    /// The owner's id of the user.
    pub user: String,
    /// 32 random bytes as base64url.
    pub challenge: String,
    /// What it stands for, if it is for a transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction: Option<Transaction>,
    /// When it was given out: UTC, milliseconds since 1970.
    pub given_at: u64,
    /// When it expires: UTC, milliseconds since 1970.
    pub expires_at: u64,
    /// What has used it up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
}

/// A transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Transaction {
    /// The transfer's id.
    pub transfer_id: String,
    /// How much.
    pub amount: Amount,
    /// To whom.
    pub payee: String,
}

/// What has used a challenge up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Spent {
    /// The SHA-256 of the response.
    pub response: String,
    /// What the response has led to; none if it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// What a verified response has led to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Outcome {
    /// The credential's id.
    pub credential: String,
    /// Whether the authenticator has verified the user.
    pub user_verified: bool,
    /// When: UTC, milliseconds since 1970.
    pub at: u64,
}

/// The key of a user's document. An id has no slash, so no two users have the same key.
#[must_use]
pub fn user_key(owner: &str, id: &str) -> String {
    format!("{owner}/{id}")
}

/// The key of the expiry of a challenge (UTC, milliseconds since 1970). With an empty id it comes before all of the instant.
#[must_use]
pub fn expiry_key(at: u64, challenge: &str) -> String {
    format!("{at:020}/{challenge}")
}

/// The key of a known credential's document. Ids may be longer than keys.
#[must_use]
pub fn credential_key(id: &str) -> String {
    sha256_hex(id.as_bytes())
}

impl User {
    /// The credentials that work.
    pub fn working(&self) -> impl Iterator<Item = &Credential> {
        let all = self.credentials.iter();
        all.filter(|credential| credential.state == State::Active)
    }

    /// The credentials that work, as browsers are told them. An authenticator with one that does not may register again.
    pub fn known(&self) -> impl Iterator<Item = options::Known<'_>> {
        self.working().map(|credential| options::Known {
            id: &credential.id,
            transports: &credential.transports,
        })
    }
}

impl Challenge {
    /// The challenge as browsers are told it.
    #[must_use]
    pub const fn told(&self, party: &Fido) -> options::Challenge<'_> {
        options::Challenge {
            bytes: self.challenge.as_str(),
            seconds: party.challenge_seconds,
        }
    }
}

//! The sessions and personal tokens of operators. Their secrets are not stored, only the hashes of them.

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;

/// What a credential is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialKind {
    /// The session of a person who has signed in.
    Session,
    /// A token that a person has made for scripts.
    Token,
}

impl CredentialKind {
    /// In one word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Token => "token",
        }
    }

    /// The kind of this word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        [Self::Session, Self::Token]
            .into_iter()
            .find(|kind| kind.word() == word)
    }
}

/// A session or a personal token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// Its public name.
    pub id: String,
    /// The SHA-256 of its secret.
    pub hash: [u8; 32],
    /// What it is.
    pub kind: CredentialKind,
    /// The operator of `rialto.toml` for whom it was made.
    pub operator: String,
    /// The operator's person then.
    pub person: String,
    /// The person's subject at the issuer then; none for an operator without one.
    pub subject: Option<String>,
    /// What it is for, in its maker's words.
    pub label: String,
    /// Its roles; none for all that the operator has.
    pub roles: Option<Vec<String>>,
    /// When it was made.
    pub made: Timestamp,
    /// When it ends.
    pub expires: Timestamp,
}

/// Keeps the sessions and personal tokens of operators.
pub trait CredentialStore {
    /// Keep a credential.
    ///
    /// # Errors
    /// When its id or its hash is taken, or the store cannot write or belongs to a newer host.
    fn add_credential(&self, credential: &Credential) -> Result<(), StoreError>;
    /// Remove a credential, if it is there.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn remove_credential(&self, id: &str) -> Result<(), StoreError>;
    /// All credentials, in the order of their ids.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn credentials(&self) -> Result<Vec<Credential>, StoreError>;
}

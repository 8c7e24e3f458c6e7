//! Transactions that a participant's user authorizes with a FIDO authenticator (`/app-fido-authorize`). Security (crypto)
//! keeps the users, whom the participant has registered, and verifies the authenticators.

use rialto_sdk::operators::{Amount, Answer, Kind, Problem};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::bindings::rialto::security_crypto::fido::{
    Authorized, Begun, FidoError, Owner, OwnerKind, Transaction,
};

/// Who verifies authenticators: Security (crypto), or a test.
pub trait Authenticators {
    /// Begins to authorize a transaction.
    ///
    /// # Errors
    /// As Security (crypto) says.
    fn begin(
        &mut self,
        owner: &Owner,
        user: &str,
        transaction: &Transaction,
    ) -> Result<Begun, FidoError>;
    /// Verifies the response of the user's authenticator.
    ///
    /// # Errors
    /// As Security (crypto) says.
    fn finish(
        &mut self,
        owner: &Owner,
        challenge: &str,
        credential: &str,
        expected: &Transaction,
    ) -> Result<Authorized, FidoError>;
}

/// A body that begins (`user`) or finishes (`id`, `credential`).
#[derive(Debug, Deserialize)]
pub struct Asked {
    participant: String,
    user: Option<AskedUser>,
    id: Option<String>,
    credential: Option<Value>,
    transaction: AskedTransaction,
}

#[derive(Debug, Deserialize)]
struct AskedUser {
    id: String,
}

/// A transaction, as it is asked for and told.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AskedTransaction {
    transfer_id: String,
    amount: Amount,
    payee: String,
}

impl From<AskedTransaction> for Transaction {
    fn from(asked: AskedTransaction) -> Self {
        Self {
            transfer_id: asked.transfer_id,
            amount: asked.amount.amount,
            currency: asked.amount.currency,
            payee: asked.payee,
        }
    }
}

impl From<Transaction> for AskedTransaction {
    fn from(told: Transaction) -> Self {
        Self {
            transfer_id: told.transfer_id,
            amount: Amount {
                currency: told.currency,
                amount: told.amount,
            },
            payee: told.payee,
        }
    }
}

/// Begin or finish. The finish names the transaction too, so that a caller never takes an authorization of something else
/// for this one.
///
/// # Errors
/// When the body does neither, or as Security (crypto) says.
pub fn authorize(world: &mut impl Authenticators, asked: Asked) -> Result<Answer, Problem> {
    let owner = Owner {
        kind: OwnerKind::Participant,
        name: asked.participant,
    };
    let transaction = Transaction::from(asked.transaction);
    let answer = match (asked.user, asked.id, asked.credential) {
        (Some(user), None, None) => {
            let begun = world.begin(&owner, &user.id, &transaction)?;
            // JSON that Security (crypto) has made.
            let options: Value = serde_json::from_str(&begun.public_key).unwrap_or_default();
            let body =
                json!({ "id": begun.id, "publicKey": options, "expiresAt": begun.expires_at });
            Answer::json(201, &body)
        }
        (None, Some(id), Some(credential)) => {
            let credential = credential.to_string();
            let done = world.finish(&owner, &id, &credential, &transaction)?;
            let body = json!({
                "participant": owner.name,
                "user": done.user,
                "credential": done.credential,
                "transaction": AskedTransaction::from(done.transaction),
                "authorizedAt": done.authorized_at,
            });
            Answer::json(200, &body)
        }
        _ => {
            let detail = "a body begins with `user`, or finishes with `id` and `credential`";
            return Err(Problem::new(Kind::Malformed, detail));
        }
    };
    Ok(answer.with("cache-control", "no-store"))
}

rialto_sdk::words_fido_errors!(FidoError);

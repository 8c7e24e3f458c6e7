//! The operations over HTTP: one path each, whose body either begins or finishes. Users belong to the program that calls.

use rialto_sdk::operators::{Amount, Answer, Caller, Kind, Problem, Role};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    FidoError, begin_authentication, begin_authorization, begin_registration,
    finish_authentication, finish_authorization, finish_registration,
};
use crate::bindings::exports::rialto::security_crypto::fido::{
    Begun, Owner, OwnerKind, Transaction, User,
};
use crate::world::World;

/// A body that begins (`user`) or finishes (`id`, `credential`). The OpenAPI document has validated which.
#[derive(Debug, Deserialize)]
pub struct Asked {
    user: Option<AskedUser>,
    transaction: Option<AskedTransaction>,
    id: Option<String>,
    credential: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AskedUser {
    id: String,
    name: Option<String>,
    display_name: Option<String>,
}

#[derive(Debug, Deserialize)]
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

/// What a body asks for.
enum Step {
    Begin(AskedUser),
    Finish(String, String),
}

/// `/fido-register`.
///
/// # Errors
/// When the caller is no program, or as [`begin_registration`] and [`finish_registration`].
pub fn register(world: &mut impl World, caller: &Caller, asked: Asked) -> Result<Answer, Problem> {
    let owner = owner(caller)?;
    Ok(match step(asked.user, asked.id, asked.credential)? {
        Step::Begin(user) => {
            let name = user.name.unwrap_or_default();
            let user = User {
                id: user.id,
                display_name: user.display_name.unwrap_or_else(|| name.clone()),
                name,
            };
            begun(begin_registration(world, &owner, &user)?)
        }
        Step::Finish(id, credential) => {
            let done = finish_registration(world, &owner, &id, &credential)?;
            finished(&json!({
                "user": done.user,
                "credential": done.credential,
                "registeredAt": done.registered_at,
            }))
        }
    })
}

/// `/fido-authenticate`.
///
/// # Errors
/// When the caller is no program, or as [`begin_authentication`] and [`finish_authentication`].
pub fn authenticate(
    world: &mut impl World,
    caller: &Caller,
    asked: Asked,
) -> Result<Answer, Problem> {
    let owner = owner(caller)?;
    Ok(match step(asked.user, asked.id, asked.credential)? {
        Step::Begin(user) => begun(begin_authentication(world, &owner, &user.id)?),
        Step::Finish(id, credential) => {
            let done = finish_authentication(world, &owner, &id, &credential)?;
            finished(&json!({
                "user": done.user,
                "credential": done.credential,
                "userVerified": done.user_verified,
                "authenticatedAt": done.authenticated_at,
            }))
        }
    })
}

/// `/fido-authorize`.
///
/// # Errors
/// When the caller is no program, or as [`begin_authorization`] and [`finish_authorization`].
pub fn authorize(world: &mut impl World, caller: &Caller, asked: Asked) -> Result<Answer, Problem> {
    let owner = owner(caller)?;
    let transaction = asked.transaction.map(Transaction::from);
    Ok(match step(asked.user, asked.id, asked.credential)? {
        Step::Begin(user) => {
            let transaction = transaction.ok_or_else(|| {
                let detail = "`transaction` says what is to be authorized";
                Problem::new(Kind::Malformed, detail)
            })?;
            begun(begin_authorization(world, &owner, &user.id, &transaction)?)
        }
        Step::Finish(id, credential) => {
            let done = finish_authorization(world, &owner, &id, &credential, transaction.as_ref())?;
            let transaction = done.transaction;
            finished(&json!({
                "user": done.user,
                "credential": done.credential,
                "transaction": {
                    "transferId": transaction.transfer_id,
                    "amount": { "currency": transaction.currency, "amount": transaction.amount },
                    "payee": transaction.payee,
                },
                "authorizedAt": done.authorized_at,
            }))
        }
    })
}

fn owner(caller: &Caller) -> Result<Owner, Problem> {
    caller.needs(Role::Context)?;
    Ok(Owner {
        kind: OwnerKind::Program,
        name: caller.name.clone(),
    })
}

fn step(
    user: Option<AskedUser>,
    id: Option<String>,
    credential: Option<Value>,
) -> Result<Step, Problem> {
    match (user, id, credential) {
        (Some(user), None, None) => Ok(Step::Begin(user)),
        (None, Some(id), Some(credential)) => Ok(Step::Finish(id, credential.to_string())),
        _ => {
            let detail = "a body begins with `user`, or finishes with `id` and `credential`";
            Err(Problem::new(Kind::Malformed, detail))
        }
    }
}

fn begun(begun: Begun) -> Answer {
    // The options are JSON that this component has made.
    let options: Value = serde_json::from_str(&begun.public_key).unwrap_or_default();
    let body = json!({ "id": begun.id, "publicKey": options, "expiresAt": begun.expires_at });
    Answer::json(201, &body).with("cache-control", "no-store")
}

fn finished(body: &Value) -> Answer {
    Answer::json(200, body).with("cache-control", "no-store")
}

rialto_sdk::words_fido_errors!(FidoError);

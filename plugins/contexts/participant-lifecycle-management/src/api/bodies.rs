//! Bodies of requests. The OpenAPI document has validated their form; the kinds check the rest.

use crate::kinds::Asked;
use crate::requests::Kind;
use rialto_sdk::operators::{Kind as ProblemKind, Problem};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// The reason, and the change of an account if the path names one.
///
/// # Errors
/// If the body has another form.
pub fn asked(kind: Kind, account: Option<&str>, body: &str) -> Result<(String, Asked), Problem> {
    let mut members: Map<String, Value> = read(body)?;
    let reason = members.remove("reason");
    let reason = reason.as_ref().and_then(Value::as_str).unwrap_or_default();
    if let Some(account) = account {
        members.insert("accountId".to_owned(), json!(account));
    }
    let asked = json!({ "kind": kind.name(), "payload": members });
    let asked = serde_json::from_value(asked).map_err(|error| malformed(&error))?;
    Ok((reason.to_owned(), asked))
}

/// A body of this form.
///
/// # Errors
/// If it has another form.
pub fn read<T: DeserializeOwned>(body: &str) -> Result<T, Problem> {
    serde_json::from_str(body).map_err(|error| malformed(&error))
}

fn malformed(error: &serde_json::Error) -> Problem {
    Problem::new(ProblemKind::Malformed, format!("body: {error}"))
}

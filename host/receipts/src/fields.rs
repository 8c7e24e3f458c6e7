//! The fields of a receipt: the members of its JSON in their order, where those of its input are fields of their own
//! (`input.amount`), and the instant at which it was made (`at`).

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::disclosure::{FieldDigest, ReceiptHash, Salt, disclosure};

/// The member that has the salt. It is no field.
pub const SALT: &str = "salt";
/// The member whose members are fields.
pub const INPUT: &str = "input";
/// The field that has the instant: UTC, milliseconds since 1970.
pub const AT: &str = "at";
/// The field that has the digest of the whole input.
pub const INPUT_DIGEST: &str = "inputDigest";
/// Fields by which missing parts of the input could be guessed: whoever has the rule's component can ask it about each guess
/// and compare.
pub const TELL_OF_INPUT: [&str; 4] = [INPUT_DIGEST, "fuel", "branches", "tookUs"];
/// The field that says whether the receipt decided about the request. Without it, a verdict that decided nothing would look
/// like a decision.
pub const DECIDED: &str = "decided";
/// The field of a receipt about a draft. No such receipt is in an audit log.
pub const WHAT_IF: &str = "whatIf";

/// Why a receipt has no digests.
#[derive(Debug, thiserror::Error)]
pub enum Malformed {
    /// It is not JSON with members.
    #[error("the receipt is no JSON object: {0}")]
    Json(#[from] serde_json::Error),
    /// It was made without a salt.
    #[error("the receipt has no salt")]
    Unsalted,
}

/// The members of a JSON object, in their order.
#[derive(Default)]
struct Members<'b>(Vec<(Cow<'b, str>, &'b RawValue)>);

impl<'de: 'b, 'b> Deserialize<'de> for Members<'b> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(24);
                while let Some(Name(name)) = map.next_key()? {
                    members.push((name, map.next_value()?));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// A name that is borrowed if it has no escapes.
#[derive(Deserialize)]
struct Name<'b>(#[serde(borrow)] Cow<'b, str>);

/// Visit the fields of a receipt, each with its name and its value (JSON), and return its salt.
fn visit(body: &str, at: u64, mut visit: impl FnMut(&Salt, &str, &str)) -> Result<(), Malformed> {
    let Members(members) = serde_json::from_str(body)?;
    let salt = members.iter().find(|(name, _)| name == SALT);
    let salt = salt.and_then(|(_, value)| serde_json::from_str(value.get()).ok());
    let salt = salt.and_then(Salt::of_text).ok_or(Malformed::Unsalted)?;
    visit(&salt, AT, &at.to_string());
    for (name, value) in &members {
        match &**name {
            SALT => {}
            INPUT if value.get().starts_with('{') => {
                let Members(parts) = serde_json::from_str(value.get())?;
                for (part, value) in parts {
                    visit(&salt, &format!("{INPUT}.{part}"), value.get());
                }
            }
            name => visit(&salt, name, value.get()),
        }
    }
    Ok(())
}

/// The disclosures of all fields of a receipt. `at` is in milliseconds since 1970.
///
/// # Errors
/// When it is no JSON object, or has no salt.
pub fn disclosures(body: &str, at: u64) -> Result<Vec<String>, Malformed> {
    let mut all = Vec::with_capacity(32);
    let mut salts = None;
    visit(body, at, |salt, name, value| {
        let salts = salts.get_or_insert_with(|| salt.key());
        all.push(disclosure(salts, name, value));
    })?;
    Ok(all)
}

/// The digests of fields, and the hash of their receipt.
#[must_use]
pub fn summed(disclosures: &[String]) -> (Vec<FieldDigest>, ReceiptHash) {
    let digests: Vec<_> = disclosures.iter().map(|one| FieldDigest::of(one)).collect();
    let hash = ReceiptHash::of(&digests);
    (digests, hash)
}

/// The hash of a receipt. `at` is in milliseconds since 1970.
///
/// # Errors
/// When it is no JSON object, or has no salt.
pub fn hash(body: &str, at: u64) -> Result<ReceiptHash, Malformed> {
    Ok(summed(&disclosures(body, at)?).1)
}

//! The check of a receipt: its fields are those whose digests the audit log has, in an entry that a signed checkpoint covers.

use std::collections::BTreeMap;

use rialto_audit::proof::is_included;
use rialto_audit::{BadCheckpoint, Checkpoint, Hash, PublicKey};
use serde_json::value::RawValue;

use crate::disclosure::{FieldDigest, ReceiptHash, read};
use crate::fields::{DECIDED, INPUT, WHAT_IF};
use crate::log;
use crate::proof::{ReceiptProof, WhatIfReceipt};

/// The most fields of a receipt.
const FIELDS_MAX: usize = 1_000;

/// Why a receipt is not proven.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotProven {
    /// A part of the proof is not of the form.
    #[error("its {0} is malformed")]
    Malformed(&'static str),
    /// A field was changed or added.
    #[error("its field `{0}` was changed: the receipt has no such digest")]
    Field(String),
    /// Two fields have one name.
    #[error("its field `{0}` is there twice")]
    Twice(String),
    /// The entry does not have the receipt.
    #[error("entry {0} of the audit log does not have it")]
    NotInEntry(u64),
    /// The checkpoint does not cover the entry.
    #[error("its entry of the audit log was changed, or is not in the log of the checkpoint")]
    NotInLog,
    /// The receipt is about a draft.
    #[error("it is of a what-if, which decides nothing and is in no audit log")]
    WhatIf,
    /// The hash of a receipt about a draft is not that of its digests.
    #[error("its hash is not that of its fields")]
    Hash,
    /// A receipt does not say that it is about a draft, and decided nothing.
    #[error("it stands among what-ifs and is not marked as one")]
    Unmarked,
    /// Nobody to be believed has signed the checkpoint.
    #[error("its checkpoint cannot be believed: {0}")]
    Checkpoint(BadCheckpoint),
}

/// The fields of a receipt that have their digests.
#[derive(Debug)]
pub struct Disclosed {
    /// The fields that are there, by their names. Values are JSON.
    pub fields: BTreeMap<String, Box<RawValue>>,
    /// How many fields were taken away.
    pub redacted: usize,
    /// The input, as far as its parts are there: JSON with its members in their order. It is whole if its digest is the
    /// field `inputDigest`.
    pub input: String,
    /// The receipt's hash.
    pub hash: ReceiptHash,
}

impl Disclosed {
    /// A field; none if it was taken away, or is of another type.
    #[must_use]
    pub fn field<'v, T: serde::Deserialize<'v>>(&'v self, name: &str) -> Option<T> {
        serde_json::from_str(self.fields.get(name)?.get()).ok()
    }

    /// Whether it is about a draft, and decided nothing.
    #[must_use]
    pub fn is_what_if(&self) -> bool {
        self.fields.contains_key(WHAT_IF)
    }
}

/// A receipt whose proof holds.
#[derive(Debug)]
pub struct Verified {
    /// Its fields.
    pub receipt: Disclosed,
    /// The log's checkpoint.
    pub checkpoint: Checkpoint,
    /// Which of the keys has signed it.
    pub key: usize,
}

/// The fields of a receipt, if they are those of its digests.
fn disclosed(digests: &[String], disclosures: &[String]) -> Result<Disclosed, NotProven> {
    let digests = digests.iter().map(|text| FieldDigest::of_text(text));
    let digests: Option<Vec<FieldDigest>> = digests.collect();
    let digests = digests.filter(|all| (1..=FIELDS_MAX).contains(&all.len()));
    let digests = digests.ok_or(NotProven::Malformed("list of digests"))?;
    let mut found = BTreeMap::new();
    let mut input = Vec::new();
    for disclosure in disclosures {
        let (name, value) = read(disclosure).ok_or(NotProven::Malformed("disclosure"))?;
        let digest = FieldDigest::of(disclosure);
        let place = digests.iter().position(|one| *one == digest);
        let place = place.ok_or_else(|| NotProven::Field(name.clone()))?;
        let part = name.strip_prefix(INPUT);
        if let Some(part) = part.and_then(|rest| rest.strip_prefix('.')) {
            let member = serde_json::Value::from(part);
            input.push((place, format!("{member}:{}", value.get())));
        }
        if found.insert(name.clone(), value).is_some() {
            return Err(NotProven::Twice(name));
        }
    }
    input.sort();
    let members: Vec<String> = input.into_iter().map(|(_, member)| member).collect();
    let input = match found.get(INPUT) {
        Some(whole) => whole.get().to_owned(),
        None => format!("{{{}}}", members.join(",")),
    };
    Ok(Disclosed {
        redacted: digests.len() - found.len(),
        fields: found,
        input,
        hash: ReceiptHash::of(&digests),
    })
}

/// Verify a receipt by the public keys of its log.
///
/// # Errors
/// Why it is not proven.
pub fn verify(proof: &ReceiptProof, keys: &[PublicKey]) -> Result<Verified, NotProven> {
    let receipt = disclosed(&proof.digests, &proof.disclosures)?;
    if receipt.is_what_if() {
        return Err(NotProven::WhatIf);
    }
    if !log::has(&proof.entry, &receipt.hash) {
        return Err(NotProven::NotInEntry(proof.index));
    }
    let (key, checkpoint) = signed(&proof.checkpoint, keys)?;
    let path = proof.path.iter().map(|text| Hash::of_text(text));
    let path: Option<Vec<Hash>> = path.collect();
    let path = path.ok_or(NotProven::Malformed("path in the log"))?;
    let entry = Hash::of_entry(proof.entry.as_bytes());
    let log = (checkpoint.size, checkpoint.root);
    if !is_included(entry, proof.index, log, &path) {
        return Err(NotProven::NotInLog);
    }
    Ok(Verified {
        receipt,
        checkpoint,
        key,
    })
}

/// Look whether a receipt about a draft is whole: its fields are those of its digests, its hash is theirs, and it says itself
/// that it decided nothing. That says nothing about who has made it.
///
/// # Errors
/// Why it does not hold.
pub fn examine(draft: &WhatIfReceipt) -> Result<Disclosed, NotProven> {
    let receipt = disclosed(&draft.digests, &draft.disclosures)?;
    if receipt.hash.text() != draft.hash {
        return Err(NotProven::Hash);
    }
    if receipt.field(WHAT_IF) != Some(true) || receipt.field(DECIDED) != Some(false) {
        return Err(NotProven::Unmarked);
    }
    Ok(receipt)
}

/// A checkpoint, and which of the keys has signed it.
fn signed(note: &str, keys: &[PublicKey]) -> Result<(usize, Checkpoint), NotProven> {
    let mut last = BadCheckpoint::OtherKey;
    for (nth, key) in keys.iter().enumerate() {
        match Checkpoint::verified(note, key) {
            Ok(checkpoint) => return Ok((nth, checkpoint)),
            Err(BadCheckpoint::OtherKey) => {}
            Err(error) => last = error,
        }
    }
    Err(NotProven::Checkpoint(last))
}

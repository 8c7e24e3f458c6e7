//! Receipts in a file, each with its proof: what `rialto receipts ID --out` writes and `rialto receipts verify` reads.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::disclosure::{FieldDigest, read};
use crate::fields::{self, DECIDED, INPUT, Malformed, TELL_OF_INPUT, WHAT_IF};

/// What the file says that it is.
pub const FORMAT: &str = "rialto-receipts";
/// The version of its form.
pub const VERSION: u32 = 1;
/// The longest file that is read, in bytes.
pub const FILE_BYTES_MAX: u64 = 64 << 20;

/// Receipts with their proofs.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProofFile {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// The receipts.
    pub receipts: Vec<ReceiptProof>,
    /// Receipts about drafts, which decide about nothing. No audit log has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub what_ifs: Vec<WhatIfReceipt>,
    /// The settings of rules, by their digests.
    #[serde(default)]
    pub settings: BTreeMap<String, Box<RawValue>>,
    /// The scheme's facts as rules saw them, by their digests.
    #[serde(default)]
    pub schemes: BTreeMap<String, Box<RawValue>>,
    /// Receipts without a proof.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unproven: Vec<Unproven>,
}

/// A receipt, and the proof that the host has made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptProof {
    /// Its number in the store it is from. It is for people and is not proven.
    pub id: u64,
    /// The digests of all fields, in their order.
    pub digests: Vec<String>,
    /// The fields that were not taken away.
    pub disclosures: Vec<String>,
    /// The place of the entry in the audit log, from 0 on.
    pub index: u64,
    /// The entry of the audit log that has the receipt's hash: its bytes as text.
    pub entry: String,
    /// The proof that the entry is in the log (RFC 6962, 2.1.1): hashes in Base64, from the entry to the root.
    pub path: Vec<String>,
    /// The checkpoint of the log, a signed note.
    pub checkpoint: String,
}

/// A receipt about a draft: the verdict of a rule that has decided about nothing. One of its fields says so, and its hash is
/// over all fields. Nobody has signed it, and it is nowhere kept: it proves what its rule says when it is asked again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhatIfReceipt {
    /// Its hash: that of its digests.
    pub hash: String,
    /// The digests of all fields, in their order.
    pub digests: Vec<String>,
    /// The fields that were not taken away.
    pub disclosures: Vec<String>,
}

/// A receipt without a proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unproven {
    /// Its number in the store.
    pub id: u64,
    /// Why.
    pub why: Why,
}

/// Why a receipt has no proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// It was made while the host had no `[audit]`, or by an older version.
    Unsalted,
    /// No checkpoint covers its entry yet. One does within some seconds.
    Unsigned,
    /// The audit log has no entry with its hash: the receipt or the log was changed, or the entry's archive is missing.
    Unlogged,
    /// The entry with its hash is not the one that was signed.
    Changed,
    /// It is encrypted with the key of a person that was destroyed.
    Unreadable,
}

impl Why {
    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Unsalted => "it was made while the host had no [audit], or by an older version",
            Self::Unsigned => {
                "no checkpoint of the audit log covers it yet: try again in some seconds; `rialto audit verify` says whether checkpoints are signed"
            }
            Self::Unlogged => {
                "the audit log has no entry with its hash within an hour of it: the receipt or the log was changed, an archive of the log is missing, or the host's clock was wrong by more"
            }
            Self::Changed => {
                "its entry of the audit log is not the one that was signed: `rialto audit verify` names what differs"
            }
            Self::Unreadable => "it is encrypted with a key that was destroyed",
        }
    }
}

impl Default for ProofFile {
    fn default() -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            receipts: Vec::new(),
            what_ifs: Vec::new(),
            settings: BTreeMap::new(),
            schemes: BTreeMap::new(),
            unproven: Vec::new(),
        }
    }
}

/// Why a file is not one of receipts.
#[derive(Debug, thiserror::Error)]
pub enum NoProofs {
    /// It is not of the form.
    #[error("it is not a file of `rialto receipts ID --out`: {0}")]
    Malformed(#[from] serde_json::Error),
    /// It is of another version.
    #[error("it is a file of receipts of version {0}, and this rialto reads version {VERSION}")]
    Version(u32),
    /// It is of something else.
    #[error("it says that it is `{0}`, and not `{FORMAT}`")]
    Format(String),
}

impl ProofFile {
    /// Read a file.
    ///
    /// # Errors
    /// When it is not of this form.
    pub fn read(text: &str) -> Result<Self, NoProofs> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
            version: u32,
        }
        let Head { format, version } = serde_json::from_str(text)?;
        if format != FORMAT {
            return Err(NoProofs::Format(format));
        }
        if version != VERSION {
            return Err(NoProofs::Version(version));
        }
        Ok(serde_json::from_str(text)?)
    }

    /// Take fields away from all receipts, and settings and facts that no receipt names any more. With a part of the input
    /// go the fields by which it could be guessed. The fields that say whether the receipt decided, and whether it is about
    /// a draft, stay. Returns how many fields were taken away.
    pub fn redact(&mut self, names: &[String]) -> usize {
        let mut taken = 0;
        let mut named = Vec::new();
        let proven = self.receipts.iter_mut().map(|one| &mut one.disclosures);
        let what_ifs = self.what_ifs.iter_mut().map(|one| &mut one.disclosures);
        for disclosures in proven.chain(what_ifs) {
            let before = disclosures.len();
            disclosures.retain(|one| {
                let field = read(one);
                let goes = field
                    .as_ref()
                    .is_some_and(|(name, _)| is_named(name, names));
                if !goes && let Some((_, value)) = field {
                    named.push(value.get().trim_matches('"').to_owned());
                }
                !goes
            });
            taken += before - disclosures.len();
        }
        self.settings.retain(|digest, _| named.contains(digest));
        self.schemes.retain(|digest, _| named.contains(digest));
        taken
    }
}

/// Whether a field is taken away by these names. `input` names all its parts.
fn is_named(field: &str, names: &[String]) -> bool {
    if [DECIDED, WHAT_IF].contains(&field) {
        return false;
    }
    let is_input = |name: &String| {
        let rest = name.strip_prefix(INPUT);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    names.iter().any(|name| {
        let part = field.strip_prefix(name.as_str());
        part.is_some_and(|rest| rest.is_empty() || (name == INPUT && rest.starts_with('.')))
    }) || (TELL_OF_INPUT.contains(&field) && names.iter().any(is_input))
}

impl WhatIfReceipt {
    /// A receipt about a draft, with all its fields. `body` is the receipt's JSON; `at` is in milliseconds since 1970.
    ///
    /// # Errors
    /// When it is no JSON object, or has no salt.
    pub fn of(body: &str, at: u64) -> Result<Self, Malformed> {
        let disclosures = fields::disclosures(body, at)?;
        let (digests, hash) = fields::summed(&disclosures);
        Ok(Self {
            hash: hash.text(),
            digests: digests.iter().map(FieldDigest::text).collect(),
            disclosures,
        })
    }

    /// The names of the fields that were not taken away, in their order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        names(&self.disclosures)
    }
}

impl ReceiptProof {
    /// The names of the fields that were not taken away, in their order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        names(&self.disclosures)
    }
}

fn names(disclosures: &[String]) -> Vec<String> {
    let fields = disclosures.iter().filter_map(|one| read(one));
    fields.map(|(name, _)| name).collect()
}

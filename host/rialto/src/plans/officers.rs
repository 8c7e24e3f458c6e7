//! The officers of `rialto.toml`, and whose approvals of a plan count.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use data_encoding::BASE64URL_NOPAD;
use rialto_components::Digest;
use rialto_manifest::Operator;
use rialto_signatures::PersonKey;
use rialto_store_sqlite::PlanSignature;

use super::{PlanStatement, SIGNATURE_FORM, SignatureFile};

/// The kind of an approval that was made with a passkey.
pub const PASSKEY: &str = "passkey";

/// The officers, with their keys.
#[derive(Debug, Default)]
pub struct Officers {
    /// How many must sign; 0 without officers.
    needed: usize,
    /// Whether approvals need a passkey here. Elsewhere none counts.
    has_passkeys: bool,
    keys: BTreeMap<String, Option<PersonKey>>,
}

/// Why a signature does not count.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSigned {
    /// The file is of another form.
    #[error("the signature's file is of the form {0:?}, where {SIGNATURE_FORM:?} is taken")]
    Form(String),
    /// It is under another plan.
    #[error("the signature of {officer} is under the plan {found}, and this one is {wanted}")]
    OtherPlan {
        /// Who signed.
        officer: String,
        /// What was signed.
        found: Digest,
        /// What was to be signed.
        wanted: Digest,
    },
    /// Nobody of this name is an officer.
    #[error("{0} is no officer: rialto.toml names them, as in `[releases.officers.{0}]`")]
    NoOfficer(String),
    /// The officer has no key.
    #[error("{0} has no public key in rialto.toml, and so approves with a passkey")]
    NoKey(String),
    /// The officer has a key.
    #[error("{0} has a public key in rialto.toml, and so signs with it: `rialto plan sign FILE`")]
    HasKey(String),
    /// The officer has made the plan.
    #[error("{0} made the plan: other officers must sign it")]
    Maker(String),
    /// It does not verify.
    #[error(
        "the signature is none of the key that {0} has in rialto.toml: it may be of another key, or the plan may have changed"
    )]
    Wrong(String),
}

impl Officers {
    /// The officers of an operator's document.
    ///
    /// # Errors
    /// When a public key cannot be used.
    pub fn of(operator: &Operator) -> anyhow::Result<Self> {
        let wanted = &operator.releases;
        let mut keys: BTreeMap<String, Option<PersonKey>> = BTreeMap::new();
        for (name, officer) in &wanted.officers {
            let pem = officer.public_key.as_ref();
            let key = pem.map(|pem| PersonKey::of_pem(pem.as_str())).transpose();
            let key = key.with_context(|| {
                format!("the public key of the officer {name} in rialto.toml ([releases.officers.{name}])")
            })?;
            let same = key.as_ref().and_then(|key: &PersonKey| {
                let mut others = keys.iter();
                others.find(|(_, other): &(&String, &Option<PersonKey>)| {
                    other.as_ref().is_some_and(|other| other.is_same(key))
                })
            });
            if let Some((other, _)) = same {
                bail!(
                    "the officers {other} and {name} have the same public key in rialto.toml: one person could sign for two"
                );
            }
            keys.insert(name.to_string(), key);
        }
        let needed = wanted.signatures_needed();
        let passkeys = operator.passkeys.as_ref();
        let has_passkeys = passkeys.is_some_and(|passkeys| passkeys.required);
        Ok(Self {
            needed,
            has_passkeys,
            keys,
        })
    }

    /// How many must sign a plan; 0 if none is needed.
    #[must_use]
    pub const fn needed(&self) -> usize {
        self.needed
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.keys.keys().map(String::as_str)
    }

    /// Check that a person approves the plan of this maker with a passkey.
    ///
    /// # Errors
    /// When the person is no officer, has a key, or is the maker.
    pub fn approves_with_passkey(&self, person: &str, maker: &str) -> Result<(), NotSigned> {
        match self.keys.get(person) {
            None => Err(NotSigned::NoOfficer(person.to_owned())),
            Some(_) if person == maker => Err(NotSigned::Maker(person.to_owned())),
            Some(Some(_)) => Err(NotSigned::HasKey(person.to_owned())),
            Some(None) => Ok(()),
        }
    }

    /// Verify a signature's file under the plan of this digest and maker.
    ///
    /// # Errors
    /// When it does not count.
    pub fn verify(&self, file: &SignatureFile, plan: Digest, maker: &str) -> Result<(), NotSigned> {
        let officer = &file.officer;
        if file.form != SIGNATURE_FORM {
            return Err(NotSigned::Form(file.form.clone()));
        }
        if file.plan != plan {
            return Err(NotSigned::OtherPlan {
                officer: officer.clone(),
                found: file.plan,
                wanted: plan,
            });
        }
        let key = self.keys.get(officer);
        let key = key.ok_or_else(|| NotSigned::NoOfficer(officer.clone()))?;
        if officer == maker {
            return Err(NotSigned::Maker(officer.clone()));
        }
        let key = key
            .as_ref()
            .ok_or_else(|| NotSigned::NoKey(officer.clone()))?;
        let statement = PlanStatement { plan, officer }.bytes();
        let signature = BASE64URL_NOPAD.decode(file.signature.as_bytes());
        let holds = file.algorithm == key.scheme().name()
            && signature.is_ok_and(|signature| key.verifies(&statement, &signature));
        if holds {
            Ok(())
        } else {
            Err(NotSigned::Wrong(officer.clone()))
        }
    }

    /// The officers whose kept approvals count now: they are still officers with the same keys, and none is the maker.
    #[must_use]
    pub fn counting(&self, kept: &[PlanSignature], plan: Digest, maker: &str) -> Vec<String> {
        let counts = |one: &&PlanSignature| {
            if one.kind == PASSKEY {
                let approves = self.approves_with_passkey(&one.officer, maker);
                return self.has_passkeys && approves.is_ok();
            }
            let file = SignatureFile {
                form: SIGNATURE_FORM.to_owned(),
                plan,
                officer: one.officer.clone(),
                algorithm: one.kind.clone(),
                signature: one.signature.clone(),
            };
            self.verify(&file, plan, maker).is_ok()
        };
        let counting = kept.iter().filter(counts);
        counting.map(|one| one.officer.clone()).collect()
    }
}

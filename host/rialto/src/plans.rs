//! Plans: what a release would change, as one text with a digest, which officers approve before it becomes current.
//!
//! A plan has everything that it makes current, so that who has signed it has signed all of that. It is made by the
//! host, which knows the maker, and never changes. Officers sign its digest away from the host with keys of their own
//! ([`PlanStatement`]), or approve it with a passkey. [`crate::releases`] says when a plan may be applied.

mod officers;
#[cfg(test)]
mod tests;

use rialto_components::Digest;
use rialto_manifest::scheme::{Binding, Scheme, SchemeDocument};
use rialto_manifest::values::Instant;
use serde::{Deserialize, Serialize};

use crate::backtest::report::{self, FuelOf, Report};
use crate::releases::Dates;
use crate::words;

pub use officers::{NotSigned, Officers, PASSKEY};

/// The name of a plan's form.
pub const FORM: &str = "rialto-plan/1";
/// The name of the form of a signature's file.
pub const SIGNATURE_FORM: &str = "rialto-plan-signature/1";

/// A plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Plan {
    /// [`FORM`].
    pub form: String,
    /// Random, so that no two hosts make the same plan.
    pub nonce: String,
    /// The release that must be current for it.
    pub from: PlannedFrom,
    /// The digest of what it makes current.
    pub to: Digest,
    /// Who made it.
    pub maker: String,
    /// When it was made; milliseconds since 1970.
    pub made: u64,
    /// When it can be applied no more.
    pub expires: u64,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// What it changes, in words.
    pub changes: Vec<String>,
    /// Why it would need a second person without officers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs_approval: Vec<String>,
    /// When its rules begin and end, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calendar: Vec<String>,
    /// The counters that begin with it, and know nothing of before, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fresh_counters: Vec<String>,
    /// The instant at which it comes into force; when it is applied without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_from: Option<Instant>,
    /// The instant at which the release before is in force again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_until: Option<Instant>,
    /// What a backtest says of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backtest: Option<Backtested>,
    /// The scheme's document, with the digests of all components.
    pub document: SchemeDocument,
}

/// The release that a plan replaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedFrom {
    /// Its number.
    pub release: u64,
    /// Its digest.
    pub digest: Digest,
    /// How many activations had ended by then: after another one, the plan is of no use, even if this release is current
    /// again.
    pub activations: u64,
}

impl Plan {
    /// When what it has is in force.
    #[must_use]
    pub fn dates(&self) -> Dates {
        Dates {
            effective_from: self.effective_from,
            effective_until: self.effective_until,
        }
    }
}

/// The most entries of fuel that a plan has.
const FUEL_MAX: usize = 1_000;

/// The figures of a backtest's report, which has the rest. The plan's maker has made it: the host has not judged again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Backtested {
    /// The digest of the report's file.
    pub digest: Digest,
    /// The first instant of what was judged again; milliseconds since 1970.
    pub since: u64,
    /// The instant before which it was.
    pub until: u64,
    /// The instant by whose effective rules they were judged.
    pub as_of: u64,
    /// How many requests were judged again.
    pub requests: u64,
    /// How many would be decided otherwise.
    pub different: u64,
    /// Of how many requests a rule failed or could not read the input.
    pub failures: u64,
    /// How many receipts and archives could not be read.
    pub unread: u64,
    /// Of how many requests there is no decision, because they were not counted as a rule needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncounted: Option<u64>,
    /// Whether only some of the requests were judged.
    pub is_partial: bool,
    /// The fuel of each rule, before and now.
    pub fuel: Vec<FuelOf>,
}

/// Why a backtest's report is of no use for a plan.
#[derive(Debug, thiserror::Error)]
pub enum UnusableReport {
    /// It is no report of a backtest.
    #[error("the backtest is no report of the form {}: {why}", report::FORM)]
    Form {
        /// Why.
        why: String,
    },
    /// It is about another scheme.
    #[error(
        "the backtest is about {found}, and the plan would make {wanted} current: run it again"
    )]
    Other {
        /// What was backtested.
        found: Digest,
        /// What is planned.
        wanted: Digest,
    },
}

impl Backtested {
    /// The figures of a report's file, which must be about what is planned.
    ///
    /// # Errors
    /// When it is none, or about something else.
    pub fn of(text: &str, wanted: Digest) -> Result<Self, UnusableReport> {
        let report: Report = serde_json::from_str(text).map_err(|error| UnusableReport::Form {
            why: error.to_string(),
        })?;
        if report.form != report::FORM {
            let why = format!("its form is {:?}", report.form);
            return Err(UnusableReport::Form { why });
        }
        if report.candidate != wanted {
            let found = report.candidate;
            return Err(UnusableReport::Other { found, wanted });
        }
        let is_partial = report.is_partial();
        let mut fuel = report.fuel;
        // A report of this host has one for each rule at each step.
        fuel.truncate(FUEL_MAX);
        let failed = report.failures.iter().map(|one| one.sum.requests);
        let misfits = report.misfits.iter().map(|one| one.sum.requests);
        Ok(Self {
            digest: Digest::of(text),
            since: report.since,
            until: report.until,
            as_of: report.as_of,
            requests: report.requests,
            unread: report.unread.sealed
                + report.unread.unreadable
                + report.unread.archives.len() as u64,
            different: report.different,
            failures: failed.chain(misfits).sum(),
            uncounted: (!report.uncounted.is_empty()).then(|| {
                let uncounted = report.uncounted.iter();
                uncounted.map(|one| one.sum.requests).sum()
            }),
            is_partial,
            fuel,
        })
    }

    /// Check that a report is about all that is there, by the rules that come last.
    ///
    /// # Errors
    /// What it leaves out.
    pub fn is_enough(&self, scheme: &Scheme) -> Result<(), String> {
        if self.is_partial {
            return Err("it is about some of the requests alone: run it for all".to_owned());
        }
        if self.requests == 0 {
            return Err("it has judged no request: name an earlier --since".to_owned());
        }
        if self.unread > 0 {
            return Err(format!(
                "{} receipts or archives could not be read",
                self.unread
            ));
        }
        let rules = scheme.steps.values().flatten();
        let rules = rules.flat_map(Binding::intervals).map(|one| one.binding);
        let mut later = rules.filter(|one| {
            one.effective_from
                .is_some_and(|from| from.millis() > self.as_of)
        });
        match later.next() {
            Some(one) => Err(format!(
                "it judges by the rules of {}, and the rule {} begins later, or its settings change: run it with --as-of",
                words::instant(self.as_of),
                one.rule
            )),
            None => Ok(()),
        }
    }

    /// The rules whose fuel grows by more than this share, in millionths, each in words. A rule that judged nothing
    /// before has nothing to grow from.
    #[must_use]
    pub fn dearer(&self, most: u32) -> Vec<String> {
        let grown = self.fuel.iter().filter(|of| {
            let (before, after) = (u128::from(of.before.p99), u128::from(of.after.p99));
            of.before.verdicts > 0 && after * 1_000_000 > before * (1_000_000 + u128::from(most))
        });
        grown
            .map(|of| {
                format!(
                    "rule {} at {}: 99 of 100 verdicts need {} fuel, before {}",
                    of.rule, of.step, of.after.p99, of.before.p99
                )
            })
            .collect()
    }
}

impl Plan {
    /// Its text, which has its digest.
    ///
    /// # Errors
    /// None that is known: all of it can be written as JSON.
    pub fn text(&self) -> serde_json::Result<String> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(text)
    }

    /// Read a plan's text. Its digest is the text's.
    ///
    /// # Errors
    /// When it is none of this form, or names another document than it has.
    pub fn read(text: &str) -> Result<(Self, Digest), BadPlan> {
        let plan: Self = serde_json::from_str(text).map_err(|error| BadPlan(error.to_string()))?;
        if plan.form != FORM {
            return Err(BadPlan(format!("its form is {:?}", plan.form)));
        }
        let has = crate::spec::digest(plan.document.digest());
        if has != plan.to {
            let why = format!("it says that it makes {} current, and has {has}", plan.to);
            return Err(BadPlan(why));
        }
        Ok((plan, Digest::of(text)))
    }
}

/// Why a text is no plan.
#[derive(Debug, thiserror::Error)]
#[error("this is no plan of the form {FORM}: {0}")]
pub struct BadPlan(String);

/// What an officer signs: that this officer approves the plan of this digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanStatement<'a> {
    /// The plan.
    pub plan: Digest,
    /// The officer's name in `rialto.toml`.
    pub officer: &'a str,
}

impl PlanStatement<'_> {
    /// Its octets: three lines.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        format!("{SIGNATURE_FORM}\n{}\n{}\n", self.plan, self.officer).into_bytes()
    }
}

/// The file of a signature under a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SignatureFile {
    /// [`SIGNATURE_FORM`].
    pub form: String,
    /// The plan's digest.
    pub plan: Digest,
    /// The officer's name in `rialto.toml`.
    pub officer: String,
    /// `Ed25519` or `ES256`.
    pub algorithm: String,
    /// The signature under [`PlanStatement`], base64url without padding.
    pub signature: String,
}

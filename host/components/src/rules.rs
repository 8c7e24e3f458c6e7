//! Verdicts: a rule in a fresh instance, what comes of it, and the receipt of it. [`crate::asking`] asks the rules of a step
//! in a turn.

use std::sync::Arc;

use rialto_engine::{Name, ReceiptHash, Timestamp};
use rialto_receipts::{Malformed, SALT_BYTES, Salt};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use wasmtime::Trap;
use wasmtime::component::Val;

use crate::digest::Digest;
use crate::failures::FailureKind;
use crate::guest::{Identity, Overrun};
use crate::judges::AgreedUnder;
use crate::release::{BoundRule, Member, Release};
use crate::spec::Failing;
use crate::values::Json;
use crate::wasi::Seed;

/// The longest message of a violation, in characters: the limit of FSPIOP's ErrorDescription.
const MESSAGE_CHARS_MAX: usize = 128;
/// The most violations of one refusal: the limit of an FSPIOP error's extensions. Each is kept with the
/// receipt.
const VIOLATIONS_MAX: usize = 16;

/// One reason for a refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// An error code of the scheme.
    pub code: String,
    /// A sentence for the FSP.
    pub message: String,
}

/// The outcome of asking a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// The rule allows.
    Allow,
    /// The rule refuses.
    Refuse {
        /// Why; at least one, at most 16.
        violations: Vec<Violation>,
    },
    /// The rule failed.
    Failed {
        /// How.
        reason: String,
        /// What the failure means, by the release.
        means: Failing,
        /// The kind of failure; none in receipts of older hosts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<FailureKind>,
    },
}

impl Outcome {
    /// In two words, for the history.
    pub fn short(&self) -> String {
        match self {
            Outcome::Allow => "allow".into(),
            Outcome::Refuse { violations } => {
                let code = violations.first().map_or("", |v| v.code.as_str());
                format!("refuse {code}")
            }
            Outcome::Failed { means, .. } => match means {
                Failing::Refuse => "failed: refuse".into(),
                Failing::Allow => "failed: allow".into(),
                Failing::AllowAndFlag => "failed: allow and flag".into(),
                Failing::LastGood => "failed: last good release".into(),
            },
        }
    }
}

/// The record of one verdict. It is enough to explain the verdict and to ask the rule again.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// The step.
    pub step: Name,
    /// The rule's name in the scheme.
    pub rule: Name,
    /// The rule's own version.
    pub rule_version: String,
    /// The digest of the rule's bytes.
    pub digest: Digest,
    /// The digest of the rule's settings at this step. The release has the settings.
    pub settings_digest: Digest,
    /// The release whose rule was asked.
    pub release: u64,
    /// What the rule was asked about.
    pub subject: String,
    /// The rule's input.
    pub input: Box<RawValue>,
    /// Its digest.
    pub input_digest: Digest,
    /// The verdict.
    pub verdict: Outcome,
    /// Fuel used; the same for the same bytes on the same input.
    pub fuel: u64,
    /// Fuel allowed.
    pub fuel_limit: u64,
    /// Bytes of linear memory allowed. 0 in receipts of older versions.
    #[serde(default)]
    pub memory_limit: u64,
    /// The digest of the scheme's facts, which a rule may read. Receipts of older versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme_digest: Option<Digest>,
    /// Microseconds.
    pub took_us: u64,
    /// Marked for the operator: the rule failed and the request went on.
    pub flagged: bool,
    /// Whether it decided about the request. A candidate in a shadow never does; a canary that failed, and a failure after
    /// which the last good release decides, do not. Receipts of older versions do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<bool>,
    /// Whether it is about a draft: nothing was to be decided. No store and no audit log has such a receipt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub what_if: bool,
    /// The branches that the rule has marked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub branches: Vec<String>,
    /// The verdict in force, if this one is of a candidate in its shadow: it decided nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shadow: Option<InForce>,
    /// In whose place it decided, if it is a canary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary: Option<CanaryOf>,
    /// Whether the rule was in quarantine, and was not asked: the verdict is what its failure means.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quarantined: bool,
    /// Of a rule of an earlier release that decided because the rule had failed: the release that asked. `release` is then
    /// the earlier one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_good_for: Option<u64>,
    /// Under which release it was agreed, if that was another one than the current, and why this one has judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreed: Option<AgreedUnder>,
    /// Base64url of 16 random bytes, from which the salts of its fields are derived. Empty if the audit log does not have it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub salt: String,
}

/// Of a receipt of a canary: in whose place it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CanaryOf {
    /// The rule, by its name in the scheme.
    pub rule: Name,
    /// Whether it failed, and the rule was asked after it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_void: bool,
}

/// The verdict beside that of a candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InForce {
    /// The rule that decided, by its name in the scheme.
    pub rule: Name,
    /// The digest of its bytes.
    pub digest: Digest,
    /// What it decided.
    pub verdict: Outcome,
    /// The receipt's id.
    pub receipt: u64,
}

/// Why a rule gave no verdict.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoVerdict {
    /// The rule failed, and will again on the same input.
    #[error("{1}")]
    Failed(FailureKind, String),
    /// The clock stopped it, or the host could not run it. This says nothing about the input.
    #[error("{1}")]
    Prevented(FailureKind, String),
}

/// The outcome of one rule, and what it used.
pub struct Judgement {
    /// The verdict or the failure.
    pub outcome: Result<Outcome, NoVerdict>,
    /// Fuel used.
    pub fuel: u64,
    /// Bytes of its linear memory at the end.
    pub memory_bytes: usize,
    /// The branches that it has marked, in the order of their first marks.
    pub branches: Vec<String>,
}

/// What a verdict took.
#[derive(Default)]
pub(crate) struct Used {
    pub fuel: u64,
    pub took_us: u64,
    pub branches: Vec<String>,
    /// Nothing: the rule was in quarantine.
    pub quarantined: bool,
}

/// The salt of a new receipt, if the audit log is to have it.
#[must_use]
pub fn salted(is_logged: bool, fill: impl FnOnce(&mut [u8])) -> String {
    if !is_logged {
        return String::new();
    }
    let mut salt = [0; SALT_BYTES];
    fill(&mut salt);
    Salt(salt).text()
}

impl Receipt {
    /// The receipt of a rule's verdict about a step, a subject and an input. What it has decided, and in whose place, is not
    /// said yet, and it has no salt.
    pub(crate) fn of(
        (release, bound): (&Release, &BoundRule),
        (step, subject, input): (&str, &str, &RawValue),
        verdict: Outcome,
        used: Used,
    ) -> Self {
        let member = &release.members[bound.member];
        let version = member.description.as_ref().map(|one| one.version.clone());
        let flagged = matches!(
            verdict,
            Outcome::Failed {
                means: Failing::AllowAndFlag,
                ..
            }
        );
        Self {
            step: step.into(),
            rule: member.identity.name.clone(),
            rule_version: version.unwrap_or_default(),
            digest: member.digest,
            settings_digest: bound.settings_digest,
            release: release.number,
            subject: subject.to_owned(),
            input: input.to_owned(),
            input_digest: Digest::of(input.get()),
            verdict,
            fuel: used.fuel,
            fuel_limit: member.limits.fuel.unwrap_or_default(),
            memory_limit: member.limits.memory_bytes as u64,
            scheme_digest: Some(release.scheme_digest),
            took_us: used.took_us,
            flagged,
            decided: None,
            what_if: false,
            branches: used.branches,
            shadow: None,
            canary: None,
            quarantined: used.quarantined,
            last_good_for: None,
            agreed: None,
            salt: String::new(),
        }
    }

    /// The receipt as it is stored, and its hash if it has a salt.
    ///
    /// # Errors
    /// When it cannot be written down.
    pub fn written(&self, at: Timestamp) -> Result<(String, Option<ReceiptHash>), Malformed> {
        let body = serde_json::to_string(self)?;
        if self.salt.is_empty() {
            return Ok((body, None));
        }
        let hash = rialto_receipts::hash(&body, at.0)?;
        Ok((body, Some(hash.0)))
    }
}

/// How far the call of a rule came.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Starting,
    Running,
}

/// The seed of a rule's randomness: its input alone.
fn seed(params: &[Val]) -> Seed {
    let input = params.get(1).map(Json);
    // Only plain values reach a rule, and all of these can be encoded.
    Digest::of(serde_json::to_vec(&input).unwrap_or_default()).bytes()
}

impl Member {
    /// Ask a rule in a fresh instance, outside of any turn. The same bytes, settings and input give the same
    /// outcome and the same fuel.
    pub fn judge(&self, identity: &Arc<Identity>, export: usize, params: &[Val]) -> Judgement {
        self.judge_drilled(identity, export, params, None)
    }

    /// The same, and in a drill the rule runs into a failure of this kind.
    pub(crate) fn judge_drilled(
        &self,
        identity: &Arc<Identity>,
        export: usize,
        params: &[Val],
        drilled: Option<FailureKind>,
    ) -> Judgement {
        let limit = self.limits.fuel.unwrap_or_default();
        let seed = if self.wasi {
            seed(params)
        } else {
            Seed::default()
        };
        let mut instance = match self.instantiate_for(identity, seed, drilled) {
            Ok(instance) => instance,
            Err(error) => {
                let outcome = Err(self.no_verdict(&error, Stage::Starting));
                return Judgement {
                    outcome,
                    fuel: 0,
                    memory_bytes: 0,
                    branches: Vec::new(),
                };
            }
        };
        let mut results = [Val::Bool(false)];
        let called = instance.call(|i| self.invoke(i, export, params, &mut results));
        let fuel = limit.saturating_sub(instance.store.get_fuel().unwrap_or_default());
        if drilled == Some(FailureKind::Verdict) {
            results[0] = refuse(&[]);
        }
        let outcome = match called {
            Ok(()) => self
                .read_verdict(&results[0])
                .map_err(|reason| NoVerdict::Failed(FailureKind::Verdict, reason)),
            Err(error) => Err(self.no_verdict(&error, Stage::Running)),
        };
        Judgement {
            outcome,
            fuel,
            memory_bytes: instance.store.data().memory_bytes,
            branches: std::mem::take(&mut instance.store.data_mut().branches),
        }
    }

    /// Whether the rule failed, or the host prevented it.
    fn no_verdict(&self, error: &wasmtime::Error, stage: Stage) -> NoVerdict {
        let reason = self.explain(error).reason;
        let overran = error.downcast_ref::<Overrun>().is_some();
        match error.downcast_ref::<Trap>() {
            Some(Trap::Interrupt) => NoVerdict::Prevented(FailureKind::Slow, reason),
            Some(Trap::OutOfFuel) => NoVerdict::Failed(FailureKind::Fuel, reason),
            Some(_) => NoVerdict::Failed(FailureKind::Trap, reason),
            None if overran => NoVerdict::Failed(FailureKind::Memory, reason),
            // An error while the rule runs is the rule's. An instance could not be made either because of
            // the rule's own limits, or because the pools are full.
            None if stage == Stage::Running => NoVerdict::Failed(FailureKind::Trap, reason),
            None => NoVerdict::Prevented(FailureKind::Missing, reason),
        }
    }

    fn read_verdict(&self, verdict: &Val) -> Result<Outcome, String> {
        let violations = match verdict {
            Val::Variant(case, None) if case == "allow" => return Ok(Outcome::Allow),
            Val::Variant(case, Some(list)) if case == "refuse" => match &**list {
                Val::List(items) => items.iter().map(read_violation).collect::<Option<Vec<_>>>(),
                _ => None,
            },
            _ => None,
        };
        let violations = violations.ok_or("gave something that is no verdict")?;
        if violations.is_empty() {
            return Err("refused without a violation".into());
        }
        if violations.len() > VIOLATIONS_MAX {
            return Err(format!(
                "gave {} violations, where 1 to {VIOLATIONS_MAX} are allowed",
                violations.len()
            ));
        }
        let declared = self.description.as_ref().map(|d| d.codes.as_slice());
        let undeclared = violations
            .iter()
            .find(|v| !declared.unwrap_or_default().contains(&v.code));
        if let Some(v) = undeclared {
            return Err(format!(
                "gave the code {:?}, which it does not declare",
                v.code
            ));
        }
        let mut lengths = violations.iter().map(|v| v.message.chars().count());
        if let Some(length) = lengths.find(|n| !(1..=MESSAGE_CHARS_MAX).contains(n)) {
            return Err(format!(
                "gave a message of {length} characters, where 1 to {MESSAGE_CHARS_MAX} are allowed"
            ));
        }
        Ok(Outcome::Refuse { violations })
    }
}

fn read_violation(value: &Val) -> Option<Violation> {
    let Val::Record(fields) = value else {
        return None;
    };
    let text = |name: &str| {
        fields.iter().find_map(|(n, v)| match v {
            Val::String(text) if n == name => Some(text.clone()),
            _ => None,
        })
    };
    Some(Violation {
        code: text("code")?,
        message: text("message")?,
    })
}

/// A refusal as rules give it.
pub(crate) fn refuse(violations: &[Violation]) -> Val {
    let items = violations.iter().map(|v| {
        Val::Record(vec![
            ("code".into(), Val::String(v.code.clone())),
            ("message".into(), Val::String(v.message.clone())),
        ])
    });
    let list = Val::List(items.collect());
    Val::Variant("refuse".into(), Some(Box::new(list)))
}

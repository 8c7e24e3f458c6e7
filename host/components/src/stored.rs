//! Asks rules about inputs that were stored with receipts, outside of any turn.

use serde_json::Value;
use wasmtime::component::Val;

use crate::arbitrary::{Choices, arbitrary};
use crate::release::{BoundRule, Member, Release};
use crate::rules::{Judgement, Outcome};
use crate::spec::Failing;
use crate::values::{Json, TypeMismatch, decode};

/// The outcome of one rule about a stored input.
pub struct StoredVerdict<'a> {
    /// The rule at its step.
    pub bound: &'a BoundRule,
    /// The rule.
    pub member: &'a Member,
    /// The outcome; a text if the clock stopped the rule or the host could not run it.
    pub outcome: Result<Outcome, String>,
    /// Fuel used.
    pub fuel: u64,
    /// Bytes of linear memory at the end.
    pub memory_bytes: usize,
    /// The branches that the rule has marked.
    pub branches: Vec<String>,
}

impl StoredVerdict<'_> {
    /// Whether the step ends with this verdict, because it refuses.
    #[must_use]
    pub fn refuses(&self) -> bool {
        self.outcome.as_ref().is_ok_and(Outcome::refuses)
    }
}

impl Outcome {
    /// Whether the request is refused by it.
    #[must_use]
    pub const fn refuses(&self) -> bool {
        match self {
            Self::Allow => false,
            Self::Refuse { .. } => true,
            Self::Failed { means, .. } => matches!(means, Failing::Refuse),
        }
    }
}

impl Member {
    /// Ask a rule about an input that was stored with a receipt.
    ///
    /// # Errors
    /// When the input is not of the step's type.
    pub fn judge_stored(
        &self,
        bound: &BoundRule,
        subject: &str,
        input: &str,
    ) -> Result<Judgement, TypeMismatch> {
        let value = serde_json::from_str(input).map_err(|_| no_input())?;
        let params = [
            Val::String(subject.to_owned()),
            self.stored_input(bound, &value)?,
        ];
        Ok(self.judge(&bound.identity, bound.export, &params))
    }

    pub(crate) fn stored_verdict<'a>(
        &'a self,
        bound: &'a BoundRule,
        params: &[Val],
    ) -> StoredVerdict<'a> {
        let judged = self.judge(&bound.identity, bound.export, params);
        StoredVerdict {
            bound,
            member: self,
            outcome: bound.outcome(judged.outcome).map_err(|(_, reason)| reason),
            fuel: judged.fuel,
            memory_bytes: judged.memory_bytes,
            branches: judged.branches,
        }
    }

    pub(crate) fn stored_input(
        &self,
        bound: &BoundRule,
        input: &Value,
    ) -> Result<Val, TypeMismatch> {
        let types = &self.exports[bound.export].params;
        decode(types.get(1).ok_or_else(no_input)?, input)
    }
}

fn no_input() -> TypeMismatch {
    TypeMismatch {
        at: String::new(),
        expected: "the step's input as JSON".into(),
    }
}

impl Release {
    /// An input of a step at random; none if no rule is bound to it.
    pub fn arbitrary_input(&self, step: &str, choices: &mut dyn Choices) -> Option<Value> {
        let bound = self.steps.get(step)?.first()?;
        let types = &self.members[bound.member].exports[bound.export].params;
        serde_json::to_value(Json(&arbitrary(types.get(1)?, choices))).ok()
    }

    /// Ask the rules of a step that are effective at an instant (milliseconds since 1970) about a stored input, in the
    /// release's order, until one refuses or gives no verdict. The verdict of a last good release follows the failure
    /// after which it decides. Nothing is kept. A step without rules allows.
    ///
    /// # Errors
    /// When the input is not of the step's type.
    pub fn judge_step(
        &self,
        step: (&str, u64),
        subject: &str,
        input: &Value,
    ) -> Result<Vec<StoredVerdict<'_>>, TypeMismatch> {
        self.judge_by(step, subject, input, |_| true)
    }

    /// The same by those rules alone that are wanted, by their names in the scheme.
    ///
    /// # Errors
    /// When the input is not of the step's type.
    pub fn judge_by(
        &self,
        (step, at): (&str, u64),
        subject: &str,
        input: &Value,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<StoredVerdict<'_>>, TypeMismatch> {
        let mut verdicts = Vec::new();
        let mut params = [Val::String(subject.to_owned()), Val::Bool(false)];
        let rules = self.steps.get(step).map_or(&[][..], Vec::as_slice);
        let effective = rules
            .iter()
            .filter(|bound| bound.effective.covers(at) && wanted(&bound.identity.name));
        for (nth, bound) in effective.enumerate() {
            let member = &self.members[bound.member];
            // The rules of a step have inputs of one type.
            if nth == 0 {
                params[1] = member.stored_input(bound, input)?;
            }
            let mut verdict = member.stored_verdict(bound, &params);
            let earlier = verdict.outcome.as_ref().ok();
            if let Some(earlier) = earlier.and_then(|outcome| bound.last_good_after(outcome)) {
                verdicts.push(verdict);
                verdict = earlier.member.stored_verdict(earlier.bound, &params);
            }
            let is_end = verdict.refuses() || verdict.outcome.is_err();
            verdicts.push(verdict);
            if is_end {
                break;
            }
        }
        Ok(verdicts)
    }
}

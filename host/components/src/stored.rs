//! Asks rules about inputs that were stored with receipts, outside of any turn.

use serde_json::Value;
use wasmtime::component::Val;
use wasmtime::component::types::Type;

use crate::arbitrary::{Choices, arbitrary};
use crate::introspect::Function;
use crate::release::{BoundRule, Member, Release};
use crate::rules::{Judgement, Outcome};
use crate::spec::Failing;
use crate::steps::{COUNTER, COUNTS, Unjudgeable};
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
    /// When the input is not of the step's type, or does not have a counter that the rule needs.
    pub fn judge_stored(
        &self,
        bound: &BoundRule,
        subject: &str,
        input: &str,
    ) -> Result<Judgement, Unjudgeable> {
        let value = serde_json::from_str(input).map_err(|_| no_input())?;
        let params = self.stored_params(bound, subject, &value)?;
        Ok(self.judge(&bound.identity, bound.export, &params))
    }

    /// An input of a rule at random, with a value of each counter that it needs.
    pub(crate) fn arbitrary_input(
        &self,
        bound: &BoundRule,
        choices: &mut dyn Choices,
    ) -> Option<Val> {
        let ty = self.exports[bound.export].params.get(1)?;
        let mut input = arbitrary(ty, choices);
        if let (Val::Record(members), Type::Record(record)) = (&mut input, ty) {
            let counts = members.iter_mut().zip(record.fields());
            for ((_, counts), field) in counts.filter(|((name, _), _)| name == COUNTS) {
                if let Type::List(list) = field.ty {
                    *counts = arbitrary_counts(bound, &list.ty(), choices);
                }
            }
        }
        Some(input)
    }

    /// The parameters with which a rule is asked about a stored input.
    pub(crate) fn stored_params(
        &self,
        bound: &BoundRule,
        subject: &str,
        input: &Value,
    ) -> Result<[Val; 2], Unjudgeable> {
        let input = self.stored_input(bound, input)?;
        Ok([Val::String(subject.to_owned()), input])
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

    fn stored_input(&self, bound: &BoundRule, input: &Value) -> Result<Val, Unjudgeable> {
        let types = &self.exports[bound.export].params;
        let input = bound.reads(input)?;
        Ok(decode(types.get(1).ok_or_else(no_input)?, &input)?)
    }

    /// The function by which a rule is asked.
    pub(crate) fn check(&self, bound: &BoundRule) -> Option<&Function> {
        let export = &self.exports[bound.export];
        let mut interfaces = self.shape.exports.iter();
        let interface = interfaces.find(|one| one.name.to_string() == *export.interface)?;
        interface.function(&export.function)
    }
}

/// A value of each counter. `ty` is that of one.
fn arbitrary_counts(bound: &BoundRule, ty: &Type, choices: &mut dyn Choices) -> Val {
    let counts = bound.counters.iter().map(|counter| {
        let mut one = arbitrary(ty, choices);
        if let Val::Record(members) = &mut one {
            for (_, of) in members.iter_mut().filter(|(name, _)| name == COUNTER) {
                *of = counter.clone();
            }
        }
        one
    });
    Val::List(counts.collect())
}

pub(crate) fn no_input() -> TypeMismatch {
    TypeMismatch {
        at: String::new(),
        expected: "the step's input as JSON".into(),
    }
}

impl Release {
    /// An input of a step at random, with a value of each counter that the rule needs; none if no rule is bound to it.
    pub fn arbitrary_input(&self, step: &str, choices: &mut dyn Choices) -> Option<Value> {
        let bound = self.steps.get(step)?.first()?;
        let input = self.members[bound.member].arbitrary_input(bound, choices)?;
        serde_json::to_value(Json(&input)).ok()
    }

    /// An input of a step with a value at random of each counter that the first rule needs and the input does not have.
    pub fn with_counters(&self, step: &str, input: &Value, choices: &mut dyn Choices) -> Value {
        let mut input = input.clone();
        let bound = self.steps.get(step).and_then(|rules| rules.first());
        let Some((bound, members)) = bound.zip(input.as_object_mut()) else {
            return input;
        };
        let types = &self.members[bound.member].exports[bound.export].params;
        let Some(Type::Record(record)) = types.get(1) else {
            return input;
        };
        let list = record.fields().find(|field| field.name == COUNTS);
        let Some(Type::List(list)) = list.map(|field| field.ty) else {
            return input;
        };
        let given = members
            .entry(COUNTS)
            .or_insert_with(|| Value::Array(Vec::new()));
        let drawn = serde_json::to_value(Json(&arbitrary_counts(bound, &list.ty(), choices)));
        if let (Value::Array(given), Ok(Value::Array(drawn))) = (given, drawn) {
            for one in drawn {
                if !given.iter().any(|known| known[COUNTER] == one[COUNTER]) {
                    given.push(one);
                }
            }
        }
        input
    }

    /// Ask the rules of a step that are effective at an instant (milliseconds since 1970) about a stored input, in the
    /// release's order, until one refuses or gives no verdict. The verdict of a last good release follows the failure
    /// after which it decides. Nothing is kept. A step without rules allows.
    ///
    /// # Errors
    /// When the input is not of the step's type, or does not have a counter that a rule needs.
    pub fn judge_step(
        &self,
        step: (&str, u64),
        subject: &str,
        input: &Value,
    ) -> Result<Vec<StoredVerdict<'_>>, Unjudgeable> {
        self.judge_by(step, subject, input, |_| true)
    }

    /// The same by those rules alone that are wanted, by their names in the scheme.
    ///
    /// # Errors
    /// When the input is not of the step's type, or does not have a counter that a rule needs.
    pub fn judge_by(
        &self,
        (step, at): (&str, u64),
        subject: &str,
        input: &Value,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<StoredVerdict<'_>>, Unjudgeable> {
        let mut verdicts = Vec::new();
        let rules = self.steps.get(step).map_or(&[][..], Vec::as_slice);
        let effective = rules
            .iter()
            .filter(|bound| bound.effective.covers(at) && wanted(&bound.identity.name));
        for bound in effective {
            let member = &self.members[bound.member];
            let params = member.stored_params(bound, subject, input)?;
            let mut verdict = member.stored_verdict(bound, &params);
            let earlier = verdict.outcome.as_ref().ok();
            if let Some(earlier) = earlier.and_then(|outcome| bound.last_good_after(outcome)) {
                verdicts.push(verdict);
                let params = earlier
                    .member
                    .stored_params(earlier.bound, subject, input)?;
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

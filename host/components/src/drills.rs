//! Drills: what a request at a step would come to if one of the rules failed.
//!
//! The rule's own bytes run in an instance of their own and meet the failure in the engine, so that what is shown
//! is what the engine and the host do. Nothing of the running release is changed: no turn, no quarantine, no canary.
//!
//! | Failure | How it is caused |
//! | --- | --- |
//! | `trap` | the engine stops the rule with a trap where it first looks at the clock |
//! | `fuel` | the rule has no fuel |
//! | `memory` | the rule may have no memory |
//! | `verdict` | the rule runs; what it gives is replaced by a refusal without a violation |
//! | `slow` | the rule's time is over when the engine first looks at the clock |
//! | `missing` | the engine may make no instance |

use serde_json::Value;
use wasmtime::Store;
use wasmtime::component::Val;

use crate::deadline::Deadline;
use crate::failures::FailureKind;
use crate::guest::Guest;
use crate::last_good::LastGood;
use crate::release::{BoundRule, Member, Release};
use crate::rules::{Outcome, Violation};
use crate::steps::Unjudgeable;

impl FailureKind {
    /// Have a fresh instance run into this failure. [`Guest`] and [`crate::rules`] do the rest.
    pub(crate) fn drill(self, store: &mut Store<Guest>) -> wasmtime::Result<()> {
        match self {
            Self::Fuel => store.set_fuel(0)?,
            Self::Trap | Self::Slow => {
                store.data_mut().deadline = Deadline::of_ms(0);
                store.set_epoch_deadline(0);
            }
            Self::Memory | Self::Verdict | Self::Missing => {}
        }
        Ok(())
    }
}

/// A rule at a step, and what each of its failures would come to.
pub struct Drilled<'a> {
    /// The rule at the step.
    pub bound: &'a BoundRule,
    /// The rule.
    pub member: &'a Member,
    /// The failures, as they were asked for.
    pub failures: Vec<DrilledFailure<'a>>,
}

/// What one failure of a rule would come to.
pub struct DrilledFailure<'a> {
    /// The failure.
    pub kind: FailureKind,
    /// What the rule came to; a text if there is no verdict.
    pub outcome: Result<Outcome, String>,
    /// The number of the last good release that decides after it, and what that one comes to; none if there was no input
    /// to ask it about.
    pub last_good: Option<(u64, Option<Result<Outcome, String>>)>,
    /// The rule that ends the step, and what the sender is told; none if the request may continue, or the turn fails.
    pub refusal: Option<(&'a str, Vec<Violation>)>,
    /// Whether the turn fails, and why: this rule or another one gives no verdict.
    pub prevented: Option<String>,
}

/// The request of a drill.
#[derive(Clone, Copy)]
struct Drill<'a> {
    subject: &'a str,
    input: Option<&'a Value>,
}

impl Drill<'_> {
    /// The parameters for a rule. Without an input, each rule has an arbitrary one.
    fn params(self, member: &Member, bound: &BoundRule) -> Result<[Val; 2], Unjudgeable> {
        match self.input {
            Some(input) => member.stored_params(bound, self.subject, input),
            None => {
                let input = member.arbitrary_input(bound, &mut Zeros);
                let input = input.unwrap_or(Val::Bool(false));
                Ok([Val::String(self.subject.to_owned()), input])
            }
        }
    }

    fn judged_by(self, earlier: LastGood<'_>) -> Result<Outcome, String> {
        let params = self.params(earlier.member, earlier.bound);
        let params = params.map_err(|error| error.to_string())?;
        earlier
            .member
            .stored_verdict(earlier.bound, &params)
            .outcome
    }
}

/// How a rule beside the drilled one judges the request.
enum Beside {
    Continues,
    Refuses(Vec<Violation>),
    Prevented(String),
}

impl Beside {
    fn of(bound: &BoundRule, outcome: &Result<Outcome, String>) -> Self {
        match outcome {
            Ok(outcome) => match bound.refusal(outcome) {
                Some(violations) => Self::Refuses(violations),
                None => Self::Continues,
            },
            Err(reason) => Self::Prevented(reason.clone()),
        }
    }
}

impl Release {
    /// Drill rules of a step that are effective at an instant (milliseconds since 1970), as far as they are wanted by
    /// their names in the scheme. The others are asked about the input if `judges` says so; if not, they allow. Without
    /// an input, all others allow, and the drilled rule has an arbitrary one.
    ///
    /// # Errors
    /// When the input is not of the step's type.
    pub fn drill(
        &self,
        (step, at): (&str, u64),
        (subject, input): (&str, Option<&Value>),
        kinds: &[FailureKind],
        (wanted, judges): (impl Fn(&str) -> bool, impl Fn(&str) -> bool),
    ) -> Result<Vec<Drilled<'_>>, Unjudgeable> {
        let rules = self.steps.get(step).map_or(&[][..], Vec::as_slice);
        let rules: Vec<&BoundRule> = rules
            .iter()
            .filter(|bound| bound.effective.covers(at))
            .collect();
        let request = Drill { subject, input };
        let params = rules
            .iter()
            .map(|bound| request.params(&self.members[bound.member], bound))
            .collect::<Result<Vec<_>, _>>()?;
        // Each rule gives the same verdict whatever the other ones do, so it is asked once.
        let beside: Vec<Beside> = rules
            .iter()
            .zip(&params)
            .map(|(bound, params)| {
                if input.is_some() && judges(&bound.identity.name) {
                    self.beside(bound, request, params)
                } else {
                    Beside::Continues
                }
            })
            .collect();
        let drilled = rules.iter().enumerate();
        let drilled = drilled.filter(|(_, bound)| wanted(&bound.identity.name));
        let drilled = drilled.map(|(nth, &bound)| {
            let failures = kinds.iter().map(|&kind| {
                // What the rule's last good release says is as confidential as the rule.
                let asks = input.is_some() && judges(&bound.identity.name);
                let of = (nth, kind, asks);
                self.failure(&rules, &beside, of, (request, &params[nth]))
            });
            Drilled {
                bound,
                member: &self.members[bound.member],
                failures: failures.collect(),
            }
        });
        Ok(drilled.collect())
    }

    fn beside(&self, bound: &BoundRule, request: Drill<'_>, params: &[Val]) -> Beside {
        let judged = self.members[bound.member].stored_verdict(bound, params);
        let outcome = judged.outcome.as_ref().ok();
        match outcome.and_then(|outcome| bound.last_good_after(outcome)) {
            None => Beside::of(bound, &judged.outcome),
            Some(earlier) => Beside::of(earlier.bound, &request.judged_by(earlier)),
        }
    }

    fn failure<'a>(
        &'a self,
        rules: &[&'a BoundRule],
        beside: &[Beside],
        (nth, kind, has_input): (usize, FailureKind, bool),
        (request, params): (Drill<'_>, &[Val]),
    ) -> DrilledFailure<'a> {
        let bound = rules[nth];
        let member = &self.members[bound.member];
        let judged = member.judge_drilled(&bound.identity, bound.export, params, Some(kind));
        let outcome = bound.outcome(judged.outcome).map_err(|(_, reason)| reason);
        let after = outcome.as_ref().ok();
        let earlier = after.and_then(|outcome| bound.last_good_after(outcome));
        let last_good = earlier.map(|earlier| {
            let judged = || request.judged_by(earlier);
            (earlier.release.number, has_input.then(judged))
        });
        let decides = match (&last_good, earlier) {
            (Some((_, judged)), Some(earlier)) => {
                judged.as_ref().map_or(Beside::Continues, |judged| {
                    Beside::of(earlier.bound, judged)
                })
            }
            _ => Beside::of(bound, &outcome),
        };
        let mut drilled = DrilledFailure {
            kind,
            outcome,
            last_good,
            refusal: None,
            prevented: None,
        };
        for (at, (other, said)) in rules.iter().zip(beside).enumerate() {
            let name = &*other.identity.name;
            match if at == nth { &decides } else { said } {
                Beside::Continues => {}
                Beside::Refuses(all) => drilled.refusal = Some((name, all.clone())),
                Beside::Prevented(reason) => drilled.prevented = Some(format!("{name}: {reason}")),
            }
            if drilled.refusal.is_some() || drilled.prevented.is_some() {
                break;
            }
        }
        drilled
    }
}

/// Always the same input: the drilled rule does not come to read it.
struct Zeros;

impl crate::arbitrary::Choices for Zeros {
    fn number(&mut self) -> u64 {
        0
    }
}

//! Tells the component that informs people how the host itself has changed what is asked: canaries that were held back,
//! quarantines that have begun or ended, suspensions.
//!
//! | Question | Answer |
//! | --- | --- |
//! | whom? | the one component that exports `rialto:host/rule-state-handler`; without one, nobody |
//! | when? | within some seconds; what fails is tried again, with growing pauses |
//! | how often? | at least once, with an id by which the component knows what it has heard |
//! | over a restart? | what the store has (canaries, suspensions) is told again by each start, for [`RECALLED_MS`]; quarantines are of one process, and one that has begun just before its end may never be told |

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rialto_components::release::{Member, Release};
use rialto_components::runtime::Runtime;
use rialto_engine::{Engine, Name};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::asking::{Asking, only};

/// The interface of the component that hears of it.
const HANDLER: &str = "rialto:host/rule-state-handler@0.1.0";
/// Its function.
const CHANGED: &str = "rule-states-changed";
/// The name by which the deliveries have a share of the engine's queue. No client's name begins like this.
const ASKER: &str = "host: rule states";
/// Changes of one turn, the limit of the contract.
const AT_ONCE: usize = 100;
/// The most changes that wait. The oldest ones are left out, and counted.
const WAITING_MAX: usize = 1_000;
/// The time between two deliveries.
const PERIOD: Duration = Duration::from_secs(1);
/// The time doubles with each failure in a row, so often at most: to about a minute.
const DOUBLINGS_MAX: u32 = 6;
/// A start tells again what has happened in this time, in milliseconds: 30 days.
pub const RECALLED_MS: u64 = 30 * 24 * 3_600_000;

/// Several components would hear of it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "several components would be told how rules are asked: only one may export `{HANDLER}`, and {0} do"
)]
pub struct Several(String);

/// The component that hears of it, if there is one.
///
/// # Errors
/// When there are several.
pub fn keeper(release: &Release) -> Result<Option<&Member>, Several> {
    let exports = |member: &Member| member.export(HANDLER, CHANGED).is_some();
    only(release, exports).map_err(Several)
}

/// What was compared with a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Measure {
    /// `failures`, `verdict-drift` in millionths, or `fuel-p99`.
    pub name: &'static str,
    /// What it was.
    pub value: u64,
    /// What it may be at most, or the number at which it is too much.
    pub limit: u64,
}

/// How a rule is asked from an instant on: the `rule-state` of the contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RuleState {
    /// The same whenever this change is told.
    pub id: String,
    /// `canary`, `quarantine` or `suspension`.
    pub kind: &'static str,
    /// The state that has begun.
    pub state: &'static str,
    /// The rule or the canary, by its name in the scheme or its digest.
    pub rule: String,
    /// The rule in whose place a canary has decided.
    pub in_place_of: Option<String>,
    /// The steps, where it is of some steps.
    pub steps: Vec<String>,
    /// What went beyond its limit.
    pub measure: Option<Measure>,
    /// In words.
    pub reason: String,
    /// Milliseconds since 1970.
    pub at: u64,
}

/// The changes that wait to be told.
#[derive(Debug, Default)]
pub struct RuleStates {
    waiting: Mutex<VecDeque<RuleState>>,
    left_out: AtomicU64,
}

impl RuleStates {
    /// Have a change told soon.
    pub fn tell(&self, change: RuleState) {
        let mut waiting = self.waiting.lock();
        if waiting.len() >= WAITING_MAX {
            waiting.pop_front();
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
        waiting.push_back(change);
    }

    /// Take the oldest changes that one turn takes.
    fn take(&self) -> Vec<RuleState> {
        let left_out = self.left_out.swap(0, Ordering::Relaxed);
        if left_out > 0 {
            tracing::error!(
                left_out,
                "operators have no notices of changes of rules: too many waited to be told; the log has them"
            );
        }
        let mut waiting = self.waiting.lock();
        let count = waiting.len().min(AT_ONCE);
        waiting.drain(..count).collect()
    }

    /// Tell changes regularly until told to stop.
    pub async fn follow(
        self: Arc<Self>,
        engine: Engine,
        runtime: Arc<Runtime>,
        mut stop: watch::Receiver<bool>,
    ) {
        let asking = Asking {
            engine,
            runtime,
            handler: HANDLER,
        };
        let mut untold = Vec::new();
        let mut failures = 0_u32;
        loop {
            let pause = PERIOD * 2_u32.pow(failures.min(DOUBLINGS_MAX));
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                _ = stop.wait_for(|stop| *stop) => return,
            }
            if untold.is_empty() {
                untold = self.take();
            }
            if untold.is_empty() {
                continue;
            }
            match give(&asking, &untold).await {
                Ok(()) => {
                    untold.clear();
                    failures = 0;
                }
                Err(error) => {
                    if failures == 0 {
                        tracing::warn!(
                            "operators could not be told of changes of rules; the host tries again: {error:#}"
                        );
                    }
                    failures = failures.saturating_add(1);
                }
            }
        }
    }
}

async fn give(asking: &Asking, changes: &[RuleState]) -> anyhow::Result<()> {
    let whom = |release: &Release| -> anyhow::Result<Option<Name>> {
        Ok(keeper(release)?.map(|member| member.identity.name.clone()))
    };
    let changes: Value = json!(changes);
    let given = asking.ask(ASKER, whom, CHANGED, vec![changes]);
    given.await.map(|_: Option<()>| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(at: u64) -> RuleState {
        RuleState {
            id: format!("suspension/{at}/LAPSED"),
            kind: "suspension",
            state: "LAPSED",
            rule: "limits".to_owned(),
            in_place_of: None,
            steps: Vec::new(),
            measure: None,
            reason: "nobody has confirmed it".to_owned(),
            at,
        }
    }

    #[test]
    fn changes_are_told_in_order_and_in_bounded_numbers() {
        let states = RuleStates::default();
        for at in 0..1_001 {
            states.tell(change(at));
        }
        // The oldest one had no room.
        let first = states.take();
        assert_eq!((first.len(), first[0].at), (AT_ONCE, 1));
        assert_eq!(states.take()[0].at, 101);
    }

    #[test]
    fn change_has_the_names_of_the_contract() {
        let mut told = change(7);
        told.measure = Some(Measure {
            name: "failures",
            value: 3,
            limit: 3,
        });
        assert_eq!(
            json!(told),
            json!({
                "id": "suspension/7/LAPSED",
                "kind": "suspension",
                "state": "LAPSED",
                "rule": "limits",
                "in-place-of": null,
                "steps": [],
                "measure": {"name": "failures", "value": 3, "limit": 3},
                "reason": "nobody has confirmed it",
                "at": 7,
            })
        );
    }
}

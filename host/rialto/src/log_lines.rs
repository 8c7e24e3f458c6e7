//! Gives log lines to the component that keeps them, in one turn a second at most. Lines wait in a bounded queue
//! ([`rialto_telemetry::lines`]); lines beyond the bound, and lines whose turn failed, are counted and lost. Nothing
//! waits for the delivery.
//!
//! A line about the delivery has the target [`DELIVERY_TARGET`]. It is on standard error only.

use std::sync::Arc;
use std::time::Duration;

use rialto_components::release::{Member, Release};
use rialto_components::runtime::Runtime;
use rialto_engine::{Engine, Name};
use rialto_telemetry::Lines;
use rialto_telemetry::lines::{DELIVERY_TARGET, Line};
use rialto_telemetry::records::Severity;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::asking::{Asking, only};

/// The interface of the component that keeps lines.
const HANDLER: &str = "rialto:host/log-handler@0.1.0";
/// Its function.
const WRITTEN: &str = "lines-written";
/// The name by which the deliveries have a share of the engine's queue. No client's name begins like this.
const ASKER: &str = "host: log lines";
/// Lines of one turn, the limit of the contract.
const LINES_AT_ONCE: usize = 100;
/// The time between two deliveries.
const PERIOD: Duration = Duration::from_secs(1);
/// The time doubles with each failure in a row, so often at most: to about a minute.
const DOUBLINGS_MAX: u32 = 6;

/// Several components would keep the log lines.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("several components would keep the log lines: only one may export `{HANDLER}`, and {0} do")]
pub struct Several(String);

/// The component that keeps the log lines, if there is one.
///
/// # Errors
/// When there are several.
pub fn keeper(release: &Release) -> Result<Option<&Member>, Several> {
    let exports = |member: &Member| member.export(HANDLER, WRITTEN).is_some();
    only(release, exports).map_err(Several)
}

/// Delivers lines to the keeper of the current release.
pub struct Delivery {
    lines: Lines,
    asking: Asking,
    runtime: Arc<Runtime>,
    /// How many lines were lost when the keeper was last told so.
    told_lost: u64,
    /// How many deliveries in a row failed. Only the first failure is logged.
    failures: u32,
}

impl Delivery {
    /// A delivery of these lines.
    #[must_use]
    pub fn new(lines: Lines, engine: Engine, runtime: Arc<Runtime>) -> Self {
        Self {
            lines,
            asking: Asking {
                engine,
                runtime: runtime.clone(),
                handler: HANDLER,
            },
            runtime,
            told_lost: 0,
            failures: 0,
        }
    }

    /// Deliver lines regularly until told to stop.
    pub async fn follow(mut self, mut stop: watch::Receiver<bool>) {
        loop {
            let pause = PERIOD * 2_u32.pow(self.failures.min(DOUBLINGS_MAX));
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                _ = stop.wait_for(|stop| *stop) => return,
            }
            self.deliver().await;
        }
    }

    /// Deliver the oldest lines.
    async fn deliver(&mut self) {
        let Some(release) = self.runtime.current() else {
            return;
        };
        let keeper = keeper(&release).ok().flatten();
        self.lines
            .read_by(keeper.map(|member| &*member.identity.name));
        if keeper.is_none() {
            return;
        }
        let lost = self.lines.lost_so_far();
        let newly_lost = lost - self.told_lost;
        let room = LINES_AT_ONCE - usize::from(newly_lost > 0);
        let lines = self.lines.take(room);
        let mut batch: Vec<Value> = lines.iter().map(of_line).collect();
        if newly_lost > 0 {
            let line = Line::of_delivery(
                Severity::Warn,
                format!(
                    "{newly_lost} log lines are not here: more were written than are delivered, or a delivery failed; they are on the host's standard error"
                ),
            );
            batch.insert(0, of_line(&line));
        }
        if batch.is_empty() {
            return;
        }
        match self.give(batch).await {
            Ok(()) => {
                self.lines.delivered(lines.len());
                self.told_lost = lost;
                self.failures = 0;
            }
            Err(error) => {
                self.lines.lost(lines.len());
                if self.failures == 0 {
                    tracing::warn!(target: DELIVERY_TARGET, "log lines could not be given to the component that keeps them, and are only here; this is said once: {error:#}");
                }
                self.failures = self.failures.saturating_add(1);
            }
        }
    }

    async fn give(&self, batch: Vec<Value>) -> anyhow::Result<()> {
        let whom = |release: &Release| -> anyhow::Result<Option<Name>> {
            Ok(keeper(release)?.map(|member| member.identity.name.clone()))
        };
        let given = self.asking.ask(ASKER, whom, WRITTEN, vec![batch.into()]);
        given.await.map(|_: Option<()>| ())
    }
}

/// The `log-line` of the contract.
fn of_line(line: &Line) -> Value {
    let level = match line.severity {
        Severity::Info | Severity::Notice => "info",
        Severity::Warn => "warn",
        Severity::Error => "error",
    };
    json!({
        "time": line.at_ms(),
        "level": level,
        "component": line.writer(),
        "message": line.message,
        "trace": line.trace,
        "target": line.target,
    })
}

//! A host's metrics; waiting until it is idle, and checking that nothing failed.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use http::{HeaderMap, Method};
use rialto_simulator::client::HttpClient;

use crate::host::RunningHost;
use crate::waiting::until;

/// How long an answer may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// How long what is under way may take: longer than any message is worth delivering.
const IDLE_WITHIN: Duration = Duration::from_secs(120);
/// Failures of turns that an error shows.
const FAILURES_SHOWN: usize = 5;
/// The work under way in a host. When all are zero, only outside requests and reminders cause new work.
const UNDER_WAY: [&str; 6] = [
    "rialto_turns_active",
    "rialto_turns_alive",
    "rialto_turns_delayed",
    "rialto_turns_uncommitted",
    "rialto_requests_outbound",
    "rialto_requests_outbound_on_disk",
];

/// The metrics by their names, with their labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics(BTreeMap<String, u64>);

impl Metrics {
    /// Ask a host.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn of(host: &RunningHost) -> Result<Self> {
        let client = HttpClient::new(ANSWER_WITHIN);
        let uri = format!("{}/metrics", host.url("operators")?).parse()?;
        let answer = client.send(Method::GET, uri, HeaderMap::new(), String::new().into());
        let answer = answer.await?;
        ensure!(answer.status == 200, "/metrics answers {}", answer.status);
        Ok(Self::read(&String::from_utf8_lossy(&answer.body)))
    }

    fn read(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let metrics = lines.filter_map(|line| {
            let (name, value) = line.split_once(' ')?;
            Some((name.to_owned(), value.parse().ok()?))
        });
        Self(metrics.collect())
    }

    /// A metric's value.
    ///
    /// # Errors
    /// When the host has no such metric.
    pub fn get(&self, name: &str) -> Result<u64> {
        let value = self.0.get(name).copied();
        value.with_context(|| format!("the host has no metric {name}"))
    }

    /// The work under way as text; empty if there is none.
    ///
    /// # Errors
    /// When the host does not count it.
    fn under_way(&self) -> Result<Vec<String>> {
        let mut all = Vec::new();
        for name in UNDER_WAY {
            let count = self.get(name)?;
            if count > 0 {
                all.push(format!("{name} is {count}"));
            }
        }
        Ok(all)
    }
}

/// Wait until a host has nothing to do: no turn is ready, runs, waits for another attempt or for the disk,
/// and nothing is on its way to the outside. Gives what it counts then.
///
/// # Errors
/// When it still has something to do after two minutes.
pub async fn idle(host: &RunningHost) -> Result<Metrics> {
    idle_after(host).await.map(|(metrics, _)| metrics)
}

/// The same, with the number of looks that it took. Each look is a request that the host answers.
///
/// # Errors
/// As for `idle`.
pub async fn idle_after(host: &RunningHost) -> Result<(Metrics, u64)> {
    let mut looks = 0;
    // Between one thing that ends and the next that it causes there may be a moment of nothing. So two looks
    // in a row must find nothing, and no turn between them.
    let mut executed_before = None;
    until("the host has nothing to do", IDLE_WITHIN, async || {
        let now = Metrics::of(host).await?;
        looks += 1;
        let under_way = now.under_way()?;
        if !under_way.is_empty() {
            executed_before = None;
            return Ok(Err(under_way.join(", ")));
        }
        let executed = Some(now.get("rialto_turns_executed_total")?);
        let before = std::mem::replace(&mut executed_before, executed);
        Ok(if before == executed {
            Ok((now, looks))
        } else {
            Err("nothing, for the first time".to_owned())
        })
    })
    .await
}

impl RunningHost {
    /// Waits until the host has nothing to do, and accepts that it has given nothing up: no delivery waits
    /// for another attempt, no component is paused, no delivery is a dead letter. Turns may have failed
    /// before. Gives what the host counts then.
    ///
    /// # Errors
    /// With what waits or was given up, and the failures in the host's log.
    pub async fn nothing_waits(&self) -> Result<Metrics> {
        let metrics = idle(self).await;
        let metrics = metrics.with_context(|| failures(&self.log()))?;
        let paused = metrics.get("rialto_components_paused")?;
        ensure!(
            paused == 0,
            "{paused} components are paused; {}",
            failures(&self.log())
        );
        let letters = self.cli(&["dead-letters"])?.success()?;
        ensure!(letters.is_empty(), "deliveries were given up:\n{letters}");
        Ok(metrics)
    }

    /// As [`RunningHost::nothing_waits`], and no turn has failed since the host's latest start. A delivery
    /// that fails is tried for hours before it is a dead letter: only this shows that none failed.
    ///
    /// # Errors
    /// With what waits, failed or was given up.
    pub async fn nothing_failed(&self) -> Result<()> {
        let metrics = self.nothing_waits().await?;
        let failed = metrics.get("rialto_turns_failed_total")?;
        ensure!(
            failed == 0,
            "{failed} runs of turns failed; {}",
            failures(&self.log())
        );
        Ok(())
    }
}

/// The failed turns in a host's log, as text.
fn failures(log: &str) -> String {
    let failures = log.lines().filter(|line| line.contains("a turn failed"));
    let failures: Vec<&str> = failures.collect();
    let shown = &failures[..failures.len().min(FAILURES_SHOWN)];
    format!(
        "the host's log tells {} failures of turns, among them:\n{}",
        failures.len(),
        shown.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_turns_are_told_from_the_log() {
        let line = r#"{"level":"WARN","message":"a turn failed","component":"quoting"}"#;
        let told = failures(&format!("{{\"message\":\"ready\"}}\n{line}\n"));
        assert!(told.contains("tells 1 failures"), "{told}");
        assert!(told.ends_with(line), "{told}");
    }

    #[test]
    fn what_is_under_way_is_told() {
        let text = "# TYPE rialto_turns_alive gauge\nrialto_turns_alive 2\nrialto_x{a=\"b\"} 7\n";
        let mut metrics = Metrics::read(text);
        assert_eq!(metrics.get("rialto_turns_alive").unwrap(), 2);
        let missing = metrics.under_way().unwrap_err().to_string();
        assert_eq!(missing, "the host has no metric rialto_turns_active");
        for name in UNDER_WAY {
            metrics.0.entry(name.to_owned()).or_default();
        }
        assert_eq!(metrics.under_way().unwrap(), ["rialto_turns_alive is 2"]);
    }
}

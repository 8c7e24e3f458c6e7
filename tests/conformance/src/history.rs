//! The events of a subject, as the host's history shows them.

use anyhow::{Context as _, Result, ensure};
use rialto_tests::host::RunningHost;
use serde_json::Value;

/// Events that cases do not expect: Scheduling's own, which no FSP sees; and a warning, which the first case
/// gets.
const APART: [&str; 2] = [
    "schedule-reminder-elapsed",
    "participant-liquidity-threshold-exceeded",
];

/// An event that was published.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Published {
    /// Its name in the contracts, such as `transfer-prepared`.
    pub event: String,
    /// The contexts that took it.
    pub to: Vec<String>,
}

/// All events that turns about a subject published, in the order of the history.
///
/// # Errors
/// When the host shows no history that can be read.
pub fn published(host: &RunningHost, subject: &str) -> Result<Vec<Published>> {
    let mut events = steps(host, subject, of_step)?;
    events.retain(|published| is_compared(&published.event));
    Ok(events)
}

/// The events that a turn published.
pub fn of_turn(turn: &Value) -> Vec<Published> {
    let steps = turn["steps"].as_array().into_iter().flatten();
    let published = steps.filter_map(of_step);
    published
        .filter(|published| is_compared(&published.event))
        .collect()
}

/// Whether an event is compared with what a case expects.
pub fn is_compared(event: &str) -> bool {
    !APART.contains(&event)
}

/// The calls and events of warnings in turns about a subject, in the order of the history.
///
/// # Errors
/// As [`published`].
pub fn warnings(host: &RunningHost, subject: &str) -> Result<Vec<String>> {
    let names = steps(host, subject, |step| {
        let called = step.get("Called").and_then(|c| c["function"].as_str());
        let name = called.map(|called| name_alone(called).to_owned());
        name.or_else(|| of_step(step).map(|published| published.event))
    })?;
    let is_warning = |name: &String| name.ends_with("liquidity-threshold-exceeded");
    Ok(names.into_iter().filter(is_warning).collect())
}

/// The steps of the turns about a subject, as far as they are read.
fn steps<T>(
    host: &RunningHost,
    subject: &str,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Vec<T>> {
    // Exit code 1: nothing is known of it yet.
    let output = host.cli(&["events", subject, "--json"])?;
    ensure!(
        output.code <= 1,
        "`rialto events {subject}` failed:\n{output}"
    );
    let mut found = Vec::new();
    for line in output.stdout.lines() {
        let turn: Value =
            serde_json::from_str(line).with_context(|| format!("the turn `{line}`"))?;
        if turn["ended"] != "Executed" {
            continue; // nothing of it remains
        }
        let steps = turn["steps"].as_array();
        found.extend(steps.into_iter().flatten().filter_map(&read));
    }
    Ok(found)
}

fn of_step(step: &Value) -> Option<Published> {
    let published = step.get("Published")?;
    let event = name_alone(published["event"].as_str()?);
    let to = published["to"].as_array()?;
    let to = to.iter().filter_map(|name| Some(name.as_str()?.to_owned()));
    Some(Published {
        event: event.to_owned(),
        to: to.collect(),
    })
}

/// The function of an interface and function.
fn name_alone(event: &str) -> &str {
    event.rsplit(['/', '#', '.']).next().unwrap_or(event)
}

/// The consumers of an event by the drawings (choreography 15.4), if the context exists.
pub fn consumers(event: &str) -> Vec<&'static str> {
    match event {
        "transfer-committed-fulfiled" => vec![
            "fsp-interop-api",
            "participant-lifecycle-management",
            "settlements",
        ],
        "transfer-prepare-liquidity-check-failed"
        | "transfer-reject-request-processed"
        | "transfer-fulfil-comit-request-timedout" => {
            vec!["fsp-interop-api", "participant-lifecycle-management"]
        }
        _ => vec![consumer(event)],
    }
}

/// The one context that consumes any other event.
fn consumer(event: &str) -> &'static str {
    let is_about_transfers = event.starts_with("transfer-");
    match event {
        "notify-requested" => "notifications-and-alerts",
        "transfer-prepare-requested" => "settlements",
        "transfer-prepare-accounts-allocated" => "transfers",
        _ if ["participant-", "participants-", "party-"]
            .iter()
            .any(|start| event.starts_with(start)) =>
        {
            match event.rsplit('-').next() {
                Some("received" | "available" | "refused") => "account-lookup",
                _ => "fsp-interop-api",
            }
        }
        _ if is_from_fsp(event) && is_about_transfers => "transfers",
        _ if is_from_fsp(event) => "quoting",
        _ => "fsp-interop-api",
    }
}

/// Whether the FSP Interop API publishes it: requests of FSPs, and callback reports.
fn is_from_fsp(event: &str) -> bool {
    event.ends_with("-requested")
        || event.ends_with("-received")
        || event.ends_with("-undelivered")
        || event.ends_with("-callback-report")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn steps_that_publish_are_read() {
        let step =
            json!({ "Published": { "event": "transfer-prepared", "to": ["fsp-interop-api"] } });
        let published = of_step(&step).unwrap();
        assert_eq!(published.event, "transfer-prepared");
        assert_eq!(published.to, ["fsp-interop-api"]);
        assert_eq!(of_step(&json!({ "Wrote": { "document": "x" } })), None);
        assert_eq!(
            name_alone("rialto:transfers/transfer-prepared"),
            "transfer-prepared"
        );
    }

    #[test]
    fn each_event_has_its_consumer() {
        for (event, to) in [
            ("party-query-received", "account-lookup"),
            ("party-info-available", "account-lookup"),
            ("party-info-refused", "account-lookup"),
            ("party-info-requested", "fsp-interop-api"),
            ("participant-association-created", "fsp-interop-api"),
            (
                "participants-association-request-received",
                "account-lookup",
            ),
            ("participants-association-processed", "fsp-interop-api"),
            ("quote-response-received", "quoting"),
            ("quote-request-undelivered", "quoting"),
            ("invalid-fsp-in-quote-request-callback-report", "quoting"),
            ("invalid-fsp-in-quote-request", "fsp-interop-api"),
            ("transfer-prepare-callback-report", "transfers"),
            ("transfer-reject-requested", "transfers"),
            ("notify-report", "fsp-interop-api"),
        ] {
            assert_eq!(consumers(event), [to], "{event}");
        }
        assert_eq!(consumers("transfer-committed-fulfiled").len(), 3);
        assert_eq!(consumers("transfer-reject-request-processed").len(), 2);
    }
}

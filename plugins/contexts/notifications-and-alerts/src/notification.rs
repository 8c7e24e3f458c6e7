//! Conversions: from a notification to the host's request, and from the host's report to this context's report.

use crate::bindings::exports::rialto::fsp_interop_api::notify_requested;
use crate::bindings::rialto::notifications_and_alerts::notify_report;
use rialto_sdk::bindings::rialto::common::types::NotSent;
use rialto_sdk::bindings::rialto::host::http::{
    DeliveryPolicy, DeliveryReport, FailureKind, OutboundRequest, Outcome,
};
use rialto_sdk::documents;
use rialto_sdk::headers::to_list;
use serde::{Deserialize, Serialize};

/// The correlation that the host returns with a report.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Correlation {
    notification_id: String,
    requested_by: String,
    destination: String,
    method: String,
    path: String,
    subject: String,
    /// The correlation that this context returns to the requester.
    correlation: String,
}

/// A notification that has ended.
#[derive(Debug, PartialEq)]
pub struct Ended {
    /// For the context that asked for it.
    pub event: notify_report::Event,
    /// Its subject.
    pub subject: String,
    /// The beginning of the answer's body.
    pub answer: String,
}

/// The request that delivers a notification.
///
/// # Panics
/// Never: strings always have a JSON text.
#[must_use]
pub fn outbound(event: notify_requested::Event, policy: DeliveryPolicy) -> OutboundRequest {
    let correlation = Correlation {
        notification_id: event.notification_id,
        requested_by: event.requested_by,
        destination: event.destination,
        method: event.method.clone(),
        path: event.path,
        subject: event.subject,
        correlation: event.correlation,
    };
    OutboundRequest {
        method: event.method,
        url: event.url,
        headers: to_list(&event.headers),
        body: event.body,
        policy,
        correlation: serde_json::to_string(&correlation).expect("strings always have a JSON text"),
    }
}

/// The outcome of a notification, and its subject.
///
/// # Panics
/// If the report lacks what [`outbound`] gave to the host.
#[must_use]
pub fn report(report: DeliveryReport, reported_at: u64) -> Ended {
    // A request of a newer release that was rolled back may still be under way, with more in it.
    let given: Correlation = documents::read(&report.correlation).unwrap_or_else(|problem| {
        panic!(
            "the correlation {:?} cannot be read: {problem}",
            report.correlation
        )
    });
    let mut not_sent = None;
    let (delivered, response, reason) = match report.outcome {
        Outcome::Delivered(response) => (true, Some(response), None),
        Outcome::Failed(failure) => {
            // Its destination was checked when it was staged: no attempt was made, not even before a restart.
            not_sent = (failure.kind == FailureKind::NotAllowed).then_some(NotSent::NotAllowed);
            let reason = format!("{}: {}", word(failure.kind), failure.reason);
            (false, failure.response, Some(reason))
        }
    };
    let (status, answer) = response.map_or((0, String::new()), |r| (r.status, r.body));
    let event = notify_report::Event {
        notification_id: given.notification_id,
        requested_by: given.requested_by,
        destination: given.destination,
        method: given.method,
        path: given.path,
        correlation: given.correlation,
        delivered,
        status,
        attempts: report.attempts,
        reason,
        reported_at,
        not_sent,
    };
    Ended {
        event,
        subject: given.subject,
        answer,
    }
}

fn word(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::NotAllowed => "not allowed",
        FailureKind::Unreachable => "unreachable",
        FailureKind::TimedOut => "timed out",
        FailureKind::Refused => "refused",
        FailureKind::Broken => "broken",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use rialto_sdk::bindings::rialto::host::http::{DeliveryFailure, OutboundResponse, WhileAway};
    use rialto_sdk::testing::of_a_newer_release;

    fn requested() -> notify_requested::Event {
        notify_requested::Event {
            notification_id: "n".to_owned(),
            requested_by: "fsp-interop-api".to_owned(),
            destination: "payeefsp".to_owned(),
            method: "POST".to_owned(),
            url: "http://127.0.0.1:4102/transfers".to_owned(),
            path: "/transfers".to_owned(),
            headers: "date: x\n".to_owned(),
            body: Some("{ \"a\": 1 }".to_owned()),
            signature: None,
            worth: notify_requested::Worth::Until(77),
            give_up_while_away: false,
            subject: "transfer:t".to_owned(),
            correlation: r#"{"subject":"t"}"#.to_owned(),
        }
    }

    fn policy() -> DeliveryPolicy {
        let worth = notify_requested::Worth::Until(77);
        Settings::default().policy(worth, 0, WhileAway::Wait)
    }

    fn ended(outcome: Outcome) -> Ended {
        let request = outbound(requested(), policy());
        report(
            DeliveryReport {
                id: 1,
                correlation: request.correlation,
                attempts: 3,
                outcome,
            },
            99,
        )
    }

    fn response(status: u16) -> OutboundResponse {
        OutboundResponse {
            status,
            headers: Vec::new(),
            body: String::new(),
        }
    }

    #[test]
    fn a_notification_is_sent_as_it_was_asked_for() {
        let request = outbound(requested(), policy());
        assert_eq!(request.url, "http://127.0.0.1:4102/transfers");
        assert_eq!(request.body.as_deref(), Some("{ \"a\": 1 }"));
        assert_eq!(request.headers, [("date".to_owned(), "x".to_owned())]);
        assert_eq!(request.policy.deadline, 77);
    }

    #[test]
    fn a_report_gives_back_what_the_requester_gave() {
        let ended = ended(Outcome::Delivered(response(202)));
        assert_eq!(ended.subject, "transfer:t");
        let event = ended.event;
        assert_eq!(event.notification_id, "n");
        assert_eq!(event.requested_by, "fsp-interop-api");
        assert_eq!(
            (event.method.as_str(), event.path.as_str()),
            ("POST", "/transfers")
        );
        assert_eq!(event.correlation, r#"{"subject":"t"}"#);
        assert_eq!(
            (event.delivered, event.status, event.attempts),
            (true, 202, 3)
        );
        assert_eq!((event.reason, event.reported_at), (None, 99));
    }

    #[test]
    fn report_of_a_newer_releases_message_is_read() {
        let correlation = outbound(requested(), policy()).correlation;
        let newer: serde_json::Value = serde_json::from_str(&correlation).unwrap();
        let newer = of_a_newer_release(&newer, &[]);
        let report = DeliveryReport {
            id: 1,
            correlation: newer.to_string(),
            attempts: 3,
            outcome: Outcome::Delivered(response(202)),
        };
        let understood = super::report(report, 99);
        let as_ever = ended(Outcome::Delivered(response(202)));
        assert_eq!(understood, as_ever);
    }

    #[test]
    fn a_failure_says_why() {
        let failed = |kind, response| {
            let reason = "connection refused".to_owned();
            let failure = DeliveryFailure {
                kind,
                reason,
                response,
            };
            ended(Outcome::Failed(failure)).event
        };
        for (kind, not_sent) in [
            (FailureKind::NotAllowed, Some(NotSent::NotAllowed)),
            (FailureKind::Unreachable, None),
            (FailureKind::TimedOut, None),
            (FailureKind::Broken, None),
        ] {
            assert_eq!(failed(kind, None).not_sent, not_sent, "{kind:?}");
        }
        let event = failed(FailureKind::Unreachable, None);
        assert_eq!((event.delivered, event.status), (false, 0));
        assert_eq!(
            event.reason.as_deref(),
            Some("unreachable: connection refused")
        );
        let event = failed(FailureKind::Refused, Some(response(404)));
        assert_eq!((event.delivered, event.status), (false, 404));
    }
}

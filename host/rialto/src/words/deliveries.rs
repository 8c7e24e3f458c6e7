//! Outbound messages as text for a terminal: those about a subject, a report about one that had trouble, and the
//! status of destinations.

use std::fmt::Write as _;

use serde_json::Value;

use super::instant;
use crate::cli::Delivery;
use crate::ops::Destination;

/// Messages with their outcomes, in the order in which they were sent.
pub fn deliveries(all: &[Delivery]) -> String {
    let mut text = String::new();
    let mut subject = "";
    for delivery in all {
        if delivery.subject != subject {
            subject = &delivery.subject;
            let _ = writeln!(text, "{subject}");
        }
        let outcome = match (&delivery.outcome, delivery.ended_at) {
            (Some(outcome), Some(at)) => {
                format!(
                    "{outcome}, {} ms later",
                    at.saturating_sub(delivery.sent_at)
                )
            }
            _ => "under way".to_owned(),
        };
        let (at, message) = (instant(delivery.sent_at), &delivery.message);
        let _ = writeln!(text, "  {at}  {message}\n    {outcome}");
    }
    text
}

/// A component's report in two lines. Missing members are left out.
pub fn report(report: &Value) -> String {
    let said = |name: &str| report[name].as_str().unwrap_or_default().to_owned();
    let at = report["reportedAt"]
        .as_u64()
        .map(instant)
        .unwrap_or_default();
    let attempts = report["attempts"].as_u64().unwrap_or_default();
    let plural = if attempts == 1 { "attempt" } else { "attempts" };
    let outcome = match report["status"].as_u64() {
        Some(status) if report["delivered"] == true => format!("answered {status}"),
        _ => format!("not delivered: {}", said("reason")),
    };
    let mut text = format!(
        "{at}  {} {} about {}\n    {outcome}, after {attempts} {plural}",
        said("method"),
        said("path"),
        said("subject"),
    );
    let answer = said("answer");
    if !answer.is_empty() {
        let _ = write!(
            text,
            "\n    its answer: {}",
            answer.replace(char::is_control, " ")
        );
    }
    text
}

/// Destinations as a table, with the reason for each that cannot be reached.
pub fn destinations(all: &[Destination]) -> String {
    let mut text = String::new();
    let longest = all.iter().map(|d| d.status.destination.len());
    let width = longest.max().unwrap_or_default().max("destination".len());
    let _ = writeln!(
        text,
        "{:<width$}  circuit   under way   waiting   on disk",
        "destination"
    );
    for destination in all {
        let status = &destination.status;
        let _ = writeln!(
            text,
            "{:<width$}  {:<8} {:>10} {:>9} {:>9}",
            status.destination,
            status.circuit,
            status.under_way,
            status.requests.saturating_sub(status.under_way),
            destination.on_disk,
        );
        if status.failures > 0 {
            let next = match status.tried_again_in_ms {
                0 => String::new(),
                ms => format!("; tried again in {:.1} s", ms as f64 / 1000.0),
            };
            let plural = if status.failures == 1 {
                "attempt"
            } else {
                "attempts"
            };
            let _ = writeln!(
                text,
                "  the last {} {plural} met nobody: {}{next}",
                status.failures,
                status.last_failure.as_deref().unwrap_or("unknown"),
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_edge::DestinationStatus;
    use serde_json::json;

    #[test]
    fn deliveries_under_way_and_ended() {
        let delivery = |request, outcome: Option<&str>| Delivery {
            subject: "transfer:7c23e80c-d078-4077-8263-2c047876fcf6".to_owned(),
            request,
            sent_at: 1_795_302_648_066,
            message: "POST http://127.0.0.1:4102/transfers".to_owned(),
            outcome: outcome.map(str::to_owned),
            ended_at: outcome.map(|_| 1_795_302_648_070),
        };
        let all = [delivery(1, Some("202 after 1 attempt")), delivery(2, None)];
        insta::assert_snapshot!(deliveries(&all));
    }

    #[test]
    fn a_report_of_trouble() {
        insta::assert_snapshot!(report(&json!({
            "subject": "transfer:7c23e80c-d078-4077-8263-2c047876fcf6",
            "method": "PUT",
            "path": "/transfers/7c23e80c-d078-4077-8263-2c047876fcf6",
            "delivered": false,
            "status": 503,
            "attempts": 3,
            "reason": "refused: answered 503",
            "answer": "busy\u{1b}[31m",
            "reportedAt": 1_795_302_648_066_u64,
        })));
    }

    #[test]
    fn destinations_that_answer_and_one_that_does_not() {
        let status = |destination: &str, circuit: &str, failures| DestinationStatus {
            destination: destination.to_owned(),
            circuit: circuit.to_owned(),
            failures,
            tried_again_in_ms: u64::from(failures) * 150,
            requests: 40,
            under_way: 2,
            last_failure: (failures > 0).then(|| "no answer within 5000 ms".to_owned()),
        };
        let all = [
            Destination {
                status: status("127.0.0.1:4101", "closed", 0),
                on_disk: 0,
            },
            Destination {
                status: status("payee.example:443", "open", 9),
                on_disk: 7,
            },
        ];
        insta::assert_snapshot!(destinations(&all));
    }
}

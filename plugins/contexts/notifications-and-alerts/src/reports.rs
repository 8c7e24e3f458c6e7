//! Delivery reports, by destination. By default, a message that was delivered at the first attempt leaves no
//! report: the host's history has every message under its subject. Reports stay for good, so they name no party.

use crate::notification::Ended;
use crate::settings::Settings;
use rialto_sdk::documents::{Collection, Page, Range};
use serde::{Deserialize, Serialize};

/// Reports by destination and time.
const REPORTS: Collection<ReportDocument> = Collection::new("reports");

/// The beginning of a party's subject.
const PARTY: &str = "party:";
/// Bytes of an answer that a report keeps: enough for an FSPIOP error.
const ANSWER_BYTES_MAX: usize = 1_024;

/// The outcome of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReportDocument {
    /// The notification's id.
    pub notification_id: String,
    /// Its subject: `transfer:7c23e80c-…`. Of a party only `party`.
    pub subject: String,
    /// The context that asked for it.
    pub requested_by: String,
    /// Whom it was for.
    pub destination: String,
    /// The HTTP method.
    pub method: String,
    /// The path of the resource; of a message about a party its first part.
    pub path: String,
    /// Whether the destination answered 2xx.
    pub delivered: bool,
    /// The destination's last answer, or 0 if there was none.
    pub status: u16,
    /// Attempts in all.
    pub attempts: u32,
    /// Why it was not delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The beginning of the last answer's body, if it had one and the message was not about a party.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// UTC, milliseconds since 1970.
    pub reported_at: u64,
}

impl ReportDocument {
    /// The report of a notification that has ended.
    #[must_use]
    pub fn new(ended: &Ended) -> Self {
        let event = ended.event.clone();
        let is_of_party = ended.subject.starts_with(PARTY);
        let (subject, path, answer) = if is_of_party {
            let first = event.path.trim_start_matches('/').split('/').next();
            let path = format!("/{}", first.unwrap_or_default());
            ("party", path, "")
        } else {
            let answer = cut(&ended.answer, ANSWER_BYTES_MAX);
            (&*ended.subject, event.path, answer)
        };
        Self {
            notification_id: event.notification_id,
            subject: subject.to_owned(),
            requested_by: event.requested_by,
            destination: event.destination,
            method: event.method,
            path,
            delivered: event.delivered,
            status: event.status,
            attempts: event.attempts,
            reason: event.reason,
            answer: (!answer.is_empty()).then(|| answer.to_owned()),
            reported_at: event.reported_at,
        }
    }

    /// Its id, in the order of time for each participant.
    fn id(&self) -> String {
        let (at, id) = (self.reported_at, &self.notification_id);
        format!("{}/{at:013}/{id}", self.destination)
    }
}

/// Stores a report, if the settings ask for it.
pub fn keep(report: &ReportDocument, settings: &Settings) {
    if settings
        .reports_kept
        .keeps(report.delivered, report.attempts)
    {
        REPORTS.put(&report.id(), report);
    }
}

/// A page of the reports of messages to a participant, oldest first, and the cursor of the next one.
#[must_use]
pub fn page(
    participant: &str,
    cursor: Option<&str>,
    limit: u32,
) -> (Vec<ReportDocument>, Option<String>) {
    let range = Range::Prefix(format!("{participant}/"));
    let Page { documents, cursor } = REPORTS.scan(&range, cursor, limit);
    let reports = documents.into_iter().map(|(_, report)| report);
    (reports.collect(), cursor)
}

/// The beginning of a text, up to a number of bytes.
fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alerts::ALERTS;
    use crate::bindings::rialto::notifications_and_alerts::notify_report;
    use crate::notices::NOTICES;
    use rialto_sdk::testing::survives_a_rollback;

    fn report(delivered: bool, attempts: u32, answer: &str) -> ReportDocument {
        ReportDocument::new(&ended(delivered, attempts, answer))
    }

    fn ended(delivered: bool, attempts: u32, answer: &str) -> Ended {
        Ended {
            event: notify_report::Event {
                notification_id: "1b4e28ba-2fa1-41d2-883f-0016d3cca427".to_owned(),
                requested_by: "fsp-interop-api".to_owned(),
                destination: "payerfsp".to_owned(),
                method: "PUT".to_owned(),
                path: "/transfers/t".to_owned(),
                correlation: String::new(),
                delivered,
                status: 200,
                attempts,
                reason: None,
                reported_at: 1_700_000_000_000,
                not_sent: None,
            },
            subject: "transfer:t".to_owned(),
            answer: answer.to_owned(),
        }
    }

    #[test]
    fn a_report_is_found_by_participant_and_time() {
        let id = report(true, 1, "").id();
        assert_eq!(
            id,
            "payerfsp/1700000000000/1b4e28ba-2fa1-41d2-883f-0016d3cca427"
        );
    }

    #[test]
    fn documents_keep_unknown_members_of_a_newer_release() {
        let mut full = report(false, 2, "no");
        full.reason = Some("r".to_owned());
        survives_a_rollback(&REPORTS, &full, &[]);
        let alert = r#"{"alert":"a","participant":"p","message":"m","raisedAt":1}"#;
        survives_a_rollback(&ALERTS, &serde_json::from_str(alert).unwrap(), &[]);
        let notice = r#"{"audience":"checkers","request":"r","kind":"k","participant":"p","state":"s",
            "message":"m","at":1}"#;
        survives_a_rollback(&NOTICES, &serde_json::from_str(notice).unwrap(), &[]);
    }

    #[test]
    fn a_report_names_no_party() {
        let ended = Ended {
            event: notify_report::Event {
                path: "/parties/MSISDN/4915/error".to_owned(),
                ..ended(false, 3, "").event
            },
            subject: "party:MSISDN/4915".to_owned(),
            answer: "4915 is unknown here".to_owned(),
        };
        let text = serde_json::to_string(&ReportDocument::new(&ended)).unwrap();
        assert!(!text.contains("4915"), "{text}");
        assert!(text.contains(r#""path":"/parties""#), "{text}");
    }

    #[test]
    fn a_long_answer_is_cut_between_characters() {
        let kept = report(true, 1, &"\u{20ac}".repeat(1_000)).answer.unwrap();
        assert_eq!(kept.len(), 1_023, "a euro sign has three bytes");
        assert_eq!(report(true, 1, "").answer, None);
    }
}

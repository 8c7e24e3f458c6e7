//! Handing a message to Notifications & Alerts.

use crate::bindings::rialto::fsp_interop_api::notify_requested::{self, notify_requested};
use crate::bindings::rialto::participant_lifecycle_management::get_participant_callback_info::get_participant_callback_info;
use crate::jws::{HostKeys, hub_signature};
use crate::notice::{Frame, Notice};
use crate::report::{Correlation, OnFailure, ended};
use crate::settings::Settings;
use rialto_sdk::bindings::rialto::common::types::{CallbackReport, NotSent};
use rialto_sdk::bindings::rialto::host::{clock, random};
use rialto_sdk::errors::error;
use rialto_sdk::messages::path_spelt_once;
use rialto_sdk::scheme::{scheme, settings};
use rialto_sdk::warn;

/// The name of this context in notifications.
pub const REQUESTED_BY: &str = "fsp-interop-api";

/// The facts of a turn that do not depend on its event.
#[must_use]
pub fn frame() -> Frame<'static> {
    let settings: &Settings = settings();
    Frame {
        hub: &scheme().hub,
        keys: &HostKeys,
        now: clock::now(),
        delivery_deadline_ms: settings.delivery_deadline_ms,
        request_deadline_ms: settings.request_deadline_ms,
    }
}

/// Has a message delivered. A participant without a callback address gets nothing; the callback report tells
/// the context that caused the message.
pub fn deliver(frame: &Frame<'_>, notice: Notice) {
    let Some(target) = get_participant_callback_info(&notice.destination) else {
        return undeliverable(frame, notice);
    };
    let event = request(frame, notice, &target.base_url, random::uuid());
    notify_requested(&event);
}

fn undeliverable(frame: &Frame<'_>, notice: Notice) {
    let Notice {
        destination,
        method,
        path,
        report,
        subject,
        on_failure,
        ..
    } = notice;
    warn!("{method} {path} is not sent: {destination} has no callback address");
    let correlation = Correlation {
        report,
        subject: subject.clone(),
        destination: destination.clone(),
        on_failure,
    };
    let error = error("3201", &format!("{destination} has no callback address"));
    let report = CallbackReport {
        subject,
        reason: Some(format!("{destination} has no callback address")),
        destination,
        method,
        path,
        delivered: false,
        status: 0,
        attempts: 0,
        reported_at: frame.now,
        not_sent: Some(NotSent::NoAddress),
    };
    ended(frame, correlation, &report, error);
}

/// The request for a notification.
#[must_use]
pub fn request(
    frame: &Frame<'_>,
    notice: Notice,
    base_url: &str,
    id: String,
) -> notify_requested::Event {
    let Notice {
        destination,
        method,
        path,
        mut headers,
        body,
        worth,
        report,
        subject,
        on_failure,
    } = notice;
    let signature = hub_signature(frame.keys, frame.hub, &mut headers, (&method, &path));
    // The sender waits for an answer, and gets an error instead.
    let give_up_while_away = matches!(
        on_failure,
        Some(OnFailure::RefuseQuote { .. } | OnFailure::AnswerParty { .. })
    );
    let filed_under = match report.subject_kind() {
        "party" => format!("party:{}", path_spelt_once(&subject)),
        kind => format!("{kind}:{subject}"),
    };
    let correlation = Correlation {
        report,
        subject,
        destination,
        on_failure,
    };
    notify_requested::Event {
        notification_id: id,
        requested_by: REQUESTED_BY.to_owned(),
        correlation: correlation.to_text(),
        destination: correlation.destination,
        method,
        url: format!("{base_url}{path}"),
        path,
        headers,
        body,
        signature,
        worth,
        give_up_while_away,
        subject: filed_under,
    }
}

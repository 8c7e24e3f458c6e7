//! Notifications & Alerts: the bounded context that delivers messages to participants.
//!
//! A request for a notification becomes an outbound request of the host, which retries as the settings say. The
//! host's report is stored, and becomes the report to the context that asked. Turns get their subjects from the
//! turns that caused them.

pub mod alerts;
pub mod api;
pub mod bindings;
pub mod notices;
pub mod notification;
pub mod reports;
pub mod settings;

use alerts::AlertDocument;
use bindings::exports::rialto::auditing::audit_entry_quarantined;
use bindings::exports::rialto::fsp_interop_api::notify_requested::{self, HubSignature};
use bindings::exports::rialto::host::rule_state_handler::{Measure, RuleState};
use bindings::exports::rialto::host::{
    configuration_schema, http_report_handler, rule_state_handler, settings_handler,
};
use bindings::exports::rialto::notifications_and_alerts::rule_state_changed as own_event;
use bindings::exports::rialto::participant_lifecycle_management::{
    approval_notification, participant_liquidity_threshold_exceeded as liquidity,
    participant_state_updated,
};
use bindings::exports::rialto::platform_configuration::{
    configuration_values_changed, secrets_values_changed,
};
use bindings::exports::rialto::scheduling::schedule_reminder_failed;
use bindings::exports::rialto::security_authz::privileges_changed;
use bindings::rialto::host::crypto::{self, OwnSignature};
use bindings::rialto::notifications_and_alerts::notify_report::notify_report;
use bindings::rialto::notifications_and_alerts::rule_state_changed::{self, rule_state_changed};
use notices::{NOTICES, NoticeDocument, OWN};
use reports::ReportDocument;
use rialto_sdk::bindings::rialto::host::http::WhileAway;
use rialto_sdk::bindings::rialto::host::{clock, http};
use rialto_sdk::logging::subject;
use rialto_sdk::scheme::settings;
use rialto_sdk::{info, warn};
use settings::Settings;

/// The component.
pub struct Component;

rialto_sdk::judges_settings!(settings_handler, Component, Settings);
rialto_sdk::describes_settings!(configuration_schema, Component, version 1, "../settings.schema.json");

impl notify_requested::Guest for Component {
    fn notify_requested(mut event: notify_requested::Event) {
        let while_away = if event.give_up_while_away {
            WhileAway::GiveUp
        } else {
            WhileAway::Wait
        };
        let policy = settings::<Settings>().policy(event.worth, clock::now(), while_away);
        let signature = event.signature.take();
        let request = notification::outbound(event, policy);
        match signature {
            None => http::send(&request),
            Some(HubSignature { header, members }) => {
                crypto::send_signed(&request, &OwnSignature { header, members })
            }
        };
    }
}

impl liquidity::Guest for Component {
    fn participant_liquidity_threshold_exceeded(event: liquidity::Event) {
        subject("participant", &event.participant);
        let alert = AlertDocument::of_liquidity(&event);
        warn!("{}", alert.message);
        alerts::keep(&alert);
    }
}

impl approval_notification::Guest for Component {
    fn approval_notification(event: approval_notification::Event) {
        subject("request", &event.request_id);
        told(&NoticeDocument::of_request(event));
    }
}

impl participant_state_updated::Guest for Component {
    fn participant_state_updated(event: participant_state_updated::Event) {
        told(&NoticeDocument::of_state(&event));
    }
}

impl privileges_changed::Guest for Component {
    fn privileges_changed(event: privileges_changed::Event) {
        subject("request", &event.request);
        told(&NoticeDocument::of_privileges(event));
    }
}

impl configuration_values_changed::Guest for Component {
    fn configuration_values_changed(event: configuration_values_changed::Event) {
        subject("configuration", &event.context);
        told(&NoticeDocument::of_configuration(&event));
    }
}

impl secrets_values_changed::Guest for Component {
    fn secrets_values_changed(event: secrets_values_changed::Event) {
        subject("configuration", &event.context);
        told(&NoticeDocument::of_secrets(event));
    }
}

impl schedule_reminder_failed::Guest for Component {
    fn schedule_reminder_failed(event: schedule_reminder_failed::Event) {
        subject("reminder", &format!("{}/{}", event.client, event.id));
        told(&NoticeDocument::of_reminder(&event));
    }
}

impl audit_entry_quarantined::Guest for Component {
    fn audit_entry_quarantined(event: audit_entry_quarantined::Event) {
        subject("audit-quarantine", &event.id);
        told(&NoticeDocument::of_quarantine(&event));
    }
}

impl rule_state_handler::Guest for Component {
    fn rule_states_changed(changes: Vec<RuleState>) {
        for change in changes {
            let notice = NoticeDocument::of_rule(change.clone());
            // The host tells it again after a failure, and after each start.
            if NOTICES.get(&notice.id()).is_none() {
                rule_state_changed(&event_of(change));
            }
        }
    }
}

impl own_event::Guest for Component {
    fn rule_state_changed(event: own_event::Event) {
        let notice = NoticeDocument::of_rule(state_of(event));
        // The host may have told it twice before the first event came here.
        if NOTICES.get(&notice.id()).is_none() {
            if let Some(rule) = &notice.rule {
                subject("rule", &rule.name);
            }
            told(&notice);
        }
    }
}

fn state_of(event: own_event::Event) -> RuleState {
    let measure = event.measure.map(|measure| Measure {
        name: measure.name,
        value: measure.value,
        limit: measure.limit,
    });
    RuleState {
        id: event.id,
        kind: event.kind,
        state: event.state,
        rule: event.rule,
        in_place_of: event.in_place_of,
        steps: event.steps,
        measure,
        reason: event.reason,
        at: event.at,
    }
}

fn event_of(change: RuleState) -> rule_state_changed::Event {
    let measure = change.measure.map(|measure| rule_state_changed::Measure {
        name: measure.name,
        value: measure.value,
        limit: measure.limit,
    });
    rule_state_changed::Event {
        id: change.id,
        kind: change.kind,
        state: change.state,
        rule: change.rule,
        in_place_of: change.in_place_of,
        steps: change.steps,
        measure,
        reason: change.reason,
        at: change.at,
    }
}

/// Stores a notice and sends it to the webhook.
fn told(notice: &NoticeDocument) {
    if let Some(participant) = &notice.participant {
        subject("participant", participant);
    }
    let about = notice.request.as_deref().unwrap_or_default();
    info!(
        "to {}: {} {about} is {}: {}",
        notice.audience, notice.kind, notice.state, notice.message
    );
    NOTICES.put(&notice.id(), notice);
    let settings = settings::<Settings>();
    if let Some(url) = &settings.operators_webhook {
        let sent = notice.to_webhook(url);
        let policy = settings.policy(sent.worth, clock::now(), WhileAway::Wait);
        http::send(&notification::outbound(sent, policy));
    }
}

impl http_report_handler::Guest for Component {
    fn report(report: http::DeliveryReport) {
        let ended = notification::report(report, clock::now());
        reports::keep(&ReportDocument::new(&ended), settings());
        let event = ended.event;
        if let Some(reason) = &event.reason {
            warn!(
                "{} {} was not delivered to {} after {} attempts: {reason}",
                event.method, event.path, event.destination, event.attempts
            );
        }
        if event.requested_by != OWN {
            notify_report(&event);
        }
    }
}

// Component exports have names that no native linker takes.
#[cfg(target_arch = "wasm32")]
bindings::export!(Component with_types_in bindings);

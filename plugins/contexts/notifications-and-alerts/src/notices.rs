//! Notices to operators: waiting requests, the outcomes of their own requests, and what the host has done by itself. A notice is stored, logged,
//! listed over HTTP, and sent to the operators' webhook if there is one.

use crate::bindings::exports::rialto::auditing::audit_entry_quarantined;
use crate::bindings::exports::rialto::fsp_interop_api::notify_requested::{self, Worth};
use crate::bindings::exports::rialto::host::rule_state_handler::{Measure, RuleState};
use crate::bindings::exports::rialto::participant_lifecycle_management::{
    approval_notification::{Audience, Event},
    participant_state_updated,
};
use crate::bindings::exports::rialto::platform_configuration::{
    configuration_values_changed, secrets_values_changed,
};
use crate::bindings::exports::rialto::scheduling::schedule_reminder_failed;
use crate::bindings::exports::rialto::security_authz::privileges_changed;
use rialto_sdk::documents::Collection;
use serde::{Deserialize, Serialize};

/// Notices by audience and time.
pub const NOTICES: Collection<NoticeDocument> = Collection::new("notices");
/// All checkers.
pub const CHECKERS: &str = "checkers";
/// All operators.
pub const OPERATORS: &str = "operators";
/// The name of this context when it asks itself for a notification.
pub const OWN: &str = "notifications-and-alerts";
/// How long the host tries to send a notice, in milliseconds.
const WORTH_MS: u64 = 3_600_000;
/// The most changed values that a notice names.
const NAMED_MAX: usize = 5;

/// A notice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NoticeDocument {
    /// `checkers`, `operators`, or one operator's name after `operator/`.
    pub audience: String,
    /// The request, if the notice is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The kind of the request.
    pub kind: String,
    /// Of whom, if the notice is about a participant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub participant: Option<String>,
    /// The client and the id of a reminder, if the notice is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reminder: Option<String>,
    /// The id in quarantine of an entry for the audit log, if the notice is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// Of which context, if the notice is about its configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Which rule is asked otherwise than before, if the notice is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<NoticedRule>,
    /// Its state.
    pub state: String,
    /// In words.
    pub message: String,
    /// UTC, milliseconds since 1970.
    pub at: u64,
}

/// A rule or a canary that is asked otherwise than before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NoticedRule {
    /// The host's id of the change.
    pub change: String,
    /// By its name in the scheme, or its digest.
    pub name: String,
    /// The rule in whose place a canary has decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_place_of: Option<String>,
    /// The steps, where it is of some steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// What went beyond its limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<NoticedMeasure>,
}

/// What was compared with a limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NoticedMeasure {
    /// `failures`, `verdict-drift` in millionths, or `fuel-p99`.
    pub name: String,
    /// What it was.
    pub value: u64,
    /// The limit.
    pub limit: u64,
}

impl NoticeDocument {
    /// The notice that the host has changed how a rule is asked.
    #[must_use]
    pub fn of_rule(changed: RuleState) -> Self {
        let RuleState {
            id,
            kind,
            state,
            rule,
            in_place_of,
            steps,
            measure,
            reason,
            at,
        } = changed;
        let at_steps = match steps.as_slice() {
            [] => String::new(),
            steps => format!(" at {}", steps.join(", ")),
        };
        let place = in_place_of.as_ref();
        let place = place.map_or_else(String::new, |of| format!(" in the place of {of}"));
        let what = match (kind.as_str(), state.as_str()) {
            ("canary", _) => format!("the canary {rule}{place}{at_steps} is held back"),
            ("quarantine", "BEGUN") => format!("the rule {rule}{at_steps} is in quarantine"),
            ("quarantine", _) => format!("the quarantine of the rule {rule}{at_steps} is over"),
            ("suspension", "SUSPENDED" | "CONFIRMED") => format!("the rule {rule} is suspended"),
            ("suspension", _) => format!("the suspension of the rule {rule} is over"),
            (kind, state) => format!("{kind} {rule}{at_steps} is {state}"),
        };
        Self {
            audience: OPERATORS.to_owned(),
            reminder: None,
            entry: None,
            request: None,
            kind,
            participant: None,
            context: None,
            rule: Some(NoticedRule {
                change: id,
                name: rule,
                in_place_of,
                steps,
                measure: measure.map(|Measure { name, value, limit }| NoticedMeasure {
                    name,
                    value,
                    limit,
                }),
            }),
            state,
            message: format!("{what}: {reason}"),
            at,
        }
    }

    /// The notice of a request.
    #[must_use]
    pub fn of_request(event: Event) -> Self {
        let audience = match event.audience {
            Audience::Checkers => CHECKERS.to_owned(),
            Audience::Operator(name) => format!("operator/{name}"),
        };
        Self {
            audience,
            reminder: None,
            entry: None,
            request: Some(event.request_id),
            kind: event.kind,
            participant: Some(event.participant),
            context: None,
            rule: None,
            state: event.state,
            message: event.message,
            at: event.at,
        }
    }

    /// The notice of a participant's new state.
    #[must_use]
    pub fn of_state(event: &participant_state_updated::Event) -> Self {
        let may = if event.may_transact { "may" } else { "may not" };
        Self {
            audience: OPERATORS.to_owned(),
            reminder: None,
            entry: None,
            request: None,
            kind: "participant-state".to_owned(),
            participant: Some(event.participant.clone()),
            context: None,
            rule: None,
            state: if event.may_transact {
                "ACTIVE"
            } else {
                "BARRED"
            }
            .to_owned(),
            message: format!("{} {may} transact from now on", event.participant),
            at: event.updated_at,
        }
    }

    /// The notice that somebody may do other things.
    #[must_use]
    pub fn of_privileges(event: privileges_changed::Event) -> Self {
        let kind = match event.kind {
            privileges_changed::Kind::RolePrivileges => "role-privileges",
            privileges_changed::Kind::RoleAssignment => "role-assignment",
            privileges_changed::Kind::PublicKey => "public-key",
        };
        let (summary, maker, checker) = (event.summary, event.maker, event.checker);
        // Nobody approves what they asked for themselves: so this needed no second operator.
        let (state, how) = if maker == checker {
            ("DONE", format!("{maker} did it alone"))
        } else {
            let how = format!("{maker} asked for it, {checker} approved it");
            ("APPROVED", how)
        };
        Self {
            audience: OPERATORS.to_owned(),
            reminder: None,
            entry: None,
            request: Some(event.request),
            kind: kind.to_owned(),
            participant: None,
            context: None,
            rule: None,
            state: state.to_owned(),
            message: format!("{summary}: {how}"),
            at: event.changed_at,
        }
    }

    /// The notice that current values of a context's configuration have changed.
    #[must_use]
    pub fn of_configuration(event: &configuration_values_changed::Event) -> Self {
        let mut named: Vec<&str> = event.changed.iter().map(String::as_str).collect();
        let left_out = named.len().saturating_sub(NAMED_MAX);
        named.truncate(NAMED_MAX);
        let named = named.join(", ");
        let more = match left_out {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let by = event.release.map_or_else(
            || "it has published them itself".to_owned(),
            |release| format!("by release {release}"),
        );
        Self {
            audience: OPERATORS.to_owned(),
            reminder: None,
            entry: None,
            request: None,
            kind: "configuration".to_owned(),
            participant: None,
            context: Some(event.context.clone()),
            rule: None,
            state: "CHANGED".to_owned(),
            message: format!("{} has other values of {named}{more}: {by}", event.context),
            at: event.at,
        }
    }

    /// The notice that secrets of a context have other values.
    #[must_use]
    pub fn of_secrets(event: secrets_values_changed::Event) -> Self {
        let names = event.names.join(", ");
        let (context, maker, checker) = (event.context, event.maker, event.checker);
        Self {
            audience: OPERATORS.to_owned(),
            reminder: None,
            entry: None,
            request: None,
            kind: "secrets".to_owned(),
            participant: None,
            message: format!(
                "{context} has another secret {names}: {maker} has set it, {checker} approved it"
            ),
            context: Some(context),
            rule: None,
            state: "CHANGED".to_owned(),
            at: event.at,
        }
    }

    /// The notice that the callback of a reminder was given up.
    #[must_use]
    pub fn of_reminder(event: &schedule_reminder_failed::Event) -> Self {
        let schedule_reminder_failed::Event {
            id,
            client,
            attempts,
            reason,
            next,
            ..
        } = event;
        let then = match next {
            Some(_) => "it comes due again at its next time",
            None => "it does not come due again",
        };
        Self {
            audience: OPERATORS.to_owned(),
            request: None,
            reminder: Some(format!("{client}/{id}")),
            entry: None,
            kind: "reminder".to_owned(),
            participant: None,
            context: None,
            rule: None,
            state: "GIVEN_UP".to_owned(),
            message: format!(
                "the callback of the reminder {id} of {client} was given up after {attempts} attempts: {reason}; {then}"
            ),
            at: event.failed_at,
        }
    }

    /// The notice that an entry for the audit log is in quarantine.
    #[must_use]
    pub fn of_quarantine(event: &audit_entry_quarantined::Event) -> Self {
        let audit_entry_quarantined::Event {
            id,
            sender,
            reason,
            waiting,
            at,
        } = event;
        Self {
            audience: OPERATORS.to_owned(),
            reminder: None,
            entry: Some(id.clone()),
            request: None,
            kind: "audit-entry".to_owned(),
            participant: None,
            context: None,
            rule: None,
            state: "QUARANTINED".to_owned(),
            message: format!(
                "an entry of the audit log by {sender} is in quarantine as {id}: {reason}; entries that wait there: {waiting}"
            ),
            at: *at,
        }
    }

    /// Its id, in the order of time for each audience.
    #[must_use]
    pub fn id(&self) -> String {
        let about = self.request.as_deref().or(self.participant.as_deref());
        let about = about.or(self.context.as_deref());
        let about = about.or(self.reminder.as_deref());
        let about = about.or(self.entry.as_deref());
        let about = about.or(self.rule.as_ref().map(|rule| rule.change.as_str()));
        let about = about.unwrap_or_default();
        format!("{}/{:013}/{about}/{}", self.audience, self.at, self.state)
    }

    /// The request that sends the notice to the operators' webhook.
    ///
    /// # Panics
    /// Never: strings and numbers always have a JSON text.
    #[must_use]
    pub fn to_webhook(&self, url: &str) -> notify_requested::Event {
        let body = serde_json::to_string(self);
        notify_requested::Event {
            notification_id: self.id(),
            requested_by: OWN.to_owned(),
            destination: OPERATORS.to_owned(),
            method: "POST".to_owned(),
            url: url.to_owned(),
            path: "/".to_owned(),
            headers: "content-type: application/json\n".to_owned(),
            body: Some(body.expect("strings and numbers always have a JSON text")),
            signature: None,
            worth: Worth::Lasting(WORTH_MS),
            give_up_while_away: false,
            subject: match (&self.participant, &self.reminder, &self.rule) {
                (Some(participant), ..) => format!("participant:{participant}"),
                (None, Some(reminder), _) => format!("reminder:{reminder}"),
                (None, None, Some(rule)) => format!("rule:{}", rule.name),
                (None, None, None) => {
                    format!("request:{}", self.request.as_deref().unwrap_or_default())
                }
            },
            correlation: String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(audience: Audience) -> Event {
        Event {
            audience,
            request_id: "r".to_owned(),
            kind: "funds".to_owned(),
            participant: "p".to_owned(),
            state: "PENDING".to_owned(),
            message: "anna asks".to_owned(),
            at: 7,
        }
    }

    #[test]
    fn notices_of_an_audience_are_ordered_by_time() {
        let id = |audience| NoticeDocument::of_request(event(audience)).id();
        assert_eq!(id(Audience::Checkers), "checkers/0000000000007/r/PENDING");
        let anna = id(Audience::Operator("anna".to_owned()));
        assert_eq!(anna, "operator/anna/0000000000007/r/PENDING");
    }

    #[test]
    fn notice_of_changed_privileges_names_both_operators() {
        let notice = NoticeDocument::of_privileges(privileges_changed::Event {
            request: "r".to_owned(),
            kind: privileges_changed::Kind::RoleAssignment,
            about: "operator/anna".to_owned(),
            summary: "operator/anna gets the roles treasury".to_owned(),
            maker: "maya".to_owned(),
            checker: "chris".to_owned(),
            changed_at: 7,
        });
        assert_eq!(
            notice.message,
            "operator/anna gets the roles treasury: maya asked for it, chris approved it"
        );
        assert_eq!(notice.id(), "operators/0000000000007/r/APPROVED");
        let sent = notice.to_webhook("http://127.0.0.1:9/hook");
        assert_eq!(sent.subject, "request:r");
    }

    #[test]
    fn notice_of_a_failed_reminder_says_whether_it_comes_due_again() {
        let of = |next| {
            NoticeDocument::of_reminder(&schedule_reminder_failed::Event {
                id: "close".to_owned(),
                client: "program:switch".to_owned(),
                due: 5,
                attempts: 3,
                reason: "answered 500".to_owned(),
                next,
                failed_at: 7,
            })
        };
        let notice = of(None);
        assert_eq!(
            notice.message,
            "the callback of the reminder close of program:switch was given up after 3 attempts: answered 500; it does not come due again"
        );
        assert_eq!(
            notice.id(),
            "operators/0000000000007/program:switch/close/GIVEN_UP"
        );
        assert!(of(Some(9)).message.ends_with("at its next time"));
    }

    #[test]
    fn notice_of_a_quarantined_entry_says_whose_it_is_and_how_many_wait() {
        let notice = NoticeDocument::of_quarantine(&audit_entry_quarantined::Event {
            id: "0000000000009-4".to_owned(),
            sender: "switch".to_owned(),
            reason: "no JSON Web Signature".to_owned(),
            waiting: 4,
            at: 9,
        });
        let message = "an entry of the audit log by switch is in quarantine as 0000000000009-4: no JSON Web Signature; entries that wait there: 4";
        assert_eq!(notice.message, message);
        let id = "operators/0000000000009/0000000000009-4/QUARANTINED";
        assert_eq!(notice.id(), id);
    }

    #[test]
    fn notice_of_a_canary_says_by_which_measure_it_is_held_back() {
        let changed = RuleState {
            id: "canary/1/2/HELD_BACK".to_owned(),
            kind: "canary".to_owned(),
            state: "HELD_BACK".to_owned(),
            rule: "limits-next".to_owned(),
            in_place_of: Some("limits".to_owned()),
            steps: vec!["quote-request-check".to_owned()],
            measure: Some(Measure {
                name: "failures".to_owned(),
                value: 3,
                limit: 3,
            }),
            reason: "it failed 3 times".to_owned(),
            at: 9,
        };
        let notice = NoticeDocument::of_rule(changed);
        assert_eq!(
            notice.message,
            "the canary limits-next in the place of limits at quote-request-check is held back: it failed 3 times"
        );
        assert_eq!(
            notice.id(),
            "operators/0000000000009/canary/1/2/HELD_BACK/HELD_BACK"
        );
        let sent = notice.to_webhook("http://127.0.0.1:9/hook");
        assert_eq!(sent.subject, "rule:limits-next");
        let body: serde_json::Value = serde_json::from_str(&sent.body.unwrap()).unwrap();
        assert_eq!(body["rule"]["measure"]["limit"], 3);
    }

    #[test]
    fn notice_of_a_revoked_key_names_the_one_operator() {
        let notice = NoticeDocument::of_privileges(privileges_changed::Event {
            request: "r".to_owned(),
            kind: privileges_changed::Kind::PublicKey,
            about: "key/context/switch".to_owned(),
            summary: "context/switch loses the public key r".to_owned(),
            maker: "maya".to_owned(),
            checker: "maya".to_owned(),
            changed_at: 7,
        });
        assert_eq!(
            notice.message,
            "context/switch loses the public key r: maya did it alone"
        );
        assert_eq!(notice.id(), "operators/0000000000007/r/DONE");
    }

    #[test]
    fn notice_of_a_changed_configuration_names_context_and_values() {
        let event = |context: &str, changed: usize, release| configuration_values_changed::Event {
            context: context.to_owned(),
            version: 1,
            changed: (0..changed).map(|n| format!("/{n}")).collect(),
            release,
            at: 7,
        };
        let notice = NoticeDocument::of_configuration(&event("quoting", 2, Some(3)));
        assert_eq!(
            notice.message,
            "quoting has other values of /0, /1: by release 3"
        );
        assert_eq!(notice.id(), "operators/0000000000007/quoting/CHANGED");
        let notice = NoticeDocument::of_configuration(&event("switch", 7, None));
        assert_eq!(
            notice.message,
            "switch has other values of /0, /1, /2, /3, /4 and 2 more: it has published them itself"
        );
    }

    #[test]
    fn a_notice_goes_to_the_webhook_as_it_is_kept() {
        let notice = NoticeDocument::of_request(event(Audience::Checkers));
        let sent = notice.to_webhook("http://127.0.0.1:9/hook");
        let read: NoticeDocument = serde_json::from_str(&sent.body.unwrap()).unwrap();
        assert_eq!(read, notice);
        assert_eq!(
            (sent.requested_by.as_str(), sent.worth),
            (OWN, Worth::Lasting(WORTH_MS))
        );
    }
}

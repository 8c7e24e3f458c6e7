//! Entries as events of the Open Cybersecurity Schema Framework.
//!
//! Requests are API Activity, proofs of identity are Authentication, tokens and passkeys are Account Change. What else was done
//! to something with a name is Entity Management, and all the rest is a Base Event. Each event has the entry's bytes in
//! `raw_data`, so that nothing of an entry is lost.

use std::net::IpAddr;

use rialto_audit::{ActorKind, Entry};
use serde_json::{Map, Value, json};

use super::exported::{Attention, Exported, address, attention, count, detail, reason};

/// The version of the schema.
const VERSION: &str = "1.3.0";
/// The number and the name of what the schema does not name.
const OTHER: Activity = (99, "Other");

/// An activity: its number in the class, and its name.
type Activity = (u64, &'static str);

/// A class of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Base,
    AccountChange,
    Authentication,
    EntityManagement,
    ApiActivity,
}

impl Class {
    /// The class for an entry.
    fn of(entry: &Entry) -> Self {
        match &*entry.action {
            "authentication.refused"
            | "login.refused"
            | "login.alerted"
            | "assertion.refused"
            | "signature.refused"
            | "sender.refused"
            | "sign-in"
            | "sign-out" => Self::Authentication,
            "token-draw" | "token-remove" | "token-new" | "token-end" | "passkey-register"
            | "passkey-approve" | "passkey-end" => Self::AccountChange,
            "authorization.refused" | "confirmation.refused" | "address.refused" => {
                Self::ApiActivity
            }
            _ if request(entry).is_some() => Self::ApiActivity,
            _ if !entry.about.is_empty() => Self::EntityManagement,
            _ => Self::Base,
        }
    }

    /// Its number and its name.
    fn named(self) -> (u64, &'static str) {
        match self {
            Self::Base => (0, "Base Event"),
            Self::AccountChange => (3001, "Account Change"),
            Self::Authentication => (3002, "Authentication"),
            Self::EntityManagement => (3004, "Entity Management"),
            Self::ApiActivity => (6003, "API Activity"),
        }
    }

    /// The number and the name of its category.
    fn category(self) -> (u64, &'static str) {
        match self {
            Self::Base => (0, "Uncategorized"),
            Self::AccountChange | Self::Authentication | Self::EntityManagement => {
                (3, "Identity & Access Management")
            }
            Self::ApiActivity => (6, "Application Activity"),
        }
    }

    /// What the entry's action is in this class.
    fn activity(self, entry: &Entry) -> Activity {
        match self {
            Self::Base => OTHER,
            Self::AccountChange => match &*entry.action {
                "passkey-approve" => (10, "MFA Factor Enable"),
                "passkey-end" => (11, "MFA Factor Disable"),
                _ => OTHER,
            },
            Self::Authentication if entry.action == "sign-out" => (2, "Logoff"),
            Self::Authentication => (1, "Logon"),
            Self::EntityManagement => {
                let verb = entry.action.rsplit(['.', '-']).next();
                match verb.unwrap_or_default() {
                    "created" | "add" => (1, "Create"),
                    "read" => (2, "Read"),
                    "changed" | "swap" => (3, "Update"),
                    "removed" | "dismissed" | "drop" => (4, "Delete"),
                    _ => OTHER,
                }
            }
            Self::ApiActivity => match request(entry).map(|(method, _)| method) {
                Some("POST") => (1, "Create"),
                Some("GET" | "HEAD") => (2, "Read"),
                Some("PUT" | "PATCH") => (3, "Update"),
                Some("DELETE") => (4, "Delete"),
                _ => OTHER,
            },
        }
    }

    /// The members that only this class has.
    fn members(self, entry: &Entry) -> Value {
        let service = json!({ "name": "rialto" });
        match self {
            Self::Base => json!({}),
            Self::AccountChange => json!({ "user": user(whose(entry), entry) }),
            Self::Authentication => json!({
                "user": user(whose(entry), entry),
                "service": service,
                "src_endpoint": endpoint(entry),
            }),
            Self::EntityManagement => {
                let kind = entry.about.split_once(':').map(|(kind, _)| kind);
                let mut entity = json!({ "name": entry.about });
                if let Some(kind) = kind.filter(|kind| !kind.contains(' ')) {
                    entity["type"] = kind.into();
                }
                json!({ "entity": entity })
            }
            Self::ApiActivity => {
                let operation = detail(entry, "operation").and_then(Value::as_str);
                let operation = operation.unwrap_or(&entry.action);
                let mut api =
                    json!({ "operation": operation, "service": { "name": entry.writer } });
                if let Some(status) = detail(entry, "status") {
                    api["response"] = json!({ "code": status });
                }
                json!({ "api": api, "src_endpoint": endpoint(entry) })
            }
        }
    }
}

/// The line of an entry, without its end.
pub(super) fn line(exported: &Exported) -> String {
    event(exported).to_string()
}

fn event(exported: &Exported) -> Value {
    let Some(entry) = &exported.entry else {
        return unreadable(exported);
    };
    let class = Class::of(entry);
    let activity = class.activity(entry);
    let mut event = head(class, activity, attention(entry), entry.at);
    if activity == OTHER {
        event.insert("activity_name".to_owned(), entry.action.clone().into());
    }
    let (status, status_name) = match &*entry.outcome {
        "done" => (1, "Success"),
        "refused" | "failed" => (2, "Failure"),
        other => (99, other),
    };
    event.insert("status_id".to_owned(), status.into());
    event.insert("status".to_owned(), status_name.into());
    event.insert("status_code".to_owned(), entry.outcome.clone().into());
    let why = reason(entry);
    if !why.is_empty() {
        event.insert("status_detail".to_owned(), why.into());
    }
    let message = [&*entry.actor.name, &*entry.action, &*entry.about].join(" ");
    let message = format!("{}: {}", message.trim_end(), entry.outcome);
    event.insert("message".to_owned(), message.into());
    event.insert("actor".to_owned(), actor(entry));
    if let Value::Object(members) = class.members(entry) {
        event.extend(members);
    }
    if let Some(count) = count(entry) {
        event.insert("count".to_owned(), count.into());
    }
    let mut metadata = metadata(exported.index);
    metadata["event_code"] = entry.action.clone().into();
    metadata["log_provider"] = entry.writer.clone().into();
    if !entry.trace.is_empty() {
        metadata["correlation_uid"] = entry.trace.clone().into();
    }
    if class == Class::Base {
        // There the actor is of this profile.
        metadata["profiles"] = json!(["host"]);
    }
    event.insert("metadata".to_owned(), metadata);
    let unmapped = unmapped(entry);
    if !unmapped.is_empty() {
        event.insert("unmapped".to_owned(), unmapped.into());
    }
    event.insert("raw_data".to_owned(), exported.body.clone().into());
    event.into()
}

/// Bytes that are no entry are exported as they are.
fn unreadable(exported: &Exported) -> Value {
    let mut event = head(Class::Base, OTHER, Attention::High, exported.at);
    let message = "an entry of the audit log cannot be read";
    event.insert("message".to_owned(), message.into());
    event.insert("metadata".to_owned(), metadata(exported.index));
    event.insert("raw_data".to_owned(), exported.body.clone().into());
    event.into()
}

/// The members that tell of the class, the severity and the time.
fn head(class: Class, activity: Activity, attention: Attention, at: u64) -> Map<String, Value> {
    let (class_uid, class_name) = class.named();
    let (category_uid, category_name) = class.category();
    let (activity_id, activity_name) = activity;
    let (severity_id, severity) = match attention {
        Attention::None => (1, "Informational"),
        Attention::Low => (2, "Low"),
        Attention::Medium => (3, "Medium"),
        Attention::High => (4, "High"),
    };
    let members = [
        ("time", Value::from(at)),
        ("class_uid", class_uid.into()),
        ("class_name", class_name.into()),
        ("category_uid", category_uid.into()),
        ("category_name", category_name.into()),
        ("activity_id", activity_id.into()),
        ("activity_name", activity_name.into()),
        ("type_uid", (class_uid * 100 + activity_id).into()),
        ("severity_id", severity_id.into()),
        ("severity", severity.into()),
    ];
    let members = members.into_iter();
    members
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn metadata(index: u64) -> Value {
    json!({
        "version": VERSION,
        "product": {
            "name": "rialto",
            "vendor_name": "Rialto",
            "version": env!("CARGO_PKG_VERSION"),
        },
        "log_name": "audit",
        "uid": index.to_string(),
        "sequence": index,
    })
}

/// The method and the path of a request.
fn request(entry: &Entry) -> Option<(&str, &str)> {
    let request = entry.about.split_once(' ');
    request.filter(|(_, path)| path.starts_with('/'))
}

/// The name of the user whose account or proof an entry is about.
fn whose(entry: &Entry) -> &str {
    match &*entry.action {
        "login.refused" | "login.alerted" | "assertion.refused" | "token-draw" | "token-remove"
            if !entry.about.is_empty() =>
        {
            &entry.about
        }
        _ => &entry.actor.name,
    }
}

fn user(name: &str, entry: &Entry) -> Value {
    let (type_id, kind) = match entry.actor.kind {
        _ if name != entry.actor.name => (0, "Unknown"),
        ActorKind::Operator => (1, "User"),
        ActorKind::Client => (0, "Unknown"),
        ActorKind::Component | ActorKind::Host => (3, "System"),
    };
    json!({ "name": name, "type_id": type_id, "type": kind })
}

/// Who has acted. Components are applications.
fn actor(entry: &Entry) -> Value {
    let actor = &entry.actor;
    if actor.kind == ActorKind::Component {
        return json!({ "app_name": actor.name });
    }
    let mut user = user(&actor.name, entry);
    if !actor.operator.is_empty() {
        // The credential that was used is of this operator.
        user["credential_uid"] = actor.operator.clone().into();
    }
    json!({ "user": user })
}

/// The personal token or the session that was shown.
fn credential(entry: &Entry) -> Option<&str> {
    let credential = entry.actor.credential.as_str();
    (!credential.is_empty()).then_some(credential)
}

/// Where a request came from. The log has addresses only of those who are known by nothing else.
fn endpoint(entry: &Entry) -> Value {
    let known = address(entry).filter(|text| text.parse::<IpAddr>().is_ok());
    known.map_or_else(|| json!({ "name": "unknown" }), |ip| json!({ "ip": ip }))
}

/// What the schema has no member for.
fn unmapped(entry: &Entry) -> Map<String, Value> {
    let members = [
        ("credential", credential(entry).map(Value::from)),
        ("release", entry.release.map(Value::from)),
        ("turn", entry.turn.map(Value::from)),
        ("details", entry.details.clone()),
    ];
    let there = members.into_iter();
    there
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests as examples;
    use super::*;

    #[test]
    fn entry_has_its_line() {
        let version = env!("CARGO_PKG_VERSION");
        let wanted = r#"{"time":1767225600123,"class_uid":3004,"class_name":"Entity Management","category_uid":3,"category_name":"Identity & Access Management","activity_id":99,"activity_name":"transfer.committed","type_uid":300499,"severity_id":1,"severity":"Informational","status_id":1,"status":"Success","status_code":"done","message":"bank|a transfer.committed transfer:1: done","actor":{"user":{"name":"bank|a","type_id":0,"type":"Unknown"}},"entity":{"name":"transfer:1","type":"transfer"},"metadata":{"version":"1.3.0","product":{"name":"rialto","vendor_name":"Rialto","version":"VERSION"},"log_name":"audit","uid":"7","sequence":7,"event_code":"transfer.committed","log_provider":"transfers","correlation_uid":"0af7"},"unmapped":{"release":2,"turn":40,"details":{"amount":"5"}},"raw_data":"#;
        let wanted = wanted.replace("VERSION", version);
        let exported = examples::committed();
        let raw = serde_json::to_string(&exported.body).unwrap();
        assert_eq!(line(&exported), format!("{wanted}{raw}}}"));
    }

    #[test]
    fn request_is_activity_of_an_api() {
        let found = event(&examples::request());
        assert_eq!(found["type_uid"], 600_301);
        assert_eq!(found["activity_name"], "Create");
        assert_eq!(
            found["api"],
            json!({ "operation": "approveFunds", "service": { "name": "office" }, "response": { "code": 403 } })
        );
        assert_eq!(
            found["actor"]["user"],
            json!({ "name": "anna", "type_id": 1, "type": "User", "credential_uid": "anna-checks" })
        );
        assert_eq!(found["unmapped"]["credential"], "token 5f0c");
        assert_eq!(
            (&found["status_id"], &found["severity_id"]),
            (&2.into(), &2.into())
        );
    }

    #[test]
    fn refusal_of_strangers_is_an_authentication() {
        let found = event(&examples::refused());
        assert_eq!(found["type_uid"], 300_201);
        assert_eq!(found["src_endpoint"], json!({ "ip": "192.0.2.7" }));
        assert_eq!(found["count"], 3);
        assert_eq!(found["status_detail"], "3 more = many\nin the minute");
        assert!(!line(&examples::refused()).contains('\n'));
    }

    #[test]
    fn tokens_are_account_changes() {
        let found = event(&examples::token());
        assert_eq!(found["type_uid"], 300_199);
        assert_eq!(found["activity_name"], "token-new");
        assert_eq!(
            (&found["status_id"], &found["status"]),
            (&99.into(), &"begun".into())
        );
        assert_eq!(found["user"]["name"], "anna");
    }

    #[test]
    fn what_no_class_fits_is_a_base_event() {
        let found = event(&examples::other());
        assert_eq!(found["type_uid"], 99);
        assert_eq!(found["actor"], json!({ "app_name": "auditing" }));
        assert_eq!(found["raw_data"], examples::other().body);
        let found = event(&examples::unreadable());
        assert_eq!(
            (&found["class_uid"], &found["severity_id"]),
            (&0.into(), &4.into())
        );
        assert_eq!(found["raw_data"], examples::unreadable().body);
        assert_eq!(found["metadata"]["sequence"], 12);
    }
}

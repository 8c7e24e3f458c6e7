//! Checks the histories of participants. Each change has the hash of the one before, and the participant's document has
//! the hash of the last one. Requests must agree with the histories.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::report::{Check, Report};

struct Link {
    previous: String,
    hash: String,
}

/// A history's record of a request.
struct RequestRecord {
    /// The number of the change.
    n: u64,
    /// The hash of the request, its author and its outcome. None in records older than this hash.
    hash: Option<String>,
}

/// A request's document.
struct Request {
    is_decided: bool,
    hash: String,
}

/// See the module's documentation.
#[derive(Default)]
pub(super) struct Chains {
    /// By participant: the number of changes in its document, and the last one's hash.
    participants: BTreeMap<String, (u64, String)>,
    links: BTreeMap<(String, u64), Link>,
    /// By request: its record in the last change about it.
    told: BTreeMap<String, RequestRecord>,
    requests: BTreeMap<String, Request>,
}

fn text(value: &Value, member: &str) -> String {
    let found = value.get(member).and_then(Value::as_str);
    found.unwrap_or_default().to_owned()
}

impl Chains {
    /// Adds a participant's document. Documents older than histories have no changes.
    pub fn participant(&mut self, id: &str, value: &Value) {
        if let Some(changes) = value.get("changes").and_then(Value::as_u64) {
            let last = text(value, "lastChangeHash");
            self.participants.insert(id.to_owned(), (changes, last));
        }
    }

    pub fn request(&mut self, id: &str, value: &Value, report: &mut Report) {
        report.looked_at(Check::Chains);
        let asked = members(value, &["payload", "reason", "note", "failure"]);
        let mut said = members(value, &["participant", "kind", "state", "maker", "checker"]);
        said["asked"] = asked;
        let state = value.get("state").and_then(Value::as_str);
        let request = Request {
            is_decided: matches!(state, Some("APPROVED" | "REJECTED" | "FAILED")),
            hash: hash(&said),
        };
        self.requests.insert(id.to_owned(), request);
    }

    fn tell(&mut self, participant: &str, n: u64, change: &Value) {
        let Some(request) = change.get("request").and_then(Value::as_str) else {
            return;
        };
        if self.told.get(request).is_some_and(|told| told.n > n) {
            return;
        }
        let hash = change.get("asked").map(|asked| {
            let mut said = members(change, &["kind", "state"]);
            let by = change.get("by").unwrap_or(&Value::Null);
            for who in ["maker", "checker"] {
                if let Some(name) = by.get(who) {
                    said[who] = name.clone();
                }
            }
            said["participant"] = participant.into();
            said["asked"] = asked.clone();
            hash(&said)
        });
        self.told
            .insert(request.to_owned(), RequestRecord { n, hash });
    }

    pub fn change(&mut self, id: &str, mut value: Value, report: &mut Report) {
        report.looked_at(Check::Chains);
        let link_key = id.rsplit_once('/');
        let link_key = link_key.and_then(|(of, n)| Some((of.to_owned(), n.parse::<u64>().ok()?)));
        let Some(link_key) = link_key else {
            report.breach(Check::Chains, format!("the change {id} has no number"));
            return;
        };
        self.tell(&link_key.0, link_key.1, &value);
        let link = Link {
            previous: text(&value, "previous"),
            hash: text(&value, "hash"),
        };
        if let Some(members) = value.as_object_mut() {
            members.remove("hash");
        }
        if value.get("n").and_then(Value::as_u64) != Some(link_key.1) || hash(&value) != link.hash {
            report.breach(
                Check::Chains,
                format!("the change {id} is not what was hashed"),
            );
        }
        self.links.insert(link_key, link);
    }

    /// The checks after everything was read.
    pub fn end(mut self, report: &mut Report) {
        for (participant, (changes, last)) in &self.participants {
            report.looked_at(Check::Chains);
            let mut previous = String::new();
            let mut breach = |text| report.breach(Check::Chains, text);
            for n in 0..*changes {
                let Some(link) = self.links.remove(&(participant.clone(), n)) else {
                    breach(format!("the change {n} of {participant} is missing"));
                    previous.clear();
                    continue;
                };
                if link.previous != previous && !previous.is_empty()
                    || n == 0 && !link.previous.is_empty()
                {
                    breach(format!(
                        "the change {n} of {participant} does not follow the one before"
                    ));
                }
                previous = link.hash;
            }
            if previous != *last {
                breach(format!(
                    "{participant} says that its last change is another one"
                ));
            }
        }
        for (participant, n) in self.links.keys() {
            let text = format!("{participant} knows nothing of its change {n}");
            report.breach(Check::Chains, text);
        }
        compare(&self.told, &self.requests, report);
    }
}

/// Compares requests with their records. Each decided request must have a record.
fn compare(
    told: &BTreeMap<String, RequestRecord>,
    requests: &BTreeMap<String, Request>,
    report: &mut Report,
) {
    let mut breach = |text| report.breach(Check::Chains, text);
    for (id, told) in told {
        match requests.get(id) {
            None => breach(format!("the request {id} is in a history, and is missing")),
            Some(request) if told.hash.as_ref().is_some_and(|hash| *hash != request.hash) => {
                breach(format!("the request {id} is not what the history says"));
            }
            Some(_) => {}
        }
    }
    let decided = requests.iter().filter(|(_, request)| request.is_decided);
    for (id, _) in decided.filter(|(id, _)| !told.contains_key(*id)) {
        breach(format!(
            "the request {id} was decided, and no history says so"
        ));
    }
}

/// The members of a value with these names, if it has them.
fn members(value: &Value, names: &[&str]) -> Value {
    let mut some = json!({});
    for name in names {
        if let Some(member) = value.get(name) {
            some[*name] = member.clone();
        }
    }
    some
}

fn hash(value: &Value) -> String {
    let mut canonical = String::new();
    write(&mut canonical, value);
    let mut hexadecimal = String::with_capacity(64);
    for byte in Sha256::digest(canonical.as_bytes()) {
        let _ = write!(hexadecimal, "{byte:02x}");
    }
    hexadecimal
}

/// Writes canonical JSON (RFC 8785). The numbers in these documents are integers.
fn write(text: &mut String, value: &Value) {
    match value {
        Value::Object(members) => {
            let mut names: Vec<_> = members.keys().collect();
            names.sort_by_key(|name| name.encode_utf16().collect::<Vec<_>>());
            text.push('{');
            for (n, name) in names.into_iter().enumerate() {
                let comma = if n > 0 { "," } else { "" };
                let _ = write!(text, "{comma}{}:", Value::from(name.as_str()));
                write(text, &members[name]);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (n, item) in items.iter().enumerate() {
                if n > 0 {
                    text.push(',');
                }
                write(text, item);
            }
            text.push(']');
        }
        other => {
            let _ = write!(text, "{other}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(changes: &[Value], count: u64, last: &str) -> u64 {
        let mut report = Report::new(0);
        let mut chains = Chains::default();
        let participant = json!({ "changes": count, "lastChangeHash": last });
        chains.participant("a", &participant);
        for (n, change) in changes.iter().enumerate() {
            chains.change(&format!("a/{n:010}"), change.clone(), &mut report);
        }
        chains.end(&mut report);
        report.total()
    }

    fn link(n: u64, before: &Value, after: &Value, previous: &str) -> Value {
        let mut change = json!({ "n": n, "before": before, "after": after, "previous": previous });
        change["hash"] = hash(&change).into();
        change
    }

    #[test]
    fn a_chain_holds_and_each_damage_breaks_it() {
        let text = |value: &Value| value["hash"].as_str().unwrap().to_owned();
        let one = link(0, &Value::Null, &json!({"b": 1, "a": "x"}), "");
        let two = link(
            1,
            &json!({"b": 1, "a": "x"}),
            &json!([1, true]),
            &text(&one),
        );
        let last = text(&two);
        let whole = [one.clone(), two.clone()];
        assert_eq!(chain(&whole, 2, &last), 0);
        assert_eq!(chain(&whole[..1], 2, &last), 2, "the last one is missing");
        assert_eq!(chain(&whole, 1, &last), 2, "one that nobody knows");
        assert_eq!(chain(&whole, 2, "other"), 1);
        let mut changed = whole.clone();
        changed[0]["after"] = json!({"b": 2, "a": "x"});
        assert_eq!(chain(&changed, 2, &last), 1);
        let again = link(0, &Value::Null, &json!("other"), "");
        assert_eq!(chain(&[again, two], 2, &last), 1, "written and hashed anew");
    }

    /// How many breaches there are when the history says `change` of a request whose document is this.
    fn told(change: &Value, document: Option<&Value>) -> u64 {
        let mut report = Report::new(0);
        let mut chains = Chains::default();
        let mut change = change.clone();
        change["hash"] = hash(&change).into();
        let last = change["hash"].clone();
        chains.participant("a", &json!({ "changes": 1, "lastChangeHash": last }));
        chains.change("a/0000000000", change, &mut report);
        if let Some(document) = document {
            chains.request("r", document, &mut report);
        }
        chains.end(&mut report);
        report.total()
    }

    #[test]
    fn a_request_is_what_the_history_says() {
        let change = json!({
            "n": 0, "previous": "", "kind": "funds", "state": "APPROVED", "request": "r",
            "by": { "maker": "anna", "checker": "ben" }, "before": null, "after": null,
            "asked": { "payload": { "amount": "10.5" }, "reason": "why", "note": "seen" },
        });
        let request = json!({
            "id": "r", "participant": "a", "kind": "funds", "state": "APPROVED", "version": 2,
            "maker": "anna", "checker": "ben", "madeAt": 1, "decidedAt": 2, "basedOn": null,
            "payload": { "amount": "10.5" }, "reason": "why", "note": "seen",
        });
        assert_eq!(told(&change, Some(&request)), 0);
        assert_eq!(told(&change, None), 1, "it is missing");
        for (member, forged) in [
            ("participant", json!("b")),
            ("kind", json!("liquidity-cover")),
            ("state", json!("REJECTED")),
            ("state", json!("PENDING")),
            ("maker", json!("carl")),
            ("checker", json!("carl")),
            ("payload", json!({ "amount": "1050" })),
            ("reason", json!("because")),
            ("note", json!("not seen")),
            ("failure", json!("it failed")),
        ] {
            let mut other = request.clone();
            other[member] = forged;
            assert_eq!(told(&change, Some(&other)), 1, "{member}");
        }
        // As changes were before they held what was asked for.
        let mut old = change.clone();
        old.as_object_mut().unwrap().remove("asked");
        assert_eq!(told(&old, Some(&request)), 0);
        let of_release = json!({ "n": 0, "previous": "", "kind": "release" });
        assert_eq!(told(&of_release, Some(&request)), 1, "nobody says so");
        let mut waits = request;
        waits["state"] = json!("PENDING");
        assert_eq!(told(&of_release, Some(&waits)), 0);
    }

    #[test]
    fn the_last_change_counts_in_any_reading_order() {
        let change = |n: u64, state: &str, checker: Option<&str>| {
            let by = json!({ "maker": "anna", "checker": checker });
            let asked = json!({ "payload": {}, "reason": "why" });
            json!({ "n": n, "kind": "participant", "state": state, "request": "r", "by": by, "asked": asked })
        };
        let first = change(0, "PENDING", None);
        let last = change(1, "APPROVED", Some("ben"));
        let request = json!({
            "participant": "a", "kind": "participant", "state": "APPROVED",
            "maker": "anna", "checker": "ben", "payload": {}, "reason": "why",
        });
        for order in [[(0, &first), (1, &last)], [(1, &last), (0, &first)]] {
            let mut report = Report::new(0);
            let mut chains = Chains::default();
            for (n, change) in order {
                chains.tell("a", n, change);
            }
            chains.request("r", &request, &mut report);
            chains.end(&mut report);
            assert_eq!(report.total(), 0);
        }
    }

    #[test]
    fn the_hash_does_not_depend_on_member_order() {
        let mut text = String::new();
        write(
            &mut text,
            &json!({"é": "\u{7}", "b": [1, {"z": null, "a": -2}], "\u{1F600}": ""}),
        );
        assert_eq!(
            text,
            "{\"b\":[1,{\"a\":-2,\"z\":null}],\"é\":\"\\u0007\",\"\u{1F600}\":\"\"}"
        );
    }
}

//! Secrets: needed, set by two operators, told to their owner.

use serde_json::{Value, json};

use super::fake::{Fake, NOW, component, kind, needing};
use crate::secrets::{Told, of_component};

const HOUR: u64 = 3_600_000;
const DAY: u64 = 86_400_000;

fn list(version: u32, names: &[&str]) -> Value {
    let secrets = names
        .iter()
        .map(|name| json!({ "name": name, "description": "d" }));
    json!({ "version": version, "secrets": secrets.collect::<Vec<_>>() })
}

impl Fake {
    fn need(&mut self, version: u32, names: &[&str]) -> (u16, Value) {
        let body = list(version, names);
        self.ask("switch", "context", "publishNeededSecrets", &body)
    }

    fn set(&mut self, who: &str, secret: &str, value: &str) -> (u16, Value) {
        let body = json!({ "value": value, "reason": "r" });
        self.ask(who, "admin", &format!("setSecret {secret}"), &body)
    }

    fn decide(&mut self, who: &str, secret: &str, id: &Value, decision: &str) -> (u16, Value) {
        let body = json!({ "id": id, "decision": decision });
        self.ask(who, "checker", &format!("decideSecret {secret}"), &body)
    }

    /// Ada sets a secret, and chris approves it.
    fn settle(&mut self, secret: &str, value: &str) {
        let (status, waiting) = self.set("ada", secret, value);
        assert_eq!(status, 202, "{waiting}");
        let (status, body) = self.decide("chris", secret, &waiting["id"], "APPROVE");
        assert_eq!(status, 200, "{body}");
    }

    fn read(&mut self, who: &str, assertion: Option<&'static str>) -> (u16, Value) {
        self.assertion = assertion;
        self.ask(who, "context", "readSecretValues switch", &json!(null))
    }

    fn needs(&mut self, context: &str) -> Value {
        let operation = format!("getNeededSecrets {context}");
        let (status, body) = self.ask("anna", "reader", &operation, &json!(null));
        assert_eq!(status, 200, "{body}");
        body
    }
}

#[test]
fn needed_secrets_are_published_by_version() {
    let mut fake = Fake::default();
    let (status, body) = fake.need(2, &["api-key", "pin"]);
    assert_eq!(
        (status, &body["secrets"][1]["isSet"]),
        (201, &json!(false)),
        "{body}"
    );
    assert_eq!(fake.need(2, &["api-key", "pin"]).0, 200);
    let (status, body) = fake.need(1, &["api-key"]);
    assert_eq!((status, kind(&body)), (409, "version-outdated"));
    let (status, body) = fake.need(2, &["api-key"]);
    assert_eq!((status, kind(&body)), (409, "version-used"));
    let (status, body) = fake.need(3, &["a", "a"]);
    assert_eq!((status, kind(&body)), (400, "malformed"));
    let (status, body) = fake.ask(
        "other",
        "context",
        "publishNeededSecrets switch",
        &list(9, &[]),
    );
    assert_eq!((status, kind(&body)), (403, "context-foreign"));
    let (_, all) = fake.ask("anna", "reader", "listNeededSecrets", &json!(null));
    assert_eq!(all["items"][0], fake.needs("switch"));
    let (status, body) = fake.ask("anna", "reader", "getNeededSecrets nobody", &json!(null));
    assert_eq!((status, kind(&body)), (404, "context-unknown"));
}

#[test]
fn two_operators_set_a_secret_and_nobody_is_shown_it() {
    let mut fake = Fake::default();
    fake.need(1, &["api-key"]);
    let secret = "switch api-key";
    let (status, waiting) = fake.set("ada", secret, "s3cr3t");
    assert_eq!((status, &waiting["maker"]), (202, &json!("ada")));
    let (status, body) = fake.decide("ada", secret, &waiting["id"], "APPROVE");
    assert_eq!((status, kind(&body)), (403, "maker-is-checker"));
    assert_eq!(fake.needs("switch")["secrets"][0]["waiting"], waiting);
    let (status, decided) = fake.decide("chris", secret, &waiting["id"], "APPROVE");
    let expected = json!({
        "name": "api-key", "description": "d", "isSet": true,
        "setBy": "ada", "approvedBy": "chris", "setAt": NOW,
    });
    assert_eq!((status, &decided), (200, &expected));
    assert_eq!(fake.needs("switch")["secrets"][0], expected);
    let told = &fake.secrets[0];
    assert_eq!(
        (told.context.as_str(), &told.names[..]),
        ("switch", &["api-key".to_owned()][..])
    );
    let (status, body) = fake.decide("chris", secret, &waiting["id"], "APPROVE");
    assert_eq!((status, kind(&body)), (404, "request-unknown"));
    let kept = format!("{:?}", fake.store);
    assert!(!kept.contains("s3cr3t"), "{kept}");
    assert!(!kept.contains("c3czY3IzdA"), "{kept}");
}

#[test]
fn rejected_and_lapsed_values_have_no_effect() {
    let mut fake = Fake::default();
    fake.need(1, &["api-key"]);
    let secret = "switch api-key";
    let (_, waiting) = fake.set("ada", secret, "one");
    assert_eq!(
        fake.decide("chris", secret, &waiting["id"], "REJECT").0,
        200
    );
    let (_, waiting) = fake.set("ada", secret, "two");
    let (status, body) = fake.set("ben", secret, "three");
    assert_eq!((status, kind(&body)), (409, "duplicate-request"));
    let (_, again) = fake.set("ada", secret, "four");
    let (status, body) = fake.decide("chris", secret, &waiting["id"], "APPROVE");
    assert_eq!(
        (status, kind(&body)),
        (404, "request-unknown"),
        "it was replaced"
    );
    fake.later = 7 * DAY;
    let (status, body) = fake.decide("chris", secret, &again["id"], "APPROVE");
    assert_eq!(
        (status, kind(&body)),
        (404, "request-unknown"),
        "it has lapsed"
    );
    assert_eq!(fake.needs("switch")["secrets"][0].get("waiting"), None);
    assert_eq!(fake.set("ben", secret, "five").0, 202);
    assert_eq!(fake.secrets, []);
    let (status, body) = fake.set("ada", "switch other", "x");
    assert_eq!((status, kind(&body)), (404, "secret-unknown"));
}

#[test]
fn owner_alone_reads_its_secrets() {
    let mut fake = Fake::default();
    fake.need(1, &["api-key", "unset"]);
    fake.settle("switch api-key", "s3cr3t");
    let own = Some("signed by context/switch");
    let (status, body) = fake.read("switch", own);
    let values = json!([{ "name": "api-key", "value": "s3cr3t", "setAt": NOW }]);
    assert_eq!((status, &body["secrets"]), (200, &values), "{body}");
    for (who, assertion, wanted) in [
        ("switch", None, "signature-refused"),
        ("switch", Some("forged"), "signature-refused"),
        (
            "switch",
            Some("signed by context/other"),
            "signature-refused",
        ),
        (
            "switch",
            Some("signed by application/switch"),
            "signature-refused",
        ),
        ("other", own, "context-foreign"),
    ] {
        let (status, body) = fake.read(who, assertion);
        assert_eq!((status, kind(&body)), (403, wanted), "{who} {assertion:?}");
        assert!(!body.to_string().contains("s3cr3t"));
    }
    for role in ["reader", "admin", "checker", "maker"] {
        let (status, body) = fake.ask("switch", role, "readSecretValues switch", &json!(null));
        assert_eq!((status, kind(&body)), (403, "role-missing"), "{role}");
    }
}

#[test]
fn replaced_value_is_valid_for_an_hour() {
    let mut fake = Fake::default();
    let own = Some("signed by context/switch");
    fake.need(1, &["api-key"]);
    fake.settle("switch api-key", "old");
    fake.settle("switch api-key", "new");
    let (_, body) = fake.read("switch", own);
    assert_eq!(body["secrets"][0]["value"], "new");
    let previous = json!({ "value": "old", "validUntil": NOW + HOUR });
    assert_eq!(body["secrets"][0]["previous"], previous);
    fake.later = HOUR;
    let (_, body) = fake.read("switch", own);
    assert_eq!(body["secrets"][0].get("previous"), None, "{body}");
    let kept = format!("{:?}", fake.store);
    assert!(!kept.contains("validUntil"), "it is forgotten: {kept}");
}

#[test]
fn ciphertext_of_another_secret_is_not_opened() {
    let mut fake = Fake::default();
    fake.need(1, &["a", "b"]);
    fake.settle("switch a", "of a");
    fake.settle("switch b", "of b");
    let key = |name: &str| ("secrets".to_owned(), format!("switch program/{name}"));
    let moved = fake.store.0[&key("a")].clone();
    fake.store.0.insert(key("b"), moved);
    let (status, body) = fake.read("switch", Some("signed by context/switch"));
    assert_eq!((status, kind(&body)), (422, "not-opened"));
}

#[test]
fn lost_key_is_replaced_and_its_secrets_must_be_set_again() {
    let mut fake = Fake::default();
    let own = Some("signed by context/switch");
    fake.need(1, &["api-key"]);
    fake.settle("switch api-key", "old");
    fake.lost = vec!["key-1".to_owned()];
    let (status, body) = fake.read("switch", own);
    assert_eq!((status, kind(&body)), (422, "key-unavailable"));
    fake.later = 1;
    fake.settle("switch api-key", "new");
    fake.later = 1 + HOUR;
    assert_eq!(fake.read("switch", own).1["secrets"][0]["value"], "new");
}

#[test]
fn secret_that_is_no_longer_needed_is_removed() {
    let mut fake = Fake::default();
    fake.need(1, &["a", "b"]);
    fake.settle("switch a", "x");
    fake.need(2, &["b"]);
    let is_of_a = |(_, id): &(String, String)| id.ends_with("/a");
    assert!(!fake.store.0.keys().any(is_of_a));
    fake.need(3, &["a"]);
    assert_eq!(fake.needs("switch")["secrets"][0]["isSet"], false);
}

#[test]
fn component_of_the_same_name_gets_none_of_the_programs_secrets() {
    let mut fake = Fake::default();
    fake.need(1, &["api-key"]);
    fake.settle("switch api-key", "of the program");
    let all = [needing(
        component("switch", 1, &json!({}), &json!({})),
        &["api-key"],
    )];
    fake.release(1, &all);
    assert_eq!(fake.needs("switch")["secrets"][0]["isSet"], false);
    let (status, body) = fake.need(2, &["api-key"]);
    assert_eq!((status, kind(&body)), (409, "context-of-release"));
    assert_eq!(
        of_component(&mut fake, "switch", "api-key"),
        None,
        "nobody has set it"
    );
    fake.settle("switch api-key", "of the component");
    let told = Told {
        current: "of the component".to_owned(),
        previous: None,
    };
    assert_eq!(of_component(&mut fake, "switch", "api-key"), Some(told));
    assert_eq!(of_component(&mut fake, "switch", "other"), None);
    assert_eq!(of_component(&mut fake, "transfers", "api-key"), None);
    fake.release(2, &[]);
    let (_, body) = fake.read("switch", Some("signed by context/switch"));
    assert_eq!(body["secrets"][0]["value"], "of the program");
    fake.release(3, &all);
    assert_eq!(
        fake.needs("switch")["secrets"][0]["isSet"],
        true,
        "it stays for a release that needs it"
    );
}

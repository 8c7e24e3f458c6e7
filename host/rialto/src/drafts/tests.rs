//! Drafts: what a change of a text leaves as it is, what it changes, and what cannot be changed.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use rialto_manifest::Digests;
use serde_json::json;

use super::*;

const TEXT: &str = r#"name = "demo" # the name

[rules.first]
component = "components/first.wasm"
grants = { host = ["logging"] }

[rules.second]
component = "components/second.wasm"

# The first step.
[[steps.a-check]]
rule = "first"

[steps.a-check.settings]
otherwise = "refuse" # as agreed
most = 10

[[steps.a-check]]
rule = "second"
settings = { strict = true }

# The end.
[last]
key = 1
"#;

fn digest(of: &str) -> Digest {
    Digest::of(of.as_bytes())
}

fn document(text: &str) -> SchemeDocument {
    let mut digests = Digests::default();
    for name in ["first", "second"] {
        digests.insert(ComponentKind::Rule, name.parse().unwrap(), digest(name));
    }
    SchemeDocument::new(text, digests)
}

fn edits(edits: Json) -> Vec<Edit> {
    serde_json::from_value(edits).unwrap()
}

fn changed(text: &str, wanted: Json) -> String {
    edited(&document(text), &edits(wanted))
        .unwrap()
        .text()
        .to_owned()
}

#[test]
fn no_change_keeps_every_byte() {
    assert_eq!(changed(TEXT, json!([])), TEXT);
    let same = json!([{"edit": "step", "step": "a-check", "bindings": [
        {"was": 0, "set": {"rule": "first", "settings": {"otherwise": "refuse", "most": 10}}},
        {"was": 1, "set": {"settings": {"strict": true}}},
    ]}]);
    assert_eq!(changed(TEXT, same), TEXT);
}

#[test]
fn rules_of_a_step_take_the_wanted_order() {
    let wanted = json!([{"edit": "step", "step": "a-check", "bindings": [
        {"was": 1},
        {"set": {"rule": "third", "effective-from": "2030-01-01T00:00:00Z", "settings": {"list": [
            {"a": "aaaaaaaaaaaaaaaaaaaaaaa", "b": 1}, {"a": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "b": 1.5}
        ]}}},
        {"was": 0, "set": {"settings": {"otherwise": "refuse", "most": 11}}},
    ]}]);
    let text = changed(TEXT, wanted);
    let read: toml::Table = text.parse().unwrap();
    let step = read["steps"]["a-check"].as_array().unwrap();
    let rules: Vec<_> = step
        .iter()
        .map(|one| one["rule"].as_str().unwrap())
        .collect();
    assert_eq!(rules, ["second", "third", "first"], "{text}");
    assert_eq!(step[2]["settings"]["most"].as_integer(), Some(11));
    assert_eq!(step[1]["settings"]["list"][1]["b"].as_float(), Some(1.5));
    assert!(
        text.contains("# the name") && text.contains("# The end."),
        "{text}"
    );
    let (steps, last) = (text.find("steps.a-check"), text.find("[last]"));
    assert!(steps < last, "{text}");
}

#[test]
fn bindings_in_one_line_can_be_changed() {
    let text = "[steps]\na-check = [{ rule = \"first\" }, { rule = \"second\" }]\n";
    let wanted = json!([{"edit": "step", "step": "a-check", "bindings": [
        {"was": 1, "set": {"settings": {"most": 3}}},
    ]}]);
    let read: toml::Table = changed(text, wanted).parse().unwrap();
    let step = read["steps"]["a-check"].as_array().unwrap();
    assert_eq!(step.len(), 1);
    assert_eq!(step[0]["rule"].as_str(), Some("second"));
    assert_eq!(step[0]["settings"]["most"].as_integer(), Some(3));
}

#[test]
fn rule_gets_another_component() {
    let pinned = TEXT.replace(
        "component = \"components/second.wasm\"",
        &format!(
            "component = \"components/second.wasm\"\ndigest = \"{}\"",
            digest("second")
        ),
    );
    let new = digest("new");
    for (name, text) in [("first", TEXT), ("second", &*pinned), ("third", TEXT)] {
        let wanted = json!([{"edit": "rule", "name": name, "digest": new.to_string()}]);
        let after = edited(&document(text), &edits(wanted)).unwrap();
        assert_eq!(after.digests().get(ComponentKind::Rule, name), Some(new));
        let read: toml::Table = after.text().parse().unwrap();
        let path = format!("components/{name}.wasm");
        assert_eq!(read["rules"][name]["component"].as_str(), Some(&*path));
        assert_eq!(after.text().contains(&new.to_string()), name == "second");
    }
}

#[test]
fn rule_is_removed_with_its_digest() {
    let wanted = json!([
        {"edit": "step", "step": "a-check", "bindings": [{"was": 0}]},
        {"edit": "remove-rule", "name": "second"},
    ]);
    let after = edited(&document(TEXT), &edits(wanted)).unwrap();
    assert_eq!(after.digests().get(ComponentKind::Rule, "second"), None);
    assert!(!after.text().contains("second"), "{}", after.text());
    let none = json!([{"edit": "step", "step": "a-check", "bindings": []}]);
    assert!(!changed(TEXT, none).contains("a-check"));
}

#[test]
fn what_cannot_be_changed_says_why() {
    let refused = |text: &str, wanted: Json| {
        let refused = edited(&document(text), &edits(wanted)).unwrap_err();
        refused.to_string()
    };
    let step = |bindings: Json| json!([{"edit": "step", "step": "a-check", "bindings": bindings}]);
    assert!(refused("a = ", json!([])).contains("cannot be read"));
    assert!(refused(TEXT, step(json!([{"was": 2}]))).contains("no binding at place 2"));
    assert!(refused(TEXT, step(json!([{"was": 0}, {"was": 0}]))).contains("one new place"));
    assert!(refused(TEXT, step(json!([{"set": {"settings": {"a": null}}}]))).contains("null"));
    assert!(refused("steps = 1", step(json!([{}]))).contains("`steps`"));
    let none = json!([{"edit": "rule", "name": "third"}]);
    assert!(refused(TEXT, none).contains("no rule `third`"));
}

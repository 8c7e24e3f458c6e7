//! What differs between two releases, in words.

use std::collections::BTreeMap;

use rialto_manifest::scheme::SchemeDocument;
use serde_json::Value;

/// What changes from one document to the next; everything is new without a "before".
pub fn changes(before: Option<&SchemeDocument>, after: &SchemeDocument) -> Vec<String> {
    let Some(before) = before else {
        let count = after.digests.iter().count();
        return vec![format!("first release, with {count} components")];
    };
    let mut words = digests(before, after);
    let (old, new) = (facts(before), facts(after));
    for (key, value) in &new {
        match old.get(key) {
            None => words.push(format!("+ {key} = {value}")),
            Some(was) if was != value => words.push(format!("~ {key}: {was} → {value}")),
            Some(_) => {}
        }
    }
    let gone = old.iter().filter(|(key, _)| !new.contains_key(*key));
    words.extend(gone.map(|(key, value)| format!("- {key} (was {value})")));
    if words.is_empty() && before.text != after.text {
        words.push("only comments or layout of scheme.toml".into());
    }
    words
}

fn digests(before: &SchemeDocument, after: &SchemeDocument) -> Vec<String> {
    let short = |digest: &str| {
        digest
            .chars()
            .take("sha256:".len() + 12)
            .collect::<String>()
    };
    let mut words = Vec::new();
    for (kind, name, digest) in after.digests.iter() {
        let new = short(&digest.to_string());
        match before.digests.get(kind, name.as_str()) {
            None => words.push(format!("+ {kind} {name}: component {new}")),
            Some(old) if old != digest => {
                let old = short(&old.to_string());
                words.push(format!("~ {kind} {name}: component {old} → {new}"));
            }
            Some(_) => {}
        }
    }
    let gone = before
        .digests
        .iter()
        .filter(|(kind, name, _)| after.digests.get(*kind, name.as_str()).is_none());
    words.extend(gone.map(|(kind, name, _)| format!("- {kind} {name}")));
    words
}

/// Every value of a scheme's document by its path, digests left out.
fn facts(document: &SchemeDocument) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    if let Ok(scheme) = document.scheme()
        && let Ok(value) = serde_json::to_value(&*scheme)
    {
        flatten(String::new(), &value, &mut facts);
    }
    facts.retain(|key, _| !key.ends_with(".digest") && !key.ends_with(".component"));
    facts
}

fn flatten(path: String, value: &Value, facts: &mut BTreeMap<String, String>) {
    let join = |step: &str| {
        if path.is_empty() {
            step.to_owned()
        } else {
            format!("{path}.{step}")
        }
    };
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                flatten(join(name), value, facts);
            }
        }
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                // What has a name of its own is found by it, so that a change of order is seen
                // as one and an insertion is not seen as a change of all that follows.
                let named = ["id", "code", "rule", "currency"]
                    .iter()
                    .find_map(|key| item.get(key)?.as_str());
                let step = named.map_or_else(|| format!("[{n}]"), |name| format!("[{name}]"));
                if named.is_some() && items.len() > 1 {
                    facts.insert(format!("{}.place", join(&step)), (n + 1).to_string());
                }
                flatten(join(&step), item, facts);
            }
        }
        Value::Null => {}
        plain => {
            facts.insert(path, plain.to_string());
        }
    }
}

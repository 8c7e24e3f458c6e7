//! The plan's part about contexts and rules: their components, grants, limits and settings.

use std::collections::BTreeSet;

use rialto_manifest::ComponentKind;
use rialto_manifest::scheme::SchemeDocument;
use rialto_manifest::values::Digest;
use serde_json::{Map, Value};

use super::values::{Compared, Words, compared};

/// One of the two releases: its document, and the values of scheme.toml.
type ReleaseSide<'a> = (&'a SchemeDocument, &'a Map<String, Value>);

/// A component of a release: its digest, and its values in scheme.toml.
struct Component<'a> {
    digest: Option<Digest>,
    said: Option<&'a Map<String, Value>>,
}

pub(super) fn tell(words: &mut Words, before: ReleaseSide<'_>, after: ReleaseSide<'_>) {
    for kind in [ComponentKind::Context, ComponentKind::Rule] {
        let names = [before, after].map(|side| names(side, kind));
        let names: BTreeSet<&str> = names.into_iter().flatten().collect();
        for name in names {
            let whose = format!("{kind} {name}");
            match (find(before, kind, name), find(after, kind, name)) {
                (None, None) => {}
                (Some(_), None) => words.went(whose),
                (None, Some(new)) => came(words, &whose, &new),
                (Some(old), Some(new)) => changed(words, &whose, &old, &new),
            }
        }
    }
}

/// The section of scheme.toml with the components of a kind.
fn section<'a>((_, facts): ReleaseSide<'a>, kind: ComponentKind) -> Option<&'a Map<String, Value>> {
    let section = match kind {
        ComponentKind::Context => "contexts",
        ComponentKind::Rule => "rules",
    };
    facts.get(section)?.as_object()
}

fn names(side: ReleaseSide<'_>, kind: ComponentKind) -> Vec<&str> {
    let pinned = side.0.digests().iter().filter(|(k, _, _)| *k == kind);
    let pinned = pinned.map(|(_, name, _)| name.as_str());
    let said = section(side, kind).into_iter().flat_map(Map::keys);
    pinned.chain(said.map(String::as_str)).collect()
}

fn find<'a>(side: ReleaseSide<'a>, kind: ComponentKind, name: &str) -> Option<Component<'a>> {
    let digest = side.0.digests().get(kind, name);
    let said = section(side, kind).and_then(|said| said.get(name)?.as_object());
    (digest.is_some() || said.is_some()).then_some(Component { digest, said })
}

/// A new component: a line for it, then one for each kind of grants and settings.
fn came(words: &mut Words, whose: &str, new: &Component<'_>) {
    words.came(format!("{whose}: component {}", short(new.digest)));
    for (name, value) in new.said.into_iter().flatten() {
        match (name.as_str(), value) {
            ("component" | "digest", _) => {}
            ("grants", Value::Object(lists)) => {
                for (list, granted) in lists {
                    if granted.as_array().is_none_or(|granted| !granted.is_empty()) {
                        words.came(format!("{whose}: grants.{list} = {granted}"));
                    }
                }
            }
            (_, Value::Object(members)) if members.is_empty() => {}
            (name, value) => words.came(format!("{whose}: {name} = {value}")),
        }
    }
}

fn changed(words: &mut Words, whose: &str, old: &Component<'_>, new: &Component<'_>) {
    let another = old.digest != new.digest;
    if another {
        let how = format!("component {} → {}", short(old.digest), short(new.digest));
        words.changed(whose, &how);
    }
    let (Some(was), Some(is)) = (old.said, new.said) else {
        if old.said.is_some() != new.said.is_some() {
            words.changed(whose, "is described in one of both releases only");
        }
        return;
    };
    let mut was = was.clone();
    let mut is = is.clone();
    // A pin in scheme.toml changes with the component, which has a line already.
    if another && was.contains_key("digest") && is.contains_key("digest") {
        was.remove("digest");
        is.remove("digest");
    }
    granted(words, whose, &mut was, &mut is);
    words.differences(whose, "", &Value::Object(was), &Value::Object(is));
}

/// The changes of grants. Grants are sets: each added or removed grant has a line, whatever its position. Removes
/// grants from the values that are compared later.
fn granted(
    words: &mut Words,
    whose: &str,
    was: &mut Map<String, Value>,
    is: &mut Map<String, Value>,
) {
    let (Some(Value::Object(old)), Some(Value::Object(new))) =
        (was.get("grants"), is.get("grants"))
    else {
        return;
    };
    let lists: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let mut told = Vec::new();
    for list in lists {
        let none = Value::Null;
        let (old, new) = (
            old.get(list).unwrap_or(&none),
            new.get(list).unwrap_or(&none),
        );
        let name = |grant: &Value| grant.as_str().map(str::to_owned);
        let Some(entries) = compared(old, new, name) else {
            continue;
        };
        // An empty list and a missing one differ, and both grant nothing.
        if old.is_null() != new.is_null() {
            continue;
        }
        for (grant, compared) in &entries.both {
            match compared {
                Compared::Came(_) => words.came(format!("{whose}: grants.{list} {grant}")),
                Compared::Went => words.went(format!("{whose}: grants.{list} {grant}")),
                Compared::Stayed(..) => {}
            }
        }
        if let Some(order) = entries.reordered {
            let how = format!("grants.{list} in another order: {order}");
            words.changed(whose, &how);
        }
        told.push(list.clone());
    }
    for side in [was, is] {
        if let Some(Value::Object(grants)) = side.get_mut("grants") {
            grants.retain(|list, _| !told.contains(list));
        }
    }
}

fn short(digest: Option<Digest>) -> String {
    const CHARS: usize = "sha256:".len() + 12;
    match digest {
        Some(digest) => digest.to_string().chars().take(CHARS).collect(),
        None => "without a digest".into(),
    }
}

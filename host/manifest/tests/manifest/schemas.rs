//! The published schemas match the types, and describe every key.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rialto_manifest::operator::Surface;
use rialto_manifest::{Manifest, schemas};
use serde_json::Value as Json;

use crate::support;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("the crate lies two folders below the repository's root")
}

#[test]
fn the_published_schemas_are_those_of_the_types() {
    for (name, schema) in schemas() {
        let path = repository().join("schemes/schema").join(name);
        support::compare(&path, &format!("{schema:#}\n"));
    }
}

/// Call `visit` with every schema of a key: its name and the schema.
fn keys(schema: &Json, visit: &mut impl FnMut(&str, &Json)) {
    match schema {
        Json::Object(members) => {
            if let Some(Json::Object(properties)) = members.get("properties") {
                for (name, property) in properties {
                    visit(name, property);
                }
            }
            members.values().for_each(|member| keys(member, visit));
        }
        Json::Array(elements) => elements.iter().for_each(|element| keys(element, visit)),
        _ => {}
    }
}

#[test]
fn every_key_is_documented_and_every_number_has_bounds() {
    for (document, schema) in schemas() {
        keys(schema, &mut |name, property| {
            let described = property["description"].as_str();
            assert!(
                described.is_some_and(|text| text.ends_with('.')),
                "{document}: {name}"
            );
            if property["type"] == "integer" {
                let bounded = property["minimum"].is_i64() && property["maximum"].is_i64();
                assert!(bounded, "{document}: {name}");
            }
            assert!(!property.to_string().contains("null"), "{document}: {name}");
        });
    }
}

#[test]
fn the_maximal_scheme_uses_every_key() {
    for (document, file) in [(0, "rialto.toml"), (1, "scheme.toml")] {
        let text = fs::read_to_string(support::data().join("good/maximal").join(file))
            .expect("the document");
        let mut missing = BTreeSet::new();
        keys(schemas()[document].1, &mut |name, _| {
            if !text.contains(name) {
                missing.insert(name.to_owned());
            }
        });
        assert!(missing.is_empty(), "{file} leaves out {missing:?}");
    }
}

#[test]
fn the_surfaces_are_those_of_the_contract() {
    let contract = fs::read_to_string(repository().join("wit/host/host.wit")).expect("host.wit");
    let offered: Vec<_> = contract
        .lines()
        .filter_map(|line| line.strip_prefix("interface ")?.split(' ').next())
        // Components export these, and import the others.
        .filter(|name| !name.ends_with("-handler") && *name != "configuration-schema")
        .collect();
    let known: Vec<_> = Surface::ALL.iter().map(|surface| surface.name()).collect();
    assert_eq!(known, offered);
    for surface in Surface::ALL {
        let written = serde_json::to_value(surface).expect("JSON");
        assert_eq!(written, surface.name());
    }
}

#[test]
fn the_demo_scheme_lacks_only_unbuilt_components() {
    let folder = repository().join("schemes/demo");
    let Err(problems) = Manifest::load(&folder) else {
        return;
    };
    let about_builds = |code| {
        use rialto_manifest::Code;
        matches!(
            code,
            Code::MissingComponent | Code::Unpinned | Code::DigestMismatch
        )
    };
    for problem in problems.problems() {
        assert!(about_builds(problem.code), "{problems}");
    }
}

//! Documents to which a newer release has added members, after a rollback to this one.

use crate::documents::{ASSOCIATIONS, PartyAssociations};
use rialto_sdk::documents::{Memory, Store as _};
use rialto_sdk::testing::{added_in, of_a_newer_release, survives_a_rollback};
use serde_json::{Value, json};

const TEXT: &str = r#"{"party":{"idType":"BUSINESS","identifier":"acme","subIdOrType":"shop"},
    "associations":[{"fsp":"one","currency":"USD","associatedAt":1},{"fsp":"two","associatedAt":2}],
    "parts":[{"fsp":"one","currency":"USD","count":1},{"fsp":"one","count":2},{"fsp":"two","count":3}]}"#;

#[test]
fn associations_keep_unknown_members_of_a_newer_release() {
    let document: PartyAssociations = serde_json::from_str(TEXT).unwrap();
    survives_a_rollback(&ASSOCIATIONS, &document, &[]);
}

#[test]
fn part_keeps_unknown_members_but_a_moved_party_does_not() {
    let newer = of_a_newer_release(&serde_json::from_str(TEXT).unwrap(), &[]);
    let mut store = Memory::default();
    store.put("associations", "it", &newer.to_string());
    let mut read = ASSOCIATIONS
        .within(&mut store)
        .get_for_update("it")
        .unwrap();
    read.parts[1].count = 7;
    read.parts.remove(0);
    read.associations[0].fsp = "three".to_owned();
    ASSOCIATIONS.within(&mut store).put("it", &read);
    let stored: Value = serde_json::from_str(&store.get("associations", "it").unwrap()).unwrap();
    let mut part = newer["parts"][1].clone();
    part["count"] = json!(7);
    assert_eq!(stored["parts"], json!([part, newer["parts"][2]]));
    assert_eq!(added_in(&stored["associations"][0]), 0, "{stored}");
    assert_eq!(stored["associations"][1], newer["associations"][1]);
}

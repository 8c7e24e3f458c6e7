//! The contents of requests are in the chain of the history.

use super::*;

/// The last entry of the history.
fn last(office: &mut Office) -> Value {
    let n = office.participant().changes - 1;
    office.world.documents("changes")[&history::id(FSP, n)].clone()
}

#[test]
fn history_has_request_reason_and_checkers_note() {
    for way in ways() {
        for decision in ["APPROVE", "REJECT"] {
            let mut office = Office::new();
            let id = office.asked(&way);
            office.approve(&way, "ben", &id, decision);
            let told = last(&mut office);
            let request = &office.world.documents("requests")[&id];
            assert_eq!(told["asked"]["payload"], request["payload"], "{told}");
            for (member, asked) in way.body.as_object().unwrap() {
                assert_eq!(told["asked"]["payload"][member], *asked, "{told}");
            }
            assert_eq!(
                (&told["asked"]["reason"], &told["asked"]["note"]),
                (&json!("why not"), &json!("seen")),
                "{told}"
            );
        }
    }
}

#[test]
fn waiting_application_is_in_history_with_its_terms() {
    let mut office = Office { world: Fake::new() };
    office.apply("anna");
    let told = last(&mut office);
    assert_eq!(told["state"], "PENDING");
    let limit = &told["asked"]["payload"]["accounts"][0]["limit"];
    assert_eq!(limit["value"]["amount"], "500", "{told}");
    assert_eq!(told["asked"]["reason"], "it asked to");
    assert_eq!(told["asked"].get("note"), None);
}

#[test]
fn another_amount_or_reason_in_the_history_is_seen() {
    let mut office = Office::new();
    let mut way = ways().remove(0);
    way.body["externalReference"] = json!("BANK-1");
    let id = office.asked(&way);
    office.approve(&way, "ben", &id, "APPROVE");
    let participant = office.participant();
    let n = participant.changes - 1;
    assert_eq!(history::broken(&mut office.world, &participant), None);
    let whole = office.world.store.clone();
    for (from, to) in [
        ("10.50", "1050"),
        ("why not", "because"),
        ("BANK-1", "BANK-2"),
        ("seen", "not seen"),
    ] {
        office.world.store = whole.clone();
        let key = ("changes".to_owned(), history::id(FSP, n));
        let entry = office.world.store.0.get_mut(&key).unwrap();
        let forged = entry.replace(from, to);
        assert_ne!(*entry, forged);
        *entry = forged;
        assert_eq!(history::broken(&mut office.world, &participant), Some(n));
    }
}

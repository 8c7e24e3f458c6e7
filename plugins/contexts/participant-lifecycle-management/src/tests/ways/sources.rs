//! Limits of the addresses from which a participant may send.

use super::*;

fn limit(ranges: &Value) -> Way {
    Way {
        kind: Kind::SourceAddresses,
        submit: "UpdateSourceAddresses",
        approve: "ApproveSourceAddressesUpdate",
        account: None,
        body: json!({ "sourceAddresses": ranges }),
        meddle: None,
    }
}

fn approved(office: &mut Office, ranges: &Value) {
    let way = limit(ranges);
    let id = office.asked(&way);
    let done = office.approve(&way, "ben", &id, "APPROVE");
    assert_eq!(body(&done)["state"], "APPROVED", "{done:?}");
}

#[test]
fn limit_is_set_changed_and_lifted_by_two_operators() {
    let mut office = Office::new();
    assert_eq!(office.participant().source_addresses, None);
    approved(&mut office, &json!(["2001:DB8::/32", "192.0.2.7"]));
    let kept = json!(["192.0.2.7/32", "2001:db8::/32"]);
    assert_eq!(json!(office.participant().source_addresses), kept);
    let shown = office.get("GetParticipantInfo", &[]);
    assert_eq!(shown["sourceAddresses"], kept);
    let same = limit(&json!(["192.0.2.7/32", "2001:db8::/32"]));
    office.refused("the same", "nothing-changes", |o| {
        o.submit(&same, "anna", &[])
    });
    approved(&mut office, &json!(["198.51.100.0/24"]));
    approved(&mut office, &Value::Null);
    let participant = office.participant();
    assert_eq!(participant.source_addresses, None);
    assert_eq!(history::broken(&mut office.world, &participant), None);
    let last = &office.get("GetParticipantInfo", &[])["changes"][0];
    assert_eq!(last["kind"], "source-addresses");
    assert_eq!(last["before"], json!(["198.51.100.0/24"]));
    assert_eq!(last["after"], Value::Null);
    office.refused("no limit", "nothing-changes", |o| {
        o.submit(&limit(&Value::Null), "anna", &[])
    });
}

#[test]
fn bad_ranges_change_nothing() {
    let mut office = Office::new();
    for bad in ["192.0.2.1/24", "192.0.2.0/33", "host.example", ""] {
        office.refused(bad, "source-address-invalid", |o| {
            o.submit(&limit(&json!(["198.51.100.0/24", bad])), "anna", &[])
        });
    }
    office.refused("twice", "source-address-invalid", |o| {
        let twice = json!(["192.0.2.7", "::ffff:192.0.2.7"]);
        o.submit(&limit(&twice), "anna", &[])
    });
}

#[test]
fn limit_needs_senders_that_prove_who_they_are() {
    let mut office = Office::new();
    let way = limit(&json!(["192.0.2.7"]));
    let id = office.asked(&way);
    office.world = office.world.without_proofs();
    office.refused("proves nothing any more", "senders-unproven", |o| {
        o.approve(&way, "ben", &id, "APPROVE")
    });
    assert_eq!(office.approve(&way, "ben", &id, "REJECT").status, 200);
    office.refused("proves nothing", "senders-unproven", |o| {
        o.submit(&way, "anna", &[])
    });
    // A limit from before can be lifted.
    let mut participant = office.participant();
    participant.source_addresses = Some(vec!["192.0.2.7/32".to_owned()]);
    PARTICIPANTS
        .within(&mut office.world)
        .put(FSP, &participant);
    approved(&mut office, &Value::Null);
}

//! Deposits and withdrawals are told from each other.

use super::*;

#[test]
fn what_the_bank_moved_once_is_booked_once() {
    let mut office = Office::new();
    let funds = |direction: &str, amount: &str, reference: Option<&str>| {
        let mut way = ways().remove(0);
        way.body["type"] = json!(direction);
        way.body["amount"]["amount"] = json!(amount);
        if let Some(reference) = reference {
            way.body["externalReference"] = json!(reference);
        }
        way
    };
    let wire = funds("DEPOSIT", "100", Some("BANK-1"));
    let id = office.asked(&wire);
    assert_eq!(office.approve(&wire, "ben", &id, "REJECT").status, 200);
    // A rejected one has moved nothing: it may be asked for again.
    office.world.now += 1;
    let first = office.asked(&wire);
    assert_eq!(office.approve(&wire, "ben", &first, "APPROVE").status, 200);
    for again in [
        funds("DEPOSIT", "100", Some("BANK-1")),
        funds("DEPOSIT", "7", Some(" BANK-1 ")),
    ] {
        office.refused("the same wire", "reference-used", |o| {
            let answer = o.submit(&again, "anna", &[]);
            assert_eq!(
                (answer.status, &body(&answer)["request"]),
                (409, &json!(first))
            );
            answer
        });
    }
    for other in [
        funds("WITHDRAWAL", "1", Some("BANK-1")),
        funds("DEPOSIT", "100", Some("BANK-2")),
    ] {
        let id = office.asked(&other);
        assert_eq!(office.approve(&other, "ben", &id, "APPROVE").status, 200);
    }
    // One that waited while another one of its reference was approved: as before this was kept.
    let late = funds("DEPOSIT", "5", Some("BANK-3"));
    let id = office.asked(&late);
    office
        .world
        .store
        .0
        .retain(|(of, _), _| of != "open-requests");
    let sooner = office.asked(&late);
    assert_eq!(office.approve(&late, "ben", &sooner, "APPROVE").status, 200);
    office.refused("at approval", "reference-used", |o| {
        o.approve(&late, "ben", &id, "APPROVE")
    });
    // Without a reference the amount tells them apart while they wait, however it is written.
    office.asked(&funds("DEPOSIT", "100", None));
    office.refused("the same amount", "duplicate-request", |o| {
        o.submit(&funds("DEPOSIT", "100.0", None), "anna", &[])
    });
}

//! Deposits and withdrawals have separate references.

use super::*;
use crate::requests::REQUESTS;
use crate::tests::fake::Book;

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
    // Without a reference, waiting requests differ by their amount, in any spelling.
    office.asked(&funds("DEPOSIT", "100", None));
    office.refused("the same amount", "duplicate-request", |o| {
        o.submit(&funds("DEPOSIT", "100.0", None), "anna", &[])
    });
}

#[test]
fn funds_come_in_however_many_batches_a_participant_is_in() {
    let mut office = Office::new();
    office.world.batches_are_too_many = true;
    for (reference, model) in [("B-1", None), ("B-2", Some("OTHER"))] {
        let mut way = ways().remove(0);
        way.body["type"] = json!("DEPOSIT");
        way.body["externalReference"] = json!(reference);
        if let Some(model) = model {
            way.body["settlementModel"] = json!(model);
        }
        let id = office.asked(&way);
        assert_eq!(office.approve(&way, "ben", &id, "APPROVE").status, 200);
        way.body["settlementModel"] = json!("NONE");
        way.body["externalReference"] = json!("B-3");
        office.refused("no such model", "model-unknown", |o| {
            o.submit(&way, "anna", &[])
        });
    }
}

#[test]
fn second_operator_moves_settled_funds_between_models() {
    let mut office = Office::new();
    let moved = |amount: &str, from: Option<&str>, to: Option<&str>| {
        let mut way = ways().remove(0);
        way.body["type"] = json!("MOVE");
        way.body["amount"]["amount"] = json!(amount);
        for (name, model) in [("settlementModel", from), ("toSettlementModel", to)] {
            if let Some(model) = model {
                way.body[name] = json!(model);
            }
        }
        way
    };
    let (net, other) = (Some("NET"), Some("OTHER"));
    for (amount, from, to, kind) in [
        ("1", None, None, "malformed"),
        ("1", net, None, "malformed"),
        ("1", None, other, "malformed"),
        ("1", net, net, "malformed"),
        ("1", net, Some("GROSS"), "model-unknown"),
        ("1", Some("GROSS"), net, "model-unknown"),
        ("0", net, other, "amount-zero"),
        ("1000.01", net, other, "insufficient-settled-funds"),
        ("0.01", other, net, "insufficient-settled-funds"),
    ] {
        let way = moved(amount, from, to);
        office.refused(amount, kind, |o| o.submit(&way, "anna", &[]));
    }
    for (name, value, direction) in [
        ("externalReference", "BANK-1", "MOVE"),
        ("toSettlementModel", "OTHER", "DEPOSIT"),
    ] {
        let mut way = moved("1", net, other);
        way.body["type"] = json!(direction);
        way.body[name] = json!(value);
        office.refused(name, "malformed", |o| o.submit(&way, "anna", &[]));
    }
    let way = moved("400", net, other);
    let id = office.asked(&way);
    let asked = REQUESTS.within(&mut office.world).get(&id).unwrap();
    assert_eq!(asked.target, "USD/MOVE/40000/NET/OTHER");
    // A second one of the same amount waits until the first is decided; the other way is another one.
    office.refused("the same", "duplicate-request", |o| {
        o.submit(&way, "anna", &[])
    });
    office.refused("the maker", "maker-is-checker", |o| {
        o.approve(&way, "anna", &id, "APPROVE")
    });
    let before = office.world.book(FSP, "USD").clone();
    assert_eq!(office.approve(&way, "ben", &id, "APPROVE").status, 200);
    let expected = Book {
        settled: before.settled - 40_000,
        settled_other: 40_000,
        ..before
    };
    assert_eq!(*office.world.book(FSP, "USD"), expected);
    let back = moved("400", other, net);
    let id = office.asked(&back);
    office.world.book(FSP, "USD").settled_other = 39_999;
    office.refused("used since", "insufficient-settled-funds", |o| {
        o.approve(&back, "ben", &id, "APPROVE")
    });
}

//! Each kind of request: approved, rejected, decided by its maker, decided twice, made twice, sent twice, and
//! approved after its target has changed.

mod applications;
mod certificates;
mod endpoints;
mod funds;
mod office;
mod roles;
mod sources;
mod told;
mod versions;
mod waiting;

use super::fake::Fake;
use crate::bindings::exports::rialto::host::http_report_handler::DeliveryReport;
use crate::health;
use crate::history;
use crate::participants::{PARTICIPANTS, State};
use crate::requests::Kind;
use crate::world::Event;
use office::{Office, Way, body, ways};
use rialto_sdk::bindings::rialto::host::http::{
    DeliveryFailure, FailureKind, OutboundResponse, Outcome,
};
use rialto_sdk::operators::{Answer, Caller};
use serde_json::{Value, json};

const FSP: &str = "greenbank";

#[test]
fn what_is_approved_becomes_true_and_is_history() {
    for way in ways() {
        let mut office = Office::new();
        let before = office.participant();
        let id = office.asked(&way);
        let name = way.kind.name();
        assert_eq!(office.participant(), before, "{name}: nothing yet");
        assert_eq!(office.world.documents("pending").len(), 1, "{name}");
        let done = office.approve(&way, "ben", &id, "APPROVE");
        let said = body(&done);
        assert_eq!(
            (done.status, &said["state"]),
            (200, &json!("APPROVED")),
            "{name}: {said}"
        );
        assert_eq!(said["maker"], "anna");
        assert_eq!(said["checker"], "ben");
        let after = office.participant();
        assert_eq!(after.version, before.version + 1, "{name}");
        assert_eq!(after.changes, before.changes + 1, "{name}");
        assert_eq!(history::broken(&mut office.world, &after), None, "{name}");
        assert!(office.world.documents("pending").is_empty(), "{name}");
        assert!(office.world.documents("open-requests").is_empty(), "{name}");
        let told = office.notices();
        assert_eq!(
            told[told.len() - 2..],
            [
                "Audience::Checkers PENDING",
                "Audience::Operator(\"anna\") APPROVED"
            ]
        );
    }
}

#[test]
fn each_approval_has_its_effect_and_its_event() {
    let mut office = Office::new();
    for way in ways() {
        let id = office.asked(&way);
        let before = office.world.published.len();
        // Requested while it is enabled, approved while it is disabled.
        if way.kind != Kind::State {
            let done = office.approve(&way, "ben", &id, "APPROVE");
            assert_eq!(done.status, 200, "{done:?}");
        }
        let events = &office.world.published[before..];
        let events = events
            .iter()
            .filter(|event| !matches!(event, Event::Notice(_)));
        let events: Vec<_> = events.collect();
        let expected = match way.kind {
            Kind::Funds
            | Kind::LiquidityCover
            | Kind::State
            | Kind::SourceAddresses
            | Kind::Certificate => events.is_empty(),
            Kind::Account => matches!(events.as_slice(), [Event::AccountAdded(_)]),
            Kind::AccountStatus => matches!(events.as_slice(), [Event::AccountDisabled(_)]),
            Kind::AccountLimit => matches!(events.as_slice(), [Event::LimitUpdated(_)]),
            Kind::AccountThreshold => matches!(events.as_slice(), [Event::ThresholdUpdated(_)]),
            Kind::Endpoints => matches!(events.as_slice(), [Event::EndpointsUpdated(_)]),
            Kind::Participant => false,
        };
        assert!(expected, "{:?}: {events:?}", way.kind);
    }
    let book = office.world.book(FSP, "USD").clone();
    // 12.5 % of 1010.50 USD, rounded down.
    assert_eq!((book.cover, book.liquidity), (12_631, 88_419));
    assert_eq!(
        (book.cap, book.threshold, book.enabled),
        (Some(70_000), Some(5_000), false)
    );
    assert_eq!(office.participant().callback_base_url, "http://new.example");
    assert_eq!(office.participant().accounts.len(), 2);
    let cover = office.participant().accounts[0].cover.clone().unwrap();
    assert_eq!(rialto_sdk::money::minor_units(&cover.amount), 12_631);
}

#[test]
fn rejection_changes_only_the_request_and_the_history() {
    for way in ways() {
        let mut office = Office::new();
        let id = office.asked(&way);
        let (before, ledger) = (office.participant(), office.world.ledger.clone());
        let done = office.approve(&way, "ben", &id, "REJECT");
        assert_eq!(body(&done)["state"], "REJECTED", "{done:?}");
        let mut after = office.participant();
        assert_eq!(after.changes, before.changes + 1);
        assert_eq!(history::broken(&mut office.world, &after), None);
        (after.changes, after.version) = (before.changes, before.version);
        after.last_change_hash.clone_from(&before.last_change_hash);
        after.updated_at = before.updated_at;
        assert_eq!(after, before, "{}", way.kind.name());
        assert_eq!(office.world.ledger, ledger);
        // Asked for again it waits again.
        office.world.now += 1;
        office.asked(&way);
    }
}

#[test]
fn own_decided_or_foreign_requests_cannot_be_decided() {
    for way in ways() {
        let mut office = Office::new();
        office.refused("no maker", "role-missing", |o| o.submit(&way, "carl", &[]));
        office.refused("nobody", "role-missing", |o| o.submit(&way, "", &[]));
        let id = office.asked(&way);
        for decision in ["APPROVE", "REJECT"] {
            office.refused("maker", "maker-is-checker", |o| {
                o.approve(&way, "anna", &id, decision)
            });
            office.refused("no checker", "role-missing", |o| {
                o.approve(&way, "mia", &id, decision)
            });
        }
        office.refused("twice", "duplicate-request", |o| o.submit(&way, "ben", &[]));
        office.refused("unknown", "request-unknown", |o| {
            o.approve(
                &way,
                "ben",
                "00000000-0000-4000-8000-999999999999",
                "APPROVE",
            )
        });
        for other in ways().iter().filter(|other| other.kind != way.kind) {
            office.refused("other kind", "request-unknown", |o| {
                o.approve(other, "ben", &id, "APPROVE")
            });
        }
        assert_eq!(office.approve(&way, "ben", &id, "APPROVE").status, 200);
        for decision in ["APPROVE", "REJECT"] {
            office.refused("again", "already-decided", |o| {
                o.approve(&way, "carl", &id, decision)
            });
        }
    }
}

#[test]
fn request_about_a_changed_target_can_only_be_rejected() {
    for way in ways() {
        let Some(meddle) = way.meddle else {
            continue;
        };
        let mut office = Office::new();
        let id = office.asked(&way);
        let mut participant = office.participant();
        meddle(&mut participant);
        PARTICIPANTS
            .within(&mut office.world)
            .put(FSP, &participant);
        office.refused("meddled with", "target-changed", |o| {
            o.approve(&way, "ben", &id, "APPROVE")
        });
        assert_eq!(office.approve(&way, "ben", &id, "REJECT").status, 200);
    }
}

#[test]
fn what_is_sent_again_with_its_key_is_done_once() {
    for way in ways() {
        let mut office = Office::new();
        let key = [("idempotency-key", "k1")];
        let first = office.submit(&way, "anna", &key);
        let again = office.submit(&way, "anna", &key);
        assert_eq!((first.status, again.status), (201, 201));
        assert_eq!(first.body, again.body);
        assert_eq!(office.world.documents("pending").len(), 1);
        office.refused("another with the key", "idempotency-key-reused", |o| {
            o.post("anna", way.submit, &[("id", "x")], &json!({}), &key)
        });
    }
}

#[test]
fn change_with_an_outdated_version_is_refused() {
    let mut office = Office::new();
    let version = office.participant().version;
    let (stale, fresh) = (format!("\"p{}\"", version + 7), format!("\"p{version}\""));
    for way in ways() {
        office.refused("stale", "precondition-failed", |o| {
            o.submit(&way, "anna", &[("if-match", &stale)])
        });
        assert_eq!(
            office.submit(&way, "anna", &[("if-match", &fresh)]).status,
            201
        );
    }
}

#[test]
fn missing_or_inexact_money_is_refused_at_both_steps() {
    let mut office = Office::new();
    let funds = |direction: &str, account: &str, amount: &str| Way {
        kind: Kind::Funds,
        submit: "ManageFunds",
        approve: "ApproveManageFunds",
        account: None,
        body: json!({ "type": direction, "accountId": account, "amount": { "currency": account, "amount": amount } }),
        meddle: None,
    };
    for (direction, account, amount, kind) in [
        ("WITHDRAWAL", "USD", "1000.01", "insufficient-funds"),
        ("DEPOSIT", "USD", "0", "amount-zero"),
        ("DEPOSIT", "USD", "1.001", "amount-too-precise"),
        ("DEPOSIT", "TZS", "1", "account-unknown"),
    ] {
        let way = funds(direction, account, amount);
        office.refused(amount, kind, |o| o.submit(&way, "anna", &[]));
    }
    let mut unknown = funds("DEPOSIT", "USD", "1");
    unknown.body["settlementModel"] = json!("GROSS");
    office.refused("no such model", "model-unknown", |o| {
        o.submit(&unknown, "anna", &[])
    });
    let way = funds("WITHDRAWAL", "USD", "900");
    let id = office.asked(&way);
    office.world.book(FSP, "USD").settled = 100;
    office.refused("settled since", "insufficient-settled-funds", |o| {
        o.approve(&way, "ben", &id, "APPROVE")
    });
    office.world.book(FSP, "USD").liquidity = 100;
    office.refused("spent since", "insufficient-funds", |o| {
        o.approve(&way, "ben", &id, "APPROVE")
    });
    office.world.book(FSP, "USD").reserved = 60_000;
    let limits = ways();
    let limit = limits
        .iter()
        .find(|way| way.kind == Kind::AccountLimit)
        .unwrap();
    let mut lower = Way {
        body: limit.body.clone(),
        ..funds("", "", "")
    };
    (lower.kind, lower.submit, lower.approve, lower.account) =
        (limit.kind, limit.submit, limit.approve, limit.account);
    lower.body["limit"]["value"]["amount"] = json!("599.99");
    office.refused("below use", "limit-below-use", |o| {
        o.submit(&lower, "anna", &[])
    });
    let id = office.asked(limit);
    office.world.book(FSP, "USD").reserved = 70_001;
    office.refused("used since", "limit-below-use", |o| {
        o.approve(limit, "ben", &id, "APPROVE")
    });
}

#[test]
fn withdrawal_below_threshold_warns_and_deposit_rearms() {
    let mut office = Office::new();
    let mut way = ways().remove(0);
    let mut moved = |office: &mut Office, direction: &str, amount: &str| {
        way.body["type"] = json!(direction);
        way.body["amount"]["amount"] = json!(amount);
        let id = office.asked(&way);
        let done = office.approve(&way, "ben", &id, "APPROVE");
        assert_eq!(done.status, 200, "{done:?}");
        let warned = office.world.published.iter();
        warned
            .filter(|event| matches!(event, Event::Warned(_)))
            .count()
    };
    assert_eq!(moved(&mut office, "WITHDRAWAL", "980"), 0, "20 are left");
    assert_eq!(moved(&mut office, "WITHDRAWAL", "1"), 1);
    assert_eq!(moved(&mut office, "WITHDRAWAL", "2"), 1, "once");
    assert_eq!(moved(&mut office, "DEPOSIT", "3"), 1);
    assert_eq!(moved(&mut office, "WITHDRAWAL", "1"), 2, "armed again");
}

#[test]
fn application_is_decided_once_and_rejected_participant_reapplies() {
    let mut office = Office { world: Fake::new() };
    assert_eq!(office.apply("anna").status, 201);
    assert_eq!(office.participant().state, State::PendApproval);
    assert!(!office.participant().may_transact());
    office.refused("applies twice", "participant-exists", |o| o.apply("ben"));
    for way in ways() {
        let kind = match way.kind {
            Kind::Participant => continue,
            _ => "participant-state",
        };
        office.refused(way.submit, kind, |o| o.submit(&way, "anna", &[]));
    }
    let approve = |o: &mut Office, who: &str, decision: &str| {
        o.decide(who, "ApproveParticipant", None, None, decision)
    };
    office.refused("maker", "maker-is-checker", |o| {
        approve(o, "anna", "REJECT")
    });
    assert_eq!(approve(&mut office, "ben", "REJECT").status, 200);
    assert_eq!(office.participant().state, State::Rejected);
    assert!(office.world.ledger.is_empty());
    office.refused("again", "already-decided", |o| approve(o, "ben", "APPROVE"));
    let applied = office.apply("ben");
    assert_eq!(applied.status, 201);
    let second = body(&applied)["id"].clone();
    let approve = |o: &mut Office, who: &str, request: &Value| {
        let decision = json!({ "decision": "APPROVE", "request": request });
        o.post(who, "ApproveParticipant", &[("id", FSP)], &decision, &[])
    };
    office.refused("maker", "maker-is-checker", |o| approve(o, "ben", &second));
    assert_eq!(approve(&mut office, "anna", &second).status, 200);
    let participant = office.participant();
    assert_eq!(
        (participant.state, participant.changes),
        (State::Approved, 4)
    );
    assert_eq!(history::broken(&mut office.world, &participant), None);
    assert_eq!(office.world.book(FSP, "USD").cap, Some(50_000));
    assert!(matches!(
        office.world.published.iter().find(|event| !matches!(event, Event::Notice(_))),
        Some(Event::Created(event)) if event.accounts.len() == 1
    ));
}

#[test]
fn an_application_that_cannot_be_used_is_refused() {
    let mut office = Office { world: Fake::new() };
    let good = json!({
        "id": "x", "name": "X", "type": "DFSP", "reason": "r", "accounts": [],
        "endpoints": [{ "type": "FSPIOP", "value": "http://x" }],
    });
    let with = |member: &str, value: Value| {
        let mut body = good.clone();
        body[member] = value;
        body
    };
    let eur = json!([{ "currency": "EUR" }]);
    let two = json!([{ "currency": "USD" }, { "currency": "USD" }]);
    let ftp = json!([{ "type": "FSPIOP", "value": "ftp://x" }]);
    let fine =
        json!([{ "currency": "USD", "threshold": { "currency": "USD", "amount": "0.001" } }]);
    let mut pisp = with("type", json!("PISP"));
    pisp["accounts"] = json!([{ "currency": "USD" }]);
    for (body, kind) in [
        (with("id", json!("Hub")), "participant-exists"),
        (with("accounts", eur), "currency-unused"),
        (with("accounts", two), "account-exists"),
        (with("accounts", fine), "amount-too-precise"),
        (with("endpoints", ftp), "endpoint-invalid"),
        (pisp, "malformed"),
    ] {
        office.refused(kind, kind, |o| {
            o.post("anna", "CreateParticipant", &[], &body, &[])
        });
    }
    assert_eq!(
        office
            .post("anna", "CreateParticipant", &[], &good, &[])
            .status,
        201
    );
}

#[test]
fn automatic_approval_takes_effect_at_once_and_is_recorded() {
    let settings = r#"{"approval":{"default":"automatic"},"endpointHealthPath":""}"#;
    let mut office = Office::with(settings);
    assert_eq!(office.participant().state, State::Approved);
    for way in ways() {
        let answer = office.submit(&way, "mia", &[]);
        assert_eq!(body(&answer)["state"], "APPROVED", "{answer:?}");
        let id = body(&answer)["id"].as_str().unwrap().to_owned();
        let request = &office.world.documents("requests")[&id];
        assert_eq!(request["checker"], "automatic");
        assert_eq!(request["maker"], "mia");
        // So that the kinds after this one find the participant in.
        let mut participant = office.participant();
        participant.state = State::Approved;
        if let Some(account) = participant.account_mut("USD") {
            account.enabled = true;
        }
        PARTICIPANTS
            .within(&mut office.world)
            .put(FSP, &participant);
    }
    let participant = office.participant();
    assert_eq!(history::broken(&mut office.world, &participant), None);
}

#[test]
fn a_change_of_the_history_is_seen() {
    let mut office = Office::new();
    for way in ways().iter().take(3) {
        let id = office.asked(way);
        office.approve(way, "ben", &id, "APPROVE");
    }
    let participant = office.participant();
    let whole = office.world.store.clone();
    assert_eq!(history::broken(&mut office.world, &participant), None);
    for (n, from, to) in [
        (0, "anna", "carl"),
        (2, "\"ben\"", "\"carl\""),
        (participant.changes - 1, "APPROVED", "REJECTED"),
    ] {
        office.world.store = whole.clone();
        let key = ("changes".to_owned(), history::id(FSP, n));
        let entry = office.world.store.0.get_mut(&key).unwrap();
        let forged = entry.replace(from, to);
        assert_ne!(*entry, forged);
        *entry = forged;
        assert_eq!(history::broken(&mut office.world, &participant), Some(n));
    }
    office.world.store = whole.clone();
    let last = (
        "changes".to_owned(),
        history::id(FSP, participant.changes - 1),
    );
    office.world.store.0.remove(&last);
    assert_eq!(
        history::broken(&mut office.world, &participant),
        Some(participant.changes - 1)
    );
}

#[test]
fn waiting_requests_are_listed_by_kind_and_filters() {
    let mut office = Office::new();
    for (n, way) in ways().iter().enumerate() {
        office.world.now = 2_000 + n as u64;
        let id = office.asked(way);
        let list = match way.kind {
            Kind::Funds => "GetPendingManageFunds",
            Kind::LiquidityCover => "GetPendingLiquidityCoverReservations",
            Kind::State => "GetPendingStateUpdates",
            Kind::Account => "GetPendingParticipantsAccounts",
            Kind::AccountStatus => "GetPendingAccountsWithStatusUpdates",
            Kind::AccountLimit => "GetPendingAccountsWithLimitUpdates",
            Kind::AccountThreshold => "GetPendingAccountsWithThresholdUpdates",
            Kind::SourceAddresses => "GetPendingSourceAddressUpdates",
            Kind::Certificate => "GetPendingCertificates",
            Kind::Endpoints | Kind::Participant => "GetPendingEndpointUpdates",
        };
        let at = office.world.now.to_string();
        let later = (office.world.now + 1).to_string();
        let found = |office: &mut Office, query: &[(&str, &str)]| {
            let page = office.get(list, query);
            let items = page["items"].as_array().unwrap().clone();
            assert!(items.iter().all(|item| item["id"] == json!(id)), "{page}");
            items.len()
        };
        assert_eq!(found(&mut office, &[]), 1, "{list}");
        assert_eq!(
            found(&mut office, &[("maker", "anna"), ("participant", FSP)]),
            1
        );
        assert_eq!(
            found(&mut office, &[("createdFrom", &at), ("createdTo", &later)]),
            1
        );
        assert_eq!(found(&mut office, &[("maker", "ben")]), 0);
        assert_eq!(found(&mut office, &[("participant", "other")]), 0);
        assert_eq!(found(&mut office, &[("createdFrom", &later)]), 0);
        assert_eq!(found(&mut office, &[("createdTo", &at)]), 0);
    }
    let info = office.get("GetParticipantInfo", &[]);
    assert_eq!(info["openRequests"].as_array().unwrap().len(), ways().len());
    assert_eq!(info["changes"].as_array().unwrap().len(), 2);
    let listed = office.get(
        "GetPendingParticipants",
        &[("state", "APPROVED"), ("name", "Gr")],
    );
    assert_eq!(listed["items"][0]["id"], FSP);
    for (name, value) in [
        ("state", "DISABLED"),
        ("type", "PISP"),
        ("currency", "TZS"),
        ("name", "x"),
    ] {
        let listed = office.get("GetPendingParticipants", &[(name, value)]);
        assert_eq!(listed["items"], json!([]), "{name}");
    }
}

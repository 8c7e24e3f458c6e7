//! Requests for transfers: accepted ones, refusals with their messages, and repeats.

use super::fake::{CONDITION, EXPIRATION, Fake, PAYEE, PAYER, position, request};
use crate::bindings::exports::rialto::settlements::transfer_prepare_accounts_allocated::Event;
use crate::bindings::rialto::accounts_and_balances::types::LedgerError;
use crate::bindings::rialto::transfers::transfer_query_response::{Answer, TransferQueryResult};
use crate::bindings::rialto::transfers::types::{FulfilMode, TransferState};
use crate::prepare::prepare;
use crate::surroundings::Publication;
use crate::tests::fake::commitment;
use crate::transfer::State;
use rialto_sdk::bindings::rialto::rules::types::Violation;
use rialto_sdk::money::{minor_units, money};

#[test]
fn valid_request_reserves_funds_and_asks_the_payee() {
    let mut world = Fake {
        now: 5,
        ..Fake::default()
    };
    prepare(&mut world, request("t1"));
    let Publication::Prepared(event) = world.only() else {
        panic!("not prepared");
    };
    assert_eq!(event.payer_position, position("payer-L"));
    assert_eq!((event.prepared_at, event.expiration), (5, EXPIRATION));
    assert_eq!(event.message, request("t1").message);
    assert_eq!(world.state("t1"), Some(State::Prepared));
    assert_eq!(world.reminders.get("t1"), Some(&EXPIRATION));
    assert_eq!(world.legs("t1"), (1, 0, 0));
    assert_eq!(world.asked_agreement, [CONDITION]);
}

#[test]
fn a_transfer_document_reads_as_an_operator_expects() {
    let mut world = Fake {
        now: 5,
        ..Fake::default()
    };
    prepare(&mut world, request("t1"));
    assert_eq!(
        serde_json::to_string(&world.transfers["t1"]).unwrap(),
        concat!(
            r#"{"transferId":"t1","payerFsp":"payerfsp","payeeFsp":"payeefsp","#,
            r#""amount":{"currency":"USD","scale":2,"minorUnits":"1050"},"#,
            r#""condition":"fH9pAYDQbmoZLPbvv3CSW2RfjU4jvM4ApG_fqGnR7Xs","expiration":1000,"#,
            r#""requestHash":"hash-1","payerVersion":"1.0","settlementModel":"DEFERRED_NET","#,
            r#""payerAccounts":{"debit":"payer-L","credit":"payer-P"},"#,
            r#""payeeAccounts":{"debit":"payee-P","credit":"payee-L"},"state":"PREPARED","#,
            r#""history":[{"state":"RECEIVED","at":5},{"state":"PREPARED","at":5}],"deliveries":[]}"#
        )
    );
}

/// The event's name, its error code, and whether the payer FSP is told.
fn refusal(publication: &Publication) -> (&'static str, &str) {
    match publication {
        Publication::PrepareInvalidPayerCheckFailed(event) if event.notify.is_some() => {
            ("payer, told", &event.error.code)
        }
        Publication::PrepareInvalidPayerCheckFailed(event) => {
            ("payer, not told", &event.error.code)
        }
        Publication::PrepareInvalidPayeeCheckFailed(event) => ("payee", &event.error.code),
        Publication::PrepareRequestTimedout(event) => ("timed out", &event.error.code),
        Publication::PrepareRuleCheckFailed(event) => ("rule", &event.error.code),
        Publication::PrepareLiquidityCheckFailed(event) => ("liquidity", &event.error.code),
        other => panic!("no refusal: {other:?}"),
    }
}

#[test]
fn each_refusal_has_event_and_code_and_reserves_nothing() {
    type Case = (
        &'static str,
        fn(&mut Fake, &mut Event),
        State,
        (&'static str, &'static str),
    );
    let cases: [Case; 20] = [
        (
            "expires too late",
            |w, _| w.settings.longest_lifetime_ms = EXPIRATION - 6,
            State::Failed,
            ("rule", "3100"),
        ),
        (
            "expires too soon",
            |w, _| w.settings.shortest_lifetime_ms = EXPIRATION - 4,
            State::Failed,
            ("rule", "3100"),
        ),
        (
            "expires in the year 9999",
            |_, e| e.expiration = 253_402_300_799_999,
            State::Failed,
            ("rule", "3100"),
        ),
        (
            "barred payer",
            |w, _| w.barred = vec![PAYER],
            State::Failed,
            ("payer, told", "4400"),
        ),
        (
            "the payer's account is disabled",
            |w, _| w.disabled = vec![PAYER],
            State::Failed,
            ("payer, told", "4400"),
        ),
        (
            "the payee's account is disabled",
            |w, _| w.disabled = vec![PAYEE],
            State::Failed,
            ("payee", "5106"),
        ),
        (
            "payer is payee",
            |_, e| e.payee_fsp = PAYER.into(),
            State::Failed,
            ("payee", "3100"),
        ),
        (
            "unknown payee",
            |_, e| e.payee_fsp = "x".into(),
            State::Failed,
            ("payee", "3203"),
        ),
        (
            "barred payee",
            |w, _| w.barred = vec![PAYEE],
            State::Failed,
            ("payee", "3201"),
        ),
        (
            "both barred",
            |w, _| w.barred = vec![PAYER, PAYEE],
            State::Failed,
            ("payer, told", "4400"),
        ),
        (
            "at its expiration",
            |w, _| w.now = EXPIRATION,
            State::Rejected,
            ("timed out", "3303"),
        ),
        (
            "barred and expired",
            |w, _| {
                w.now = EXPIRATION;
                w.barred = vec![PAYEE];
            },
            State::Failed,
            ("payee", "3201"),
        ),
        (
            "payer without account",
            |_, e| e.payer_accounts = None,
            State::Failed,
            ("payer, told", "4103"),
        ),
        (
            "payee without account",
            |_, e| e.payee_accounts = None,
            State::Failed,
            ("payee", "5106"),
        ),
        (
            "nothing",
            |_, e| e.amount = money("USD", 2, 0),
            State::Failed,
            ("rule", "3100"),
        ),
        (
            "against a rule",
            |w, _| {
                w.rules_refuse = Some(vec![Violation {
                    code: "4200".into(),
                    message: "too much".into(),
                }])
            },
            State::Failed,
            ("rule", "4200"),
        ),
        (
            "no liquidity",
            |w, _| w.ledger_refuses = Some(LedgerError::ExceedsLimits(position("payer-L"))),
            State::Failed,
            ("liquidity", "4001"),
        ),
        (
            "no settled funds",
            |w, _| w.ledger_refuses = Some(LedgerError::ExceedsSettledFunds(position("payer-L"))),
            State::Failed,
            ("liquidity", "4001"),
        ),
        (
            "over the cap",
            |w, _| w.ledger_refuses = Some(LedgerError::ExceedsNetDebitCap(position("payer-L"))),
            State::Failed,
            ("liquidity", "4200"),
        ),
        (
            "disabled account",
            |w, _| w.ledger_refuses = Some(LedgerError::AccountDisabled("payer-L".into())),
            State::Failed,
            ("payer, told", "4400"),
        ),
    ];
    for (name, arrange, state, expected) in cases {
        let mut world = Fake {
            now: 5,
            ..Fake::default()
        };
        let mut event = request("t1");
        arrange(&mut world, &mut event);
        prepare(&mut world, event);
        let publication = world.only();
        assert_eq!(refusal(&publication), expected, "{name}");
        assert_eq!(world.state("t1"), Some(state), "{name}");
        let reason = world.transfers["t1"].reason.clone().unwrap();
        assert_eq!(reason.code, expected.1, "{name}");
        assert_eq!(world.legs("t1"), (0, 0, 0), "{name}");
        assert!(world.reminders.is_empty(), "{name}");
    }
}

#[test]
fn where_settled_funds_are_short_the_log_says_of_what() {
    let mut world = Fake {
        ledger_refuses: Some(LedgerError::ExceedsSettledFunds(position("payer-L"))),
        ..Fake::default()
    };
    prepare(&mut world, request("t1"));
    let Publication::PrepareLiquidityCheckFailed(event) = world.only() else {
        panic!("another refusal");
    };
    assert_eq!(event.payer_position, position("payer-L"));
    assert_eq!(
        world.log,
        ["payerfsp has too little settled funds of DEFERRED_NET in USD"]
    );
}

#[test]
fn nothing_is_kept_for_a_payer_that_is_no_participant() {
    let mut world = Fake::default();
    let mut event = request("t1");
    event.payer_fsp = "x".into();
    event.requester_fsp = "x".into();
    prepare(&mut world, event);
    assert_eq!(refusal(&world.only()), ("payer, not told", "3202"));
    assert!(world.transfers.is_empty());
    // Nor is the id used up.
    prepare(&mut world, request("t1"));
    assert_eq!(world.state("t1"), Some(State::Prepared));
}

#[test]
fn expiration_is_bounded_by_the_settings() {
    let mut world = Fake {
        now: 5,
        ..Fake::default()
    };
    world.settings.longest_lifetime_ms = EXPIRATION - 5;
    world.settings.shortest_lifetime_ms = EXPIRATION - 5;
    prepare(&mut world, request("t1"));
    assert_eq!(world.state("t1"), Some(State::Prepared));
    // A repeat is answered by the transfer, however little time is left.
    world.now = EXPIRATION - 1;
    world.published.clear();
    prepare(&mut world, request("t1"));
    assert!(world.published.is_empty());
}

#[test]
fn a_rules_message_reaches_the_payer() {
    let mut world = Fake::default();
    let violation = |code: &str, message: &str| Violation {
        code: code.to_owned(),
        message: message.to_owned(),
    };
    world.rules_refuse = Some(vec![violation("4200", "too much"), violation("3100", "b")]);
    prepare(&mut world, request("t1"));
    let Publication::PrepareRuleCheckFailed(event) = world.only() else {
        panic!("not refused");
    };
    assert_eq!(event.error.description, "Payer limit error - too much");
}

#[test]
fn request_in_anothers_name_is_refused_and_uses_no_id() {
    for (requester, told) in [("otherfsp", Some("otherfsp")), ("nobody", None)] {
        let mut world = Fake::default();
        let mut event = request("t1");
        event.requester_fsp = requester.to_owned();
        prepare(&mut world, event);
        let Publication::PrepareInvalidPayerCheckFailed(refused) = world.only() else {
            panic!("not refused");
        };
        assert_eq!(refused.error.code, "3100");
        assert_eq!(refused.notify.as_deref(), told);
        assert_eq!(world.state("t1"), None);
        prepare(&mut world, request("t1"));
        assert_eq!(world.state("t1"), Some(State::Prepared));
    }
}

#[test]
fn a_repeat_of_a_running_transfer_is_ignored() {
    let mut world = Fake::default();
    prepare(&mut world, request("t1"));
    world.published.clear();
    let before = world.transfers.clone();
    prepare(&mut world, request("t1"));
    assert!(world.published.is_empty());
    assert_eq!(world.transfers, before);
}

#[test]
fn repeat_of_a_final_transfer_gets_its_state() {
    let mut world = Fake::default();
    prepare(&mut world, request("t1"));
    crate::fulfil::fulfil(&mut world, commitment("t1", FulfilMode::Committed));
    world.published.clear();
    prepare(&mut world, request("t1"));
    let Publication::QueryResponse(event) = world.only() else {
        panic!("no answer");
    };
    assert_eq!((&*event.requester_fsp, event.answer), (PAYER, Answer::Put));
    let TransferQueryResult::Found(status) = event.outcome else {
        panic!("not found");
    };
    assert_eq!(status.state, TransferState::Committed);
    assert!(status.fulfilment.is_some());

    world.barred = vec![PAYEE];
    prepare(&mut world, request("t2"));
    world.published.clear();
    prepare(&mut world, request("t2"));
    let Publication::QueryResponse(event) = world.only() else {
        panic!("no answer");
    };
    let TransferQueryResult::Found(status) = event.outcome else {
        panic!("not found");
    };
    assert_eq!(status.state, TransferState::Aborted);
    assert_eq!(status.fulfilment, None);
}

#[test]
fn reused_id_is_refused_and_changes_nothing() {
    let mut world = Fake::default();
    prepare(&mut world, request("t1"));
    world.published.clear();
    let before = world.transfers.clone();
    let mut modified = request("t1");
    modified.request_hash = "hash-2".to_owned();
    let mut replayed = request("t1");
    replayed.requester_fsp = "otherfsp".to_owned();
    for event in [modified, replayed] {
        let requester = event.requester_fsp.clone();
        prepare(&mut world, event);
        let Publication::PrepareDuplicateCheckFailed(event) = world.only() else {
            panic!("not refused");
        };
        assert_eq!(event.error.code, "3106");
        assert_eq!(event.requester_fsp, requester);
        assert_eq!(world.transfers, before);
    }
}

#[test]
fn only_the_reservation_that_crosses_the_threshold_warns() {
    let amount = minor_units(&request("t1").amount);
    for (available, threshold, told) in [
        (10_000, 10_000, false),
        (9_999, 10_000, true),
        (10_000 - amount, 10_000, true),
        (9_999 - amount, 10_000, false),
        (0, 0, false),
    ] {
        let mut world = Fake {
            liquidity_after: Some((available, threshold)),
            ..Fake::default()
        };
        prepare(&mut world, request("t1"));
        let exceeded: Vec<(&str, u128)> = world
            .thresholds_exceeded
            .iter()
            .map(|told| {
                (
                    told.participant.as_str(),
                    minor_units(&told.position.available),
                )
            })
            .collect();
        let expected = if told {
            vec![(PAYER, available)]
        } else {
            vec![]
        };
        assert_eq!(exceeded, expected, "{available} of {threshold}");
    }
}

#[test]
#[should_panic(expected = "the ledger cannot reserve transfer t1")]
fn unknown_ledger_accounts_are_an_internal_error() {
    let mut world = Fake {
        ledger_refuses: Some(LedgerError::UnknownAccount("payer-L".to_owned())),
        ..Fake::default()
    };
    prepare(&mut world, request("t1"));
}

//! Settlements over a store and a ledger in memory.

mod ledger;
mod random;
mod rollback;
mod settling;

use crate::bindings::exports::rialto::fsp_interop_api::transfer_prepare_requested as requested;
use crate::bindings::exports::rialto::transfers::transfer_committed_fulfiled as committed;
use crate::bindings::rialto::accounts_and_balances::types::{
    AccountPosition, LedgerError, ParticipantAccountIds, SettlementTiming,
};
use crate::bindings::rialto::participant_lifecycle_management::types::AccountWithTerms;
use crate::bindings::rialto::transfers::types::FulfilMode;
use crate::participants::Term;
use crate::settings::Settings;
use crate::{allocation, participants, recording};
use ledger::Book;
use rialto_sdk::bindings::rialto::common::types::Message;
use rialto_sdk::money::money;
use rialto_sdk::operators::Caller;

/// A scheme with two models: the default one of batches, and one that settles at once.
const BOTH: &str = r#"{
    "settlementModel": "NET",
    "models": [
        {"name": "NET", "kind": "deferred-net"},
        {"name": "GROSS", "kind": "immediate-gross", "currencies": ["USD"]}
    ],
    "rules": [{"model": "GROSS", "currencies": ["USD"], "amountAtLeast": "1000.00"}]
}"#;

/// A scheme whose only model settles at once.
const GROSS: &str =
    r#"{"settlementModel":"GROSS","models":[{"name":"GROSS","kind":"immediate-gross"}]}"#;

fn settings(text: &str) -> Settings {
    serde_json::from_str(text).unwrap()
}

fn operator(name: &str) -> Caller {
    Caller {
        name: name.to_owned(),
        roles: ["reader", "maker", "checker"].map(str::to_owned).to_vec(),
    }
}

fn message() -> Message {
    Message {
        method: "POST".to_owned(),
        path: "/transfers".to_owned(),
        headers: "date: d\n".to_owned(),
        body: "{}".to_owned(),
    }
}

fn ids(participant: &str, currency: &str) -> ParticipantAccountIds {
    ParticipantAccountIds {
        participant: participant.to_owned(),
        currency: currency.to_owned(),
        liquidity: format!("{participant}-L"),
        position: format!("{participant}-P"),
        liquidity_cover: format!("{participant}-C"),
        settlement: format!("{participant}:{currency}:S:NET"),
    }
}

fn join(world: &mut Book, settings: &Settings, participant: &str, currency: &str) {
    let account = AccountWithTerms {
        ids: ids(participant, currency),
        scale: 2,
        enabled: true,
        net_debit_cap: Some(money(currency, 2, 5)),
        liquidity_threshold: None,
    };
    participants::added(world, settings, account);
}

fn requested(payer: &str, payee: &str, currency: &str, units: u128) -> requested::Event {
    requested::Event {
        transfer_id: "t1".to_owned(),
        payer_fsp: payer.to_owned(),
        payee_fsp: payee.to_owned(),
        requester_fsp: payer.to_owned(),
        amount: money(currency, 2, units),
        ilp_packet: "AQ".to_owned(),
        condition: "c".to_owned(),
        expiration: 9,
        request_hash: "h".to_owned(),
        message: message(),
        answer_version: Some("1.0".to_owned()),
    }
}

/// A transfer is prepared, with what it holds, and committed, and recorded.
fn transfer(
    world: &mut Book,
    settings: &Settings,
    id: &str,
    payer: &str,
    payee: &str,
    units: u128,
) {
    let allocated = allocation::allocate(world, settings, requested(payer, payee, "USD", units));
    if let SettlementTiming::Immediate(Some(hold)) = &allocated.settlement {
        world.hold(hold, units).unwrap();
    }
    let event = committed::Event {
        transfer_id: id.to_owned(),
        payer_fsp: payer.to_owned(),
        payee_fsp: payee.to_owned(),
        amount: allocated.amount,
        settlement_model: allocated.settlement_model,
        settlement: allocated.settlement,
        mode: FulfilMode::Committed,
        fulfilment: "f".to_owned(),
        completed_timestamp: 0,
        payer_position: position(),
        payee_position: position(),
        message: message(),
        payer_version: None,
    };
    world.now += 1;
    recording::record(world, settings, &event).unwrap();
}

fn position() -> AccountPosition {
    AccountPosition {
        account_id: "x".to_owned(),
        debit_balance: money("USD", 2, 0),
        credit_balance: money("USD", 2, 0),
        available: money("USD", 2, 0),
        threshold: None,
    }
}

#[test]
fn transfer_gets_four_accounts_model_and_timing() {
    let mut world = Book::default();
    let both = settings(BOTH);
    for participant in ["payerfsp", "payeefsp"] {
        join(&mut world, &both, participant, "USD");
    }
    let before = requested("payerfsp", "payeefsp", "USD", 99_999);
    let after = allocation::allocate(&mut world, &both, before.clone());
    let pair = |debit: &str, credit: &str| {
        Some(crate::bindings::rialto::settlements::transfer_prepare_accounts_allocated::ParticipantAccounts {
            debit: debit.to_owned(),
            credit: credit.to_owned(),
        })
    };
    assert_eq!(after.payer_accounts, pair("payerfsp-L", "payerfsp-P"));
    assert_eq!(after.payee_accounts, pair("payeefsp-P", "payeefsp-L"));
    assert_eq!(after.settlement_model, "NET");
    assert_eq!(after.settlement, SettlementTiming::Deferred);
    assert_eq!(
        (after.message, after.amount),
        (before.message, before.amount)
    );
    let large = requested("payerfsp", "payeefsp", "USD", 100_000);
    let after = allocation::allocate(&mut world, &both, large);
    assert_eq!(after.settlement_model, "GROSS");
    let SettlementTiming::Immediate(Some(hold)) = after.settlement else {
        panic!("what is settled at once is held: {:?}", after.settlement);
    };
    assert_eq!(hold.settlement, "payerfsp:USD:S:GROSS");
    assert_eq!(hold.reserved, "payerfsp:USD:SR:GROSS");
}

#[test]
fn who_has_no_accounts_in_the_currency_gets_none() {
    let mut world = Book::default();
    let both = settings(BOTH);
    join(&mut world, &both, "payeefsp", "USD");
    let mut allocate = |payer: &str, currency: &str| {
        allocation::allocate(
            &mut world,
            &both,
            requested(payer, "payeefsp", currency, 100_000),
        )
    };
    let after = allocate("stranger", "USD");
    assert_eq!(after.payer_accounts, None);
    assert!(after.payee_accounts.is_some());
    assert_eq!(
        after.settlement,
        SettlementTiming::Deferred,
        "nobody to hold from"
    );
    let after = allocate("payeefsp", "TZS");
    assert_eq!((after.payer_accounts, after.payee_accounts), (None, None));
}

#[test]
fn a_transfer_that_is_settled_at_once_moves_settled_funds() {
    let mut world = Book::default();
    let gross = settings(GROSS);
    for participant in ["a", "b"] {
        join(&mut world, &gross, participant, "USD");
        world.fund(&format!("{participant}:USD:S:GROSS"), 500);
    }
    transfer(&mut world, &gross, "t1", "a", "b", 300);
    assert_eq!(world.net("a:USD:S:GROSS"), 200);
    assert_eq!(world.net("a:USD:SR:GROSS"), 0);
    assert_eq!(world.net("b:USD:S:GROSS"), 800);
    assert_eq!(world.net("a:USD:B:GROSS"), 0);
    assert_eq!(world.net("b:USD:B:GROSS"), 0);
}

#[test]
fn new_model_needs_settled_funds_of_its_own() {
    let mut world = Book::default();
    let first = settings("{}");
    for participant in ["a", "b"] {
        join(&mut world, &first, participant, "USD");
        world.fund(&format!("{participant}:USD:S:DEFERRED_NET"), 500);
    }
    let later = settings(GROSS);
    transfer(&mut world, &first, "t1", "a", "b", 3);
    let after = allocation::allocate(&mut world, &later, requested("a", "b", "USD", 1));
    let SettlementTiming::Immediate(Some(hold)) = after.settlement else {
        panic!("nothing is held: {:?}", after.settlement);
    };
    assert_eq!(hold.settlement, "a:USD:S:GROSS");
    assert!(world.accounts.contains_key("b:USD:S:GROSS"));
    let refused = world.hold(&hold, 1);
    assert!(
        matches!(refused, Err(LedgerError::ExceedsSettledFunds(_))),
        "the funds are of the first model: {refused:?}"
    );
    world.fund("a:USD:S:GROSS", 10);
    transfer(&mut world, &later, "t2", "a", "b", 10);
    assert_eq!(world.net("a:USD:S:GROSS"), 0);
    assert_eq!(world.net("b:USD:S:GROSS"), 10);
}

#[test]
fn model_that_becomes_immediate_gets_missing_accounts() {
    let mut world = Book::default();
    let deferred = settings(r#"{"settlementModel":"GROSS"}"#);
    for participant in ["a", "b"] {
        join(&mut world, &deferred, participant, "USD");
        world.fund(&format!("{participant}:USD:S:GROSS"), 500);
    }
    transfer(&mut world, &deferred, "t1", "a", "b", 100);
    let later = settings(GROSS);
    transfer(&mut world, &later, "t2", "a", "b", 300);
    assert_eq!(world.net("a:USD:S:GROSS"), 200);
    assert_eq!(world.net("b:USD:S:GROSS"), 800);
    let known = participants::ACCOUNTS.within(&mut world).get("a:USD");
    let own = &known.unwrap().settlements["GROSS"];
    assert_eq!(own.settlement, "a:USD:S:GROSS");
    assert_eq!(own.standing.as_deref(), Some("a:USD:B:GROSS"));
    // A transfer of the earlier release is still recorded in its batch.
    transfer(&mut world, &deferred, "t3", "a", "b", 1);
    assert_eq!(world.net("a:USD:S:GROSS"), 200);
}

#[test]
fn latest_of_reordered_changes_counts() {
    let mut world = Book::default();
    join(&mut world, &settings("{}"), "a", "USD");
    let ids = ids("a", "USD");
    let some = |units| Some(money("USD", 2, units));
    for (term, at) in [
        (Term::Enabled(false), 8),
        (Term::Enabled(true), 7),
        (Term::NetDebitCap(some(2)), 6),
        (Term::NetDebitCap(some(1)), 5),
        (Term::NetDebitCap(some(3)), 6),
        (Term::LiquidityThreshold(some(4)), 1),
        (Term::LiquidityThreshold(None), 2),
        (Term::LiquidityThreshold(some(4)), 1),
    ] {
        participants::change(&mut world, &ids, term, at);
    }
    let known = participants::ACCOUNTS.within(&mut world).get("a:USD");
    let known = known.unwrap();
    assert!(!known.enabled);
    assert_eq!(known.net_debit_cap, some(3));
    assert_eq!(known.liquidity_threshold, None);
}

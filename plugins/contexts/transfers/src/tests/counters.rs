//! Counters: what they say is what a list of all transfers says, whatever becomes of these.

use super::fake::{Fake, agreement, commitment, position, refusal, reminder, request};
use crate::bindings::exports::rialto::host::retention_handler::{
    Archive, ArchivedBundle, ArchivedDocument,
};
use crate::bindings::rialto::accounts_and_balances::types::LedgerError;
use crate::bindings::rialto::transfers::types::FulfilMode;
use crate::counters::{COUNTERS, look};
use crate::fulfil::fulfil;
use crate::prepare::prepare;
use crate::reject::reject;
use crate::retention::{archived, judge, kept};
use crate::settings::{AgreementServes, Settings};
use crate::timeout::reminder_elapsed;
use crate::transfer::State;
use crate::window::{SLOTS_MAX, Span};
use rialto_sdk::bindings::rialto::rules::types::{Agreement, Transfer, Violation};
use rialto_sdk::counters::{Counter, Dimension, Sum, Window, counter};
use rialto_sdk::documents::Store as _;
use rialto_sdk::money::money;
use rialto_sdk::retention::digest;
use rialto_sdk::testing::Dice;

const MS_PER_HOUR: u64 = 3_600_000;
/// 2026-01-01T09:00:00Z.
const BEGIN: u64 = 1_767_258_000_000;

fn world(counters: Vec<Counter>) -> Fake {
    Fake {
        now: BEGIN,
        counters,
        settings: Settings {
            agreement_serves: AgreementServes::ManyTransfers,
            longest_lifetime_ms: u64::MAX,
            ..Settings::default()
        },
        ..Fake::default()
    }
}

fn of_parties(payer: &str, payee: &str) -> Agreement {
    let mut agreement = agreement("q");
    agreement.request.payer.identifier = payer.to_owned();
    agreement.request.payee.identifier = payee.to_owned();
    agreement
}

/// Prepares a transfer of so many cents that expires a day later.
fn pay(world: &mut Fake, id: &str, cents: u128) {
    let mut event = request(id);
    event.amount = money("USD", 2, cents);
    event.expiration = world.now + 24 * MS_PER_HOUR;
    prepare(world, event);
}

/// The values of the last question's counters: transfers and cents.
fn values(world: &Fake) -> Vec<Option<(u64, u128)>> {
    let last = world.counts.last().unwrap().iter();
    last.map(|one| one.sum.as_ref().map(value)).collect()
}

fn value(sum: &Sum) -> (u64, u128) {
    let units = &sum.amount.minor_units;
    assert_eq!((&*sum.amount.currency, sum.amount.scale), ("USD", 2));
    (
        sum.transfers,
        u128::from(units.high) << 64 | u128::from(units.low),
    )
}

#[test]
fn repeat_and_refusals_are_not_counted() {
    let mut world = world(vec![counter([Dimension::PayerFsp], Window::Day(0))]);
    pay(&mut world, "t1", 100);
    pay(&mut world, "t1", 100);
    world.ledger_refuses = Some(LedgerError::ExceedsLimits(position("payer-L")));
    pay(&mut world, "t2", 200);
    world.rules_refuse = Some(vec![Violation {
        code: "4200".to_owned(),
        message: "no".to_owned(),
    }]);
    pay(&mut world, "t3", 300);
    world.rules_refuse = None;
    pay(&mut world, "t4", 400);
    assert_eq!(values(&world), [Some((1, 100))]);
    pay(&mut world, "t5", 500);
    assert_eq!(values(&world), [Some((2, 500))]);
}

#[test]
fn draft_sees_what_is_counted_and_adds_nothing() {
    let of_fsp = counter([Dimension::PayerFsp], Window::Day(0));
    let of_party = counter([Dimension::Payer], Window::Day(0));
    let mut world = world(vec![of_fsp.clone()]);
    pay(&mut world, "t1", 100);
    pay(&mut world, "t2", 250);
    let event = request("draft");
    let draft = Transfer {
        transfer_id: event.transfer_id,
        payer_fsp: event.payer_fsp,
        payee_fsp: event.payee_fsp,
        amount: money("USD", 2, 7),
        condition: event.condition,
        expiration: event.expiration,
    };
    let before = world.store.clone();
    for _ in 0..2 {
        let needed = vec![of_fsp.clone(), of_party.clone()];
        let now = world.now;
        let found = look(&mut world, needed, (&draft, None), now);
        let sums = found.iter().map(|one| one.sum.as_ref().map(value));
        // Without an agreed quote it names no parties.
        assert_eq!(sums.collect::<Vec<_>>(), [Some((2, 350)), None]);
    }
    assert_eq!(world.store, before);
    pay(&mut world, "t3", 1);
    assert_eq!(values(&world), [Some((2, 350))]);
}

#[test]
fn transfer_that_moves_no_money_gives_its_room_back() {
    let mut world = world(vec![counter([Dimension::PayerFsp], Window::Month(0))]);
    for (id, cents) in [("kept", 1), ("declined", 20), ("expired", 300)] {
        pay(&mut world, id, cents);
    }
    fulfil(&mut world, commitment("kept", FulfilMode::Committed));
    reject(&mut world, refusal("declined"));
    pay(&mut world, "next", 4_000);
    assert_eq!(values(&world), [Some((2, 301))]);
    world.now += 24 * MS_PER_HOUR;
    reminder_elapsed(&mut world, &reminder("expired"));
    // A second reminder takes nothing out again.
    reminder_elapsed(&mut world, &reminder("expired"));
    pay(&mut world, "last", 1);
    assert_eq!(values(&world), [Some((2, 4_001))]);
    let counted = |id: &str| world.transfers[id].counted.len();
    assert_eq!(
        [counted("kept"), counted("expired"), counted("last")],
        [0, 0, 1]
    );
}

#[test]
fn transfer_whose_slot_is_gone_takes_nothing_out() {
    let mut world = world(vec![counter([Dimension::PayerFsp], Window::Day(0))]);
    pay(&mut world, "old", 100);
    world.now += 24 * MS_PER_HOUR;
    pay(&mut world, "new", 20);
    reminder_elapsed(&mut world, &reminder("old"));
    pay(&mut world, "next", 1);
    assert_eq!(values(&world), [Some((1, 20))]);
}

#[test]
fn dimensions_separate_transfers_and_parties_need_an_agreement() {
    let day = Window::Day(0);
    let mut world = world(vec![
        counter([Dimension::PayerFsp, Dimension::PayeeFsp], day),
        counter([Dimension::Payer], day),
        counter([Dimension::Payer, Dimension::Payee, Dimension::Amount], day),
        counter([Dimension::Scenario], day),
    ]);
    pay(&mut world, "without", 5);
    assert_eq!(values(&world), [Some((0, 0)), None, None, None]);
    world.agreement = Some(of_parties("1", "2"));
    pay(&mut world, "a", 10);
    assert_eq!(
        values(&world),
        [Some((1, 5)), Some((0, 0)), Some((0, 0)), Some((0, 0))]
    );
    // Another spelling of the same number.
    world.agreement = Some(of_parties("+1", "3"));
    pay(&mut world, "b", 10);
    assert_eq!(
        values(&world),
        [Some((2, 15)), Some((1, 10)), Some((0, 0)), Some((1, 10))]
    );
    world.agreement = Some(of_parties("1", "2"));
    pay(&mut world, "c", 10);
    assert_eq!(
        values(&world),
        [Some((3, 25)), Some((2, 20)), Some((1, 10)), Some((2, 20))]
    );
    // The agreement of others names no parties of this transfer.
    let mut of_others = of_parties("1", "2");
    of_others.request.payer_fsp = "otherfsp".to_owned();
    world.agreement = Some(of_others);
    pay(&mut world, "d", 10);
    assert_eq!(values(&world), [Some((4, 35)), None, None, None]);
    for (_, id) in world.store.0.keys() {
        assert!(!id.contains("MSISDN"), "{id}");
    }
}

#[test]
fn counter_that_cannot_be_kept_has_no_value() {
    let mut world = world(vec![
        counter([], Window::Day(0)),
        counter([Dimension::PayerFsp], Window::Rolling(0)),
    ]);
    pay(&mut world, "t", 1);
    assert_eq!(values(&world), [None, None]);
    assert_eq!(world.log.len(), 2, "{:?}", world.log);
    assert_eq!(world.state("t"), Some(State::Prepared));
}

#[test]
fn currency_with_another_scale_is_counted_exactly_or_more() {
    let mut world = world(vec![counter([Dimension::PayerFsp], Window::Day(0))]);
    pay(&mut world, "two", 150);
    let mut event = request("three");
    event.amount = money("USD", 3, 1_001);
    event.expiration = world.now + 1;
    prepare(&mut world, event);
    let sum = world.counts.last().unwrap()[0].sum.clone().unwrap();
    assert_eq!((sum.transfers, sum.amount), (1, money("USD", 3, 1_500)));
    pay(&mut world, "again", 1);
    // 2.501 dollars: 251 cents, not 250.
    assert_eq!(values(&world), [Some((2, 251))]);
}

#[test]
fn retention_removes_counters_whose_windows_are_over() {
    let mut world = world(vec![counter([Dimension::PayerFsp], Window::Rolling(59))]);
    pay(&mut world, "t", 1);
    let names: Vec<String> = kept().into_iter().map(|one| one.name).collect();
    assert_eq!(names, ["transfers", "counters"]);
    let ids: Vec<String> = world
        .store
        .0
        .keys()
        .filter(|(of, _)| of == "counters")
        .map(|(_, id)| id.clone())
        .collect();
    let [id] = ids.as_slice() else {
        panic!("{ids:?}");
    };
    let until = COUNTERS.within(&mut world.store).get(id).unwrap().until;
    assert_eq!(until, BEGIN + 60_000);
    let young = judge(&mut world.store, "counters", &ids, until - 1);
    assert_eq!((young.over.len(), young.young), (0, 1));
    let over = judge(&mut world.store, "counters", &ids, until);
    assert_eq!(over.over[0].at, until);
    let bundle = ArchivedBundle {
        subject: over.over[0].subject.clone(),
        documents: vec![ArchivedDocument {
            collection: "counters".to_owned(),
            id: id.clone(),
            sha256: digest(&world.store.get("counters", id).unwrap()),
        }],
    };
    let archive = Archive {
        file: "documents-1".to_owned(),
        sha256: String::new(),
    };
    archived(&mut world.store, &archive, &[bundle]);
    assert_eq!(world.store.get("counters", id), None);
    // A transfer that ends after that finds no slot.
    reject(&mut world, refusal("t"));
    assert_eq!(world.store.get("counters", id), None);
}

/// A transfer of the model.
struct Paid {
    id: String,
    at: u64,
    payer: String,
    cents: u128,
    is_open: bool,
    is_counted: bool,
}

#[test]
fn counters_say_what_all_transfers_say() {
    let windows = [
        Window::Rolling(1),
        Window::Rolling(3_600),
        Window::Rolling(86_400),
        Window::Day(0),
        Window::Day(-300),
        Window::Week(60),
        Window::Month(0),
    ];
    for seed in 0..20 {
        let mut dice = Dice::new(seed);
        let counters = windows.map(|window| counter([Dimension::Payer], window));
        let mut world = world(counters.to_vec());
        let mut model: Vec<Paid> = Vec::new();
        for n in 0..250 {
            world.now += match dice.below(4) {
                0 => 0,
                1 => dice.below(2_000),
                2 => dice.below(MS_PER_HOUR),
                _ => dice.below(12 * MS_PER_HOUR),
            };
            let open: Vec<usize> = (0..model.len()).filter(|&at| model[at].is_open).collect();
            if dice.chance(60) || open.is_empty() {
                let id = format!("t{n}");
                let payer = dice.pick(&["1", "2"]).to_string();
                world.agreement = Some(of_parties(&payer, "9"));
                let is_refused = dice.chance(15);
                world.ledger_refuses =
                    is_refused.then(|| LedgerError::ExceedsLimits(position("payer-L")));
                let cents = u128::from(1 + dice.below(1_000_000));
                pay(&mut world, &id, cents);
                compare(&world, &model, &payer);
                model.push(Paid {
                    id,
                    at: world.now,
                    payer,
                    cents,
                    is_open: !is_refused,
                    is_counted: !is_refused,
                });
                continue;
            }
            let paid = &mut model[*dice.pick(&open)];
            let is_expired = world.now >= paid.at + 24 * MS_PER_HOUR;
            paid.is_open = false;
            if is_expired {
                reminder_elapsed(&mut world, &reminder(&paid.id));
                paid.is_counted = false;
            } else if dice.chance(50) {
                reject(&mut world, refusal(&paid.id));
                paid.is_counted = false;
            } else {
                fulfil(&mut world, commitment(&paid.id, FulfilMode::Committed));
            }
        }
        for (collection, body) in world.store.0.iter().map(|((of, _), body)| (of, body)) {
            if collection == "counters" {
                let document: crate::counters::Document = serde_json::from_str(body).unwrap();
                assert!(document.slots.len() <= SLOTS_MAX);
            }
        }
    }
}

/// The last counts lie between what is in the window, and that with the slot in which the window begins.
fn compare(world: &Fake, model: &[Paid], payer: &str) {
    let sum = |from: u64| {
        let counted = model
            .iter()
            .filter(|paid| paid.is_counted && paid.payer == payer && paid.at >= from);
        counted.fold((0, 0), |(n, cents), paid| (n + 1, cents + paid.cents))
    };
    for counted in world.counts.last().unwrap() {
        let found = value(counted.sum.as_ref().unwrap());
        let span = Span::of(counted.counter.window, world.now);
        assert_eq!(found, sum(span.from), "{:?}", counted.counter);
        if let Window::Rolling(seconds) = counted.counter.window {
            let begins = world.now - seconds * 1000;
            let each = (seconds * 1000).div_ceil(59);
            assert!(found.0 >= sum(begins).0 && found.0 <= sum(begins - each).0);
        }
    }
}

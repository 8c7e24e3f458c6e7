//! One transfer id, one outcome: for any messages in any order, any clock, and any refusals of the ledger or a
//! rule.

use super::fake::{
    EXPIRATION, Fake, PAYEE, PAYER, commitment, position, question, refusal, reminder, request,
};
use crate::bindings::rialto::accounts_and_balances::types::LedgerError;
use crate::bindings::rialto::transfers::types::FulfilMode;
use crate::fulfil::fulfil;
use crate::prepare::prepare;
use crate::query::query;
use crate::reject::reject;
use crate::reports::report;
use crate::surroundings::Publication;
use crate::timeout::reminder_elapsed;
use crate::transfer::{State, Transfer};
use rialto_sdk::bindings::rialto::common::types::{CallbackReport, NotSent, Role};
use rialto_sdk::bindings::rialto::rules::types::Violation;
use rialto_sdk::testing::Dice;
use std::collections::BTreeMap;

const IDS: [&str; 4] = ["t1", "t2", "t3", "t4"];

/// The transfer that an event gives its outcome, if it does.
fn outcome_of(publication: &Publication) -> Option<&str> {
    match publication {
        Publication::CommittedFulfiled(event) => Some(&event.transfer_id),
        Publication::RejectRequestProcessed(event) => Some(&event.transfer_id),
        Publication::PrepareRequestTimedout(event) => Some(&event.transfer_id),
        Publication::FulfilComitRequestTimedout(event)
            if event.destinations.contains(&Role::Payer) =>
        {
            Some(&event.transfer_id)
        }
        Publication::PrepareLiquidityCheckFailed(event) => Some(&event.transfer_id),
        Publication::PrepareInvalidPayerCheckFailed(event) if event.error.code != "3100" => {
            Some(&event.transfer_id)
        }
        Publication::PrepareInvalidPayeeCheckFailed(event) => Some(&event.transfer_id),
        Publication::PrepareRuleCheckFailed(event) => Some(&event.transfer_id),
        _ => None,
    }
}

fn step(dice: &mut Dice, world: &mut Fake) {
    let id = *dice.pick(&IDS);
    world.rules_refuse = dice.chance(10).then(|| {
        vec![Violation {
            code: "3100".to_owned(),
            message: "no".to_owned(),
        }]
    });
    world.ledger_refuses = dice
        .chance(15)
        .then(|| LedgerError::ExceedsLimits(position("payer-L")));
    match dice.below(12) {
        0..=2 => {
            let mut event = request(id);
            if dice.chance(20) {
                event.request_hash = "hash-2".to_owned();
            }
            if dice.chance(10) {
                event.requester_fsp = "otherfsp".to_owned();
            }
            if dice.chance(10) {
                event.payee_fsp = "nobody".to_owned();
            }
            prepare(world, event);
        }
        3..=4 => {
            let mode = *dice.pick(&[FulfilMode::Committed, FulfilMode::Reserved]);
            let mut event = commitment(id, mode);
            if dice.chance(20) {
                event.requester_fsp = (*dice.pick(&[PAYER, "otherfsp"])).to_owned();
            }
            if dice.chance(20) {
                event.fulfilment = None;
                event.request_hash = "fulfil-nothing".to_owned();
            }
            if dice.chance(10) {
                event.destination_fsp = Some("otherfsp".to_owned());
            }
            // As the hub took it: a while ago, or by a clock that has been set back since.
            let ago = dice.below(EXPIRATION / 2);
            event.arrived_at = match dice.below(3) {
                0 => None,
                1 => Some(world.now.saturating_sub(ago)),
                _ => Some(world.now + ago),
            };
            fulfil(world, event);
        }
        5 => {
            let mut event = refusal(id);
            if dice.chance(30) {
                event.requester_fsp = PAYER.to_owned();
            }
            reject(world, event);
        }
        6 => query(world, question(id, PAYER)),
        7 => {
            // Early, on time, or again: as Scheduling sees it, it has elapsed.
            world.reminders.remove(id);
            reminder_elapsed(world, &reminder(id));
        }
        8 => fire_due(world),
        9 => world.remind_of_questions(),
        10 => {
            let not_sent = dice.chance(30).then_some(NotSent::NotAllowed);
            let about = CallbackReport {
                subject: id.to_owned(),
                destination: (*dice.pick(&[PAYER, PAYEE])).to_owned(),
                method: "POST".to_owned(),
                path: "/transfers".to_owned(),
                delivered: false,
                status: 0,
                attempts: 0,
                reason: None,
                reported_at: world.now,
                not_sent,
            };
            let kind = *dice.pick(&["transfer-prepare", "transfer-query-response"]);
            report(world, kind, about);
        }
        _ => world.now += dice.below(EXPIRATION / 4),
    }
}

/// Fire every reminder that is due, once.
fn fire_due(world: &mut Fake) {
    let due: Vec<String> = world
        .reminders
        .iter()
        .filter(|(_, due)| **due <= world.now)
        .map(|(id, _)| id.clone())
        .collect();
    for id in due {
        world.reminders.remove(&id);
        reminder_elapsed(world, &reminder(&id));
    }
}

fn check(world: &Fake, before: &BTreeMap<String, Transfer>, context: &str) {
    for (id, transfer) in &world.transfers {
        let expected = match transfer.state {
            State::Prepared => (1, 0, 0),
            State::Committed => (1, 1, 0),
            State::Rejected if transfer.history.len() == 3 => (1, 0, 1),
            State::Rejected | State::Failed => (0, 0, 0),
            State::Received | State::Reserved => panic!("{context}: {transfer:?}"),
        };
        assert_eq!(world.legs(id), expected, "{context}: {transfer:?}");
        let waits = world.reminders.contains_key(id);
        let due = transfer.is_expired(world.now);
        assert!(!waits || transfer.state == State::Prepared, "{context}");
        assert!(
            waits || due || transfer.state != State::Prepared,
            "{context}"
        );
        let outcomes = world
            .published
            .iter()
            .filter(|publication| outcome_of(publication) == Some(id))
            .count();
        assert_eq!(
            outcomes,
            usize::from(transfer.state.is_final()),
            "{context}"
        );
        if let Some(before) = before.get(id).filter(|before| before.state.is_final()) {
            let mut marked = before.clone();
            marked.post_commit_timeout = transfer.post_commit_timeout;
            marked.deliveries = transfer.deliveries.clone();
            assert_eq!(transfer, &marked, "{context}: final is final");
        }
        assert_eq!(
            transfer.fulfilment.is_some(),
            transfer.state == State::Committed,
            "{context}"
        );
    }
}

#[test]
fn random_messages_give_each_transfer_one_outcome() {
    let mut seen = BTreeMap::new();
    for seed in 0..2000 {
        let mut dice = Dice::new(seed);
        let mut world = Fake::default();
        for number in 0..40 {
            let before = world.transfers.clone();
            step(&mut dice, &mut world);
            check(&world, &before, &format!("seed {seed}, message {number}"));
        }
        world.now += 2 * EXPIRATION;
        let before = world.transfers.clone();
        fire_due(&mut world);
        check(&world, &before, &format!("seed {seed}, at the end"));
        for transfer in world.transfers.values() {
            assert!(transfer.state.is_final(), "seed {seed}: {transfer:?}");
            *seen
                .entry(format!("{:?} {:?}", transfer.state, transfer.rejection))
                .or_insert(0) += 1;
        }
    }
    assert!(seen.len() >= 6, "every way to end must be met: {seen:?}");
}

//! An agreed quote is for one transfer.

use super::fake::{
    AGREED_AT, EXPIRATION, Fake, PAYEE, RELEASE, agreement, commitment, refusal, reminder, request,
};
use crate::bindings::rialto::accounts_and_balances::types::LedgerError;
use crate::bindings::rialto::transfers::types::FulfilMode;
use crate::fulfil::fulfil;
use crate::prepare::prepare;
use crate::reject::reject;
use crate::settings::AgreementServes;
use crate::surroundings::Publication;
use crate::tests::fake::position;
use crate::timeout::reminder_elapsed;
use crate::transfer::{AgreedRules, State};
use rialto_sdk::bindings::rialto::rules::types::Agreement;
use rialto_sdk::money::money;
use rialto_sdk::testing::Dice;

/// A world with an agreement, at instant 5.
fn agreed() -> Fake {
    Fake {
        now: 5,
        agreement: Some(agreement("q1")),
        ..Fake::default()
    }
}

fn prepared(world: &mut Fake, id: &str) -> bool {
    world.published.clear();
    prepare(world, request(id));
    match world.only() {
        Publication::Prepared(_) => true,
        Publication::PrepareRuleCheckFailed(event) => {
            assert_eq!(event.error.code, "3100");
            assert!(event.error.description.contains("another transfer"));
            false
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn second_transfer_on_one_agreement_is_refused() {
    let mut world = agreed();
    assert!(prepared(&mut world, "t1"));
    assert!(!prepared(&mut world, "t2"));
    fulfil(&mut world, commitment("t1", FulfilMode::Committed));
    assert!(!prepared(&mut world, "t3"));
    assert_eq!(world.legs("t3"), (0, 0, 0));
    assert_eq!(world.state("t3"), Some(State::Failed));
    // Other transfers, and the same FSPs' next agreement, are free.
    world.agreement = Some(agreement("q2"));
    assert!(prepared(&mut world, "t4"));
    world.agreement = None;
    assert!(prepared(&mut world, "t5"));
}

#[test]
fn an_agreement_is_free_again_when_its_transfer_has_failed() {
    type End = fn(&mut Fake);
    let ends: [End; 2] = [
        |world| reject(world, refusal("t1")),
        |world| {
            world.now = EXPIRATION;
            world.reminders.clear();
            reminder_elapsed(world, &reminder("t1"));
            world.now = 6;
        },
    ];
    for end in ends {
        let mut world = agreed();
        assert!(prepared(&mut world, "t1"));
        end(&mut world);
        assert!(prepared(&mut world, "t2"));
        assert!(!prepared(&mut world, "t3"));
    }
    // A transfer that was never prepared uses up nothing.
    let mut world = agreed();
    world.ledger_refuses = Some(LedgerError::ExceedsLimits(position("payer-L")));
    prepare(&mut world, request("t1"));
    assert_eq!(world.state("t1"), Some(State::Failed));
    assert!(prepared(&mut world, "t2"));
}

#[test]
fn an_agreement_of_others_is_not_used_up() {
    let mut world = agreed();
    let mut event = request("t1");
    event.payer_fsp = "otherfsp".to_owned();
    event.requester_fsp = "otherfsp".to_owned();
    prepare(&mut world, event);
    assert_eq!(world.state("t1"), Some(State::Prepared));
    let mut event = request("t2");
    event.payee_fsp = "otherfsp".to_owned();
    prepare(&mut world, event);
    assert_eq!(world.state("t2"), Some(State::Prepared));
    assert_ne!(PAYEE, "otherfsp");
    assert!(prepared(&mut world, "t3"));
}

#[test]
fn a_scheme_may_let_an_agreement_serve_many() {
    let mut world = agreed();
    world.settings.agreement_serves = AgreementServes::ManyTransfers;
    assert!(prepared(&mut world, "t1"));
    assert!(prepared(&mut world, "t2"));
    assert!(world.agreement_uses.is_empty());
}

#[test]
fn random_messages_leave_one_transfer_per_agreement() {
    for seed in 0..500 {
        let mut dice = Dice::new(seed);
        let mut world = agreed();
        for number in 0..40 {
            let id = *dice.pick(&["t1", "t2", "t3"]);
            match dice.below(6) {
                0..=1 => prepare(&mut world, request(id)),
                2 => fulfil(&mut world, commitment(id, FulfilMode::Reserved)),
                3 => reject(&mut world, refusal(id)),
                4 => reminder_elapsed(&mut world, &reminder(id)),
                _ => world.now += dice.below(EXPIRATION / 4),
            }
            let live = world
                .transfers
                .values()
                .filter(|transfer| matches!(transfer.state, State::Prepared | State::Committed));
            assert!(live.count() <= 1, "seed {seed}, message {number}");
        }
    }
}

#[test]
fn transfer_is_judged_by_the_rules_of_its_agreement() {
    let mut world = Fake {
        now: 5,
        agreement: Some(agreement("q1")),
        ..Fake::default()
    };
    prepare(&mut world, request("t1"));
    let rules = Some(AgreedRules {
        release: RELEASE,
        at: AGREED_AT,
    });
    assert_eq!(
        (&*world.judged_by, world.transfers["t1"].agreed),
        (&[rules][..], rules)
    );
    fulfil(&mut world, commitment("t1", FulfilMode::Committed));
    assert_eq!(world.judged_by, [rules, rules]);
}

#[test]
fn rules_of_an_agreement_about_something_else_do_not_judge() {
    type Change = fn(&mut Agreement);
    let others: [Change; 4] = [
        |agreed| agreed.request.payer_fsp = "otherfsp".to_owned(),
        |agreed| agreed.request.payee_fsp = "otherfsp".to_owned(),
        |agreed| agreed.response.transfer_amount = money("USD", 2, 1051),
        |agreed| agreed.response.expiration = 5,
    ];
    for change in others {
        let mut agreed = agreement("q1");
        change(&mut agreed);
        let mut world = Fake {
            now: 5,
            agreement: Some(agreed),
            ..Fake::default()
        };
        prepare(&mut world, request("t1"));
        assert_eq!(world.judged_by, [None]);
    }
}

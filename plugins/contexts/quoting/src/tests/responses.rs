//! The payee FSP's answers: terms, refusals, and what does not fit.

use super::fake::{CONDITION, EXPIRATION, Fake, PAYEE, PAYER, RELEASE, asked, refusal, terms};
use crate::bindings::exports::rialto::fsp_interop_api::quote_response_received::Event;
use crate::quote::State;
use crate::reject::reject;
use crate::request::request;
use crate::response::response;
use crate::surroundings::Publication;
use crate::terms::AgreedRules;
use rialto_sdk::bindings::rialto::rules::types::{Agreement, Violation};
use rialto_sdk::money::money;
use rialto_sdk::testing::Dice;

/// A pending quote `q1`, at instant 5.
fn pending() -> Fake {
    let mut world = Fake {
        now: 5,
        ..Fake::default()
    };
    request(&mut world, asked("q1"));
    world.published.clear();
    world
}

/// The quote that was agreed under the condition.
fn agreed(world: &Fake) -> &str {
    let request = world.agreements[CONDITION].request.as_ref();
    &request.unwrap().quote_id
}

#[test]
fn good_terms_become_an_agreement_and_go_to_the_payer() {
    let mut world = pending();
    response(&mut world, terms("q1"));
    let Publication::ResponseAccepted(event) = world.only() else {
        panic!("not accepted");
    };
    assert_eq!((&*event.payer_fsp, &*event.payee_fsp), (PAYER, PAYEE));
    assert_eq!(event.message, terms("q1").message);
    let quote = &world.quotes["q1"];
    assert_eq!((quote.state, quote.finished_at), (State::Accepted, Some(5)));
    assert_eq!(quote.condition.as_deref(), Some(CONDITION));
    let agreement = Agreement::from(world.agreements[CONDITION].clone().whole().unwrap());
    assert_eq!(agreement.response, terms("q1").response);
    assert_eq!(agreement.request.payee_fsp, PAYEE);
    let rules = AgreedRules {
        release: RELEASE,
        at: 5,
    };
    assert_eq!(world.agreements[CONDITION].rules, rules);
    assert_eq!(
        agreement.request.transaction_type,
        asked("q1").request.transaction_type
    );
}

#[test]
fn refused_terms_end_the_quote_and_tell_both() {
    type Case = (&'static str, fn(&mut Fake, &mut Event), State, &'static str);
    let cases: [Case; 10] = [
        (
            "the terms hold too long",
            |w, _| w.settings.longest_lifetime_ms = 2 * EXPIRATION - 6,
            State::Rejected,
            "3100",
        ),
        (
            "the terms end too soon",
            |w, _| w.settings.shortest_lifetime_ms = 2 * EXPIRATION - 4,
            State::Rejected,
            "3100",
        ),
        (
            "the request has expired",
            |w, _| w.now = EXPIRATION,
            State::Expired,
            "3302",
        ),
        (
            "the terms have expired",
            |_, e| e.response.expiration = 5,
            State::Expired,
            "3302",
        ),
        (
            "nothing to transfer",
            |_, e| e.response.transfer_amount = money("USD", 2, 0),
            State::Rejected,
            "3100",
        ),
        (
            "another currency",
            |_, e| e.response.payee_fsp_fee = Some(money("EUR", 2, 1)),
            State::Rejected,
            "3100",
        ),
        (
            "no condition",
            |_, e| e.response.condition = "short".into(),
            State::Rejected,
            "3100",
        ),
        (
            "barred payer",
            |w, _| w.barred = vec![PAYER],
            State::Rejected,
            "3202",
        ),
        (
            "barred payee",
            |w, _| w.barred = vec![PAYEE],
            State::Rejected,
            "3201",
        ),
        (
            "against a rule",
            |w, _| {
                w.rules_refuse = Some(Violation {
                    code: "5200".into(),
                    message: "m".into(),
                })
            },
            State::Rejected,
            "5200",
        ),
    ];
    for (name, arrange, state, code) in cases {
        let mut world = pending();
        let mut event = terms("q1");
        arrange(&mut world, &mut event);
        response(&mut world, event.clone());
        let Publication::RuleViolatedInResponse(refused) = world.only() else {
            panic!("not refused: {name}");
        };
        assert_eq!(refused.error.code, code, "{name}");
        assert_eq!((&*refused.payer_fsp, &*refused.payee_fsp), (PAYER, PAYEE));
        assert_eq!(world.state("q1"), Some(state), "{name}");
        assert!(world.agreements.is_empty(), "{name}");

        response(&mut world, event);
        assert_eq!(
            world.refused(),
            (PAYEE.to_owned(), code.to_owned()),
            "{name}"
        );
        let mut other = terms("q1");
        other.request_hash = "terms-2".to_owned();
        response(&mut world, other);
        assert_eq!(world.refused().1, "3106", "{name}");
    }
}

#[test]
fn an_answer_that_is_not_the_payees_changes_nothing() {
    let mut world = pending();
    let before = world.quotes.clone();
    for sender in [PAYER, "otherfsp"] {
        let mut event = terms("q1");
        event.requester_fsp = sender.to_owned();
        response(&mut world, event);
        assert_eq!(world.refused(), (sender.to_owned(), "3100".to_owned()));
        let mut event = refusal("q1");
        event.requester_fsp = sender.to_owned();
        reject(&mut world, event);
        assert_eq!(world.refused(), (sender.to_owned(), "3100".to_owned()));
    }
    response(&mut world, terms("q9"));
    assert_eq!(world.refused().1, "3205");
    reject(&mut world, refusal("q9"));
    assert_eq!(world.refused().1, "3205");
    assert_eq!(world.quotes, before);
}

#[test]
fn answer_to_another_destination_changes_nothing() {
    let mut world = pending();
    let before = world.quotes.clone();
    let mut event = terms("q1");
    event.destination_fsp = Some("otherfsp".to_owned());
    response(&mut world, event.clone());
    assert_eq!(world.refused(), (PAYEE.to_owned(), "3100".to_owned()));
    let mut declined = refusal("q1");
    declined.destination_fsp = event.destination_fsp;
    reject(&mut world, declined);
    assert_eq!(world.refused(), (PAYEE.to_owned(), "3100".to_owned()));
    assert_eq!(world.quotes, before);
}

#[test]
fn an_accepted_quote_stays_as_it_is() {
    let mut world = pending();
    response(&mut world, terms("q1"));
    world.published.clear();
    let before = (world.quotes.clone(), world.agreements.clone());
    response(&mut world, terms("q1"));
    assert!(world.published.is_empty(), "a repeat is owed no answer");
    let mut other = terms("q1");
    other.request_hash = "terms-2".to_owned();
    response(&mut world, other);
    assert_eq!(world.refused().1, "3106");
    reject(&mut world, refusal("q1"));
    assert_eq!(world.refused().1, "3100");
    assert_eq!((world.quotes, world.agreements), before);
}

#[test]
fn a_condition_cannot_be_taken_over_by_another_payee_fsp() {
    let mut world = pending();
    response(&mut world, terms("q1"));
    let mut event = asked("q2");
    event.destination_fsp = Some("otherfsp".to_owned());
    request(&mut world, event);
    world.published.clear();
    let mut event = terms("q2");
    event.requester_fsp = "otherfsp".to_owned();
    response(&mut world, event);
    let Publication::RuleViolatedInResponse(refused) = world.only() else {
        panic!("not refused");
    };
    assert_eq!(refused.error.code, "3100");
    assert_eq!(agreed(&world), "q1");

    request(&mut world, asked("q3"));
    response(&mut world, terms("q3"));
    assert_eq!(agreed(&world), "q3");
}

#[test]
fn condition_is_not_reused_with_another_payer_fsp() {
    let mut world = pending();
    response(&mut world, terms("q1"));
    let mut event = asked("q2");
    event.requester_fsp = "otherfsp".to_owned();
    event.request.payer_fsp = None;
    request(&mut world, event);
    world.published.clear();
    let mut event = terms("q2");
    event.destination_fsp = None;
    response(&mut world, event);
    let Publication::RuleViolatedInResponse(refused) = world.only() else {
        panic!("not refused");
    };
    assert_eq!(refused.error.code, "3100");
    assert_eq!(agreed(&world), "q1");
}

#[test]
fn a_refusal_by_the_payee_is_kept_and_forwarded() {
    let mut world = pending();
    reject(&mut world, refusal("q1"));
    let Publication::RejectRequestProcessed(event) = world.only() else {
        panic!("not processed");
    };
    assert_eq!((&*event.payer_fsp, &*event.payee_fsp), (PAYER, PAYEE));
    assert_eq!(world.state("q1"), Some(State::Rejected));
    reject(&mut world, refusal("q1"));
    assert!(world.published.is_empty(), "a repeat is owed no answer");
    response(&mut world, terms("q1"));
    assert_eq!(world.refused(), (PAYEE.to_owned(), "5103".to_owned()));
    request(&mut world, asked("q1"));
    assert_eq!(world.refused(), (PAYER.to_owned(), "5103".to_owned()));
}

#[test]
fn random_messages_end_a_quote_once() {
    for seed in 0..2000 {
        let mut dice = Dice::new(seed);
        let mut world = Fake::default();
        for number in 0..30 {
            let before = world.quotes.clone();
            let id = *dice.pick(&["q1", "q2", "q3"]);
            world.rules_refuse = dice.chance(10).then(|| Violation {
                code: "3100".to_owned(),
                message: "no".to_owned(),
            });
            match dice.below(6) {
                0..=1 => request(&mut world, asked(id)),
                2..=3 => {
                    let mut event = terms(id);
                    if dice.chance(20) {
                        event.requester_fsp = PAYER.to_owned();
                    }
                    response(&mut world, event);
                }
                4 => reject(&mut world, refusal(id)),
                _ => world.now += dice.below(EXPIRATION / 4),
            }
            for (id, quote) in &before {
                if quote.state.is_final() {
                    assert_eq!(&world.quotes[id], quote, "seed {seed}, message {number}");
                }
            }
            for agreement in world.agreements.values() {
                let request = agreement.request.as_ref().unwrap();
                let quote = &world.quotes[&request.quote_id];
                assert_eq!(
                    quote.state,
                    State::Accepted,
                    "seed {seed}, message {number}"
                );
                assert_eq!(quote.request.as_ref(), Some(request));
            }
        }
    }
}

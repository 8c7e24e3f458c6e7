//! What can happen to a prepared transfer: commitment, refusal, expiry; and queries and reports.

use super::fake::{
    EXPIRATION, FULFILMENT, Fake, PAYEE, PAYER, commitment, payee_error, position, question,
    refusal, reminder, request,
};
use crate::audited;
use crate::bindings::rialto::transfers::transfer_query_response::{
    Answer, Event as Response, TransferQueryResult,
};
use crate::bindings::rialto::transfers::transfer_reject_request_processed::Rejection;
use crate::bindings::rialto::transfers::types::{FulfilMode, TransferState};
use crate::fulfil::{fulfil, taken};
use crate::prepare::prepare;
use crate::query::query;
use crate::reject::reject;
use crate::reports::report;
use crate::surroundings::Publication;
use crate::timeout::reminder_elapsed;
use crate::transfer::{Mode, RejectionKind, State};
use rialto_sdk::bindings::rialto::common::types::{CallbackReport, NotSent, Role};
use rialto_sdk::bindings::rialto::rules::types::Violation;
use rialto_sdk::deliveries::Kept;

/// A prepared transfer `t1`, at instant 5.
fn prepared() -> Fake {
    let mut world = Fake {
        now: 5,
        ..Fake::default()
    };
    prepare(&mut world, request("t1"));
    world.published.clear();
    world
}

fn response(world: &mut Fake) -> Response {
    match world.only() {
        Publication::QueryResponse(event) => event,
        other => panic!("no answer: {other:?}"),
    }
}

/// The code of an error answer.
fn refused(world: &mut Fake) -> (String, String) {
    let event = response(world);
    assert_eq!(event.answer, Answer::Put);
    match event.outcome {
        TransferQueryResult::Failed(error) => (event.requester_fsp, error.code),
        TransferQueryResult::Found(status) => panic!("found: {status:?}"),
    }
}

#[test]
fn a_commitment_moves_the_funds_and_tells_the_payer() {
    for (mode, kept, states) in [
        (FulfilMode::Committed, Mode::Committed, 3),
        (FulfilMode::Reserved, Mode::Reserved, 4),
    ] {
        let mut world = prepared();
        world.now = 6;
        fulfil(&mut world, commitment("t1", mode));
        let Publication::CommittedFulfiled(event) = world.only() else {
            panic!("not committed");
        };
        assert_eq!((event.mode, event.completed_timestamp), (mode, 6));
        assert_eq!(event.fulfilment, FULFILMENT);
        assert_eq!(event.payee_position, position("payee-L"));
        let transfer = &world.transfers["t1"];
        assert_eq!(
            (transfer.state, transfer.mode),
            (State::Committed, Some(kept))
        );
        assert_eq!(transfer.history.len(), states);
        assert_eq!(transfer.fulfilment.as_deref(), Some(FULFILMENT));
        assert_eq!(world.legs("t1"), (1, 1, 0));
        assert!(world.reminders.is_empty());
    }
}

#[test]
fn the_payees_own_time_of_completion_is_kept() {
    let mut world = prepared();
    let mut event = commitment("t1", FulfilMode::Committed);
    event.completed_timestamp = Some(77);
    fulfil(&mut world, event);
    let Publication::CommittedFulfiled(event) = world.only() else {
        panic!("not committed");
    };
    assert_eq!(event.completed_timestamp, 77);
    assert_eq!(world.transfers["t1"].completed_timestamp, Some(77));
}

#[test]
fn a_commitment_that_is_not_the_payees_changes_nothing() {
    let mut world = prepared();
    let before = world.transfers.clone();
    for sender in [PAYER, "otherfsp"] {
        let mut event = commitment("t1", FulfilMode::Committed);
        event.requester_fsp = sender.to_owned();
        fulfil(&mut world, event);
        assert_eq!(refused(&mut world), (sender.to_owned(), "3100".to_owned()));
    }
    fulfil(&mut world, commitment("t2", FulfilMode::Committed));
    assert_eq!(refused(&mut world), (PAYEE.to_owned(), "3208".to_owned()));
    assert_eq!(world.transfers, before);
    assert_eq!(world.legs("t1"), (1, 0, 0));
}

#[test]
fn misaddressed_commitment_ends_the_transfer_and_tells_both() {
    for destination in ["otherfsp", PAYEE] {
        let mut world = prepared();
        let mut event = commitment("t1", FulfilMode::Reserved);
        event.destination_fsp = Some(destination.to_owned());
        fulfil(&mut world, event);
        let Publication::RejectRequestProcessed(rejected) = world.only() else {
            panic!("not rejected");
        };
        assert_eq!(rejected.error.code, "3100");
        assert_eq!(
            rejected.rejection,
            Rejection::FulfilmentRefused(FulfilMode::Reserved)
        );
        assert_eq!(world.state("t1"), Some(State::Rejected));
        assert_eq!(world.legs("t1"), (1, 0, 1));
    }
    // A missing destination means the payer FSP.
    let mut world = prepared();
    let mut event = commitment("t1", FulfilMode::Committed);
    event.destination_fsp = None;
    fulfil(&mut world, event);
    assert_eq!(world.state("t1"), Some(State::Committed));
}

#[test]
fn misaddressed_refusal_still_ends_the_transfer() {
    let mut world = prepared();
    let mut event = refusal("t1");
    event.destination_fsp = Some("otherfsp".to_owned());
    reject(&mut world, event);
    let Publication::RejectRequestProcessed(rejected) = world.only() else {
        panic!("not rejected");
    };
    assert_eq!(rejected.rejection, Rejection::DeclinedByPayee);
    assert_eq!(rejected.error, payee_error());
    assert_eq!(world.legs("t1"), (1, 0, 1));
}

#[test]
fn a_strangers_commitment_ends_nothing_whatever_it_names() {
    let mut world = prepared();
    let before = world.transfers.clone();
    for destination in [None, Some(PAYER), Some("otherfsp")] {
        let mut event = commitment("t1", FulfilMode::Committed);
        event.requester_fsp = "otherfsp".to_owned();
        event.destination_fsp = destination.map(str::to_owned);
        event.fulfilment = None;
        fulfil(&mut world, event);
        assert_eq!(
            refused(&mut world),
            ("otherfsp".to_owned(), "3100".to_owned())
        );
        let mut event = refusal("t1");
        event.requester_fsp = "otherfsp".to_owned();
        event.destination_fsp = destination.map(str::to_owned);
        reject(&mut world, event);
        assert_eq!(
            refused(&mut world),
            ("otherfsp".to_owned(), "3100".to_owned())
        );
    }
    assert_eq!(world.transfers, before);
}

#[test]
fn wrong_fulfilment_ends_the_transfer_and_releases_funds() {
    for fulfilment in [None, Some("A".repeat(43)), Some("short".to_owned())] {
        let mut world = prepared();
        let mut event = commitment("t1", FulfilMode::Reserved);
        event.fulfilment = fulfilment;
        fulfil(&mut world, event.clone());
        let Publication::RejectRequestProcessed(rejected) = world.only() else {
            panic!("not rejected");
        };
        assert_eq!(rejected.error.code, "3100");
        assert_eq!(
            rejected.rejection,
            Rejection::FulfilmentRefused(FulfilMode::Reserved)
        );
        assert_eq!(world.state("t1"), Some(State::Rejected));
        assert_eq!(world.legs("t1"), (1, 0, 1));
        assert!(world.reminders.is_empty());

        fulfil(&mut world, event);
        let again = response(&mut world);
        assert_eq!(again.answer, Answer::Patch);
        // In reserved mode the payee FSP waits for a PATCH: the same that it was sent first.
        let TransferQueryResult::Found(status) = again.outcome else {
            panic!("not found");
        };
        assert_eq!(status.state, TransferState::Aborted);
        assert_eq!(
            status.cause.map(|cause| cause.code).as_deref(),
            Some("3100")
        );
        assert_eq!(status.completed_timestamp, rejected.completed_timestamp);
        fulfil(&mut world, commitment("t1", FulfilMode::Committed));
        assert_eq!(refused(&mut world).1, "3106");
        assert_eq!(world.legs("t1"), (1, 0, 1));
    }
}

#[test]
fn a_rule_can_refuse_a_fulfilment() {
    let mut world = prepared();
    world.rules_refuse = Some(vec![Violation {
        code: "5105".to_owned(),
        message: "late report".to_owned(),
    }]);
    fulfil(&mut world, commitment("t1", FulfilMode::Committed));
    let Publication::RejectRequestProcessed(rejected) = world.only() else {
        panic!("not rejected");
    };
    assert_eq!(rejected.error.code, "5105");
    assert_eq!(world.legs("t1"), (1, 0, 1));
}

#[test]
fn a_commitment_at_the_expiration_is_too_late() {
    let mut world = prepared();
    world.now = EXPIRATION;
    fulfil(&mut world, commitment("t1", FulfilMode::Reserved));
    let Publication::FulfilComitRequestTimedout(event) = world.only() else {
        panic!("not timed out");
    };
    assert_eq!(event.error.code, "3303");
    assert_eq!(event.destinations, [Role::Payer, Role::Payee]);
    assert_eq!(event.late_mode, Some(FulfilMode::Reserved));
    assert_eq!(world.legs("t1"), (1, 0, 1));
    reminder_elapsed(&mut world, &reminder("t1"));
    assert!(world.published.is_empty());

    let mut world = prepared();
    world.now = EXPIRATION - 1;
    fulfil(&mut world, commitment("t1", FulfilMode::Committed));
    assert_eq!(world.state("t1"), Some(State::Committed));
}

#[test]
fn commitment_that_arrived_in_time_commits_when_handled_late() {
    for (arrived_at, handled_at, state) in [
        (EXPIRATION - 1, EXPIRATION + 60_000, State::Committed),
        (EXPIRATION, EXPIRATION + 1, State::Rejected),
        // The clock was set back in between: it has arrived by now.
        (EXPIRATION + 5, EXPIRATION - 1, State::Committed),
    ] {
        let mut world = prepared();
        world.now = handled_at;
        let mut event = commitment("t1", FulfilMode::Committed);
        event.arrived_at = Some(arrived_at);
        fulfil(&mut world, event);
        assert_eq!(world.state("t1"), Some(state), "{arrived_at} {handled_at}");
        assert!(world.reminders.is_empty());
    }
    // Without an arrival time, the time of handling counts.
    let mut world = prepared();
    world.now = EXPIRATION;
    fulfil(&mut world, commitment("t1", FulfilMode::Committed));
    assert_eq!(world.state("t1"), Some(State::Rejected));
}

#[test]
fn reminder_ends_a_waiting_transfer_and_tells_both() {
    let mut world = prepared();
    world.now = EXPIRATION;
    world.reminders.clear();
    reminder_elapsed(&mut world, &reminder("t1"));
    let Publication::FulfilComitRequestTimedout(event) = world.only() else {
        panic!("not timed out");
    };
    assert_eq!(event.destinations, [Role::Payer, Role::Payee]);
    assert_eq!(event.late_mode, None);
    assert_eq!(
        world.transfers["t1"].rejection,
        Some(RejectionKind::TimedOut)
    );
    assert_eq!(world.legs("t1"), (1, 0, 1));

    for _ in 0..2 {
        fulfil(&mut world, commitment("t1", FulfilMode::Reserved));
        let Publication::FulfilComitRequestTimedout(event) = world.only() else {
            panic!("the late payee is not told");
        };
        assert_eq!(event.destinations, [Role::Payee]);
        assert_eq!(event.late_mode, Some(FulfilMode::Reserved));
    }
    reject(&mut world, refusal("t1"));
    let Publication::FulfilComitRequestTimedout(event) = world.only() else {
        panic!("the late payee is not told");
    };
    assert_eq!(
        (event.destinations, event.late_mode),
        (vec![Role::Payee], None)
    );
    reminder_elapsed(&mut world, &reminder("t1"));
    assert!(world.published.is_empty());
    assert_eq!(world.legs("t1"), (1, 0, 1));
}

#[test]
fn timeout_is_told_in_the_requested_version_with_cause() {
    let mut world = prepared();
    world.now = EXPIRATION + 3;
    reminder_elapsed(&mut world, &reminder("t1"));
    let Publication::FulfilComitRequestTimedout(event) = world.only() else {
        panic!("not timed out");
    };
    assert_eq!(event.payer_version.as_deref(), Some("1.0"));
    assert_eq!(event.payee_version, None, "it has not said anything");
    assert_eq!(event.completed_timestamp, Some(EXPIRATION + 3));
    world.now = EXPIRATION + 500;
    let mut late = commitment("t1", FulfilMode::Reserved);
    late.answer_version = Some("1.2".to_owned());
    fulfil(&mut world, late);
    let Publication::FulfilComitRequestTimedout(event) = world.only() else {
        panic!("the late payee is not told");
    };
    assert_eq!(event.payee_version.as_deref(), Some("1.2"));
    assert_eq!(event.completed_timestamp, Some(EXPIRATION + 3));
    query(&mut world, question("t1", PAYER));
    let TransferQueryResult::Found(status) = response(&mut world).outcome else {
        panic!("not found");
    };
    assert_eq!(status.completed_timestamp, Some(EXPIRATION + 3));
    assert_eq!(
        status.cause.map(|cause| cause.code).as_deref(),
        Some("3303")
    );
}

#[test]
fn an_early_reminder_is_set_again() {
    let mut world = prepared();
    world.reminders.clear();
    world.now = EXPIRATION - 1;
    reminder_elapsed(&mut world, &reminder("t1"));
    assert_eq!(world.state("t1"), Some(State::Prepared));
    assert_eq!(world.reminders.get("t1"), Some(&EXPIRATION));
    assert!(world.published.is_empty());
}

#[test]
fn timeout_after_commit_is_rejected_and_noted_once() {
    let mut world = prepared();
    fulfil(&mut world, commitment("t1", FulfilMode::Committed));
    world.published.clear();
    for now in [EXPIRATION, EXPIRATION + 1] {
        world.now = now;
        reminder_elapsed(&mut world, &reminder("t1"));
    }
    let transfer = &world.transfers["t1"];
    assert_eq!(transfer.state, State::Committed);
    assert_eq!(transfer.post_commit_timeout, Some(EXPIRATION));
    assert_eq!(world.log[0], "transfer t1: post-commit timeout rejected");
    let expected = crate::audited::post_commit_timeout("t1");
    assert_eq!(world.audited, [expected]);
    assert!(world.published.is_empty());
    assert_eq!(world.legs("t1"), (1, 1, 0));
}

#[test]
fn a_reminder_of_an_unknown_transfer_is_ignored() {
    let mut world = Fake::default();
    reminder_elapsed(&mut world, &reminder("t9"));
    assert_eq!(world.log, ["a reminder of unknown transfer t9 is ignored"]);
}

#[test]
fn repeated_commitment_is_answered_by_its_mode() {
    for (mode, answer) in [
        (FulfilMode::Committed, Answer::Put),
        (FulfilMode::Reserved, Answer::Patch),
    ] {
        let mut world = prepared();
        fulfil(&mut world, commitment("t1", mode));
        world.published.clear();
        fulfil(&mut world, commitment("t1", mode));
        let again = response(&mut world);
        assert_eq!((&*again.requester_fsp, again.answer), (PAYEE, answer));
        assert!(
            matches!(again.outcome, TransferQueryResult::Found(status) if status.state == TransferState::Committed)
        );
        let mut other = commitment("t1", mode);
        other.request_hash = "other".to_owned();
        fulfil(&mut world, other);
        assert_eq!(refused(&mut world).1, "3106");
        assert_eq!(world.legs("t1"), (1, 1, 0));
    }
}

#[test]
fn only_the_payee_fsp_is_told_which_commitment_was_taken() {
    let mut world = prepared();
    assert_eq!(taken(&mut world, "t1", PAYEE), None, "none yet");
    let event = commitment("t1", FulfilMode::Committed);
    let hash = event.request_hash.clone();
    fulfil(&mut world, event);
    assert_eq!(taken(&mut world, "t1", PAYEE), Some(hash));
    assert_eq!(taken(&mut world, "t1", PAYER), None);
    assert_eq!(taken(&mut world, "t2", PAYEE), None);
}

#[test]
fn a_refusal_releases_the_funds_and_is_forwarded() {
    let mut world = prepared();
    reject(&mut world, refusal("t1"));
    let Publication::RejectRequestProcessed(event) = world.only() else {
        panic!("not rejected");
    };
    assert_eq!(event.rejection, Rejection::DeclinedByPayee);
    assert_eq!(event.error, payee_error());
    assert_eq!(world.state("t1"), Some(State::Rejected));
    assert_eq!(world.legs("t1"), (1, 0, 1));
    assert!(world.reminders.is_empty());

    reject(&mut world, refusal("t1"));
    assert!(world.published.is_empty(), "a repeat is owed no answer");
    let mut other = refusal("t1");
    other.error.code = "5105".to_owned();
    reject(&mut world, other);
    assert_eq!(refused(&mut world).1, "3106");
    fulfil(&mut world, commitment("t1", FulfilMode::Committed));
    assert_eq!(refused(&mut world).1, "3100");
}

#[test]
fn a_refusal_that_does_not_fit_changes_nothing() {
    let mut world = prepared();
    let mut event = refusal("t1");
    event.requester_fsp = PAYER.to_owned();
    reject(&mut world, event);
    assert_eq!(refused(&mut world), (PAYER.to_owned(), "3100".to_owned()));
    reject(&mut world, refusal("t2"));
    assert_eq!(refused(&mut world).1, "3208");
    assert_eq!(world.state("t1"), Some(State::Prepared));
    fulfil(&mut world, commitment("t1", FulfilMode::Committed));
    world.published.clear();
    reject(&mut world, refusal("t1"));
    assert_eq!(refused(&mut world).1, "3100");
    assert_eq!(world.state("t1"), Some(State::Committed));
}

#[test]
fn only_both_fsps_of_a_transfer_are_told() {
    let mut world = prepared();
    for (requester, id) in [("otherfsp", "t1"), (PAYER, "t9")] {
        query(&mut world, question(id, requester));
        for _ in 0..2 {
            assert!(
                world.published.is_empty(),
                "what it asks for may be on its way"
            );
            world.remind_of_questions();
        }
        assert_eq!(
            refused(&mut world),
            (requester.to_owned(), "3208".to_owned())
        );
        assert!(world.questions.is_empty());
    }
    for requester in [PAYER, PAYEE] {
        query(&mut world, question("t1", requester));
        let TransferQueryResult::Found(status) = response(&mut world).outcome else {
            panic!("not found");
        };
        assert_eq!(status.state, TransferState::Reserved);
        assert_eq!(
            (status.fulfilment, status.completed_timestamp),
            (None, None)
        );
    }
    fulfil(&mut world, commitment("t1", FulfilMode::Committed));
    world.published.clear();
    query(&mut world, question("t1", PAYER));
    let TransferQueryResult::Found(status) = response(&mut world).outcome else {
        panic!("not found");
    };
    assert_eq!(status.state, TransferState::Committed);
    assert_eq!(status.fulfilment.as_deref(), Some(FULFILMENT));
    assert_eq!(status.completed_timestamp, Some(5));
}

#[test]
fn query_that_overtakes_its_request_waits_for_it() {
    for reminders in [1, 2] {
        let mut world = Fake {
            now: 5,
            ..Fake::default()
        };
        query(&mut world, question("t1", PAYER));
        query(&mut world, question("t1", PAYEE));
        let names: Vec<&String> = world.questions.iter().map(|event| &event.id).collect();
        assert!(names.iter().all(|name| name.ends_with("/t1")), "{names:?}");
        for _ in 1..reminders {
            world.remind_of_questions();
        }
        assert!(world.published.is_empty());
        prepare(&mut world, request("t1"));
        world.published.clear();
        world.remind_of_questions();
        let mut told: Vec<String> = Vec::new();
        for publication in world.published.drain(..) {
            let Publication::QueryResponse(event) = publication else {
                panic!("no answer: {publication:?}");
            };
            assert!(matches!(
                event.outcome,
                TransferQueryResult::Found(status) if status.state == TransferState::Reserved
            ));
            assert_eq!(event.answer_version.as_deref(), Some("1.1"));
            told.push(event.requester_fsp);
        }
        assert_eq!(told, [PAYER, PAYEE]);
        assert!(world.questions.is_empty());
    }
}

#[test]
fn reports_are_kept_beside_the_state() {
    let mut world = prepared();
    let about = |subject: &str, destination: &str| CallbackReport {
        subject: subject.to_owned(),
        destination: destination.to_owned(),
        method: "POST".to_owned(),
        path: "/transfers".to_owned(),
        delivered: false,
        status: 0,
        attempts: 5,
        reason: Some("unreachable".to_owned()),
        reported_at: 9,
        not_sent: None,
    };
    report(&mut world, "transfer-prepare", about("t1", PAYEE));
    report(
        &mut world,
        "transfer-query-response",
        about("t1", "otherfsp"),
    );
    report(&mut world, "transfer-prepare", about("t9", PAYEE));
    let transfer = &world.transfers["t1"];
    assert_eq!(transfer.state, State::Prepared);
    assert_eq!(transfer.deliveries.len(), 1);
    assert_eq!(transfer.deliveries[0].kind, "transfer-prepare");
    assert!(!world.transfers.contains_key("t9"));
    let at_once = || CallbackReport {
        delivered: true,
        attempts: 1,
        ..about("t1", PAYEE)
    };
    report(&mut world, "transfer-prepare", at_once());
    let deliveries = |world: &Fake| world.transfers["t1"].deliveries.len();
    assert_eq!(deliveries(&world), 1, "the history has it");
    world.settings.deliveries_kept = Kept::All;
    report(&mut world, "transfer-prepare", at_once());
    assert_eq!(deliveries(&world), 2);
    assert_eq!(world.legs("t1"), (1, 0, 0));
}

#[test]
fn a_transfer_whose_request_surely_never_left_ends_at_once() {
    for (why, code) in [(NotSent::NoAddress, "3201"), (NotSent::NotAllowed, "1001")] {
        let never_left = |destination: &str| CallbackReport {
            subject: "t1".to_owned(),
            destination: destination.to_owned(),
            method: "POST".to_owned(),
            path: "/transfers".to_owned(),
            delivered: false,
            status: 0,
            attempts: 0,
            reason: Some("not sent".to_owned()),
            reported_at: 9,
            not_sent: Some(why),
        };
        let mut world = prepared();
        world.now = 9;
        // An undelivered message to the payer FSP, or an undelivered answer, ends nothing.
        report(&mut world, "transfer-prepare", never_left(PAYER));
        report(&mut world, "transfer-query-response", never_left(PAYEE));
        assert_eq!(world.state("t1"), Some(State::Prepared));
        report(&mut world, "transfer-prepare", never_left(PAYEE));
        let Publication::RejectRequestProcessed(rejected) = world.only() else {
            panic!("not rejected");
        };
        assert_eq!(rejected.rejection, Rejection::NeverSent);
        assert_eq!(rejected.error.code, code);
        assert_eq!(rejected.completed_timestamp, Some(9));
        assert_eq!(rejected.payer_version.as_deref(), Some("1.0"));
        let transfer = &world.transfers["t1"];
        assert_eq!(transfer.state, State::Rejected);
        assert_eq!(transfer.rejection, Some(RejectionKind::NeverSent));
        assert!(transfer.deliveries.iter().all(|one| one.never_sent));
        assert_eq!(world.legs("t1"), (1, 0, 1));
        assert!(world.reminders.is_empty());
        // Once is enough.
        report(&mut world, "transfer-prepare", never_left(PAYEE));
        assert!(world.published.is_empty());
        // One that is committed stays so.
        let mut world = prepared();
        fulfil(&mut world, commitment("t1", FulfilMode::Committed));
        world.published.clear();
        report(&mut world, "transfer-prepare", never_left(PAYEE));
        assert_eq!(world.state("t1"), Some(State::Committed));
        assert!(world.published.is_empty());
    }
}

#[test]
fn each_outcome_has_an_entry_of_the_audit_log_and_a_query_has_none() {
    let actions = |ends: &dyn Fn(&mut Fake)| {
        let mut world = Fake {
            now: 5,
            ..Fake::default()
        };
        prepare(&mut world, request("t1"));
        ends(&mut world);
        query(&mut world, question("t1", PAYER));
        let published = world.published.iter();
        let entries = published.filter_map(audited::of);
        let entries = entries.inspect(|entry| assert_eq!(entry.about, "transfer:t1"));
        entries.map(|entry| entry.action).collect::<Vec<_>>()
    };
    for (ends, action) in [
        (
            &(|world: &mut Fake| fulfil(world, commitment("t1", FulfilMode::Committed)))
                as &dyn Fn(&mut Fake),
            "transfer.committed",
        ),
        (&|world| reject(world, refusal("t1")), "transfer.rejected"),
        (
            &|world| {
                world.now = EXPIRATION;
                reminder_elapsed(world, &reminder("t1"));
            },
            "transfer.timed-out",
        ),
    ] {
        assert_eq!(actions(ends), ["transfer.prepared", action]);
    }
}

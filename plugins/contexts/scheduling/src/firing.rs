//! What happens when a stored reminder comes due, and when its callback has ended.
//!
//! A recurring reminder has one run at a time: its next time is found when a run has ended. Times that were missed, because
//! the host was away or a callback took long, are made up for by one run.

use rialto_sdk::bindings::rialto::host::http::{
    DeliveryPolicy, DeliveryReport, OutboundRequest, Outcome as Ended, WhileAway,
};
use serde::Serialize;

use crate::bindings::rialto::scheduling::schedule_reminder_elapsed::Event as Elapsed;
use crate::bindings::rialto::scheduling::schedule_reminder_failed::Event as Failed;
use crate::cron::Cron;
use crate::names::stored;
use crate::reminders::{
    Delivery, Otherwise, Outcome, REMINDERS, Recovery, Reminder, Run, State, Transport, forget,
};
use crate::world::World;

/// The longest reason that is kept, in bytes.
const REASON_BYTES_MAX: usize = 512;
/// The first pause after a failed attempt, in milliseconds, if the longest is not shorter.
const BACKOFF_INITIAL_MS: u32 = 1_000;

/// The body of a callback.
#[derive(Serialize)]
struct Callback<'a> {
    id: &'a str,
    due: u64,
    payload: &'a str,
}

/// The host's reminder of a stored one has come due.
pub fn due(world: &mut impl World, key: &str) {
    world.subject(key);
    let Some(mut reminder) = REMINDERS.within(world).get_for_update(key) else {
        return;
    };
    match (reminder.state, reminder.transport) {
        (State::Elapsed | State::GivenUp, _) => forget(world, &reminder),
        // Its report says how to go on.
        (State::Delivering, _) => {}
        (State::Waiting, Transport::Event) => {
            reminder.runs += 1;
            world.elapsed(&Elapsed {
                id: reminder.id.clone(),
                client: reminder.client.clone(),
                due: reminder.due,
                payload: reminder.payload.clone(),
            });
            let run = Run {
                due: reminder.due,
                at: world.now(),
                outcome: Outcome::Published,
                attempts: None,
                reason: None,
            };
            ended(world, reminder, run);
        }
        (State::Waiting, Transport::HttpPost) => {
            reminder.runs += 1;
            let request = callback_request(world, &reminder);
            reminder.delivery = Some(Delivery {
                due: reminder.due,
                request: world.send(&request),
            });
            reminder.state = State::Delivering;
            REMINDERS.within(world).put(key, &reminder);
        }
    }
}

fn callback_request(world: &mut impl World, reminder: &Reminder) -> OutboundRequest {
    let timeout = world.settings().callback_timeout_ms;
    let recovery = reminder.recovery.clone().unwrap_or_default();
    let Recovery {
        attempts, pause_ms, ..
    } = recovery;
    let lasting = u64::from(attempts) * (timeout + u64::from(pause_ms));
    let callback = Callback {
        id: &reminder.id,
        due: reminder.due,
        payload: &reminder.payload,
    };
    let header = |name: &str, value: String| (name.to_owned(), value);
    OutboundRequest {
        method: "POST".to_owned(),
        url: reminder.url.clone().unwrap_or_default(),
        headers: vec![
            header("content-type", "application/json".to_owned()),
            header(
                "idempotency-key",
                format!("{}/{}", reminder.id, reminder.due),
            ),
        ],
        body: serde_json::to_string(&callback).ok(),
        policy: DeliveryPolicy {
            attempts_max: attempts,
            attempt_timeout_ms: u32::try_from(timeout).unwrap_or(u32::MAX),
            deadline: world.now().saturating_add(lasting),
            backoff_initial_ms: pause_ms.min(BACKOFF_INITIAL_MS),
            backoff_max_ms: pause_ms,
            while_away: WhileAway::Wait,
        },
        correlation: reminder.key(),
    }
}

/// A callback has ended.
pub fn reported(world: &mut impl World, report: DeliveryReport) {
    let key = report.correlation;
    world.subject(&key);
    let found = REMINDERS.within(world).get_for_update(&key);
    let found = found.and_then(|mut reminder| {
        let delivery = reminder.delivery.take_if(|d| d.request == report.id)?;
        Some((reminder, delivery))
    });
    // Without it, the reminder was deleted meanwhile.
    let Some((reminder, delivery)) = found else {
        return;
    };
    let (outcome, reason) = match report.outcome {
        Ended::Delivered(_) => (Outcome::Delivered, None),
        Ended::Failed(failure) => {
            let mut reason = failure.reason;
            reason.truncate(reason.floor_char_boundary(REASON_BYTES_MAX));
            (Outcome::Failed, Some(reason))
        }
    };
    let run = Run {
        due: delivery.due,
        at: world.now(),
        outcome,
        attempts: Some(report.attempts),
        reason,
    };
    ended(world, reminder, run);
}

/// A run has ended: the reminder waits for its next time, or has ended too.
fn ended(world: &mut impl World, mut reminder: Reminder, run: Run) {
    let now = world.now();
    let has_failed = run.outcome == Outcome::Failed;
    let recovery = reminder.recovery.clone().unwrap_or_default();
    let goes_on = !has_failed || recovery.otherwise.unwrap_or_default() == Otherwise::Reschedule;
    let cron = reminder.cron.as_deref().filter(|_| goes_on);
    // It was parsed when the reminder was created.
    let next = cron.and_then(|cron| Cron::parse(cron).ok()?.next_after(now));
    if has_failed {
        gave_up(world, &reminder, &run, next);
    }
    let key = reminder.key();
    reminder.last_run = Some(run);
    let wakes_at = if let Some(next) = next {
        reminder.state = State::Waiting;
        reminder.due = next;
        next
    } else {
        reminder.state = if has_failed {
            State::GivenUp
        } else {
            State::Elapsed
        };
        now.saturating_add(world.settings().keeps())
    };
    REMINDERS.within(world).put(&key, &reminder);
    world.set_reminder(&stored(&key), wakes_at, "");
}

fn gave_up(world: &mut impl World, reminder: &Reminder, run: &Run, next: Option<u64>) {
    let key = reminder.key();
    let attempts = run.attempts.unwrap_or_default();
    let reason = run.reason.clone().unwrap_or_default();
    world.warn(&format!(
        "the callback of the reminder {key}, due at {}, was given up after {attempts} attempts: {reason}",
        run.due
    ));
    if reminder.alert {
        world.failed(&Failed {
            id: reminder.id.clone(),
            client: reminder.client.clone(),
            due: run.due,
            attempts,
            reason,
            next,
            failed_at: run.at,
        });
    }
}

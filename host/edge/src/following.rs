//! Following what a component knows of those who send requests: regularly of all who have sent lately, and at once of what a
//! request waits for.
//!
//! A request passes only by an answer that is at most a second old. Nobody is asked while no requests come.

mod known;
mod names;
mod waiting;

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};
use tokio::time::MissedTickBehavior;

use crate::contained;
pub(crate) use known::{KnownNames, is_recent};
pub use names::Keeper;
pub(crate) use names::Names;
pub(crate) use waiting::Waiting;

#[cfg(test)]
pub(crate) use known::FOLLOWED_FOR;

/// The time between two regular questions. Two of them fit into the time for which a state may be used, also if an
/// answer takes long.
const ASK_EVERY: Duration = Duration::from_millis(400);
/// The shortest time between two questions that requests wait for.
const ASK_AT_ONCE_EVERY: Duration = Duration::from_millis(50);
/// The oldest state by which a request passes. Its turn begins a moment later, so that both together are a second
/// ([`crate::service`]).
const STATE_AGE_MAX: Duration = Duration::from_millis(900);
/// Names in one question, the limit of the contracts.
pub(crate) const NAMES_AT_ONCE: usize = 100;
/// The time between two log lines about failures.
const LOG_EVERY: Duration = Duration::from_secs(10);
/// Questions under way. More would not be answered sooner.
const QUESTIONS_MAX: usize = 64;

/// Why a component could not be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AskError(pub String);

/// What is followed, and whom to ask.
pub(crate) trait Followed: Send + Sync + 'static {
    /// One question.
    type Question: Send + 'static;

    /// The beginning of a log line about a failure.
    fn trouble(&self) -> &'static str;

    /// Those who wait for answers.
    fn waiting(&self) -> &Waiting;

    /// What must be asked regularly: nothing while nobody sends.
    fn regular(&self, now: Instant) -> Vec<Self::Question>;

    /// What requests wait for.
    fn wanted(&self, now: Instant) -> Vec<Self::Question>;

    /// Ask, and keep the answer.
    fn ask(&self, question: Self::Question) -> impl Future<Output = Result<(), AskError>> + Send;
}

/// Ask until told to stop.
pub(crate) async fn follow(followed: Arc<impl Followed>, mut stop: watch::Receiver<bool>) {
    let under_way = Arc::new(Semaphore::new(QUESTIONS_MAX));
    let logged: Arc<Mutex<Option<Instant>>> = Arc::default();
    let mut regular = tokio::time::interval(ASK_EVERY);
    regular.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let questions = tokio::select! {
            _ = regular.tick() => followed.regular(Instant::now()),
            () = followed.waiting().wanted() => followed.wanted(Instant::now()),
            _ = stop.wait_for(|stop| *stop) => return,
        };
        let wait = tokio::time::sleep(ASK_AT_ONCE_EVERY);
        for question in questions {
            spawn(followed.clone(), question, &under_way, &logged);
        }
        tokio::select! {
            () = wait => {}
            _ = stop.wait_for(|stop| *stop) => return,
        }
    }
}

/// Ask, without waiting for the answer.
fn spawn<F: Followed>(
    followed: Arc<F>,
    question: F::Question,
    under_way: &Arc<Semaphore>,
    logged: &Arc<Mutex<Option<Instant>>>,
) {
    let Ok(permit) = under_way.clone().try_acquire_owned() else {
        return;
    };
    let logged = logged.clone();
    contained::spawn("a question about those who send requests", async move {
        let outcome = followed.ask(question).await;
        drop(permit);
        if let Err(error) = outcome {
            log(followed.trouble(), &mut logged.lock(), &error);
        }
        // Those who wait look again, and ask again after a failure.
        followed.waiting().answered();
    });
}

/// Log a failure, unless one was logged a short time ago.
fn log(trouble: &str, logged: &mut Option<Instant>, error: &AskError) {
    if logged.is_some_and(|at| at.elapsed() < LOG_EVERY) {
        return;
    }
    *logged = Some(Instant::now());
    tracing::error!("{trouble}; requests are refused until it can: {error}");
}

/// Whether an answer to a question of that time is new enough to let requests pass.
pub(crate) fn is_fresh(asked: Option<Instant>, now: Instant) -> bool {
    asked.is_some_and(|asked| now.saturating_duration_since(asked) <= STATE_AGE_MAX)
}

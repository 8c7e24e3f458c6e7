//! Requests that wait for answers.

use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};

/// How long a request waits for answers of a component.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// How long it waits for one answer before it asks again.
const ASK_AGAIN: Duration = Duration::from_millis(300);

/// Those who wait, and the one who asks for them.
#[derive(Default)]
pub(crate) struct Waiting {
    /// Wakes the one who asks.
    wanted: Notify,
    /// Counts answers, for those who wait for one.
    answers: watch::Sender<u64>,
}

impl Waiting {
    /// The outcome of `look`, as soon as it has one. Until then it says what it needs, and `want` notes that. None when
    /// there is no answer in time.
    pub async fn until<T, N: PartialEq + Clone>(
        &self,
        mut look: impl FnMut() -> Result<T, N>,
        want: impl Fn(N),
    ) -> Option<T> {
        let began = Instant::now();
        let mut answers = None;
        let mut asked: Option<(N, Instant)> = None;
        loop {
            let need = match look() {
                Ok(outcome) => return Some(outcome),
                Err(need) => need,
            };
            // Looks again after it has begun to listen: an answer may have come in between.
            let Some(answers) = &mut answers else {
                answers = Some(self.answers.subscribe());
                continue;
            };
            let left = ANSWER_WITHIN.saturating_sub(began.elapsed());
            if left.is_zero() {
                return None;
            }
            let is_asked =
                |(before, at): &(N, Instant)| *before == need && at.elapsed() < ASK_AGAIN;
            if !asked.as_ref().is_some_and(is_asked) {
                want(need.clone());
                self.wanted.notify_one();
                asked = Some((need, Instant::now()));
            }
            let _ = tokio::time::timeout(left.min(ASK_AGAIN), answers.changed()).await;
        }
    }

    /// Wait until a request needs an answer.
    pub async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// A question was answered, or has failed.
    pub fn answered(&self) {
        self.answers.send_modify(|count| *count += 1);
    }
}

//! Access tokens of requests: verified here, by rules and states of clients that the issuing component gives.
//!
//! A request passes only by a state that is at most a second old, so tokens of a revoked client end within a second.
//!
//! 1. A follower asks for the rules and for all clients that have sent requests lately, several times a second. A
//!    request of such a client waits for nothing.
//! 2. A request of another client, or with an unknown key, makes the follower ask at once, and waits for the answer.
//! 3. A request that does not fit the known state is refused only by a state that is newer than the request. A token may
//!    have been issued since the last question.
//! 4. If there is no answer in time, the request is refused for load. It never passes by an old state.
//!
//! Nobody is asked while no tokens arrive. Only a token with a right signature makes its client known here, so the number
//! of clients cannot be driven up by others.

mod follow;
mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rialto_tokens::{Claims, Invalid, Thumbprint, Verifier};
use tokio::sync::{Notify, watch};

pub use follow::{AskError, Issuer};
use parking_lot::Mutex;
use state::{Need, State};

/// The oldest state by which a request passes. Its turn begins a moment later, so that both together are a second
/// ([`crate::service`]).
const STATE_AGE_MAX: Duration = Duration::from_millis(900);
/// How long a request waits for answers of the issuing component.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// How long it waits for one answer before it asks again.
const ASK_AGAIN: Duration = Duration::from_millis(300);

/// Why a token does not let a request pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// The token is not valid.
    Invalid(Invalid),
    /// It cannot be known now.
    Unknown,
}

impl From<Invalid> for Denied {
    fn from(invalid: Invalid) -> Self {
        Self::Invalid(invalid)
    }
}

/// The time, on both clocks.
#[derive(Clone, Copy)]
struct Now {
    /// Of states.
    at: Instant,
    /// Of tokens: UTC, seconds since 1970.
    seconds: u64,
}

impl Now {
    fn get() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            at: Instant::now(),
            seconds: since.map_or(0, |since| since.as_secs()),
        }
    }
}

/// The certificate of a token's connection.
#[derive(Clone, Copy)]
pub(crate) struct Bound<'c> {
    /// Its thumbprint; none without a certificate.
    pub certificate: Option<&'c Thumbprint>,
    /// Whether the token must name it.
    pub is_required: bool,
}

/// The tokens of a host's listeners.
#[derive(Default)]
pub struct Tokens {
    verifier: Verifier,
    state: Mutex<State>,
    /// Wakes the follower.
    wanted: Notify,
    /// Counts answers, for those who wait for one.
    answers: watch::Sender<u64>,
}

impl Tokens {
    /// What a token says, if it lets a request pass now.
    pub(crate) async fn claims(
        &self,
        token: &str,
        bound: Bound<'_>,
    ) -> Result<Arc<Claims>, Denied> {
        let began = Instant::now();
        let mut answers = None;
        let mut wanted: Option<(Need, Instant)> = None;
        loop {
            let need = match self.look(token, bound, began, Now::get()) {
                Ok(outcome) => return outcome.map_err(Denied::Invalid),
                Err(need) => need,
            };
            // Looks again after it has begun to listen: an answer may have come in between.
            let Some(answers) = &mut answers else {
                answers = Some(self.answers.subscribe());
                continue;
            };
            let left = ANSWER_WITHIN.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Err(Denied::Unknown);
            }
            let is_asked =
                |(before, at): &(Need, Instant)| *before == need && at.elapsed() < ASK_AGAIN;
            if !wanted.as_ref().is_some_and(is_asked) {
                self.state.lock().want(need.clone());
                self.wanted.notify_one();
                wanted = Some((need, Instant::now()));
            }
            let _ = tokio::time::timeout(left.min(ASK_AGAIN), answers.changed()).await;
        }
    }

    /// Judge a token by what is known, or say what must be known first.
    fn look(
        &self,
        token: &str,
        bound: Bound<'_>,
        began: Instant,
        now: Now,
    ) -> Result<Result<Arc<Claims>, Invalid>, Need> {
        let rules = self.state.lock().rules_asked();
        if !is_fresh(rules, now.at) {
            return Err(Need::Rules);
        }
        let verified = self.verifier.verify(token, now.seconds);
        let claims = match verified {
            Ok(claims) => claims,
            Err(Invalid::UnknownKey) if rules < Some(began) => return Err(Need::Rules),
            Err(invalid) => return Ok(Err(invalid)),
        };
        if let Err(invalid) = claims.check_certificate(bound.certificate, bound.is_required) {
            return Ok(Err(invalid));
        }
        let mut state = self.state.lock();
        let known = state.client(&claims.client, now.at);
        if !is_fresh(known.asked, now.at) {
            return Err(Need::Client(claims.client.clone()));
        }
        match claims.check_client(known.client.as_ref()) {
            Ok(()) => Ok(Ok(claims)),
            Err(_) if known.asked < Some(began) => Err(Need::Client(claims.client.clone())),
            Err(invalid) => Ok(Err(invalid)),
        }
    }
}

/// Whether an answer to a question of that time is new enough to let requests pass.
fn is_fresh(asked: Option<Instant>, now: Instant) -> bool {
    asked.is_some_and(|asked| now.saturating_duration_since(asked) <= STATE_AGE_MAX)
}

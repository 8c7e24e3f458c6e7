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
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use rialto_tokens::{Claims, Invalid, Thumbprint, Verifier};

pub use follow::Issuer;
use state::{Need, State};

use crate::following::{Waiting, is_fresh};

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
    waiting: Waiting,
}

impl Tokens {
    /// What a token says, if it lets a request pass now.
    pub(crate) async fn claims(
        &self,
        token: &str,
        bound: Bound<'_>,
    ) -> Result<Arc<Claims>, Denied> {
        let began = Instant::now();
        let look = || self.look(token, bound, began, Now::get());
        let outcome = self
            .waiting
            .until(look, |need| self.state.lock().want(need));
        let outcome = outcome.await.ok_or(Denied::Unknown)?;
        outcome.map_err(Denied::Invalid)
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
        let known = state.clients.of(&claims.client, now.at);
        if !is_fresh(known.asked, now.at) {
            return Err(Need::Client(claims.client.clone()));
        }
        match claims.check_client(known.value.as_ref()) {
            Ok(()) => Ok(Ok(claims)),
            Err(_) if known.asked < Some(began) => Err(Need::Client(claims.client.clone())),
            Err(invalid) => Ok(Err(invalid)),
        }
    }
}

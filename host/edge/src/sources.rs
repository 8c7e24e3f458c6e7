//! From which addresses clients may send. A component knows that; the edge judges each request of a client that has proven
//! who it is, before it reads the body, by an answer that is at most a second old.
//!
//! The address is the connection's peer. What a header says of it is not believed.

mod ranges;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rialto_components::http::ViolationKind;
use tokio::sync::watch;

use crate::authentication::{Refusal, RefusalStatus};
use crate::following::{self, AskError, Followed, KnownNames, NAMES_AT_ONCE, Waiting, is_fresh};
use crate::violation::violation;

pub use ranges::{BadRange, Range, Ranges};

/// The location of a violation of these limits. Components know refusals for an address by it.
const ADDRESS: &str = "client address";
/// The time between two log lines about refusals of one client.
const LOG_EVERY: Duration = Duration::from_secs(10);

/// The component that knows from where clients may send.
pub trait SourceKeeper: Send + Sync + 'static {
    /// Those of these clients that may send from some ranges alone, with the ranges. Others may send from everywhere.
    ///
    /// # Errors
    /// When it cannot be asked, or its answer cannot be used.
    fn ranges(
        &self,
        clients: &[Arc<str>],
    ) -> impl Future<Output = Result<HashMap<Arc<str>, Ranges>, AskError>> + Send;
}

/// The limits of all clients that have sent requests lately.
#[derive(Default)]
pub struct Sources {
    known: Mutex<KnownNames<Ranges>>,
    waiting: Waiting,
    /// When a refusal of a client was last logged.
    logged: Mutex<HashMap<Arc<str>, Instant>>,
}

/// Limits, and the component that is asked for them.
struct Asking<K> {
    sources: Arc<Sources>,
    keeper: Arc<K>,
}

impl Sources {
    /// Ask the component until told to stop.
    pub async fn follow(
        self: Arc<Self>,
        keeper: Arc<impl SourceKeeper>,
        stop: watch::Receiver<bool>,
    ) {
        let asking = Asking {
            sources: self,
            keeper,
        };
        following::follow(Arc::new(asking), stop).await;
    }

    /// Let a request of this client pass if it may send from this address.
    pub(crate) async fn admit(&self, client: &str, address: IpAddr) -> Result<(), Refusal> {
        let client: Arc<str> = client.into();
        let look = || self.look(&client, address, Instant::now());
        let want = |client| self.known.lock().want(client);
        match self.waiting.until(look, want).await {
            Some(true) => Ok(()),
            Some(false) => {
                self.log(&client, address);
                Err(elsewhere())
            }
            None => Err(unknown()),
        }
    }

    /// Whether the client may send from this address, or the name that must be asked about first.
    fn look(&self, client: &Arc<str>, address: IpAddr, now: Instant) -> Result<bool, Arc<str>> {
        let mut known = self.known.lock();
        let known = known.of(client, now);
        if !is_fresh(known.asked, now) {
            return Err(client.clone());
        }
        let ranges = known.value.as_ref();
        Ok(ranges.is_none_or(|ranges| ranges.contain(address)))
    }

    /// Log a refusal, unless one of the same client was logged a short time ago.
    fn log(&self, client: &Arc<str>, address: IpAddr) {
        let mut logged = self.logged.lock();
        logged.retain(|_, at| at.elapsed() < LOG_EVERY);
        if logged.contains_key(client) {
            return;
        }
        logged.insert(client.clone(), Instant::now());
        let address = address.to_canonical();
        tracing::warn!(
            %client,
            %address,
            "a request was refused: the client has proven who it is, and may not send from this address; further refusals of this client are not logged for ten seconds"
        );
    }
}

impl<K: SourceKeeper> Followed for Asking<K> {
    type Question = Vec<Arc<str>>;

    const TROUBLE: &'static str =
        "addresses: the component that knows from where clients may send cannot be asked";

    fn waiting(&self) -> &Waiting {
        &self.sources.waiting
    }

    fn regular(&self, now: Instant) -> Vec<Vec<Arc<str>>> {
        split(&self.sources.known.lock().followed(now))
    }

    fn wanted(&self, now: Instant) -> Vec<Vec<Arc<str>>> {
        split(&self.sources.known.lock().wanted(now))
    }

    async fn ask(&self, clients: Vec<Arc<str>>) -> Result<(), AskError> {
        let asked = Instant::now();
        let found = self.keeper.ranges(&clients).await?;
        self.sources.known.lock().answered(asked, &clients, found);
        Ok(())
    }
}

/// Questions of which none has too many names.
fn split(names: &[Arc<str>]) -> Vec<Vec<Arc<str>>> {
    names.chunks(NAMES_AT_ONCE).map(<[_]>::to_vec).collect()
}

/// The refusal of a request from a wrong address. It names no range: whoever has stolen a credential must not learn from
/// where it is of use.
fn elsewhere() -> Refusal {
    let detail = "requests of this client are not accepted from its address".to_owned();
    Refusal {
        violation: violation(ViolationKind::Malformed, ADDRESS, detail),
        status: RefusalStatus::ForbiddenAddress,
    }
}

/// The refusal while it cannot be known from where a client may send.
fn unknown() -> Refusal {
    let detail = "the host cannot tell now from where this client may send; try again".to_owned();
    violation(ViolationKind::Overloaded, "", detail).into()
}

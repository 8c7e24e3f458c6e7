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
use crate::following::{Keeper, Names};
use crate::violation::violation;

pub use ranges::{BadRange, Range, Ranges};

/// The location of a violation of these limits. Components know refusals for an address by it.
const ADDRESS: &str = "client address";
/// The beginning of a log line when the component cannot be asked.
const TROUBLE: &str =
    "addresses: the component that knows from where clients may send cannot be asked";
/// The time between two log lines about refusals of one client.
const LOG_EVERY: Duration = Duration::from_secs(10);

/// The limits of all clients that have sent requests lately.
#[derive(Default)]
pub struct Sources {
    limits: Arc<Names<Ranges>>,
    /// When a refusal of a client was last logged.
    logged: Mutex<HashMap<Arc<str>, Instant>>,
}

impl Sources {
    /// Ask the component until told to stop.
    pub async fn follow(&self, keeper: Arc<impl Keeper<Ranges>>, stop: watch::Receiver<bool>) {
        self.limits.clone().follow(keeper, TROUBLE, stop).await;
    }

    /// Let a request of this client pass if it may send from this address.
    pub(crate) async fn admit(&self, client: &str, address: IpAddr) -> Result<(), Refusal> {
        let client: Arc<str> = client.into();
        let may = |ranges: Option<&Ranges>| ranges.is_none_or(|ranges| ranges.contain(address));
        match self.limits.of(&client, may).await {
            Some(true) => Ok(()),
            Some(false) => {
                self.log(&client, address);
                Err(elsewhere())
            }
            None => Err(unknown()),
        }
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

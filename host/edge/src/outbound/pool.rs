//! The open connections to destinations. When files of TLS change, new requests get new connections: the old ones were made
//! with authorities that may no longer be trusted. Requests that are under way end on theirs.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioTimer;
use parking_lot::Mutex;

use super::connector::Connector;
use crate::contained;

/// How long an idle connection is kept.
const IDLE: Duration = Duration::from_secs(60);

/// A client with its connections.
pub(super) type Connected = Client<Connector, Full<Bytes>>;

/// See the module's documentation.
pub(super) struct Pool {
    connector: Connector,
    /// Idle connections that are kept for each destination.
    idle_max: usize,
    /// The client, and the generation of the files by which it connects.
    current: Mutex<(u64, Arc<Connected>)>,
}

impl Pool {
    /// A pool that connects by `connector`.
    pub fn new(connector: Connector, idle_max: usize) -> Self {
        // Before the client is made: it may connect by newer files, never by older ones.
        let generation = connector.generation();
        let client = connected(connector.clone(), idle_max);
        Self {
            connector,
            idle_max,
            current: Mutex::new((generation, client)),
        }
    }

    /// The client for a new request. It is large, so requests share it.
    pub fn client(&self) -> Arc<Connected> {
        let mut current = self.current.lock();
        let generation = self.connector.generation();
        if current.0 != generation {
            *current = (generation, connected(self.connector.clone(), self.idle_max));
        }
        current.1.clone()
    }
}

fn connected(connector: Connector, idle_max: usize) -> Arc<Connected> {
    let client = Client::builder(contained::Executor)
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(idle_max)
        .build(connector);
    Arc::new(client)
}

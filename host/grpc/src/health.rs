//! Whether there is somebody to call: `grpc.health.v1`. A service is healthy while all that is offered of it
//! is served; a listener that stops says so before it does.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::watch;
use tonic_health::ServingStatus;
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::{HealthReporter, HealthService};
use tower::util::BoxCloneSyncService;

use crate::calls::{Boxed, Calls};

/// The name of the whole listener.
const ALL: &str = "";
/// The longest question about health, or about what there is to be called, in bytes: each has a name or
/// two, and may be asked without a token.
pub const QUESTION_BYTES_MAX: usize = 4 << 10;

/// See the module's documentation.
pub struct Health {
    reporter: HealthReporter,
    calls: watch::Receiver<Arc<Calls>>,
}

impl Health {
    pub fn new(calls: watch::Receiver<Arc<Calls>>) -> Self {
        Self {
            reporter: HealthReporter::new(),
            calls,
        }
    }

    /// What answers clients.
    pub fn server(&self) -> Boxed {
        let service = HealthService::from_health_reporter(self.reporter.clone());
        let server = HealthServer::new(service);
        BoxCloneSyncService::new(server.max_decoding_message_size(QUESTION_BYTES_MAX))
    }

    /// Follow the releases until told to stop, then say that nothing is served any more.
    pub async fn follow(&self, mut stop: watch::Receiver<bool>) {
        let mut calls = self.calls.clone();
        let mut told = BTreeMap::new();
        loop {
            let services = calls.borrow_and_update().services();
            self.tell(&mut told, services).await;
            tokio::select! {
                changed = calls.changed() => if changed.is_err() { break },
                _ = stop.wait_for(|stop| *stop) => break,
            }
        }
        let names = told.into_keys().chain([ALL.to_owned()]);
        let mut reporter = self.reporter.clone();
        for name in names {
            let reached = ServingStatus::NotServing;
            reporter.set_service_status(&name, reached).await;
            // Who watches has that, and the end of the stream; who asks is told the same.
            reporter.clear_service_status(&name).await;
            reporter.set_service_status(&name, reached).await;
        }
    }

    async fn tell(&self, told: &mut BTreeMap<String, bool>, now: BTreeMap<String, bool>) {
        let mut reporter = self.reporter.clone();
        for name in told.keys().filter(|name| !now.contains_key(*name)) {
            reporter.clear_service_status(name).await;
        }
        for (name, whole) in &now {
            let status = if *whole {
                ServingStatus::Serving
            } else {
                ServingStatus::NotServing
            };
            reporter.set_service_status(name, status).await;
        }
        *told = now;
    }
}

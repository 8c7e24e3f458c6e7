//! The health service, `grpc.health.v1`. A service is healthy while all its offered methods are served and the host
//! is ready. A listener reports that it is unhealthy before it stops.

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
/// The longest message to the health and reflection services, in bytes. These messages have one or two names and may
/// be sent without a token.
pub const QUESTION_BYTES_MAX: usize = 4 << 10;

/// The health of a listener's services.
pub struct Health {
    reporter: HealthReporter,
    calls: watch::Receiver<Arc<Calls>>,
    /// Whether the host is ready; always true by default.
    ready: watch::Receiver<bool>,
}

impl Health {
    pub fn new(calls: watch::Receiver<Arc<Calls>>) -> Self {
        Self {
            reporter: HealthReporter::new(),
            calls,
            ready: watch::channel(true).1,
        }
    }

    /// The same, with the host's readiness.
    #[must_use]
    pub fn with_readiness(mut self, ready: watch::Receiver<bool>) -> Self {
        self.ready = ready;
        self
    }

    /// The service for clients.
    pub fn server(&self) -> Boxed {
        let service = HealthService::from_health_reporter(self.reporter.clone());
        let server = HealthServer::new(service);
        BoxCloneSyncService::new(server.max_decoding_message_size(QUESTION_BYTES_MAX))
    }

    /// Follow the releases and the host's readiness until told to stop. Then report that nothing is served.
    pub async fn follow(&self, mut stop: watch::Receiver<bool>) {
        let (mut calls, mut ready) = (self.calls.clone(), self.ready.clone());
        let mut told = BTreeMap::new();
        let mut is_followed = true;
        loop {
            let is_ready = *ready.borrow_and_update();
            let mut services = calls.borrow_and_update().services();
            services.values_mut().for_each(|whole| *whole &= is_ready);
            services.insert(ALL.to_owned(), is_ready);
            self.tell(&mut told, services).await;
            tokio::select! {
                changed = calls.changed() => if changed.is_err() { break },
                changed = ready.changed(), if is_followed => is_followed = changed.is_ok(),
                _ = stop.wait_for(|stop| *stop) => break,
            }
        }
        let names = told.into_keys().chain([ALL.to_owned()]);
        let mut reporter = self.reporter.clone();
        for name in names {
            let reached = ServingStatus::NotServing;
            reporter.set_service_status(&name, reached).await;
            // A watcher gets this and the end of its stream. A later query gets the same.
            reporter.clear_service_status(&name).await;
            reporter.set_service_status(&name, reached).await;
        }
    }

    /// Report only changes to the watchers.
    async fn tell(&self, told: &mut BTreeMap<String, bool>, now: BTreeMap<String, bool>) {
        let mut reporter = self.reporter.clone();
        for name in told.keys().filter(|name| !now.contains_key(*name)) {
            reporter.clear_service_status(name).await;
        }
        let changed = |(name, whole): &(&String, &bool)| told.get(*name) != Some(*whole);
        for (name, whole) in now.iter().filter(changed) {
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

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Poll;
    use std::time::Duration;

    use tokio_stream::{Stream as _, StreamExt as _};
    use tonic::Request;
    use tonic_health::pb::HealthCheckRequest;
    use tonic_health::pb::health_server::Health as _;

    use super::*;

    async fn status(health: &Health) -> i32 {
        let service = HealthService::from_health_reporter(health.reporter.clone());
        let asked = Request::new(HealthCheckRequest::default());
        service.check(asked).await.unwrap().into_inner().status
    }

    async fn until(health: &Health, wanted: ServingStatus) {
        let reached = async {
            while status(health).await != wanted as i32 {
                tokio::task::yield_now().await;
            }
        };
        let reached = tokio::time::timeout(Duration::from_secs(60), reached).await;
        assert!(reached.is_ok(), "it never says {wanted}");
    }

    #[tokio::test]
    async fn who_watches_is_told_only_of_changes() {
        let health = Health::new(watch::channel(Arc::default()).1);
        let mut told = BTreeMap::new();
        let is = |whole| BTreeMap::from([(ALL.to_owned(), whole)]);
        health.tell(&mut told, is(true)).await;
        let service = HealthService::from_health_reporter(health.reporter.clone());
        let asked = Request::new(HealthCheckRequest::default());
        let mut watched = Box::pin(service.watch(asked).await.unwrap().into_inner());
        let first = watched.next().await.unwrap().unwrap();
        assert_eq!(first.status, ServingStatus::Serving as i32);
        health.tell(&mut told, is(true)).await;
        let is_told = poll_fn(|cx| Poll::Ready(watched.as_mut().poll_next(cx).is_ready()));
        assert!(!is_told.await, "told again");
        health.tell(&mut told, is(false)).await;
        let next = watched.next().await.unwrap().unwrap();
        assert_eq!(next.status, ServingStatus::NotServing as i32);
    }

    #[tokio::test]
    async fn nothing_is_served_while_the_host_is_not_ready() {
        let (_calls, calls) = watch::channel(Arc::default());
        let (ready, follows) = watch::channel(true);
        let (_stop, stopping) = watch::channel(false);
        let health = Arc::new(Health::new(calls).with_readiness(follows));
        let following = health.clone();
        tokio::spawn(async move { following.follow(stopping).await });
        until(&health, ServingStatus::Serving).await;
        ready.send_replace(false);
        until(&health, ServingStatus::NotServing).await;
        ready.send_replace(true);
        until(&health, ServingStatus::Serving).await;
    }
}

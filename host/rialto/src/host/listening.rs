//! The listeners of a running host, and what answers their requests.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use rialto_edge::{Listener, Service, ServiceLimits};
use rialto_manifest::Operator;
use rialto_manifest::operator::{GRPC, OPERATORS};
use rialto_relay::{Handler, any_body};

use super::Host;
use crate::authorization::CurrentAuthorizer;
use crate::calls;
use crate::limits::{bytes, pace, server_limits};
use crate::ops;

impl Host {
    /// Open these listeners, or have their doors answered by this host.
    pub(super) fn listen(
        &mut self,
        operator: &Operator,
        these: impl Fn(&str) -> bool,
    ) -> anyhow::Result<()> {
        let http = &operator.http;
        let limits = server_limits(operator);
        let service_limits = ServiceLimits {
            timeout: Duration::from_millis(http.request_timeout.millis()),
            body_bytes_max: bytes(http.body_max),
            header_bytes_max: bytes(http.headers_max),
            bodies: self.shared.bodies.http.clone(),
            pace: pace(operator),
            is_full: self.shared.disk.low(),
        };
        let listeners = operator.listeners.iter();
        for (name, listener) in listeners.filter(|(name, _)| these(name.as_str())) {
            if let Some(doors) = &self.doors {
                let handler = self.handler(name.as_str(), service_limits.clone());
                let address = doors.open(name.as_str(), handler);
                self.addresses
                    .extend(address.map(|address| (name.to_string(), address)));
                continue;
            }
            let address = listener.address.socket();
            let bound = self
                .handle
                .block_on(Listener::bind(address, limits.clone()))
                .with_context(|| format!("listening on {address} for `{name}`"))?;
            let bound = bound.with_denials(self.shared.denials.clone());
            self.addresses.insert(name.to_string(), bound.address());
            let tls = self.tls.listeners.get(name.as_str()).cloned();
            let server = if name.as_str() == OPERATORS {
                let router = ops::router(self.shared.clone());
                let service = self.operators_service(service_limits.clone());
                let shared = self.shared.clone();
                let answer = move |request| {
                    ops::answer(router.clone(), service.clone(), shared.clone(), request)
                };
                self.handle
                    .spawn(bound.serve(tls, answer, self.stop.subscribe()))
            } else {
                let service = Arc::new(self.service(name.as_str(), service_limits.clone()));
                let shared = self.shared.clone();
                let answer =
                    move |request| ops::answer_client(service.clone(), shared.clone(), request);
                self.handle
                    .spawn(bound.serve(tls, answer, self.stop.subscribe()))
            };
            self.servers.push(server);
        }
        Ok(())
    }

    /// How this host answers the requests of a listener with a door.
    fn handler(&self, listener: &str, limits: ServiceLimits) -> Handler {
        let shared = self.shared.clone();
        if listener == OPERATORS {
            let router = ops::router(self.shared.clone());
            let service = self.operators_service(limits);
            return Arc::new(move |request| {
                let answering =
                    ops::answer(router.clone(), service.clone(), shared.clone(), request);
                Box::pin(async move { answering.await.map(any_body) })
            });
        }
        let service = Arc::new(self.service(listener, limits));
        Arc::new(move |request| {
            let answering = ops::answer_client(service.clone(), shared.clone(), request);
            Box::pin(async move { answering.await.map(any_body) })
        })
    }

    fn operators_service(&self, limits: ServiceLimits) -> Arc<Service> {
        let limits = ServiceLimits {
            bodies: self.shared.bodies.operators.clone(),
            ..limits
        };
        Arc::new(self.service(OPERATORS, limits).with_own(ops::document()))
    }

    /// Start the gRPC listener, if there is one.
    pub(super) fn listen_for_calls(&mut self, operator: &Operator) -> anyhow::Result<()> {
        let Some(wanted) = operator.listeners.get(GRPC) else {
            return Ok(());
        };
        let (ready, following) = ops::health::followed(self.shared.clone(), self.stop.subscribe());
        self.handle.spawn(following);
        let service = calls::service(&self.shared, operator, wanted, self.stop.subscribe());
        let service = service.with_readiness(ready);
        if let Some(doors) = &self.doors {
            let service = Arc::new(service);
            let (answering, stopped) = (service.clone(), self.stop.subscribe());
            let following = async move { service.follow_health(stopped).await };
            self.servers.push(self.handle.spawn(following));
            let answers = answering.answers();
            let handler: Handler = Arc::new(move |request| {
                let answer = answers(request);
                Box::pin(async move { answer.await.map(any_body) })
            });
            let address = doors.open(GRPC, handler);
            self.addresses
                .extend(address.map(|address| (GRPC.to_owned(), address)));
            return Ok(());
        }
        let address = wanted.address.socket();
        let limits = server_limits(operator);
        let bound = Listener::bind(address, limits.clone());
        let bound = self.handle.block_on(bound);
        let bound = bound.with_context(|| format!("listening on {address} for `{GRPC}`"))?;
        let bound = bound.with_denials(self.shared.denials.clone());
        self.addresses.insert(GRPC.to_owned(), bound.address());
        let tls = self.tls.listeners.get(GRPC).cloned();
        let server = rialto_grpc::Server::new(bound, service, tls, limits.header_bytes_max);
        let serving = server.serve(self.stop.subscribe());
        self.servers.push(self.handle.spawn(serving));
        Ok(())
    }

    fn service(&self, listener: &str, limits: ServiceLimits) -> Service {
        let shared = &self.shared;
        let api = shared.releases.apis().get(listener).cloned();
        let service = Service::new(
            shared.engine.clone(),
            shared.runtime.clone(),
            api.unwrap_or_default(),
            shared.metrics.clone(),
            shared.spans.clone(),
            limits,
            shared.refusals.clone(),
        )
        .with_tokens(shared.tokens.clone())
        .with_sources(shared.sources.clone())
        .with_revocations(shared.revocations.clone())
        .with_denials(shared.denials.clone())
        .with_authorizer(Arc::new(CurrentAuthorizer::new(
            shared.engine.clone(),
            shared.runtime.clone(),
        )));
        match &shared.passkeys {
            Some(passkeys) => service.with_confirmations(passkeys.clone()),
            None => service,
        }
    }
}

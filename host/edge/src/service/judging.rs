//! Judges a request: who has sent it, whether they may, and whether its head and body are as the API's document says.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use http::request::Parts;
use rialto_components::http as wit;
use rialto_components::http::ViolationKind;
use rialto_openapi::{Head, Operation, head, validate};

use super::{KnownOperator, Service, operation};
use crate::api::{Api, Served};
use crate::authentication::Refusal;
use crate::authorization::{Question, authorized};
use crate::body::{Inbound, MemoryPermit, too_large};
use crate::peers::PeerAddress;
use crate::violation::{found, violation};
use crate::{confirmation, credentials};

/// How long after its caller was identified and judged a request may go on without another look at it. A body can take
/// long.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(100);

impl Service {
    /// Validate a request. An error is the first violation.
    pub(super) async fn request(
        &self,
        api: &Api,
        served: &Served,
        head: &mut Parts,
        body: &mut Inbound,
    ) -> Result<(wit::Request, MemoryPermit), Refusal> {
        let mut caller = self.caller(api, head).await?;
        let identified = Instant::now();
        let limits = &self.limits;
        let body_bytes_max = served.document.body_bytes_max.min(limits.body_bytes_max);
        body.announced(body_bytes_max)?;
        let judged = self.judge(api, served, head)?;
        self.may_begin(&judged)?;
        let read = body
            .read(body_bytes_max, &limits.bodies, limits.timeout)
            .await?;
        if caller.is_some() && identified.elapsed() > LOOK_AGAIN_AFTER {
            caller = self.caller(api, head).await?;
        }
        let json_started = Instant::now();
        let body = validate::body(&judged.operation, &read.bytes);
        let took = u64::try_from(json_started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.metrics.json_nanoseconds.inc_by(took);
        let body = body.map_err(found)?;
        self.confirmed(head, &judged.operation, &read.bytes)?;
        let request = wit::Request {
            operation_id: judged.operation.id.clone(),
            method: head.method.as_str().to_owned(),
            path: head.uri.path().to_owned(),
            path_parameters: judged.path_parameters,
            query_parameters: judged.query_parameters,
            headers: head::texts(&head.headers),
            body,
            caller,
        };
        Ok((request, read.permit))
    }

    /// The caller of a request: the operator who was identified before, or the client. The head of an open operation gets
    /// the credentials that its component sees.
    async fn caller(&self, api: &Api, head: &mut Parts) -> Result<Option<wit::Caller>, Refusal> {
        if let Some(KnownOperator(operator)) = head.extensions.get() {
            return self.operator(api, head, operator).await.map(Some);
        }
        let is_open = operation(api, head).is_some_and(|operation| operation.is_open);
        let tokens = self.tokens.as_deref();
        let sender = api.authentication.sender(head, tokens, is_open).await?;
        if let (Some(revocations), Some(proof)) = (&self.revocations, &sender.proof) {
            revocations.admit(proof).await?;
        }
        if let (Some(sources), Some(caller)) = (&self.sources, &sender.caller) {
            let PeerAddress(address) = PeerAddress::of(&head.extensions);
            sources.admit(&caller.name, address).await?;
        }
        credentials::hide(head);
        if is_open {
            let PeerAddress(address) = PeerAddress::of(&head.extensions);
            credentials::show(head, sender.certificate.as_ref(), address);
        }
        Ok(sender.caller)
    }

    /// An operator as the component is to see them, if they may use the operation.
    async fn operator(
        &self,
        api: &Api,
        head: &Parts,
        operator: &wit::Caller,
    ) -> Result<wit::Caller, Refusal> {
        let served = api.find(head.uri.path()).map(|(served, _)| served);
        let (Some(authorizer), Some(served), Some(operation)) =
            (&self.authorizer, served, operation(api, head))
        else {
            return Ok(operator.clone());
        };
        if operation.roles.is_empty() {
            return Ok(operator.clone());
        }
        let question = Question {
            operator,
            component: &served.component,
            operation: &operation.id,
            default_roles: &operation.roles,
        };
        authorized(question, authorizer.may(question).await)
    }

    /// Use up the confirmation of an operator's request, if it needs one.
    fn confirmed(
        &self,
        head: &mut Parts,
        operation: &Operation,
        body: &[u8],
    ) -> Result<(), Refusal> {
        let operator = head.extensions.get::<KnownOperator>();
        let person = operator.map(|KnownOperator(operator)| operator.name.clone());
        let (Some(confirmations), Some(person)) = (self.confirmations.as_deref(), person) else {
            return Ok(());
        };
        confirmation::confirmed(confirmations, head, operation, &person, body)
    }

    fn judge(&self, api: &Api, served: &Served, parts: &Parts) -> Result<Head, wit::Violation> {
        let header_bytes_max = served
            .document
            .header_bytes_max
            .min(self.limits.header_bytes_max);
        let leads_to = api.find(parts.uri.path()).and_then(|(_, found)| found);
        head::judge(leads_to, parts, header_bytes_max).map_err(found)
    }

    /// Refuse a request that begins something while the disk is nearly full. Requests that continue something
    /// are accepted.
    fn may_begin(&self, judged: &Head) -> Result<(), wit::Violation> {
        if !judged.operation.begins || !self.limits.is_full.load(Ordering::Relaxed) {
            return Ok(());
        }
        let detail = "the host has too little disk space to begin this; try again later".to_owned();
        Err(violation(ViolationKind::Overloaded, "", detail))
    }

    /// Validate again a request that another release's document accepted.
    pub(super) async fn judged_again(
        &self,
        api: &Api,
        served: &Served,
        head: &mut Parts,
        request: &wit::Request,
    ) -> Result<wit::Request, Refusal> {
        let caller = self.caller(api, head).await?;
        let judged = self.judge(api, served, head)?;
        self.may_begin(&judged)?;
        let bytes = request.body.as_deref().unwrap_or_default().as_bytes();
        let body_bytes_max = served.document.body_bytes_max;
        if bytes.len() > body_bytes_max {
            return Err(too_large(body_bytes_max).into());
        }
        let body = validate::body(&judged.operation, bytes).map_err(found)?;
        self.confirmed(head, &judged.operation, bytes)?;
        Ok(wit::Request {
            operation_id: judged.operation.id.clone(),
            path_parameters: judged.path_parameters,
            query_parameters: judged.query_parameters,
            headers: head::texts(&head.headers),
            body,
            caller,
            ..request.clone()
        })
    }
}

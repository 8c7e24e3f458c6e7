//! Runs the turn of a request that was judged, on the release that is current, and answers after the turn's commit.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::request::Parts;
use http::{Response, StatusCode};
use http_body_util::Full;
use rialto_components::http as wit;
use rialto_components::runtime::{Argument, ReleaseChanged};
use rialto_engine::{Failure, Name, Priority, Requester, Trace};
use rialto_openapi::Found;
use tokio::sync::oneshot;

use super::refusing::{answered, busy, plain};
use super::{Credential, KnownOperator, Service};
use crate::answer_tracking::AnswerGuard;
use crate::api::{Api, Served};
use crate::authentication::CLIENT;
use crate::body::MemoryPermit;
use crate::peers::Client;

/// How long a request whose time is over waits for the outcome of its turn. The turn does not begin after
/// its time; a running one is ended.
const END_WITHIN: Duration = Duration::from_secs(1);
/// How many releases may become current while one request waits for its turn.
const RELEASES_MET_MAX: u32 = 4;
/// How long the documents of a release may be current before the release, or after it.
const RELEASE_WITHIN: Duration = Duration::from_secs(2);
/// The pause between two checks whether both are current.
const RELEASE_LOOK: Duration = Duration::from_millis(2);

impl Service {
    /// Run a request's turn. If another release becomes current before the turn begins, the request is validated
    /// again against that release's document.
    pub(super) async fn turn(
        &self,
        api: &Arc<Api>,
        head: &mut Parts,
        request: wit::Request,
        permit: MemoryPermit,
        trace: Trace,
    ) -> Response<Full<Bytes>> {
        let until = Instant::now() + self.limits.timeout;
        let uri = head.uri.clone();
        let (mut api, mut request, mut permit) = (api.clone(), Arc::new(request), permit);
        for _ in 0..RELEASES_MET_MAX {
            let Some((served, found)) = api.find(uri.path()) else {
                return plain(StatusCode::NOT_FOUND, "nothing is served here");
            };
            let asker = Requester {
                name: client(head, &request),
                within: Some(until.saturating_duration_since(Instant::now())),
                priority: priority(found.as_ref(), head),
            };
            let operation = found
                .as_ref()
                .and_then(|found| found.operations.get(head.method.as_str()));
            let is_audited = operation.is_none_or(|operation| operation.is_audited);
            // Operators send secrets, and without a credential somebody asks for one.
            let may_keep = operation.is_some_and(|operation| !operation.is_open)
                && head.extensions.get::<KnownOperator>().is_none();
            let judged = (served, api.release, (is_audited, may_keep));
            permit = match self
                .turn_on(judged, head, &request, permit, trace, asker)
                .await
            {
                TurnResult::Answered(response) => return response,
                TurnResult::ReleaseChanged(permit) => permit,
            };
            api = self.api_of_current().await;
            let Some((served, _)) = api.find(uri.path()) else {
                return plain(StatusCode::NOT_FOUND, "nothing is served here");
            };
            request = match self.judged_again(&api, served, head, &request).await {
                Ok(request) => Arc::new(request),
                Err(refusal) => return self.refuse(served, head, refusal).await,
            };
        }
        busy()
    }

    /// The API of the current release. Its documents become current just before the release.
    async fn api_of_current(&self) -> Arc<Api> {
        let until = Instant::now() + RELEASE_WITHIN;
        loop {
            let api = self.api.load_full();
            let current = self.runtime.current().map(|release| release.number);
            if current == Some(api.release) || Instant::now() >= until {
                return api;
            }
            tokio::time::sleep(RELEASE_LOOK).await;
        }
    }

    async fn turn_on(
        &self,
        (served, release, (is_audited, may_keep)): (&Served, u64, (bool, bool)),
        head: &Parts,
        request: &Arc<wit::Request>,
        permit: MemoryPermit,
        trace: Trace,
        asker: Requester,
    ) -> TurnResult {
        let within = asker.within.unwrap_or_default();
        let label = format!("{} {}", request.method, request.path);
        let (sender, receiver) = oneshot::channel();
        let submitted = self.engine.submit_answered(
            asker,
            served.component.clone(),
            label.into(),
            Arc::new(Argument::Http {
                request: request.clone(),
                judged_by: Some(release),
                is_audited,
                may_keep,
                credential: head
                    .extensions
                    .get()
                    .map(|Credential(name)| Arc::clone(name)),
            }),
            trace,
            Box::new(move |outcome| {
                // The body's memory is reserved until the turn has ended, also when the client is gone.
                let _ = sender.send((outcome, permit));
            }),
        );
        let Ok(answering) = submitted else {
            return TurnResult::Answered(self.overloaded(served, head).await);
        };
        let ended = tokio::time::timeout(within + END_WITHIN, receiver).await;
        let mut response = match ended {
            Ok(Ok((Ok(reply), permit))) => match reply.downcast::<wit::Response>() {
                Ok(response) => answered(*response),
                Err(other) if other.is::<ReleaseChanged>() => {
                    return TurnResult::ReleaseChanged(permit);
                }
                Err(_) => self.internal(served, head).await,
            },
            Ok(Ok((
                Err(
                    Failure::Contention(_)
                    | Failure::Refused
                    | Failure::Away(_)
                    | Failure::NotReady(_)
                    | Failure::Shutdown
                    | Failure::Expired,
                ),
                _,
            ))) => self.overloaded(served, head).await,
            Ok(Ok((Err(Failure::Store(_)), _))) | Err(_) => self.unknown(served, head).await,
            Ok(Ok((Err(Failure::Handler { .. }), _)) | Err(_)) => self.internal(served, head).await,
        };
        // Outbound requests of this request's chain wait until the guard is dropped.
        response
            .extensions_mut()
            .insert(AnswerGuard::new(answering));
        TurnResult::Answered(response)
    }
}

/// The client: its proven name, else its address.
fn client(head: &Parts, request: &wit::Request) -> Name {
    let proven = request.caller.as_ref();
    let proven = proven.map(|caller| {
        let kind = if is_client(caller) {
            CLIENT
        } else {
            "operator"
        };
        format!("{kind} {}", caller.name).into()
    });
    let address = || {
        head.extensions
            .get::<Client>()
            .map(|client| client.0.clone())
    };
    proven.or_else(address).unwrap_or_default()
}

fn is_client(caller: &wit::Caller) -> bool {
    caller.roles.iter().any(|role| role == CLIENT)
}

/// The priority of a request's operation.
fn priority(found: Option<&Found>, head: &Parts) -> Priority {
    let operation = found.and_then(|found| found.operations.get(head.method.as_str()));
    match operation
        .map(|operation| operation.priority)
        .unwrap_or_default()
    {
        rialto_openapi::Priority::Low => Priority::Low,
        rialto_openapi::Priority::Middle => Priority::Middle,
        rialto_openapi::Priority::High => Priority::High,
    }
}

/// The outcome of a request's turn.
enum TurnResult {
    /// An answer.
    Answered(Response<Full<Bytes>>),
    /// The turn had no effect: another release is current than the one that validated the request. The body
    /// keeps its reservation.
    ReleaseChanged(MemoryPermit),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_priority_of_its_operation() {
        let text = "openapi: 3.1.0\npaths:\n  /a:\n    get: {operationId: a, x-rialto-priority: low}\n    \
                    post: {operationId: b, x-rialto-priority: middle}\n    put: {operationId: c}\n";
        let document = rialto_openapi::Document::parse(text).expect("the document is valid");
        let of = |method: &str| {
            let request = http::Request::builder().method(method).uri("/a");
            let (head, ()) = request.body(()).expect("a request").into_parts();
            priority(document.find("/a").as_ref(), &head)
        };
        assert_eq!(of("GET"), Priority::Low);
        assert_eq!(of("POST"), Priority::Middle);
        assert_eq!(of("PUT"), Priority::High);
    }
}

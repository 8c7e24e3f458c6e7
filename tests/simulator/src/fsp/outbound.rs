//! Sending: one message to the switch, recorded, and callbacks that are tried again.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Method};

use super::Inner;
use crate::client::{Answer, SendError};
use crate::headers::{Kind, SOURCE, TRACEPARENT};
use crate::ids::Trace;
use crate::jws::{self, Signer};
use crate::limits::CALLBACK_RETRY_PAUSE;
use crate::message::Resource;
use crate::recorder::{Direction, Ending, Recorded, micros};
use crate::time;

/// A message to the switch.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// The HTTP method.
    pub method: Method,
    /// The path, beginning with `/`, and the query.
    pub path: String,
    /// All headers, but those that HTTP itself needs.
    pub headers: HeaderMap,
    /// The body; may be empty.
    pub body: Bytes,
}

impl Outgoing {
    /// Puts a signature into it, if it is a message that is signed.
    pub(super) fn sign(&mut self, signer: &Signer) {
        signer.sign(&self.method, &self.path, &mut self.headers, &self.body);
    }
}

impl Inner {
    /// A request of this FSP, in a trace.
    pub(super) fn request(
        &self,
        method: Method,
        resource: Resource,
        path: String,
        destination: Option<HeaderValue>,
        trace: Trace,
        body: impl Into<Bytes>,
    ) -> Outgoing {
        let traceparent = self.mint.traceparent(trace);
        Outgoing {
            method,
            path,
            headers: self
                .letterhead
                .headers(Kind::Request, resource, destination, traceparent),
            body: body.into(),
        }
    }

    /// The callback to a request with these headers, in the request's trace.
    pub(super) fn callback(
        &self,
        resource: Resource,
        path: String,
        request: &HeaderMap,
        body: impl Into<Bytes>,
    ) -> Outgoing {
        let trace = request.get(TRACEPARENT).and_then(Trace::of);
        let traceparent = self
            .mint
            .traceparent(trace.unwrap_or_else(|| self.mint.trace()));
        let destination = request.get(SOURCE).cloned();
        Outgoing {
            method: Method::PUT,
            path,
            headers: self
                .letterhead
                .headers(Kind::Callback, resource, destination, traceparent),
            body: body.into(),
        }
    }

    /// Signs a message, if this FSP signs, sends it to the switch and waits for its HTTP answer.
    pub(super) async fn send(&self, mut message: Outgoing) -> Result<Answer, SendError> {
        if let Some(signer) = &self.signer {
            message.sign(signer);
        }
        self.send_as_it_is(message).await
    }

    /// Sends a message to the switch and waits for its HTTP answer.
    pub(super) async fn send_as_it_is(&self, message: Outgoing) -> Result<Answer, SendError> {
        let hub = self.hub.read().clone().ok_or_else(|| {
            SendError::Invalid(format!(
                "FSP {} has not been told where the switch is",
                self.settings.id
            ))
        })?;
        let uri = hub.join(&message.path)?;
        let ticket = if self.recorder.wants() {
            self.recorder.record(Recorded {
                fsp: self.settings.id.clone(),
                at_us: time::wall_us(),
                direction: Direction::Out,
                method: message.method.clone(),
                path: message.path,
                headers: message.headers.clone(),
                body: message.body.clone(),
                ending: Ending::Pending,
                took_us: 0,
                complaints: Vec::new(),
            })
        } else {
            None
        };
        // After the record, which must not have the token.
        let mut headers = message.headers;
        if let Some(application) = &self.settings.application
            && !headers.contains_key(AUTHORIZATION)
        {
            let token = self.login.header(application, &self.client, &hub).await?;
            headers.insert(AUTHORIZATION, token);
        }
        let started = time::now();
        let result = self
            .client
            .send(message.method, uri, headers, message.body)
            .await;
        if let Some(ticket) = ticket {
            let ending = match &result {
                Ok(answer) => Ending::Status(answer.status.as_u16()),
                Err(error) => Ending::Broken(error.to_string()),
            };
            self.recorder.ended(ticket, ending, started.elapsed());
        }
        result
    }

    /// Sends a callback after a pause, in a task of its own. While the switch is unreachable or
    /// answers 5xx it is tried again, as often as the settings say, with growing pauses.
    pub(super) fn send_callback(self: &Arc<Self>, message: Outgoing, pause: Option<Duration>) {
        let fsp = Arc::clone(self);
        tokio::spawn(async move {
            if let Some(pause) = pause {
                tokio::time::sleep(pause).await;
            }
            let attempts = fsp.settings.callback_attempts.max(1);
            let mut wait = CALLBACK_RETRY_PAUSE;
            for attempt in 1..=attempts {
                if fsp.is_stopped() {
                    return;
                }
                let reason = match fsp.send(message.clone()).await {
                    Ok(answer) if answer.status.is_server_error() => answer.status.to_string(),
                    Ok(_) => return, // taken, or refused for good
                    Err(error) => error.to_string(),
                };
                if attempt == attempts {
                    tracing::warn!(
                        fsp = %fsp.settings.id,
                        path = message.path,
                        reason,
                        "the switch did not take a callback"
                    );
                } else {
                    tokio::time::sleep(wait).await;
                    wait = wait.saturating_mul(2);
                }
            }
        });
    }

    /// Records a message in, with what the API definition objects to in it.
    pub(super) fn record_inbound(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
        body: &Bytes,
        status: Option<u16>,
        (at_us, took): (u64, Duration),
    ) {
        let ending = match status {
            Some(status) => Ending::Status(status),
            None => Ending::Broken("reset by this FSP".to_owned()),
        };
        let mut complaints =
            crate::conformance::complaints(&self.settings.id, method, path, headers, body);
        let source = headers.get(SOURCE).and_then(|value| value.to_str().ok());
        let key = source.and_then(|source| self.settings.verify_keys.get(source));
        complaints.extend(key.and_then(|key| jws::complaint(key, method, path, headers, body)));
        self.recorder.record(Recorded {
            complaints,
            fsp: self.settings.id.clone(),
            at_us,
            direction: Direction::In,
            method: method.clone(),
            path: path.to_owned(),
            headers: headers.clone(),
            body: body.clone(),
            ending,
            took_us: micros(took),
        });
    }
}

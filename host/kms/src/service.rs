//! Calls of the service: which attempts there are, and what an answer means.
//!
//! A call has at most [`ATTEMPTS_MAX`] attempts within its time. There is another attempt after a refusal for too many
//! requests and when no connection was made, because nothing has happened then. There is one after a failure of the
//! service or of a connection too, unless the operation makes a key: a second attempt could make a second key. Pauses
//! double, and a random part keeps hosts from coming back together. Refused credentials are read again once.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::StatusCode;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::{sleep, timeout_at};
use zeroize::Zeroizing;

use crate::configuration::{Configuration, OpenError};
use crate::credentials::{Credentials, Holder};
use crate::endpoint::Endpoint;
use crate::failure::{Failure, name_of, of_refusal, unreadable};
use crate::transport::{Answer, Transport};
use crate::wire::{Operation, Refusal};

/// Attempts of a call.
const ATTEMPTS_MAX: u32 = 4;
/// The longest first pause. It doubles.
const PAUSE_INITIAL: Duration = Duration::from_millis(50);
/// Room for a request, so that no part of it is left behind when it grows.
const REQUEST_BYTES: usize = 8 * 1024;

/// The service.
pub(crate) struct Service {
    transport: Transport,
    credentials: Holder,
    timeout: Duration,
    pub(crate) region: String,
}

impl Service {
    pub(crate) fn open(configuration: &Configuration) -> Result<Self, OpenError> {
        let endpoint = Endpoint::of(&configuration.region, configuration.endpoint.as_deref())?;
        Ok(Self {
            transport: Transport::new(configuration, endpoint).map_err(OpenError::Authority)?,
            credentials: Holder::read(configuration.credentials.clone())?,
            timeout: configuration.timeout,
            region: configuration.region.clone(),
        })
    }

    /// Ask for something until this time. The body is that of [`written`].
    pub(crate) async fn call<T: DeserializeOwned>(
        &self,
        operation: Operation,
        body: Bytes,
        deadline: Instant,
    ) -> Result<T, Failure> {
        let attempts = self.attempts(operation, body, deadline);
        timeout_at(deadline.into(), attempts)
            .await
            .unwrap_or_else(|_| Err(self.no_answer()))
    }

    /// What a caller is told whose time is over.
    pub(crate) fn no_answer(&self) -> Failure {
        Failure::Unclear(format!(
            "AWS KMS has not answered for {} ms",
            self.timeout.as_millis()
        ))
    }

    async fn attempts<T: DeserializeOwned>(
        &self,
        operation: Operation,
        body: Bytes,
        deadline: Instant,
    ) -> Result<T, Failure> {
        let mut credentials = self.credentials.current();
        let mut has_other = true;
        let mut attempt = 1;
        loop {
            let failure = match self.once(operation, body.clone(), &credentials).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let is_passing = match &failure {
                Failure::NotDone(_) => true,
                Failure::Unclear(_) => operation.is_repeatable(),
                Failure::Credentials(_) if has_other => {
                    has_other = false;
                    let Some(other) = self.credentials.other_than(&credentials) else {
                        return Err(failure);
                    };
                    credentials = other;
                    continue;
                }
                _ => false,
            };
            let pause = pause_after(attempt);
            if !is_passing || attempt == ATTEMPTS_MAX || Instant::now() + pause >= deadline {
                return Err(failure);
            }
            tracing::debug!(%operation, attempt, ?failure, "a call of AWS KMS is tried again");
            sleep(pause).await;
            attempt += 1;
        }
    }

    async fn once<T: DeserializeOwned>(
        &self,
        operation: Operation,
        body: Bytes,
        credentials: &Credentials,
    ) -> Result<T, Failure> {
        let answer = self.transport.send(operation, body, credentials).await?;
        if answer.status == StatusCode::OK {
            // The library's text may have a part of the answer.
            return serde_json::from_slice(&answer.body)
                .map_err(|_| unreadable(operation, "it is not of the protocol"));
        }
        Err(refusal(operation, &answer))
    }
}

/// The body of a request. It is overwritten with zeros when it is dropped.
pub(crate) fn written(request: &impl Serialize) -> Result<Bytes, Failure> {
    let mut body = Zeroizing::new(Vec::with_capacity(REQUEST_BYTES));
    serde_json::to_writer(&mut *body, request)
        .map_err(|_| Failure::NotDone("the request cannot be written".to_owned()))?;
    Ok(Bytes::from_owner(body))
}

fn refusal(operation: Operation, answer: &Answer) -> Failure {
    let in_body = serde_json::from_slice::<Refusal>(&answer.body).ok();
    let kind = in_body.map(|refusal| refusal.kind);
    let kind = kind.as_ref().or(answer.error.as_ref());
    let name = kind.and_then(|kind| name_of(kind));
    of_refusal(operation, answer.status, name)
}

/// A random part of a time that doubles with each attempt, at least half of it.
fn pause_after(attempt: u32) -> Duration {
    let longest = PAUSE_INITIAL * 2_u32.saturating_pow(attempt - 1);
    longest.mul_f64(rand::random_range(0.5..1.0))
}

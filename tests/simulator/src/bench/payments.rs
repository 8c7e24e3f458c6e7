//! Whole payments, made by payer FSPs that are asked for them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, Uri};

use super::{BenchError, Paid, Unpaid, Work};
use crate::PaymentRequest;
use crate::client::{BaseUrl, HttpClient};
use crate::fsp::{CONTROL_PREFIX, PaymentOutcome, Step};

/// Asks payer FSPs for payments, in turn.
#[derive(Debug)]
pub struct Payments {
    client: HttpClient,
    addresses: Vec<Uri>,
    bodies: Vec<Bytes>,
    next: AtomicU64,
}

impl Payments {
    /// Payments that the FSPs with these base addresses make in turn; a payment that takes longer than
    /// `timeout` has failed.
    ///
    /// # Errors
    /// When there is no payer or no payment, or a payer's address is none.
    pub fn new(
        payers: &[String],
        payments: &[PaymentRequest],
        timeout: Duration,
    ) -> Result<Self, BenchError> {
        Self::with_client(HttpClient::new(timeout), payers, payments)
    }

    /// The same by this client of the FSPs.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_client(
        client: HttpClient,
        payers: &[String],
        payments: &[PaymentRequest],
    ) -> Result<Self, BenchError> {
        if payers.is_empty() || payments.is_empty() {
            return Err(BenchError::Settings(
                "a benchmark needs a payer FSP and a payment",
            ));
        }
        let mut addresses = Vec::with_capacity(payers.len());
        for payer in payers {
            let base: BaseUrl = payer.parse()?;
            let address = base
                .join(&format!("{CONTROL_PREFIX}payments"))
                .map_err(|_| BenchError::Settings("the payer's address takes no path"))?;
            addresses.push(address);
        }
        let body = |payment| serde_json::to_vec(payment).map(Bytes::from);
        let bodies = payments.iter().map(body).collect::<Result<_, _>>();
        Ok(Self {
            client,
            addresses,
            bodies: bodies.map_err(|_| BenchError::Settings("a payment cannot be written"))?,
            next: AtomicU64::new(0),
        })
    }
}

impl Work for Payments {
    /// Has one payment made.
    async fn once(&self) -> Result<Paid, Unpaid> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        // The payments turn over as the payers do, and shift by one with each of their rounds,
        // so that every payer makes every payment.
        let payers = self.addresses.len() as u64;
        let address = &self.addresses[(turn % payers) as usize];
        let body = &self.bodies[((turn + turn / payers) % self.bodies.len() as u64) as usize];
        let answer = self
            .client
            .send(
                Method::POST,
                address.clone(),
                HeaderMap::new(),
                body.clone(),
            )
            .await
            .map_err(|error| Unpaid::because(format!("payer FSP: {error}")))?;
        if answer.status != StatusCode::OK {
            let status = answer.status;
            return Err(Unpaid::because(format!("payer FSP answered {status}")));
        }
        let outcome: PaymentOutcome = serde_json::from_slice(&answer.body).map_err(|error| {
            Unpaid::because(format!("payer FSP's outcome cannot be read: {error}"))
        })?;
        let (reason, description) = match &outcome.failure {
            None if outcome.is_committed() => {
                return Ok(Paid {
                    transfer: transfer(&outcome),
                });
            }
            None => ("transfer not-committed".to_owned(), String::new()),
            Some(failure) => (failure.reason(), failure.description.clone()),
        };
        Err(Unpaid {
            reason,
            description,
            trace_id: outcome.trace_id,
            lookup_path: outcome.lookup_path,
            quote_id: outcome.quote_id,
            transfer_id: outcome.transfer_id,
            began_us: outcome.began_us,
        })
    }
}

/// How long the payer FSP waited for the callback of its transfer.
fn transfer(outcome: &PaymentOutcome) -> Option<Duration> {
    let step = outcome
        .steps
        .iter()
        .find(|timing| timing.step == Step::Transfer)?;
    Duration::try_from_secs_f64(step.callback_ms / 1e3).ok()
}

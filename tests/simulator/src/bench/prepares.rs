//! Transfers that are prepared and no more: each has been done when the payee is asked to take it. Their
//! payers are FSPs in name only, so that there may be a thousand of them.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, StatusCode, Uri};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::oneshot;

use super::{BenchError, Paid, Unpaid, Work};
use crate::FspId;
use crate::client::{BaseUrl, HttpClient};
use crate::headers::{Kind, Letterhead};
use crate::ids::IdMint;
use crate::message::{Resource, Version};
use crate::sink::{Said, Sink};
use crate::time::datetime_in;

/// An ILP packet, opaque to the scheme: its rules must not compare it with a quote's.
const ILP_PACKET: &str = "AQAAAAAAAADIEHByaXZhdGUucGF5ZWVmc3A";

type Waiting = Arc<Mutex<HashMap<String, oneshot::Sender<Said>>>>;

/// Prepares of one unit of a currency, by payers in turn.
#[derive(Debug)]
pub struct Prepares {
    sink: Sink,
    waiting: Waiting,
    payers: Vec<(FspId, Letterhead)>,
    payee: FspId,
    currency: String,
    ids: IdMint,
    next: AtomicU64,
    client: HttpClient,
    hub: Uri,
    timeout: Duration,
}

impl Prepares {
    /// Listen for all of these FSPs at [`Self::url`]. A prepare that takes longer than `timeout` has failed.
    ///
    /// # Errors
    /// When there is no port to listen on.
    pub async fn listen(
        payers: Vec<FspId>,
        payee: FspId,
        currency: &str,
        timeout: Duration,
    ) -> io::Result<Self> {
        let waiting = Waiting::default();
        let told = Arc::clone(&waiting);
        let sink = Sink::start(move |id, said| {
            if let Some(waits) = told.lock().remove(id) {
                let _ = waits.send(said); // it has been given up
            }
        });
        let letterhead = |id: FspId| {
            let letterhead = Letterhead::new(&id, Version::V1_1);
            (id, letterhead)
        };
        Ok(Self {
            sink: sink.await?,
            waiting,
            payers: payers.into_iter().map(letterhead).collect(),
            payee,
            currency: currency.to_owned(),
            ids: IdMint::new(None),
            next: AtomicU64::new(0),
            client: HttpClient::new(timeout),
            hub: Uri::default(),
            timeout,
        })
    }

    /// Where all the FSPs listen, as the scheme has to know it.
    pub fn url(&self) -> &str {
        self.sink.url()
    }

    /// Where the prepares go: the base address of the hub.
    ///
    /// # Errors
    /// If it is not an address, or there are no payers.
    pub fn send_to(&mut self, hub: &str) -> Result<(), BenchError> {
        if self.payers.is_empty() {
            return Err(BenchError::Settings("a benchmark needs a payer"));
        }
        let base: BaseUrl = hub.parse()?;
        let hub = base.join("/transfers");
        self.hub = hub.map_err(|_| BenchError::Settings("the hub's address takes no path"))?;
        Ok(())
    }

    fn body(&self, id: &str, payer: &FspId) -> Bytes {
        let body = json!({
            "transferId": id,
            "payerFsp": payer.as_str(),
            "payeeFsp": self.payee.as_str(),
            "amount": { "currency": self.currency, "amount": "1" },
            "ilpPacket": ILP_PACKET,
            "condition": "A".repeat(43),
            // Later than any benchmark ends, and not so late that a scheme refuses it.
            "expiration": datetime_in(Duration::from_secs(3_600)),
        });
        body.to_string().into()
    }
}

impl Work for Prepares {
    async fn once(&self) -> Result<Paid, Unpaid> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let (payer, letterhead) = &self.payers[(turn % self.payers.len() as u64) as usize];
        let id = self.ids.correlation_id();
        let headers = letterhead.headers(
            Kind::Request,
            Resource::Transfers,
            Some(self.payee.header()),
            self.ids.traceparent(self.ids.trace()),
        );
        let body = self.body(&id, payer);
        let (told, said) = oneshot::channel();
        self.waiting.lock().insert(id.clone(), told);
        let sent = async {
            let hub = self.hub.clone();
            let answer = self.client.send(Method::POST, hub, headers, body).await;
            let answer = answer.map_err(|error| format!("hub: {error}"))?;
            if answer.status != StatusCode::ACCEPTED {
                return Err(format!("hub answered {}", answer.status));
            }
            match tokio::time::timeout(self.timeout, said).await {
                Ok(Ok(Said::Prepare)) => Ok(Paid::default()),
                Ok(Ok(Said::Error(code))) => Err(format!("prepare error-callback {code}")),
                Ok(Ok(Said::Other) | Err(_)) => Err("prepare answered by something else".into()),
                Err(_) => Err("prepare not decided in time".to_owned()),
            }
        };
        let done = sent.await;
        self.waiting.lock().remove(&id);
        done.map_err(|reason: String| Unpaid {
            transfer_id: id,
            ..Unpaid::because(reason)
        })
    }
}

//! Exports spans and log records to an OpenTelemetry collector: OTLP over HTTP, in JSON.
//!
//! Records are sent in batches, twice a second. No payment waits for the export.
//!
//! - No connection, no answer in time, 429, 502, 503, 504: the batch is retried after a pause, which doubles
//!   from one second to half a minute. Records wait meanwhile, up to a bound.
//! - Any other refusal: the batch is dropped, because it would be refused again.
//!
//! The log has one line when the export begins to fail and one when it works again.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioTimer;
use rialto_telemetry::otlp::{EXPORT_TARGET, MEDIA_TYPE, Resource, Signal};
use rialto_telemetry::queue::Queue;
use tokio::sync::watch;

use crate::contained;
use crate::outbound::chain;

/// Records of one export.
const BATCH: usize = 512;
/// The time between two exports.
const PERIOD: Duration = Duration::from_millis(500);
/// The timeout for making a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// The timeout for the collector's answer to a batch.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause after the first failure; it doubles.
const PAUSE_INITIAL: Duration = Duration::from_secs(1);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// How long a stopping host waits for the export of the last records.
const LAST: Duration = Duration::from_secs(2);
/// Bytes of an answer that are read.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// Exports records of one kind to one collector.
pub struct Exporter<T> {
    queue: Queue<T>,
    resource: Resource,
    url: Uri,
    client: Client<HttpConnector, Full<Bytes>>,
    /// A batch that is to be retried.
    kept: Vec<T>,
    /// How many records are in the batch that is being sent.
    under_way: usize,
    /// The pause since the last failure; none without a failure.
    pause: Option<Duration>,
}

/// Why a batch was not accepted.
struct Refused {
    reason: String,
    worth_a_retry: bool,
}

impl<T: Signal> Exporter<T> {
    /// An exporter to the collector at this URL, `http://host:port` with or without a path.
    ///
    /// # Errors
    /// When that is no URL.
    pub fn new(
        queue: Queue<T>,
        resource: Resource,
        collector: &str,
    ) -> Result<Self, http::uri::InvalidUri> {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let client = Client::builder(contained::Executor)
            .pool_timer(TokioTimer::new())
            .build(connector);
        Ok(Self {
            queue,
            resource,
            url: format!("{collector}{}", T::PATH).parse()?,
            client,
            kept: Vec::new(),
            under_way: 0,
            pause: None,
        })
    }

    /// Export until told to stop. Then export what is left, for a short time.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) {
        loop {
            let rest = self.pause.unwrap_or(PERIOD);
            let stopping = tokio::select! {
                () = tokio::time::sleep(rest) => false,
                _ = stop.wait_for(|stop| *stop) => true,
            };
            let in_time = tokio::select! {
                () = self.drain() => true,
                () = soon_after(&mut stop) => false,
            };
            if stopping || !in_time {
                break;
            }
        }
        let waiting = self.queue.take(usize::MAX).len();
        let lost = self.under_way + self.kept.len() + waiting;
        if lost > 0 {
            self.queue.lost(lost);
            tracing::warn!(target: EXPORT_TARGET, url = %self.url, lost, "the collector did not accept the last {} before the host stopped; they are lost", T::NAME);
        }
    }

    /// Send all waiting records, until none is left or the collector fails.
    async fn drain(&mut self) {
        loop {
            let batch = if self.kept.is_empty() {
                self.queue.take(BATCH)
            } else {
                std::mem::take(&mut self.kept)
            };
            if batch.is_empty() {
                return;
            }
            self.under_way = batch.len();
            let exported = self.export(&batch).await;
            self.under_way = 0;
            match exported {
                Ok(()) => {
                    self.queue.accepted(batch.len());
                    if self.pause.take().is_some() {
                        let lost = self.queue.lost_so_far();
                        tracing::info!(target: EXPORT_TARGET, url = %self.url, lost, "the collector accepts {} again", T::NAME);
                    }
                }
                Err(refused) if refused.worth_a_retry => {
                    self.kept = batch;
                    self.wait_longer(&refused.reason);
                    return;
                }
                Err(Refused { reason, .. }) => {
                    let lost = batch.len();
                    self.queue.lost(lost);
                    tracing::warn!(target: EXPORT_TARGET, url = %self.url, %reason, lost, "the collector refused {}; they are lost", T::NAME);
                }
            }
        }
    }

    fn wait_longer(&mut self, reason: &str) {
        self.pause = Some(match self.pause {
            Some(pause) => (pause * 2).min(PAUSE_MAX),
            None => {
                tracing::warn!(target: EXPORT_TARGET, url = %self.url, %reason, "the collector does not accept {}; the host tries again, and keeps new ones while there is room", T::NAME);
                PAUSE_INITIAL
            }
        });
    }

    async fn export(&self, batch: &[T]) -> Result<(), Refused> {
        let again = |reason: String| Refused {
            reason,
            worth_a_retry: true,
        };
        let body = T::encode(&self.resource, batch);
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.url.clone();
        request.headers_mut().insert(
            http::header::CONTENT_TYPE,
            HeaderValue::from_static(MEDIA_TYPE),
        );
        let answered = tokio::time::timeout(EXPORT_TIMEOUT, async {
            let answered = self.client.request(request).await;
            let (head, body) = answered.map_err(|e| again(chain(&e)))?.into_parts();
            // The body is read to its end, so that the connection can be used again.
            let _ = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
            Ok(head.status)
        });
        let status = answered
            .await
            .map_err(|_| again(format!("no answer within {} s", EXPORT_TIMEOUT.as_secs())))??;
        if status.is_success() {
            return Ok(());
        }
        Err(Refused {
            reason: format!("answered {status}"),
            worth_a_retry: [429, 502, 503, 504].contains(&status.as_u16()),
        })
    }
}

/// Wait until the host stops, and a moment longer.
async fn soon_after(stop: &mut watch::Receiver<bool>) {
    // Without the sender of the signal the host has ended.
    let _ = stop.wait_for(|stop| *stop).await;
    tokio::time::sleep(LAST).await;
}

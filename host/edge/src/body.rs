//! Reads the bodies of requests within bounds of time and of bytes: of each body, of all bodies of one peer,
//! and of all bodies together.
//!
//! The rest of a body that is not wanted is read and thrown away. A connection that is closed with unread
//! bytes is reset, and a client that is still sending may then never see its answer. A short rest is read
//! before the answer, and the connection stays open. A longer rest is read after the answer, up to a bound,
//! and the answer says that the connection closes.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use rialto_components::http::{Violation, ViolationKind};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::contained;
use crate::pace::{BodyError, Pace, PacedBody};
use crate::peers::{Share, Shares};
use crate::violation::violation;

/// The longest rest of an unwanted body that is read before the answer, in bytes. Most bodies are shorter,
/// and a new connection costs both sides more.
const SHORT_REST_BYTES: u64 = 64 << 10;
/// How long the host waits for a short rest.
const SHORT_REST_TIME: Duration = Duration::from_millis(250);
/// The longest rest of an unwanted body that is read after the answer, in bytes: three times the longest body
/// of FSPIOP.
const REST_BYTES_MAX: usize = 16 << 20;
/// How long a rest is read after the answer.
const REST_TIME: Duration = Duration::from_secs(5);

/// The memory for bodies: a bound of all connections that share it, and one of each peer.
#[derive(Clone, Debug)]
pub struct Memory {
    all: Arc<Semaphore>,
    bytes_max: usize,
    peers: Shares,
}

impl Memory {
    /// Bounds of `bytes` in all and `of_each_peer` for each peer.
    #[must_use]
    pub fn new(bytes: usize, of_each_peer: usize) -> Self {
        let bytes_max = bytes.min(Semaphore::MAX_PERMITS);
        Self {
            all: Arc::new(Semaphore::new(bytes_max)),
            bytes_max,
            peers: Shares::new(of_each_peer),
        }
    }

    /// Bytes that are reserved.
    #[must_use]
    pub fn used(&self) -> usize {
        self.bytes_max - self.all.available_permits()
    }

    /// Reserve this many bytes for a body of this peer. None if that is more than is left.
    #[must_use]
    pub fn take(&self, peer: IpAddr, bytes: usize) -> Option<MemoryPermit> {
        let count = u32::try_from(bytes).ok()?;
        let share = self.peers.take(peer, bytes)?;
        let permit = self.all.clone().try_acquire_many_owned(count).ok()?;
        Some(MemoryPermit(Some((permit, share))))
    }
}

/// The bytes that a body has reserved, until this is dropped.
#[derive(Debug, Default)]
pub struct MemoryPermit(Option<(OwnedSemaphorePermit, Share)>);

impl MemoryPermit {
    /// Add another reservation of the same peer.
    pub fn add(&mut self, more: Self) {
        match (&mut self.0, more.0) {
            (Some((permit, share)), Some((more, its))) => {
                permit.merge(more);
                share.merge(its);
            }
            (none @ None, more) => *none = more,
            (Some(_), None) => {}
        }
    }
}

/// A body that was read, with its reservation.
#[derive(Debug, Default)]
pub struct ReadBody {
    /// The body.
    pub bytes: Vec<u8>,
    /// Its reservation of memory.
    pub permit: MemoryPermit,
}

impl ReadBody {
    /// Add some bytes of this peer; false if there is no memory for them.
    fn add(&mut self, memory: &Memory, peer: IpAddr, bytes: &[u8]) -> bool {
        let Some(more) = memory.take(peer, bytes.len()) else {
            return false;
        };
        self.permit.add(more);
        self.bytes.extend_from_slice(bytes);
        true
    }
}

/// A body that is being received.
pub struct Inbound {
    incoming: PacedBody,
    peer: IpAddr,
    ended: bool,
}

impl Inbound {
    /// A body of this peer, of which nothing has been read. The peer must send at this pace.
    #[must_use]
    pub fn new(incoming: Incoming, peer: IpAddr, pace: Pace) -> Self {
        Self {
            ended: incoming.is_end_stream(),
            incoming: PacedBody::new(incoming, pace),
            peer,
        }
    }

    /// Refuse a body whose announced length is beyond the bound.
    ///
    /// # Errors
    /// When it is.
    pub fn announced(&self, bytes_max: usize) -> Result<(), Violation> {
        let announced = self.incoming.size_hint().lower();
        if usize::try_from(announced).is_ok_and(|length| length <= bytes_max) {
            Ok(())
        } else {
            Err(too_large(bytes_max))
        }
    }

    /// Read it to its end.
    ///
    /// # Errors
    /// When it is longer than `bytes_max`, does not end in time, breaks off, or when there is no
    /// room in memory.
    pub async fn read(
        &mut self,
        bytes_max: usize,
        memory: &Memory,
        within: Duration,
    ) -> Result<ReadBody, Violation> {
        let reading = timeout(within, async {
            let mut body = ReadBody::default();
            while let Some(frame) = self.incoming.frame().await {
                let frame = match frame {
                    Ok(frame) => frame,
                    // The rest may still come, but the host does not wait for it.
                    Err(slow @ BodyError::Slow) => return Err(cut_off(&slow.to_string())),
                    Err(BodyError::Lost(_)) => {
                        self.ended = true;
                        return Err(cut_off("ended before its announced length"));
                    }
                };
                // Trailers have no meaning here.
                let Ok(data) = frame.into_data() else {
                    continue;
                };
                if data.len() > bytes_max - body.bytes.len() {
                    return Err(too_large(bytes_max));
                }
                if !body.add(memory, self.peer, &data) {
                    let detail = "the host has no room for more bodies now; try again";
                    return Err(violation(ViolationKind::Overloaded, "", detail.to_owned()));
                }
            }
            self.ended = true;
            Ok(body)
        });
        reading
            .await
            .unwrap_or_else(|_| Err(cut_off("did not arrive in time")))
    }

    /// Read or drop the rest of the body so that the client can read its answer.
    pub async fn leave(mut self, headers: &HeaderMap, response: &mut Response<Full<Bytes>>) {
        // A client that waits for `100 Continue` sends nothing without it.
        let sends = !headers.contains_key(http::header::EXPECT);
        let mut short = SHORT_REST_BYTES;
        while sends && !self.ended && self.incoming.size_hint().lower() <= short {
            let Ok(frame) = timeout(SHORT_REST_TIME, self.incoming.frame()).await else {
                break;
            };
            if matches!(frame, Some(Err(BodyError::Slow))) {
                break;
            }
            match length(frame) {
                None => self.ended = true,
                Some(length) => match short.checked_sub(length as u64) {
                    Some(left) => short = left,
                    None => break,
                },
            }
        }
        if self.ended {
            return;
        }
        let close = HeaderValue::from_static("close");
        response
            .headers_mut()
            .insert(http::header::CONNECTION, close);
        if sends {
            let rest = timeout(REST_TIME, rest(self.incoming));
            contained::spawn("reading the rest of a body", rest);
        }
    }
}

/// Read a rest and throw it away.
async fn rest(mut incoming: PacedBody) {
    let mut left = REST_BYTES_MAX;
    while let Some(length) = length(incoming.frame().await) {
        match left.checked_sub(length) {
            Some(less) => left = less,
            None => return,
        }
    }
}

/// The length of a frame; none at the end of the body or after an error.
fn length<E>(frame: Option<Result<hyper::body::Frame<Bytes>, E>>) -> Option<usize> {
    let frame = frame?.ok()?;
    Some(frame.data_ref().map_or(0, Bytes::len))
}

pub(crate) fn too_large(bytes_max: usize) -> Violation {
    let detail = format!("is longer than {bytes_max} bytes");
    violation(ViolationKind::BodyTooLarge, "body", detail)
}

fn cut_off(detail: &str) -> Violation {
    violation(ViolationKind::NotJson, "body", detail.to_owned())
}

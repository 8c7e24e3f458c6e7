//! The bodies of requests while they are received: bodies of calls reserve memory, and bodies of streams end when
//! the listener stops.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::Mutex;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use rialto_edge::pace::PacedBody;
use rialto_edge::{Memory, MemoryPermit};
use rialto_proto::codec::{room, room_per_byte};
use tokio::sync::watch;
use tonic::Status;

/// The memory that a call's body has reserved, until this is dropped.
pub type SharedPermit = Arc<Mutex<MemoryPermit>>;

/// A body that reserves memory for its bytes.
pub struct Measured {
    incoming: PacedBody,
    memory: Memory,
    peer: IpAddr,
    permit: SharedPermit,
    begun: bool,
}

impl Measured {
    /// A body of this peer, of which nothing has been read. Its reservation is added to `permit`.
    pub fn new(incoming: PacedBody, peer: IpAddr, memory: Memory, permit: SharedPermit) -> Self {
        Self {
            incoming,
            memory,
            peer,
            permit,
            begun: false,
        }
    }

    /// Reserve memory for this many more bytes, and for what they may become when they are decoded.
    fn take(&mut self, length: usize) -> Result<(), Status> {
        let bytes = if std::mem::replace(&mut self.begun, true) {
            room_per_byte(length)
        } else {
            room(length)
        };
        let more = self.memory.take(self.peer, bytes);
        let more = more.ok_or_else(|| {
            Status::resource_exhausted("the host has no room for more messages now; try again")
        })?;
        let mut all = self
            .permit
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        all.add(more);
        Ok(())
    }
}

/// A body that ends when the listener stops, or when its time is over. A client that sends endless messages in one
/// request would otherwise keep the listener from stopping.
pub struct Stopped {
    incoming: Incoming,
    stop: Pin<Box<dyn Future<Output = ()> + Send>>,
    stopped: bool,
}

impl Stopped {
    /// A body of which nothing has been read.
    pub fn new(incoming: Incoming, mut stop: watch::Receiver<bool>, within: Duration) -> Self {
        let stop = async move {
            // If the sender of the signal is gone, it stops as well.
            let _ = tokio::time::timeout(within, stop.wait_for(|stop| *stop)).await;
        };
        Self {
            incoming,
            stop: Box::pin(stop),
            stopped: false,
        }
    }
}

impl Body for Stopped {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if self.stopped || self.stop.as_mut().poll(context).is_ready() {
            self.stopped = true;
            return Poll::Ready(None);
        }
        Pin::new(&mut self.incoming).poll_frame(context)
    }
}

impl Body for Measured {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let polled = Pin::new(&mut self.incoming).poll_frame(context);
        polled.map(|frame| {
            let frame = frame?.map_err(|error| {
                // The client is gone, or has violated HTTP/2.
                Status::cancelled(format!("the request ended before its message: {error}"))
            });
            Some(frame.and_then(|frame| {
                self.take(frame.data_ref().map_or(0, Bytes::len))?;
                Ok(frame)
            }))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

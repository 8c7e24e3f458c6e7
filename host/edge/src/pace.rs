//! The slowest pace of a client, against slow-read and slow-write attacks. A client must read an answer, and
//! send a body, at a minimum average rate after a grace period. Otherwise a client that reads or sends one
//! byte now and then would keep a connection and its memory as long as it likes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// The slowest pace of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The minimum average rate, in bytes per second.
    pub bytes_per_second: u64,
    /// The grace period before the rate counts.
    pub grace: Duration,
}

impl Pace {
    /// How long this many bytes may take.
    fn time_for(self, bytes: u64) -> Duration {
        let seconds = bytes / self.bytes_per_second.max(1);
        self.grace.saturating_add(Duration::from_secs(seconds))
    }
}

/// Measures a transfer: the bytes since it began to wait for the client.
struct Progress {
    pace: Pace,
    since: Option<Instant>,
    moved: u64,
    timer: Pin<Box<Sleep>>,
}

impl Progress {
    fn new(pace: Pace) -> Self {
        Self {
            pace,
            since: None,
            moved: 0,
            timer: Box::pin(tokio::time::sleep(Duration::ZERO)),
        }
    }

    fn moved(&mut self, bytes: usize) {
        if self.since.is_some() {
            self.moved = self.moved.saturating_add(bytes as u64);
        }
    }

    /// Note that the transfer waits for the client. Ready when the client is too slow.
    fn waits(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let since = *self.since.get_or_insert_with(Instant::now);
        let Some(until) = since.checked_add(self.pace.time_for(self.moved)) else {
            return Poll::Pending;
        };
        if self.timer.deadline() != until {
            self.timer.as_mut().reset(until);
        }
        self.timer.as_mut().poll(context)
    }

    /// Note that everything was transferred.
    fn done(&mut self) {
        self.since = None;
        self.moved = 0;
    }
}

/// A connection whose client must read at the pace.
pub struct Paced<S> {
    stream: S,
    written: Progress,
}

impl<S> Paced<S> {
    /// Wrap a connection.
    #[must_use]
    pub fn new(stream: S, pace: Pace) -> Self {
        Self {
            stream,
            written: Progress::new(pace),
        }
    }
}

impl<S> Paced<S> {
    fn wrote(
        &mut self,
        context: &mut Context<'_>,
        wrote: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match wrote {
            Poll::Ready(Ok(bytes)) => {
                self.written.moved(bytes);
                Poll::Ready(Ok(bytes))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => {
                ready!(self.written.waits(context));
                let slow = "the client takes too little of its answer";
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, slow)))
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(context, buffer);
        self.wrote(context, wrote)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        self.wrote(context, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        // After a flush nothing is left to write.
        self.written.done();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Why a body ended before its end.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The client is too slow.
    #[error("did not arrive in time")]
    Slow,
    /// The connection broke, or the body is malformed.
    #[error(transparent)]
    Lost(#[from] hyper::Error),
}

/// A body whose client must send at the pace.
pub struct PacedBody {
    incoming: Incoming,
    read: Progress,
}

impl PacedBody {
    /// Wrap a body of which nothing has been read.
    #[must_use]
    pub fn new(incoming: Incoming, pace: Pace) -> Self {
        Self {
            incoming,
            read: Progress::new(pace),
        }
    }
}

impl Body for PacedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match Pin::new(&mut self.incoming).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                self.read.moved(frame.data_ref().map_or(0, Bytes::len));
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(ended) => Poll::Ready(ended.map(|last| last.map_err(BodyError::Lost))),
            Poll::Pending => {
                ready!(self.read.waits(context));
                Poll::Ready(Some(Err(BodyError::Slow)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

    use super::*;

    /// Bytes that are in the pipe between both.
    const PIPE: usize = 100;
    /// A pace that nobody keeps who does not take all at once.
    const FAST: Pace = Pace {
        bytes_per_second: u64::MAX,
        grace: Duration::from_millis(20),
    };
    /// A pace that everybody keeps.
    const PATIENT: Pace = Pace {
        bytes_per_second: 1,
        grace: Duration::from_secs(600),
    };

    #[test]
    fn a_transfer_has_the_grace_and_its_bytes_time() {
        let pace = Pace {
            bytes_per_second: 240,
            grace: Duration::from_secs(5),
        };
        for (bytes, seconds) in [(0, 5), (239, 5), (240, 6), (2_400, 15), (240_000, 1_005)] {
            assert_eq!(pace.time_for(bytes).as_secs(), seconds, "{bytes} bytes");
        }
        let none = Pace {
            bytes_per_second: 0,
            ..pace
        };
        assert_eq!(
            none.time_for(10).as_secs(),
            15,
            "no rate is one byte a second"
        );
    }

    async fn write(near: DuplexStream, length: usize, pace: Pace) -> io::Result<()> {
        let mut near = Paced::new(near, pace);
        near.write_all(&vec![0; length]).await?;
        near.flush().await
    }

    #[tokio::test]
    async fn who_takes_nothing_is_given_up() {
        let (near, _far) = tokio::io::duplex(PIPE);
        let wrote = write(near, 2 * PIPE, FAST).await;
        assert_eq!(wrote.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn who_takes_a_byte_now_and_then_is_given_up() {
        let (near, mut far) = tokio::io::duplex(PIPE);
        let client = tokio::spawn(async move {
            while far.read_u8().await.is_ok() {
                tokio::time::sleep(FAST.grace / 4).await;
            }
        });
        let wrote = write(near, 1_000 * PIPE, FAST).await;
        assert_eq!(wrote.unwrap_err().kind(), io::ErrorKind::TimedOut);
        client.await.unwrap();
    }

    #[tokio::test]
    async fn who_takes_its_answers_has_each_of_them() {
        let (near, mut far) = tokio::io::duplex(PIPE);
        let client = tokio::spawn(async move {
            let mut all = Vec::new();
            far.read_to_end(&mut all).await.unwrap();
            all.len()
        });
        let mut near = Paced::new(near, PATIENT);
        for _ in 0..10 {
            near.write_all(&[0; 2 * PIPE]).await.unwrap();
            near.flush().await.unwrap();
            assert!(
                near.written.since.is_none(),
                "the next one has its own grace"
            );
        }
        drop(near);
        assert_eq!(client.await.unwrap(), 20 * PIPE);
    }
}

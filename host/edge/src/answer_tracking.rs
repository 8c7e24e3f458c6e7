//! Tells the engine when an answer's bytes were written to the connection ([`rialto_engine::Answering`]).
//! Outbound requests that must follow the answer are sent then.
//!
//! 1. The service puts an [`AnswerGuard`] into the answer's extensions.
//! 2. The listener moves the guard into the answer's body ([`TrackedBody`]).
//! 3. When hyper has taken the body's last byte, the body adds the guard to [`UnwrittenAnswers`].
//! 4. Hyper writes all that it has taken before it flushes. The next flush of the [`TrackedStream`], or the
//!    end of the connection, drops the guards.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::Response;
use hyper::body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use rialto_engine::Answering;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Its drop tells that the answer was written. An extension of the answer.
#[derive(Clone)]
pub struct AnswerGuard(
    #[allow(dead_code, reason = "it is let go of by dropping it")] Arc<dyn Send + Sync>,
);

impl AnswerGuard {
    /// A guard that tells the engine.
    #[must_use]
    pub fn new(answering: Answering) -> Self {
        Self(Arc::new(answering))
    }

    /// A guard that tells somebody else by being dropped.
    #[must_use]
    pub fn of(told: Arc<dyn Send + Sync>) -> Self {
        Self(told)
    }
}

/// The guards of one connection's answers that hyper has taken and not written yet.
#[derive(Clone, Default)]
pub(crate) struct UnwrittenAnswers(Arc<Mutex<Vec<AnswerGuard>>>);

impl UnwrittenAnswers {
    fn written(&self) {
        let written = std::mem::take(&mut *self.0.lock());
        // The drop runs the engine's code, so it is outside the lock.
        drop(written);
    }
}

/// The body of an answer, with its guard.
pub(crate) struct TrackedBody<B> {
    body: B,
    guard: Option<AnswerGuard>,
    unwritten: UnwrittenAnswers,
}

impl<B> TrackedBody<B> {
    /// Move the guard from the answer's extensions into its body.
    pub fn of(mut answer: Response<B>, unwritten: UnwrittenAnswers) -> Response<Self> {
        let guard = answer.extensions_mut().remove();
        answer.map(|body| Self {
            body,
            guard,
            unwritten,
        })
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for TrackedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B> Drop for TrackedBody<B> {
    fn drop(&mut self) {
        let mut unwritten = self.unwritten.0.lock();
        unwritten.extend(self.guard.take());
    }
}

/// A connection that drops the guards of its answers when they are written.
pub(crate) struct TrackedStream<S> {
    stream: S,
    unwritten: UnwrittenAnswers,
}

impl<S> TrackedStream<S> {
    /// Wrap a connection, whose answers are tracked in `unwritten`.
    pub fn new(stream: S, unwritten: UnwrittenAnswers) -> Self {
        Self { stream, unwritten }
    }
}

impl<S> Drop for TrackedStream<S> {
    fn drop(&mut self) {
        self.unwritten.written();
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TrackedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TrackedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, buffer)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = ready!(Pin::new(&mut self.stream).poll_flush(context));
        // After a flush nothing is left to write, or the connection is broken.
        self.unwritten.written();
        Poll::Ready(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use std::convert::Infallible;

    use http::Request;
    use http_body_util::Full;
    use hyper::server::conn::http1;
    use hyper::service::service_fn;
    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
    use tokio::sync::oneshot;

    use super::*;

    /// Bytes that are in the pipe between both.
    const PIPE: usize = 64;
    /// Longer than what is in the pipe.
    const BODY: usize = 10 * PIPE;

    /// Tells when it is dropped.
    struct Signal(Option<oneshot::Sender<()>>);

    impl Drop for Signal {
        fn drop(&mut self) {
            let _ = self.0.take().unwrap().send(());
        }
    }

    /// A connection that answers each request with so many bytes for which something waits.
    fn connection(length: usize) -> (DuplexStream, oneshot::Receiver<()>) {
        let (near, far) = tokio::io::duplex(PIPE);
        let (signal, left) = oneshot::channel();
        let unwritten = UnwrittenAnswers::default();
        let stream = TrackedStream::new(near, unwritten.clone());
        let guard = Mutex::new(Some(AnswerGuard(Arc::new(Signal(Some(signal))))));
        tokio::spawn(async move {
            let service = service_fn(|_: Request<hyper::body::Incoming>| {
                let mut answer = Response::new(Full::new(Bytes::from(vec![b'x'; length])));
                let guard = guard.lock().take().unwrap();
                answer.extensions_mut().insert(guard);
                let answer = TrackedBody::of(answer, unwritten.clone());
                async move { Ok::<_, Infallible>(answer) }
            });
            let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            let _ = serving.await;
        });
        (far, left)
    }

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: h\r\n\r\n";

    #[tokio::test]
    async fn an_answer_counts_as_written_after_its_last_byte() {
        let (mut client, mut left) = connection(BODY);
        client.write_all(REQUEST).await.unwrap();
        // The answer has begun, and most of it has no room.
        let mut first = [0];
        client.read_exact(&mut first).await.unwrap();
        assert!(left.try_recv().is_err(), "it is on its way");
        let reads = tokio::spawn(async move {
            let mut rest = Vec::new();
            client.read_to_end(&mut rest).await
        });
        left.await.unwrap();
        reads.abort();
    }

    #[tokio::test]
    async fn an_answer_without_a_body_is_out_too() {
        let (mut client, left) = connection(0);
        client.write_all(REQUEST).await.unwrap();
        let mut head = vec![0; 16];
        client.read_exact(&mut head).await.unwrap();
        left.await.unwrap();
    }

    #[tokio::test]
    async fn nothing_waits_for_an_answer_whose_client_is_gone() {
        let (mut client, left) = connection(BODY);
        client.write_all(REQUEST).await.unwrap();
        let mut first = [0];
        client.read_exact(&mut first).await.unwrap();
        drop(client);
        left.await.unwrap();
    }
}

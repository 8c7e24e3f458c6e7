//! When an answer's bytes have been handed to the connection: then what waits for the answer goes on
//! ([`rialto_engine::Answering`]).
//!
//! An answer takes along what waits for it, in its extensions; the body that the listener makes of it lets
//! go of that when hyper has taken its last byte. What hyper has taken it writes before it flushes: so the
//! next flush that succeeds, or the connection's end, tells that the answer is out.

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

/// What waits for an answer: an extension of the answer.
#[derive(Clone)]
pub struct Awaited(
    #[allow(dead_code, reason = "it is let go of by dropping it")] Arc<dyn Send + Sync>,
);

impl Awaited {
    /// This waits for the answer.
    #[must_use]
    pub fn new(answering: Answering) -> Self {
        Self(Arc::new(answering))
    }
}

/// Answers of one connection that hyper has taken and that are not all written.
#[derive(Clone, Default)]
pub(crate) struct Taken(Arc<Mutex<Vec<Awaited>>>);

impl Taken {
    fn written(&self) {
        let written = std::mem::take(&mut *self.0.lock());
        // What waits goes on here, without the lock.
        drop(written);
    }
}

/// An answer's body.
pub(crate) struct Handed<B> {
    body: B,
    awaited: Option<Awaited>,
    taken: Taken,
}

impl<B> Handed<B> {
    /// The answer, with what waits for it in its body.
    pub fn of(mut answer: Response<B>, taken: Taken) -> Response<Self> {
        let awaited = answer.extensions_mut().remove();
        answer.map(|body| Self {
            body,
            awaited,
            taken,
        })
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Handed<B> {
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

impl<B> Drop for Handed<B> {
    fn drop(&mut self) {
        let mut taken = self.taken.0.lock();
        taken.extend(self.awaited.take());
    }
}

/// A connection that tells when its answers are written.
pub(crate) struct Telling<S> {
    stream: S,
    taken: Taken,
}

impl<S> Telling<S> {
    /// This connection, whose answers are these.
    pub fn new(stream: S, taken: Taken) -> Self {
        Self { stream, taken }
    }
}

impl<S> Drop for Telling<S> {
    fn drop(&mut self) {
        self.taken.written();
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Telling<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Telling<S> {
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
        // Whoever flushes has nothing left to write, or the connection is no more.
        self.taken.written();
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

    /// Tells when it is let go of.
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
        let taken = Taken::default();
        let stream = Telling::new(near, taken.clone());
        let awaited = Mutex::new(Some(Awaited(Arc::new(Signal(Some(signal))))));
        tokio::spawn(async move {
            let service = service_fn(|_: Request<hyper::body::Incoming>| {
                let mut answer = Response::new(Full::new(Bytes::from(vec![b'x'; length])));
                let awaited = awaited.lock().take().unwrap();
                answer.extensions_mut().insert(awaited);
                let answer = Handed::of(answer, taken.clone());
                async move { Ok::<_, Infallible>(answer) }
            });
            let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            let _ = serving.await;
        });
        (far, left)
    }

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: h\r\n\r\n";

    #[tokio::test]
    async fn an_answer_is_out_when_all_its_bytes_are_written_and_not_before() {
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

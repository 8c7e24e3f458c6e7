//! Bodies of requests before they are passed: short ones as a whole, so that they can be sent again; of long ones the
//! beginning.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Frame, SizeHint};

use crate::{AnyBody, BodyError, any_body};

/// The longest body that is gathered as a whole, in bytes: more than most messages have.
const WHOLE_MAX: usize = 256 << 10;

/// A body that was read as far as it is gathered.
pub(crate) enum Gathered {
    /// It can be sent as often as needed.
    Whole(Bytes),
    /// It can be sent once. None when it was sent.
    Long(Option<AnyBody>),
}

impl Gathered {
    /// Read a body.
    ///
    /// # Errors
    /// When the client does not send it to its end.
    pub async fn read<B>(mut body: B) -> Result<Self, BodyError>
    where
        B: Body<Data = Bytes, Error: Into<BodyError>> + Send + Unpin + 'static,
    {
        let mut bytes = BytesMut::new();
        while let Some(frame) = body.frame().await {
            // Trailers of requests mean nothing here.
            let Ok(data) = frame.map_err(Into::into)?.into_data() else {
                continue;
            };
            bytes.extend_from_slice(&data);
            if bytes.len() > WHOLE_MAX {
                let first = Some(bytes.freeze());
                return Ok(Self::Long(Some(any_body(FirstThen { first, rest: body }))));
            }
        }
        Ok(Self::Whole(bytes.freeze()))
    }

    /// A body whose end may come after its answer.
    pub fn as_it_comes<B>(body: B) -> Self
    where
        B: Body<Data = Bytes, Error: Into<BodyError>> + Send + 'static,
    {
        Self::Long(Some(any_body(body)))
    }

    /// The body to send. None if it can be sent no more.
    pub fn take(&mut self) -> Option<AnyBody> {
        match self {
            Self::Whole(bytes) => Some(any_body(Full::new(bytes.clone()))),
            Self::Long(body) => body.take(),
        }
    }

    /// The body was not sent after all.
    pub fn put_back(&mut self, not_sent: AnyBody) {
        if let Self::Long(body) = self {
            *body = Some(not_sent);
        }
    }

    /// Whether it can be sent.
    pub const fn is_there(&self) -> bool {
        !matches!(self, Self::Long(None))
    }
}

/// The beginning of a body, and then its rest.
struct FirstThen<B> {
    first: Option<Bytes>,
    rest: B,
}

impl<B: Body<Data = Bytes> + Unpin> Body for FirstThen<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        Pin::new(&mut self.rest).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let first = self.first.as_ref().map_or(0, |first| first.len() as u64);
        let rest = self.rest.size_hint();
        let mut hint = SizeHint::new();
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper.saturating_add(first));
        }
        hint.set_lower(rest.lower().saturating_add(first));
        hint
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    async fn all(body: AnyBody) -> Bytes {
        body.collect().await.unwrap().to_bytes()
    }

    #[tokio::test]
    async fn a_short_body_can_be_sent_again() {
        let body = Bytes::from_static(b"short");
        let mut gathered = Gathered::read(Full::new(body.clone())).await.unwrap();
        for _ in 0..2 {
            assert_eq!(all(gathered.take().unwrap()).await, body);
        }
        assert!(gathered.is_there());
    }

    #[tokio::test]
    async fn a_long_body_is_sent_once_and_whole() {
        let body = Bytes::from(vec![7; WHOLE_MAX + 1]);
        let mut gathered = Gathered::read(Full::new(body.clone())).await.unwrap();
        let taken = gathered.take().unwrap();
        assert!(!gathered.is_there());
        gathered.put_back(taken);
        assert!(gathered.is_there());
        assert_eq!(all(gathered.take().unwrap()).await, body);
        assert!(gathered.take().is_none());
    }
}

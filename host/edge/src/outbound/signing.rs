//! The host's signature of a request, made before the first attempt. All attempts send the same signature.

use std::pin::Pin;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request};
use http_body_util::Full;
use rialto_engine::network::{FailureKind, OutboundRequest, Outcome, OwnSignature, WhileAway};

use super::{Inner, pause};

/// Signs with the host's own key.
pub trait OwnSigner: Send + Sync + 'static {
    /// The value of the header that has the signature of a body: a JSON object with `signature` and
    /// `protectedHeader`. `members` are those of the protected header, without `alg`.
    fn sign<'s>(
        &'s self,
        members: &'s str,
        body: &'s [u8],
    ) -> Pin<Box<dyn Future<Output = Result<String, NotSigned>> + Send + 's>>;
}

/// Why there is no signature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSigned {
    /// Another try would fail too.
    #[error("the host cannot sign it: {0}")]
    Never(String),
    /// The key cannot be used now.
    #[error("the host cannot sign it now: {0}")]
    Away(String),
}

impl Inner {
    /// Add the signature that a request wants. While the key cannot be used, it waits as between attempts.
    pub(super) async fn sign(
        &self,
        request: &OutboundRequest,
        built: &mut Request<Full<Bytes>>,
    ) -> Result<(), Outcome> {
        let Some(wanted) = &request.signature else {
            return Ok(());
        };
        let body = request.body.as_deref().unwrap_or_default();
        let mut tries = 0;
        loop {
            let not_signed = match self.signer.sign(&wanted.members, body.as_bytes()).await {
                Ok(value) => return add(wanted, &value, built),
                Err(not_signed) => not_signed,
            };
            if let NotSigned::Never(_) = not_signed {
                return Err(failed(FailureKind::NotAllowed, not_signed.to_string()));
            }
            tries += 1;
            let pause = pause(request, tries);
            let waits = request.policy.while_away == WhileAway::Wait;
            if !(waits && self.left(request).is_some_and(|left| left > pause)) {
                return Err(failed(FailureKind::TimedOut, not_signed.to_string()));
            }
            tokio::time::sleep(pause).await;
        }
    }
}

fn add(
    wanted: &OwnSignature,
    value: &str,
    built: &mut Request<Full<Bytes>>,
) -> Result<(), Outcome> {
    let unusable = |what: &str| {
        let reason = format!("the header of its signature has an unusable {what}");
        failed(FailureKind::NotAllowed, reason)
    };
    let name = HeaderName::from_bytes(wanted.header.as_bytes());
    let value = HeaderValue::from_str(value);
    let (name, value) = (
        name.map_err(|_| unusable("name"))?,
        value.map_err(|_| unusable("value"))?,
    );
    built.headers_mut().insert(name, value);
    Ok(())
}

fn failed(kind: FailureKind, reason: String) -> Outcome {
    Outcome::Failed {
        kind,
        reason,
        response: None,
    }
}

//! Signatures of outbound requests by the hub's own key, which is in a file or at a provider of keys.
//!
//! They are made while the request is on its way out. No turn waits for one.

use std::pin::Pin;
use std::sync::Arc;
use std::thread::available_parallelism;

use rialto_edge::{NotSigned, OwnSigner};
use rialto_engine::Clock;
use rialto_keys::{Algorithm, HOST, KeyError, Keys, OwnKey};
use rialto_signatures::jws::{self, Signed, Unsigned};
use rialto_signatures::{self as signatures, Keyring};
use serde::Serialize;
use tokio::sync::{Semaphore, oneshot};

/// Signs with the hub's own key.
pub struct HubSigner {
    ring: Arc<Keyring>,
    keys: Arc<Keys>,
    clock: Arc<dyn Clock>,
    /// Signatures in this process at a time: more would take the processor from turns.
    permits: Semaphore,
}

/// The value of the header.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Value<'a> {
    signature: &'a str,
    protected_header: &'a str,
}

impl HubSigner {
    /// A signer with the key of a ring, or else the own key of the providers.
    #[must_use]
    pub fn new(ring: Arc<Keyring>, keys: Arc<Keys>, clock: Arc<dyn Clock>) -> Self {
        let at_once = available_parallelism().map_or(1, usize::from);
        Self {
            ring,
            keys,
            clock,
            permits: Semaphore::new(at_once),
        }
    }

    async fn signed(&self, members: &str, body: &[u8]) -> Result<Signed, NotSigned> {
        let Some(own) = self.keys.own() else {
            let (ring, members, body) = (self.ring.clone(), members.to_owned(), body.to_vec());
            let signed = self.here(move || ring.sign(&members, &body)).await?;
            let signed = signed.map_err(|error| NotSigned::Never(error.to_string()))?;
            return signed.ok_or_else(|| NotSigned::Never("it has no key of its own".to_owned()));
        };
        let unsigned = jws::unsigned(algorithm(&own), members, body);
        let unsigned = unsigned.map_err(|error| NotSigned::Never(error.to_string()))?;
        let signature = self.at_provider(&own, &unsigned).await?;
        let signature = signature.map_err(|error| match error {
            KeyError::ProviderAway(why) => NotSigned::Away(why),
            error => NotSigned::Never(error.to_string()),
        })?;
        Ok(unsigned.signed(&signature))
    }

    async fn at_provider(
        &self,
        own: &OwnKey,
        unsigned: &Unsigned,
    ) -> Result<Result<Vec<u8>, KeyError>, NotSigned> {
        let now = self.clock.now().0;
        let (reference, input) = (own.reference.clone(), unsigned.input.clone());
        let sign = move |keys: &Keys| keys.sign(HOST, &reference, now, input.as_bytes());
        if !self.keys.is_remote(&own.provider) {
            let keys = self.keys.clone();
            return self.here(move || sign(&keys)).await;
        }
        let (answer, answered) = oneshot::channel();
        self.keys.call_outside(&own.provider, sign, |signature| {
            // Nobody waits any more when the host stops.
            let _ = answer.send(signature);
        });
        answered.await.map_err(|_| lost())
    }

    /// Do work of the processor on a thread for that.
    async fn here<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NotSigned> {
        let _permit = self.permits.acquire().await.map_err(|_| lost())?;
        let worked = tokio::task::spawn_blocking(work).await;
        worked.map_err(|_| lost())
    }
}

/// The signature's thread has ended without one.
fn lost() -> NotSigned {
    NotSigned::Away("its signature was lost".to_owned())
}

const fn algorithm(own: &OwnKey) -> signatures::Algorithm {
    match own.algorithm {
        Algorithm::Es256 => signatures::Algorithm::Es256,
        _ => signatures::Algorithm::Rs256,
    }
}

impl OwnSigner for HubSigner {
    fn sign<'s>(
        &'s self,
        members: &'s str,
        body: &'s [u8],
    ) -> Pin<Box<dyn Future<Output = Result<String, NotSigned>> + Send + 's>> {
        Box::pin(async move {
            let signed = self.signed(members, body).await?;
            let value = serde_json::to_string(&Value {
                signature: &signed.signature,
                protected_header: &signed.protected_header,
            });
            value.map_err(|error| NotSigned::Never(error.to_string()))
        })
    }
}

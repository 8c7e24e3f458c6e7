//! Private keys at a provider: handshakes wait for its signatures, and nothing else does.
//!
//! The library asks for a signature in the middle of a handshake, on a thread of the runtime, and takes no promise for
//! an answer. A provider may be slow or away. So:
//!
//! - The thread that waits gives its other tasks to another thread (`block_in_place`). Tasks of open connections go on.
//! - A signature is waited for [`SIGNED_WITHIN`]. Then the handshake has failed.
//! - Of one key, at most [`SIGNATURES_AT_ONCE`] signatures are under way. One more handshake fails at once. A signature
//!   whose handshake has given up counts until the provider answers. So strangers who open connections take no more
//!   than this of the runtime's threads and of the provider's queue, which turns use too.
//! - A signature is verified before it leaves: a provider that signs wrongly is found here and not at the client.
//! - The log has the first failure, then one line in 30 s, and the first success after failures.
//!
//! The one algorithm is ECDSA on P-256 with SHA-256. TLS 1.3 does not have what providers sign with RSA (PKCS #1).

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::{
    SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer, alg_id,
};
use tokio_rustls::rustls::sign::{Signer, SigningKey};
use tokio_rustls::rustls::{Error, SignatureAlgorithm, SignatureScheme};
use x509_parser::prelude::FromDer as _;
use x509_parser::x509::SubjectPublicKeyInfo;

use crate::private_key::BadReference;

/// How long a handshake waits for a signature.
pub const SIGNED_WITHIN: Duration = Duration::from_secs(5);
/// Signatures of one key that are under way at a time.
pub const SIGNATURES_AT_ONCE: usize = 32;
/// The least time between two lines of the log about failures of one key.
const TOLD_EVERY: Duration = Duration::from_secs(30);
/// What keys sign with.
const SCHEME: SignatureScheme = SignatureScheme::ECDSA_NISTP256_SHA256;

/// What a provider answers: the signature as DER (RFC 3279, 2.2.3), or why there is none.
pub type Signed = Result<Vec<u8>, String>;

/// A private key on P-256 at a provider.
pub trait RemoteKey: fmt::Debug + Send + Sync {
    /// Its public key: SubjectPublicKeyInfo, DER.
    fn public_key(&self) -> &[u8];

    /// Have a message signed with ECDSA and SHA-256. It does not wait: `done` gets the answer, here or on another
    /// thread. An answer that never comes is none if `done` is dropped.
    fn sign(&self, message: Vec<u8>, done: Box<dyn FnOnce(Signed) + Send>);
}

/// Signs handshakes with a key at a provider. A clone is the same.
#[derive(Clone)]
pub(crate) struct RemoteSigner(Arc<Inner>);

struct Inner {
    key: Arc<dyn RemoteKey>,
    /// The certificate's file, for the log.
    certificate: PathBuf,
    /// The public key as signatures are verified with it.
    point: Vec<u8>,
    verifier: &'static dyn SignatureVerificationAlgorithm,
    permits: Arc<Semaphore>,
    health: Mutex<Health>,
}

/// How the key does.
#[derive(Default)]
struct Health {
    /// Whether the last signature failed.
    is_failing: bool,
    /// When the log was last told.
    told: Option<Instant>,
    /// Failures since.
    untold: u64,
}

impl fmt::Debug for RemoteSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteSigner({})", self.0.certificate.display())
    }
}

impl RemoteSigner {
    /// A signer for the certificate in a file.
    ///
    /// # Errors
    /// When the key is of another kind.
    pub fn new(key: Arc<dyn RemoteKey>, certificate: &Path) -> Result<Self, BadReference> {
        let other = || BadReference("TLS takes keys of the algorithm ES256 (P-256)".to_owned());
        let point = point(key.public_key()).ok_or_else(other)?;
        Ok(Self(Arc::new(Inner {
            certificate: certificate.to_owned(),
            point,
            verifier: verifier().ok_or_else(other)?,
            key,
            permits: Arc::new(Semaphore::new(SIGNATURES_AT_ONCE)),
            health: Mutex::default(),
        })))
    }
}

impl Inner {
    fn signature(&self, message: &[u8]) -> Signed {
        let permit = self.permits.clone().try_acquire_owned();
        let permit = permit.map_err(|_| {
            format!("{SIGNATURES_AT_ONCE} handshakes wait for their signatures already")
        })?;
        let (tell, told) = sync_channel(1);
        let done = move |signed: Signed| {
            drop(permit);
            // Nobody waits any more for an answer that is late.
            let _ = tell.send(signed);
        };
        self.key.sign(message.to_vec(), Box::new(done));
        let lost = || Err("the provider has lost the signature".to_owned());
        let late = || {
            let seconds = SIGNED_WITHIN.as_secs();
            Err(format!("there was no signature for {seconds} s"))
        };
        let signed = match told.try_recv() {
            Ok(signed) => signed,
            Err(TryRecvError::Disconnected) => lost(),
            Err(TryRecvError::Empty) => match waiting(|| told.recv_timeout(SIGNED_WITHIN)) {
                Ok(signed) => signed,
                Err(RecvTimeoutError::Disconnected) => lost(),
                Err(RecvTimeoutError::Timeout) => late(),
            },
        };
        let signature = signed?;
        let verified = self
            .verifier
            .verify_signature(&self.point, message, &signature);
        verified.map_err(|_| "the provider's signature is not one of the key".to_owned())?;
        Ok(signature)
    }

    fn failed(&self, error: &str) {
        let mut health = self.health.lock();
        health.is_failing = true;
        health.untold += 1;
        if health.told.is_some_and(|told| told.elapsed() < TOLD_EVERY) {
            return;
        }
        let failures = std::mem::take(&mut health.untold);
        health.told = Some(Instant::now());
        let certificate = self.certificate.display();
        tracing::warn!(%certificate, failures, error, "TLS handshakes fail, because the private key does not sign; open connections go on");
    }

    fn worked(&self) {
        let mut health = self.health.lock();
        if std::mem::take(&mut health.is_failing) {
            // The next failure is told at once.
            *health = Health::default();
            let certificate = self.certificate.display();
            tracing::info!(%certificate, "the private key signs TLS handshakes again");
        }
    }
}

impl SigningKey for RemoteSigner {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let is_offered = offered.contains(&SCHEME);
        is_offered.then(|| Box::new(self.clone()) as Box<dyn Signer>)
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        Some(self.0.key.public_key().into())
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ECDSA
    }
}

impl Signer for RemoteSigner {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        match self.0.signature(message) {
            Ok(signature) => {
                self.0.worked();
                Ok(signature)
            }
            Err(error) => {
                self.0.failed(&error);
                Err(Error::General(error))
            }
        }
    }

    fn scheme(&self) -> SignatureScheme {
        SCHEME
    }
}

/// Wait, while another thread does the other tasks of this one.
fn waiting<T>(wait: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|handle| handle.runtime_flavor());
    if matches!(flavor, Ok(RuntimeFlavor::MultiThread)) {
        return tokio::task::block_in_place(wait);
    }
    wait()
}

/// The point of a public key on P-256. None for other keys.
fn point(public_key: &[u8]) -> Option<Vec<u8>> {
    let (rest, parsed) = SubjectPublicKeyInfo::from_der(public_key).ok()?;
    let curve = parsed.algorithm.parameters.as_ref()?.as_oid().ok()?;
    let is_p256 = curve == x509_parser::oid_registry::OID_EC_P256;
    (is_p256 && rest.is_empty()).then(|| parsed.subject_public_key.data.to_vec())
}

fn verifier() -> Option<&'static dyn SignatureVerificationAlgorithm> {
    let all = aws_lc_rs::default_provider().signature_verification_algorithms;
    let (_, algorithms) = all.mapping.iter().find(|(scheme, _)| *scheme == SCHEME)?;
    let mut algorithms = algorithms.iter();
    let found = algorithms.find(|one| one.public_key_alg_id() == alg_id::ECDSA_P256)?;
    Some(*found)
}

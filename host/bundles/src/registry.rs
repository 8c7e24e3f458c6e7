//! Bundles in registries, by the OCI distribution protocol.
//!
//! A registry is not trusted: all that it gives is bounded, and compared with its digest. Plain HTTP is spoken with this
//! machine, and elsewhere only if the caller says so; then no credentials are sent.

mod credentials;
mod failure;
mod place;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::HeaderValue;
use oci_client::client::{Certificate, CertificateEncoding, ClientConfig, ClientProtocol};
use oci_client::errors::OciDistributionError;
use oci_client::manifest::OciDescriptor;
use oci_client::{Client, Reference, RegistryOperation};
use tokio::io::AsyncWrite;

use crate::manifest::{Descriptor, MANIFEST, Manifest};
use crate::{Bundle, BundleError, Digest};

pub use credentials::{BadCredentials, Credentials};
pub use failure::RegistryError;
pub use place::{BadPlace, Place, Pointer};

/// How long a connection may take to open.
const CONNECT: Duration = Duration::from_secs(10);
/// How long a registry may be silent.
const SILENCE: Duration = Duration::from_secs(30);
/// How long a manifest may take, and the handshake of credentials.
const MANIFEST_TIME: Duration = Duration::from_secs(60);
/// What is asked for. Other types than a bundle's are asked for too, so that the message can name what is there.
const ACCEPTED: [&str; 4] = [
    MANIFEST,
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
];
/// What each certificate begins with.
const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
/// The client's name for registries.
const AGENT: &str = concat!("rialto/", env!("CARGO_PKG_VERSION"));

/// How a registry is asked.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Whether plain HTTP may be spoken with another machine.
    pub plain_http: bool,
    /// The certificates of the authorities that may have certified the registry, PEM, in the place of the system's.
    pub authorities: Option<Vec<u8>>,
    /// Who asks.
    pub credentials: Credentials,
}

impl Access {
    /// Whether a registry is asked by plain HTTP. One on this machine has TLS only if its authority is named.
    fn is_plain(&self, place: &Place) -> bool {
        self.plain_http || (place.is_loopback() && self.authorities.is_none())
    }

    fn client(&self, place: &Place) -> Result<Client, RegistryError> {
        let is_plain = self.is_plain(place);
        if is_plain && !place.is_loopback() && !self.credentials.are_none() {
            return Err(RegistryError::BareCredentials(place.registry().to_owned()));
        }
        if let Some(text) = &self.authorities {
            let mark = BEGIN.as_bytes();
            if !text.windows(mark.len()).any(|part| part == mark) {
                return Err(RegistryError::NoAuthority);
            }
        }
        let certificate = |data: &Vec<u8>| Certificate {
            encoding: CertificateEncoding::Pem,
            data: data.clone(),
        };
        let config = ClientConfig {
            protocol: if is_plain {
                ClientProtocol::Http
            } else {
                ClientProtocol::Https
            },
            tls_certs_only: self.authorities.iter().map(certificate).collect(),
            read_timeout: Some(SILENCE),
            connect_timeout: Some(CONNECT),
            user_agent: AGENT,
            ..ClientConfig::default()
        };
        Client::try_from(config).map_err(|error| RegistryError::of(place, error))
    }
}

/// Put a bundle into a registry, under a tag. Returns the digest of its manifest, by which it can be pulled.
///
/// # Errors
/// When the registry cannot be reached, or does not take it.
pub async fn push(
    bundle: &Bundle,
    place: &Place,
    access: &Access,
) -> Result<Digest, RegistryError> {
    if place.digest().is_some() {
        return Err(RegistryError::PushNeedsTag);
    }
    let client = access.client(place)?;
    let reference = place.reference();
    let failed = |error| RegistryError::of(place, error);
    let auth = access.credentials.auth();
    let handshake = client.auth(&reference, &auth, RegistryOperation::Push);
    in_time(place, handshake).await?;
    let written = bundle.written();
    let files = bundle.files().map(|(_, file)| &file.bytes);
    // Files with the same bytes are one blob.
    let blobs: BTreeMap<Digest, &Vec<u8>> = files
        .chain([&written.config])
        .map(|bytes| (Digest::of(bytes), bytes))
        .collect();
    for (digest, bytes) in blobs {
        let digest = digest.to_string();
        let is_there = client.blob_exists(&reference, &digest).await;
        if !is_there.map_err(failed)? {
            let pushed = client.push_blob(&reference, bytes.clone(), &digest).await;
            pushed.map_err(failed)?;
        }
    }
    let digest = Digest::of(&written.manifest);
    let media_type = HeaderValue::from_static(MANIFEST);
    let pushed = client.push_manifest_raw(&reference, written.manifest, media_type);
    pushed.await.map_err(failed)?;
    Ok(digest)
}

/// Get a bundle from a registry.
///
/// # Errors
/// When the registry cannot be reached or does not have it, or what it gives is not exactly a bundle.
pub async fn pull(place: &Place, access: &Access) -> Result<Bundle, RegistryError> {
    let client = access.client(place)?;
    let reference = place.reference();
    let auth = access.credentials.auth();
    let handshake = client.auth(&reference, &auth, RegistryOperation::Pull);
    in_time(place, handshake).await?;
    let asked = client.pull_manifest_raw(&reference, &auth, &ACCEPTED);
    let (own, _) = in_time(place, asked).await?;
    if let Some(wanted) = place.digest() {
        let found = Digest::of(&own);
        if found != wanted {
            return Err(RegistryError::Lies(BundleError::Changed {
                what: "the manifest".to_owned(),
                wanted,
                found,
            }));
        }
    }
    let manifest = Manifest::read(&own)?;
    let mut blobs: HashMap<Digest, Vec<u8>> = HashMap::new();
    for blob in manifest.blobs() {
        if let Entry::Vacant(new) = blobs.entry(blob.digest) {
            let bytes = fetch(&client, &reference, place, blob).await?;
            blob.check(&bytes).map_err(RegistryError::Lies)?;
            new.insert(bytes);
        }
    }
    let bundle = manifest.bundle(&own, |blob| {
        let bytes = blobs.get(&blob.digest).map(Vec::as_slice);
        bytes.ok_or_else(|| BundleError::Missing { name: blob.what() })
    });
    Ok(bundle?)
}

/// Reads a blob, at most as many bytes as the manifest says.
async fn fetch(
    client: &Client,
    reference: &Reference,
    place: &Place,
    blob: &Descriptor,
) -> Result<Vec<u8>, RegistryError> {
    let descriptor = OciDescriptor {
        digest: blob.digest.to_string(),
        ..OciDescriptor::default()
    };
    let mut bounded = Bounded {
        bytes: Vec::new(),
        max: usize::try_from(blob.size).unwrap_or(usize::MAX),
        is_over: false,
    };
    let pulled = client.pull_blob(reference, &descriptor, &mut bounded).await;
    if bounded.is_over {
        return Err(RegistryError::Longer {
            what: blob.what(),
            wanted: blob.size,
        });
    }
    match pulled {
        Ok(()) => Ok(bounded.bytes),
        Err(OciDistributionError::DigestError(_)) => {
            // The message has the file's name. If the client is wrong about the bytes, they can be used.
            blob.check(&bounded.bytes).map_err(RegistryError::Lies)?;
            Ok(bounded.bytes)
        }
        Err(error) => Err(RegistryError::of(place, error)),
    }
}

/// Waits for an answer, for a bounded time.
async fn in_time<T>(
    place: &Place,
    asked: impl Future<Output = Result<T, OciDistributionError>>,
) -> Result<T, RegistryError> {
    match tokio::time::timeout(MANIFEST_TIME, asked).await {
        Ok(answer) => answer.map_err(|error| RegistryError::of(place, error)),
        Err(_) => Err(RegistryError::Away {
            registry: place.registry().to_owned(),
            why: format!("it has not answered for {} s", MANIFEST_TIME.as_secs()),
        }),
    }
}

/// Keeps at most some bytes.
struct Bounded {
    bytes: Vec<u8>,
    max: usize,
    /// Whether more were written.
    is_over: bool,
}

impl AsyncWrite for Bounded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if bytes.len() > self.max - self.bytes.len() {
            self.is_over = true;
            return Poll::Ready(Err(io::ErrorKind::FileTooLarge.into()));
        }
        self.bytes.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

//! Private keys of TLS that a provider of `[keys]` has: the references in the operator's document, and signatures for
//! handshakes. `rialto tls-key` makes keys; a host only uses them.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rialto_certificates::ecdsa_der;
use rialto_keys::{Algorithm, KeyError, Keys, TLS};
use rialto_manifest::Operator;
use rialto_manifest::tls::{TlsKey, TlsKeyProvider};
use rialto_tls::{BadReference, KeyReference, PrivateKey, RemoteKey, Signed};

/// What a private key is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A listener, by its name.
    Listener(String),
    /// Most outbound requests.
    Outbound,
    /// Outbound requests to one destination, by its origin.
    Destination(String),
}

impl Place {
    /// The arguments of `rialto tls-key` for it.
    #[must_use]
    pub fn arguments(&self) -> String {
        match self {
            Self::Listener(name) => format!("--listener {name}"),
            Self::Outbound => "--outbound".to_owned(),
            Self::Destination(origin) => format!("--destination '{origin}'"),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listener(name) => write!(f, "`tls` of the listener `{name}`"),
            Self::Outbound => f.write_str("`outbound.tls`"),
            Self::Destination(origin) => write!(f, "`outbound.tls` of the destination `{origin}`"),
        }
    }
}

/// The private keys of an operator's document, each with its certificate's file from the document.
#[must_use]
pub fn all(operator: &Operator) -> Vec<(Place, &rialto_manifest::values::FilePath, TlsKey<'_>)> {
    let listeners = operator.listeners.iter().filter_map(|(name, listener)| {
        let tls = listener.tls.as_ref()?;
        let place = Place::Listener(name.to_string());
        Some((place, &tls.certificate, tls.private_key()?))
    });
    let tls = &operator.outbound.tls;
    let usual = tls.identity();
    let usual = usual.map(|(certificate, key)| (Place::Outbound, certificate, key));
    let destinations = tls.destinations.iter().filter_map(|one| {
        let (certificate, key) = one.identity()?;
        Some((Place::Destination(one.origin.to_string()), certificate, key))
    });
    listeners.chain(usual).chain(destinations).collect()
}

/// The references of an operator's document.
fn references(operator: &Operator) -> impl Iterator<Item = (Place, &TlsKeyProvider)> {
    let all = all(operator).into_iter();
    all.filter_map(|(place, _, key)| match key {
        TlsKey::Provider(wanted) => Some((place, wanted)),
        TlsKey::File(_) => None,
    })
}

/// Whether the operator's document names a provider of a private key.
#[must_use]
pub fn has_any(operator: &Operator) -> bool {
    references(operator).next().is_some()
}

/// Whether a reference's file is there.
#[must_use]
pub fn is_any_made(operator: &Operator, scheme: &Path) -> bool {
    // A path that cannot be looked at is for whoever opens it to explain.
    references(operator).any(|(_, wanted)| {
        let path = wanted.reference.from_folder(scheme);
        path.try_exists().unwrap_or(true)
    })
}

/// Look whether each reference's file is there. It opens none.
///
/// # Errors
/// When one is missing, with the command that makes it.
pub fn are_made(operator: &Operator, scheme: &Path) -> anyhow::Result<()> {
    for (place, wanted) in references(operator) {
        let path = wanted.reference.from_folder(scheme);
        if matches!(path.try_exists(), Ok(false)) {
            anyhow::bail!("{place}: {}", missing(&path, scheme, &place));
        }
    }
    Ok(())
}

fn missing(path: &Path, scheme: &Path, place: &Place) -> String {
    format!(
        "there is no reference of a private key in {}: restore it from a backup, or have `rialto tls-key {} {} --name HOST` make a key and print the request for its certificate",
        path.display(),
        scheme.display(),
        place.arguments()
    )
}

/// The private key of a place, as TLS uses it.
#[must_use]
pub fn private_key(place: Place, key: TlsKey<'_>, scheme: &Path, keys: &Keys) -> PrivateKey {
    match key {
        TlsKey::File(path) => PrivateKey::File(path.from_folder(scheme)),
        TlsKey::Provider(wanted) => PrivateKey::Provider(Arc::new(Reference {
            place,
            file: wanted.reference.from_folder(scheme),
            provider: wanted.provider.to_string(),
            scheme: scheme.to_owned(),
            keys: keys.clone(),
        })),
    }
}

/// The reference of a private key.
#[derive(Debug)]
struct Reference {
    place: Place,
    file: PathBuf,
    /// The provider that the document wants.
    provider: String,
    scheme: PathBuf,
    keys: Keys,
}

impl KeyReference for Reference {
    fn file(&self) -> &Path {
        &self.file
    }

    fn open(&self) -> Result<Arc<dyn RemoteKey>, BadReference> {
        let text = match fs::read_to_string(&self.file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(BadReference(missing(&self.file, &self.scheme, &self.place)));
            }
            Err(error) => return Err(BadReference(format!("it cannot be read: {error}"))),
        };
        let public_key = public_key(&self.keys, &self.provider, text.trim())?;
        Ok(Arc::new(HandshakeKey {
            reference: text.trim().to_owned(),
            provider: self.provider.clone(),
            public_key,
            keys: self.keys.clone(),
        }))
    }
}

/// The public key (SubjectPublicKeyInfo, DER) of a reference, which must be of a private key of TLS at this provider. The
/// provider is not asked.
///
/// # Errors
/// When it is none.
pub fn public_key(keys: &Keys, provider: &str, reference: &str) -> Result<Vec<u8>, BadReference> {
    let unopened = |error: KeyError| {
        BadReference(format!(
            "the reference opens no private key of TLS: {error}; restore it from a backup, or remove it and have `rialto tls-key` make a new key"
        ))
    };
    let (attributes, found) = keys.attributes(TLS, reference).map_err(unopened)?;
    if (attributes.algorithm, &*found) != (Algorithm::Es256, provider) {
        return Err(BadReference(format!(
            "the key is of the algorithm {:?} at the provider `{found}`, and the document wants {:?} at `{provider}`",
            attributes.algorithm,
            Algorithm::Es256
        )));
    }
    let public_key = keys.public_key(TLS, reference).map_err(unopened)?;
    public_key.ok_or_else(|| BadReference("the key has no public key".to_owned()))
}

/// A private key that signs handshakes.
struct HandshakeKey {
    reference: String,
    provider: String,
    public_key: Vec<u8>,
    keys: Keys,
}

impl fmt::Debug for HandshakeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HandshakeKey({})", self.provider)
    }
}

impl RemoteKey for HandshakeKey {
    fn public_key(&self) -> &[u8] {
        &self.public_key
    }

    fn sign(&self, message: Vec<u8>, done: Box<dyn FnOnce(Signed) + Send>) {
        let reference = self.reference.clone();
        let sign = move |keys: &Keys| keys.sign(TLS, &reference, now(), &message);
        let done = |signature: Result<Vec<u8>, KeyError>| {
            let signature = signature.map_err(|error| error.to_string());
            let der = |fixed: Vec<u8>| {
                ecdsa_der(&fixed).ok_or_else(|| "the provider's signature is malformed".to_owned())
            };
            done(signature.and_then(der));
        };
        if self.keys.is_remote(&self.provider) {
            self.keys.call_outside(&self.provider, sign, done);
        } else {
            done(sign(&self.keys));
        }
    }
}

/// Now: UTC, milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

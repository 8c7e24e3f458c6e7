//! A master key in a file, encrypted with a key of a provider: a token, or a service. Who has the file alone has nothing, and
//! who takes the token or the service away ends the use of every key of the host at its next start.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use aws_lc_rs::rand::{SecureRandom as _, SystemRandom};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::attributes::{Algorithm, Attributes, Purpose};
use crate::error::KeyError;
use crate::master::{MASTER_BYTES, MasterError};
use crate::provider::Provider;

/// The form of the file.
const FORM: u32 = 1;
/// What is encrypted is a master key, and nothing that a component could have had encrypted: it has no such reference.
const ASSOCIATED: &[u8] = b"rialto master key 1";

/// The provider whose key encrypts a master key.
#[derive(Clone)]
pub struct SealedBy(pub Arc<dyn Provider>);

impl fmt::Debug for SealedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealedBy({})", self.0.kind())
    }
}

/// The content of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sealed {
    form: u32,
    /// How the provider finds its key: base64.
    key: String,
    /// The master key, encrypted: base64.
    master: String,
}

/// Read the file. It is made, with a new master key under a new key of the provider, if it is missing and `may_make`. Calls
/// the provider and waits for it.
pub(crate) fn read(
    path: &Path,
    SealedBy(provider): &SealedBy,
    may_make: bool,
) -> Result<Zeroizing<[u8; MASTER_BYTES]>, MasterError> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let owner = rialto_files::folder(folder.unwrap_or(Path::new(".")))?;
    let refused = |source| MasterError::Provider {
        path: path.to_owned(),
        source,
    };
    if !rialto_files::accept_if_there(path, owner)? && may_make {
        make(path, &**provider).map_err(|error| match error {
            NotMade::Provider(source) => refused(source),
            NotMade::Other(error) => error,
        })?;
    }
    let text = std::fs::read_to_string(path).map_err(|source| MasterError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    let form = || MasterError::SealedForm(path.to_owned());
    let sealed: Sealed = serde_json::from_str(&text).map_err(|_| form())?;
    if sealed.form != FORM {
        return Err(form());
    }
    let material = STANDARD.decode(&sealed.key).map_err(|_| form())?;
    let master = STANDARD.decode(&sealed.master).map_err(|_| form())?;
    let opened = provider
        .open(&attributes(), &Zeroizing::new(material))
        .and_then(|key| key.decrypt(&master, ASSOCIATED));
    let opened = Zeroizing::new(opened.map_err(refused)?);
    let mut bytes = Zeroizing::new([0; MASTER_BYTES]);
    if opened.len() != MASTER_BYTES {
        return Err(form());
    }
    bytes.copy_from_slice(&opened);
    Ok(bytes)
}

enum NotMade {
    Provider(KeyError),
    Other(MasterError),
}

impl From<KeyError> for NotMade {
    fn from(error: KeyError) -> Self {
        Self::Provider(error)
    }
}

fn make(path: &Path, provider: &dyn Provider) -> Result<(), NotMade> {
    let other = NotMade::Other;
    let mut bytes = Zeroizing::new([0; MASTER_BYTES]);
    let drawn = SystemRandom::new().fill(&mut *bytes);
    drawn.map_err(|_| other(MasterError::Random))?;
    let made = provider.generate(&attributes())?;
    let sealed = provider
        .open(&attributes(), &made.material)
        .and_then(|key| key.encrypt(&*bytes, ASSOCIATED));
    let written = sealed.map_err(NotMade::from).and_then(|master| {
        let sealed = Sealed {
            form: FORM,
            key: STANDARD.encode(&*made.material),
            master: STANDARD.encode(master),
        };
        let text = serde_json::to_string(&sealed);
        let text = text.map_err(|error| {
            let path = path.to_owned();
            let source = error.into();
            other(MasterError::Unreadable { path, source })
        })?;
        let made = rialto_files::make_once(path, &[text.as_bytes(), b"\n"]);
        made.map_err(|error| other(error.into()))
    });
    if !matches!(written, Ok(true)) {
        // Another process has made the file, or nobody has: nothing is encrypted with this key.
        if let Err(error) = provider.destroy(&made.material) {
            let name = provider.name_of(&made.material).unwrap_or_default();
            tracing::warn!(%error, name, "a key that was made for a master key is of no use and stays at its provider");
        }
    }
    if written? {
        let name = provider.name_of(&made.material).unwrap_or_default();
        tracing::warn!(path = %path.display(), name, "a new master key was made, encrypted with a key of a provider: keep a copy of the file, because without it, or without that key, no sealed key of this host can be used");
    }
    Ok(())
}

fn attributes() -> Attributes {
    Attributes {
        label: "master key of a host".to_owned(),
        purpose: Purpose::Encrypt,
        algorithm: Algorithm::A256Gcm,
        not_after: None,
    }
}

//! Master keys, which seal what the host says of a key. A sealed key can lie in a store, in a backup and in a
//! component: without the master key it is of no use.
//!
//! The first master key seals. The others open what was sealed before, so that the master key can be replaced while
//! keys are in use.

use std::fmt;
use std::path::{Path, PathBuf};

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::rand::{SecureRandom as _, SystemRandom};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rialto_files::FileError;
use zeroize::Zeroizing;

use crate::error::KeyError;
use crate::locked::Locked;
use crate::sealed_master::{self, SealedBy};

/// Bytes of a master key.
pub const MASTER_BYTES: usize = 32;
/// Bytes of a master key's id.
const ID_BYTES: usize = 8;
/// The first byte of a reference. It says how the rest is made.
const VERSION: u8 = 1;
/// The longest reference that is looked at, in characters.
const REFERENCE_CHARS_MAX: usize = 16 * 1024;

/// Where a master key is.
#[derive(Clone, Debug)]
pub enum MasterSource {
    /// In a file: 44 characters of base64 and a line's end.
    File(PathBuf),
    /// In an environment variable, in the same form.
    Variable(String),
    /// In a file, encrypted with a key of a provider.
    Sealed(PathBuf, SealedBy),
}

/// Why a master key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MasterError {
    /// No master key at all.
    #[error("there is no master key: name a file or an environment variable")]
    Missing,
    /// The file cannot be made or read, or others can read it.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file cannot be read.
    #[error("{path} cannot be read")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is no such variable.
    #[error("the environment variable `{0}` of a master key is not set")]
    NoVariable(String),
    /// It has another form.
    #[error(
        "{0} is no master key: it must be 32 random bytes as base64, as `openssl rand -base64 32` prints them"
    )]
    Form(String),
    /// It is no file of an encrypted master key.
    #[error(
        "{path} has no encrypted master key: bring back its copy, or take it away if nothing was sealed with it",
        path = .0.display()
    )]
    SealedForm(PathBuf),
    /// The provider whose key encrypts it does not decrypt or make it.
    #[error("{path} has a master key that its provider encrypts: {source}")]
    Provider {
        /// The file.
        path: PathBuf,
        /// Why.
        source: KeyError,
    },
    /// The system gives no randomness.
    #[error("the system gives no randomness")]
    Random,
}

struct Master {
    id: [u8; ID_BYTES],
    bytes: Locked<MASTER_BYTES>,
}

/// The master keys of a host.
pub struct MasterKeys(Vec<Master>);

impl fmt::Debug for MasterKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MasterKeys({})", self.0.len())
    }
}

impl MasterKeys {
    /// Read the master keys. The file of the first one is made if it is not there.
    ///
    /// # Errors
    /// When one of them is missing or has another form, or when others can read its file.
    pub fn read(sources: &[MasterSource]) -> Result<Self, MasterError> {
        Self::of(sources, true)
    }

    /// Read the master keys, and make no file.
    ///
    /// # Errors
    /// As [`Self::read`], and when the file of the first one is missing.
    pub fn read_only(sources: &[MasterSource]) -> Result<Self, MasterError> {
        Self::of(sources, false)
    }

    fn of(sources: &[MasterSource], makes_first: bool) -> Result<Self, MasterError> {
        if sources.is_empty() {
            return Err(MasterError::Missing);
        }
        let mut all = Vec::with_capacity(sources.len());
        for (at, source) in sources.iter().enumerate() {
            let bytes = match source {
                MasterSource::File(path) => of_file(path, makes_first && at == 0)?,
                MasterSource::Sealed(path, by) => {
                    sealed_master::read(path, by, makes_first && at == 0)?
                }
                MasterSource::Variable(name) => {
                    let text = std::env::var(name).map(Zeroizing::new);
                    let text = text.map_err(|_| MasterError::NoVariable(name.clone()))?;
                    decoded(&text)
                        .ok_or_else(|| MasterError::Form(format!("the variable `{name}`")))?
                }
            };
            all.push(Master::new(&bytes)?);
        }
        Ok(Self(all))
    }

    /// Whether the system writes none of them to its swap space.
    #[must_use]
    pub fn are_locked(&self) -> bool {
        self.0.iter().all(|master| master.bytes.is_locked())
    }

    /// No master key: nothing is sealed and nothing opened.
    #[must_use]
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// One master key of these bytes, which must be drawn at random.
    ///
    /// # Errors
    /// Never for 32 bytes.
    pub fn of_bytes(bytes: &[u8; MASTER_BYTES]) -> Result<Self, MasterError> {
        Ok(Self(vec![Master::new(bytes)?]))
    }

    /// Seal a text.
    ///
    /// # Errors
    /// When the system gives no randomness.
    pub(crate) fn seal(&self, mut content: Zeroizing<Vec<u8>>) -> Result<String, KeyError> {
        let away = |_| KeyError::ProviderAway("the system gives no randomness".to_owned());
        // What is sealed must be opened again: base64 takes four characters for three bytes.
        if content.len() > REFERENCE_CHARS_MAX / 4 * 3 - 1 - ID_BYTES - NONCE_LEN - 16 {
            return Err(KeyError::BadInput("the key is too long".to_owned()));
        }
        let Some(master) = self.0.first() else {
            return Err(KeyError::NoKey("the host has no master key"));
        };
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).map_err(away)?;
        let mut sealed = Vec::with_capacity(1 + ID_BYTES + NONCE_LEN + content.len() + 16);
        sealed.push(VERSION);
        sealed.extend_from_slice(&master.id);
        let associated = Aad::from(sealed.clone());
        sealed.extend_from_slice(&nonce);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag =
            master
                .key()
                .map_err(away)?
                .seal_in_place_separate_tag(nonce, associated, &mut content);
        let tag = tag.map_err(away)?;
        sealed.extend_from_slice(&content);
        sealed.extend_from_slice(tag.as_ref());
        Ok(URL_SAFE_NO_PAD.encode(sealed))
    }

    /// Open what was sealed.
    ///
    /// # Errors
    /// When it was not sealed here, was changed, or its master key is gone.
    pub(crate) fn open(&self, reference: &str) -> Result<Zeroizing<Vec<u8>>, KeyError> {
        const NONE: KeyError = KeyError::NoKey("it was not made here, or was changed");
        if reference.len() > REFERENCE_CHARS_MAX {
            return Err(NONE);
        }
        let bytes = URL_SAFE_NO_PAD.decode(reference).map_err(|_| NONE)?;
        let (head, rest) = bytes.split_at_checked(1 + ID_BYTES).ok_or(NONE)?;
        let (nonce, sealed) = rest.split_at_checked(NONCE_LEN).ok_or(NONE)?;
        if head[0] != VERSION {
            return Err(NONE);
        }
        let Some(master) = self.0.iter().find(|master| master.id == head[1..]) else {
            return Err(KeyError::NoKey("the host does not have its master key"));
        };
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| NONE)?;
        let mut content = Zeroizing::new(sealed.to_vec());
        let key = master.key().map_err(|_| NONE)?;
        let opened = key.open_in_place(nonce, Aad::from(head), &mut content);
        let length = opened.map_err(|_| NONE)?.len();
        content.truncate(length);
        Ok(content)
    }
}

impl Master {
    fn new(bytes: &[u8; MASTER_BYTES]) -> Result<Self, MasterError> {
        // The id says which key it is, and nothing of its bytes.
        let mut named = Zeroizing::new(b"rialto master key ".to_vec());
        named.reserve_exact(MASTER_BYTES);
        named.extend_from_slice(bytes);
        let mut id = [0; ID_BYTES];
        id.copy_from_slice(&digest(&SHA256, &named).as_ref()[..ID_BYTES]);
        let bytes = Locked::of(bytes);
        Ok(Self { id, bytes })
    }

    /// The cipher's key for one call. It is in memory that is not locked, and the library overwrites that when it is
    /// dropped. To make it takes less than a microsecond.
    fn key(&self) -> Result<LessSafeKey, Unspecified> {
        UnboundKey::new(&AES_256_GCM, self.bytes.as_slice()).map(LessSafeKey::new)
    }
}

fn of_file(path: &Path, may_make: bool) -> Result<Zeroizing<[u8; MASTER_BYTES]>, MasterError> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let owner = rialto_files::folder(folder.unwrap_or(Path::new(".")))?;
    if !rialto_files::accept_if_there(path, owner)? && may_make {
        let mut bytes = Zeroizing::new([0; MASTER_BYTES]);
        SystemRandom::new()
            .fill(&mut *bytes)
            .map_err(|_| MasterError::Random)?;
        let text = Zeroizing::new(STANDARD.encode(bytes.as_slice()));
        if rialto_files::make_once(path, &[text.as_bytes(), b"\n"])? {
            tracing::warn!(path = %path.display(), "a new master key was made: keep a copy of the file in a safe place, because without it no sealed key of this host can be used");
        }
    }
    let text = std::fs::read_to_string(path).map(Zeroizing::new);
    let text = text.map_err(|source| MasterError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    decoded(&text).ok_or_else(|| MasterError::Form(path.display().to_string()))
}

fn decoded(text: &str) -> Option<Zeroizing<[u8; MASTER_BYTES]>> {
    let bytes = STANDARD.decode(text.trim()).map(Zeroizing::new).ok()?;
    let mut key = Zeroizing::new([0; MASTER_BYTES]);
    if bytes.len() != MASTER_BYTES {
        return None;
    }
    key.copy_from_slice(&bytes);
    Some(key)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn sealed(keys: &MasterKeys, text: &str) -> String {
        keys.seal(Zeroizing::new(text.as_bytes().to_vec())).unwrap()
    }

    #[test]
    fn sealed_text_opens_with_its_master_key_alone() {
        let keys = MasterKeys::of_bytes(&[7; MASTER_BYTES]).unwrap();
        let reference = sealed(&keys, "content");
        assert_eq!(keys.open(&reference).unwrap().as_slice(), b"content");
        assert_ne!(reference, sealed(&keys, "content"));
        let other = MasterKeys::of_bytes(&[8; MASTER_BYTES]).unwrap();
        let gone = KeyError::NoKey("the host does not have its master key");
        assert_eq!(other.open(&reference).unwrap_err(), gone);
    }

    /// How the system has the memory at this address, from the addresses and the bytes of a mapping.
    fn locked_kib(address: usize) -> u64 {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut is_there = false;
        for line in maps.lines() {
            let range = line.split(' ').next().and_then(|range| {
                let (from, to) = range.split_once('-')?;
                let number = |text| usize::from_str_radix(text, 16).ok();
                Some(number(from)?..number(to)?)
            });
            if let Some(range) = range {
                is_there = range.contains(&address);
            }
            if let Some(kib) = line.strip_prefix("Locked:").filter(|_| is_there) {
                return kib.trim().trim_end_matches(" kB").parse().unwrap();
            }
        }
        panic!("nothing is mapped at {address:x}");
    }

    #[test]
    fn memory_of_a_master_key_is_locked() {
        let keys = MasterKeys::of_bytes(&[0x5a; MASTER_BYTES]).unwrap();
        assert!(keys.are_locked(), "the limit of locked memory is 0");
        let address = keys.0[0].bytes.as_ptr() as usize;
        assert!(locked_kib(address) > 0);
    }

    #[test]
    fn every_change_of_a_reference_is_refused() {
        let keys = MasterKeys::of_bytes(&[7; MASTER_BYTES]).unwrap();
        let reference = sealed(&keys, "content");
        let bytes = URL_SAFE_NO_PAD.decode(&reference).unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(
                keys.open(&URL_SAFE_NO_PAD.encode(changed)).is_err(),
                "bit {bit}"
            );
        }
        for length in 0..reference.len() {
            assert!(
                keys.open(&reference[..length]).is_err(),
                "{length} characters"
            );
        }
        assert!(keys.open(&"A".repeat(REFERENCE_CHARS_MAX + 1)).is_err());
    }

    #[test]
    fn whatever_is_sealed_opens_again() {
        let keys = MasterKeys::of_bytes(&[7; MASTER_BYTES]).unwrap();
        let mut longest = 0;
        for length in (0..13_000).step_by(7) {
            let Ok(reference) = keys.seal(Zeroizing::new(vec![1; length])) else {
                continue;
            };
            assert_eq!(keys.open(&reference).unwrap().len(), length);
            longest = length;
        }
        // A key pair of 8192 bits has some 4,700 bytes, which are 6,300 characters of base64.
        assert!(longest > 8_000, "{longest}");
    }

    #[test]
    fn replaced_master_key_still_opens() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| MasterSource::File(folder.path().join("keys").join(name));
        let old = MasterKeys::read(&[at("old")]).unwrap();
        let reference = sealed(&old, "content");
        let both = MasterKeys::read(&[at("new"), at("old")]).unwrap();
        assert_eq!(both.open(&reference).unwrap().as_slice(), b"content");
        let later = sealed(&both, "later");
        assert!(old.open(&later).is_err());
        let new = MasterKeys::read(&[at("new")]).unwrap();
        assert_eq!(new.open(&later).unwrap().as_slice(), b"later");
    }

    #[test]
    fn unusable_master_keys_are_refused_with_their_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys").join("master");
        let of = |source| MasterKeys::read(&[source]).unwrap_err().to_string();
        MasterKeys::read(&[MasterSource::File(path.clone())]).unwrap();
        let mode = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        mode(0o640);
        assert!(of(MasterSource::File(path.clone())).contains("is open to others"));
        mode(0o600);
        std::fs::write(&path, "c2hvcnQ=").unwrap();
        assert!(of(MasterSource::File(path.clone())).contains("is no master key"));
        let absent = MasterSource::File(folder.path().join("keys").join("absent"));
        let second = MasterKeys::read(&[MasterSource::File(path), absent]).unwrap_err();
        assert!(second.to_string().contains("is no master key"), "{second}");
        let variable = of(MasterSource::Variable("RIALTO_NO_SUCH_VARIABLE".to_owned()));
        assert!(variable.contains("`RIALTO_NO_SUCH_VARIABLE`"), "{variable}");
        assert!(matches!(MasterKeys::read(&[]), Err(MasterError::Missing)));
    }
}

//! The files: PEM, private keys that nobody else can read, references of keys, and when a file has changed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};
use tokio::sync::watch;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{
    CertificateDer, CertificateRevocationListDer, PrivateKeyDer,
};
use tokio_rustls::rustls::{self, RootCertStore};

use crate::private_key::{BadReference, PrivateKey};

/// The time between two looks for changed files.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Permissions of the group and of all others.
const OTHERS: u32 = 0o077;

/// The files of a listener's TLS.
#[derive(Clone, Debug)]
pub struct ListenerFiles {
    /// The listener's certificate with the intermediate ones, PEM.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PrivateKey,
    /// The authority that issues clients' certificates in any name.
    pub clients: Option<AuthorityFiles>,
    /// Authorities that issue certificates in one name only, by that name.
    pub clients_of: BTreeMap<String, AuthorityFiles>,
    /// The certificate of the host's own authority, PEM, if it has one. It counts where `clients` has it too. Its
    /// certificates are in no revocation list.
    pub own_authority: Option<PathBuf>,
}

/// The files of an authority that issues clients' certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorityFiles {
    /// Its certificates, PEM.
    pub certificates: PathBuf,
    /// Its revocation lists, PEM. With them, a certificate whose status they do not tell is refused.
    pub revocations: Option<PathBuf>,
}

impl ListenerFiles {
    /// All files.
    pub(crate) fn all(&self) -> Vec<&Path> {
        self.public().into_iter().chain([self.key.file()]).collect()
    }

    /// All files but the private key.
    fn public(&self) -> Vec<&Path> {
        let authorities = self.clients.iter().chain(self.clients_of.values());
        let authorities = authorities.flat_map(|authority| {
            let revocations = authority.revocations.as_deref();
            [Some(&*authority.certificates), revocations]
        });
        let own = [Some(&*self.certificate), self.own_authority.as_deref()];
        own.into_iter().chain(authorities).flatten().collect()
    }
}

/// Why files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadTls {
    /// A file cannot be read.
    #[error("cannot read {0}: {1}")]
    Read(PathBuf, #[source] io::Error),
    /// A file is not valid PEM.
    #[error("{0} does not hold {1}: {2}")]
    Pem(PathBuf, &'static str, #[source] pem::Error),
    /// A file has no item of the expected kind.
    #[error("{0} holds no {1}")]
    Empty(PathBuf, &'static str),
    /// A certificate or a revocation list is malformed.
    #[error("{0} holds a malformed {1}: {2}")]
    Malformed(PathBuf, &'static str, String),
    /// Others can read the private key.
    #[error(
        "the private key {0} is open to others (mode {1:o}); `chmod 600 {0}`, and think of a new key if others have been there"
    )]
    Open(PathBuf, u32),
    /// The certificate and the key do not belong together, or are of an unknown kind.
    #[error("the certificate {0} cannot be used with the key {1}: {2}")]
    Pair(PathBuf, PathBuf, #[source] rustls::Error),
    /// The reference of a private key opens no key that can be used.
    #[error("the private key of {0} cannot be used: {1}")]
    Reference(PathBuf, #[source] BadReference),
    /// The certificate is of another key than the one at the provider.
    #[error(
        "the certificate {0} was issued for another key than that of {1}; put the certificate there that was ordered for this key (`rialto tls-key` prints the order), or the reference of the certificate's key"
    )]
    OtherKey(PathBuf, PathBuf),
    /// The authority cannot be used.
    #[error("the authority {0} cannot be used: {1}")]
    Authority(PathBuf, String),
    /// The system has no authorities.
    #[error(
        "the system's authorities cannot be read: {0}; install them (`ca-certificates`), or name authorities in `outbound.tls`"
    )]
    System(String),
}

/// Files that are read once, however often they are looked at: what is used, what expires and what is audited are the same
/// bytes. Private keys are in none.
#[derive(Default)]
pub(crate) struct Snapshot {
    read: RefCell<BTreeMap<PathBuf, Arc<[u8]>>>,
}

impl Snapshot {
    /// The certificates in a file, at least one.
    pub fn certificates(&self, path: &Path) -> Result<Vec<CertificateDer<'static>>, BadTls> {
        self.items(path, "certificate")
    }

    /// The revocation lists in a file, at least one.
    pub fn revocations(
        &self,
        path: &Path,
    ) -> Result<Vec<CertificateRevocationListDer<'static>>, BadTls> {
        self.items(path, "revocation list")
    }

    fn items<T: PemObject>(&self, path: &Path, kind: &'static str) -> Result<Vec<T>, BadTls> {
        match T::pem_slice_iter(&self.bytes(path)?).collect::<Result<Vec<_>, _>>() {
            Ok(none) if none.is_empty() => Err(BadTls::Empty(path.to_owned(), kind)),
            Ok(items) => Ok(items),
            Err(error) => Err(BadTls::Pem(path.to_owned(), kind, error)),
        }
    }

    /// The certificates of an authority, as roots.
    pub fn roots(&self, path: &Path) -> Result<RootCertStore, BadTls> {
        let mut roots = RootCertStore::empty();
        for certificate in self.certificates(path)? {
            let added = roots.add(certificate);
            added.map_err(|error| BadTls::Authority(path.to_owned(), error.to_string()))?;
        }
        Ok(roots)
    }

    fn bytes(&self, path: &Path) -> Result<Arc<[u8]>, BadTls> {
        if let Some(bytes) = self.read.borrow().get(path) {
            return Ok(bytes.clone());
        }
        let bytes: Arc<[u8]> = read(path)?.into();
        let mut all = self.read.borrow_mut();
        all.insert(path.to_owned(), bytes.clone());
        Ok(bytes)
    }

    /// The SHA-256 of each file.
    pub fn digests(self) -> Digests {
        let all = self.read.into_inner().into_iter();
        all.map(|(path, bytes)| (path, Sha256::digest(&bytes).into()))
            .collect()
    }
}

/// The SHA-256 of files.
pub(crate) type Digests = BTreeMap<PathBuf, [u8; 32]>;

/// A file that is another one than before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// The file.
    pub path: PathBuf,
    /// Its SHA-256.
    pub sha256: [u8; 32],
}

/// The files that are other ones than before, in the order of their paths.
pub(crate) fn changed(before: &Digests, now: &Digests) -> Vec<ChangedFile> {
    let differs = |(path, digest): &(&PathBuf, &[u8; 32])| before.get(*path) != Some(*digest);
    let changed = now.iter().filter(differs);
    let changed = changed.map(|(path, sha256)| ChangedFile {
        path: path.clone(),
        sha256: *sha256,
    });
    changed.collect()
}

/// The private key in a file that nobody else can read.
pub(crate) fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, BadTls> {
    let found = fs::metadata(path).map_err(|error| BadTls::Read(path.to_owned(), error))?;
    let mode = found.permissions().mode() & 0o777;
    if mode & OTHERS != 0 {
        return Err(BadTls::Open(path.to_owned(), mode));
    }
    let key = PrivateKeyDer::from_pem_slice(&read(path)?);
    key.map_err(|error| BadTls::Pem(path.to_owned(), "private key", error))
}

fn read(path: &Path) -> Result<Vec<u8>, BadTls> {
    fs::read(path).map_err(|error| BadTls::Read(path.to_owned(), error))
}

/// The times, the length and the inode of a file: one of them changes when it is written or replaced.
type Stamp = (SystemTime, (i64, i64), u64, u64);

fn stamps(files: &[PathBuf]) -> Vec<Option<Stamp>> {
    use std::os::unix::fs::MetadataExt as _;
    let stamps = files.iter().map(|path| {
        let found = fs::metadata(path).ok()?;
        let changed = (found.ctime(), found.ctime_nsec());
        Some((found.modified().ok()?, changed, found.len(), found.ino()))
    });
    stamps.collect()
}

/// Calls `changed` after each change of the files, until told to stop.
pub(crate) async fn follow(
    files: Vec<PathBuf>,
    mut stop: watch::Receiver<bool>,
    mut changed: impl FnMut() + Send,
) {
    let mut due = tokio::time::interval(LOOK_EVERY);
    due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut seen = stamps(&files);
    loop {
        tokio::select! {
            _ = due.tick() => {}
            _ = stop.wait_for(|stop| *stop) => return,
        }
        let now = stamps(&files);
        if now != seen {
            seen = now;
            changed();
        }
    }
}

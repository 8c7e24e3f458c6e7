//! The key that signs checkpoints of the audit log. A provider of `[keys]` has it. The host makes it once, keeps its
//! reference in a file, and writes the public key beside it for whoever verifies.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use rialto_audit::PublicKey;
use rialto_certificates::ecdsa_der;
use rialto_keys::{AUDIT, Algorithm, Keys};
use rialto_manifest::Operator;
use rialto_manifest::audit::AuditLog;
use rialto_signatures::pem;

/// What an error is about.
const PLACE: &str = "[audit] of rialto.toml";

/// The key that signs checkpoints.
pub struct AuditKey {
    keys: Arc<Keys>,
    reference: String,
    /// Its public key.
    pub public: PublicKey,
    /// The public keys that have signed before.
    pub earlier: Vec<PublicKey>,
}

impl AuditKey {
    /// The key of an operator's document, if it names one. It is made if its reference is nowhere, for which the provider
    /// must answer.
    ///
    /// # Errors
    /// When a file cannot be read, the reference opens no such key, or a key cannot be made.
    pub fn open(
        operator: &Operator,
        scheme: &Path,
        keys: &Arc<Keys>,
    ) -> anyhow::Result<Option<Self>> {
        let Some(wanted) = &operator.audit else {
            return Ok(None);
        };
        let path = wanted.reference.from_folder(scheme);
        let opened = || {
            let reference = match read(&path)? {
                Some(reference) => reference,
                None => make(wanted, &path, keys)?,
            };
            Self::of(wanted, scheme, keys, reference)
        };
        opened().map(Some).context(PLACE)
    }

    fn of(
        wanted: &AuditLog,
        scheme: &Path,
        keys: &Arc<Keys>,
        reference: String,
    ) -> anyhow::Result<Self> {
        let path = wanted.reference.from_folder(scheme);
        let path = path.display();
        let (attributes, found) = keys.attributes(AUDIT, &reference).with_context(|| {
            format!("the reference in {path} opens no key of the audit log; restore it from a backup, or remove it to have a new key made")
        })?;
        let provider = wanted.provider.to_string();
        ensure!(
            (attributes.algorithm, &found) == (Algorithm::Es256, &provider),
            "the key of {path} is at the provider `{found}`, and the document wants `{provider}`; name another file as `reference` to have a new key made"
        );
        let public = keys.public_key(AUDIT, &reference)?;
        let public = public.with_context(|| format!("the key of {path} has no public key"))?;
        let earlier = wanted.earlier_keys.iter();
        let earlier = earlier.map(|file| public_key(&file.from_folder(scheme)));
        Ok(Self {
            keys: keys.clone(),
            reference,
            public: PublicKey::of_der(public),
            earlier: earlier.collect::<Result<_, _>>()?,
        })
    }

    /// The public keys that sign checkpoints or have signed them; none without a key.
    #[must_use]
    pub fn all(key: Option<&Self>) -> Vec<PublicKey> {
        let keys = key.into_iter();
        keys.flat_map(|key| std::iter::once(&key.public).chain(&key.earlier))
            .cloned()
            .collect()
    }

    /// Sign. It waits for the provider. `now` is in milliseconds since 1970. The signature is DER.
    ///
    /// # Errors
    /// When the provider does not answer.
    pub fn sign(&self, now: u64, message: &[u8]) -> anyhow::Result<Vec<u8>> {
        let keys = self.keys.outside_turns();
        let fixed = keys.sign(AUDIT, &self.reference, now, message)?;
        ecdsa_der(&fixed).context("the provider's signature is malformed")
    }
}

/// Whether the operator's document names a key, and the reference's file is there.
#[must_use]
pub fn is_made(operator: &Operator, scheme: &Path) -> bool {
    let wanted = operator.audit.as_ref();
    // A path that cannot be looked at is for `check` to explain.
    wanted.is_some_and(|wanted| {
        let path = wanted.reference.from_folder(scheme);
        path.try_exists().unwrap_or(true)
    })
}

/// Look whether the reference, if there is one, opens a key of the audit log. It makes nothing.
///
/// # Errors
/// When it cannot be read, or opens none.
pub fn check(operator: &Operator, scheme: &Path, keys: &Arc<Keys>) -> anyhow::Result<()> {
    let Some(wanted) = &operator.audit else {
        return Ok(());
    };
    crate::checkpoints::witnesses::keys(wanted).context(PLACE)?;
    let found = read(&wanted.reference.from_folder(scheme)).context(PLACE)?;
    let opened = found.map(|reference| AuditKey::of(wanted, scheme, keys, reference));
    opened.transpose().map(drop).context(PLACE)
}

/// The public keys that verify the log of an operator's document: the current one first.
///
/// # Errors
/// When the document has no `[audit]`, or a file cannot be read.
pub fn public_keys(operator: &Operator, scheme: &Path) -> anyhow::Result<Vec<PublicKey>> {
    let wanted = operator.audit.as_ref();
    let wanted = wanted.context("rialto.toml has no [audit], so that no checkpoint is signed")?;
    let current = public_file(&wanted.reference.from_folder(scheme));
    let earlier = wanted.earlier_keys.iter();
    let earlier = earlier.map(|file| file.from_folder(scheme));
    std::iter::once(current)
        .chain(earlier)
        .map(|file| public_key(&file))
        .collect()
}

/// The public key in a file, PEM.
///
/// # Errors
/// When the file cannot be read, or has none.
pub fn public_key(file: &Path) -> anyhow::Result<PublicKey> {
    let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    let der = pem::public_key(&text);
    let der = der.with_context(|| format!("{} has no public key (PEM)", file.display()))?;
    Ok(PublicKey::of_der(der))
}

/// The reference in a file; none if there is no such file.
fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("reading {}", path.display())),
    }
}

/// Make the key. The public key is written before the reference, so that no key is in use whose public key is nowhere.
fn make(wanted: &AuditLog, path: &Path, keys: &Keys) -> anyhow::Result<String> {
    let provider = wanted.provider.to_string();
    let made = keys.make_audit(&provider);
    let made = made.with_context(|| format!("the provider `{provider}` makes no key"))?;
    let public = public_file(path);
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    rialto_files::folder(folder.unwrap_or(Path::new(".")))?;
    fs::write(&public, made.public_key.unwrap_or_default())
        .with_context(|| format!("writing {}", public.display()))?;
    let is_new = rialto_files::make_once(path, &[made.reference.as_bytes(), b"\n"])?;
    ensure!(
        is_new,
        "{} appeared meanwhile; start the host again",
        path.display()
    );
    tracing::info!(
        provider,
        "a new key signs checkpoints of the audit log; who verifies them needs the public key in {}",
        public.display()
    );
    Ok(made.reference)
}

/// The file of the public key: the reference's, with `.pem` added.
fn public_file(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".pem");
    name.into()
}

//! The key that signs the scheme's own messages, if a provider of `[keys]` has it. The host makes it once, and keeps its
//! reference in a file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rialto_keys::{Algorithm, Keys};
use rialto_manifest::Operator;
use rialto_manifest::signatures::{HubKeyAlgorithm, HubKeyProvider};

/// What an error is about.
const PLACE: &str = "`hub-key-provider` in [signatures] of rialto.toml";

/// The keys with the hub's own. It is made if its reference is nowhere, for which the provider must answer.
///
/// # Errors
/// When the reference cannot be read or opens no key of the host, or a key cannot be made.
pub fn open(operator: &Operator, scheme: &Path, keys: Keys) -> anyhow::Result<Keys> {
    let Some(wanted) = &operator.signatures.hub_key_provider else {
        return Ok(keys);
    };
    with_own(wanted, scheme, keys).context(PLACE)
}

/// Whether the operator's document names a provider of the hub's key, and the reference's file is there.
#[must_use]
pub fn is_made(operator: &Operator, scheme: &Path) -> bool {
    let wanted = operator.signatures.hub_key_provider.as_ref();
    // A path that cannot be looked at is for `check` to explain.
    wanted.is_some_and(|wanted| {
        let path = wanted.reference.from_folder(scheme);
        path.try_exists().unwrap_or(true)
    })
}

/// Look whether the reference, if there is one, opens a key of the host. It makes nothing.
///
/// # Errors
/// When it cannot be read, or opens none.
pub fn check(operator: &Operator, scheme: &Path, keys: Keys) -> anyhow::Result<()> {
    let Some(wanted) = &operator.signatures.hub_key_provider else {
        return Ok(());
    };
    let path = wanted.reference.from_folder(scheme);
    let found = read(&path).context(PLACE)?;
    found
        .map(|reference| opened(wanted, &reference, scheme, keys).context(PLACE))
        .transpose()
        .map(drop)
}

fn with_own(wanted: &HubKeyProvider, scheme: &Path, keys: Keys) -> anyhow::Result<Keys> {
    let path = wanted.reference.from_folder(scheme);
    let reference = match read(&path)? {
        Some(reference) => reference,
        None => make(wanted, &path, &keys)?,
    };
    opened(wanted, &reference, scheme, keys)
}

/// The keys with the hub's own, which must be what the document wants: another one would sign what nobody expects.
fn opened(
    wanted: &HubKeyProvider,
    reference: &str,
    scheme: &Path,
    keys: Keys,
) -> anyhow::Result<Keys> {
    let path = wanted.reference.from_folder(scheme);
    let opened = keys.with_own(reference);
    let keys = opened.with_context(|| {
        format!(
            "the reference in {} opens no key of the hub; restore it from a backup, or remove it to have a new key made",
            path.display()
        )
    })?;
    let own = keys.own().context("the hub has no key")?;
    let (algorithm, provider) = (algorithm(wanted), wanted.provider.to_string());
    anyhow::ensure!(
        (own.algorithm, &own.provider) == (algorithm, &provider),
        "the key of {} is of the algorithm {:?} at the provider `{}`, and the document wants {algorithm:?} at `{provider}`; name another file as `reference` to have a new key made",
        path.display(),
        own.algorithm,
        own.provider
    );
    Ok(keys)
}

const fn algorithm(wanted: &HubKeyProvider) -> Algorithm {
    match wanted.algorithm {
        HubKeyAlgorithm::RS256 => Algorithm::Rs256,
        HubKeyAlgorithm::ES256 => Algorithm::Es256,
    }
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
fn make(wanted: &HubKeyProvider, path: &Path, keys: &Keys) -> anyhow::Result<String> {
    let provider = wanted.provider.to_string();
    let made = keys.make_own(&provider, algorithm(wanted));
    let made = made.with_context(|| format!("the provider `{provider}` makes no key"))?;
    let public = public_file(path);
    let text = made.public_key.unwrap_or_default();
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    rialto_files::folder(folder.unwrap_or(Path::new(".")))?;
    fs::write(&public, text).with_context(|| format!("writing {}", public.display()))?;
    let is_new = rialto_files::make_once(path, &[made.reference.as_bytes(), b"\n"])?;
    anyhow::ensure!(
        is_new,
        "{} appeared meanwhile; start the host again",
        path.display()
    );
    tracing::info!(
        provider,
        "a new key signs the hub's messages; who verifies them needs the public key in {}",
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

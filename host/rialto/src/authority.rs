//! The authority that certifies clients. A provider of `[keys]` has its private key. The host makes the key and the
//! authority's certificate once.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, ensure};
use rialto_certificates::{Authority, Subject};
use rialto_components::authority::ClientAuthority;
use rialto_engine::Entropy;
use rialto_keys::{HOST, Keys};
use rialto_manifest::Operator;
use rialto_manifest::certificates::Certificates;

/// What an error is about.
const PLACE: &str = "[certificates] of rialto.toml";
/// The authority's common name.
const NAME: &str = "Rialto client authority";

/// The authority of an operator's document, if it names one. It is made if the reference of its key is nowhere, for which
/// the provider must answer.
///
/// # Errors
/// When a file cannot be read or is none of an authority, or the key cannot be made.
pub fn open(
    operator: &Operator,
    scheme: &Path,
    keys: &Keys,
    entropy: &dyn Entropy,
) -> anyhow::Result<Option<Arc<ClientAuthority>>> {
    let Some(wanted) = &operator.certificates else {
        return Ok(None);
    };
    let opened = read_or_make(wanted, scheme, keys, entropy).context(PLACE)?;
    Ok(Some(Arc::new(opened)))
}

/// Whether the operator's document names an authority, and it was made.
///
/// # Errors
/// When its certificate is there and the reference of its key is not.
pub fn is_made(operator: &Operator, scheme: &Path) -> anyhow::Result<bool> {
    let wanted = operator.certificates.as_ref();
    wanted.map_or(Ok(false), |wanted| {
        Files::of(wanted, scheme).are_there().context(PLACE)
    })
}

/// Look whether an authority that was made can be opened. It makes nothing.
///
/// # Errors
/// As [`open`].
pub fn check(operator: &Operator, scheme: &Path, keys: &Keys) -> anyhow::Result<()> {
    let Some(wanted) = &operator.certificates else {
        return Ok(());
    };
    let read = read(wanted, &Files::of(wanted, scheme), keys);
    read.map(drop).context(PLACE)
}

/// The files of an authority.
struct Files {
    /// The reference of its key.
    reference: PathBuf,
    /// Its certificate, PEM.
    certificate: PathBuf,
}

impl Files {
    fn of(wanted: &Certificates, scheme: &Path) -> Self {
        Self {
            reference: wanted.reference.from_folder(scheme),
            certificate: wanted.authority.from_folder(scheme),
        }
    }

    /// Whether they are there; otherwise an authority may be made.
    fn are_there(&self) -> anyhow::Result<bool> {
        let Self {
            reference,
            certificate,
        } = self;
        ensure!(
            reference.exists() || !certificate.exists(),
            "{} is there, and the reference of its key in {} is not; restore that from a backup, or move the certificate away to have a new authority made",
            certificate.display(),
            reference.display()
        );
        Ok(reference.exists())
    }
}

fn read_or_make(
    wanted: &Certificates,
    scheme: &Path,
    keys: &Keys,
    entropy: &dyn Entropy,
) -> anyhow::Result<ClientAuthority> {
    let files = Files::of(wanted, scheme);
    if !files.are_there()? {
        make(wanted, &files, keys, entropy)?;
    }
    read(wanted, &files, keys)
}

fn read(wanted: &Certificates, files: &Files, keys: &Keys) -> anyhow::Result<ClientAuthority> {
    let Files {
        reference,
        certificate,
    } = files;
    let text = fs::read_to_string(reference);
    let text = text.with_context(|| format!("reading {}", reference.display()))?;
    let reference_text = text.trim().to_owned();
    let (_, provider) = keys.attributes(HOST, &reference_text).with_context(|| {
        format!(
            "the reference in {} opens no key of the host; restore it from a backup",
            reference.display()
        )
    })?;
    let named = wanted.provider.to_string();
    ensure!(
        provider == named,
        "the key of {} is at the provider `{provider}`, and the document wants `{named}`",
        reference.display()
    );
    let text = fs::read_to_string(certificate);
    let text = text.with_context(|| format!("reading {}", certificate.display()))?;
    let lifetime = Duration::from_millis(wanted.lifetime.millis());
    let authority = Authority::read(&text, lifetime);
    let authority = authority.with_context(|| format!("using {}", certificate.display()))?;
    Ok(ClientAuthority {
        authority,
        reference: reference_text,
    })
}

/// Make key and certificate. The certificate is written before the reference, so that no key is in use whose certificate
/// is nowhere.
fn make(
    wanted: &Certificates,
    files: &Files,
    keys: &Keys,
    entropy: &dyn Entropy,
) -> anyhow::Result<()> {
    let Files {
        reference,
        certificate,
    } = files;
    let provider = wanted.provider.to_string();
    let made = keys.make_authority(&provider);
    let made = made.with_context(|| format!("the provider `{provider}` makes no key"))?;
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = since.context("the clock is before 1970")?.as_secs();
    let mut serial = [0; 16];
    entropy.fill(&mut serial);
    let subject = Subject {
        name: NAME,
        serial,
        now,
    };
    let public = made.public_key.unwrap_or_default();
    let draft = Authority::begin(&public, &subject)?;
    let signature = keys
        .outside_turns()
        .sign(HOST, &made.reference, now * 1_000, draft.message())
        .with_context(|| format!("the provider `{provider}` does not sign"))?;
    let issued = draft.signed(&signature)?;
    for path in [reference, certificate] {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.exists()) {
            rialto_files::folder(folder)?;
        }
    }
    fs::write(certificate, issued.certificate)
        .with_context(|| format!("writing {}", certificate.display()))?;
    let is_new = rialto_files::make_once(reference, &[made.reference.as_bytes(), b"\n"])?;
    ensure!(
        is_new,
        "{} appeared meanwhile; start the host again",
        reference.display()
    );
    tracing::info!(
        provider,
        "a new authority certifies clients; listeners trust it when their `client-ca` has the certificate in {}",
        certificate.display()
    );
    Ok(())
}

//! `rialto tls-key`: a private key of TLS at a provider of keys, and the request for its certificate.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail, ensure};
use rialto_certificates::{OwnRequest, Uses};
use rialto_keys::{Keys, TLS};
use rialto_manifest::Operator;
use rialto_manifest::operator::FILE_NAME;
use rialto_manifest::tls::{TlsKey, TlsKeyProvider};
use rialto_manifest::values::OriginPattern;

use crate::keys;
use crate::out;
use crate::tls_keys::{self, Place};

/// What is added to the names of files that a renewal prepares.
const NEXT: &str = ".next";
/// The longest label of a key.
const LABEL_CHARACTERS_MAX: usize = 64;

#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("place").required(true)))]
pub(super) struct TlsKeyCommand {
    /// The scheme's folder.
    scheme: PathBuf,
    /// The private key of this listener.
    #[arg(long, value_name = "LISTENER", group = "place")]
    listener: Option<String>,
    /// The private key of the certificate that the host shows to destinations.
    #[arg(long, group = "place")]
    outbound: bool,
    /// The private key of the certificate that the host shows to this destination, by its origin in rialto.toml.
    #[arg(long, value_name = "ORIGIN", group = "place")]
    destination: Option<OriginPattern>,
    /// A name that the certificate is to have: a DNS name or an IP address. Several times for several; the first is
    /// the common name too
    #[arg(long = "name", value_name = "HOST", required = true)]
    names: Vec<String>,
    /// Make another key beside the one in use: its reference is the file with `.next` added to the name
    #[arg(long)]
    renew: bool,
}

/// The files of a private key at a provider.
struct Files {
    /// The reference that the document names.
    current: PathBuf,
    /// The reference that the command is about.
    reference: PathBuf,
    /// The certificate that the document names.
    certificate: PathBuf,
}

impl TlsKeyCommand {
    pub fn run(self) -> anyhow::Result<u8> {
        // Before anything is made.
        OwnRequest::check(&self.names)?;
        let operator = read(&self.scheme)?;
        let place = self.place();
        let (files, wanted) = self.wanted(&operator, &place)?;
        if self.renew {
            ensure!(
                files.current.exists(),
                "{} is not there, so that there is no key to renew: leave out --renew",
                files.current.display()
            );
        }
        let uses = uses(&operator, wanted);
        let keys = keys::open_outside_turns(&operator, &self.scheme)?;
        let provider = wanted.provider.to_string();
        let reference = match existing(&files.reference)? {
            Some(reference) => reference,
            None => make(&keys, &provider, &place, &files.reference)?,
        };
        let about = || format!("the private key of {}", files.reference.display());
        let public_key = tls_keys::public_key(&keys, &provider, &reference).with_context(about)?;
        let request = OwnRequest::new(&public_key, &self.names, uses)?;
        let signature = keys.sign(TLS, &reference, now()?, request.message());
        let signature = signature.with_context(about)?;
        out::text(request.signed(&signature).with_context(about)?)?;
        self.tell(&keys, &files, (&provider, &reference));
        Ok(0)
    }

    fn place(&self) -> Place {
        match (&self.listener, &self.destination) {
            (Some(name), _) => Place::Listener(name.clone()),
            (None, Some(origin)) => Place::Destination(origin.to_string()),
            (None, None) => Place::Outbound,
        }
    }

    /// What the document says of the place.
    fn wanted<'o>(
        &self,
        operator: &'o Operator,
        place: &Place,
    ) -> anyhow::Result<(Files, &'o TlsKeyProvider)> {
        let all = tls_keys::all(operator);
        let found = all.into_iter().find(|(known, ..)| known == place);
        let Some((_, certificate, key)) = found else {
            bail!("{place} has no certificate and private key in rialto.toml: add them first");
        };
        let TlsKey::Provider(wanted) = key else {
            bail!(
                "the private key of {place} is in the file of `key` in rialto.toml: name a provider there by `key-provider` instead"
            );
        };
        let current = wanted.reference.from_folder(&self.scheme);
        let reference = if self.renew {
            next(&current)
        } else {
            current.clone()
        };
        let files = Files {
            current,
            reference,
            certificate: certificate.from_folder(&self.scheme),
        };
        Ok((files, wanted))
    }

    /// Tell on standard error where the key is, and what is to be done.
    fn tell(&self, keys: &Keys, files: &Files, (provider, reference): (&str, &str)) {
        let Files {
            current,
            reference: file,
            certificate,
        } = files;
        let name = keys.name_at_provider(TLS, reference);
        let name = name.map(|name| format!(" ({name})")).unwrap_or_default();
        out::note(format_args!(
            "the private key is at the provider `{provider}`{name}; its reference is in {}",
            file.display()
        ));
        let certificate = certificate.display();
        if !self.renew {
            out::note(format_args!(
                "have the request above certified, and put the certificate with the intermediate ones into {certificate}"
            ));
            return;
        }
        let (current, file) = (current.display(), file.display());
        out::note(format_args!(
            "have the request above certified, put the certificate with the intermediate ones into {certificate}{NEXT}, and then:\n  mv {certificate}{NEXT} {certificate} && mv {file} {current}"
        ));
        let earlier = fs::read_to_string(&files.current).unwrap_or_default();
        if let Some(name) = keys.name_at_provider(TLS, earlier.trim()) {
            out::note(format_args!(
                "the earlier key stays at the provider as {name}: destroy it with the provider's tools when the new one is in use"
            ));
        }
    }
}

/// The operator's document alone.
fn read(scheme: &Path) -> anyhow::Result<Operator> {
    let path = scheme.join(FILE_NAME);
    let text = fs::read_to_string(&path);
    let text = text.with_context(|| format!("reading {}", path.display()))?;
    Operator::parse(&text).map_err(|problems| anyhow::anyhow!("{}", problems.plain()))
}

/// What all certificates of this reference are for.
fn uses(operator: &Operator, wanted: &TlsKeyProvider) -> Uses {
    let mut uses = Uses::default();
    for (place, _, key) in tls_keys::all(operator) {
        if matches!(key, TlsKey::Provider(other) if other.reference == wanted.reference) {
            match place {
                Place::Listener(_) => uses.server = true,
                Place::Outbound | Place::Destination(_) => uses.client = true,
            }
        }
    }
    uses
}

/// The reference in a file; none if there is no such file.
fn existing(path: &Path) -> anyhow::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("reading {}", path.display())),
    }
}

/// Make a key and the file of its reference. A key whose reference is not kept is destroyed.
fn make(keys: &Keys, provider: &str, place: &Place, path: &Path) -> anyhow::Result<String> {
    let label = match place {
        Place::Listener(name) => format!("TLS of {name}"),
        Place::Outbound | Place::Destination(_) => "TLS of outbound requests".to_owned(),
    };
    let label: String = label.chars().take(LABEL_CHARACTERS_MAX).collect();
    let folder = path.parent().filter(|path| !path.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.exists()) {
        rialto_files::folder(folder)?;
    }
    let made = keys.make_tls(provider, &label);
    let made = made.with_context(|| format!("the provider `{provider}` makes no key"))?;
    let kept = rialto_files::make_once(path, &[made.reference.as_bytes(), b"\n"]);
    let error = match kept {
        Ok(true) => return Ok(made.reference),
        Ok(false) => anyhow::anyhow!(
            "{} appeared meanwhile: give the command again",
            path.display()
        ),
        // It may be there although the folder could not be synced.
        Err(_) if existing(path)?.as_ref() == Some(&made.reference) => return Ok(made.reference),
        Err(error) => error.into(),
    };
    let name = keys.name_at_provider(TLS, &made.reference);
    if let Err(stays) = keys.destroy(TLS, &made.reference) {
        let name = name.unwrap_or_default();
        out::note(format_args!(
            "the key {name} stays at the provider `{provider}`, and nobody uses it: {stays}"
        ));
    }
    Err(error)
}

/// The file that a renewal prepares beside this one.
fn next(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(NEXT);
    name.into()
}

/// Now: UTC, milliseconds since 1970.
fn now() -> anyhow::Result<u64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.context("the clock is before 1970")?;
    Ok(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

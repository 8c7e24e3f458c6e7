//! The providers of keys of `rialto.toml`, opened at the start.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use rialto_keys::{Keys, MasterError, MasterKeys, MasterSource, Provider, SealedBy, Software};
use rialto_kms::{CredentialsSource, Kms};
use rialto_manifest::Operator;
use rialto_manifest::keys::{KeyProvider, MasterKey, ProviderKind};
use rialto_pkcs11::{Configuration, PinSource, Pkcs11, configuration};

use crate::audit_key;
use crate::authority;
use crate::hub_key;
use crate::tls_keys;

/// Open the providers of an operator's document in a scheme's folder, for components. A token or a service that is away
/// is no error, because it may come back.
///
/// # Errors
/// When a master key is missing or cannot be used, or a token's module or PIN or a service's credentials cannot be read.
pub fn open(operator: &Operator, scheme: &Path) -> anyhow::Result<Arc<Keys>> {
    let opened = Opened::of(operator, scheme)?;
    for (name, token) in &opened.tokens {
        match token.check() {
            Ok(view) => {
                tracing::info!(provider = name, serial = view.serial, "the token answers");
            }
            Err(error) => tracing::warn!(provider = name, %error, "the token does not answer"),
        }
    }
    for (name, service) in &opened.services {
        match service.check() {
            Ok(view) => {
                let account = view.account.as_deref().unwrap_or("unknown");
                tracing::info!(
                    provider = name,
                    region = view.region,
                    account,
                    "AWS KMS answers"
                );
            }
            Err(error) => tracing::warn!(provider = name, %error, "AWS KMS does not answer"),
        }
    }
    let keys = opened.keys(operator, scheme, MasterKeys::read)?;
    Ok(Arc::new(hub_key::open(operator, scheme, keys)?))
}

/// Open them for use outside turns, where tokens and services can be called.
///
/// # Errors
/// As [`open`], and when a token or a service does not answer.
pub fn open_outside_turns(operator: &Operator, scheme: &Path) -> anyhow::Result<Keys> {
    let opened = Opened::of(operator, scheme)?;
    opened.check()?;
    let keys = opened.keys(operator, scheme, MasterKeys::read)?;
    Ok(keys.outside_turns())
}

/// Look whether each token's module can be loaded and its token is there and takes the PIN, whether each service takes
/// the credentials, and whether the references of the hub's key, of the authority's and of the audit log's open one. It makes nothing.
/// Returns the keys, for the references of TLS.
///
/// # Errors
/// When one does not, with its name.
pub fn check(operator: &Operator, scheme: &Path) -> anyhow::Result<Keys> {
    let opened = Opened::of(operator, scheme)?;
    opened.check()?;
    let has_authority = authority::is_made(operator, scheme)?;
    let has_hub_key = hub_key::is_made(operator, scheme);
    let has_audit_key = audit_key::is_made(operator, scheme);
    let has_any = has_authority || has_hub_key || has_audit_key;
    if !has_any && !tls_keys::is_any_made(operator, scheme) {
        // The host makes the master key at its start, if its file is missing.
        return Ok(Keys::default());
    }
    let keys = opened.keys(operator, scheme, MasterKeys::read_only)?;
    if has_authority {
        authority::check(operator, scheme, &keys)?;
    }
    if has_hub_key {
        hub_key::check(operator, scheme, keys.clone())?;
    }
    if has_audit_key {
        audit_key::check(operator, scheme, &Arc::new(keys.clone()))?;
    }
    Ok(keys)
}

/// Look whether the master keys that the operator's document names are there. It makes none.
///
/// # Errors
/// When one is missing or cannot be used.
pub(crate) fn are_there(operator: &Operator, scheme: &Path) -> anyhow::Result<()> {
    let opened = Opened::of(operator, scheme)?;
    opened
        .keys(operator, scheme, MasterKeys::read_only)
        .map(drop)
}

#[derive(Default)]
struct Opened {
    all: BTreeMap<String, Arc<dyn Provider>>,
    tokens: Vec<(String, Arc<Pkcs11>)>,
    services: Vec<(String, Arc<Kms>)>,
}

impl Opened {
    fn of(operator: &Operator, scheme: &Path) -> anyhow::Result<Self> {
        let mut opened = Self::default();
        for (name, wanted) in &operator.keys.providers {
            let name = name.to_string();
            let provider: Arc<dyn Provider> = match wanted.kind {
                ProviderKind::Software => Arc::new(Software),
                ProviderKind::Pkcs11 => {
                    let token = token(wanted, scheme).with_context(|| place(&name))?;
                    opened.tokens.push((name.clone(), token.clone()));
                    token
                }
                ProviderKind::AwsKms => {
                    let service = service(wanted, scheme).with_context(|| place(&name))?;
                    opened.services.push((name.clone(), service.clone()));
                    service
                }
            };
            opened.all.insert(name, provider);
        }
        Ok(opened)
    }

    fn check(&self) -> anyhow::Result<()> {
        for (name, token) in &self.tokens {
            token.check().with_context(|| place(name))?;
        }
        for (name, service) in &self.services {
            service.check().with_context(|| place(name))?;
        }
        Ok(())
    }

    /// Without a master key there are no providers: the check of the document says so.
    fn keys(
        self,
        operator: &Operator,
        scheme: &Path,
        read: impl FnOnce(&[MasterSource]) -> Result<MasterKeys, MasterError>,
    ) -> anyhow::Result<Keys> {
        let wanted = &operator.keys;
        let Some(master) = &wanted.master_key else {
            return Ok(Keys::default());
        };
        let all = std::iter::once(master).chain(&wanted.old_master_keys);
        let sources = all.filter_map(|key| self.master_source(key, scheme));
        let sources: Vec<MasterSource> = sources.collect();
        let masters = read(&sources).context("the master keys in [keys] of rialto.toml")?;
        Ok(Keys::new(masters, self.all))
    }

    /// Where a master key is. The check of the document lets none through that says nothing, or names no provider.
    fn master_source(&self, key: &MasterKey, scheme: &Path) -> Option<MasterSource> {
        let file = key.file.as_ref().map(|path| path.from_folder(scheme));
        match (file, &key.provider) {
            (Some(path), Some(provider)) => {
                let provider = self.all.get(provider.as_str())?;
                Some(MasterSource::Sealed(path, SealedBy(provider.clone())))
            }
            (Some(path), None) => Some(MasterSource::File(path)),
            (None, _) => key.variable.clone().map(MasterSource::Variable),
        }
    }
}

fn place(name: &str) -> String {
    format!("[keys.providers.{name}] of rialto.toml")
}

fn token(wanted: &KeyProvider, scheme: &Path) -> anyhow::Result<Arc<Pkcs11>> {
    // The check of the document lets none through without these.
    let (Some(module), Some(name), Some(pin)) = (&wanted.module, &wanted.token, &wanted.pin) else {
        anyhow::bail!("a provider of the kind `pkcs11` needs `module`, `token` and `pin`");
    };
    let file = pin.file.as_ref().map(|path| path.from_folder(scheme));
    let variable = || pin.variable.clone().map(PinSource::Variable);
    let pin = file.map(PinSource::File).or_else(variable);
    let sessions = wanted.sessions.and_then(|number| number.try_into().ok());
    Ok(Arc::new(Pkcs11::open(Configuration {
        module: module.from_folder(scheme),
        token: name.clone(),
        pin: pin.context("`pin` names neither a file nor a variable")?,
        sessions: sessions.unwrap_or(configuration::SESSIONS),
        timeout: wanted
            .timeout
            .map_or(configuration::TIMEOUT, Duration::from),
        load_timeout: configuration::LOAD_TIMEOUT,
    })?))
}

fn service(wanted: &KeyProvider, scheme: &Path) -> anyhow::Result<Arc<Kms>> {
    let region = wanted.region.clone();
    let file = wanted.credentials.as_ref();
    let file = file.map(|path| CredentialsSource::File(path.from_folder(scheme)));
    let calls = wanted.calls.and_then(|number| number.try_into().ok());
    Ok(Arc::new(Kms::open(rialto_kms::Configuration {
        region: region.context("a provider of the kind `aws-kms` needs `region`")?,
        endpoint: wanted.endpoint.as_ref().map(ToString::to_string),
        ca: wanted.ca.as_ref().map(|path| path.from_folder(scheme)),
        credentials: file.unwrap_or(CredentialsSource::Environment),
        calls: calls.unwrap_or(rialto_kms::configuration::CALLS),
        timeout: wanted
            .timeout
            .map_or(rialto_kms::configuration::TIMEOUT, Duration::from),
    })?))
}

//! The checks of the table `[keys]` of `rialto.toml`.

use crate::diagnostics::{Code, Diagnostics};
use crate::document::Document;
use crate::keys::{KeyProvider, ProviderKind};
use crate::operator::OperatorFile;

/// The longest wait of a call for a token, in milliseconds.
const TIMEOUT_MILLIS: std::ops::RangeInclusive<u64> = 1..=60_000;

/// Providers need a master key, because what they make is sealed. A master key is in one place.
pub(super) fn providers_of_keys(document: &Document<OperatorFile>, problems: &mut Diagnostics) {
    let keys = &document.value.keys;
    if !keys.providers.is_empty() && keys.master_key.is_none() && !document.is_doubtful("keys") {
        document.problem(
            problems,
            "keys/providers",
            Code::MissingKey,
            "there are providers of keys and no `master-key` that seals what they make".to_owned(),
            "Add `master-key = { file = \"secrets/master.key\" }` to [keys].",
        );
    }
    let old = keys.old_master_keys.iter().enumerate();
    let old = old.map(|(n, key)| (format!("keys/old-master-keys/{n}"), key));
    let first = keys.master_key.iter();
    let first = first.map(|key| ("keys/master-key".to_owned(), key));
    for (path, key) in first.chain(old) {
        if key.file.is_some() == key.variable.is_some() && !document.is_doubtful(&path) {
            document.problem(
                problems,
                &path,
                Code::Contradiction,
                "a master key is either in a `file` or in a `variable`".to_owned(),
                "Name one of them: `{ file = \"secrets/master.key\" }`, or `{ variable = \"RIALTO_MASTER_KEY\" }`.",
            );
        }
    }
    for (name, provider) in &keys.providers {
        let path = format!("keys/providers/{name}");
        match provider.kind {
            ProviderKind::Pkcs11 => token(document, &path, provider, problems),
            ProviderKind::Software => only_of_tokens(document, &path, provider, problems),
        }
    }
}

/// The key that signs the scheme's messages is in one place, and its provider exists.
pub(super) fn hub_key(document: &Document<OperatorFile>, problems: &mut Diagnostics) {
    let signatures = &document.value.signatures;
    let Some(wanted) = &signatures.hub_key_provider else {
        return;
    };
    let path = "signatures/hub-key-provider";
    if signatures.hub_key.is_some() {
        document.problem(
            problems,
            path,
            Code::Contradiction,
            "the key that signs the scheme's messages is either in the file `hub-key` or at a provider".to_owned(),
            "Leave `hub-key` or `hub-key-provider` out.",
        );
    }
    let keys = &document.value.keys;
    if !keys.providers.contains_key(&wanted.provider) && !document.is_doubtful("keys") {
        document.problem(
            problems,
            &format!("{path}/provider"),
            Code::UnknownName,
            format!("`{}` is no provider of keys", wanted.provider),
            "Name one of [keys.providers], or add it there.",
        );
    }
}

/// What a token needs.
fn token(
    document: &Document<OperatorFile>,
    path: &str,
    provider: &KeyProvider,
    problems: &mut Diagnostics,
) {
    let needed = [
        (
            "module",
            provider.module.is_some(),
            "module = \"/usr/lib/softhsm/libsofthsm2.so\"",
        ),
        ("token", provider.token.is_some(), "token = \"rialto\""),
        (
            "pin",
            provider.pin.is_some(),
            "pin = { file = \"secrets/token.pin\" }",
        ),
    ];
    for (key, is_there, example) in needed {
        if !is_there && !document.is_doubtful(path) {
            document.problem(
                problems,
                path,
                Code::MissingKey,
                format!("a provider of the kind `pkcs11` needs `{key}`"),
                format!("Add it, for example `{example}`."),
            );
        }
    }
    if let Some(module) = &provider.module
        && !module.is_absolute()
    {
        document.problem(
            problems,
            &format!("{path}/module"),
            Code::BadValue,
            format!("`{module}` is not an absolute path"),
            "The host loads this library into its own process: name the installed one, for example `/usr/lib/softhsm/libsofthsm2.so`.",
        );
    }
    let pin = format!("{path}/pin");
    if let Some(place) = &provider.pin
        && place.file.is_some() == place.variable.is_some()
        && !document.is_doubtful(&pin)
    {
        document.problem(
            problems,
            &pin,
            Code::Contradiction,
            "a PIN is either in a `file` or in a `variable`".to_owned(),
            "Name one of them: `{ file = \"secrets/token.pin\" }`, or `{ variable = \"RIALTO_TOKEN_PIN\" }`.",
        );
    }
    if let Some(timeout) = provider.timeout
        && !TIMEOUT_MILLIS.contains(&timeout.millis())
    {
        document.problem(
            problems,
            &format!("{path}/timeout"),
            Code::BadValue,
            format!("`{timeout}` is out of range"),
            "A call of a token waits for `1 ms` to `1 min`.",
        );
    }
}

/// What the host's own memory does not have.
fn only_of_tokens(
    document: &Document<OperatorFile>,
    path: &str,
    provider: &KeyProvider,
    problems: &mut Diagnostics,
) {
    let keys = [
        ("module", provider.module.is_some()),
        ("token", provider.token.is_some()),
        ("pin", provider.pin.is_some()),
        ("sessions", provider.sessions.is_some()),
        ("timeout", provider.timeout.is_some()),
    ];
    for (key, _) in keys.iter().filter(|(_, is_there)| *is_there) {
        document.problem(
            problems,
            &format!("{path}/{key}"),
            Code::Contradiction,
            format!(
                "`{key}` is for providers of the kind `pkcs11`, and this one is `{}`",
                provider.kind.name()
            ),
            "Leave it out here, or change the kind.",
        );
    }
}

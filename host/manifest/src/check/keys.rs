//! The checks of the table `[keys]` of `rialto.toml`.

use std::net::IpAddr;

use crate::diagnostics::{Code, Diagnostics};
use crate::document::Document;
use crate::keys::{KeyProvider, MasterKey, ProviderKind};
use crate::operator::OperatorFile;
use crate::values::{Name, UrlScheme};

/// The longest wait of a call, in milliseconds.
const TIMEOUT_MILLIS: std::ops::RangeInclusive<u64> = 1..=60_000;
/// The longest name of a region.
const REGION_CHARS_MAX: usize = 32;

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
        if let Some(provider) = &key.provider {
            sealed_master(document, (&path, key), provider, problems);
        }
    }
    for (name, provider) in &keys.providers {
        let path = format!("keys/providers/{name}");
        match provider.kind {
            ProviderKind::Pkcs11 => token(document, &path, provider, problems),
            ProviderKind::AwsKms => service(document, &path, provider, problems),
            ProviderKind::Software => {}
        }
        of_other_kinds(document, &path, provider, problems);
        timeout(document, &path, provider, problems);
    }
}

/// A provider that encrypts a master key is there, keeps its keys to itself, and encrypts what is in a file.
fn sealed_master(
    document: &Document<OperatorFile>,
    (path, key): (&str, &MasterKey),
    provider: &Name,
    problems: &mut Diagnostics,
) {
    let at = format!("{path}/provider");
    exists(document, &at, provider, problems);
    let known = document.value.keys.providers.get(provider);
    if known.is_some_and(|known| known.kind == ProviderKind::Software) {
        document.problem(
            problems,
            &at,
            Code::Contradiction,
            "keys in software lie beside what they encrypt, and protect no master key".to_owned(),
            "Name a provider of the kind `pkcs11` or `aws-kms`, or leave `provider` out.",
        );
    }
    if key.variable.is_some() && !document.is_doubtful(path) {
        document.problem(
            problems,
            &at,
            Code::Contradiction,
            "a master key that a provider encrypts is in a `file`".to_owned(),
            "Name a file instead of the variable; the host makes it.",
        );
    }
}

/// The provider that the setting at `path` names is one of the file's.
pub(super) fn exists(
    document: &Document<OperatorFile>,
    path: &str,
    provider: &Name,
    problems: &mut Diagnostics,
) {
    let known = document.value.keys.providers.contains_key(provider);
    if !known && !document.is_doubtful("keys") {
        document.problem(
            problems,
            path,
            Code::UnknownName,
            format!("`{provider}` is no provider of keys"),
            "Name one of [keys.providers], or add it there.",
        );
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
    exists(
        document,
        &format!("{path}/provider"),
        &wanted.provider,
        problems,
    );
}

/// The authority's provider exists, and its certificates end.
pub(super) fn authority(document: &Document<OperatorFile>, problems: &mut Diagnostics) {
    let Some(wanted) = &document.value.certificates else {
        return;
    };
    exists(
        document,
        "certificates/provider",
        &wanted.provider,
        problems,
    );
    if !wanted.has_lifetime_in_bounds() {
        document.problem(
            problems,
            "certificates/lifetime",
            Code::BadValue,
            format!("`{}` is out of range", wanted.lifetime),
            "A certificate is valid for `1 day` to `397 days`.",
        );
    }
}

/// The provider of the audit log's key exists, and the log has a name.
pub(super) fn audit_log(document: &Document<OperatorFile>, problems: &mut Diagnostics) {
    let Some(wanted) = &document.value.audit else {
        return;
    };
    exists(document, "audit/provider", &wanted.provider, problems);
    if !wanted.has_origin() {
        document.problem(
            problems,
            "audit/origin",
            Code::BadValue,
            format!("`{}` cannot be the name of a log", wanted.origin),
            "Use 1 to 255 characters without blanks and plus signs, for example `hub.example/audit`.",
        );
    }
}

/// The id of a lost file of people's keys can be one.
pub(super) fn personal_data(document: &Document<OperatorFile>, problems: &mut Diagnostics) {
    let Some(wanted) = &document.value.personal_data else {
        return;
    };
    if !wanted.has_id() {
        document.problem(
            problems,
            "personal-data/lost",
            Code::BadValue,
            format!(
                "`{}` cannot be the id of a file of keys",
                wanted.lost.as_deref().unwrap_or_default()
            ),
            "Write the 32 hexadecimal digits that the host's start has named.",
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
}

/// What AWS KMS needs.
fn service(
    document: &Document<OperatorFile>,
    path: &str,
    provider: &KeyProvider,
    problems: &mut Diagnostics,
) {
    if provider.region.is_none() && !document.is_doubtful(path) {
        document.problem(
            problems,
            path,
            Code::MissingKey,
            "a provider of the kind `aws-kms` needs `region`".to_owned(),
            "Add it, for example `region = \"eu-central-1\"`.",
        );
    }
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if let Some(region) = &provider.region
        && (region.is_empty() || region.len() > REGION_CHARS_MAX || !region.chars().all(is_plain))
        && !document.is_repaired(&format!("{path}/region"))
    {
        document.problem(
            problems,
            &format!("{path}/region"),
            Code::BadValue,
            format!("`{region}` is not a region"),
            "A region of AWS is written like `eu-central-1`.",
        );
    }
    let Some(endpoint) = &provider.endpoint else {
        return;
    };
    let path = format!("{path}/endpoint");
    if document.is_repaired(&path) {
        return;
    }
    let origin = endpoint.origin();
    if origin.to_string() != endpoint.to_string() {
        document.problem(
            problems,
            &path,
            Code::BadValue,
            format!("`{endpoint}` has a path"),
            "An endpoint of AWS KMS ends after its host and port: leave out the path.",
        );
    }
    if origin.scheme == UrlScheme::Http && !is_loopback(&origin.host) {
        document.problem(
            problems,
            &path,
            Code::BadValue,
            format!("`{endpoint}` is not on this machine, and `http` is not encrypted"),
            "Write `https`. `http` is for addresses of this machine, such as 127.0.0.1.",
        );
    }
}

/// Whether this is an address of this machine. A name is none: it may lead elsewhere.
fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.parse::<IpAddr>()
        .is_ok_and(|address| address.is_loopback())
}

/// How long a call may wait.
fn timeout(
    document: &Document<OperatorFile>,
    path: &str,
    provider: &KeyProvider,
    problems: &mut Diagnostics,
) {
    if let Some(timeout) = provider.timeout
        && provider.kind != ProviderKind::Software
        && !TIMEOUT_MILLIS.contains(&timeout.millis())
    {
        document.problem(
            problems,
            &format!("{path}/timeout"),
            Code::BadValue,
            format!("`{timeout}` is out of range"),
            "A call waits for `1 ms` to `1 min`.",
        );
    }
}

/// What providers of this kind do not have.
fn of_other_kinds(
    document: &Document<OperatorFile>,
    path: &str,
    provider: &KeyProvider,
    problems: &mut Diagnostics,
) {
    const TOKEN: &[ProviderKind] = &[ProviderKind::Pkcs11];
    const SERVICE: &[ProviderKind] = &[ProviderKind::AwsKms];
    const BOTH: &[ProviderKind] = &[ProviderKind::Pkcs11, ProviderKind::AwsKms];
    let settings = [
        ("module", provider.module.is_some(), TOKEN),
        ("token", provider.token.is_some(), TOKEN),
        ("pin", provider.pin.is_some(), TOKEN),
        ("sessions", provider.sessions.is_some(), TOKEN),
        ("region", provider.region.is_some(), SERVICE),
        ("endpoint", provider.endpoint.is_some(), SERVICE),
        ("ca", provider.ca.is_some(), SERVICE),
        ("credentials", provider.credentials.is_some(), SERVICE),
        ("calls", provider.calls.is_some(), SERVICE),
        ("timeout", provider.timeout.is_some(), BOTH),
    ];
    for (key, is_there, kinds) in settings {
        if !is_there || kinds.contains(&provider.kind) {
            continue;
        }
        let names: Vec<String> = kinds
            .iter()
            .map(|kind| format!("`{}`", kind.name()))
            .collect();
        document.problem(
            problems,
            &format!("{path}/{key}"),
            Code::Contradiction,
            format!(
                "`{key}` is for providers of the kind {}, and this one is `{}`",
                names.join(" or "),
                provider.kind.name()
            ),
            "Leave it out here, or change the kind.",
        );
    }
}

//! The checks of the tables of TLS of `rialto.toml`: what belongs together, and where private keys are.

use crate::diagnostics::{Code, Diagnostics};
use crate::document::Document;
use crate::operator::{Listener, OperatorFile};
use crate::tls::TlsKeyProvider;
use crate::values::{FilePath, Name, UrlScheme};

/// A listener's certificate has one private key, and revocation lists have an authority.
pub(super) fn listener(
    document: &Document<OperatorFile>,
    name: &Name,
    listener: &Listener,
    problems: &mut Diagnostics,
) {
    let Some(tls) = &listener.tls else { return };
    let path = format!("listeners/{name}/tls");
    let keys = (tls.key.as_ref(), tls.key_provider.as_ref());
    if keys == (None, None) && !document.is_doubtful(&path) {
        document.problem(
            problems,
            &path,
            Code::MissingKey,
            format!("`tls` of the listener `{name}` has no private key"),
            "Add `key = \"tls/hub.key\"`, or `key-provider = { provider = \"hsm\", reference = \"tls/hub.reference\" }`.",
        );
    }
    private_key(document, &path, keys, problems);
    if tls.revocations.is_some() && tls.client_ca.is_none() {
        document.problem(
            problems,
            &format!("{path}/revocations"),
            Code::Contradiction,
            "there are `revocations`, and no `client-ca` whose certificates they revoke".to_owned(),
            "Add `client-ca`, or leave out `revocations`.",
        );
    }
}

/// A certificate and its private key belong together, and only https destinations have any.
pub(super) fn outbound(document: &Document<OperatorFile>, problems: &mut Diagnostics) {
    let tls = &document.value.outbound.tls;
    let usual = ("outbound/tls".to_owned(), &tls.certificate);
    let usual = (usual, (tls.key.as_ref(), tls.key_provider.as_ref()));
    let others = tls.destinations.iter().enumerate().map(|(n, one)| {
        let path = format!("outbound/tls/destinations/{n}");
        let keys = (one.key.as_ref(), one.key_provider.as_ref());
        ((path, &one.certificate), keys)
    });
    for ((path, certificate), keys) in std::iter::once(usual).chain(others) {
        private_key(document, &path, keys, problems);
        let (there, missing, help) = match (certificate, keys) {
            (Some(_), (None, None)) => (
                "certificate",
                "key",
                "Add `key` or `key-provider`, or leave out `certificate`.",
            ),
            (None, (Some(_), _)) => (
                "key",
                "certificate",
                "Add `certificate`, or leave out both.",
            ),
            (None, (None, Some(_))) => (
                "key-provider",
                "certificate",
                "Add `certificate`, or leave out both.",
            ),
            _ => continue,
        };
        document.problem(
            problems,
            &format!("{path}/{there}"),
            Code::Contradiction,
            format!("there is a `{there}` without its `{missing}`"),
            help,
        );
    }
    for (n, one) in tls.destinations.iter().enumerate() {
        if one.origin.scheme != UrlScheme::Https {
            document.problem(
                problems,
                &format!("outbound/tls/destinations/{n}/origin"),
                Code::BadValue,
                format!("`{}` is not https", one.origin),
                "TLS is for https origins: `https://fsp.example`.",
            );
        }
    }
}

/// A private key is in one place, and its provider exists.
fn private_key(
    document: &Document<OperatorFile>,
    path: &str,
    (file, provider): (Option<&FilePath>, Option<&TlsKeyProvider>),
    problems: &mut Diagnostics,
) {
    let Some(wanted) = provider else { return };
    let path = format!("{path}/key-provider");
    if file.is_some() {
        document.problem(
            problems,
            &path,
            Code::Contradiction,
            "the private key is either in the file `key` or at a provider".to_owned(),
            "Leave `key` or `key-provider` out.",
        );
    }
    super::keys::exists(
        document,
        &format!("{path}/provider"),
        &wanted.provider,
        problems,
    );
}

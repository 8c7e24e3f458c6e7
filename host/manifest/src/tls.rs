//! The tables of TLS of the operator's document: of listeners, and of outbound requests.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::{FilePath, FspId, Name, OriginPattern};

/// A private key of TLS that a provider of `[keys]` makes and keeps: a key on P-256. `rialto tls-key` makes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TlsKeyProvider {
    /// The provider's name.
    pub provider: Name,
    /// The file of the key's reference, absolute or relative to this document. `rialto tls-key` makes the key and this file. The file may change while the host runs.
    #[schemars(with = "FilePath")]
    pub reference: FilePath,
}

/// Where the private key of a certificate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsKey<'a> {
    /// In a file.
    File(&'a FilePath),
    /// At a provider of keys.
    Provider(&'a TlsKeyProvider),
}

impl<'a> TlsKey<'a> {
    /// None if there is neither.
    fn of(file: Option<&'a FilePath>, provider: Option<&'a TlsKeyProvider>) -> Option<Self> {
        let file = file.map(Self::File);
        file.or_else(|| provider.map(Self::Provider))
    }
}

/// The PEM files of a listener's TLS, absolute or relative to this document. They may change while the host runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tls {
    /// The listener's certificate, with the intermediate certificates up to its authority.
    #[schemars(with = "FilePath")]
    pub certificate: FilePath,
    /// Its private key, not encrypted. Only the host's user may be able to read it.
    #[schemars(with = "FilePath")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<FilePath>,
    /// Instead of `key`: a provider of `[keys]` that makes and keeps the private key.
    #[schemars(with = "TlsKeyProvider")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_provider: Option<TlsKeyProvider>,
    /// The certificates of the authority that issues the clients' certificates. On `operators` and `grpc`, no client can connect without one; without this setting, clients need none. On other listeners `authentication.fsps` of the scheme says whether participants need one; a participant's id is the one common name (CN) of its certificate.
    #[schemars(with = "FilePath")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_ca: Option<FilePath>,
    /// The revocation lists of `client-ca`, with those of its intermediate authorities. With them, a certificate that no list covers is refused too. New lists count within a second, also for open connections.
    #[schemars(with = "FilePath")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revocations: Option<FilePath>,
    /// Of listeners for participants: authorities that issue certificates for one participant only, by its id. Such an authority cannot make a certificate in another's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub participants: BTreeMap<FspId, ClientAuthority>,
}

impl Tls {
    /// Where the private key is. The check of the document lets none through without one.
    #[must_use]
    pub fn private_key(&self) -> Option<TlsKey<'_>> {
        TlsKey::of(self.key.as_ref(), self.key_provider.as_ref())
    }

    /// Authorities that issue certificates in one name only, by that name.
    pub fn authorities_of_one(&self) -> impl Iterator<Item = (&str, &ClientAuthority)> {
        let all = self.participants.iter();
        all.map(|(name, authority)| (name.as_str(), authority))
    }
}

/// An authority that issues the client certificates of one participant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ClientAuthority {
    /// The authority's certificates.
    #[schemars(with = "FilePath")]
    pub client_ca: FilePath,
    /// Its revocation lists.
    #[schemars(with = "FilePath")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revocations: Option<FilePath>,
}

/// The PEM files for https destinations, absolute or relative to this document. They may change while the host runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct OutboundTls {
    /// The certificates of the authorities that may certify destinations. By default the system's.
    #[schemars(with = "FilePath")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<FilePath>,
    /// The certificate that the host shows to destinations that ask for one.
    #[schemars(with = "FilePath")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<FilePath>,
    /// Its private key, not encrypted. Only the host's user may be able to read it.
    #[schemars(with = "FilePath")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<FilePath>,
    /// Instead of `key`: a provider of `[keys]` that makes and keeps the private key.
    #[schemars(with = "TlsKeyProvider")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_provider: Option<TlsKeyProvider>,
    /// Other files for some destinations, such as a participant with an authority of its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub destinations: Vec<DestinationTls>,
}

impl OutboundTls {
    /// The certificate that the host shows to most destinations, and where its private key is.
    #[must_use]
    pub fn identity(&self) -> Option<(&FilePath, TlsKey<'_>)> {
        let key = TlsKey::of(self.key.as_ref(), self.key_provider.as_ref())?;
        Some((self.certificate.as_ref()?, key))
    }

    /// Whether nothing is set.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// The PEM files for one https destination. What is left out is not taken from `outbound.tls`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DestinationTls {
    /// The destination. `*` as the port stands for any port.
    pub origin: OriginPattern,
    /// The certificates of the authority that must have certified it. By default the system's.
    #[schemars(with = "FilePath")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<FilePath>,
    /// The certificate that the host shows to it.
    #[schemars(with = "FilePath")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<FilePath>,
    /// Its private key, not encrypted. Only the host's user may be able to read it.
    #[schemars(with = "FilePath")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<FilePath>,
    /// Instead of `key`: a provider of `[keys]` that makes and keeps the private key.
    #[schemars(with = "TlsKeyProvider")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_provider: Option<TlsKeyProvider>,
}

impl DestinationTls {
    /// The certificate that the host shows to it, and where its private key is.
    #[must_use]
    pub fn identity(&self) -> Option<(&FilePath, TlsKey<'_>)> {
        let key = TlsKey::of(self.key.as_ref(), self.key_provider.as_ref())?;
        Some((self.certificate.as_ref()?, key))
    }
}

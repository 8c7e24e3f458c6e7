//! The tables of TLS of the operator's document: of listeners, and of outbound requests.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::{FilePath, FspId, OriginPattern};

/// The PEM files of a listener's TLS, absolute or relative to this document. They may change while the host runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tls {
    /// The listener's certificate, with the intermediate certificates up to its authority.
    #[schemars(with = "FilePath")]
    pub certificate: FilePath,
    /// Its private key, not encrypted. Only the host's user may be able to read it.
    #[schemars(with = "FilePath")]
    pub key: FilePath,
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
    /// Other files for some destinations, such as a participant with an authority of its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub destinations: Vec<DestinationTls>,
}

impl OutboundTls {
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
}

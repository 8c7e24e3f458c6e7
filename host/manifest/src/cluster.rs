//! The table `[cluster]` of the operator's document: how hosts that share a database reach each other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::{Duration, FilePath, ListenAddress};

/// How hosts that share a database reach each other. With it, each of them takes requests, and passes them to the one that serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Cluster {
    /// The address at which this host takes requests from other hosts. They learn it from the database.
    pub listen: ListenAddress,
    /// The certificate that this host shows to other hosts, as server and as client, PEM. It is for the IP address of `listen`. Without certificates, `listen` must be an address that no other machine reaches, and no client may prove who it is by a certificate.
    #[schemars(with = "FilePath")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<FilePath>,
    /// Its private key, PEM, which nobody else may read.
    #[schemars(with = "FilePath")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<FilePath>,
    /// The certificates of the authority that certifies the hosts, PEM. Whoever it certifies may pass requests in any participant's name, so it certifies nobody else.
    #[schemars(with = "FilePath")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<FilePath>,
    /// How long a request waits while no host serves. Then it is answered with 503.
    #[serde(default = "five_seconds")]
    pub wait: Duration,
}

fn five_seconds() -> Duration {
    "5 s"
        .parse()
        .expect("`5 s` is a duration: a number and a unit")
}

impl Cluster {
    /// The files of certificate, key and authority, if hosts have certificates.
    #[must_use]
    pub fn files(&self) -> Option<[&FilePath; 3]> {
        match (&self.certificate, &self.key, &self.ca) {
            (Some(certificate), Some(key), Some(ca)) => Some([certificate, key, ca]),
            _ => None,
        }
    }
}

//! The table `[sign-in]` of `rialto.toml`: the OpenID provider that operators sign in with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::{BaseUrl, Duration, FilePath, Issuer};

/// The OpenID provider that people sign in with, and what the host is to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SignIn {
    /// The issuer's URL, octet by octet as the provider writes it. Below it is `/.well-known/openid-configuration`. `http` is for addresses of this machine, for tests.
    pub issuer: Issuer,
    /// The name by which the provider knows the host.
    #[schemars(length(min = 1, max = 256))]
    pub client_id: String,
    /// Where the client's secret is. Left out for a public client.
    #[schemars(with = "ClientSecret")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<ClientSecret>,
    /// The URL at which browsers reach the operators' listener, without a path. The provider sends them back to `/sign-in/callback` below it: register that there. `http` is for addresses of this machine.
    pub address: BaseUrl,
    /// The certificates of the authority that must have certified the issuer, PEM. The system's authorities if it is left out. The path is absolute or relative to this document.
    #[schemars(with = "FilePath")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorities: Option<FilePath>,
    /// How long a session lasts, `1 min` to `24 h`.
    #[serde(default = "session")]
    pub session: Duration,
    /// Scopes to ask for beside `openid`.
    #[schemars(length(max = 16))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
}

/// Where the secret of the host as a client is. Either `file` or `variable` is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ClientSecret {
    /// A file with the secret in a line, which only the host's user can access. The path is absolute or relative to this document.
    #[schemars(with = "FilePath")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FilePath>,
    /// An environment variable of the host.
    #[schemars(regex(pattern = "^[A-Za-z_][A-Za-z0-9_]*$"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
}

/// How long a session lasts if the document does not say it.
fn session() -> Duration {
    Duration::from_millis(8 * 3_600_000)
}

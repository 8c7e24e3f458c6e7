//! The listeners of a host.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tls::Tls;
use crate::values::{InterfacePattern, ListenAddress};

/// An address that the host listens on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Listener {
    /// IP address and port; port 0 lets the system choose one.
    pub address: ListenAddress,
    /// TLS with these files. Without it the listener speaks plaintext.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
    /// Of `grpc`: whether plaintext is allowed on an address that other machines can reach, such as behind a proxy with TLS. False by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plaintext: Option<bool>,
    /// Of listeners for participants: whether they may send access tokens without TLS. Whoever reads the connection can then use them. Only for a proxy with TLS before the host, or for a sandbox. False by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plaintext_tokens: Option<bool>,
    /// Of `grpc`: calls that clients may make: `quoting/get-agreement`, or all of a package, `quoting/*`. None by default. Components call each other by these interfaces, so some of them move money without the checks that come before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub serve: Vec<InterfacePattern>,
    /// Of `grpc`: events that clients may publish, each by its name. None by default. An event goes to all components that subscribe to it. The call is answered after the event is on disk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<InterfacePattern>,
    /// Of `grpc`: who may list the calls (reflection). By default only operators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reflection: Option<Audience>,
    /// Of `operators`: who sees the names of destinations in the metrics. By default only operators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destinations: Option<Audience>,
}

/// The audience of information that is not for everybody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Audience {
    /// Operators with the role `reader`, by their token.
    #[default]
    Operators,
    /// Everybody who reaches the listener.
    Open,
}

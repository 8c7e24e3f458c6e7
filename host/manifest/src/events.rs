//! The table `[events.publish]` of the operator's document: which events leave the host, where to, and what of them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::{FilePath, InterfacePattern, Name, Period};

/// What stands for all members of an event.
pub const EVERY_MEMBER: &str = "*";
/// The longest name of a stream, and the longest prefix of subjects, in characters.
const CHARACTERS_MAX: usize = 64;

/// Events for programs outside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Events {
    /// Events are sent to NATS JetStream. Without this table none leaves the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publish: Option<Publish>,
}

/// Events are sent to NATS JetStream as CloudEvents, after their commit and in its order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Publish {
    /// The server: `nats://host:4222`, or `tls://host:4222` where TLS is required. Several of one cluster are separated by commas. A user and a password do not belong here.
    pub nats: String,
    /// The stream of JetStream that keeps the events. The host makes it if it is not there.
    #[serde(default = "stream")]
    pub stream: String,
    /// The copies of a stream that the host makes: 1 to 5. Three survive the loss of a server.
    #[schemars(range(min = 1, max = 5))]
    #[serde(default = "one_copy")]
    pub replicas: u32,
    /// What subjects begin with: an event goes to `PREFIX.PARTITION.CONTEXT.EVENT`.
    #[serde(default = "prefix")]
    pub prefix: String,
    /// The events that go out, each with the members that go out: `"transfers/transfer-prepared" = ["transfer-id"]`. `CONTEXT/*` names all of a context, and `["*"]` all members. An empty list tells that the event happened. Events that are not listed do not go out.
    pub events: BTreeMap<InterfacePattern, Vec<String>>,
    /// The kinds of subjects that go out with events, such as `transfer`. None by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<Name>,
    /// Events that may name people. In others, the people of `[personal-data]` are left out: their subjects, and each member that has a person's id as its value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub personal: Vec<InterfacePattern>,
    /// How long events can be sent again. Older ones are removed from the store, sent or not.
    #[serde(default = "week")]
    pub keep: Period,
    /// How many events can be sent again. By this number the store is kept from filling the disk while NATS is away.
    #[schemars(range(min = 1_000, max = 1_000_000_000))]
    #[serde(default = "ten_million")]
    pub keep_events: u64,
    /// The file with the credentials of a NATS user (`.creds`), absolute or relative to this document.
    #[schemars(with = "FilePath")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<FilePath>,
    /// The file with the seed of an nkey.
    #[schemars(with = "FilePath")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nkey: Option<FilePath>,
    /// The file with a user and a password, each on its line.
    #[schemars(with = "FilePath")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<FilePath>,
    /// The file with the certificates of the authority that the server must be certified by, PEM. Without it, the system's authorities.
    #[schemars(with = "FilePath")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<FilePath>,
    /// The host's own certificate, PEM, if the server asks for one.
    #[schemars(with = "FilePath")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<FilePath>,
    /// Its key, PEM.
    #[schemars(with = "FilePath")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<FilePath>,
}

fn stream() -> String {
    "RIALTO".to_owned()
}

fn prefix() -> String {
    "rialto".to_owned()
}

const fn one_copy() -> u32 {
    1
}

fn week() -> Period {
    "7 days"
        .parse()
        .expect("`7 days` is a period: a number and a unit")
}

const fn ten_million() -> u64 {
    10_000_000
}

/// A server of NATS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Whether the connection must be TLS.
    pub requires_tls: bool,
    /// Host and port.
    pub address: String,
}

impl Publish {
    /// The servers.
    ///
    /// # Errors
    /// With what is wrong, and what to do.
    pub fn servers(&self) -> Result<Vec<Server>, (String, &'static str)> {
        self.nats.split(',').map(server).collect()
    }

    /// Whether a server is on another machine and its connection need not be TLS.
    #[must_use]
    pub fn is_readable_by_others(&self) -> bool {
        let servers = self.servers().unwrap_or_default();
        let is_here = |address: &str| {
            let local = address.starts_with("localhost:");
            let socket = address.parse::<std::net::SocketAddr>();
            local || socket.is_ok_and(|socket| socket.ip().is_loopback())
        };
        let requires_tls = servers.iter().any(|server| server.requires_tls);
        !requires_tls && servers.iter().any(|server| !is_here(&server.address))
    }

    /// Whether the stream can have this name.
    #[must_use]
    pub fn has_stream(&self) -> bool {
        is_token(&self.stream)
    }

    /// Whether subjects can begin with this prefix.
    #[must_use]
    pub fn has_prefix(&self) -> bool {
        self.prefix.len() <= CHARACTERS_MAX && self.prefix.split('.').all(is_token)
    }

    /// The members of an event that go out; none if it does not.
    #[must_use]
    pub fn members(&self, event: &str) -> Option<&[String]> {
        let mut found = self.events.iter().filter(|(of, _)| of.names(event));
        let found = found.by_ref().max_by_key(|(of, _)| of.interface.is_some());
        found.map(|(_, members)| members.as_slice())
    }

    /// Whether an event may name people.
    #[must_use]
    pub fn may_name_people(&self, event: &str) -> bool {
        self.personal.iter().any(|of| of.names(event))
    }
}

impl InterfacePattern {
    /// Whether it names this interface, or all of its package.
    #[must_use]
    pub fn names(&self, name: &str) -> bool {
        let Some((package, interface)) = name.split_once('/') else {
            return false;
        };
        self.package.as_str() == package
            && self
                .interface
                .as_ref()
                .is_none_or(|wanted| wanted.as_str() == interface)
    }
}

/// Whether a text is a part of a subject: letters, digits, hyphens and underscores.
fn is_token(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=CHARACTERS_MAX).contains(&text.len()) && text.chars().all(is_part)
}

fn server(text: &str) -> Result<Server, (String, &'static str)> {
    const FORM: &str = "Write it as `nats://host:4222`, or `tls://host:4222`.";
    let text = text.trim();
    let (requires_tls, address) = match text.split_once("://") {
        Some(("nats", address)) => (false, address),
        Some(("tls", address)) => (true, address),
        _ => return Err((format!("`{text}` is no server of NATS"), FORM)),
    };
    let address = address.strip_suffix('/').unwrap_or(address);
    if address.contains('@') {
        return Err((
            "a server of NATS has a user or a password in its URL".to_owned(),
            "Put them into a file, and name it with `password`, `nkey` or `credentials`.",
        ));
    }
    let (host, port) = match address.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (address, None),
    };
    let has_port = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    let is_bracketed = host.starts_with('[') && host.ends_with(']');
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let has_host = if is_bracketed {
        host[1..host.len() - 1]
            .parse::<std::net::Ipv6Addr>()
            .is_ok()
    } else {
        !host.is_empty() && host.chars().all(is_part)
    };
    if !has_port || !has_host {
        return Err((format!("`{text}` is no server of NATS"), FORM));
    }
    let port = port.unwrap_or("4222");
    Ok(Server {
        requires_tls,
        address: format!("{host}:{port}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_hosts_with_ports() {
        let good = [
            ("nats://127.0.0.1:4222", "127.0.0.1:4222"),
            ("nats://nats.example", "nats.example:4222"),
            ("tls://[::1]:4223", "[::1]:4223"),
            ("nats://[::1]", "[::1]:4222"),
        ];
        for (text, address) in good {
            let read = server(text).unwrap();
            assert_eq!(read.address, address);
            assert_eq!(read.requires_tls, text.starts_with("tls"));
        }
        for bad in [
            "",
            "127.0.0.1:4222",
            "http://127.0.0.1:4222",
            "nats://",
            "nats://host:0",
            "nats://host:70000",
            "nats://host/path",
            "nats://user:secret@host:4222",
            "nats://[::g]:4222",
        ] {
            let (message, _) = server(bad).unwrap_err();
            assert!(!message.contains("secret"), "{message}");
        }
    }

    #[test]
    fn the_name_of_an_event_comes_before_its_context() {
        let publish: Publish = toml::from_str(
            r#"
            nats = "nats://127.0.0.1:4222"
            events = { "a/*" = [], "a/b" = ["c"] }
            personal = ["a/b"]
            "#,
        )
        .unwrap();
        assert_eq!(publish.members("a/b"), Some(&["c".to_owned()][..]));
        assert_eq!(publish.members("a/d"), Some(&[][..]));
        assert_eq!(publish.members("b/a"), None);
        assert!(publish.may_name_people("a/b") && !publish.may_name_people("a/d"));
    }
}

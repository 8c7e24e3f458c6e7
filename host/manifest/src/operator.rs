//! The operator's document, `rialto.toml`: where the host listens and keeps its state, how much it
//! takes on, and what a scheme may be given at all.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::audit::AuditLog;
use crate::certificates::Certificates;
use crate::check;
use crate::cluster::Cluster;
use crate::diagnostics::Diagnostics;
use crate::document::Document;
use crate::events::Events;
use crate::history::History;
use crate::keys::KeyProviders;
use crate::passkeys::Passkeys;
use crate::personal_data::PersonalData;
use crate::releases::Releases;
use crate::schema;
use crate::sign_in::SignIn;
use crate::signatures::Signatures;
use crate::source::Source;
use crate::tls::{OutboundTls, Tls};
use crate::values::{
    BaseUrl, DatabaseUrl, Duration, FilePath, InterfacePattern, IpRange, ListenAddress, Name,
    OriginPattern, Period, Size,
};

/// The operator's document.
pub const FILE_NAME: &str = "rialto.toml";

/// The listener that serves calls, not HTTP.
pub const GRPC: &str = "grpc";
/// The listener of the operators' own API.
pub const OPERATORS: &str = "operators";

/// The operator's document that was read and checked by itself.
#[derive(Clone, Debug)]
pub struct Operator {
    document: Document<OperatorFile>,
}

impl Operator {
    /// Read and check the text of a `rialto.toml`.
    ///
    /// # Errors
    /// With every problem that was found.
    pub fn parse(text: &str) -> Result<Self, Diagnostics> {
        let mut problems = Diagnostics::default();
        let operator = Self::read(text, &mut problems);
        problems.or(operator)
    }

    pub(crate) fn read(text: &str, problems: &mut Diagnostics) -> Option<Self> {
        let source = Source::new(FILE_NAME, text);
        let document = Document::read(source, &schema::OPERATOR, problems)?;
        check::operator(&document, problems);
        Some(Self { document })
    }

    pub(crate) const fn document(&self) -> &Document<OperatorFile> {
        &self.document
    }

    /// The folder of the store, for a document in that folder.
    #[must_use]
    pub fn store_path(&self, folder: &Path) -> PathBuf {
        self.store.path.from_folder(folder)
    }

    /// The folder of archives, for a document in that folder and a store in this.
    #[must_use]
    pub fn archives_path(&self, folder: &Path, store: &Path) -> PathBuf {
        match &self.store.archives {
            Some(archives) => archives.from_folder(folder),
            None => store.join("archives"),
        }
    }
}

impl std::ops::Deref for Operator {
    type Target = OperatorFile;

    fn deref(&self) -> &OperatorFile {
        &self.document.value
    }
}

/// The operator's document, `rialto.toml`: listeners, store, bounds, and what a scheme may be given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(title = "rialto.toml")]
pub struct OperatorFile {
    /// Addresses that the host listens on, by name. The scheme's contexts refer to these names. `operators` serves the operators' API and the metrics. `grpc` serves the calls that components export. `fsps` is the usual name of the participants' listener.
    pub listeners: BTreeMap<Name, Listener>,
    /// The operators who may use the operators' listener, by name. Each one without a `subject` has a token in `operators/NAME.token` in the store's folder. The host creates a missing token at its start. Without this table there is one operator, `operator`, with the token in `operator.token`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub operators: BTreeMap<Name, Person>,
    /// The OpenID provider that people sign in with. Without this table nobody signs in, and operators have tokens in files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign_in: Option<SignIn>,
    /// How operators who sign in confirm what they approve. Without this table a session or a token is enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passkeys: Option<Passkeys>,
    /// How releases become current.
    #[serde(default)]
    pub releases: Releases,
    /// Where the host keeps its state.
    #[serde(default)]
    pub store: Store,
    /// How hosts that share a database reach each other. Without this table only the host that serves takes requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Cluster>,
    /// Bounds on outbound requests.
    #[serde(default)]
    pub outbound: Outbound,
    /// The most that the scheme's components may be granted. The scheme must ask for each grant too.
    #[serde(default)]
    pub grants: OperatorGrants,
    /// The highest limits that the scheme may give to one component.
    #[serde(default)]
    pub ceilings: Ceilings,
    /// Public keys of participants that sign their messages, and the host's own key.
    #[serde(default)]
    pub signatures: Signatures,
    /// Keys that components use and never see: their providers and the master key.
    #[serde(default)]
    pub keys: KeyProviders,
    /// The authority that certifies clients. Without this table nobody gets certificates from the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificates: Option<Certificates>,
    /// Signed checkpoints of the audit log. Without this table the log is kept, and nobody can prove that it was not changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditLog>,
    /// Records that name people are encrypted with keys of these people. Without this table they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub personal_data: Option<PersonalData>,
    /// What the history of turns keeps.
    #[serde(default)]
    pub history: History,
    /// How the host runs turns.
    #[serde(default)]
    pub engine: Engine,
    /// Bounds on inbound requests.
    #[serde(default)]
    pub http: Http,
    /// What the host writes to its log.
    #[serde(default)]
    pub log: Log,
    /// Events for programs outside. Without this table none leaves the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Events>,
    /// The export of traces. Without this table there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry: Option<Telemetry>,
    /// Where the operators' console has figures from that are older than two hours. Without this table it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub console: Option<Console>,
}

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

/// An operator: a person or program that may use the operators' listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Person {
    /// The operator's roles, one or several. Nobody approves their own changes, whatever their roles.
    pub roles: BTreeSet<Role>,
    /// The name of the person who holds this token. A person with several tokens has the same name in each, and so cannot approve their own changes. By default the name of the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<Name>,
    /// The claim `sub` of the person who signs in as this operator, as the issuer of [sign-in] writes it. An operator with a subject has no token in a file.
    #[schemars(length(min = 1, max = 255))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
}

/// A role of an operator.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Reads everything and changes nothing.
    Reader,
    /// Asks for changes, which somebody else approves.
    Maker,
    /// Approves or rejects changes that others asked for.
    Checker,
    /// Calls interfaces of contexts, as another context does. No second person checks these calls.
    Context,
    /// Changes what the host runs: releases, components, dead letters.
    Admin,
}

impl Role {
    /// Every role, in the order of the contract.
    pub const ALL: [Self; 5] = [
        Self::Reader,
        Self::Maker,
        Self::Checker,
        Self::Context,
        Self::Admin,
    ];

    /// The role as documents and components have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Maker => "maker",
            Self::Checker => "checker",
            Self::Context => "context",
            Self::Admin => "admin",
        }
    }
}

/// The operator who holds `operator.token`, who is there when nobody is named: no table may have this name.
pub const FIRST_OPERATOR: &str = "operator";
/// What stands for a checker where the scheme approves by itself: no operator may have this name.
pub const NOBODY: &str = "automatic";

/// Where the host keeps its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Store {
    /// The folder of the database and of compiled components, absolute or relative to this document. With `url` it has only what belongs to this host: compiled components, tokens and addresses.
    #[schemars(with = "FilePath")]
    pub path: FilePath,
    /// The PostgreSQL database that keeps the scheme instead of the folder's SQLite database. Several hosts may name the same one: one of them serves, the others are standbys. A password is not part of it.
    #[schemars(with = "DatabaseUrl")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<DatabaseUrl>,
    /// Whether the host refuses a database without a synchronous standby, which keeps everything that was acknowledged when the primary is lost. Only with `url`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub synchronous_standby: bool,
    /// The folder of archives, absolute or relative to this document. By default `archives` in the store's folder.
    #[schemars(with = "FilePath")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archives: Option<FilePath>,
    /// How long permanent data stays in the store before it is moved to an archive. Kinds of data that are not listed stay.
    #[serde(skip_serializing_if = "Keep::is_everything")]
    pub keep: Keep,
    /// The free disk space below which requests that begin something are refused with 503. The rest is left for finishing what has begun.
    pub free_min: Size,
}

impl Default for Store {
    fn default() -> Self {
        Self {
            path: "state".parse().expect("`state` is a path: it is not empty"),
            url: None,
            synchronous_standby: false,
            archives: None,
            keep: Keep::default(),
            free_min: Size::from_mib(1_024),
        }
    }
}

/// How long permanent data stays in the store. A segment is archived as a whole, when its youngest item is this old.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct Keep {
    /// The history of turns: `rialto events`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<Period>,
    /// The rules' verdicts: `rialto receipts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipts: Option<Period>,
    /// Entries of the audit log, the oldest first and 256 at a time. With `[audit]`, only entries that a signed checkpoint covers. `rialto audit` reads archived entries too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<Period>,
    /// Finished documents, by the components' names for them, such as `transfers`. The period begins when a document is finished.
    #[serde(flatten)]
    pub documents: BTreeMap<Name, Period>,
}

impl Keep {
    /// Whether nothing is ever archived.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }
}

/// Bounds on outbound requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Outbound {
    /// Connections to one destination at a time.
    #[schemars(range(min = 1, max = 4096))]
    pub connections_per_destination: u32,
    /// Requests to all destinations that may wait in memory for delivery. Further ones wait on disk.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub requests_waiting_max: u32,
    /// Requests to one destination that may wait in memory for delivery. By default a quarter of all, and never more than is left for all others. Further ones wait on disk, so that a dead destination leaves room for the others.
    #[schemars(range(min = 1, max = 1_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_waiting_per_destination_max: Option<u32>,
    /// Failed attempts in a row after which a destination is paused and then tried again with one request. An attempt fails without a connection, by a broken connection, without an answer in time, or with 502, 503 or 504 from a gateway.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub breaker_failures: u32,
    /// The first pause. Each further one is twice as long.
    pub breaker_pause: Duration,
    /// The longest pause.
    pub breaker_pause_max: Duration,
    /// TLS towards https destinations. Without it, their certificates must be from the system's authorities, and the host shows none.
    #[serde(skip_serializing_if = "OutboundTls::is_usual")]
    pub tls: OutboundTls,
    /// Private ranges of addresses that destinations' names may lead to, such as a private network that the participants share. None by default: a participant's name server must not lead requests to services beside the host. A destination that is granted as an address needs no range.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub private_ranges: Vec<IpRange>,
}

impl Outbound {
    /// Requests that may wait in memory for one destination.
    #[must_use]
    pub fn per_destination(&self) -> u32 {
        let quarter = (self.requests_waiting_max / 4).max(1);
        self.requests_waiting_per_destination_max.unwrap_or(quarter)
    }
}

impl Default for Outbound {
    fn default() -> Self {
        Self {
            connections_per_destination: 32,
            requests_waiting_max: 16_384,
            requests_waiting_per_destination_max: None,
            breaker_failures: 8,
            breaker_pause: Duration::from_millis(500),
            breaker_pause_max: Duration::from_millis(15_000),
            tls: OutboundTls::default(),
            private_ranges: Vec::new(),
        }
    }
}

/// A surface of the host that a component may be granted.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Surface {
    /// The component's own documents.
    Storage,
    /// Reminders.
    Scheduling,
    /// Requests to granted origins.
    Http,
    /// The component's settings and the scheme's facts.
    Configuration,
    /// The time of the turn.
    Clock,
    /// Random bytes and ids.
    Random,
    /// Signatures, by keys that the component does not see.
    Crypto,
    /// Keys of the component's own, at a provider. The component does not see them.
    Keys,
    /// Secrets that operators have set for the component.
    Secrets,
    /// Which TLS files the host uses, and reading them again.
    Tls,
    /// Client certificates from the authority of `[certificates]`.
    Certificates,
    /// Entries of the audit log.
    Auditing,
    /// Reading the audit log.
    AuditLog,
    /// Who calls the component: another one, or a client by gRPC.
    Caller,
    /// By which release's rules the component's requests are judged.
    Judging,
    /// Marks of the branches that a rule takes.
    Trace,
    /// Lines for the host's log.
    Logging,
}

impl Surface {
    /// Every surface, in the order of the contracts.
    pub const ALL: [Self; 17] = [
        Self::Storage,
        Self::Scheduling,
        Self::Http,
        Self::Configuration,
        Self::Clock,
        Self::Random,
        Self::Crypto,
        Self::Keys,
        Self::Secrets,
        Self::Tls,
        Self::Auditing,
        Self::AuditLog,
        Self::Certificates,
        Self::Caller,
        Self::Trace,
        Self::Judging,
        Self::Logging,
    ];

    /// The interface's name in `rialto:host`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Storage => "storage",
            Self::Scheduling => "scheduling",
            Self::Http => "http",
            Self::Configuration => "configuration",
            Self::Clock => "clock",
            Self::Random => "random",
            Self::Crypto => "crypto",
            Self::Keys => "keys",
            Self::Secrets => "secrets",
            Self::Tls => "tls",
            Self::Certificates => "certificates",
            Self::Auditing => "auditing",
            Self::AuditLog => "audit-log",
            Self::Caller => "caller",
            Self::Judging => "judging",
            Self::Logging => "logging",
            Self::Trace => "trace",
        }
    }
}

/// The most that a scheme's components may be granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct OperatorGrants {
    /// Surfaces of the host. All by default.
    pub host: Vec<Surface>,
    /// Origins that requests may go to. None by default. `*` as the port stands for any port.
    pub outbound: Vec<OriginPattern>,
}

impl Default for OperatorGrants {
    fn default() -> Self {
        Self {
            host: Surface::ALL.to_vec(),
            outbound: Vec::new(),
        }
    }
}

/// The highest limits that the scheme may give to one component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Ceilings {
    /// Memory of one instance.
    pub memory: Size,
    /// How long one call may run, in processor time: waiting for a processor or the disk does not count.
    pub deadline: Duration,
    /// Fuel of one call: roughly, WebAssembly instructions.
    #[schemars(range(min = 1, max = 1_000_000_000_000_i64))]
    pub fuel: u64,
    /// Instances of one component in use at a time.
    #[schemars(range(min = 1, max = 10_000))]
    pub instances: u32,
    /// Instances of all contexts in use at a time: the sum of the scheme's limits. The host reserves room for twice as many, because two releases have instances while one replaces the other.
    #[schemars(range(min = 1, max = 2_048))]
    pub instances_in_all: u32,
    /// The most core modules of one component. Components of languages with a runtime, such as Python, have dozens.
    #[schemars(range(min = 1, max = 1_000))]
    pub core_modules: u32,
}

impl Default for Ceilings {
    fn default() -> Self {
        Self {
            memory: Size::from_mib(64),
            deadline: Duration::from_millis(5_000),
            fuel: 10_000_000_000,
            instances: 64,
            instances_in_all: 512,
            core_modules: 64,
        }
    }
}

/// How the host runs turns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Engine {
    /// Threads that run turns. If it is set, all of them may run turns at once. By default there are four for each core, because some wait for the disk or run a slow component. As many turns as cores (at least two) then run at once, and one more for each turn that takes longer than 10 ms.
    #[schemars(range(min = 1, max = 1024))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// Turns that may wait. Beyond this, requests are answered 503 with Retry-After. Deliveries that wait for another attempt or for a paused component do not count.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub turns_waiting_max: u32,
    /// Requests of one client that may wait or run. By default a quarter of all. Further ones of the client are answered 503 with Retry-After. A client is an operator's name, a participant that has proven its id, or else an address (of IPv6: a /64 network).
    #[schemars(range(min = 1, max = 1_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns_waiting_per_client_max: Option<u32>,
    /// The weight of each client: how many of its requests begin in its round while the host is overloaded. 1 for a client that is not listed. `operator NAME` stands for an operator, `client ID` for a participant that has proven its id, `address ADDRESS` for all requests from an address.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub client_weights: BTreeMap<String, Weight>,
    /// How often a failing delivery between components is tried before it becomes a dead letter.
    #[schemars(range(min = 1, max = 100_000))]
    pub turn_attempts_max: u32,
    /// How long a failing delivery is tried before it becomes a dead letter, even if attempts are left.
    pub retry_for: Duration,
    /// The pause after a delivery's first failure. It doubles with each further failure.
    pub retry_initial: Duration,
    /// The longest pause between a delivery's attempts.
    pub retry_max: Duration,
    /// The number of subjects whose failed deliveries pause a component, if none has succeeded since and they came from several senders.
    #[schemars(range(min = 1, max = 1_000))]
    pub pause_subjects: u32,
    /// The number of senders for that. So one sender of bad messages does not pause a component for all.
    #[schemars(range(min = 1, max = 1_000))]
    pub pause_senders: u32,
    /// The time from the pause of a component to its first probe, which is one delivery. It doubles after each failed probe.
    pub probe_initial: Duration,
    /// The longest time between two probes.
    pub probe_max: Duration,
    /// Deliveries in memory that wait for another attempt or for a paused component. Further ones wait on disk.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub deliveries_in_memory_max: u32,
    /// The idle time after which an instance of a component is dropped. It takes effect after at most twice this time.
    pub instance_idle: Duration,
}

/// How many requests of a client begin in its round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Weight(#[schemars(range(min = 1, max = 1_000))] pub u32);

impl Engine {
    /// Requests of one client that may wait or be under way.
    #[must_use]
    pub fn per_client(&self) -> u32 {
        let quarter = (self.turns_waiting_max / 4).max(1);
        self.turns_waiting_per_client_max.unwrap_or(quarter)
    }
}

impl Default for Engine {
    fn default() -> Self {
        Self {
            workers: None,
            turns_waiting_max: 4_096,
            turns_waiting_per_client_max: None,
            client_weights: BTreeMap::new(),
            turn_attempts_max: 100,
            retry_for: Duration::from_millis(4 * 3_600_000),
            retry_initial: Duration::from_millis(50),
            retry_max: Duration::from_millis(300_000),
            pause_subjects: 8,
            pause_senders: 2,
            probe_initial: Duration::from_millis(1_000),
            probe_max: Duration::from_millis(30_000),
            deliveries_in_memory_max: 16_384,
            instance_idle: Duration::from_millis(60_000),
        }
    }
}

/// Bounds on inbound requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Http {
    /// The longest body. If an API's own limit is smaller, that one counts. FSPIOP's limit is 5 MiB.
    pub body_max: Size,
    /// The memory for all bodies that are read or handled at a time. Beyond it, requests are answered 503 with Retry-After.
    pub bodies_max: Size,
    /// The part of `bodies-max` for one address (of IPv6: one /64 network). By default a quarter, but at least `body-max`. All clients behind one proxy are one address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bodies_per_peer_max: Option<Size>,
    /// The longest header section. If an API's own limit is smaller, that one counts. FSPIOP's limit is 64 KiB.
    pub headers_max: Size,
    /// How long a request may take, from its first byte to the answer.
    pub request_timeout: Duration,
    /// The least average bytes per second at which a client must send a body and read an answer. A slower client is disconnected.
    pub rate_min: Size,
    /// The time at the beginning of each body and answer in which this rate is not required.
    pub rate_grace: Duration,
    /// Connections of one listener at a time.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub connections_max: u32,
    /// Connections of one listener at a time from one address (of IPv6: from one /64 network); more are closed at once.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub connections_per_peer_max: u32,
}

impl Http {
    /// The part of all bodies that one address may have.
    #[must_use]
    pub fn bodies_per_peer(&self) -> Size {
        let quarter = Size::from_bytes(self.bodies_max.bytes() / 4);
        let quarter = quarter.max(self.body_max);
        self.bodies_per_peer_max.unwrap_or(quarter)
    }
}

impl Default for Http {
    fn default() -> Self {
        Self {
            body_max: Size::from_mib(5),
            bodies_max: Size::from_mib(256),
            bodies_per_peer_max: None,
            headers_max: Size::from_kib(64),
            request_timeout: Duration::from_millis(30_000),
            rate_min: Size::from_bytes(240),
            rate_grace: Duration::from_millis(5_000),
            connections_max: 4_096,
            connections_per_peer_max: 1_024,
        }
    }
}

/// What the host writes to its log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Log {
    /// Levels by target, as tracing's env-filter reads them: `info`, `warn,rialto=debug`.
    #[schemars(length(min = 1, max = 1024))]
    pub filter: String,
    /// The form of log lines.
    pub format: LogFormat,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            filter: "info".to_owned(),
            format: LogFormat::Auto,
        }
    }
}

/// The form of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// Text on a terminal, JSON elsewhere.
    Auto,
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// The collector of traces, of log lines and of the audit log's entries, and the sampling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Telemetry {
    /// The base URL of an OpenTelemetry collector that accepts OTLP over HTTP in JSON. `/v1/traces` and `/v1/logs` are appended. Only `http` is possible: run a collector beside the host that forwards over TLS.
    pub endpoint: BaseUrl,
    /// The part of traces that is recorded, from 0 to 1. A trace's id decides, so hosts with the same ratio record the same traces. The sender's own flag does not count.
    #[serde(default = "all")]
    #[schemars(range(min = 0, max = 1))]
    pub sampling_ratio: f64,
    /// Whether log lines at `info` and above are exported too, if `log.filter` lets them through.
    #[serde(default)]
    pub logs: bool,
    /// Whether each entry of the audit log is sent too, as a log record whose body is the entry in this format. None is left out: entries wait in the store while the collector is away. Without it, no entry is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditFormat>,
    /// The host's name in traces and log lines.
    #[serde(default = "rialto")]
    #[schemars(length(min = 1, max = 255))]
    pub service_name: String,
}

/// The format of an entry of the audit log for other systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AuditFormat {
    /// The entry itself with its index, JSON.
    Json,
    /// The Common Event Format.
    Cef,
    /// An event of the Open Cybersecurity Schema Framework, JSON.
    Ocsf,
}

const fn all() -> f64 {
    1.0
}

fn rialto() -> String {
    "rialto".to_owned()
}

/// What the operators' console is told beside what the host itself knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Console {
    /// The base URL of a Prometheus that reads this host's metrics. `/api/v1/query_range` is appended. Only `http` is possible, and nobody else can have the host ask there.
    pub prometheus: BaseUrl,
    /// The label `job` of this host's metrics there. Without it, the metrics of all hosts there are added up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<Name>,
}

//! The operator's document, `rialto.toml`: where the host listens and keeps its state, how much it
//! takes on, and what a scheme may be given at all.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::check;
use crate::diagnostics::Diagnostics;
use crate::document::Document;
use crate::schema;
use crate::source::Source;
use crate::values::{
    BaseUrl, Duration, FilePath, InterfacePattern, ListenAddress, Name, OriginPattern, Period, Size,
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
    /// Addresses that the host listens on, by names that the scheme's contexts refer to. `operators` serves the operators' own API and the metrics, `grpc` the calls that components export; `fsps` is the usual name for the participants' one.
    pub listeners: BTreeMap<Name, Listener>,
    /// Those who may use the operators' listener, by their names, each with a token of its own, in `operators/NAME.token` in the store's folder, drawn at the start when it is not there. Where nobody is named there is one operator, `operator`, whose token is in `operator.token`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub operators: BTreeMap<Name, Person>,
    /// How releases become current.
    #[serde(default)]
    pub releases: Releases,
    /// Where the host keeps its state.
    #[serde(default)]
    pub store: Store,
    /// Bounds on outbound requests.
    #[serde(default)]
    pub outbound: Outbound,
    /// What the scheme's components may be granted at most; each grant needs the scheme's word too.
    #[serde(default)]
    pub grants: OperatorGrants,
    /// The highest limits that the scheme may give to one component.
    #[serde(default)]
    pub ceilings: Ceilings,
    /// Keys of those who sign their messages, and the host's own.
    #[serde(default)]
    pub signatures: Signatures,
    /// How the host runs turns.
    #[serde(default)]
    pub engine: Engine,
    /// Bounds on requests from the outside.
    #[serde(default)]
    pub http: Http,
    /// What the host writes to its log.
    #[serde(default)]
    pub log: Log,
    /// Where traces go; none are made unless this table is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry: Option<Telemetry>,
}

/// An address that the host listens on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Listener {
    /// IP address and port; port 0 lets the system choose one.
    pub address: ListenAddress,
    /// Of `grpc`: TLS with these files. Without it the listener speaks plaintext.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
    /// Of `grpc`: whether plaintext is meant where others than this machine may listen, as behind a proxy that has TLS; not unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plaintext: Option<bool>,
    /// Of `grpc`: calls that clients may make, `quoting/get-agreement`, or all of a package, `quoting/*`; none unless said. They are what components call each other by, so that some move money without what is asked before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub serve: Vec<InterfacePattern>,
    /// Of `grpc`: events that clients may tell, each by its name; none unless said. An event goes to all that take it, and the call is answered when that is on disk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<InterfacePattern>,
    /// Of `grpc`: who is told which calls there are; operators unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reflection: Option<Audience>,
    /// Of `operators`: who sees the names of destinations in the metrics; operators unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destinations: Option<Audience>,
}

/// The files of a listener's TLS: PEM, absolute or relative to this document. They may be changed while the host runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tls {
    /// The listener's certificate, and those between it and its authority.
    #[schemars(with = "FilePath")]
    pub certificate: FilePath,
    /// Its private key, not encrypted. Nobody but the host's user may be able to read it.
    #[schemars(with = "FilePath")]
    pub key: FilePath,
    /// Certificates of the authority that clients must have theirs from. Without it clients need none.
    #[schemars(with = "FilePath")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_ca: Option<FilePath>,
}

/// Who is told something that is not for everybody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Audience {
    /// Who shows the token of an operator with the role `reader`.
    #[default]
    Operators,
    /// Everybody who reaches the listener.
    Open,
}

/// Somebody who may use the operators' listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Person {
    /// What this operator may do; more than one is fine. Nobody checks what they made themselves, whatever their roles.
    pub roles: BTreeSet<Role>,
    /// The one name of the person who holds this token, where somebody has several: they are one person when it is asked who made something and who approves it. The name of the table unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<Name>,
}

/// How releases become current.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Releases {
    /// When a release that brings in money needs the approval of a second person: `opening-liquidity` of an account, or `approval = "automatic"` in a context's settings.
    pub second_person: SecondPerson,
}

/// When a release that brings in money needs the approval of a second person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SecondPerson {
    /// Unless the scheme is a sandbox.
    #[default]
    UnlessSandbox,
    /// Always.
    Always,
}

/// What an operator may do.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Look.
    Reader,
    /// Ask for changes, which somebody else approves.
    Maker,
    /// Approve or reject what others asked for.
    Checker,
    /// Call interfaces of contexts from outside, as another context does. Nothing of it is checked by a second person.
    Context,
    /// Change what the host runs: releases, components, dead letters.
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
    /// The folder of the database and of compiled components, absolute or relative to this document.
    #[schemars(with = "FilePath")]
    pub path: FilePath,
    /// The folder of archives, absolute or relative to this document; `archives` in the store's folder unless said.
    #[schemars(with = "FilePath")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archives: Option<FilePath>,
    /// How long what is there for good stays in the store before it goes to an archive; what is not listed stays.
    #[serde(skip_serializing_if = "Keep::is_everything")]
    pub keep: Keep,
    /// Free disk space below which requests that begin something are refused with 503, so that what has begun can end.
    pub free_min: Size,
}

impl Default for Store {
    fn default() -> Self {
        Self {
            path: "state".parse().expect("`state` is a path: it is not empty"),
            archives: None,
            keep: Keep::default(),
            free_min: Size::from_mib(1_024),
        }
    }
}

/// How long what is there for good stays in the store. Segments go as a whole, when the youngest thing in them is so old.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct Keep {
    /// What happened, turn by turn: `rialto events`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<Period>,
    /// The rules' verdicts: `rialto receipts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipts: Option<Period>,
    /// Documents of components that are over, by the names that the components have for them, as `transfers`: from then on they stay so long.
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
    /// Requests that may wait in memory for delivery, to all destinations; those beyond wait on disk.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub requests_waiting_max: u32,
    /// Requests that may wait in memory for delivery to one destination, a quarter of all unless said, and never more than is left for all others; those beyond wait on disk, so that a dead destination leaves room for the others.
    #[schemars(range(min = 1, max = 1_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_waiting_per_destination_max: Option<u32>,
    /// Attempts in a row that meet nobody at a destination (no connection, a broken one, no answer in time; 502, 503 or 504 from a gateway); then it is left alone for a pause, and tried again with one request.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub breaker_failures: u32,
    /// The first such pause; each further one is twice as long.
    pub breaker_pause: Duration,
    /// The longest such pause.
    pub breaker_pause_max: Duration,
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
        }
    }
}

/// A surface of the host that a component may be granted.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Surface {
    /// Documents of the component's own.
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
    /// Lines for the host's log.
    Logging,
}

impl Surface {
    /// Every surface, in the order of the contracts.
    pub const ALL: [Self; 8] = [
        Self::Storage,
        Self::Scheduling,
        Self::Http,
        Self::Configuration,
        Self::Clock,
        Self::Random,
        Self::Crypto,
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
            Self::Logging => "logging",
        }
    }
}

/// What a scheme's components may be granted at most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct OperatorGrants {
    /// Surfaces of the host; all of them unless said otherwise.
    pub host: Vec<Surface>,
    /// Origins that requests may go to; none unless said. `*` as the port stands for any port.
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
    /// How long one call may run.
    pub deadline: Duration,
    /// Fuel of one call: roughly, WebAssembly instructions.
    #[schemars(range(min = 1, max = 1_000_000_000_000_i64))]
    pub fuel: u64,
    /// Instances of one component in use at a time.
    #[schemars(range(min = 1, max = 10_000))]
    pub instances: u32,
    /// Instances of all contexts in use at a time: the sum of what the scheme gives each. The host makes room for twice as many, since while one release takes the place of another both have theirs.
    #[schemars(range(min = 1, max = 2_048))]
    pub instances_in_all: u32,
    /// Core modules that one component may consist of. Components of languages with a runtime, such as Python, have dozens.
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

/// Keys of those who sign their messages, and the host's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Signatures {
    /// A folder with a file `<id>.pem` for each participant that signs: its public keys (RSA from 2048 bits on, or P-256), one or several. Absolute, or relative to this document. The files may be changed while the host runs.
    #[schemars(with = "FilePath")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys: Option<FilePath>,
    /// The private key (PKCS #8 as PEM, not encrypted) with which the scheme signs its own messages; its own messages are not signed without it. Absolute, or relative to this document. Nobody but the host's user may be able to read it.
    #[schemars(with = "FilePath")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hub_key: Option<FilePath>,
}

/// How the host runs turns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Engine {
    /// Threads that run turns. Unless said there are four for each core, because some wait for the disk or run a slow component while others go on; as many turns run at once as there are cores (two at least), and one more for each turn that takes longer than 10 ms. If it is said, all of them may run turns at once.
    #[schemars(range(min = 1, max = 1024))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// Turns that may wait before requests are answered 503 with Retry-After. Deliveries that wait for another attempt or for a paused component do not count.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub turns_waiting_max: u32,
    /// Requests of one client that may wait or be under way, a quarter of all unless said; more of the same client are answered 503 with Retry-After. A client is an operator's name, or else an address (of IPv6: a /64 network).
    #[schemars(range(min = 1, max = 1_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns_waiting_per_client_max: Option<u32>,
    /// Clients take turns when more is asked than can be done. How many requests a client gets begun in its turn; 1 if it is not named here. `operator NAME` stands for an operator, `address ADDRESS` for whoever comes from there.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub client_weights: BTreeMap<String, Weight>,
    /// How often a failing delivery between components is tried before it becomes a dead letter.
    #[schemars(range(min = 1, max = 100_000))]
    pub turn_attempts_max: u32,
    /// For how long a failing delivery is tried before it becomes a dead letter, whatever attempts are left.
    pub retry_for: Duration,
    /// The pause after a delivery's first failure; it doubles after each more.
    pub retry_initial: Duration,
    /// The longest pause between a delivery's attempts.
    pub retry_max: Duration,
    /// A component is paused when deliveries to it about so many subjects have failed and none has succeeded since, if they came from several senders.
    #[schemars(range(min = 1, max = 1_000))]
    pub pause_subjects: u32,
    /// So many senders: one who sends what cannot be handled does not pause a component for all.
    #[schemars(range(min = 1, max = 1_000))]
    pub pause_senders: u32,
    /// The time from the pause of a component to its first probe, one delivery that is tried; it doubles after each that fails.
    pub probe_initial: Duration,
    /// The longest time between two probes.
    pub probe_max: Duration,
    /// Deliveries that wait for another attempt or for a paused component and are kept in memory; those beyond wait on disk.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub deliveries_in_memory_max: u32,
    /// How long an instance of a component waits for its next turn before it is given back; at most twice as long.
    pub instance_idle: Duration,
}

/// How many requests of a client are begun in its turn.
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

/// Bounds on requests from the outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Http {
    /// The longest body, whatever an API allows; the smaller limit counts. FSPIOP names 5 MiB.
    pub body_max: Size,
    /// Bodies that are being read or handled at a time; beyond it requests are answered 503 with Retry-After.
    pub bodies_max: Size,
    /// The part of `bodies-max` that one address may have (of IPv6: one /64 network); a quarter unless said, but no less than `body-max`. All that come by one proxy are one address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bodies_per_peer_max: Option<Size>,
    /// The longest header section, whatever an API allows; the smaller limit counts. FSPIOP names 64 KiB.
    pub headers_max: Size,
    /// How long a request may take, from its first byte to the answer.
    pub request_timeout: Duration,
    /// The bytes a second that a client must send of a body, and take of an answer, on the average; who is slower is cut off.
    pub rate_min: Size,
    /// How long nothing of that is asked of it, for each body and each answer.
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
    /// How lines are written.
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

/// How log lines are written.
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

/// Where traces go, and which.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Telemetry {
    /// The base URL of an OpenTelemetry collector that takes OTLP over HTTP in JSON; `/v1/traces` is appended. The host has no TLS, so it is `http`: a collector beside the host sends on over TLS.
    pub endpoint: BaseUrl,
    /// The part of traces that is recorded, from 0 to 1. A trace's id decides, so that hosts with the same ratio record the same traces; the sender's own flag does not count.
    #[serde(default = "all")]
    #[schemars(range(min = 0, max = 1))]
    pub sampling_ratio: f64,
    /// What the host is called in traces.
    #[serde(default = "rialto")]
    #[schemars(length(min = 1, max = 255))]
    pub service_name: String,
}

const fn all() -> f64 {
    1.0
}

fn rialto() -> String {
    "rialto".to_owned()
}

//! The operator's document, `rialto.toml`: where the host listens and keeps its state, how much it
//! takes on, and what a scheme may be given at all.

mod grants;
mod listeners;
mod observing;
mod people;
mod store;
mod traffic;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::grants::{Ceilings, OperatorGrants, Surface};
pub use self::listeners::{Audience, Listener};
pub use self::observing::{AuditFormat, Console, Log, LogFormat, Telemetry};
pub use self::people::{FIRST_OPERATOR, NOBODY, Person, Role};
pub use self::store::{Keep, Store};
pub use self::traffic::{Engine, Http, Outbound, Weight};
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
use crate::values::Name;

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

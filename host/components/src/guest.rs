//! The data of a component's store: its identity, its grants, and the turn that it runs now.

use std::sync::Arc;

use rialto_audit::Actor;
use rialto_engine::{Name, Turn};
use rialto_keys::Keys;
use rialto_signatures::Signers;
use wasmtime::{DEFAULT_INSTANCE_LIMIT, ResourceLimiter};

use crate::audit_log::AuditLog;
use crate::authority::ClientAuthority;
use crate::deadline::Deadline;
use crate::denials::Denials;
use crate::failures::FailureKind;
use crate::judges::Agreed;
use crate::release::Release;
use crate::remembered::Reading;
use crate::spec::Lists;
use crate::tls::TlsFiles;
use crate::wasi::{self, Wasi};
use crate::what_if::ToldVerdict;

/// The deepest nesting of calls between components.
pub const CALL_DEPTH_MAX: u32 = 16;
/// Elements of one table.
const TABLE_ELEMENTS_MAX: usize = 20_000;

/// The current turn. It is passed from store to store as components call each other.
pub struct Active {
    /// The turn.
    pub turn: Turn,
    /// The release on which the whole turn runs.
    pub release: Arc<Release>,
    /// The current nesting of calls between components.
    pub depth: u32,
    /// Who has caused it by a request, as far as the host knows.
    pub actor: Option<Arc<Actor>>,
    /// Who has made the call that the component with the turn answers; none for the host itself.
    pub caller: Option<Source>,
    /// Under which rules the component with the turn has agreed on what it has judged now.
    pub agreed: Option<Agreed>,
    /// What rules have said about the draft that the component with the turn has judged; none if it asks about what happens.
    pub what_if: Option<Vec<ToldVerdict>>,
    /// What the component with the turn has read to answer a call, if its answer may be remembered.
    pub(crate) reading: Option<Reading>,
}

impl Active {
    /// A turn that begins on this release: the host itself calls a component.
    pub fn begins(turn: Turn, release: Arc<Release>) -> Self {
        Self {
            turn,
            release,
            depth: 0,
            actor: None,
            caller: None,
            agreed: None,
            what_if: None,
            reading: None,
        }
    }
}

/// Who has made a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A component, by its name in the scheme.
    Component(Name),
    /// A client from outside, by the name that it has proven.
    Client(Name),
}

/// Facts about a component that are the same for all its instances of a release.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Its name in the scheme.
    pub name: Name,
    /// Its settings, a JSON object.
    pub settings: Arc<str>,
    /// The scheme's facts, a JSON object.
    pub scheme: Arc<str>,
    /// The scheme's facts that may be long.
    pub lists: Lists,
    /// Origins that it may send requests to.
    pub outbound: Arc<[String]>,
    /// The limit of its linear memory, in bytes.
    pub memory_bytes_max: usize,
    /// Whether its log lines are written nowhere: it is a candidate, and decides nothing.
    pub is_quiet: bool,
    /// The keys whose signatures it may have verified, and the host's own key.
    pub signers: Signers,
    /// The providers of its own keys.
    pub keys: Arc<Keys>,
    /// The host's TLS.
    pub tls: Arc<dyn TlsFiles>,
    /// The authority that certifies clients, if the host has one.
    pub authority: Option<Arc<ClientAuthority>>,
    /// The audit log, to be read.
    pub audit_log: Arc<dyn AuditLog>,
    /// Keeps who was refused.
    pub denials: Arc<dyn Denials>,
}

/// A part of the message about a component that wants more memory than its limit.
pub(crate) const SHORT_OF_MEMORY: &str = "bytes of memory and may have";

/// A component wanted more than its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Overrun {
    /// Of memory.
    #[error("wants {desired} {SHORT_OF_MEMORY} {may_have}")]
    Memory {
        /// Bytes in all.
        desired: usize,
        /// Its bound.
        may_have: usize,
    },
    /// Of a table.
    #[error("wants a table of {desired} elements and may have {TABLE_ELEMENTS_MAX}")]
    Table {
        /// Elements in all.
        desired: usize,
    },
}

/// A store's data.
pub struct Guest {
    /// Who it is.
    pub identity: Arc<Identity>,
    /// The turn that it runs now, if there is one.
    pub active: Option<Active>,
    /// How long this call may run.
    pub(crate) deadline: Deadline,
    /// Lines that were logged in this call, if it is outside of a turn.
    pub(crate) lines: u32,
    /// Keys that were made in this call.
    pub(crate) keys_made: u32,
    /// Bytes of its linear memory.
    pub(crate) memory_bytes: usize,
    /// The last line that was logged as an error in this call. It is often the reason for a trap.
    pub(crate) last_error: Option<String>,
    /// The branches that it has marked in this call.
    pub(crate) branches: Vec<String>,
    /// The failure that a drill has it run into.
    pub(crate) drilled: Option<FailureKind>,
    pub(crate) wasi: Option<Box<Wasi>>,
}

impl Guest {
    /// The data of a fresh store.
    pub(crate) fn new(identity: Arc<Identity>, wasi: Option<wasi::Source>) -> Self {
        Self {
            identity,
            active: None,
            deadline: Deadline::default(),
            lines: 0,
            keys_made: 0,
            memory_bytes: 0,
            last_error: None,
            branches: Vec::new(),
            drilled: None,
            wasi: wasi.map(|source| Box::new(Wasi::new(source))),
        }
    }

    /// The data, for what an answer must not be remembered for: it has an effect, or depends on more than arguments,
    /// documents and the release.
    pub(crate) fn acts(&mut self) -> &mut Self {
        let reading = self.active.as_mut().and_then(|a| a.reading.as_mut());
        if let Some(reading) = reading {
            reading.acts();
        }
        self
    }

    /// The turn.
    ///
    /// # Errors
    /// When the component was called outside of a turn.
    pub fn turn(&mut self) -> wasmtime::Result<&mut Turn> {
        match &mut self.active {
            Some(active) => Ok(&mut active.turn),
            None => Err(outside_of_a_turn(&self.identity)),
        }
    }

    /// The turn, to look at.
    ///
    /// # Errors
    /// As [`Self::turn`].
    pub fn turn_ref(&self) -> wasmtime::Result<&Turn> {
        match &self.active {
            Some(active) => Ok(&active.turn),
            None => Err(outside_of_a_turn(&self.identity)),
        }
    }
}

fn outside_of_a_turn(identity: &Identity) -> wasmtime::Error {
    wasmtime::format_err!(
        "`{}` used a surface that belongs to turns outside of a turn",
        identity.name
    )
}

impl ResourceLimiter for Guest {
    fn instances(&self) -> usize {
        match self.drilled {
            Some(FailureKind::Missing) => 0,
            _ => DEFAULT_INSTANCE_LIMIT,
        }
    }

    fn memory_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let may_have = match self.drilled {
            Some(FailureKind::Memory) => 0,
            _ => self.identity.memory_bytes_max,
        };
        if desired > may_have {
            return Err(Overrun::Memory { desired, may_have }.into());
        }
        self.memory_bytes = desired;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if desired > TABLE_ELEMENTS_MAX {
            return Err(Overrun::Table { desired }.into());
        }
        Ok(true)
    }
}

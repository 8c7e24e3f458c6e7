//! A running host: store, engine, components and listeners, started in the order of their dependencies.

mod addresses;
mod ending;
mod entering;
mod following;
mod foundation;
mod listening;
mod making;
mod preparing;
mod shared;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use rialto_engine::publications::Outbox;
use rialto_engine::threads::Threads;
use rialto_keys::Keys;
use rialto_manifest::Manifest;
use rialto_manifest::operator::GRPC;
pub use rialto_manifest::operator::OPERATORS;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use self::addresses::path as addresses_path;
use self::entering::Entered;
use self::foundation::Foundation;
use self::making::Made;
pub(crate) use self::preparing::COMPILED;
use self::preparing::Prepared;
pub use self::shared::Shared;
use crate::archiver::ArchiverThread;
use crate::audit_export;
use crate::checkpoints::{self, CheckpointsThread};
use crate::cluster::ClusterThread;
use crate::doors::Doors;
use crate::events_outside;
use crate::exporting::Exporting;
use crate::limits::{turns_at_once, workers};
use crate::opened::Opened;
use crate::sender::Sender;
use crate::starting::{Start, StartStopped};
use crate::tls::HostTls;

/// A running host. Dropping it without `stop` is like a crash.
pub struct Host {
    /// The state that its parts share.
    pub shared: Arc<Shared>,
    threads: Option<Threads>,
    keys: Arc<Keys>,
    addresses: BTreeMap<String, SocketAddr>,
    folder: PathBuf,
    tls: Arc<HostTls>,
    /// Told when the listeners' files need not be followed any more.
    listens: watch::Sender<bool>,
    stop: watch::Sender<bool>,
    servers: Vec<JoinHandle<()>>,
    exporting: Option<Exporting>,
    archiver_thread: Option<ArchiverThread>,
    checkpoints: Option<CheckpointsThread>,
    audit_export: Option<Sender>,
    events_outside: Option<Sender>,
    handle: Handle,
    cluster: Option<ClusterThread>,
    doors: Option<Doors>,
    /// With the lock of the folder.
    _opened: Opened,
}

impl Host {
    /// Start a host on a scheme, with its store in `folder`. Must not be called from within an
    /// async task.
    ///
    /// # Errors
    /// When the store is in use or damaged, the release does not fit, or an address is taken.
    pub fn start(manifest: &Manifest, folder: &Path, handle: &Handle) -> anyhow::Result<Self> {
        Self::start_from(&Start::of(manifest, folder), handle)
    }

    /// The same for a scheme that may be broken, and with a flag to stop the start.
    ///
    /// # Errors
    /// As `start`; when the scheme is broken and the store has no release, with what is wrong
    /// ([`rialto_manifest::Diagnostics`]).
    pub fn start_from(start: &Start<'_>, handle: &Handle) -> anyhow::Result<Self> {
        let ground = Foundation::lay(start)?;
        let prepared = Prepared::of(&ground, start, handle)?;
        let entered = Entered::wait(&ground, &prepared, start, handle)?;
        let made = Made::of(&ground, prepared, &entered, start, handle)?;
        let rule_states = made.rule_states.clone();
        let mut host = Self::running(ground, entered, made, start, handle)?;
        if let Err(error) = host.open(start) {
            if error.is::<StartStopped>() {
                host.stop();
            }
            return Err(error);
        }
        // The last step: the thread keeps the engine alive until the host is stopped.
        let Shared {
            engine,
            audit,
            shadows,
            suspended,
            ..
        } = &*host.shared;
        shadows.start(engine, audit, (suspended, &rule_states))?;
        Ok(host)
    }

    /// Bring the release into force, and start all threads and tasks. No listener is open yet.
    fn running(
        ground: Foundation,
        entered: Entered,
        made: Made,
        start: &Start<'_>,
        handle: &Handle,
    ) -> anyhow::Result<Self> {
        let operator = start.operator;
        let Made {
            shared,
            recovery,
            signers,
            rule_states,
            signed,
        } = made;
        let (stop, _) = watch::channel(false);
        let exporting = match (&operator.telemetry, &ground.exported) {
            (Some(wanted), Some(exported)) => Some(Exporting::start(wanted, exported, handle)?),
            _ => None,
        };
        // The release before the threads: reminders that are due fire with the timer's first look.
        if let Ok(manifest) = start.manifest {
            // The store's release is most often the same.
            let _document = shared.releases.known(manifest.document().clone());
        }
        let resumed = start.resumed(shared.releases.resume())?;
        shared.releases.recall_earlier()?;
        if let Some(embedded) = &shared.embedded {
            let loaded = embedded.wait_until_loaded();
            loaded.context("loading which documents the store has")?;
        }
        start.goes_on()?;
        let (workers, at_once) = (workers(operator), turns_at_once(operator));
        let threads = Threads::start_with_spares(&shared.engine, workers, at_once);
        let threads = threads.context("starting threads")?;
        start.release(&shared, resumed)?;
        events_outside::warn_of_vain(operator, &shared.runtime);
        following::resume(&shared, recovery);
        let tellers = (&signers, &rule_states);
        let read = (ground.keys, ground.lines, &*ground.tls);
        following::follow(&shared, tellers, read, start, (handle, &stop))?;
        let (store, clock, metrics) = (&shared.store, &ground.clock, &shared.metrics);
        let checkpoints = checkpoints::start(start, store, clock, ground.audit_key, signed)?;
        let from = (store, &*shared.archiver.folder);
        let audit_export = audit_export::start(operator.telemetry.as_ref(), from, metrics, handle)?;
        let outbox: Arc<dyn Outbox> = store.clone();
        let publish = events_outside::wanted(operator);
        let events_outside =
            events_outside::start(publish, start.scheme, (outbox, clock), metrics, handle)?;
        let archiver_thread = ArchiverThread::start(shared.archiver.clone(), ground.clock);
        let archiver_thread = archiver_thread.context("starting the thread that archives")?;
        Ok(Self {
            shared,
            threads: Some(threads),
            keys: ground.providers,
            addresses: BTreeMap::new(),
            folder: start.store.to_owned(),
            tls: ground.tls,
            listens: entered.listens,
            stop,
            servers: Vec::new(),
            exporting,
            archiver_thread: Some(archiver_thread),
            checkpoints,
            audit_export,
            events_outside,
            handle: handle.clone(),
            cluster: entered.cluster,
            doors: entered.doors,
            _opened: ground.opened,
        })
    }

    /// Open the listeners: the operators' first, the others when the work from before the start is done.
    fn open(&mut self, start: &Start<'_>) -> anyhow::Result<()> {
        let operator = start.operator;
        self.listen(operator, |name| name == OPERATORS)?;
        if let (Some(clustered), Some(address)) =
            (&self.shared.clustered, self.addresses.get(OPERATORS))
        {
            clustered.listens_at(*address);
        }
        following::catch_up(&self.shared);
        start.goes_on()?;
        self.listen(operator, |name| name != OPERATORS && name != GRPC)?;
        self.listen_for_calls(operator)?;
        addresses::write(&self.folder, &self.addresses)
    }

    /// The address of each listener.
    pub fn addresses(&self) -> &BTreeMap<String, SocketAddr> {
        &self.addresses
    }

    /// Whether a listener speaks TLS.
    #[must_use]
    pub fn has_tls(&self, listener: &str) -> bool {
        self.tls.listeners.contains_key(listener)
    }

    /// Whether an operator has asked this host to hand over.
    #[must_use]
    pub fn is_to_hand_over(&self) -> bool {
        let clustered = self.shared.clustered.as_ref();
        clustered.is_some_and(|clustered| clustered.is_to_hand_over())
    }

    /// Whether another host has taken over. Then this one must end at once, without `stop`, which would finish what is
    /// under way.
    #[must_use]
    pub fn is_taken_over(&self) -> bool {
        self.shared
            .lease
            .as_ref()
            .is_some_and(|store| store.has_lost_lease())
    }
}

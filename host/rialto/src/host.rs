//! A running host: store, engine, components and listeners, started in the order of their dependencies.

mod listening;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rialto_components::Runtime;
use rialto_components::cache::Cache;
use rialto_components::config::PoolSize;
use rialto_edge::{Outbound, Pace, Refusals, Revocations, Sources, Tokens};
use rialto_engine::Recovery;
use rialto_engine::personal_data::PersonalData;
use rialto_engine::publications::Outbox;
use rialto_engine::threads::Threads;
use rialto_engine::time::{SystemClock, SystemEntropy};
use rialto_engine::{Clock, Engine, Entropy, Environment, Publications, ReceiptLog};
use rialto_keys::Keys;
pub use rialto_manifest::operator::OPERATORS;
use rialto_manifest::operator::{Audience, GRPC};
use rialto_manifest::{Manifest, Operator};
use rialto_store::HostStore;
use rialto_store_postgres::PostgresStore;
use rialto_store_sqlite::SqliteStore;
use rialto_store_sqlite::retention::{DocumentCipher, NoCipher};
use rialto_telemetry::{Lines, Metrics, Spans};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

use crate::access::Access;
use crate::archiver::{Archiver, ArchiverThread};
use crate::audit::Audit;
use crate::audit_export::ExportThread;
use crate::audit_key::AuditKey;
use crate::audit_reader::AuditReader;
use crate::audit_verification::Verifier;
use crate::backtest::jobs::{Backtests, Opening};
use crate::bodies::Bodies;
use crate::books::Books;
use crate::browsers::Browsers;
use crate::calls::Offering;
use crate::canaries::HostCanaries;
use crate::checkpoints::{self, CheckpointsThread, Signed, SignedCollector};
use crate::clients;
use crate::cluster::{ClusterCollector, ClusterThread, Clustered};
use crate::denials::BoundedDenials;
use crate::disk::{self, Disk};
use crate::doors::{Doors, Opening as OpeningDoors};
use crate::events_outside::{self, Selection, SendingThread};
use crate::exporting::{Exported, Exporting};
use crate::limits::{bytes, limits, outbound_limits, pace, turns_at_once, workers};
use crate::live::{self, Live, LiveCollector, VerdictsCollector};
use crate::log_lines::Delivery;
use crate::metrics::EngineCollector;
use crate::opened::Opened;
use crate::operators::Operators;
use crate::own_signer::HubSigner;
use crate::passkeys::Passkeys;
use crate::personal_data::{HostPeople, Readable as _};
use crate::quarantines::QuarantineCollector;
use crate::receipt_log::HostReceiptLog;
use crate::releases::Releases;
use crate::rule_states::RuleStates;
use crate::scheduling;
use crate::shadow::Shadows;
use crate::sign_in::SignIn;
use crate::signatures::OperatorKeys;
use crate::signers::{SignerNotifier, SignersCollector};
use crate::spans::TurnSpans;
use crate::standby;
use crate::starting::{Start, VERSION};
use crate::store_metrics::StoreCollector;
use crate::stored::Stored;
use crate::suspensions::Suspended;
use crate::tls::{ExpiryCollector, HostTls, operators_certificate};

/// How long all listeners except the operators' stay closed after a start, while there is work from before.
const CATCH_UP_MAX: Duration = Duration::from_secs(10);
/// The time between two checks whether that work is done.
const CATCH_UP_LOOK: Duration = Duration::from_millis(5);
/// How long a handover waits for requests under way. Others wait meanwhile, so no client may hold it up.
const PASS_MAX: Duration = Duration::from_secs(2);
/// How long the end of the host waits for providers of keys.
const KEYS_CLOSE_MAX: Duration = Duration::from_secs(5);
/// How many reads of operators run at a time, and how many changes. Further ones wait.
const OPERATORS_AT_A_TIME: usize = 4;
/// Instances beside those of contexts in use: for a release that is being prepared, and for rules that are
/// asked again.
const INSTANCES_BESIDE: u32 = 64;

/// The state that the parts of a running host share.
pub struct Shared {
    /// The engine.
    pub engine: Engine,
    /// The components.
    pub runtime: Arc<Runtime>,
    /// The store.
    pub store: Arc<dyn HostStore>,
    /// The same, if it is in the host's folder. It alone writes archives and has a size.
    pub embedded: Option<Arc<SqliteStore>>,
    /// The same, if several hosts have it and one of them serves.
    pub lease: Option<Arc<PostgresStore>>,
    /// This host among the others of the scheme, if several share the store.
    pub clustered: Option<Arc<Clustered>>,
    /// The network of outbound requests.
    pub outbound: Arc<Outbound>,
    /// Releases.
    pub releases: Releases,
    /// The rules that are suspended.
    pub suspended: Arc<Suspended>,
    /// The candidates that decide in the place of rules.
    pub canaries: Arc<HostCanaries>,
    /// The candidates in the shadow of rules.
    pub shadows: Arc<Shadows>,
    /// The backtests that operators have started.
    pub backtests: Arc<Backtests>,
    /// Metrics.
    pub metrics: Arc<Metrics>,
    /// Spans, if the operator exports them.
    pub spans: Option<Spans>,
    /// The operators, their tokens and their sessions.
    pub access: Arc<Access>,
    /// The provider that operators sign in with, if there is one.
    pub sign_in: Option<SignIn>,
    /// How browsers reach the operators' listener.
    pub browsers: Browsers,
    /// The operators' passkeys, if there are any.
    pub passkeys: Option<Arc<Passkeys>>,
    /// The keys of the people whom records name, if records are encrypted.
    pub people: Option<Arc<HostPeople>>,
    /// The audit log.
    pub audit: Arc<Audit>,
    /// The audit log with its proofs.
    pub audit_reader: Arc<AuditReader>,
    /// Checks the audit log for operators.
    pub audit_verifier: Arc<Verifier>,
    /// Whether the metrics show the names of destinations without a token.
    pub open_metrics: bool,
    /// The slowest pace of a client.
    pub pace: Pace,
    /// The books that a scheme's context keeps.
    pub books: Books,
    /// Archives items whose period is over.
    pub archiver: Arc<Archiver>,
    /// Free disk space.
    pub disk: Arc<Disk>,
    /// The memory for bodies.
    pub bodies: Bodies,
    /// Permits for reads of operators. Each takes a blocking thread.
    pub reads: Arc<Semaphore>,
    /// Permits for changes of operators. They are separate, so that a release that is being prepared blocks no
    /// reads.
    pub changes: Arc<Semaphore>,
    /// Refusals that are to be in the audit log.
    pub denials: Arc<BoundedDenials>,
    /// The last refusals of clients' requests.
    pub refusals: Arc<Refusals>,
    /// The access tokens of clients.
    pub tokens: Arc<Tokens>,
    /// The addresses from which clients may send.
    pub sources: Arc<Sources>,
    /// The client certificates that are revoked.
    pub revocations: Arc<Revocations>,
    /// What operators see as it happens.
    pub live: Arc<Live>,
}

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
    audit_export: Option<ExportThread>,
    events_outside: Option<SendingThread>,
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
        let (operator, folder) = (start.operator, start.store);
        let metrics = Arc::new(Metrics::default());
        let lines = Lines::new(&metrics);
        start.log.deliver(lines.clone());
        let telemetry = operator.telemetry.as_ref();
        let exported = telemetry.map(|wanted| {
            let hides_people = operator.personal_data.is_some();
            Exported::new(wanted, &metrics, &start.log, hides_people)
        });
        let spans = exported.as_ref().map(|exported| exported.spans.clone());
        start.look()?;
        let keys = OperatorKeys::read(operator, start.scheme)?;
        let opened = Opened::open(start)?;
        // Behind the lock of the folder, no other host makes a key here now. In a database another host may have made them.
        if let Some(shared) = opened.shared() {
            standby::has_the_keys(shared, start)?;
        }
        let providers = crate::keys::open(operator, start.scheme)?;
        let tls = HostTls::read(operator, start.scheme, &providers)?;
        let (store, embedded) = (opened.store(), opened.embedded().cloned());
        if let Some(embedded) = &embedded {
            start.has_release(&*store)?;
            warn_of_restored(embedded)?;
        }
        // A host that was killed has left its file of addresses.
        forget_addresses(folder)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
        let runtime = components(operator, folder, &*entropy)?;
        let canaries = HostCanaries::new(store.clone(), clock.clone());
        let runtime = runtime.with_canaries(canaries.clone());
        let runtime = runtime.with_stopping(start.stopping.clone());
        let signer = HubSigner::new(keys.ring.clone(), providers.clone(), clock.clone());
        let audit_key = AuditKey::open(operator, start.scheme, &providers)?;
        let authority = crate::authority::open(operator, start.scheme, &providers, &*entropy)?;
        let archives = operator.archives_path(start.scheme, folder);
        let signers = AuditKey::all(audit_key.as_ref());
        let stored = Stored::of(operator, start.scheme, folder);
        let verified = (stored.clone(), signers.clone());
        let audit_verifier = Verifier::new(operator, start.scheme, verified, clock.clone())?;
        let people = HostPeople::open(operator, start.scheme, (&store, folder))?;
        let opening = people.clone();
        let opening: Opening = Arc::new(move |receipt| opening.readable_receipt(receipt));
        let backtests = Backtests::new(stored.clone(), opening, clock.clone());
        let reader = AuditReader::new(store.clone(), signers, archives.clone(), people.clone());
        let audit_reader = Arc::new(reader);
        let runtime = runtime.with_authority(authority);
        let runtime = runtime.with_audit_log(audit_reader.clone());
        let denials = Arc::new(BoundedDenials::new(clock.clone()));
        let runtime = runtime.with_denials(denials.clone());
        let runtime = runtime.with_keys(providers.clone()).with_tls(tls.clone());
        let runtime = Arc::new(runtime.with_keyring(keys.ring.clone()));
        let operators = Operators::open(operator, folder, &*entropy)?;
        let sign_in = SignIn::open(operator, start.scheme, &*entropy)?;
        let outbound = Outbound::new(
            handle.clone(),
            outbound_limits(operator),
            tls.outbound.clone(),
            Arc::new(signer),
            clock.clone(),
            metrics.clone(),
            spans.clone(),
        );
        let outbound = Arc::new(match opened.shared().cloned() {
            Some(shared) => outbound.while_it_may(Arc::new(move || shared.holds_lease())),
            None => outbound,
        });
        let turn_spans = spans.clone().map(|spans| {
            let turns = TurnSpans::new(spans, clock.clone(), entropy.clone());
            Arc::new(turns) as Arc<dyn rialto_engine::Spans>
        });
        let environment = Environment {
            store: store.clone(),
            network: outbound.clone(),
            clock: clock.clone(),
            entropy: entropy.clone(),
            spans: turn_spans,
            personal_data: people.clone().map(|people| people as Arc<dyn PersonalData>),
            // Without a key, nothing would be signed.
            receipt_log: audit_key
                .is_some()
                .then(|| Arc::new(HostReceiptLog) as Arc<dyn ReceiptLog>),
            publications: events_outside::wanted(operator)
                .map(|publish| Arc::new(Selection::new(publish.clone())) as Arc<dyn Publications>),
        };
        let releases = Releases::new(
            store.clone(),
            runtime.clone(),
            operator.clone(),
            Offering::of(operator, start.scheme)?,
            canaries.clone(),
            clock.clone(),
        )?;
        let clustered = opened.shared().cloned();
        let clustered = clustered.map(|store| Clustered::new(store, clock.clone()));
        let cluster = clustered.as_ref().map(ClusterThread::start).transpose()?;
        // A host that waits for the lease has listeners, too, and so has one that has handed over.
        let (listens, _) = watch::channel(false);
        tls.follow(folder, handle, &listens)?;
        let (stop, _) = watch::channel(false);
        let mut doors = None;
        if let (Some(shared), Some(clustered)) = (opened.shared(), &clustered) {
            metrics.add_collector(Box::new(ClusterCollector(clustered.clone())));
            // All that needs no lease is done.
            if let Some(cluster) = &operator.cluster {
                let opening = OpeningDoors {
                    operator,
                    tls: &tls,
                    clustered,
                    denials: denials.clone(),
                };
                doors = Some(Doors::of(&opening, cluster, handle)?);
            }
            if let Some(doors) = &doors {
                write_addresses(folder, doors.addresses())?;
                if let Some(address) = doors.addresses().get(OPERATORS) {
                    clustered.listens_at(*address);
                }
            }
            let prepared = (&releases, &**clustered);
            standby::wait_for_lease(shared, start, (&tls, prepared, doors.as_ref()), handle)?;
            standby::note_the_keys(shared, start)?;
            start.has_release(&*store)?;
        }
        let (engine, recovery) = Engine::open(environment, runtime.clone(), limits(operator))
            .context("reading the store back")?;
        if let Some(people) = &people {
            people.remember()?;
        }
        events_outside::look(operator, start.scheme, (&*store, clock.now()), handle)?;
        canaries.recall(&*entropy)?;
        start.goes_on()?;
        metrics.add_collector(Box::new(EngineCollector(engine.clone(), outbound.clone())));
        let components = (engine.clone(), runtime.clone());
        let cipher: Arc<dyn DocumentCipher> = match &people {
            Some(people) => people.clone(),
            None => Arc::new(NoCipher),
        };
        let books = Books::new(stored, clock.clone());
        let kept = (archives, cipher);
        let archiver = Archiver::new(components, embedded.as_ref(), operator, kept);
        let archiver = Arc::new(archiver);
        let disk = Arc::new(Disk::new(operator.store.free_min));
        metrics.add_collector(Box::new(StoreCollector {
            archiver: archiver.clone(),
            disk: disk.clone(),
            clock: clock.clone(),
        }));
        let quarantines = QuarantineCollector(runtime.clone());
        metrics.add_collector(Box::new(quarantines));
        let telling = Arc::new(SignerNotifier::new(engine.clone(), runtime.clone()));
        metrics.add_collector(Box::new(SignersCollector(telling.clone())));
        let bodies = Bodies::new(operator);
        metrics.add_collector(Box::new(bodies.clone()));
        metrics.add_collector(Box::new(ExpiryCollector(tls.clone())));
        let life = operator.releases.suspension.millis();
        let suspended = Suspended::open(store.clone(), runtime.clone(), clock.clone(), life);
        let suspended = suspended.context("reading which rules are suspended")?;
        let suspended = Arc::new(suspended);
        let rule_states = Arc::new(RuleStates::default());
        let shadows = Shadows::new(runtime.clone(), canaries.clone(), clock.clone());
        let signed = Arc::new(Signed::default());
        metrics.add_collector(Box::new(SignedCollector(signed.clone())));
        let audit = Arc::new(Audit::new(store.clone(), engine.clone(), clock.clone()));
        metrics.add_collector(Box::new(releases.scheduled_collector()));
        let passkeys = Passkeys::of_host(operator, &operators, &store, &clock, &entropy)?;
        let access = Access::open(operators, store.clone(), clock.clone(), entropy)?;
        let access = Arc::new(access);
        audit
            .start(&access)
            .context("keeping that the host was started")?;
        let destinations = operator.listeners.get(OPERATORS).map(|l| l.destinations);
        let live = Arc::new(Live::new(operator));
        engine.observe_commits(live.changes.clone());
        metrics.add_named_collector(Box::new(VerdictsCollector(live.clone())));
        metrics.add_collector(Box::new(LiveCollector {
            live: live.clone(),
            engine: engine.clone(),
            store: embedded.clone(),
        }));
        let shared = Arc::new(Shared {
            engine,
            runtime,
            store,
            embedded,
            lease: opened.shared().cloned(),
            clustered,
            outbound,
            releases,
            suspended,
            canaries,
            shadows,
            backtests,
            metrics,
            spans,
            access: access.clone(),
            browsers: Browsers::of(sign_in.as_ref(), tls.listeners.contains_key(OPERATORS)),
            sign_in,
            passkeys,
            people,
            audit,
            audit_reader,
            audit_verifier: Arc::new(audit_verifier),
            open_metrics: destinations.flatten() == Some(Audience::Open),
            pace: pace(operator),
            books,
            archiver,
            disk,
            bodies,
            reads: Arc::new(Semaphore::new(OPERATORS_AT_A_TIME)),
            changes: Arc::new(Semaphore::new(OPERATORS_AT_A_TIME)),
            denials,
            refusals: Arc::default(),
            tokens: Arc::default(),
            sources: Arc::default(),
            revocations: Arc::default(),
            live,
        });
        let exporting = match (telemetry, &exported) {
            (Some(wanted), Some(exported)) => Some(Exporting::start(wanted, exported, handle)?),
            _ => None,
        };
        // The release before the threads: reminders that are due fire with the timer's first look.
        let resumed = start.resumed(shared.releases.resume())?;
        shared.releases.recall_earlier()?;
        start.goes_on()?;
        let (workers, at_once) = (workers(operator), turns_at_once(operator));
        let threads = Threads::start_with_spares(&shared.engine, workers, at_once);
        let threads = threads.context("starting threads")?;
        start.release(&shared, resumed)?;
        events_outside::warn_of_vain(operator, &shared.runtime);
        resume(&shared, recovery);
        // Before any client can send: components must remember each key, in case it is lost later.
        telling.look();
        handle.spawn(telling.follow(stop.subscribe()));
        handle.spawn(access.follow(stop.subscribe()));
        clients::follow(&shared, handle, &stop);
        let denials = shared.denials.clone();
        handle.spawn(denials.follow(shared.engine.clone(), stop.subscribe()));
        let delivery = Delivery::new(lines, shared.engine.clone(), shared.runtime.clone());
        handle.spawn(delivery.follow(stop.subscribe()));
        let telling = rule_states.clone().follow(
            shared.engine.clone(),
            shared.runtime.clone(),
            stop.subscribe(),
        );
        handle.spawn(telling);
        keys.watch(shared.clone(), handle, stop.subscribe());
        tls.tell(&shared, handle, stop.subscribe());
        let idle = operator.engine.instance_idle.into();
        handle.spawn(give_up_unused(
            shared.runtime.clone(),
            idle,
            stop.subscribe(),
        ));
        handle.spawn(scheduling::follow(shared.clone(), stop.subscribe()));
        handle.spawn(live::follow(shared.clone(), stop.subscribe()));
        let measured = (folder, shared.embedded.as_ref());
        disk::watch(&shared.disk, measured, handle, stop.subscribe())
            .context("looking at the free disk space")?;
        let checkpoints = checkpoints::start(start, &shared.store, &clock, audit_key, signed)?;
        let metrics = &shared.metrics;
        let from = (&shared.store, &*shared.archiver.folder);
        let audit_export = ExportThread::start(telemetry, from, metrics, handle)?;
        let outbox: Arc<dyn Outbox> = shared.store.clone();
        let sent_from = (outbox, &clock);
        let publish = events_outside::wanted(operator);
        let events_outside =
            SendingThread::start(publish, start.scheme, sent_from, metrics, handle)?;
        let thread = ArchiverThread::start(shared.archiver.clone(), clock);
        let thread = thread.context("starting the thread that archives")?;
        let mut host = Self {
            shared,
            threads: Some(threads),
            keys: providers,
            addresses: BTreeMap::new(),
            folder: folder.to_owned(),
            tls,
            listens,
            stop,
            servers: Vec::new(),
            exporting,
            archiver_thread: Some(thread),
            checkpoints,
            audit_export,
            events_outside,
            handle: handle.clone(),
            cluster,
            doors,
            _opened: opened,
        };
        host.listen(operator, |name| name == OPERATORS)?;
        if let (Some(clustered), Some(address)) =
            (&host.shared.clustered, host.addresses.get(OPERATORS))
        {
            clustered.listens_at(*address);
        }
        catch_up(&host.shared);
        if let Err(told) = start.goes_on() {
            host.stop();
            return Err(told);
        }
        host.listen(operator, |name| name != OPERATORS && name != GRPC)?;
        host.listen_for_calls(operator)?;
        write_addresses(folder, &host.addresses)?;
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

    /// Stop: answer the requests under way, write all executed turns, and end.
    pub fn stop(mut self) {
        // Before another process can take a port of this host.
        if let Err(error) = forget_addresses(&self.folder) {
            tracing::warn!("{error:#}");
        }
        // Health that is followed ends, so that no client keeps a listener open.
        let _ = self.stop.send(true);
        if let Some(mut doors) = self.doors.take() {
            doors.close(&self.handle);
        }
        self.finish();
        let _ = self.listens.send(true);
        // No turn begins a call any more. Those under way may have made keys, which are destroyed.
        self.keys.close(Instant::now() + KEYS_CLOSE_MAX);
        drop(self.cluster.take());
        self.give_lease_back();
        // All turns have ended: these are the last spans and almost the last log lines.
        if let Some(exporting) = self.exporting.take() {
            exporting.finish(&self.handle);
        }
        tracing::info!(version = VERSION, "the host has stopped");
    }

    /// Hand the scheme over to a standby, and pass requests to it from now on. Requests under way are answered first, and
    /// all executed turns are written. Then only [`Self::stop`] is left to do.
    pub fn hand_over(&mut self) {
        let since = Instant::now();
        if let Some(clustered) = &self.shared.clustered {
            clustered.passes();
        }
        if let Some(doors) = &self.doors {
            let passing = async { tokio::time::timeout(PASS_MAX, doors.pass()).await };
            if self.handle.block_on(passing).is_err() {
                tracing::warn!(
                    "a request was not answered in time, and the host hands over without it"
                );
            }
        }
        self.finish();
        self.give_lease_back();
        tracing::info!(
            milliseconds = since.elapsed().as_millis(),
            "this host has handed over, and passes requests until it is stopped"
        );
    }

    /// End all work: close listeners without a door, and write all executed turns.
    fn finish(&mut self) {
        let _ = self.stop.send(true);
        for server in self.servers.drain(..) {
            let _ = self.handle.block_on(server);
        }
        self.shared.shadows.stop();
        self.shared.backtests.stop();
        self.shared.books.stop();
        // No client is refused any more, and the committer still writes.
        self.shared.denials.write(&self.shared.engine, true);
        if let Some(thread) = self.archiver_thread.take() {
            thread.stop();
        }
        if let Some(threads) = self.threads.take() {
            threads.stop();
        }
        // All entries are written, and the provider still answers.
        if let Some(checkpoints) = self.checkpoints.take() {
            checkpoints.stop();
        }
        if let Some(export) = self.audit_export.take() {
            export.stop();
        }
        if let Some(sending) = self.events_outside.take() {
            sending.stop();
        }
    }

    /// The last group is written: a standby need not wait until the lease expires.
    fn give_lease_back(&self) {
        if let Some(lease) = &self.shared.lease
            && let Err(error) = lease.hand_over()
        {
            tracing::warn!(%error, "the lease could not be handed over; it expires by itself");
        }
    }
}

fn resume(shared: &Shared, recovery: Recovery) {
    let (deliveries, requests) = recovery.counts();
    if deliveries + requests > 0 {
        tracing::info!(
            version = VERSION,
            deliveries,
            requests,
            "recovered: the host continues its pending work"
        );
    } else {
        tracing::info!(version = VERSION, "recovered: no work was pending");
    }
    shared.engine.resume(recovery);
}

/// Drop idle instances that were not used for `idle`, until told to stop.
async fn give_up_unused(runtime: Arc<Runtime>, idle: Duration, mut stop: watch::Receiver<bool>) {
    // An interval of 0 would panic.
    let mut due = tokio::time::interval(idle.max(Duration::from_millis(1)));
    due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = due.tick() => {}
            _ = stop.wait_for(|stop| *stop) => return,
        }
        let runtime = runtime.clone();
        let given_up = tokio::task::spawn_blocking(move || runtime.give_up_unused()).await;
        if let Ok(instances @ 1..) = given_up {
            tracing::debug!(instances, "unused instances of components were dropped");
        }
    }
}

/// Wait for pending deliveries from before the start. A query must not overtake the request that it is about,
/// which was answered before the host stopped.
fn catch_up(shared: &Shared) {
    let until = Instant::now() + CATCH_UP_MAX;
    while shared.engine.load().turns_active > 0 {
        if shared.runtime.is_stopping() {
            return;
        }
        if Instant::now() >= until {
            tracing::warn!(
                "work from before the start is not finished yet; the host accepts new requests now"
            );
            return;
        }
        std::thread::sleep(CATCH_UP_LOOK);
    }
}

/// Warn at the first start of a restored store.
fn warn_of_restored(store: &SqliteStore) -> anyhow::Result<()> {
    let restored = store.just_restored().context("reading the store")?;
    if let Some(from) = restored {
        tracing::warn!(
            taken = %from.taken,
            turn = from.lsn,
            "this store was restored from a backup; it lacks what was acknowledged after the backup, and requests that were pending then are sent again"
        );
    }
    Ok(())
}

/// The folder of compiled components in the folder of a store.
pub(crate) const COMPILED: &str = "compiled";

fn components(
    operator: &Operator,
    folder: &Path,
    entropy: &dyn Entropy,
) -> anyhow::Result<Runtime> {
    let cache = Cache::open(&folder.join(COMPILED), |bytes| entropy.fill(bytes))
        .context("opening the folder of compiled components")?;
    let ceilings = &operator.ceilings;
    // While a release becomes current, both releases have instances. Each worker may also ask a rule.
    let workers = u32::try_from(workers(operator)).unwrap_or(u32::MAX);
    let contexts = ceilings.instances_in_all.saturating_mul(2);
    let pool = PoolSize {
        instances: contexts
            .saturating_add(workers)
            .saturating_add(INSTANCES_BESIDE),
        memory_bytes_max: bytes(ceilings.memory),
        core_modules: ceilings.core_modules,
    };
    Runtime::new(cache, pool).map_err(|error| anyhow::anyhow!("starting wasmtime: {error:?}"))
}

/// Remove the files that say where the host listens, and with which certificate.
fn forget_addresses(store: &Path) -> anyhow::Result<()> {
    for path in [addresses_path(store), operators_certificate(store)] {
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("removing {}", path.display()));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Tell the command line where a host listens.
fn write_addresses(folder: &Path, addresses: &BTreeMap<String, SocketAddr>) -> anyhow::Result<()> {
    let addresses = serde_json::to_string(addresses).context("writing addresses")?;
    // It need not survive a power cut, but a reader must find it complete.
    rialto_files::write(&addresses_path(folder), &[addresses.as_bytes()])?;
    Ok(())
}

/// The file of a running host's addresses.
pub fn addresses_path(store: &Path) -> PathBuf {
    store.join("addresses.json")
}

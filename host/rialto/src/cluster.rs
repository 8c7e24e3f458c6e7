//! What this host says to the other hosts of its scheme, and what it knows of them.
//!
//! A thread says it each second (`rialto_store_postgres`, `hosts.rs`), in a host that serves and in one that waits. A scheme in
//! a folder has one host, and none of this.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use parking_lot::{Condvar, Mutex};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use rialto_engine::Clock;
use rialto_engine::store::StoreError;
use rialto_store::ReleaseStore as _;
use rialto_store_postgres::{Cluster, HostSaid, HostState, PostgresStore};
use tokio::sync::watch;

use crate::one_metric::{counter, gauge, one, whole};
use crate::starting::VERSION;

/// The pause between two words.
const EVERY: Duration = Duration::from_secs(1);
/// The file in which Linux has the machine's name.
const MACHINE: &str = "/proc/sys/kernel/hostname";
/// From this difference on, the log warns of a host's clock.
const CLOCK_APART_MS: u64 = 1_000;

/// This host among the others of its scheme.
pub struct Clustered {
    store: Arc<PostgresStore>,
    clock: Arc<dyn Clock>,
    said: Mutex<HostSaid>,
    /// What was known last; none before the first word.
    known: Mutex<Option<Cluster>>,
    /// Where the host that serves takes requests; none if nobody serves, or takes none.
    serves: watch::Sender<Option<SocketAddr>>,
    told: (Mutex<Told>, Condvar),
    is_to_hand_over: AtomicBool,
}

/// What the thread is told.
#[derive(Debug, Default)]
struct Told {
    is_stopped: bool,
    looks_soon: bool,
}

impl std::fmt::Debug for Clustered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clustered")
    }
}

impl Clustered {
    /// A host on this store.
    #[must_use]
    pub fn new(store: Arc<PostgresStore>, clock: Arc<dyn Clock>) -> Arc<Self> {
        let said = HostSaid {
            name: machine(),
            version: VERSION.to_owned(),
            operators: String::new(),
            relay: String::new(),
            passes: false,
            release: 0,
            followed: None,
        };
        Arc::new(Self {
            store,
            clock,
            said: Mutex::new(said),
            known: Mutex::new(None),
            serves: watch::channel(None).0,
            told: Default::default(),
            is_to_hand_over: AtomicBool::new(false),
        })
    }

    /// Where operators reach this host.
    pub fn listens_at(&self, operators: SocketAddr) {
        self.said.lock().operators = operators.to_string();
    }

    /// Where other hosts reach this one.
    pub fn takes_requests_at(&self, address: SocketAddr) {
        self.said.lock().relay = address.to_string();
    }

    /// Whether other hosts can pass requests to this one.
    #[must_use]
    pub fn is_relayed(&self) -> bool {
        !self.said.lock().relay.is_empty()
    }

    /// Whether this host's lease holds by its own clock. Until then no other host serves.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.store.holds_lease()
    }

    /// Have this host hand over soon.
    pub fn hand_over(&self) {
        self.is_to_hand_over.store(true, Ordering::Relaxed);
    }

    /// Whether this host is to hand over.
    #[must_use]
    pub fn is_to_hand_over(&self) -> bool {
        self.is_to_hand_over.load(Ordering::Relaxed)
    }

    /// This host takes over no more: it has handed over, and passes requests.
    pub fn passes(&self) {
        self.said.lock().passes = true;
        self.look_soon();
    }

    /// Where the host that serves takes requests, followed; none if nobody serves.
    #[must_use]
    pub fn serves(&self) -> watch::Receiver<Option<SocketAddr>> {
        self.serves.subscribe()
    }

    /// Whether somebody serves and takes requests from this host.
    #[must_use]
    pub fn somebody_serves(&self) -> bool {
        self.serves.borrow().is_some()
    }

    /// Look soon who serves: somebody waits for it.
    pub fn look_soon(&self) {
        let (told, changed) = &self.told;
        told.lock().looks_soon = true;
        changed.notify_all();
    }

    /// The newest release that this host has prepared.
    pub fn has_prepared(&self, release: u64) {
        self.said.lock().release = release;
    }

    /// The partition that the hosts share.
    #[must_use]
    pub fn partition(&self) -> u32 {
        self.store.partition()
    }

    /// This host's id.
    #[must_use]
    pub fn id(&self) -> &str {
        self.store.host_id()
    }

    /// All hosts, and the lease, as the database has them now.
    ///
    /// # Errors
    /// When the database fails.
    pub fn now(&self) -> Result<Cluster, StoreError> {
        self.store.cluster()
    }

    fn look(&self) -> Result<(), StoreError> {
        let mut said = self.said.lock().clone();
        if self.store.holds_lease() {
            // A host that serves has prepared what it serves.
            said.release = self.store.current_release()?;
        }
        said.followed = self.store.followed();
        self.store.say(&said, || self.clock.now())?;
        let now = self.store.cluster()?;
        let mut hosts = now.hosts.iter();
        let serving = hosts.find(|host| host.state == HostState::Serving);
        let address = serving.and_then(|host| host.said.relay.parse().ok());
        self.serves.send_if_modified(|before| {
            let is_other = *before != address;
            *before = address;
            is_other
        });
        self.warn_of_clock(&now);
        *self.known.lock() = Some(now);
        Ok(())
    }

    /// Warn once, when this host's clock has gone astray.
    fn warn_of_clock(&self, now: &Cluster) {
        let before = self
            .known
            .lock()
            .as_ref()
            .map(|known| self.clock_ahead(known));
        let ahead = self.clock_ahead(now);
        let is_apart = |ms: i64| ms.unsigned_abs() >= CLOCK_APART_MS;
        if is_apart(ahead) && !before.is_some_and(is_apart) {
            tracing::warn!(
                milliseconds = ahead,
                "this machine's clock is apart from the database's by more than a second: set both by NTP"
            );
        }
    }

    fn clock_ahead(&self, cluster: &Cluster) -> i64 {
        let mut hosts = cluster.hosts.iter();
        let this = hosts.find(|host| host.id == self.id());
        this.map_or(0, |host| host.clock_ahead_ms)
    }

    fn follow(&self) {
        let (told, changed) = &self.told;
        let mut is_failing = false;
        loop {
            match self.look() {
                Ok(()) => is_failing = false,
                Err(error) if !is_failing => {
                    is_failing = true;
                    tracing::warn!(%error, "the other hosts are not told of this one; the host tries again");
                }
                Err(_) => {}
            }
            let until = Instant::now() + EVERY;
            let mut told = told.lock();
            while !told.is_stopped && !told.looks_soon {
                if changed.wait_until(&mut told, until).timed_out() {
                    break;
                }
            }
            told.looks_soon = false;
            if told.is_stopped {
                break;
            }
        }
        // Whoever cannot be told sees after some seconds that this host is silent.
        if let Err(error) = self.store.say_no_more() {
            tracing::debug!(%error, "the other hosts were not told that this one ends");
        }
    }
}

/// The name of this machine.
fn machine() -> String {
    let name = std::fs::read_to_string(MACHINE).unwrap_or_default();
    match name.trim() {
        "" => "host".to_owned(),
        name => name.to_owned(),
    }
}

/// The running thread. It ends when this is dropped.
pub(crate) struct ClusterThread {
    clustered: Arc<Clustered>,
    thread: Option<JoinHandle<()>>,
}

impl ClusterThread {
    /// Start it.
    ///
    /// # Errors
    /// When the system has no room for it.
    pub fn start(clustered: &Arc<Clustered>) -> anyhow::Result<Self> {
        let following = clustered.clone();
        let thread = std::thread::Builder::new()
            .name("cluster".into())
            .spawn(move || following.follow())
            .context("starting the thread that tells other hosts of this one")?;
        Ok(Self {
            clustered: clustered.clone(),
            thread: Some(thread),
        })
    }
}

impl Drop for ClusterThread {
    fn drop(&mut self) {
        let (told, changed) = &self.clustered.told;
        told.lock().is_stopped = true;
        changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic in it would have ended the host.
            let _ = thread.join();
        }
    }
}

/// Reports what is known of the hosts when metrics are read. It asks no database.
#[derive(Debug)]
pub struct ClusterCollector(pub Arc<Clustered>);

/// A gauge for each state.
struct ByState([(&'static str, usize); 4]);

impl EncodeMetric for ByState {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), std::fmt::Error> {
        for (state, count) in self.0 {
            whole(count).encode(encoder.encode_family(&[("state", state)])?)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }
}

impl Collector for ClusterCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let encoder = &mut encoder;
        let known = self.0.known.lock().clone();
        let Some(known) = known else { return Ok(()) };
        let count = |state| {
            known
                .hosts
                .iter()
                .filter(|host| host.state == state)
                .count()
        };
        let states = ByState([
            ("serving", count(HostState::Serving)),
            ("standby", count(HostState::Standby)),
            ("passing", count(HostState::Passing)),
            ("gone", count(HostState::Gone)),
        ]);
        let help = "Hosts of the scheme, by what they do";
        one(encoder, "cluster_hosts", help, &states)?;
        let help = "How often the lease was taken";
        counter(encoder, "cluster_lease_epoch", help, known.epoch)?;
        let standbys = known.hosts.iter();
        let standbys = standbys.filter(|host| host.state == HostState::Standby);
        if let Some(behind) = standbys.filter_map(|host| host.groups_behind).max() {
            let help = "How many groups of the journal the slowest standby still has to follow";
            gauge(encoder, "cluster_standby_groups_behind", help, behind)?;
        }
        let ahead = self.0.clock_ahead(&known);
        let help = "By how many milliseconds this host's clock is ahead of the database's";
        gauge(encoder, "cluster_clock_ahead_milliseconds", help, ahead)
    }
}

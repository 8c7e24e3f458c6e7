//! A host in simulated time: the engine, the real components of the demonstration's scheme and the
//! embedded store, put together as the host itself does it, but driven step by step and without HTTP.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow};
use parking_lot::Mutex;
use rialto::audit::Actor;
use rialto::canaries::HostCanaries;
use rialto::releases::{ChangeRequest, Dates, Releases};
use rialto_components::Runtime;
use rialto_components::cache::Cache;
use rialto_components::config::PoolSize;
use rialto_edge::Api;
use rialto_engine::time::SystemEntropy;
use rialto_engine::{Clock, Engine, Entropy as _, Environment, Limits};
use rialto_manifest::Manifest;
use rialto_store_sqlite::ReleaseStore as _;
use rialto_store_sqlite::SqliteStore;
use rialto_tests::TestScheme;
use tempfile::TempDir;

use crate::grants::Grants;
use crate::journal::Journal;
use crate::store::{SharedStore, WatchedStore};
use crate::time::{SimClock, SimEntropy};
use crate::wire::Wire;

/// Has much, and a net debit cap.
pub const PAYER: &str = "payerfsp";
/// The same.
pub const PAYEE: &str = "payeefsp";
/// Has little, and no cap: its liquidity alone decides.
pub const POOR: &str = "poorfsp";
/// Takes part in the scheme, and in few payments: a stranger to most.
pub const OTHER: &str = "otherfsp";
/// What PAYER and PAYEE have, in cents.
pub const LIQUIDITY: u64 = 100_000_000;
/// Their net debit cap, in cents: some payments of a run pass it.
pub const CAP: u64 = 180_000;
/// What POOR has, in cents.
pub const POOR_LIQUIDITY: u64 = 9_000;
/// What OTHER has, in cents.
pub const OTHER_LIQUIDITY: u64 = 100_000;

/// The listener of FSPs in the demonstration's scheme.
const FSPS: &str = "fsps";
/// How long one turn may take. Only a machine that stands still needs so long, and it must not decide.
const PATIENCE: &str = "deadline = \"60 s\"";

/// The scheme and its compiled components, for all hosts of a process.
pub struct Stage {
    scheme: TestScheme,
    manifest: Manifest,
    compiled: TempDir,
    /// The APIs that the last host had: the next one need not read them again.
    apis: Mutex<Vec<Arc<Api>>>,
}

impl Stage {
    /// The demonstration's scheme with two participants more, and real limits.
    ///
    /// # Errors
    /// When the components have not been built.
    pub fn new() -> Result<Self> {
        let mut scheme = TestScheme::demo()?;
        for (id, cents) in [(POOR, POOR_LIQUIDITY), (OTHER, OTHER_LIQUIDITY)] {
            scheme.add_participant(id, &(cents / 100).to_string())?;
        }
        let cap = format!("net-debit-cap = \"{}\"", CAP / 100);
        scheme.edit("net-debit-cap = \"500000.00\"", &cap)?;
        scheme.edit("deadline = \"1 s\"", PATIENCE)?;
        scheme.edit_with(|text| {
            let lines = text
                .lines()
                .map(|line| match line.strip_suffix(".grants]") {
                    Some(context) if context.starts_with("[contexts.") => {
                        // So that each message's outcome can be judged.
                        let settings = match context {
                            "[contexts.transfers" => {
                                format!("{context}.settings]\ndeliveriesKept = \"all\"\n\n")
                            }
                            _ => String::new(),
                        };
                        format!("{context}.limits]\n{PATIENCE}\n\n{settings}{line}\n")
                    }
                    _ => format!("{line}\n"),
                });
            lines.collect()
        })?;
        scheme.replace("rialto.toml", "deadline = \"1 s\"", PATIENCE)?;
        scheme.lock()?;
        let manifest =
            Manifest::load(scheme.path()).map_err(|problems| anyhow!(problems.plain()))?;
        Ok(Self {
            scheme,
            manifest,
            compiled: rialto_files::temporary_folder()
                .context("a folder for compiled components")?,
            apis: Mutex::default(),
        })
    }

    /// The scheme's grants.
    ///
    /// # Errors
    /// When its text cannot be read.
    pub fn grants(&self) -> Result<Grants> {
        Grants::of(&std::fs::read_to_string(
            self.scheme.path().join("scheme.toml"),
        )?)
    }

    /// Where a participant is called back.
    ///
    /// # Panics
    /// When there is no such participant: the test is wrong.
    pub fn callback(&self, id: &str) -> String {
        format!("http://127.0.0.1:{}", self.scheme.callbacks()[id])
    }

    /// The participants.
    pub fn participants(&self) -> impl Iterator<Item = &str> {
        self.scheme.callbacks().keys().map(String::as_str)
    }
}

/// What outlives a host.
pub struct World {
    /// The clock.
    pub clock: Arc<SimClock>,
    /// The host's randomness.
    pub entropy: Arc<SimEntropy>,
    /// The durable state.
    pub journal: Arc<Mutex<Journal>>,
    /// The store.
    pub store: Arc<SharedStore>,
    /// The store's folder.
    pub folder: TempDir,
}

/// See the module's documentation. Dropping it ends it as a crash would: what was executed and not
/// written is lost.
pub struct Host {
    /// The engine.
    pub engine: Engine,
    /// What has left.
    pub wire: Arc<Wire>,
    /// The store, to have it fail.
    pub store: Arc<WatchedStore>,
    /// The API of FSPs.
    pub api: Arc<Api>,
}

impl Drop for Host {
    fn drop(&mut self) {
        // Messages under way hold the engine.
        self.wire.cut();
    }
}

impl Host {
    /// Starts a host on an existing or new store, which it takes over from any other. Pending work is ready to run.
    ///
    /// # Errors
    /// When the store or the release cannot be used.
    pub fn start(stage: &Stage, world: &World) -> Result<Self> {
        world.journal.lock().begins();
        let taken = world.store.take_over(world.folder.path());
        let (epoch, sqlite) = taken.context("opening the store")?;
        let runtime = Arc::new(components(stage.compiled.path())?);
        let (shared, journal) = (world.store.clone(), world.journal.clone());
        let wire = Arc::new(Wire::new(journal.clone(), (shared.clone(), epoch)));
        let store = Arc::new(WatchedStore::new(shared, epoch, journal));
        let clock: Arc<dyn Clock> = world.clock.clone();
        let environment = Environment {
            store: store.clone(),
            network: wire.clone(),
            clock: clock.clone(),
            entropy: world.entropy.clone(),
            spans: None,
            personal_data: None,
            receipt_log: None,
            publications: None,
        };
        let limits = Limits {
            // Simulations crash more often than hosts.
            redeliveries_max: 1_000,
            // One thread runs all turns: who holds a document while another turn runs releases it later.
            lock_wait_us: 0,
            ..Limits::default()
        };
        let (engine, recovery) = Engine::open(environment, runtime.clone(), limits)?;
        let operator = stage.manifest.operator().clone();
        let canaries = HostCanaries::new(sqlite.clone(), clock.clone());
        let releases = Releases::new(sqlite.clone(), runtime, operator, None, canaries, clock)?;
        if releases.resume()?.is_none() {
            first_release(stage, &sqlite, &releases, &engine)?;
        }
        engine.resume(recovery);
        let api = releases.apis().get(FSPS).context("the listener of FSPs")?;
        let api = api.load_full();
        *stage.apis.lock() = releases
            .apis()
            .values()
            .map(|api| api.load_full())
            .collect();
        Ok(Self {
            engine,
            wire,
            store,
            api,
        })
    }
}

fn components(compiled: &Path) -> Result<Runtime> {
    // Not the world's: the first host of a process draws the cache's key, and no run is to differ by that.
    let cache = Cache::open(compiled, |bytes| SystemEntropy.fill(bytes))
        .context("opening the folder of compiled components")?;
    let pool = PoolSize {
        instances: 64,
        ..PoolSize::default()
    };
    Runtime::new(cache, pool).map_err(|error| anyhow!("starting wasmtime: {error:?}"))
}

/// Makes the scheme's release current. The caller waits for the turn, which another thread must run.
fn first_release(
    stage: &Stage,
    store: &SqliteStore,
    releases: &Releases,
    engine: &Engine,
) -> Result<()> {
    for component in stage.manifest.components() {
        store.add_component(&component.digest.to_string(), &component.bytes)?;
    }
    let document = stage.manifest.document().clone();
    let applied = std::thread::scope(|scope| {
        let applying = scope.spawn(move || {
            let request = ChangeRequest {
                who: &Actor::started(),
                note: "the simulation's",
                expected: None,
                dates: Dates::default(),
            };
            releases.apply(engine, &request, document)
        });
        while !applying.is_finished() {
            engine.run(0);
            let _ = engine.commit();
            std::thread::yield_now();
        }
        applying.join()
    });
    let applied = applied.map_err(|_| anyhow!("making the release current panicked"))?;
    applied.map_err(|refused| anyhow!("{refused}"))?;
    Ok(())
}

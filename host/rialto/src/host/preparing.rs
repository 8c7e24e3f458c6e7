//! The parts of a host that need no lease: a standby has them, too.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use rialto_components::Runtime;
use rialto_components::cache::Cache;
use rialto_components::config::PoolSize;
use rialto_edge::Outbound;
use rialto_engine::personal_data::PersonalData;
use rialto_engine::{Entropy, Environment, Publications, ReceiptLog};
use rialto_manifest::Operator;
use tokio::runtime::Handle;

use super::foundation::Foundation;
use crate::audit_key::AuditKey;
use crate::audit_reader::AuditReader;
use crate::audit_verification::Verifier;
use crate::backtest::jobs::{Backtests, Opening};
use crate::calls::Offering;
use crate::canaries::HostCanaries;
use crate::denials::BoundedDenials;
use crate::events_outside::{self, Selection};
use crate::limits::{bytes, outbound_limits, workers};
use crate::operators::Operators;
use crate::own_signer::HubSigner;
use crate::personal_data::{HostPeople, Readable as _};
use crate::receipt_log::HostReceiptLog;
use crate::releases::Releases;
use crate::sign_in::SignIn;
use crate::spans::TurnSpans;
use crate::starting::Start;
use crate::stored::Stored;

/// Instances beside those of contexts in use: for a release that is being prepared, and for rules that are
/// asked again.
const INSTANCES_BESIDE: u32 = 64;
/// The folder of compiled components in the folder of a store.
pub(crate) const COMPILED: &str = "compiled";

/// The parts that need no lease.
pub struct Prepared {
    pub runtime: Arc<Runtime>,
    pub canaries: Arc<HostCanaries>,
    pub people: Option<Arc<HostPeople>>,
    pub stored: Stored,
    /// The folder of archives.
    pub archives: PathBuf,
    pub backtests: Arc<Backtests>,
    pub audit_reader: Arc<AuditReader>,
    pub audit_verifier: Verifier,
    pub denials: Arc<BoundedDenials>,
    pub operators: Operators,
    pub sign_in: Option<SignIn>,
    pub outbound: Arc<Outbound>,
    pub releases: Releases,
}

impl Prepared {
    /// Make them.
    ///
    /// # Errors
    /// When the folder of compiled components, a key or a setting cannot be used.
    pub fn of(ground: &Foundation, start: &Start<'_>, handle: &Handle) -> anyhow::Result<Self> {
        let (operator, folder) = (start.operator, start.store);
        let (store, clock, entropy) = (ground.store(), &ground.clock, &*ground.entropy);
        let canaries = HostCanaries::new(store.clone(), clock.clone());
        let people = HostPeople::open(operator, start.scheme, (&store, folder))?;
        let archives = operator.archives_path(start.scheme, folder);
        let signers = AuditKey::all(ground.audit_key.as_ref());
        let stored = Stored::of(operator, start.scheme, folder);
        let verified = (stored.clone(), signers.clone());
        let audit_verifier = Verifier::new(operator, start.scheme, verified, clock.clone())?;
        let opening = people.clone();
        let opening: Opening = Arc::new(move |receipt| opening.readable_receipt(receipt));
        let reader = AuditReader::new(store.clone(), signers, archives.clone(), people.clone());
        let audit_reader = Arc::new(reader);
        let denials = Arc::new(BoundedDenials::new(clock.clone()));
        let authority = crate::authority::open(operator, start.scheme, &ground.providers, entropy)?;
        let runtime = components(operator, folder, entropy)?
            .with_canaries(canaries.clone())
            .with_stopping(start.stopping.clone())
            .with_authority(authority)
            .with_audit_log(audit_reader.clone())
            .with_denials(denials.clone())
            .with_keys(ground.providers.clone())
            .with_tls(ground.tls.clone())
            .with_keyring(ground.keys.ring.clone());
        let runtime = Arc::new(runtime);
        let operators = Operators::open(operator, folder, entropy)?;
        let sign_in = SignIn::open(operator, start.scheme, entropy)?;
        let releases = Releases::new(
            store,
            runtime.clone(),
            operator.clone(),
            Offering::of(operator, start.scheme)?,
            canaries.clone(),
            clock.clone(),
        )?;
        Ok(Self {
            runtime,
            canaries,
            people,
            backtests: Backtests::new(stored.clone(), opening, clock.clone()),
            stored,
            archives,
            audit_reader,
            audit_verifier,
            denials,
            operators,
            sign_in,
            outbound: Arc::new(network(ground, operator, handle)),
            releases,
        })
    }

    /// What the engine is opened with.
    pub fn environment(&self, ground: &Foundation, operator: &Operator) -> Environment {
        let turn_spans = ground.spans().map(|spans| {
            let turns = TurnSpans::new(spans, ground.clock.clone(), ground.entropy.clone());
            Arc::new(turns) as Arc<dyn rialto_engine::Spans>
        });
        let people = self.people.clone();
        Environment {
            store: ground.store(),
            network: self.outbound.clone(),
            clock: ground.clock.clone(),
            entropy: ground.entropy.clone(),
            spans: turn_spans,
            personal_data: people.map(|people| people as Arc<dyn PersonalData>),
            // Without a key, nothing would be signed.
            receipt_log: ground
                .audit_key
                .is_some()
                .then(|| Arc::new(HostReceiptLog) as Arc<dyn ReceiptLog>),
            publications: events_outside::wanted(operator)
                .map(|publish| Arc::new(Selection::new(publish.clone())) as Arc<dyn Publications>),
        }
    }
}

/// The network of outbound requests. If several hosts have the store, it sends only while this one has the lease.
fn network(ground: &Foundation, operator: &Operator, handle: &Handle) -> Outbound {
    let (ring, clock) = (ground.keys.ring.clone(), ground.clock.clone());
    let signer = HubSigner::new(ring, ground.providers.clone(), clock.clone());
    let outbound = Outbound::new(
        handle.clone(),
        outbound_limits(operator),
        ground.tls.outbound.clone(),
        Arc::new(signer),
        clock,
        ground.metrics.clone(),
        ground.spans(),
    );
    match ground.opened.shared().cloned() {
        Some(shared) => outbound.while_it_may(Arc::new(move || shared.holds_lease())),
        None => outbound,
    }
}

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

//! The parts of a host that serves: its engine, and what stands on it.

use std::sync::Arc;

use anyhow::Context as _;
use rialto_engine::{Engine, Recovery};
use rialto_manifest::operator::{Audience, OPERATORS};
use rialto_store_sqlite::retention::{DocumentCipher, NoCipher};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::entering::Entered;
use super::foundation::Foundation;
use super::preparing::Prepared;
use super::shared::Shared;
use crate::access::Access;
use crate::archiver::Archiver;
use crate::audit::Audit;
use crate::bodies::Bodies;
use crate::books::Books;
use crate::browsers::Browsers;
use crate::checkpoints::{Signed, SignedCollector};
use crate::disk::Disk;
use crate::events_outside;
use crate::limits::{limits, pace};
use crate::live::{Live, LiveCollector, VerdictsCollector};
use crate::metrics::EngineCollector;
use crate::passkeys::Passkeys;
use crate::quarantines::QuarantineCollector;
use crate::rule_states::RuleStates;
use crate::shadow::Shadows;
use crate::signers::{SignerNotifier, SignersCollector};
use crate::starting::Start;
use crate::store_metrics::StoreCollector;
use crate::suspensions::Suspended;
use crate::tls::ExpiryCollector;

/// How many reads of operators run at a time, and how many changes. Further ones wait.
const OPERATORS_AT_A_TIME: usize = 4;

/// The parts of a host that serves. No thread of the engine runs yet.
pub struct Made {
    pub shared: Arc<Shared>,
    /// The work that is pending from before the start.
    pub recovery: Recovery,
    /// Tells components of keys that appear and go.
    pub signers: Arc<SignerNotifier>,
    /// Tells components which rules are out of force.
    pub rule_states: Arc<RuleStates>,
    /// The newest checkpoint of the audit log.
    pub signed: Arc<Signed>,
}

impl Made {
    /// Open the engine, and make them.
    ///
    /// # Errors
    /// When the store cannot be read back or written.
    pub fn of(
        ground: &Foundation,
        prepared: Prepared,
        entered: &Entered,
        start: &Start<'_>,
        handle: &Handle,
    ) -> anyhow::Result<Self> {
        let operator = start.operator;
        let (store, embedded) = (ground.store(), ground.opened.embedded().cloned());
        let (clock, entropy, metrics) = (&ground.clock, &ground.entropy, &ground.metrics);
        let environment = prepared.environment(ground, operator);
        let Prepared {
            runtime,
            canaries,
            people,
            stored,
            archives,
            backtests,
            audit_reader,
            audit_verifier,
            denials,
            operators,
            sign_in,
            outbound,
            releases,
        } = prepared;
        let (engine, recovery) = Engine::open(environment, runtime.clone(), limits(operator))
            .context("reading the store back")?;
        if let Some(people) = &people {
            people.remember()?;
        }
        events_outside::look(operator, start.scheme, (&*store, clock.now()), handle)?;
        canaries.recall(&**entropy)?;
        start.goes_on()?;
        let cipher: Arc<dyn DocumentCipher> = match &people {
            Some(people) => people.clone(),
            None => Arc::new(NoCipher),
        };
        let components = (engine.clone(), runtime.clone());
        let kept = (archives, cipher);
        let archiver = Arc::new(Archiver::new(components, embedded.as_ref(), operator, kept));
        let signers = Arc::new(SignerNotifier::new(engine.clone(), runtime.clone()));
        let life = operator.releases.suspension.millis();
        let suspended = Suspended::open(store.clone(), runtime.clone(), clock.clone(), life);
        let suspended = suspended.context("reading which rules are suspended")?;
        let signed = Arc::new(Signed::default());
        let audit = Arc::new(Audit::new(store.clone(), engine.clone(), clock.clone()));
        let passkeys = Passkeys::of_host(operator, &operators, &store, clock, entropy)?;
        let access = Access::open(operators, store.clone(), clock.clone(), entropy.clone())?;
        let access = Arc::new(access);
        audit
            .start(&access)
            .context("keeping that the host was started")?;
        let destinations = operator.listeners.get(OPERATORS).map(|l| l.destinations);
        let live = Arc::new(Live::new(operator));
        engine.observe_commits(live.changes.clone());
        let has_tls = ground.tls.listeners.contains_key(OPERATORS);
        let shared = Arc::new(Shared {
            shadows: Shadows::new(runtime.clone(), canaries.clone(), clock.clone()),
            engine,
            runtime,
            store,
            embedded,
            lease: ground.opened.shared().cloned(),
            clustered: entered.clustered.clone(),
            outbound,
            releases,
            suspended: Arc::new(suspended),
            canaries,
            backtests,
            metrics: metrics.clone(),
            spans: ground.spans(),
            access,
            browsers: Browsers::of(sign_in.as_ref(), has_tls),
            sign_in,
            passkeys,
            people,
            audit,
            audit_reader,
            audit_verifier: Arc::new(audit_verifier),
            open_metrics: destinations.flatten() == Some(Audience::Open),
            pace: pace(operator),
            books: Books::new(stored, clock.clone()),
            archiver,
            disk: Arc::new(Disk::new(operator.store.free_min)),
            bodies: Bodies::new(operator),
            reads: Arc::new(Semaphore::new(OPERATORS_AT_A_TIME)),
            changes: Arc::new(Semaphore::new(OPERATORS_AT_A_TIME)),
            denials,
            refusals: Arc::default(),
            tokens: Arc::default(),
            sources: Arc::default(),
            revocations: Arc::default(),
            live,
        });
        let made = Self {
            shared,
            recovery,
            signers,
            rule_states: Arc::default(),
            signed,
        };
        made.measure(ground);
        Ok(made)
    }

    /// Add what its parts count to the metrics.
    fn measure(&self, ground: &Foundation) {
        let Shared {
            engine,
            runtime,
            outbound,
            archiver,
            disk,
            bodies,
            releases,
            live,
            embedded,
            metrics,
            ..
        } = &*self.shared;
        let traffic = EngineCollector(engine.clone(), outbound.clone());
        metrics.add_collector(Box::new(traffic));
        metrics.add_collector(Box::new(StoreCollector {
            archiver: archiver.clone(),
            disk: disk.clone(),
            clock: ground.clock.clone(),
        }));
        metrics.add_collector(Box::new(QuarantineCollector(runtime.clone())));
        metrics.add_collector(Box::new(SignersCollector(self.signers.clone())));
        metrics.add_collector(Box::new(bodies.clone()));
        metrics.add_collector(Box::new(ExpiryCollector(ground.tls.clone())));
        metrics.add_collector(Box::new(SignedCollector(self.signed.clone())));
        metrics.add_collector(Box::new(releases.scheduled_collector()));
        metrics.add_named_collector(Box::new(VerdictsCollector(live.clone())));
        metrics.add_collector(Box::new(LiveCollector {
            live: live.clone(),
            engine: engine.clone(),
            store: embedded.clone(),
        }));
    }
}

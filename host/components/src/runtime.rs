//! The engine's handler: it has the current release, and what all releases share. How it runs a turn: `turns`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use rialto_engine::{Failure, Handled, Name, Turn};
use rialto_keys::Keys;
use rialto_signatures::Keyring;
use wasmtime::Engine;

use crate::activation::Activation;
use crate::audit_log::{AuditLog, NoAuditLog};
use crate::authority::ClientAuthority;
use crate::cache::Cache;
use crate::canaries::{Canaries, NoCanaries};
use crate::config::{EPOCH_TICK_MS, Metering, PoolSize, engine};
use crate::denials::{self, Denials};
use crate::earlier::EarlierReleases;
use crate::external_calls::Call;
use crate::http::{Request, RequestHead, Response, Violation};
use crate::instance::CallFailed;
use crate::next_release::{InForce, Next, NextRelease};
use crate::quarantine::Quarantines;
use crate::release::{Member, Release};
use crate::suspensions::Suspensions;
use crate::tls::{NoTls, TlsFiles};
use crate::turns::failed;
use crate::verdict_counts::VerdictCounts;
use crate::what_if::Drafts;

/// The argument of a request's turn.
pub enum Argument {
    /// Serve an HTTP request; the reply is a [`Response`], or [`ReleaseChanged`].
    Http {
        /// The request.
        request: Arc<Request>,
        /// The release against whose document it was validated; none if it was not validated.
        judged_by: Option<u64>,
        /// Whether the host writes an entry of the audit log if an operator has sent it.
        is_audited: bool,
        /// Whether the history may keep the message, if it keeps messages. What has or gives a credential may not be kept.
        may_keep: bool,
        /// The public name of the credential that the operator has shown, for that entry.
        credential: Option<Arc<str>>,
    },
    /// Do a step of a release's activation; the reply is for [`Activation::next`].
    Activation(Activation),
    /// Call a function that the component exports; the reply is a [`CallOutcome`].
    ///
    /// [`CallOutcome`]: crate::external_calls::CallOutcome
    Call(Call),
    /// Publish an event to all components that export its interface; the reply is a [`CallOutcome`]. No component
    /// runs in the turn itself.
    ///
    /// [`CallOutcome`]: crate::external_calls::CallOutcome
    Event(Call),
}

/// The reply to a request that was validated against another release than the one that is current when its
/// turn begins. The turn had no effect: validate the request again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReleaseChanged;

/// Runs turns in components.
pub struct Runtime {
    by_epochs: Engine,
    by_fuel: Engine,
    pub(crate) cache: Cache,
    pub(crate) keyring: Arc<Keyring>,
    pub(crate) keys: Arc<Keys>,
    pub(crate) tls: Arc<dyn TlsFiles>,
    pub(crate) authority: Option<Arc<ClientAuthority>>,
    pub(crate) audit_log: Arc<dyn AuditLog>,
    pub(crate) denials: Arc<dyn Denials>,
    pub(crate) suspensions: Arc<Suspensions>,
    /// How many drafts each asker has had judged.
    pub(crate) drafts: Arc<Drafts>,
    /// What rules said lately.
    pub(crate) verdicts: Arc<VerdictCounts>,
    pub(crate) canaries: Arc<dyn Canaries>,
    pub(crate) quarantines: Arc<Quarantines>,
    current: ArcSwapOption<Release>,
    next: NextRelease,
    pub(crate) earlier: Arc<EarlierReleases>,
    ticking: Arc<AtomicBool>,
    stopping: Arc<AtomicBool>,
}

impl Runtime {
    /// A runtime without a release.
    ///
    /// # Errors
    /// When the operating system does not give address space for the pools, or no thread.
    pub fn new(cache: Cache, pool: PoolSize) -> wasmtime::Result<Self> {
        let by_epochs = engine(Metering::Epochs, pool)?;
        let by_fuel = engine(Metering::Fuel, pool)?;
        let ticking = Arc::new(AtomicBool::new(true));
        tick(vec![by_epochs.clone(), by_fuel.clone()], ticking.clone())?;
        Ok(Self {
            by_epochs,
            by_fuel,
            cache,
            keyring: Arc::default(),
            keys: Arc::default(),
            tls: Arc::new(NoTls),
            authority: None,
            audit_log: Arc::new(NoAuditLog),
            denials: denials::none(),
            suspensions: Arc::default(),
            drafts: Arc::default(),
            verdicts: Arc::default(),
            canaries: Arc::new(NoCanaries),
            quarantines: Arc::default(),
            current: ArcSwapOption::empty(),
            next: NextRelease::default(),
            earlier: Arc::default(),
            ticking,
            stopping: Arc::default(),
        })
    }

    /// With a flag that the host is stopping. A preparation of a release then ends between two components.
    #[must_use]
    pub fn with_stopping(mut self, stopping: Arc<AtomicBool>) -> Self {
        self.stopping = stopping;
        self
    }

    /// Whether the host is stopping.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// With the operator's keys. Releases that are prepared from now on use them.
    #[must_use]
    pub fn with_keyring(mut self, keyring: Arc<Keyring>) -> Self {
        self.keyring = keyring;
        self
    }

    /// With the operator's providers of keys, for releases that are prepared from now on.
    #[must_use]
    pub fn with_keys(mut self, keys: Arc<Keys>) -> Self {
        self.keys = keys;
        self
    }

    /// With the authority that certifies clients, for releases that are prepared from now on.
    #[must_use]
    pub fn with_authority(mut self, authority: Option<Arc<ClientAuthority>>) -> Self {
        self.authority = authority;
        self
    }

    /// With the audit log, for releases that are prepared from now on.
    #[must_use]
    pub fn with_audit_log(mut self, audit_log: Arc<dyn AuditLog>) -> Self {
        self.audit_log = audit_log;
        self
    }

    /// With what keeps who was refused, for releases that are prepared from now on.
    #[must_use]
    pub fn with_denials(mut self, denials: Arc<dyn Denials>) -> Self {
        self.denials = denials;
        self
    }

    /// With who says which requests canaries decide about, for releases that are prepared from now on.
    #[must_use]
    pub fn with_canaries(mut self, canaries: Arc<dyn Canaries>) -> Self {
        self.canaries = canaries;
        self
    }

    /// With the operator's TLS files, for releases that are prepared from now on.
    #[must_use]
    pub fn with_tls(mut self, tls: Arc<dyn TlsFiles>) -> Self {
        self.tls = tls;
        self
    }

    pub(crate) fn engine(&self, metered: bool) -> &Engine {
        if metered {
            &self.by_fuel
        } else {
            &self.by_epochs
        }
    }

    /// The rules that are suspended, for all releases of this runtime.
    #[must_use]
    pub fn suspensions(&self) -> &Suspensions {
        &self.suspensions
    }

    /// What rules said lately, in all releases of this runtime.
    #[must_use]
    pub fn verdicts(&self) -> &VerdictCounts {
        &self.verdicts
    }

    /// The rules in quarantine, of all releases of this runtime.
    #[must_use]
    pub fn quarantines(&self) -> &Arc<Quarantines> {
        &self.quarantines
    }

    /// The release on which new turns run.
    pub fn current(&self) -> Option<Arc<Release>> {
        self.current.load_full()
    }

    /// How many threads may load a release: all processors while no release serves, otherwise one, because payments need the
    /// others.
    #[must_use]
    pub fn loading_threads(&self) -> usize {
        match self.current() {
            Some(_) => 1,
            None => std::thread::available_parallelism().map_or(1, usize::from),
        }
    }

    /// Make a release current: new turns run on it. Turns under way end on their own release. The one before stays ready, to
    /// judge what was agreed under its rules, unless this is an earlier one: then it was rolled back.
    pub fn make_current(&self, release: Arc<Release>) {
        self.next.is_overtaken_by(release.number);
        self.begin(release);
    }

    fn begin(&self, release: Arc<Release>) {
        // Before turns run on it, so that they find the one before.
        self.earlier.begins(release.clone());
        self.current.store(Some(release));
    }

    /// Say which release comes into force next, in the place of an earlier expectation. Turns from its instant on run on it
    /// alone: if it is not ready, they are refused.
    pub fn expect(&self, next: Option<Next>) {
        self.next.set(next);
    }

    /// The release of a turn: the one that is in force at its instant.
    ///
    /// # Errors
    /// When there is none, or it is not ready.
    pub(crate) fn in_force(
        &self,
        component: &Name,
        turn: Turn,
    ) -> Result<(Arc<Release>, Turn), Box<Handled>> {
        match self.next.at(turn.now()) {
            InForce::Current => {}
            InForce::Before(release) => return Ok((release, turn)),
            InForce::Next(number) => {
                if self
                    .current()
                    .is_none_or(|current| current.number != number)
                {
                    self.next.begins(|release| self.begin(release));
                }
            }
            InForce::NotReady(from) => {
                let reason = format!("the release that is in force since {} is not ready", from.0);
                return Err(Box::new(Handled {
                    turn: Some(turn),
                    outcome: Err(Failure::NotReady(reason)),
                }));
            }
        }
        match self.current() {
            Some(release) => Ok((release, turn)),
            None => Err(Box::new(failed(
                Some(turn),
                component,
                "no release is current".into(),
            ))),
        }
    }

    /// The releases that stay ready to judge what was agreed under their rules.
    #[must_use]
    pub fn earlier(&self) -> &EarlierReleases {
        &self.earlier
    }

    /// Drop the idle instances of the releases that are ready that were not used since the last call of this. Returns how
    /// many.
    pub fn give_up_unused(&self) -> usize {
        let mut releases = self.earlier.all();
        releases.extend(self.current());
        let members = releases.iter().flat_map(|release| &release.members);
        members.map(Member::give_up_unused).sum()
    }

    /// Let a component word a refusal, outside of any turn.
    ///
    /// # Errors
    /// When the component fails.
    pub fn refuse(
        &self,
        member: &Member,
        head: &RequestHead,
        violation: &Violation,
    ) -> Result<Response, CallFailed> {
        let refused = member.lease().and_then(|mut lease| {
            member.arm(&mut lease.store)?;
            let worded = lease.call(|instance| {
                let handler = member.http(instance)?;
                handler.call_refuse(&mut instance.store, head, violation)
            })?;
            lease.give_back();
            Ok(worded)
        });
        refused.map_err(|error| member.explain(&error))
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.ticking.store(false, Ordering::Release);
    }
}

/// Increment the epoch regularly until told to stop.
fn tick(engines: Vec<Engine>, ticking: Arc<AtomicBool>) -> wasmtime::Result<()> {
    std::thread::Builder::new()
        .name("epoch".into())
        .spawn(move || {
            while ticking.load(Ordering::Acquire) {
                std::thread::sleep(Duration::from_millis(EPOCH_TICK_MS));
                for engine in &engines {
                    engine.increment_epoch();
                }
            }
        })?;
    Ok(())
}

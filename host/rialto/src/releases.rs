//! The releases of a running host, and how one becomes current.
//!
//! | State | What happens | Next state |
//! | --- | --- | --- |
//! | (proposed) | it does not fit: it cannot be compiled or wired, or its settings or APIs are wrong | refused; nothing is stored |
//! | (proposed) | it fits, and needs a second person | waiting, stored |
//! | waiting | a second person approves it | activating |
//! | (proposed) | it fits, and needs no second person | activating, stored with a mark |
//! | activating | all steps of its components are done | current; the mark is removed |
//! | activating | a step fails | refused (it keeps its number); the release before stays current |
//! | activating | the host ends | activating: the next start finds the mark and activates it again |
//! | (proposed) | it fits, and comes into force at an instant | scheduled, stored |
//! | scheduled | its instant is near | activating |
//! | scheduled | somebody withdraws it, or makes an earlier release current | withdrawn |
//! | current | another release becomes current | kept |
//! | kept | a rollback | activating |
//!
//! A proposed release is prepared beside the one that serves. Each step of an activation is one turn. One
//! pointer change makes new turns run on the release.
//!
//! A failed step has no effect. The effects of the steps before it stay, and the refusal says so. In the
//! participants' context these are: accounts with their opening liquidity, changed names and callback URLs, and
//! new participants who cannot trade.
//!
//! [`crate::plan::brought_in`] says which releases bring in money. `releases.second-person` of the operator's
//! document says when such a release needs a second person. A release after which clients need no longer prove who they
//! are, or prove less, always does. The approval holds only while the release is current
//! that was current when the new one was stored, because the plan was made against that one.
//!
//! With officers in the operator's document, every release that replaces another one becomes current by a plan that enough
//! of them have signed ([`crate::plans`]). Only the release that was current just before is made current again without one.
//!
//! Changes happen one at a time. A request may name the release that must be current for it, and is refused if
//! another one is.

mod activation;
pub mod calendar;
mod changes;
mod described;
mod earlier;
mod last_good;
mod planned;
mod refused;
mod scheduled;
mod scheduled_metrics;
mod views;
mod wired;

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Context as _;
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use rialto_components::{Release, ReleaseSpec, Runtime};
use rialto_edge::api::BadApi;
use rialto_edge::{Api, Authentication};
use rialto_engine::{Clock, Timestamp};
use rialto_grpc::Calls;
use rialto_manifest::Operator;
use rialto_manifest::operator::OPERATORS;
use rialto_manifest::scheme::{Scheme, SchemeDocument};
use rialto_store::{HostStore, StoredRelease};
use tokio::sync::watch;

use crate::audit::Actor;
use crate::authorization;
use crate::calls::Offering;
use crate::canaries::HostCanaries;
use crate::configuration;
use crate::located::located;
use crate::log_lines;
use crate::ops::reserved;
use crate::plan;
use crate::plans::Officers;
use crate::revocations;
use crate::rule_states;
use crate::sources;
use crate::spec;
use crate::tokens;

pub use changes::with_rule;
pub use described::{ShownComponent, ShownRule};
pub use planned::{ShownPlan, ShownSignature};
pub use refused::Refused;
use refused::unfit;
use scheduled::Ahead;
pub use scheduled::Dates;
pub use views::{Activation, Applied, Difference, Scheduled, ShownRelease, Summary, Withdrawn};
pub use wired::{
    LinkKind, ShownWiring, UnheardEvent, WiredComponent, WiredLink, WiredRule, WiredStep,
};

/// The APIs of each listener; replaced with each release.
pub type Apis = HashMap<String, Arc<ArcSwap<Api>>>;

/// A request for a change: by whom, and why.
#[derive(Clone, Copy)]
pub struct ChangeRequest<'a> {
    /// The person or the host itself.
    pub who: &'a Actor,
    /// Why, in their words; empty if they did not say.
    pub note: &'a str,
    /// The release that must be current for it, if they named one.
    pub expected: Option<u64>,
    /// When it is in force, if not at once and for good.
    pub dates: Dates,
}

/// The releases of a host.
pub struct Releases {
    store: Arc<dyn HostStore>,
    runtime: Arc<Runtime>,
    operator: Operator,
    officers: Officers,
    canaries: Arc<HostCanaries>,
    apis: Apis,
    /// What gRPC clients are offered, if there is a gRPC listener.
    offering: Option<Offering>,
    calls: watch::Sender<Arc<Calls>>,
    clock: Arc<dyn Clock>,
    /// The current release's document. Its lock is held while a release is made current.
    current: Mutex<Option<(u64, SchemeDocument)>>,
    /// The releases that come into force later.
    ahead: Arc<Ahead>,
    /// The release that was loaded last, because its rules are often asked many times.
    loaded: Mutex<Option<Arc<Release>>>,
    /// What a standby has prepared, so that a takeover need not: a release never changes.
    prepared: Mutex<Option<Prepared>>,
    /// The document that was read last, because the same one is often read again.
    last_read: Mutex<Option<SchemeDocument>>,
}

/// A release that is ready to be made current.
struct Prepared {
    number: u64,
    release: Release,
    document: SchemeDocument,
}

impl Releases {
    /// The releases of this store, which may have none.
    ///
    /// # Errors
    /// When an officer's public key cannot be used.
    pub fn new(
        store: Arc<dyn HostStore>,
        runtime: Arc<Runtime>,
        operator: Operator,
        offering: Option<Offering>,
        canaries: Arc<HostCanaries>,
        clock: Arc<dyn Clock>,
    ) -> anyhow::Result<Self> {
        let names = operator.listeners.keys();
        let apis = names.map(|name| (name.to_string(), Arc::new(ArcSwap::default())));
        Ok(Self {
            store,
            runtime,
            apis: apis.collect(),
            officers: Officers::of(&operator)?,
            canaries,
            operator,
            offering,
            calls: watch::Sender::default(),
            clock,
            current: Mutex::new(None),
            ahead: Arc::default(),
            loaded: Mutex::new(None),
            prepared: Mutex::new(None),
            last_read: Mutex::new(None),
        })
    }

    /// The APIs of each listener.
    pub fn apis(&self) -> &Apis {
        &self.apis
    }

    /// The calls that clients may make, of each release as it becomes current.
    pub fn calls(&self) -> watch::Receiver<Arc<Calls>> {
        self.calls.subscribe()
    }

    /// The current release's number and document.
    pub fn current(&self) -> Option<(u64, SchemeDocument)> {
        self.current.lock().clone()
    }

    /// The host's time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// How often a delivery whose turn fails is tried, and how long at most, in milliseconds.
    pub fn retries(&self) -> (u32, u64) {
        let engine = &self.operator.engine;
        (engine.turn_attempts_max, engine.retry_for.millis())
    }

    /// All releases, oldest first.
    pub fn list(&self) -> Result<Vec<Summary>, Refused> {
        let current = self
            .store
            .current_release()
            .context("reading the releases")?;
        let stored = self.store.releases().context("reading the releases")?;
        let were_current = self
            .store
            .releases_once_current()
            .context("reading the releases")?;
        let activations = self
            .store
            .activations()
            .context("reading the activations")?;
        let scheduled = self
            .store
            .scheduled_releases()
            .context("reading the scheduled releases")?;
        let of = |number: u64| {
            let these = activations.iter().filter(|a| a.release == number);
            these.map(Activation::from).collect()
        };
        let summaries = stored.into_iter().map(|r| Summary {
            activations: of(r.number),
            scheduled: scheduled
                .iter()
                .find(|one| one.release == r.number)
                .map(Scheduled::from),
            current: r.number == current,
            was_current: were_current.contains(&r.number),
            number: r.number,
            digest: r.digest,
            created_at: r.created_at.0,
            note: r.note,
            maker: r.maker,
            approver: r.approver,
            waits: r.waits_on.is_some(),
        });
        Ok(summaries.collect())
    }

    /// A release with its contents.
    pub fn show(&self, number: u64) -> Result<ShownRelease, Refused> {
        let document = self.document(number)?;
        let mut all = self.list()?.into_iter();
        let summary = all.find(|summary| summary.number == number);
        let summary = summary.ok_or(Refused::Unknown(number))?;
        Ok(ShownRelease { summary, document })
    }

    /// What differs between two releases, in words.
    pub fn difference(&self, from: u64, to: u64) -> Result<Difference, Refused> {
        let (before, after) = (self.document(from)?, self.document(to)?);
        Ok(Difference {
            from,
            to,
            changes: plan::changes(Some(&before), &after),
        })
    }

    /// Prepare a stored release only to ask its rules again. The last one is kept, because preparing costs much more
    /// than asking.
    pub fn load(&self, number: u64) -> Result<Arc<Release>, Refused> {
        // Locked during the preparation, so that concurrent callers prepare it only once.
        let mut loaded = self.loaded.lock();
        if let Some(release) = loaded.as_ref().filter(|r| r.number == number) {
            return Ok(release.clone());
        }
        let document = self.document(number)?;
        let release = Arc::new(self.prepare(number, &document)?);
        *loaded = Some(release.clone());
        Ok(release)
    }

    /// Compile and check the current release, so that its next preparation is quick. Returns its number, 0 for none. Changes
    /// nothing in the store.
    ///
    /// # Errors
    /// When it cannot be read, or does not fit.
    pub(crate) fn prepare_current(&self, known: u64) -> Result<u64, Refused> {
        let number = self
            .store
            .current_release()
            .context("reading the current release")?;
        if number != known && number != 0 {
            let document = self.document(number)?;
            let release = self.prepare(number, &document)?;
            *self.prepared.lock() = Some(Prepared {
                number,
                release,
                document,
            });
        }
        Ok(number)
    }

    pub(super) fn document(&self, number: u64) -> Result<SchemeDocument, Refused> {
        self.read(&self.stored(number)?)
    }

    /// The document of a stored release.
    pub(super) fn read(&self, stored: &StoredRelease) -> Result<SchemeDocument, Refused> {
        let document = serde_json::from_str(&stored.document).context("reading a release")?;
        Ok(self.known(document))
    }

    /// The equal document that was read last, which may have its scheme already, or else this one.
    pub(crate) fn known(&self, document: SchemeDocument) -> SchemeDocument {
        let mut last = self.last_read.lock();
        match &*last {
            Some(known) if *known == document => known.clone(),
            _ => last.insert(document).clone(),
        }
    }

    pub(super) fn stored(&self, number: u64) -> Result<StoredRelease, Refused> {
        let found = self.store.release(number).context("reading a release")?;
        found.ok_or(Refused::Unknown(number))
    }

    pub(super) fn prepare(
        &self,
        number: u64,
        document: &SchemeDocument,
    ) -> Result<Release, Refused> {
        let scheme = document.scheme().map_err(|problems| unfit(&problems))?;
        rialto_manifest::admit(&self.operator, &scheme).map_err(|problems| unfit(&problems))?;
        let spec: ReleaseSpec = spec::release(number, document, |digest| {
            let bytes = self.store.component(&digest.to_string()).ok().flatten();
            bytes.map(Into::into)
        })
        .map_err(|error| Refused::Unfit(vec![error.to_string()]))?;
        let release = self.runtime.prepare(&spec);
        // It is not known whether it fits, so it is not given up.
        if release.is_err() && self.runtime.is_stopping() {
            return Err(anyhow::anyhow!("the host is told to stop").into());
        }
        let release = release.map_err(|problems| unfit(&located(&scheme, &problems)))?;
        let _documents = rialto_edge::api::compile(&release, self.runtime.loading_threads());
        for name in self.apis.keys() {
            api_of(&release, name, &scheme).map_err(|e| Refused::Unfit(vec![e.to_string()]))?;
        }
        tokens::check(&release, &scheme).map_err(|e| Refused::Unfit(vec![e.to_string()]))?;
        authorization::authorizer(&release).map_err(|e| Refused::Unfit(vec![e.to_string()]))?;
        configuration::keeper(&release).map_err(|e| Refused::Unfit(vec![e.to_string()]))?;
        sources::keeper(&release).map_err(|e| Refused::Unfit(vec![e.to_string()]))?;
        revocations::keeper(&release).map_err(|e| Refused::Unfit(vec![e.to_string()]))?;
        log_lines::keeper(&release).map_err(|e| Refused::Unfit(vec![e.to_string()]))?;
        rule_states::keeper(&release).map_err(|e| Refused::Unfit(vec![e.to_string()]))?;
        Ok(release)
    }
}

/// The APIs of a release on a listener. The operators' listener knows its clients by itself; on others the scheme says
/// what clients must prove.
pub(crate) fn api_of(release: &Release, listener: &str, scheme: &Scheme) -> Result<Api, BadApi> {
    let needed = &scheme.authentication;
    let authentication = match (needed.needs_certificate(), needed.needs_token()) {
        _ if listener == OPERATORS => Authentication::None,
        (false, false) => Authentication::None,
        (true, false) => Authentication::MutualTls,
        (false, true) => Authentication::Bearer,
        (true, true) => Authentication::MutualTlsBearer,
    };
    Api::of(release, listener, reserved(listener), authentication)
}

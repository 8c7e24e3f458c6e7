//! Releases of a running host: what is current, what was, and how one becomes current.
//!
//! A change is prepared beside the release that serves (compiled, wired, instantiated once, rules'
//! settings judged, APIs read). What does not fit is refused, and nothing was changed. Then it is stored,
//! with a mark that its activation has begun; its components do what they want done, in steps, each of
//! which is one turn; then one statement makes it current and takes the mark away, and new turns run on it
//! by one pointer change. If a step fails, nothing of that step remains and the release before serves on;
//! the new one keeps its number. What the steps before it did stays, and the refusal says so: of the
//! participants' context that are accounts with their opening liquidity, names and callback URLs of
//! participants that were there before, and participants who cannot trade. If the host ends in between,
//! its next start finds the mark and activates the release again, as its components must be ready for.
//!
//! A release that brings in money is not made current by who made it: it is stored, and waits until another
//! person approves it ([`crate::plan::brought_in`] says what that is, `releases.second-person` of the operator's
//! document when). It is approved in the place of the release that was current when it was stored, and of no
//! other: what it would change has been told of that one.
//!
//! Changes happen one at a time, each made from the release that is current then. Who has looked at a
//! release may say which, and is refused if another one is current meanwhile.

mod activation;
mod changes;
mod refused;
mod views;

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Context as _;
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use rialto_components::{Release, ReleaseSpec, Runtime};
use rialto_edge::Api;
use rialto_engine::Clock;
use rialto_grpc::Calls;
use rialto_manifest::Operator;
use rialto_manifest::scheme::SchemeDocument;
use rialto_store_sqlite::{SqliteStore, StoredRelease};
use tokio::sync::watch;

use crate::audit::Who;
use crate::calls::Offering;
use crate::located::located;
use crate::ops::reserved;
use crate::plan;
use crate::spec;

pub use refused::Refused;
use refused::unfit;
pub use views::{Activation, Applied, Difference, ShownRelease, Summary};

/// The APIs of each listener; replaced with each release.
pub type Apis = HashMap<String, Arc<ArcSwap<Api>>>;

/// Who wants a change, and why.
#[derive(Clone, Copy)]
pub struct ChangeRequest<'a> {
    /// Who.
    pub who: &'a Who,
    /// Why, in their words; empty where they said nothing.
    pub note: &'a str,
    /// The release that must be current for it, if they said so.
    pub expected: Option<u64>,
}

/// See the module's documentation.
pub struct Releases {
    store: Arc<SqliteStore>,
    runtime: Arc<Runtime>,
    operator: Operator,
    apis: Apis,
    /// What clients of gRPC are offered, if anything is.
    offering: Option<Offering>,
    calls: watch::Sender<Arc<Calls>>,
    clock: Arc<dyn Clock>,
    /// The current release's document. Held while one is made current.
    current: Mutex<Option<(u64, SchemeDocument)>>,
    /// The release that was loaded last, for whoever asks its rules many times.
    loaded: Mutex<Option<Arc<Release>>>,
}

impl Releases {
    /// Over a store that may or may not have releases.
    pub fn new(
        store: Arc<SqliteStore>,
        runtime: Arc<Runtime>,
        operator: Operator,
        offering: Option<Offering>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let names = operator.listeners.keys();
        let apis = names.map(|name| (name.to_string(), Arc::new(ArcSwap::default())));
        Self {
            store,
            runtime,
            apis: apis.collect(),
            operator,
            offering,
            calls: watch::Sender::default(),
            clock,
            current: Mutex::new(None),
            loaded: Mutex::new(None),
        }
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
        let of = |number: u64| {
            let these = activations.iter().filter(|a| a.release == number);
            these.map(Activation::from).collect()
        };
        let summaries = stored.into_iter().map(|r| Summary {
            activations: of(r.number),
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

    /// A release with all that is in it.
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

    /// A release, prepared only to ask its rules again. Nothing is changed by it. The last one is
    /// kept: making one ready costs much more than asking it.
    pub fn load(&self, number: u64) -> Result<Arc<Release>, Refused> {
        // Over the preparation, so that many who ask at once do not all prepare it.
        let mut loaded = self.loaded.lock();
        if let Some(release) = loaded.as_ref().filter(|r| r.number == number) {
            return Ok(release.clone());
        }
        let document = self.document(number)?;
        let release = Arc::new(self.prepare(number, &document)?);
        *loaded = Some(release.clone());
        Ok(release)
    }

    pub(super) fn document(&self, number: u64) -> Result<SchemeDocument, Refused> {
        read(&self.stored(number)?)
    }

    pub(super) fn stored(&self, number: u64) -> Result<StoredRelease, Refused> {
        let stored = self.store.releases().context("reading the releases")?;
        let found = stored.into_iter().find(|r| r.number == number);
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
        // Nobody knows whether it fits: it is not given up.
        if release.is_err() && self.runtime.is_stopping() {
            return Err(anyhow::anyhow!("the host is told to stop").into());
        }
        let release = release.map_err(|problems| unfit(&located(&scheme, &problems)))?;
        for name in self.apis.keys() {
            Api::of(&release, name, reserved(name))
                .map_err(|e| Refused::Unfit(vec![e.to_string()]))?;
        }
        Ok(release)
    }
}

fn read(stored: &StoredRelease) -> Result<SchemeDocument, Refused> {
    Ok(serde_json::from_str(&stored.document).context("reading a release")?)
}

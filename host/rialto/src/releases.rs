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
//! person approves it ([`plan::brought_in`] says what that is, `releases.second-person` of the operator's
//! document when). It is approved in the place of the release that was current when it was stored, and of no
//! other: what it would change has been told of that one.
//!
//! Changes happen one at a time, each made from the release that is current then. Who has looked at a
//! release may say which, and is refused if another one is current meanwhile.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Context as _;
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use rialto_components::runtime::Argument;
use rialto_components::{Activation, Digest, Release, ReleaseSpec, Runtime};
use rialto_edge::Api;
use rialto_engine::store::StoreError;
use rialto_engine::{Clock, Engine, Failure};
use rialto_grpc::Calls;
use rialto_manifest::operator::SecondPerson;
use rialto_manifest::scheme::SchemeDocument;
use rialto_manifest::{ComponentKind, Diagnostics, Operator};
use rialto_store_sqlite::{SqliteStore, StoredRelease};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::audit::Who;
use crate::calls::Offering;
use crate::located::located;
use crate::operators::Caller;
use crate::ops::reserved;
use crate::plan;
use crate::spec;

/// What the history calls the turn of an activation: it is of no component, but of all that want it.
const ACTIVATION: &str = "release";
/// Steps of an activation after which somebody seems never to end.
const ACTIVATION_STEPS_MAX: u32 = 10_000;

/// Why a release was not made current. The old one serves on.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// It does not fit: each problem in words.
    #[error("{}", lines(.0))]
    Unfit(Vec<String>),
    /// There is no release of this number.
    #[error("there is no release {0}; `rialto release list` shows those that there are")]
    Unknown(u64),
    /// The scheme has no rule of this name.
    #[error("the current release has no rule `{0}`")]
    NoRule(String),
    /// Another release is current than the one that the change was meant for.
    #[error(
        "the change is meant for release {expected}, and release {current} is current; look at what changed with `rialto release list`, then try again"
    )]
    Moved {
        /// The one it was meant for.
        expected: u64,
        /// The current one; 0 for none.
        current: u64,
    },
    /// Nothing would change.
    #[error("it is what release {0} is: nothing would change")]
    Same(u64),
    /// It is stored and not approved yet.
    #[error(
        "release {0} waits for the approval of a second person: `rialto release approve {0} --as NAME`"
    )]
    Waits(u64),
    /// It does not wait for an approval.
    #[error("release {0} does not wait for an approval; `rialto release list` shows those that do")]
    NotWaiting(u64),
    /// Who made it would approve it.
    #[error("release {number} was made by {maker}: somebody else must approve it")]
    OwnRelease {
        /// Its number.
        number: u64,
        /// Who made it.
        maker: String,
    },
    /// Nobody knows who would approve it.
    #[error(
        "release {0} needs the approval of a second person, and nobody is named: name people in rialto.toml (`[operators.NAME]`), one of them with the role `checker`, and start the host again"
    )]
    Unnamed(u64),
    /// The host could not do it.
    #[error("{0:#}")]
    Failed(#[from] anyhow::Error),
}

fn lines(problems: &[String]) -> String {
    problems.join("\n")
}

fn unfit(problems: &Diagnostics) -> Refused {
    Refused::Unfit(vec![problems.plain()])
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::Failed(anyhow::Error::new(error).context("keeping who does this"))
    }
}

/// A release as `rialto release list` shows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Its number.
    pub number: u64,
    /// What names it by content.
    pub digest: String,
    /// When it was made; milliseconds since 1970.
    pub created_at: u64,
    /// Why.
    pub note: String,
    /// Whether new turns run on it.
    pub current: bool,
    /// Whether it is current or was; if not, it was refused when it was to be activated.
    #[serde(default)]
    pub was_current: bool,
    /// Who made it; empty where nobody knows.
    #[serde(default)]
    pub maker: String,
    /// Who approved it, if it needed that and was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approver: Option<String>,
    /// Whether it waits for the approval of a second person.
    #[serde(default)]
    pub waits: bool,
}

/// What was done, in words.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Applied {
    /// The number of the release that is current now, or would be.
    pub number: u64,
    /// Its digest.
    pub digest: String,
    /// What differs from the release before.
    pub changes: Vec<String>,
    /// Why it needs the approval of a second person before it is current; it is current, or would be, if there
    /// is nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs_approval: Vec<String>,
}

impl Applied {
    /// What an operator's log says of it.
    #[must_use]
    pub fn told(&self) -> String {
        let Self { number, digest, .. } = self;
        if self.needs_approval.is_empty() {
            format!("release {number} ({digest}) is current")
        } else {
            format!("release {number} ({digest}) waits for the approval of a second person")
        }
    }
}

/// The APIs of each listener; replaced with each release.
pub type Apis = HashMap<String, Arc<ArcSwap<Api>>>;

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

    /// Go on with the release that was current when the host stopped. None if there was none.
    pub fn resume(&self) -> Result<Option<u64>, Refused> {
        let number = self
            .store
            .current_release()
            .context("reading the current release")?;
        if number == 0 {
            self.resume_first_activation()?;
            return Ok(None);
        }
        let document = self.document(number)?;
        let release = self.prepare(number, &document)?;
        self.install(Arc::new(release), number, document)?;
        Ok(Some(number))
    }

    /// What the activation of a first release has caused runs on that release.
    fn resume_first_activation(&self) -> Result<(), Refused> {
        let number = self.activating()?;
        if number != 0
            && let Ok(release) = self
                .document(number)
                .and_then(|document| self.prepare(number, &document))
        {
            self.runtime.make_current(Arc::new(release));
        }
        Ok(())
    }

    /// Activate the release whose activation the host's end interrupted. Answers its number; none
    /// if there was none, or if it had to be given up.
    pub fn finish(&self, engine: &Engine) -> Result<Option<u64>, Refused> {
        let number = self.activating()?;
        if number == 0 {
            return Ok(None);
        }
        let mut current = self.current.lock();
        let finished = self.document(number).and_then(|document| {
            let release = Arc::new(self.prepare(number, &document)?);
            self.make_current(engine, &mut current, release, document)
        });
        match finished {
            Ok(()) => {
                tracing::warn!(
                    release = number,
                    "the host had stopped while this release was made current; it is now"
                );
                Ok(Some(number))
            }
            Err(reason @ Refused::Failed(_)) => Err(reason),
            Err(reason) => {
                tracing::error!(release = number, %reason, "the host had stopped while this release was made current, and it cannot be; `rialto release rollback` tries again");
                self.give_up()?;
                Ok(None)
            }
        }
    }

    /// Make a document the current release; if `expected` says so, only in the place of that one.
    pub fn apply(
        &self,
        engine: &Engine,
        by: &Who,
        document: SchemeDocument,
        note: &str,
        expected: Option<u64>,
    ) -> Result<Applied, Refused> {
        self.change(engine, by, note, expected, |_| Ok(document))
    }

    /// Put another component behind one rule of the current release.
    pub fn swap(
        &self,
        engine: &Engine,
        by: &Who,
        rule: &str,
        digest: Digest,
        expected: Option<u64>,
    ) -> Result<Applied, Refused> {
        let note = format!("swap of the rule {rule}");
        self.change(engine, by, &note, expected, |current| {
            let current = current.ok_or_else(|| Refused::NoRule(rule.to_owned()))?;
            with_rule(current, rule, digest)
        })
    }

    /// One change at a time: it is made from the document that is current, and nothing comes between.
    fn change(
        &self,
        engine: &Engine,
        by: &Who,
        note: &str,
        expected: Option<u64>,
        make: impl FnOnce(Option<&SchemeDocument>) -> Result<SchemeDocument, Refused>,
    ) -> Result<Applied, Refused> {
        let mut current = self.current.lock();
        meant_for(expected, current.as_ref())?;
        let document = make(current.as_ref().map(|(_, document)| document))?;
        let changes = plan::changes(current.as_ref().map(|(_, d)| d), &document);
        if let Some((number, before)) = &*current
            && before.digest() == document.digest()
        {
            return Err(Refused::Same(*number));
        }
        let before = current
            .as_ref()
            .map(|(number, document)| (*number, document));
        let (mut applied, release) = self.keep(by, note, before, &document)?;
        applied.changes = changes;
        if !applied.needs_approval.is_empty() {
            return Ok(applied);
        }
        self.make_current(engine, &mut current, release, document)?;
        let (number, digest) = (applied.number, &applied.digest);
        tracing::info!(release = number, %digest, note, "a release is current");
        Ok(applied)
    }

    /// Store a release that fits. Answers it, and why it needs the approval of a second person if it does.
    fn keep(
        &self,
        by: &Who,
        note: &str,
        before: Option<(u64, &SchemeDocument)>,
        document: &SchemeDocument,
    ) -> Result<(Applied, Arc<Release>), Refused> {
        let stored = self.store.releases().context("reading the releases")?;
        let number = stored.last().map_or(1, |last| last.number + 1);
        let release = Arc::new(self.prepare(number, document)?);
        let digest = release.digest.to_string();
        let needs_approval = self.needs_approval(before.map(|(_, d)| d), document);
        let waits_on = (!needs_approval.is_empty()).then(|| before.map_or(0, |(number, _)| number));
        let applied = |number| Applied {
            number,
            digest: digest.clone(),
            changes: Vec::new(),
            needs_approval: needs_approval.clone(),
        };
        // The same person wants the same again, in the same place: also each start of a host without a release.
        if let Some(last) = stored.last()
            && waits_on.is_some()
            && (last.waits_on, &*last.maker, &last.digest) == (waits_on, &*by.person, &digest)
        {
            return Ok((applied(last.number), release));
        }
        let json = serde_json::to_string(document).context("writing the release")?;
        self.store
            .add_release(&StoredRelease {
                number,
                digest: digest.clone(),
                document: json,
                created_at: self.clock.now(),
                note: note.to_owned(),
                maker: by.person.to_string(),
                approver: None,
                waits_on,
            })
            .context("storing the release")?;
        if waits_on.is_some() {
            tracing::warn!(release = number, why = ?needs_approval, "a release waits for the approval of a second person: `rialto release approve {number} --as NAME`");
        }
        Ok((applied(number), release))
    }

    /// Why a second person must approve a document in the place of another one.
    fn needs_approval(
        &self,
        before: Option<&SchemeDocument>,
        after: &SchemeDocument,
    ) -> Vec<String> {
        let is_sandbox = |document: &SchemeDocument| {
            let scheme = document.scheme();
            scheme.is_ok_and(|scheme| scheme.authentication.sandbox().is_some())
        };
        let all_sandboxes = before.is_none_or(is_sandbox) && is_sandbox(after);
        match self.operator.releases.second_person {
            SecondPerson::UnlessSandbox if all_sandboxes => Vec::new(),
            SecondPerson::UnlessSandbox | SecondPerson::Always => plan::brought_in(before, after),
        }
    }

    /// Make a release current that waited for the approval of a second person.
    ///
    /// # Errors
    /// When it does not wait, this person made it or is not named, or another release is current than the one
    /// in whose place it was put.
    pub fn approve(
        &self,
        engine: &Engine,
        by: &Caller,
        number: u64,
        expected: Option<u64>,
    ) -> Result<Applied, Refused> {
        let mut current = self.current.lock();
        meant_for(expected, current.as_ref())?;
        let stored = self.stored(number)?;
        let waits_on = stored.waits_on.ok_or(Refused::NotWaiting(number))?;
        if !by.is_named() {
            return Err(Refused::Unnamed(number));
        }
        if *stored.maker == *by.person {
            let maker = stored.maker;
            return Err(Refused::OwnRelease { number, maker });
        }
        meant_for(Some(waits_on), current.as_ref())?;
        let document = read(&stored)?;
        let changes = plan::changes(current.as_ref().map(|(_, d)| d), &document);
        let release = Arc::new(self.prepare(number, &document)?);
        let digest = release.digest.to_string();
        self.store
            .approve_release(number, &by.person)
            .context("storing who approved the release")?;
        self.make_current(engine, &mut current, release, document)?;
        tracing::info!(release = number, %digest, maker = %stored.maker, approver = %by.person, "a release is current");
        Ok(Applied {
            number,
            digest,
            changes,
            needs_approval: Vec::new(),
        })
    }

    /// Activate a stored release and make it current.
    fn make_current(
        &self,
        engine: &Engine,
        current: &mut Option<(u64, SchemeDocument)>,
        release: Arc<Release>,
        document: SchemeDocument,
    ) -> Result<(), Refused> {
        let number = release.number;
        if current.is_none() {
            // Nothing serves yet: what the activation causes runs on this release too.
            self.runtime.make_current(release.clone());
        }
        self.store
            .set_activating_release(number)
            .context("storing which release is being activated")?;
        match self.activate(engine, &release) {
            Ok(()) => {}
            // The engine stopped: the next start goes on from the mark.
            Err(stopped @ Refused::Failed(_)) => return Err(stopped),
            Err(refused) => {
                self.give_up()?;
                return Err(refused);
            }
        }
        self.store
            .set_current_release(number)
            .context("storing which release is current")?;
        self.publish(release)?;
        *current = Some((number, document));
        Ok(())
    }

    fn activating(&self) -> Result<u64, Refused> {
        let number = self.store.activating_release();
        Ok(number.context("reading which release is being activated")?)
    }

    fn give_up(&self) -> Result<(), Refused> {
        let given_up = self.store.set_activating_release(0);
        Ok(given_up.context("storing that no release is being activated")?)
    }

    /// What `apply` would do, without doing it.
    pub fn plan(&self, document: &SchemeDocument) -> Result<Applied, Refused> {
        let current = self.current();
        let changes = plan::changes(current.as_ref().map(|(_, d)| d), document);
        let stored = self.store.releases().context("reading the releases")?;
        let number = stored.last().map_or(1, |last| last.number + 1);
        let release = self.prepare(number, document)?;
        let needs_approval = self.needs_approval(current.as_ref().map(|(_, d)| d), document);
        Ok(Applied {
            number,
            digest: release.digest.to_string(),
            changes,
            needs_approval,
        })
    }

    /// Make a kept release current again; if `expected` says so, only in the place of that one. Where that
    /// needs a second person, what it was becomes a release of its own, which waits.
    pub fn rollback(
        &self,
        engine: &Engine,
        by: &Who,
        number: u64,
        expected: Option<u64>,
    ) -> Result<Applied, Refused> {
        let mut current = self.current.lock();
        let stored = self.stored(number)?;
        let document = read(&stored)?;
        meant_for(expected, current.as_ref())?;
        if let Some((now, _)) = &*current
            && *now == number
        {
            return Err(Refused::Same(number));
        }
        if stored.waits_on.is_some() {
            return Err(Refused::Waits(number));
        }
        let changes = plan::changes(current.as_ref().map(|(_, d)| d), &document);
        let before = current
            .as_ref()
            .map(|(number, document)| (*number, document));
        if !self
            .needs_approval(before.map(|(_, d)| d), &document)
            .is_empty()
        {
            let note = format!("release {number} again");
            let (mut waiting, _) = self.keep(by, &note, before, &document)?;
            waiting.changes = changes;
            return Ok(waiting);
        }
        let release = Arc::new(self.prepare(number, &document)?);
        let digest = release.digest.to_string();
        self.make_current(engine, &mut current, release, document)?;
        tracing::warn!(release = number, "a kept release was made current again");
        Ok(Applied {
            number,
            digest,
            changes,
            needs_approval: Vec::new(),
        })
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
        let summaries = stored.into_iter().map(|r| Summary {
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

    fn document(&self, number: u64) -> Result<SchemeDocument, Refused> {
        read(&self.stored(number)?)
    }

    fn stored(&self, number: u64) -> Result<StoredRelease, Refused> {
        let stored = self.store.releases().context("reading the releases")?;
        let found = stored.into_iter().find(|r| r.number == number);
        found.ok_or(Refused::Unknown(number))
    }

    fn prepare(&self, number: u64, document: &SchemeDocument) -> Result<Release, Refused> {
        let scheme = document.scheme().map_err(|problems| unfit(&problems))?;
        rialto_manifest::admit(&self.operator, &scheme).map_err(|problems| unfit(&problems))?;
        let spec: ReleaseSpec = spec::release(number, document, |digest| {
            let bytes = self.store.component(&digest.to_string()).ok().flatten();
            bytes.map(Into::into)
        })
        .map_err(|error| Refused::Unfit(vec![error.to_string()]))?;
        let release = self.runtime.prepare(&spec);
        let release = release.map_err(|problems| unfit(&located(&scheme, &problems)))?;
        for name in self.apis.keys() {
            Api::of(&release, name, reserved(name))
                .map_err(|e| Refused::Unfit(vec![e.to_string()]))?;
        }
        Ok(release)
    }

    /// Run the turns of the activation, if any component wants one: a step after the other, for as
    /// long as one has more to do.
    fn activate(&self, engine: &Engine, release: &Arc<Release>) -> Result<(), Refused> {
        let mut next = Activation::first(release.clone());
        while let Some(activation) = next {
            let step = activation.step;
            if step == ACTIVATION_STEPS_MAX {
                return Err(Refused::Unfit(vec![format!(
                    "it cannot be activated: after {step} steps there is still more to do"
                )]));
            }
            let (sender, receiver) = std::sync::mpsc::sync_channel(1);
            engine.submit_activation(
                ACTIVATION.into(),
                Arc::new(Argument::Activation(activation.clone())),
                Box::new(move |outcome| {
                    let _ = sender.send(outcome);
                }),
            );
            let outcome = receiver.recv().context("the engine has stopped")?;
            let answer = outcome.map_err(|failure| match (failure, step) {
                (Failure::Shutdown, _) => {
                    Refused::Failed(anyhow::anyhow!("the engine has stopped"))
                }
                (failure, 0) => Refused::Unfit(vec![format!(
                    "it cannot be activated, and nothing of it was done: {failure}"
                )]),
                (failure, _) => Refused::Unfit(vec![format!(
                    "it cannot be activated; what its {step} steps before did stays: {failure}"
                )]),
            })?;
            next = activation.next(&*answer);
        }
        Ok(())
    }

    fn publish(&self, release: Arc<Release>) -> Result<(), Refused> {
        for (name, api) in &self.apis {
            let fresh =
                Api::of(&release, name, reserved(name)).map_err(|e| anyhow::anyhow!("{e}"))?;
            api.store(Arc::new(fresh));
        }
        self.runtime.make_current(release.clone());
        if let Some(offering) = &self.offering {
            let stored = |digest: &Digest| self.store.component(&digest.to_string()).ok().flatten();
            match offering.calls(&release, stored) {
                Ok(calls) => {
                    for unserved in &calls.unserved {
                        tracing::warn!(interface = %unserved.interface, why = %unserved.why, "offered to clients of gRPC, and not served");
                    }
                    self.calls.send_replace(Arc::new(calls));
                }
                Err(error) => {
                    tracing::error!("no call is served by gRPC: {error:#}");
                    self.calls.send_replace(Arc::default());
                }
            }
        }
        Ok(())
    }

    fn install(
        &self,
        release: Arc<Release>,
        number: u64,
        document: SchemeDocument,
    ) -> Result<(), Refused> {
        self.publish(release)?;
        *self.current.lock() = Some((number, document));
        Ok(())
    }
}

fn read(stored: &StoredRelease) -> Result<SchemeDocument, Refused> {
    Ok(serde_json::from_str(&stored.document).context("reading a release")?)
}

/// Whether a change finds the release that it is meant for.
fn meant_for(
    expected: Option<u64>,
    current: Option<&(u64, SchemeDocument)>,
) -> Result<(), Refused> {
    let current = current.map_or(0, |(number, _)| *number);
    match expected {
        Some(expected) if expected != current => Err(Refused::Moved { expected, current }),
        _ => Ok(()),
    }
}

/// A document with another component behind one rule.
fn with_rule(
    current: &SchemeDocument,
    rule: &str,
    digest: Digest,
) -> Result<SchemeDocument, Refused> {
    let no_rule = || Refused::NoRule(rule.to_owned());
    let mut document = current.clone();
    let old = document
        .digests
        .get(ComponentKind::Rule, rule)
        .ok_or_else(no_rule)?;
    let new: rialto_manifest::values::Digest = digest
        .to_string()
        .parse()
        .map_err(|e| anyhow::anyhow!("the digest {digest}: {e}"))?;
    let name = rule.parse().map_err(|_| no_rule())?;
    document.digests.insert(ComponentKind::Rule, name, new);
    // Where scheme.toml pins the rule itself, the pin moves along.
    document.text = document.text.replace(&old.to_string(), &new.to_string());
    Ok(document)
}

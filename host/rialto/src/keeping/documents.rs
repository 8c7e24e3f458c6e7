//! Archiving documents that are over, era by era: components say which are, and take them out themselves.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;

use anyhow::{Context as _, anyhow, ensure};
use parking_lot::Mutex;
use rialto_components::outside::{Call, Called};
use rialto_components::release::Release;
use rialto_components::runtime::{Argument, Runtime};
use rialto_engine::{CollectionId, Engine, Name, Timestamp, Trace};
use rialto_store_sqlite::SqliteStore;
use rialto_store_sqlite::retention::{Archive, Bundle, Taken};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// What a component exports that keeps documents for a period.
const HANDLER: &str = "rialto:host/retention-handler@0.1.0";
/// Ids that a component judges in one turn.
const JUDGED_AT_ONCE: usize = 200;
/// Bundles that a component takes out in one turn.
const TAKEN_AT_ONCE: usize = 50;
/// The part of its period after which an era whose documents are not all over is asked for again.
const AGAIN_AFTER: u64 = 16;

/// See the module's documentation.
pub struct Documents {
    engine: Engine,
    runtime: Arc<Runtime>,
    store: Arc<SqliteStore>,
    /// Periods in milliseconds, by the names that components have for their documents.
    keep: BTreeMap<String, u64>,
    folder: PathBuf,
    /// Eras that have documents which are not over, and when they are asked for again.
    later: Mutex<HashMap<(Name, String, u32), Timestamp>>,
    /// The release for which it was said which names of `keep` no component has.
    told: Mutex<Option<u64>>,
}

/// As `retention-handler` has it.
#[derive(Deserialize)]
struct Kept {
    name: String,
    collections: Vec<String>,
}

#[derive(Deserialize)]
struct Judged {
    over: Vec<Over>,
    young: u32,
    open: u32,
}

#[derive(Deserialize)]
struct Over {
    subject: String,
    at: u64,
    documents: Vec<Key>,
}

#[derive(Deserialize)]
struct Key {
    collection: String,
    id: String,
}

impl From<Over> for Bundle {
    fn from(over: Over) -> Self {
        let documents = over.documents.into_iter();
        Self {
            subject: over.subject,
            at: over.at,
            documents: documents.map(|key| (key.collection, key.id)).collect(),
        }
    }
}

/// A component's documents of one collection.
struct Place<'a> {
    release: &'a Release,
    component: &'a Name,
    kept: &'a str,
    collection: &'a str,
    id: CollectionId,
}

impl Documents {
    /// Of a host. Without a period it does nothing.
    #[must_use]
    pub fn new(
        (engine, runtime): (Engine, Arc<Runtime>),
        store: Arc<SqliteStore>,
        keep: BTreeMap<String, u64>,
        folder: PathBuf,
    ) -> Self {
        Self {
            engine,
            runtime,
            store,
            keep,
            folder,
            later: Mutex::default(),
            told: Mutex::default(),
        }
    }

    /// The shortest period, in milliseconds.
    #[must_use]
    pub fn shortest(&self) -> Option<u64> {
        self.keep.values().min().copied()
    }

    /// Archive what is over for long enough at `now`, the oldest eras first. Ends early when `is_enough`.
    ///
    /// # Errors
    /// When the store or the folder cannot be used, or a component fails: what is not in a file stays.
    pub fn look(&self, now: Timestamp, is_enough: &dyn Fn() -> bool) -> anyhow::Result<()> {
        if self.keep.is_empty() {
            return Ok(());
        }
        let Some(release) = self.runtime.current() else {
            return Ok(());
        };
        self.go_on(&release, is_enough)?;
        let mut names: HashSet<String> = HashSet::new();
        for component in keepers(&release) {
            let kept: Vec<Kept> = self.ask(&release, component, "kept", Vec::new())?;
            names.extend(kept.iter().map(|kept| kept.name.clone()));
            for kept in &kept {
                self.kept(&release, component, kept, now, is_enough)?;
            }
        }
        self.tell_unknown(&release, &names);
        Ok(())
    }

    /// Say once a release which names of `keep` mean nothing.
    fn tell_unknown(&self, release: &Release, names: &HashSet<String>) {
        if self.told.lock().replace(release.number) == Some(release.number) {
            return;
        }
        for name in self.keep.keys().filter(|name| !names.contains(*name)) {
            let mut there: Vec<&str> = names.iter().map(String::as_str).collect();
            there.sort_unstable();
            tracing::error!(
                "no component of the release keeps `{name}`, which `keep` in rialto.toml names: there are history, receipts, {}",
                there.join(", ")
            );
        }
    }

    /// Have components take out what archives have that were written before a crash or a failure.
    fn go_on(&self, release: &Release, is_enough: &dyn Fn() -> bool) -> anyhow::Result<()> {
        for (archive, head, taken) in self.store.documents_to_take_out(&self.folder)? {
            let (Some(component), Some(kept)) = (&head.component, &head.kept) else {
                anyhow::bail!("{} does not say whose documents it has", archive.file);
            };
            let component: Name = component.as_str().into();
            ensure!(
                keepers(release).any(|keeper| *keeper == component),
                "{} has documents of `{component}`, and no component of this name in release {} takes them out",
                archive.file,
                release.number
            );
            self.take_out(release, &component, kept, &archive, &taken, is_enough)?;
        }
        Ok(())
    }

    fn kept(
        &self,
        release: &Release,
        component: &Name,
        kept: &Kept,
        now: Timestamp,
        is_enough: &dyn Fn() -> bool,
    ) -> anyhow::Result<()> {
        let Some(period) = self.keep.get(&kept.name) else {
            return Ok(());
        };
        let collections = self.store.collections_of(component)?;
        for collection in &kept.collections {
            // One that was never written to has nothing.
            let Some(id) = collections.get(collection) else {
                continue;
            };
            let place = Place {
                release,
                component,
                kept: &kept.name,
                collection,
                id: *id,
            };
            self.collection(&place, *period, now, is_enough)?;
        }
        Ok(())
    }

    /// Ask for each era, until documents are too young.
    fn collection(
        &self,
        place: &Place<'_>,
        period: u64,
        now: Timestamp,
        is_enough: &dyn Fn() -> bool,
    ) -> anyhow::Result<()> {
        let asked = self.store.eras_asked(place.component, place.collection)?;
        let before = now.0.saturating_sub(period);
        for era in (0..self.store.open_era()?).filter(|era| !asked.contains(era)) {
            let key = (place.component.clone(), place.collection.to_owned(), era);
            if self
                .later
                .lock()
                .get(&key)
                .is_some_and(|later| now < *later)
            {
                continue;
            }
            let ids = self.store.ids_in_era(place.id, era)?;
            let judged = self.judge(place, &ids, before, is_enough)?;
            if is_enough() {
                return Ok(());
            }
            if !judged.over.is_empty() {
                let bundles: Vec<Bundle> = judged.over.into_iter().map(Bundle::from).collect();
                let of = (&**place.component, place.kept, era);
                let archived = self
                    .store
                    .archive_documents(of, &bundles, &self.folder, now)?;
                if let Some((archive, taken)) = archived {
                    let (release, component) = (place.release, place.component);
                    self.take_out(release, component, place.kept, &archive, &taken, is_enough)?;
                }
            } else if (judged.young, judged.open) == (0, 0) {
                self.store
                    .note_asked(place.component, place.collection, era)?;
            }
            if judged.young > 0 {
                return Ok(());
            }
            if judged.open > 0 {
                let later = Timestamp(now.0.saturating_add(period / AGAIN_AFTER));
                self.later.lock().insert(key, later);
            }
        }
        Ok(())
    }

    fn judge(
        &self,
        place: &Place<'_>,
        ids: &[String],
        before: u64,
        is_enough: &dyn Fn() -> bool,
    ) -> anyhow::Result<Judged> {
        let mut all = Judged {
            over: Vec::new(),
            young: 0,
            open: 0,
        };
        for ids in ids.chunks(JUDGED_AT_ONCE) {
            if is_enough() {
                break;
            }
            let arguments = vec![
                json!(place.kept),
                json!(place.collection),
                json!(ids),
                json!(before),
            ];
            let some: Judged = self.ask(place.release, place.component, "judge", arguments)?;
            all.over.extend(some.over);
            all.young += some.young;
            all.open += some.open;
        }
        Ok(all)
    }

    /// Have a component take out what an archive has.
    fn take_out(
        &self,
        release: &Release,
        component: &Name,
        kept: &str,
        archive: &Archive,
        taken: &[Taken],
        is_enough: &dyn Fn() -> bool,
    ) -> anyhow::Result<()> {
        let file = json!({ "file": archive.file, "sha256": archive.sha256 });
        for some in taken.chunks(TAKEN_AT_ONCE) {
            if is_enough() {
                return Ok(());
            }
            let bundles: Vec<Value> = some.iter().map(bundle).collect();
            let arguments = vec![json!(kept), file.clone(), json!(bundles)];
            self.ask::<Value>(release, component, "archived", arguments)
                .with_context(|| format!("taking out what {} has", archive.file))?;
        }
        Ok(self.store.documents_taken_out(archive)?)
    }

    /// Call a function of a component's handler, in a turn, and wait for it.
    fn ask<T: DeserializeOwned>(
        &self,
        release: &Release,
        component: &Name,
        function: &str,
        arguments: Vec<Value>,
    ) -> anyhow::Result<T> {
        let (sender, answered) = mpsc::sync_channel(1);
        let call = Call {
            interface: HANDLER.into(),
            function: function.into(),
            arguments,
            release: release.number,
        };
        let submitted = self.engine.submit(
            component.clone(),
            function.into(),
            Arc::new(Argument::Call(call)),
            Trace::default(),
            Box::new(move |outcome| {
                let _ = sender.send(outcome);
            }),
        );
        submitted.map_err(|_| anyhow!("the host has more work than it can take"))?;
        let outcome = answered.recv().context("the host is shutting down")?;
        let reply = outcome.with_context(|| format!("asking `{component}` for `{function}`"))?;
        match reply.downcast::<Called>().map(|called| *called) {
            Ok(Called::Gave(value)) => serde_json::from_value(value)
                .with_context(|| format!("reading what `{component}` answers to `{function}`")),
            Ok(Called::Gone) => Err(anyhow!("another release has become current meanwhile")),
            Err(_) => Err(anyhow!("`{component}` gave no answer to `{function}`")),
        }
    }
}

/// The components that keep documents for a period.
fn keepers(release: &Release) -> impl Iterator<Item = &Name> {
    let members = release.members.iter();
    let members = members.filter(|member| member.export(HANDLER, "kept").is_some());
    members.map(|member| &member.identity.name)
}

fn bundle(taken: &Taken) -> Value {
    let documents = taken.documents.iter();
    let documents: Vec<Value> = documents
        .map(|(collection, id, sha256)| {
            json!({ "collection": collection, "id": id, "sha256": sha256 })
        })
        .collect();
    json!({ "subject": taken.subject, "documents": documents })
}

//! Archives finished documents, segment by segment. Components say which documents are finished, and remove them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;

use anyhow::{Context as _, anyhow, ensure};
use parking_lot::Mutex;
use rialto_components::external_calls::{Call, CallOutcome};
use rialto_components::release::Release;
use rialto_components::runtime::{Argument, Runtime};
use rialto_engine::{CollectionId, Engine, Name, Timestamp, Trace};
use rialto_store_sqlite::SqliteStore;
use rialto_store_sqlite::retention::{Archive, ArchivedBundle, Bundle, BundleKey, DocumentCipher};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The interface of components whose documents can be archived.
const HANDLER: &str = "rialto:host/retention-handler@0.1.0";
/// How many ids a component judges in one turn.
const JUDGED_AT_ONCE: usize = 200;
/// How many bundles a component removes in one turn.
const TAKEN_AT_ONCE: usize = 50;
/// A segment with unfinished documents is asked for again after this fraction of its period.
const AGAIN_AFTER: u64 = 16;

/// Archives the documents of a host.
pub struct Documents {
    engine: Engine,
    runtime: Arc<Runtime>,
    store: Arc<SqliteStore>,
    /// Periods in milliseconds, by the names that components have for their documents.
    keep: BTreeMap<String, u64>,
    folder: PathBuf,
    cipher: Arc<dyn DocumentCipher>,
    /// Segments with unfinished documents, and when they are asked for again.
    later: Mutex<HashMap<(Name, String, u32), Later>>,
    /// The release for which unknown names of `keep` were logged.
    told: Mutex<Option<u64>>,
    /// Archives that were logged as waiting for another release, with the current release.
    waiting: Mutex<HashSet<(u64, String)>>,
}

/// When a segment is asked for again.
#[derive(Clone, Copy)]
struct Later {
    at: Timestamp,
    /// Whether it has documents that are too young. Then the segments after it have too.
    is_young: bool,
}

/// The type of `retention-handler`.
#[derive(Deserialize)]
struct RetentionType {
    name: String,
    collections: Vec<String>,
}

#[derive(Deserialize)]
struct FinishedReply {
    over: Vec<FinishedSubject>,
    young: u32,
    open: u32,
}

#[derive(Deserialize)]
struct FinishedSubject {
    subject: String,
    at: u64,
    documents: Vec<Key>,
    people: Vec<String>,
}

#[derive(Deserialize)]
struct Key {
    collection: String,
    id: String,
    sha256: Option<String>,
}

impl From<Key> for BundleKey {
    fn from(key: Key) -> Self {
        Self {
            collection: key.collection,
            id: key.id,
            sha256: key.sha256,
        }
    }
}

impl From<FinishedSubject> for Bundle {
    fn from(over: FinishedSubject) -> Self {
        let documents = over.documents.into_iter();
        Self {
            subject: over.subject,
            at: over.at,
            documents: documents.map(BundleKey::from).collect(),
            people: over.people,
        }
    }
}

/// A component's documents of one collection.
struct KeptCollection<'a> {
    release: &'a Release,
    component: &'a Name,
    kept: &'a str,
    collection: &'a str,
    id: CollectionId,
}

impl Documents {
    /// An archiver of documents. Without a period it does nothing.
    #[must_use]
    pub fn new(
        (engine, runtime): (Engine, Arc<Runtime>),
        store: Arc<SqliteStore>,
        keep: BTreeMap<String, u64>,
        (folder, cipher): (PathBuf, Arc<dyn DocumentCipher>),
    ) -> Self {
        Self {
            engine,
            runtime,
            store,
            keep,
            folder,
            cipher,
            later: Mutex::default(),
            told: Mutex::default(),
            waiting: Mutex::default(),
        }
    }

    /// The shortest period, in milliseconds.
    #[must_use]
    pub fn shortest(&self) -> Option<u64> {
        self.keep.values().min().copied()
    }

    /// Archive documents that were finished long enough before `now`, the oldest segments first. Stops early when
    /// `is_enough`.
    ///
    /// # Errors
    /// When the store or the folder cannot be used, or a component fails. Documents that are not in a file stay.
    pub fn look(&self, now: Timestamp, is_enough: &dyn Fn() -> bool) -> anyhow::Result<()> {
        if self.keep.is_empty() {
            return Ok(());
        }
        let Some(release) = self.runtime.current() else {
            return Ok(());
        };
        // A failure of one component does not stop the others.
        let mut failed = None;
        for archive in self.store.documents_to_take_out()? {
            let gone_on = self.go_on(&release, &archive, is_enough);
            keep_first(&mut failed, gone_on);
        }
        let mut names: HashSet<String> = HashSet::new();
        for component in keepers(&release) {
            let kept = self.ask::<Vec<RetentionType>>(&release, component, "kept", Vec::new());
            let kept = kept.map(|all| {
                names.extend(all.iter().map(|kept| kept.name.clone()));
                for kept in &all {
                    let done = self.kept(&release, component, kept, now, is_enough);
                    keep_first(&mut failed, done);
                }
            });
            keep_first(&mut failed, kept);
        }
        self.tell_unknown(&release, &names);
        failed.map_or(Ok(()), Err)
    }

    /// Log the unknown names of `keep`, once for each release.
    fn tell_unknown(&self, release: &Release, names: &HashSet<String>) {
        if self.told.lock().replace(release.number) == Some(release.number) {
            return;
        }
        for name in self.keep.keys().filter(|name| !names.contains(*name)) {
            let mut there: Vec<&str> = names.iter().map(String::as_str).collect();
            there.sort_unstable();
            tracing::error!(
                "`keep` in rialto.toml names `{name}`, which no component of the release archives; use one of: history, receipts, {}",
                there.join(", ")
            );
        }
    }

    /// Let a component remove the documents of an archive that was written before a crash or a failure. An archive
    /// of a collection that this release does not archive waits until a release is current that does: only that
    /// one knows what has to stay in the documents' place.
    fn go_on(
        &self,
        release: &Release,
        archive: &Archive,
        is_enough: &dyn Fn() -> bool,
    ) -> anyhow::Result<()> {
        let (head, taken) = self
            .store
            .archived_documents((&self.folder, &*self.cipher), archive)?;
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
        let now = self.ask::<Vec<RetentionType>>(release, &component, "kept", Vec::new())?;
        if !takes_out(&now, kept, &taken) {
            self.tell_waiting(release, &component, &archive.file);
            return Ok(());
        }
        self.take_out(release, &component, kept, archive, &taken, is_enough)
    }

    /// Say once a release that an archive waits for another one.
    fn tell_waiting(&self, release: &Release, component: &Name, file: &str) {
        if self
            .waiting
            .lock()
            .insert((release.number, file.to_owned()))
        {
            tracing::warn!(
                archive = file,
                "the archive has documents of `{component}` that release {} does not archive; those that are still in the \
                 store stay there until a release that archives them is current",
                release.number
            );
        }
    }

    fn kept(
        &self,
        release: &Release,
        component: &Name,
        kept: &RetentionType,
        now: Timestamp,
        is_enough: &dyn Fn() -> bool,
    ) -> anyhow::Result<()> {
        let Some(period) = self.keep.get(&kept.name) else {
            return Ok(());
        };
        let collections = self.store.collections_of(component)?;
        for collection in &kept.collections {
            // A collection that was never written to is empty.
            let Some(id) = collections.get(collection) else {
                continue;
            };
            let target = KeptCollection {
                release,
                component,
                kept: &kept.name,
                collection,
                id: *id,
            };
            self.collection(&target, *period, now, is_enough)?;
        }
        Ok(())
    }

    /// Ask about each segment, until documents are too young.
    fn collection(
        &self,
        target: &KeptCollection<'_>,
        period: u64,
        now: Timestamp,
        is_enough: &dyn Fn() -> bool,
    ) -> anyhow::Result<()> {
        // The key has the name, because another name of the component may have another period.
        let of = format!("{}/{}", target.kept, target.collection);
        let asked = self.store.segments_asked(target.component, &of)?;
        let before = now.0.saturating_sub(period);
        let again = Timestamp(now.0.saturating_add(period / AGAIN_AFTER));
        for segment in (0..self.store.full_segments()?).filter(|segment| !asked.contains(segment)) {
            let key = (target.component.clone(), of.clone(), segment);
            let later = self.later.lock().get(&key).copied();
            match later.filter(|later| now < later.at) {
                Some(Later { is_young: true, .. }) => return Ok(()),
                Some(_) => continue,
                None => {}
            }
            let ids = self.store.ids_in_segment(target.id, segment)?;
            let judged = self.judge(target, &ids, before, is_enough)?;
            if is_enough() {
                return Ok(());
            }
            let (is_young, is_open) = (judged.young > 0, judged.open > 0);
            let is_over = !judged.over.is_empty();
            // A segment whose documents finish one by one makes few files, not one for each pass.
            let is_too_soon = is_young && later.is_none();
            if !is_over && !is_young && !is_open {
                self.store.note_asked(target.component, &of, segment)?;
                self.later.lock().remove(&key);
            } else if is_over && !is_too_soon {
                self.archive(target, segment, judged.over, now, is_enough)?;
            }
            // Finished documents that could not be removed must not make a file at each pass either.
            if is_young || is_open || is_over {
                let later = Later {
                    at: again,
                    is_young,
                };
                self.later.lock().insert(key, later);
            }
            if is_young {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Write the finished documents of a segment to a file, and let the component remove them.
    fn archive(
        &self,
        target: &KeptCollection<'_>,
        segment: u32,
        over: Vec<FinishedSubject>,
        now: Timestamp,
        is_enough: &dyn Fn() -> bool,
    ) -> anyhow::Result<()> {
        let bundles: Vec<Bundle> = over.into_iter().map(Bundle::from).collect();
        let of = (&**target.component, target.kept, segment);
        let place = (&*self.folder, &*self.cipher);
        let archived = self.store.archive_documents(of, &bundles, place, now)?;
        let Some((archive, taken)) = archived else {
            return Ok(());
        };
        let (release, component) = (target.release, target.component);
        self.take_out(release, component, target.kept, &archive, &taken, is_enough)
    }

    fn judge(
        &self,
        target: &KeptCollection<'_>,
        ids: &[String],
        before: u64,
        is_enough: &dyn Fn() -> bool,
    ) -> anyhow::Result<FinishedReply> {
        let mut all = FinishedReply {
            over: Vec::new(),
            young: 0,
            open: 0,
        };
        for ids in ids.chunks(JUDGED_AT_ONCE) {
            if is_enough() {
                break;
            }
            let arguments = vec![
                json!(target.kept),
                json!(target.collection),
                json!(ids),
                json!(before),
            ];
            let some: FinishedReply =
                self.ask(target.release, target.component, "judge", arguments)?;
            all.over.extend(some.over);
            all.young += some.young;
            all.open += some.open;
        }
        Ok(all)
    }

    /// Let a component remove the documents of an archive.
    fn take_out(
        &self,
        release: &Release,
        component: &Name,
        kept: &str,
        archive: &Archive,
        taken: &[ArchivedBundle],
        is_enough: &dyn Fn() -> bool,
    ) -> anyhow::Result<()> {
        let file = json!({ "file": archive.file, "sha256": archive.sha256 });
        for some in taken.chunks(TAKEN_AT_ONCE) {
            if is_enough() {
                return Ok(());
            }
            let tell = |bundles: &[ArchivedBundle]| {
                let bundles: Vec<Value> = bundles.iter().map(bundle).collect();
                let arguments = vec![json!(kept), file.clone(), json!(bundles)];
                self.ask::<Value>(release, component, "archived", arguments)
            };
            if tell(some).is_ok() || is_enough() {
                continue;
            }
            // Together they fail, so each is tried alone. One that fails alone stays, and is archived again.
            for one in some {
                if let Err(error) = tell(std::slice::from_ref(one)) {
                    let (archive, subject) = (&archive.file, &one.subject);
                    tracing::error!(
                        archive,
                        subject,
                        "the archived documents of a subject could not be removed from the store: {error:#}"
                    );
                }
            }
        }
        if is_enough() {
            return Ok(());
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
            client: None,
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
        match reply.downcast::<CallOutcome>().map(|called| *called) {
            Ok(CallOutcome::Returned(value)) => serde_json::from_value(value)
                .with_context(|| format!("reading what `{component}` answers to `{function}`")),
            Ok(CallOutcome::ReleaseChanged) => {
                Err(anyhow!("another release has become current meanwhile"))
            }
            Err(_) => Err(anyhow!("`{component}` gave no answer to `{function}`")),
        }
    }
}

fn keep_first(failed: &mut Option<anyhow::Error>, done: anyhow::Result<()>) {
    if let Err(error) = done {
        failed.get_or_insert(error);
    }
}

/// Whether a component knows the contents of an archive: each bundle has a document of a collection that the
/// component archives now.
fn takes_out(now: &[RetentionType], kept: &str, taken: &[ArchivedBundle]) -> bool {
    let collections: HashSet<&str> = now
        .iter()
        .filter(|now| now.name == kept)
        .flat_map(|now| now.collections.iter().map(String::as_str))
        .collect();
    taken.iter().all(|bundle| {
        let mut documents = bundle.documents.iter();
        documents.any(|(collection, ..)| collections.contains(collection.as_str()))
    })
}

/// The components whose documents can be archived.
fn keepers(release: &Release) -> impl Iterator<Item = &Name> {
    let members = release.members.iter();
    let members = members.filter(|member| member.export(HANDLER, "kept").is_some());
    members.map(|member| &member.identity.name)
}

fn bundle(taken: &ArchivedBundle) -> Value {
    let documents = taken.documents.iter();
    let documents: Vec<Value> = documents
        .map(|(collection, id, sha256)| {
            json!({ "collection": collection, "id": id, "sha256": sha256 })
        })
        .collect();
    json!({ "subject": taken.subject, "documents": documents })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(name: &str, collections: &[&str]) -> RetentionType {
        RetentionType {
            name: name.to_owned(),
            collections: collections.iter().map(|of| (*of).to_owned()).collect(),
        }
    }

    fn bundle(collections: &[&str]) -> ArchivedBundle {
        let document = |of: &&str| ((*of).to_owned(), "id".to_owned(), "00".to_owned());
        ArchivedBundle {
            subject: "subject".to_owned(),
            documents: collections.iter().map(document).collect(),
        }
    }

    #[test]
    fn only_types_of_the_current_release_are_asked_for() {
        let older = [
            kept("transfers", &["transfers"]),
            kept("others", &["endings"]),
        ];
        let newer = [kept("transfers", &["transfers", "endings"])];
        let transfers = [bundle(&["transfers"]), bundle(&["entries", "transfers"])];
        let endings = [bundle(&["transfers"]), bundle(&["endings"])];
        assert!(takes_out(&older, "transfers", &transfers));
        assert!(takes_out(&newer, "transfers", &transfers));
        assert!(takes_out(&newer, "transfers", &endings));
        assert!(!takes_out(&older, "transfers", &endings));
        assert!(!takes_out(&[], "transfers", &transfers));
    }
}

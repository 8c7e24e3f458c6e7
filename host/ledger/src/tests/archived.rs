//! Tests of opening balances and their archives.

use std::path::{Path, PathBuf};

use rialto_engine::Timestamp;
use rialto_engine::store::{Collection, DocumentWrite, Group, Store as _};
use rialto_engine::{CollectionId, Lsn};
use rialto_store_sqlite::SqliteStore;
use rialto_store_sqlite::retention::{Bundle, BundleKey, NoCipher};

use super::{ACCOUNTS, ENTRIES, OWES, PAGES, RESERVATIONS, Scene, UNSETTLED, add, transfer};
use crate::Ledger;
use crate::check::{Check, Report};
use crate::source::KEEPER;

const COLLECTIONS: [&str; 5] = [ACCOUNTS, ENTRIES, PAGES, RESERVATIONS, UNSETTLED];

/// A ledger in a store, of which transfers go to archives.
struct Kept {
    scene: Scene,
    folder: tempfile::TempDir,
    lsn: u64,
}

impl Kept {
    fn busy() -> Self {
        let mut kept = Self {
            scene: Scene::busy(),
            folder: rialto_files::temporary_folder().unwrap(),
            lsn: 0,
        };
        let none = Scene {
            documents: std::collections::BTreeMap::new(),
            keeps_history: true,
            at: 0,
        };
        kept.write(&none);
        kept
    }

    fn archives(&self) -> PathBuf {
        self.folder.path().join("archives")
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn store(&self) -> SqliteStore {
        let store = SqliteStore::open(&self.state()).unwrap();
        store.recover().unwrap();
        store
    }

    /// Write what has changed since then.
    fn write(&mut self, before: &Scene) {
        self.lsn += 1;
        let mut group = Group {
            lsn: Lsn(self.lsn),
            next_id: 2,
            ..Group::default()
        };
        let numbered = (1_u32..).zip(COLLECTIONS);
        if self.lsn == 1 {
            group.collections = numbered
                .clone()
                .map(|(n, name)| Collection {
                    id: CollectionId(n),
                    component: KEEPER.into(),
                    name: name.into(),
                })
                .collect();
        }
        let number = |of: &str| {
            let mut found = numbered.clone().filter(|(_, name)| *name == of);
            CollectionId(found.next().unwrap().0)
        };
        let now = &self.scene.documents;
        let gone = before
            .documents
            .keys()
            .filter(|key| !now.contains_key(*key));
        let changed = now
            .iter()
            .filter(|(key, body)| before.documents.get(*key) != Some(*body));
        let changed = changed.map(|(key, body)| (key, Some(body.to_string().into())));
        for ((collection, id), body) in gone.map(|key| (key, None)).chain(changed) {
            group.documents.push(DocumentWrite {
                collection: number(collection),
                id: id.as_str().into(),
                version: self.lsn,
                body,
            });
        }
        self.store().write(&group).unwrap();
    }

    /// Write transfers to an archive, and leave them in the ledger too.
    fn copy(&self, ids: &[String]) -> String {
        let key = |collection: &str, id: &str| BundleKey {
            collection: collection.to_owned(),
            id: id.to_owned(),
            sha256: None,
        };
        let bundle = |id: &String| {
            let entries = self.scene.documents.keys();
            let entries = entries.filter(|(of, entry)| {
                *of == ENTRIES
                    && entry
                        .strip_prefix(id.as_str())
                        .is_some_and(|s| s.starts_with(':'))
            });
            let entries = entries.map(|(of, entry)| key(of, entry));
            Bundle {
                subject: format!("transfer:{id}"),
                at: 7,
                documents: [key(RESERVATIONS, id)].into_iter().chain(entries).collect(),
                people: Vec::new(),
            }
        };
        let bundles: Vec<Bundle> = ids.iter().map(bundle).collect();
        let of = (KEEPER, "transfers", 0);
        let (store, folder) = (self.store(), self.archives());
        let written = store.archive_documents(of, &bundles, (&folder, &NoCipher), Timestamp(9));
        let (archive, taken) = written.unwrap().unwrap();
        assert_eq!(taken.len(), ids.len());
        store.documents_taken_out(&archive).unwrap();
        archive.file
    }

    /// Take transfers out to an archive. Returns its file.
    fn archive(&mut self, ids: &[String]) -> String {
        let file = self.copy(ids);
        self.change(|scene| scene.archive(ids.iter().cloned()));
        file
    }

    fn change(&mut self, change: impl FnOnce(&mut Scene)) {
        let before = Scene {
            documents: self.scene.documents.clone(),
            ..self.scene
        };
        change(&mut self.scene);
        self.write(&before);
    }

    fn check(&self) -> Report {
        let mut ledger = Ledger::open(&self.state()).unwrap();
        ledger.check_with_archives(None, &self.archives()).unwrap()
    }
}

fn transfers(numbers: std::ops::Range<i128>) -> Vec<String> {
    numbers.map(transfer).collect()
}

fn remove(folder: &Path, file: &str) {
    std::fs::remove_file(folder.join(file)).unwrap();
}

#[test]
fn opening_balances_are_what_archives_sum_to() {
    let mut kept = Kept::busy();
    kept.archive(&transfers(0..20));
    kept.archive(&transfers(20..40));
    let report = kept.check();
    assert_eq!(report.total(), 0, "{:#?}", report.breaches);
    let archives = report.archives.unwrap();
    assert_eq!((archives.read, archives.missing.len()), (2, 0));
}

#[test]
fn two_opposite_mistakes_in_opening_balances_are_found() {
    let mut kept = Kept::busy();
    kept.archive(&transfers(0..40));
    kept.change(|scene| {
        for (sum, balance, before) in [
            ("debits", "debitBalance", "debitBefore"),
            ("credits", "creditBalance", "creditBefore"),
        ] {
            add(&mut scene.opening(OWES)[sum], 5);
            add(&mut scene.account(OWES)[balance], 5);
            add(&mut scene.account(OWES)["tail"][before], 5);
        }
    });
    let mut ledger = Ledger::open(&kept.state()).unwrap();
    let alone = ledger.check(None).unwrap();
    assert_eq!(alone.total(), 0, "it is not seen: {:#?}", alone.breaches);
    assert_eq!(alone.archives, None);
    let report = kept.check();
    assert!(!report.holds(Check::Archives));
    assert_eq!(report.total(), 1, "{:#?}", report.breaches);
    assert!(
        report.breaches[0].text.contains(OWES),
        "{:#?}",
        report.breaches
    );
}

#[test]
fn what_was_copied_and_not_taken_out_counts_once() {
    let mut kept = Kept::busy();
    kept.copy(&transfers(0..10));
    kept.archive(&transfers(5..15));
    let report = kept.check();
    assert_eq!(report.total(), 0, "{:#?}", report.breaches);
    assert_eq!(report.archives.unwrap().read, 2);
}

#[test]
fn missing_archives_are_named_and_damaged_ones_are_wrong() {
    let mut kept = Kept::busy();
    let first = kept.archive(&transfers(0..20));
    let second = kept.archive(&transfers(20..40));
    remove(&kept.archives(), &first);
    let report = kept.check();
    assert_eq!(report.total(), 0, "{:#?}", report.breaches);
    let archives = report.archives.unwrap();
    assert_eq!((archives.read, archives.missing), (1, vec![first]));
    // What is there is compared as far as it goes.
    kept.change(|scene| {
        scene.account(OWES)["archived"] = serde_json::Value::Null;
    });
    assert!(!kept.check().holds(Check::Archives));
    std::fs::write(kept.archives().join(&second), "nothing").unwrap();
    let report = kept.check();
    assert!(!report.holds(Check::Archives));
    assert_eq!(report.archives.unwrap().damaged, [second]);
}

//! Archives of documents: the part of the store.
//!
//! Only its component knows which documents are finished, and only it may remove them.
//! 1. The host asks the component, segment by segment, which documents are finished.
//! 2. The store writes these to a file, and adds the file to the table `archives`.
//! 3. The component removes them in turns of its own.
//!
//! After a crash the file says which documents must still be removed. Removing a document twice does nothing.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use rialto_archive::{Head, verify};
use rialto_engine::store::{Store as _, StoreError};
use rialto_engine::{CollectionId, Timestamp};
use rialto_store::ArchiveStore as _;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use super::look::open;
use super::{Archive, Archived, Class, RetentionError, take};
use crate::slices::Bound;
use crate::{SqliteStore, failed, row_ids, unreadable};

/// Finished documents that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// Their subject, by which they are found.
    pub subject: String,
    /// When they were finished, in milliseconds since 1970.
    pub at: u64,
    /// The documents.
    pub documents: Vec<BundleKey>,
    /// The subjects of parties that they name.
    pub people: Vec<String>,
}

/// A document of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleKey {
    /// Its collection.
    pub collection: String,
    /// Its id.
    pub id: String,
    /// The SHA-256 that its body must have, in hexadecimal digits, if it is known.
    pub sha256: Option<String>,
}

/// How an archive has a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sealing {
    /// As it is: it names no people whose data is encrypted.
    Plain,
    /// Encrypted, in Base64.
    Encrypted(String),
    /// It must be encrypted, and cannot be at this moment.
    NotNow,
}

/// Encrypts documents in archives for the people whom they name.
pub trait DocumentCipher: Send + Sync {
    /// Encrypt a document that names these parties.
    fn seal(&self, people: &[String], document: &str) -> Sealing;
    /// Decrypt; none if that is not possible (any more).
    fn open(&self, sealed: &str) -> Option<String>;
}

/// Encrypts nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoCipher;

impl DocumentCipher for NoCipher {
    fn seal(&self, _: &[String], _: &str) -> Sealing {
        Sealing::Plain
    }

    fn open(&self, _: &str) -> Option<String> {
        None
    }
}

/// A bundle that is in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedBundle {
    /// The subject of the documents.
    pub subject: String,
    /// Their collections, ids, and the SHA-256 of their bodies in hexadecimal digits.
    pub documents: Vec<ArchivedKey>,
}

/// A document as an archive has it.
#[derive(Debug, Serialize, Deserialize)]
pub struct ArchivedDocument {
    /// What it is about.
    pub about: [String; 1],
    /// When it was finished, in milliseconds since 1970.
    pub at: u64,
    /// Documents with the same number in an archive are one bundle.
    pub bundle: u64,
    /// Its collection.
    pub collection: String,
    /// Its id.
    pub id: String,
    /// Whether it is encrypted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sealed: bool,
    /// Its body: JSON; of an encrypted one a string, in Base64.
    pub document: Box<RawValue>,
}

impl ArchivedDocument {
    /// Its body, decrypted; none if that is not possible (any more).
    #[must_use]
    pub fn body(&self, cipher: &dyn DocumentCipher) -> Option<String> {
        if !self.sealed {
            return Some(self.document.get().to_owned());
        }
        let sealed: String = serde_json::from_str(self.document.get()).ok()?;
        cipher.open(&sealed)
    }

    fn key(&self, cipher: &dyn DocumentCipher) -> Option<ArchivedKey> {
        let body = self.body(cipher)?;
        Some((self.collection.clone(), self.id.clone(), digest(&body)))
    }
}

/// The collection, the id, and the SHA-256 of the body in hexadecimal digits.
type ArchivedKey = (String, String, String);

fn digest(body: &str) -> String {
    let digest = Sha256::digest(body.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl SqliteStore {
    /// How many segments are full and have all their documents in the tables. A flush gives out row ids before it
    /// writes.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn full_segments(&self) -> Result<u32, StoreError> {
        let _still = self.inner.flushing.lock();
        self.inner.row_ids.kept_segments()
    }

    /// The ids of a collection's documents in a full segment, in the order of their first writes.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn ids_in_segment(
        &self,
        collection: CollectionId,
        segment: u32,
    ) -> Result<Vec<String>, StoreError> {
        let runs = row_ids::runs(segment);
        let ids = self.inner.runtime.block_on(
            sqlx::query_scalar(
                "SELECT id FROM documents INDEXED BY documents_by_run
                 WHERE place >> 13 BETWEEN ? AND ? AND collection = ? ORDER BY place",
            )
            .bind(runs.start)
            .bind(runs.end - 1)
            .bind(collection.0)
            .fetch_all(&self.inner.readers),
        );
        ids.map_err(failed)
    }

    /// The collections of a component that were ever written to, by their names.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn collections_of(
        &self,
        component: &str,
    ) -> Result<HashMap<String, CollectionId>, StoreError> {
        let rows: Result<Vec<(String, u32)>, _> = self.inner.runtime.block_on(
            sqlx::query_as("SELECT name, id FROM collections WHERE component = ?")
                .bind(component)
                .fetch_all(&self.inner.readers),
        );
        let rows = rows.map_err(failed)?;
        let collections = rows.into_iter().map(|(name, id)| (name, CollectionId(id)));
        Ok(collections.collect())
    }

    /// The segments of a collection for which the component need not be asked again.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn segments_asked(
        &self,
        component: &str,
        collection: &str,
    ) -> Result<BTreeSet<u32>, StoreError> {
        let segments: Result<Vec<u32>, _> = self.inner.runtime.block_on(
            sqlx::query_scalar("SELECT era FROM eras_asked WHERE component = ? AND collection = ?")
                .bind(component)
                .bind(collection)
                .fetch_all(&self.inner.readers),
        );
        Ok(segments.map_err(failed)?.into_iter().collect())
    }

    /// Note that the component need not be asked again for a segment of a collection.
    ///
    /// # Errors
    /// When that cannot be written.
    pub fn note_asked(
        &self,
        component: &str,
        collection: &str,
        segment: u32,
    ) -> Result<(), StoreError> {
        let mut row = Bound::default();
        row.add(component.to_owned())?;
        row.add(collection.to_owned())?;
        row.add(segment)?;
        let mut slices = self.inner.slices();
        let text = "INSERT OR IGNORE INTO eras_asked (component, collection, era) VALUES (?, ?, ?)";
        slices.statement(text, row, 1)?;
        slices.finish()
    }

    /// Write documents of a component to an archive file. Bundles with a missing or changed document, or one that cannot be
    /// encrypted now, are left out. Returns none if no bundle is left. The documents stay in the tables.
    ///
    /// # Errors
    /// When the store cannot be read or the folder cannot be used.
    pub fn archive_documents(
        &self,
        (component, kept, segment): (&str, &str, u32),
        bundles: &[Bundle],
        (folder, cipher): (&Path, &dyn DocumentCipher),
        now: Timestamp,
    ) -> Result<Option<(Archive, Vec<ArchivedBundle>)>, RetentionError> {
        let inner = &*self.inner;
        let _alone = inner.archiving.lock();
        let collections = self.collections_of(component)?;
        let head = Head {
            component: Some(component.to_owned()),
            kept: Some(kept.to_owned()),
            ..inner.head(Class::Documents, segment)?
        };
        let mut taken = Vec::new();
        let earlier = take::named_like(&self.archives()?, &head);
        let written = inner.write_file(&head, earlier, folder, |out| {
            for bundle in bundles {
                let number = taken.len() as u64;
                let Some(mut documents) = self.bodies(&collections, bundle, number)? else {
                    continue;
                };
                let keys = documents.iter().filter_map(|one| one.key(&NoCipher));
                let keys = keys.collect();
                if !seal(&mut documents, &bundle.people, cipher)? {
                    continue;
                }
                for document in &documents {
                    out.item(document, &[&bundle.subject], bundle.at)?;
                }
                taken.push(ArchivedBundle {
                    subject: bundle.subject.clone(),
                    documents: keys,
                });
            }
            Ok(!taken.is_empty())
        })?;
        let Some((file, written)) = written else {
            return Ok(None);
        };
        let archive = inner.name_archive(Class::Documents, segment, file, written, now)?;
        Ok(Some((archive, taken)))
    }

    /// The documents of a bundle, if all of them exist and none has changed.
    fn bodies(
        &self,
        collections: &HashMap<String, CollectionId>,
        bundle: &Bundle,
        number: u64,
    ) -> Result<Option<Vec<ArchivedDocument>>, StoreError> {
        let mut documents = Vec::with_capacity(bundle.documents.len());
        for key in &bundle.documents {
            let BundleKey {
                collection,
                id,
                sha256,
            } = key;
            let found = match collections.get(collection) {
                Some(collection) => self.read(*collection, id)?,
                None => None,
            };
            let Some(found) = found else {
                return Ok(None);
            };
            if sha256
                .as_ref()
                .is_some_and(|sha256| *sha256 != digest(&found.body))
            {
                return Ok(None);
            }
            if found.body.contains(['\n', '\r']) {
                // JSON with line breaks would be several lines of the archive.
                tracing::error!(
                    collection,
                    id,
                    "a document with line breaks cannot be archived; it stays in the store, with the documents of its bundle"
                );
                return Ok(None);
            }
            let document = RawValue::from_string(found.body.to_string());
            documents.push(ArchivedDocument {
                about: [bundle.subject.clone()],
                at: bundle.at,
                bundle: number,
                collection: collection.clone(),
                id: id.clone(),
                sealed: false,
                document: document.map_err(|error| unreadable("a document", error))?,
            });
        }
        Ok(Some(documents))
    }

    /// Archives of documents that may not all be removed from the tables yet.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn documents_to_take_out(&self) -> Result<Vec<Archive>, StoreError> {
        let mut archives = self.archives()?;
        archives.retain(|archive| !archive.done && archive.class == Class::Documents);
        Ok(archives)
    }

    /// The contents and the head of an archive of documents. Bundles that cannot be decrypted any more are left out.
    ///
    /// # Errors
    /// When the file is not what was written.
    pub fn archived_documents(
        &self,
        (folder, cipher): (&Path, &dyn DocumentCipher),
        archive: &Archive,
    ) -> Result<(Head, Vec<ArchivedBundle>), RetentionError> {
        let path = folder.join(&archive.file);
        let verified = match verify(&path) {
            Ok(verified) if archive.is(&verified) => verified,
            _ => {
                let sha256 = archive.sha256.clone();
                return Err(RetentionError::Lost { path, sha256 });
            }
        };
        let taken = taken(&path, cipher)?;
        Ok((verified.head, taken))
    }

    /// Note that all documents of an archive were removed from the tables.
    ///
    /// # Errors
    /// When that cannot be written.
    pub fn documents_taken_out(&self, archive: &Archive) -> Result<(), StoreError> {
        assert_eq!(archive.class, Class::Documents, "{}", archive.file);
        let mut slices = self.inner.slices();
        take::is_done(&mut slices, archive)?;
        slices.finish()
    }
}

/// The documents about a subject in these archives, the oldest archive's first, each with its component.
///
/// # Errors
/// When an archive that is there cannot be read.
pub fn documents_about(
    archives: &[Archive],
    folder: &Path,
    subject: &str,
) -> Result<Archived<(String, ArchivedDocument)>, RetentionError> {
    let mut archived = Archived::default();
    let of_class = |archive: &&Archive| archive.class == Class::Documents;
    for archive in archives.iter().filter(of_class) {
        let Some(mut reader) = open(folder, archive, &mut archived.missing)? else {
            continue;
        };
        let component = reader.head().component.clone().unwrap_or_default();
        let found: Vec<ArchivedDocument> = reader.items(subject)?;
        let found = found.into_iter().map(|one| (component.clone(), one));
        archived.found.extend(found);
    }
    Ok(archived)
}

/// The result of a visit of archives of documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchiveVisit {
    /// How many.
    pub read: u64,
    /// Files that should be in the folder of archives and are not.
    pub missing: Vec<String>,
    /// Files that are damaged. Nothing of them is visited.
    pub damaged: Vec<String>,
}

/// Visit all documents of a component that are in archives, the oldest archive first. A document may be in two
/// archives, if it was not removed from the tables at once. Each file is verified first.
///
/// # Errors
/// When an archive cannot be read any more after it was compared, and what the visitor ends with.
pub fn visit_archived_documents<E: From<RetentionError>>(
    archives: &[Archive],
    folder: &Path,
    component: &str,
    visit: &mut dyn FnMut(ArchivedDocument) -> Result<(), E>,
) -> Result<ArchiveVisit, E> {
    let mut looked = ArchiveVisit::default();
    let of_class = |archive: &&Archive| archive.class == Class::Documents;
    for archive in archives.iter().filter(of_class) {
        // A file that cannot be opened for another reason counts as damaged.
        if matches!(open(folder, archive, &mut looked.missing), Ok(None)) {
            continue;
        }
        let path = folder.join(&archive.file);
        let verified = verify(&path).ok().filter(|found| archive.is(found));
        let Some(verified) = verified else {
            looked.damaged.push(archive.file.clone());
            continue;
        };
        looked.read += 1;
        if verified.head.component.as_deref() != Some(component) {
            continue;
        }
        let mut ended = None;
        rialto_archive::lines::<RetentionError>(&path, &mut |line| {
            // Only items have a document: not the head, the index and the tail.
            if ended.is_none()
                && let Ok(item) = serde_json::from_str::<ArchivedDocument>(line)
            {
                ended = visit(item).err();
            }
            Ok(())
        })?;
        if let Some(error) = ended {
            return Err(error);
        }
    }
    Ok(looked)
}

/// Encrypt documents that name these parties. Returns whether that was possible.
fn seal(
    documents: &mut [ArchivedDocument],
    people: &[String],
    cipher: &dyn DocumentCipher,
) -> Result<bool, StoreError> {
    for document in documents {
        match cipher.seal(people, document.document.get()) {
            Sealing::Plain => {}
            Sealing::NotNow => return Ok(false),
            Sealing::Encrypted(text) => {
                let text = serde_json::value::to_raw_value(&text);
                document.document = text.map_err(|error| unreadable("a document", error))?;
                document.sealed = true;
            }
        }
    }
    Ok(true)
}

/// The bundles of an archive. The documents of a bundle are consecutive.
fn taken(path: &Path, cipher: &dyn DocumentCipher) -> Result<Vec<ArchivedBundle>, RetentionError> {
    let mut bundles: Vec<ArchivedBundle> = Vec::new();
    let mut last_number = None;
    let mut unreadable = 0;
    rialto_archive::lines::<RetentionError>(path, &mut |line| {
        // Only items have a document: not the head, the index and the tail.
        let Ok(item) = serde_json::from_str::<ArchivedDocument>(line) else {
            return Ok(());
        };
        // The documents of a bundle are encrypted for the same people.
        let Some(key) = item.key(cipher) else {
            unreadable += 1;
            return Ok(());
        };
        let [subject] = &item.about;
        let is_more_of_it = last_number.replace(item.bundle) == Some(item.bundle);
        match bundles.last_mut().filter(|_| is_more_of_it) {
            Some(last) => last.documents.push(key),
            None => bundles.push(ArchivedBundle {
                subject: subject.clone(),
                documents: vec![key],
            }),
        }
        Ok(())
    })?;
    if unreadable > 0 {
        tracing::warn!(
            path = %path.display(),
            documents = unreadable,
            "archived documents cannot be decrypted any more; those that are still in the store are archived again"
        );
    }
    Ok(bundles)
}

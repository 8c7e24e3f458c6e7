//! History and receipts from the store and its archives together, and the list of archives.

use std::collections::HashSet;

use axum::Json;
use axum::extract::State;
use rialto_engine::store::Receipt;
use rialto_store_sqlite::retention::ReadArchives as _;
use rialto_store_sqlite::retention::{Archive, RetentionError};
use serde::{Deserialize, Serialize};

use super::problem::Kind;
use super::{Host, Problem, Story, blocking};
use crate::host::Shared;
use crate::personal_data::Readable as _;

/// An archive of the store.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownArchive {
    /// The class of its items: `history`, `receipts`, `documents` or `audit`.
    pub class: String,
    /// Its segment of the store.
    #[serde(rename = "era")]
    pub segment: u32,
    /// Its file's name in the folder of archives.
    pub file: String,
    /// The SHA-256 of the file.
    pub sha256: String,
    /// The signature of the digest, if archives are signed.
    pub signature: Option<String>,
    /// How many items.
    pub items: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Bytes before compression.
    pub plain_bytes: u64,
    /// The earliest instant of an item, milliseconds since 1970.
    pub from: u64,
    /// The latest.
    pub to: u64,
    /// When it was made.
    pub archived_at: u64,
    /// Whether all its items were removed from the store.
    pub done: bool,
    /// Whether its file is in the folder of archives.
    pub is_there: bool,
}

impl ShownArchive {
    /// An archive, whose file should be in this folder.
    #[must_use]
    pub fn of(archive: &Archive, folder: &std::path::Path) -> Self {
        Self {
            class: archive.class.name().to_owned(),
            segment: archive.segment,
            file: archive.file.clone(),
            sha256: archive.sha256.clone(),
            signature: archive.signature.clone(),
            items: archive.items,
            bytes: archive.bytes,
            plain_bytes: archive.plain_bytes,
            from: archive.from.0,
            to: archive.to.0,
            archived_at: archive.archived_at.0,
            done: archive.done,
            is_there: folder.join(&archive.file).is_file(),
        }
    }
}

impl From<RetentionError> for Problem {
    fn from(error: RetentionError) -> Self {
        let detail = format!("{:#}", anyhow::Error::from(error));
        Self::new(Kind::Archive, detail)
    }
}

pub(super) async fn list(State(shared): Host) -> Result<Json<Vec<ShownArchive>>, Problem> {
    blocking(&shared.clone().reads, move || {
        let archives = shared.store.archives()?;
        let folder = &shared.archiver.folder;
        let shown = archives.iter().map(|one| ShownArchive::of(one, folder));
        Ok(Json(shown.collect()))
    })
    .await
}

/// The last turns about a subject. Reads the tables before the archives. Turns that are in both, because they are
/// being archived, are shown once.
pub(super) fn story(shared: &Shared, subject: String, most: usize) -> Result<Story, Problem> {
    let (turns, before) = shared.store.last_of_history(&subject, most)?;
    let left = most - turns.len().min(most);
    let folder = &shared.archiver.folder;
    let archived = shared.store.archived_history(folder, &subject, left)?;
    let in_tables: HashSet<_> = turns.iter().map(|record| record.turn).collect();
    let mut all = archived.found;
    all.retain(|record| !in_tables.contains(&record.turn) || !turns.contains(record));
    all.extend(turns);
    let people = &shared.people;
    Ok(Story {
        subject,
        turns: all.into_iter().map(|turn| people.readable(turn)).collect(),
        earlier: before + archived.earlier,
    })
}

/// All receipts about a subject, as the store has them.
pub(super) fn receipts(shared: &Shared, subject: &str) -> Result<Vec<Receipt>, Problem> {
    let mut found = shared.store.receipts(subject)?;
    let folder = &shared.archiver.folder;
    found.extend(shared.store.archived_receipts(folder, subject)?.found);
    found.sort_by_key(|receipt| receipt.id);
    found.dedup_by_key(|receipt| receipt.id);
    Ok(found)
}

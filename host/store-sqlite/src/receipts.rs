//! Reads all receipts of a time from a store's file and its archives, whether a host runs or not.
//!
//! A page is read in a transaction of its own, so a long reading does not make the write-ahead log of a running host
//! grow. Receipts never change, but the host may move them into archives meanwhile: each page's transaction looks for new
//! archives, and what the reading has not come to yet is read from there.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use rialto_archive::ArchiveError;
use rialto_engine::Timestamp;
use rialto_engine::store::{Receipt, StoreError};
use rialto_store::ReceiptPages;
use sqlx::{Executor as _, SqliteConnection};
use tokio::runtime::Runtime;

use crate::journal::{Purpose, Reading, Verdict};
use crate::retention::{self, Archive, Class, RetentionError, archived_receipt};
use crate::rows::signed;
use crate::snapshot::{Opened, SnapshotError, open};
use crate::{failed, receipt_pages, unreadable};

/// How many receipts a page has at most.
pub const PAGE: usize = 2_048;
/// How far a host's clock may have been wrong, in milliseconds: an hour. Receipts that a worse clock has dated may be
/// missed, unless they are less than [`NEAR_IDS`] from others with right instants.
const CLOCK_MARGIN_MS: u64 = 60 * 60 * 1_000;
/// How far ids may come in another order than instants and commits: a slow turn has taken its ids before others.
const NEAR_IDS: i64 = 65_536;
/// The pages that are looked at although all their receipts are too late: as many ids, or more.
const LATE_PAGES: usize = 32;

/// The receipts of a store from one instant to another.
pub struct ReceiptReader {
    runtime: Runtime,
    connection: SqliteConnection,
    store: PathBuf,
    archives: PathBuf,
    since: Timestamp,
    until: Timestamp,
    unread: Vec<String>,
}

impl ReceiptPages for ReceiptReader {
    fn visit_while(
        &mut self,
        visit: &mut dyn FnMut(Vec<Receipt>) -> bool,
    ) -> Result<(), StoreError> {
        enum Ended {
            Enough,
            Failed(RetentionError),
        }
        impl From<RetentionError> for Ended {
            fn from(error: RetentionError) -> Self {
                Self::Failed(error)
            }
        }
        let visited = self.visit(&mut |page| visit(page).then_some(()).ok_or(Ended::Enough));
        match visited {
            Ok(()) | Err(Ended::Enough) => Ok(()),
            Err(Ended::Failed(RetentionError::Store(error))) => Err(error),
            Err(Ended::Failed(error)) => Err(StoreError::Failed(error.to_string())),
        }
    }

    fn unread(&self) -> &[String] {
        &self.unread
    }
}

/// What one transaction has read.
struct Read {
    archives: Vec<Archive>,
    /// In the order of their ids.
    page: Vec<Receipt>,
    /// Whether the tables have no more.
    is_last: bool,
}

impl ReceiptReader {
    /// The receipts of the store in this folder, whose archives are in the other folder, with `since <= at < until`.
    ///
    /// # Errors
    /// When there is no store, or it cannot be read.
    pub fn open(
        store: &Path,
        archives: &Path,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<Self, SnapshotError> {
        let Opened {
            runtime,
            mut connection,
            journal: _,
        } = open(store)?;
        let ended = runtime.block_on(connection.execute("ROLLBACK"));
        ended.map_err(|source| SnapshotError::Sqlite {
            path: store.to_owned(),
            source,
        })?;
        Ok(Self {
            runtime,
            connection,
            store: store.to_owned(),
            archives: archives.to_owned(),
            since,
            until,
            unread: Vec::new(),
        })
    }

    /// Visit all receipts in pages, each once: those of archives first, then those of the tables and of the journal in
    /// the order of their ids.
    fn visit<E: From<RetentionError>>(
        &mut self,
        visit: &mut dyn FnMut(Vec<Receipt>) -> Result<(), E>,
    ) -> Result<(), E> {
        let store = |error| E::from(RetentionError::Store(error));
        let mut after = self.begin().map_err(store)?;
        let mut known: HashSet<String> = HashSet::new();
        // Receipts that were read from an archive while the tables had them too.
        let mut moved: HashSet<u64> = HashSet::new();
        // The ids that were read last from the tables.
        let mut recent: BTreeSet<i64> = BTreeSet::new();
        let mut late_pages = 0;
        let mut has_begun = false;
        loop {
            let read = self.read(after, &recent).map_err(store)?;
            let mut is_new = false;
            for archive in read.archives {
                if !known.insert(archive.file.clone()) {
                    continue;
                }
                is_new = true;
                // What the tables had before it was moved was read from there.
                let from = if has_begun { after } else { i64::MIN };
                let ids = (!archive.done || has_begun).then_some(&mut moved);
                self.archive(&archive, from, ids, visit)?;
            }
            if is_new {
                continue;
            }
            has_begun = true;
            let Some(last) = read.page.last() else {
                return Ok(());
            };
            after = signed(last.id).map_err(store)?.max(after);
            for one in &read.page {
                recent.insert(signed(one.id).map_err(store)?);
            }
            recent = recent.split_off(&after.saturating_sub(NEAR_IDS));
            let is_late = read
                .page
                .iter()
                .all(|one| one.at.0 >= self.until.0.saturating_add(CLOCK_MARGIN_MS));
            late_pages = if is_late { late_pages + 1 } else { 0 };
            let page: Vec<Receipt> = read
                .page
                .into_iter()
                .filter(|one| self.wants(one.at) && !moved.contains(&one.id))
                .collect();
            if !page.is_empty() {
                visit(page)?;
            }
            if read.is_last || late_pages == LATE_PAGES {
                return Ok(());
            }
        }
    }

    fn wants(&self, at: Timestamp) -> bool {
        (self.since..self.until).contains(&at)
    }

    /// The id after which the reading of tables begins: the receipts up to it are earlier than wanted. Found by halving,
    /// because ids grow with time and no index has the times.
    fn begin(&mut self) -> Result<i64, StoreError> {
        let since = signed(self.since.0.saturating_sub(CLOCK_MARGIN_MS))?;
        let connection = &mut self.connection;
        self.runtime.block_on(async {
            let ends: (Option<i64>, Option<i64>) = sqlx::query_as(
                "SELECT (SELECT min(id) FROM receipts), (SELECT max(id) FROM receipts)",
            )
            .fetch_one(&mut *connection)
            .await
            .map_err(failed)?;
            let (Some(mut low), Some(mut high)) = ends else {
                return Ok(-1);
            };
            let first = low;
            // All before `low` are too early.
            while low < high {
                let middle = low + (high - low) / 2;
                let at: Option<i64> =
                    sqlx::query_scalar("SELECT at FROM receipts WHERE id >= ? ORDER BY id LIMIT 1")
                        .bind(middle)
                        .fetch_optional(&mut *connection)
                        .await
                        .map_err(failed)?;
                if at.is_some_and(|at| at < since) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            // Some before may be later by their instants.
            Ok(low.saturating_sub(NEAR_IDS).max(first) - 1)
        })
    }

    /// A page behind an id, and the archives of that moment. When the tables end, the journal's receipts follow.
    fn read(&mut self, after: i64, recent: &BTreeSet<i64>) -> Result<Read, StoreError> {
        let connection = &mut self.connection;
        let journal =
            Reading::begin(&self.store, Purpose::Look).map_err(|e| unreadable("the journal", e))?;
        self.runtime.block_on(async {
            connection.execute("BEGIN DEFERRED").await.map_err(failed)?;
            let read = page(connection, &journal, after, recent).await;
            connection.execute("ROLLBACK").await.map_err(failed)?;
            read
        })
    }

    /// Visit the receipts of an archive with ids behind one, and add these to `ids`.
    fn archive<E: From<RetentionError>>(
        &mut self,
        archive: &Archive,
        after: i64,
        mut ids: Option<&mut HashSet<u64>>,
        visit: &mut dyn FnMut(Vec<Receipt>) -> Result<(), E>,
    ) -> Result<(), E> {
        if archive.to < self.since || archive.from >= self.until {
            return Ok(());
        }
        let path = self.archives.join(&archive.file);
        if let Some(why) = wrong(archive, &path) {
            self.unread.push(format!("{}: {why}", archive.file));
            return Ok(());
        }
        let mut page = Vec::new();
        let wanted = self.since..self.until;
        let mut line = |line: &str| -> Result<(), Visited<E>> {
            let Some(receipt) = archived_receipt(line) else {
                return Ok(());
            };
            let is_behind = i64::try_from(receipt.id).is_ok_and(|id| id > after);
            if !is_behind || !wanted.contains(&receipt.at) {
                return Ok(());
            }
            if let Some(ids) = &mut ids {
                ids.insert(receipt.id);
            }
            page.push(receipt);
            if page.len() == PAGE {
                visit(std::mem::take(&mut page)).map_err(Visited::Ended)?;
            }
            Ok(())
        };
        rialto_archive::lines(&path, &mut line).map_err(|error| match error {
            Visited::Ended(error) => error,
            Visited::Archive(error) => RetentionError::from(error).into(),
        })?;
        if page.is_empty() {
            return Ok(());
        }
        visit(page)
    }
}

/// Why a visit of an archive has ended early.
enum Visited<E> {
    Archive(ArchiveError),
    Ended(E),
}

impl<E> From<ArchiveError> for Visited<E> {
    fn from(error: ArchiveError) -> Self {
        Self::Archive(error)
    }
}

/// What is wrong with the file of an archive; none if nothing is.
fn wrong(archive: &Archive, path: &Path) -> Option<String> {
    if !path.exists() {
        return Some("it is missing in the folder of archives: put it back".to_owned());
    }
    match rialto_archive::verify(path) {
        Ok(found) if archive.is(&found) => None,
        Ok(found) => Some(format!(
            "it is not the one that was written: its SHA-256 is {}, the store has {}",
            found.written.sha256, archive.sha256
        )),
        Err(error) => Some(format!("it cannot be read: {error}")),
    }
}

/// The next receipts of the tables. At their end, those follow that have come to the tables late, and the journal's.
async fn page(
    connection: &mut SqliteConnection,
    journal: &Reading,
    after: i64,
    recent: &BTreeSet<i64>,
) -> Result<Read, StoreError> {
    let mut archives = retention::archives(connection).await?;
    archives.retain(|archive| archive.class == Class::Receipts);
    let rows = sqlx::query(
        "SELECT id, subject, at, body, page FROM receipts WHERE id > ? ORDER BY id LIMIT ?",
    )
    .bind(after)
    .bind(PAGE as i64)
    .fetch_all(&mut *connection)
    .await
    .map_err(failed)?;
    let mut page = receipt_pages::receipts(connection, &rows).await?;
    let is_last = page.len() < PAGE;
    if is_last {
        page.extend(late(connection, after, recent).await?);
        let known: HashSet<u64> = page.iter().map(|one| one.id).collect();
        let is_new = |one: &&Verdict| {
            let id = i64::try_from(one.id).unwrap_or(i64::MAX);
            let is_read = known.contains(&one.id) || recent.contains(&id);
            id > after.saturating_sub(NEAR_IDS) && !is_read
        };
        // A flush under way has put some of them into the tables already.
        for (entry, _) in journal.entries(connection).await? {
            let receipts = entry.receipts.iter().filter(is_new);
            page.extend(receipts.map(Verdict::receipt));
        }
        page.sort_by_key(|one| one.id);
    }
    Ok(Read {
        archives,
        page,
        is_last,
    })
}

/// Receipts with ids up to one that were flushed after their page was read.
async fn late(
    connection: &mut SqliteConnection,
    after: i64,
    recent: &BTreeSet<i64>,
) -> Result<Vec<Receipt>, StoreError> {
    // Before the first page there is nothing to be late for.
    let Some(first) = recent.first() else {
        return Ok(Vec::new());
    };
    let ids: Vec<i64> = sqlx::query_scalar("SELECT id FROM receipts WHERE id > ? AND id <= ?")
        .bind(*first)
        .bind(after)
        .fetch_all(&mut *connection)
        .await
        .map_err(failed)?;
    let mut rows = Vec::new();
    for id in ids.iter().filter(|id| !recent.contains(id)) {
        let row = sqlx::query("SELECT id, subject, at, body, page FROM receipts WHERE id = ?")
            .bind(id)
            .fetch_one(&mut *connection)
            .await
            .map_err(failed)?;
        rows.push(row);
    }
    receipt_pages::receipts(connection, &rows).await
}

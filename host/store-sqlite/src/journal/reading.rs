//! Reads the journal: at a start, and in another process beside a host that writes.
//!
//! A reader takes the lock first, then begins its transaction, and reads the files last. So the files have all that the
//! tables of its transaction lack, and none of it is overwritten meanwhile. What was read is on the disk before anybody
//! learns of it: its writer may have ended before its sync.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rialto_engine::store::StoreError;
use sqlx::{Row as _, SqliteConnection};

use super::files::existing;
use super::stream::{Encoded, Unpacker};
use super::{Entry, FOLDER, HEAD, record};
use crate::rows::{signed, unsigned};
use crate::slices::counter;
use crate::{failed, unreadable};

/// How often files are read that do not fit together, because the host has written between two reads.
const TRIES: u32 = 20;

/// Why the journal is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To look, beside whoever writes.
    Look,
    /// To go on where another writer has ended.
    TakeOver,
}

/// Somebody who reads the journal of a store. While it lives, no file is used again.
pub(crate) struct Reading {
    purpose: Purpose,
    folder: PathBuf,
    /// It has the lock; none if the store has no files.
    _head: Option<File>,
}

impl Reading {
    /// Begin, before the transaction begins.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn begin(store: &Path, purpose: Purpose) -> io::Result<Self> {
        let folder = store.join(FOLDER);
        let head = match File::open(folder.join(HEAD)) {
            Ok(head) => {
                head.lock_shared()?;
                Some(head)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(Self {
            purpose,
            folder,
            _head: head,
        })
    }

    /// All entries that are not in the tables of this connection's transaction, in order, each with its size in memory.
    ///
    /// # Errors
    /// When one is missing or damaged.
    pub async fn entries(
        &self,
        connection: &mut SqliteConnection,
    ) -> Result<Vec<(Entry, usize)>, StoreError> {
        let flushed = counter(connection, "folded").await?;
        let all = self.encoded(connection, flushed, u64::MAX).await?;
        all.iter()
            .map(|(seq, bytes)| Entry::decode(*seq, bytes))
            .collect()
    }

    /// The last number that is in the journal or the tables.
    ///
    /// # Errors
    /// When an entry is missing or damaged.
    pub async fn last(&self, connection: &mut SqliteConnection) -> Result<u64, StoreError> {
        let flushed = counter(connection, "folded").await?;
        let all = self.encoded(connection, flushed, u64::MAX).await?;
        Ok(all.keys().last().copied().unwrap_or(flushed))
    }

    /// The encoded entries with numbers above `flushed`, up to `through`.
    ///
    /// # Errors
    /// When one is missing or damaged.
    pub async fn encoded(
        &self,
        connection: &mut SqliteConnection,
        flushed: u64,
        through: u64,
    ) -> Result<BTreeMap<u64, Encoded>, StoreError> {
        let database = database(connection).await?;
        let flushing = counter(connection, "folding").await?;
        let table = rows(connection).await?;
        let (mut through, mut tries) = (through, 0);
        loop {
            let mut highest = None;
            let files = self.files(database, (flushed, through));
            let all = files.and_then(|files| {
                let mut all = table.clone();
                all.extend(files);
                highest = all.keys().last().copied();
                whole(&all, flushed, flushing.min(through)).map(|()| all)
            });
            tries += 1;
            if all.is_ok() || tries == TRIES {
                return all;
            }
            // What the host has written since need not be read. All before is there by now.
            through = through.min(highest.unwrap_or(through)).max(flushing);
        }
    }

    /// The bytes of a file, which are on the disk then. Whoever takes over writes them again: after a sync that has failed,
    /// the system may take them for written.
    fn on_disk(&self, path: &Path) -> io::Result<Vec<u8>> {
        let is_ours = self.purpose == Purpose::TakeOver;
        let mut file = File::options().read(true).write(is_ours).open(path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        if is_ours {
            file.write_all_at(&bytes, 0)?;
        }
        file.sync_data()?;
        Ok(bytes)
    }

    /// The entries of all files with numbers above `flushed`, up to `through`. Of two with one number, the newer writer's
    /// counts, and what an earlier writer has written behind a later one's was never acknowledged.
    fn files(
        &self,
        database: u64,
        (flushed, through): (u64, u64),
    ) -> Result<BTreeMap<u64, Encoded>, StoreError> {
        let unread = |error| unreadable("the journal", error);
        let paths = match existing(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            found => found.map_err(unread)?,
        };
        let mut newest: BTreeMap<u64, (u64, Encoded)> = BTreeMap::new();
        for path in paths {
            let bytes = self.on_disk(&path).map_err(unread)?;
            let records = record::all(database, (flushed, through), &bytes)?;
            let is_wanted = |seq| seq > flushed && seq <= through;
            if !records.iter().any(|record| is_wanted(record.seq)) {
                continue;
            }
            // Those before the first wanted one are read too, because it may refer to them.
            let mut unpacker = Unpacker::new();
            for record in records.iter().take_while(|record| record.seq <= through) {
                let entry = unpacker.next(record.entry)?;
                let is_newer = |known: &(u64, Encoded)| known.0 < record.fence;
                if is_wanted(record.seq) && newest.get(&record.seq).is_none_or(is_newer) {
                    newest.insert(record.seq, (record.fence, entry));
                }
            }
        }
        let mut all = BTreeMap::new();
        let mut writer = 0;
        for (seq, (fence, entry)) in newest {
            if fence < writer {
                break;
            }
            writer = fence;
            all.insert(seq, entry);
        }
        Ok(all)
    }
}

/// The key of a database, which only copies of it have too; that of its Bloom filters.
///
/// # Errors
/// When it cannot be read.
pub(crate) async fn database(connection: &mut SqliteConnection) -> Result<u64, StoreError> {
    let key: i64 = sqlx::query_scalar("SELECT value FROM meta WHERE key = 'filter_key'")
        .fetch_one(connection)
        .await
        .map_err(failed)?;
    Ok(key.cast_unsigned())
}

/// Check that no entry is missing after the last one in the tables, and none of a flush that has begun.
fn whole(all: &BTreeMap<u64, Encoded>, flushed: u64, flushing: u64) -> Result<(), StoreError> {
    let lacks = |from: u64, to: u64| {
        let why = format!(
            "groups {from} to {to} are missing: put back the folder `{FOLDER}` that belongs to the database"
        );
        Err(unreadable("the journal", why))
    };
    let mut last = flushed;
    for seq in all.keys() {
        if *seq != last + 1 {
            return lacks(last + 1, seq - 1);
        }
        last = *seq;
    }
    if last < flushing {
        return lacks(last + 1, flushing);
    }
    Ok(())
}

/// The entries of the table, in order, each with its size in memory: those of a backup or an older layout.
///
/// # Errors
/// When one cannot be read.
pub(crate) async fn in_table(
    connection: &mut SqliteConnection,
) -> Result<Vec<(Entry, usize)>, StoreError> {
    let all = rows(connection).await?;
    all.iter()
        .map(|(seq, bytes)| Entry::decode(*seq, bytes))
        .collect()
}

async fn rows(connection: &mut SqliteConnection) -> Result<BTreeMap<u64, Encoded>, StoreError> {
    let rows = sqlx::query("SELECT place, entry FROM journal ORDER BY place")
        .fetch_all(connection)
        .await
        .map_err(failed)?;
    rows.iter()
        .map(|row| {
            let seq = unsigned(row.try_get(0).map_err(failed)?)?;
            let bytes = row.try_get(1).map_err(failed)?;
            Ok((seq, Encoded::Packed(bytes)))
        })
        .collect()
}

/// Write encoded entries into the table of a copy, which has no files.
///
/// # Errors
/// When it cannot be written.
pub(crate) async fn put_in_table(
    connection: &mut SqliteConnection,
    entries: &BTreeMap<u64, Encoded>,
) -> Result<(), StoreError> {
    for (seq, entry) in entries {
        sqlx::query("INSERT OR REPLACE INTO journal (place, entry) VALUES (?, ?)")
            .bind(signed(*seq)?)
            .bind(&*entry.packed())
            .execute(&mut *connection)
            .await
            .map_err(failed)?;
    }
    Ok(())
}

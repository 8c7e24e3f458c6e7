//! The engine's `Store` on SQLite: it makes groups durable, reads documents, and returns the state after a
//! restart.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rialto_engine::network::OutboundRequest;
use rialto_engine::store::{
    DeadLetter, Group, Recovered, ScanRange, Store, StoreError, StoredDocument,
};
use rialto_engine::{CollectionId, Delivery, Lsn, Name, Timestamp, fatal};
use sqlx::Connection as _;

use crate::dictionaries::{self, Packing};
use crate::journal::{self, Entry, Files, Purpose, Reading};
use crate::memtable::Found;
use crate::rows::unsigned;
use crate::slices::counter;
use crate::{Inner, SqliteStore, failed, load, ranges, row_ids, rows, unreadable};

impl Store for SqliteStore {
    fn recover(&self) -> Result<Recovered, StoreError> {
        let inner = &self.inner;
        inner.take_over()?;
        let mut writer = inner.writer.lock();
        let pending = inner.runtime.block_on(async {
            load::refuse_moved(&mut writer).await?;
            let pending = "SELECT EXISTS (SELECT 1 FROM deliveries)";
            let pending: bool = sqlx::query_scalar(pending)
                .fetch_one(&mut *writer)
                .await
                .map_err(failed)?;
            Ok::<_, StoreError>(pending)
        })?;
        drop(writer);
        if pending {
            // A start that cannot load the store does not count as one.
            inner.row_ids.wait()?;
        }
        let mut writer = inner.writer.lock();
        inner.runtime.block_on(async {
            // Counted before any turn runs, so that a poison message is counted too.
            sqlx::query("UPDATE deliveries SET starts = starts + 1")
                .execute(&mut *writer)
                .await
                .map_err(failed)?;
            Ok(Recovered {
                lsn: Lsn(counter(&mut writer, "lsn").await?),
                next_id: counter(&mut writer, "next_id").await?,
                collections: rows::collections(&mut writer).await?,
                deliveries: rows::deliveries(&mut writer).await?,
                reminders: rows::reminders(&mut writer).await?,
                outbound: rows::outbound(&mut writer).await?,
            })
        })
    }

    fn count_overdue(&self, now: Timestamp) -> Result<Vec<(Name, Name, u32)>, StoreError> {
        let inner = &*self.inner;
        let mut writer = inner.writer.lock();
        inner
            .runtime
            .block_on(rows::count_overdue(&mut writer, now))
    }

    fn note_poison_candidate(&self, candidate: Option<&str>) -> Result<(), StoreError> {
        let inner = &*self.inner;
        let fence = inner.fence.load(Ordering::Acquire);
        let mut writer = inner.writer.lock();
        inner
            .runtime
            .block_on(rows::note_poison_candidate(&mut writer, candidate, fence))
    }

    fn poison_candidate(&self) -> Result<Option<String>, StoreError> {
        let inner = &*self.inner;
        inner.runtime.block_on(async {
            sqlx::query_scalar("SELECT what FROM suspect")
                .fetch_optional(&inner.readers)
                .await
                .map_err(failed)
        })
    }

    fn read(
        &self,
        collection: CollectionId,
        id: &str,
    ) -> Result<Option<StoredDocument>, StoreError> {
        let inner = &*self.inner;
        if let Some(found) = inner.memtable.read(collection, id) {
            return Ok(found);
        }
        inner.find(collection, id)
    }

    fn scan(
        &self,
        collection: CollectionId,
        range: &ScanRange,
        limit: u32,
    ) -> Result<Vec<StoredDocument>, StoreError> {
        let inner = &*self.inner;
        let _still = inner.gate.read();
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let (stored, newer) = inner
            .runtime
            .block_on(inner.scanned(collection, range, limit))?;
        let stored = stored.into_iter().map(|(id, found)| (id, Some(found)));
        let mut documents: BTreeMap<Name, Found> = stored.collect();
        documents.extend(newer);
        Ok(documents.into_values().flatten().take(limit).collect())
    }

    fn write(&self, group: &Group) -> Result<(), StoreError> {
        let inner = &*self.inner;
        inner.memtable.wait_for_room()?;
        // One thread writes groups, so no other one has this number.
        let seq = inner.memtable.next_seq();
        let audit = inner.audit_next.load(Ordering::Acquire);
        let publication = inner.publication_next.load(Ordering::Acquire);
        let entry = Entry::of(group, seq, (audit, publication))?;
        let mut journal = inner.journal.lock();
        let files = journal.as_mut().ok_or_else(row_ids::not_recovered)?;
        let bytes = files.append(&entry)?;
        drop(journal);
        let audit = audit + group.audit.len() as u64;
        inner.audit_next.store(audit, Ordering::Release);
        let publication = publication + group.publications.len() as u64;
        inner.publication_next.store(publication, Ordering::Release);
        inner.memtable.push(Arc::new(entry), bytes);
        Ok(())
    }

    fn deliveries(&self, ids: &[u64]) -> Result<Vec<Delivery>, StoreError> {
        let inner = &*self.inner;
        let _still = inner.gate.read();
        let stored = rows::deliveries_of(&inner.readers, ids);
        let stored = inner.runtime.block_on(stored)?;
        let wanted: HashSet<u64> = ids.iter().copied().collect();
        let mut deliveries: BTreeMap<u64, Delivery> = stored
            .into_iter()
            .map(|delivery| (delivery.id, delivery))
            .collect();
        for entry in inner.memtable.entries() {
            let added = entry.deliveries_added.iter();
            for stored in added.filter(|stored| wanted.contains(&stored.id)) {
                let delivery = || stored.clone().delivery();
                deliveries.entry(stored.id).or_insert_with(delivery);
            }
            for id in &entry.deliveries_removed {
                deliveries.remove(id);
            }
        }
        assert!(
            deliveries.len() <= wanted.len(),
            "{} deliveries are found and {} were asked for",
            deliveries.len(),
            wanted.len()
        );
        Ok(deliveries.into_values().collect())
    }

    fn outbound(&self, ids: &[u64]) -> Result<Vec<OutboundRequest>, StoreError> {
        let inner = &*self.inner;
        let _still = inner.gate.read();
        let stored = rows::outbound_of(&inner.readers, ids);
        let stored = inner.runtime.block_on(stored)?;
        let wanted: HashSet<u64> = ids.iter().copied().collect();
        let mut requests: BTreeMap<u64, OutboundRequest> = stored
            .into_iter()
            .map(|request| (request.id, request))
            .collect();
        for entry in inner.memtable.entries() {
            let added = entry.outbound_added.iter();
            let added = added.filter(|request| wanted.contains(&request.id));
            requests.extend(added.map(|request| (request.id, (**request).clone())));
            for id in &entry.outbound_removed {
                requests.remove(id);
            }
        }
        assert!(
            requests.len() <= wanted.len(),
            "{} requests are found and {} were asked for",
            requests.len(),
            wanted.len()
        );
        Ok(requests.into_values().collect())
    }

    fn dead_letters(&self) -> Result<Vec<DeadLetter>, StoreError> {
        let inner = &*self.inner;
        let _still = inner.gate.read();
        let stored = inner.runtime.block_on(rows::dead_letters(&inner.readers))?;
        let with_id = |letter: DeadLetter| (letter.delivery.id, letter);
        let mut letters: BTreeMap<u64, DeadLetter> = stored.into_iter().map(with_id).collect();
        for entry in inner.memtable.entries() {
            let added = entry.dead_letters_added.iter();
            letters.extend(added.map(|letter| with_id(letter.dead_letter())));
            for id in &entry.dead_letters_removed {
                letters.remove(id);
            }
        }
        Ok(letters.into_values().collect())
    }
}

impl Inner {
    /// The documents of a range in the tables at one moment, and those in the memtable at that moment or later.
    /// Reads at most `limit` from the tables, and as many more as the memtable removes.
    async fn scanned(
        &self,
        collection: CollectionId,
        range: &ScanRange,
        limit: usize,
    ) -> Result<(BTreeMap<Name, StoredDocument>, BTreeMap<Name, Found>), StoreError> {
        // Before there is a connection: loading needs some, too.
        self.row_ids.wait()?;
        let mut reader = self.readers.begin().await.map_err(failed)?;
        // The first read fixes the moment. Rows that are flushed later are in the memtable too.
        counter(&mut reader, "folded").await?;
        let newer = self.memtable.scan(collection, range);
        let removed = newer.values().filter(|found| found.is_none()).count();
        let limit = limit.saturating_add(removed);
        let segments = self.row_ids.segments_with(collection)?;
        let stored = ranges::first(
            &mut reader,
            &self.unpacking,
            &segments,
            collection,
            range,
            limit,
        )
        .await?;
        reader.rollback().await.map_err(failed)?;
        Ok((stored, newer))
    }

    /// Become the writer: fence off earlier ones, begin to load the row ids and Bloom filters, and flush the journal, so that
    /// the tables have everything. A store that was not wholly copied is refused.
    pub(crate) fn take_over(self: &Arc<Self>) -> Result<(), StoreError> {
        let reading = Reading::begin(&self.folder, Purpose::TakeOver);
        let reading = reading.map_err(|e| unreadable("the journal", e))?;
        let (fence, dictionaries, flushing, flushed, database, entries) = {
            let mut writer = self.writer.lock();
            self.runtime.block_on(async {
                load::refuse_unfinished(&mut writer).await?;
                // In one transaction, so that the file has the newest token whoever takes over meanwhile.
                let mut raising = writer.begin_with("BEGIN IMMEDIATE").await.map_err(failed)?;
                let fence: i64 = sqlx::query_scalar(
                    "UPDATE meta SET value = value + 1 WHERE key = 'fence' RETURNING value",
                )
                .fetch_one(&mut *raising)
                .await
                .map_err(failed)?;
                // Whoever wrote before acknowledges nothing any more, so the files have all that was.
                journal::fence_off(&self.folder, unsigned(fence)?)?;
                raising.commit().await.map_err(failed)?;
                Ok::<_, StoreError>((
                    fence,
                    dictionaries::load(&mut writer).await?,
                    counter(&mut writer, "folding").await?,
                    counter(&mut writer, "folded").await?,
                    journal::database(&mut writer).await?,
                    reading.entries(&mut writer).await?,
                ))
            })?
        };
        drop(reading);
        let before = self.fence.swap(fence, Ordering::AcqRel);
        assert!(
            fence > before,
            "the fencing token {fence} comes after {before}"
        );
        let last = entries.last().map_or(flushed, |(entry, _)| entry.seq);
        {
            let mut begun = self.flushing.lock();
            *begun = flushing;
            self.memtable.recovered(last, entries);
            self.unpacking.know_all(&dictionaries);
            *self.packing.lock() = Packing::new(&dictionaries);
            self.begin_loading()?;
        }
        self.flush_all()?;
        // The tables have everything now.
        let files = Files::begin(&self.folder, database, unsigned(fence)?, self.syncing)?;
        *self.journal.lock() = Some(files);
        let (audit, publications) = {
            let mut writer = self.writer.lock();
            self.runtime.block_on(async {
                let audit = counter(&mut writer, "audit").await?;
                Ok::<_, StoreError>((audit, counter(&mut writer, "publications").await?))
            })?
        };
        self.audit_next.store(audit, Ordering::Release);
        self.publication_next
            .store(publications + 1, Ordering::Release);
        Ok(())
    }

    /// Load the row ids and Bloom filters on a thread of its own. What needs them waits.
    fn begin_loading(self: &Arc<Self>) -> Result<(), StoreError> {
        let mut loading = self.loading.lock();
        if let Some(before) = loading.take() {
            let _ = before.join();
        }
        self.row_ids.begin();
        let store = self.clone();
        let load = move || {
            let body = || store.row_ids.end(store.load_row_ids());
            fatal::guarded(
                "the thread that loads a store",
                |why| fatal::abort(why),
                body,
            );
        };
        let thread = std::thread::Builder::new().name("store-load".into());
        let thread = thread.spawn(load);
        let thread = thread.map_err(|e| {
            let error = StoreError::Failed(format!("no thread can start: {e}"));
            // Nobody waits for it in vain.
            self.row_ids.end(Err(error.clone()));
            error
        })?;
        *loading = Some(thread);
        Ok(())
    }
}

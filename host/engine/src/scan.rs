//! Scans: pages of documents, merged from the disk, from executed turns, and from the turn's own writes.
//!
//! A page ends at its limit of documents or of bytes. The store is read a few documents at a time, so that
//! few are in memory.
//!
//! Validation: a turn notes each scanned range and the last position of the log at that time. It is executed
//! only if no turn has written there since. While a scan is open, the log remembers writes for this check.
//! Before the turn runs again, it locks the documents of the conflict. So each document can interrupt it
//! only once.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::budget::check_collection;
use crate::engine::{Engine, Shared};
use crate::ids::{CollectionId, Lsn, Name, TurnId};
use crate::limits;
use crate::stimulus::Trace;
use crate::store::{DocumentWrite, ScanRange, StoreError, StoredDocument};
use crate::turn::{Interrupt, Turn};

/// One page of a scan.
#[derive(Debug, Default)]
pub struct Page {
    /// In the byte order of their ids.
    pub documents: Vec<StoredDocument>,
    /// Whether the range may hold more after the last of them.
    pub more: bool,
}

/// A range of a collection that a turn has scanned.
pub(crate) struct Scanned {
    pub collection: CollectionId,
    pub range: ScanRange,
    /// The last position of the log when it was scanned.
    pub since: Lsn,
}

/// The ranges that a turn has scanned. Until this is dropped, the log remembers writes.
pub(crate) struct Scans {
    shared: Arc<Shared>,
    watching: Lsn,
    ranges: Vec<Scanned>,
}

impl Scans {
    /// No range yet.
    pub fn begun(shared: &Arc<Shared>) -> Self {
        Self {
            shared: shared.clone(),
            watching: shared.log.watch(),
            ranges: Vec::new(),
        }
    }

    /// The ranges. Consecutive pages are one range.
    pub fn ranges(&self) -> &[Scanned] {
        &self.ranges
    }

    /// A page over the executed state and the turn's own writes (id, version, body).
    pub fn page(
        &mut self,
        collection: CollectionId,
        range: &ScanRange,
        limit: u32,
        own: Vec<(Name, u64, Option<Name>)>,
    ) -> Result<Page, StoreError> {
        let (page, since) = self.shared.scan(collection, range, limit, own)?;
        assert!(
            since >= self.watching,
            "a scan has seen the log through position {}, and watches it from position {} on",
            since.0,
            self.watching.0
        );
        let to = match page.documents.last() {
            // The least id after the last one of the page.
            Some(last) if page.more => Some(format!("{}\0", last.id)),
            _ => range.to.clone(),
        };
        match self.ranges.last_mut() {
            Some(before)
                if before.collection == collection
                    && before.range.to.as_deref() == Some(range.from.as_str()) =>
            {
                before.range.to = to;
            }
            _ => self.ranges.push(Scanned {
                collection,
                range: ScanRange {
                    from: range.from.clone(),
                    to,
                },
                since,
            }),
        }
        Ok(page)
    }
}

impl Drop for Scans {
    fn drop(&mut self) {
        self.shared.log.unwatch(self.watching);
    }
}

/// A page being filled.
struct PageBuilder {
    page: Page,
    limit: usize,
    bytes: usize,
}

impl PageBuilder {
    /// Returns whether the page is full now.
    fn add(&mut self, document: StoredDocument) -> bool {
        if let Some(last) = self.page.documents.last() {
            assert!(
                last.id < document.id,
                "a scan gives document {:?} after {:?}",
                document.id,
                last.id
            );
        }
        self.bytes += document.id.len() + document.body.len();
        self.page.documents.push(document);
        assert!(
            self.page.documents.len() <= self.limit,
            "a page has {} documents and may have {}",
            self.page.documents.len(),
            self.limit
        );
        self.page.more =
            self.page.documents.len() >= self.limit || self.bytes >= limits::SCAN_BYTES_MAX;
        self.page.more
    }
}

impl Shared {
    /// A page over the executed state and a turn's own writes (id, version, body). Also returns the last
    /// position of the log whose writes are all in the page. It may have some later writes; the turn's
    /// validation finds these.
    fn scan(
        &self,
        collection: CollectionId,
        range: &ScanRange,
        limit: u32,
        own: Vec<(Name, u64, Option<Name>)>,
    ) -> Result<(Page, Lsn), StoreError> {
        // Uncommitted writes are read first. A write that is committed meanwhile is then seen twice, never
        // missed.
        let (since, newer) = self
            .log
            .uncommitted_writes(|w| w.collection == collection && range.contains(&w.id));
        let mut newer: BTreeMap<Name, DocumentWrite> = newer.into_iter().collect();
        newer.extend(own.into_iter().map(|(id, version, body)| {
            let write = DocumentWrite {
                collection,
                id: id.clone(),
                version,
                body,
            };
            (id, write)
        }));
        let mut filling = PageBuilder {
            page: Page::default(),
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            bytes: 0,
        };
        let step = limit.min(limits::SCAN_STEP);
        let mut rest = range.clone();
        loop {
            let stored = self.environment.store.scan(collection, &rest, step)?;
            let asked = usize::try_from(step).unwrap_or(usize::MAX);
            assert!(
                stored.len() <= asked,
                "the store gives {} documents and was asked for {asked}",
                stored.len()
            );
            assert!(
                stored.is_sorted_by(|a, b| a.id < b.id),
                "the store gives {} documents that are not in the order of their ids",
                stored.len()
            );
            for document in &stored {
                assert!(
                    rest.contains(&document.id),
                    "the store gives document {:?} for a scan of {rest:?}",
                    document.id
                );
            }
            let is_last = stored.len() < asked;
            // The next id in byte order after the last one found.
            let next = stored.last().map(|last| format!("{}\0", last.id));
            let reached = |id: &str| is_last || next.as_deref().is_none_or(|next| id < next);
            let mut documents: BTreeMap<Name, StoredDocument> =
                stored.into_iter().map(|d| (d.id.clone(), d)).collect();
            while let Some(first) = newer.first_entry()
                && reached(first.key())
            {
                let (id, write) = first.remove_entry();
                let version = write.version;
                match write.body {
                    Some(body) => {
                        documents.insert(id.clone(), StoredDocument { id, version, body });
                    }
                    None => {
                        documents.remove(&id);
                    }
                }
            }
            for document in documents.into_values() {
                if filling.add(document) {
                    return Ok((filling.page, since));
                }
            }
            match next {
                Some(next) if !is_last => rest.from = next,
                _ => return Ok((filling.page, since)),
            }
        }
    }
}

/// Check the limit of a page.
pub(crate) fn check_limit(limit: u32) -> Result<(), Interrupt> {
    if (1..=limits::SCAN_LIMIT_MAX).contains(&limit) {
        return Ok(());
    }
    Err(Interrupt::Misuse(format!(
        "a scan takes 1 to {} documents, not {limit}",
        limits::SCAN_LIMIT_MAX
    )))
}

impl Engine {
    /// The component and the name of each collection that has or had documents, for operators.
    pub fn collections(&self) -> Vec<(Name, Name)> {
        self.shared.collections.all_written()
    }

    /// Executed documents of a component, for operators. Makes no turn and has no effect. Some may not be on disk
    /// yet: call [`Engine::wait_until_durable`] before anybody sees them.
    ///
    /// # Errors
    /// When the names are none, or the store cannot be read.
    pub fn inspect(
        &self,
        component: &str,
        collection: &str,
        range: &ScanRange,
        limit: u32,
    ) -> Result<Vec<StoredDocument>, Interrupt> {
        check_limit(limit)?;
        check_collection(collection)?;
        if self
            .shared
            .collections
            .find(component, collection)
            .is_none()
        {
            // A turn's scan would give it a number.
            return Ok(Vec::new());
        }
        let mut found: Vec<StoredDocument> = Vec::new();
        let mut rest = range.clone();
        let mut wanted = limit;
        loop {
            let page = Turn::new(self.shared.clone(), TurnId(0), Trace::default())
                .scan(component, collection, &rest, wanted)?;
            wanted = wanted.saturating_sub(u32::try_from(page.documents.len()).unwrap_or(u32::MAX));
            if let Some(last) = page.documents.last() {
                rest.from = format!("{}\0", last.id);
            }
            found.extend(page.documents);
            assert!(
                found.len() <= limit as usize,
                "{} documents are found and {limit} were asked for",
                found.len()
            );
            if wanted == 0 || !page.more {
                return Ok(found);
            }
        }
    }
}

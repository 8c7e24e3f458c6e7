//! The documents of a turn: it reads, locks, writes and scans them. Other turns see its writes when it has been executed.

use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;

use super::{Interrupt, Turn};
use crate::budget::{check_body, check_collection, check_id};
use crate::documents::Cell;
use crate::ids::{DocumentKey, Name};
use crate::limits;
use crate::scan::{Page, Scans, check_limit};
use crate::store::ScanRange;

/// A document that this turn has read or written.
pub(crate) struct AccessedDocument {
    pub cell: Arc<Cell>,
    /// The version that was seen.
    pub version: u64,
    /// The body that was seen.
    pub seen: Option<Name>,
    /// Whether this turn holds the document.
    pub held: bool,
    /// What was written, if anything was.
    pub write: Option<Option<Name>>,
}

impl AccessedDocument {
    fn body(&self) -> Option<Name> {
        self.write.clone().unwrap_or_else(|| self.seen.clone())
    }
}

/// The documents of a turn. There are few, so their hashes need not be hard to choose.
pub(crate) type Touched = IndexMap<DocumentKey, AccessedDocument, foldhash::quality::RandomState>;

impl Turn {
    /// The key of a component's document.
    pub fn key(
        &self,
        component: &str,
        collection: &str,
        id: impl AsRef<str> + Into<Name>,
    ) -> Result<DocumentKey, Interrupt> {
        check_collection(collection)?;
        check_id(id.as_ref())?;
        Ok(DocumentKey {
            collection: self.shared.collections.id(component, collection)?,
            id: id.into(),
        })
    }

    /// The document's body, or none.
    pub fn read(&mut self, key: DocumentKey) -> Result<Option<Name>, Interrupt> {
        Ok(self.touch(key, false)?.body())
    }

    /// Whether this turn has written or removed the document.
    #[must_use]
    pub fn has_written(&self, key: &DocumentKey) -> bool {
        let touched = self.touched.get(key);
        touched.is_some_and(|document| document.write.is_some())
    }

    /// The document's body, or none. The turn locks the document until it has been executed.
    pub fn read_for_update(&mut self, key: DocumentKey) -> Result<Option<Name>, Interrupt> {
        Ok(self.touch(key, true)?.body())
    }

    /// Write the document.
    pub fn write(&mut self, key: DocumentKey, body: Name) -> Result<(), Interrupt> {
        check_body(&body)?;
        self.budget.charge_staged([&*key.id, &*body])?;
        self.touch(key, true)?.write = Some(Some(body));
        Ok(())
    }

    /// Write the document if it does not exist. Returns whether it was written.
    pub fn insert_if_absent(&mut self, key: DocumentKey, body: Name) -> Result<bool, Interrupt> {
        check_body(&body)?;
        self.budget.charge_staged([&*key.id, &*body])?;
        let touch = self.touch(key, true)?;
        let absent = touch.body().is_none();
        if absent {
            touch.write = Some(Some(body));
        }
        Ok(absent)
    }

    /// Remove the document. Returns whether it existed.
    pub fn delete(&mut self, key: DocumentKey) -> Result<bool, Interrupt> {
        let touch = self.touch(key, true)?;
        let existed = touch.body().is_some();
        if existed {
            touch.write = Some(None);
        }
        Ok(existed)
    }

    /// Documents of a range in the byte order of their ids: committed ones, executed ones, and the turn's own
    /// writes. Returns at most `limit` documents and at most one page of bytes.
    ///
    /// The turn is executed only if no other turn has changed the scanned range by then. The scanned range
    /// ends with the page's last document, or with the range on the last page.
    pub fn scan(
        &mut self,
        component: &str,
        collection: &str,
        range: &ScanRange,
        limit: u32,
    ) -> Result<Page, Interrupt> {
        check_limit(limit)?;
        check_collection(collection)?;
        // An empty collection gets a number too, because other turns may write to it meanwhile.
        let collection = self.shared.collections.id(component, collection)?;
        let own = self
            .touched
            .iter()
            .filter(|(key, touch)| {
                key.collection == collection && touch.write.is_some() && range.contains(&key.id)
            })
            .map(|(key, touch)| (key.id.clone(), touch.version + 1, touch.body()))
            .collect();
        let scans = self.scans.get_or_insert_with(|| Scans::begun(&self.shared));
        let page = scans
            .page(collection, range, limit, own)
            .map_err(|e| Interrupt::Store(e.to_string()))?;
        if scans.ranges().len() > limits::SCANS_PER_TURN_MAX {
            return Err(Interrupt::Misuse(format!(
                "a turn may scan {} ranges and this one wants more",
                limits::SCANS_PER_TURN_MAX
            )));
        }
        for document in &page.documents {
            self.budget
                .charge(document.id.len() + document.body.len())?;
        }
        Ok(page)
    }

    fn touch(&mut self, key: DocumentKey, hold: bool) -> Result<&mut AccessedDocument, Interrupt> {
        let at = match self.touched.get_index_of(&key) {
            Some(at) => at,
            None => self.touch_first(key, hold)?,
        };
        if hold && !self.touched[at].held {
            self.hold(at)?;
        }
        Ok(&mut self.touched[at])
    }

    /// Read a document for the first time in this turn. Returns its index.
    fn touch_first(&mut self, key: DocumentKey, hold: bool) -> Result<usize, Interrupt> {
        if self.touched.len() >= limits::DOCUMENTS_PER_TURN_MAX {
            return Err(Interrupt::Misuse(format!(
                "a turn may touch {} documents and this one wants more",
                limits::DOCUMENTS_PER_TURN_MAX
            )));
        }
        let cell = self
            .shared
            .documents
            .cell(&key, &*self.shared.environment.store)
            .map_err(|e| Interrupt::Store(e.to_string()))?;
        let touch = self.look(cell, hold)?;
        // The bodies that a turn has read stay in memory until it ends.
        let seen = touch.seen.as_ref().map_or(0, |body| body.len());
        let (at, before) = self.touched.insert_full(key, touch);
        assert!(
            before.is_none(),
            "turn {} reads a document for the first time twice",
            self.id
        );
        self.budget.charge(seen)?;
        Ok(at)
    }

    /// Read a document. Waits for a moment if another turn holds it.
    fn look(&mut self, cell: Arc<Cell>, hold: bool) -> Result<AccessedDocument, Interrupt> {
        let wait = Duration::from_micros(self.shared.limits.lock_wait_us);
        let Some(sight) = cell.look_within(self.id, hold, wait) else {
            self.blocked = Some(cell);
            return Err(Interrupt::Conflict);
        };
        Ok(AccessedDocument {
            cell,
            version: sight.version,
            seen: sight.body,
            held: sight.held,
            write: None,
        })
    }

    /// Lock a document that was only read so far, by its index. Does not wait: another turn that holds it is about to write
    /// it, and then this one has read what is outdated.
    fn hold(&mut self, at: usize) -> Result<(), Interrupt> {
        let touch = &self.touched[at];
        assert!(
            touch.write.is_none(),
            "turn {} has written document {:?} and is yet to hold it",
            self.id,
            touch.cell.key.id
        );
        let (cell, version) = (touch.cell.clone(), touch.version);
        let Some(now) = cell.look(self.id, true) else {
            self.blocked = Some(cell);
            return Err(Interrupt::Conflict);
        };
        self.touched[at].held = true;
        if now.version != version {
            self.blocked = Some(cell);
            return Err(Interrupt::Conflict);
        }
        Ok(())
    }
}

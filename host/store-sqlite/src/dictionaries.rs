//! Dictionaries, by which the bodies of documents are compressed.
//!
//! The documents of a collection have the same names and many of the same values, and each alone is too short to be
//! compressed well. So a flush makes a Zstandard dictionary of a collection's documents, stores it in the table
//! `dictionaries`, and compresses later documents by it (`packing`). The column `body` has JSON as text, or a Zstandard
//! frame as a blob. The frame has the id of its dictionary (RFC 8878, section 3.1.1.1.3) and a checksum. Documents from before
//! stay as they are until they change.
//!
//! A dictionary is never changed and never removed, because documents refer to it. What it has of documents is what half of
//! them have (`masked`).

mod masked;
mod packing;
mod training;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use rialto_engine::Name;
use rialto_engine::store::StoreError;
use sqlx::sqlite::SqliteRow;
use sqlx::{Decode, Row as _, Sqlite, SqliteConnection, TypeInfo as _, ValueRef as _};
use zstd::zstd_safe::{self, DCtx, DDict};

use crate::{failed, unreadable};

pub(crate) use packing::{Body, Packing};

/// Bytes of the longest body that is compressed.
const BODY_MAX: usize = 256 << 10;

/// The statement that reads all dictionaries.
pub(crate) const ALL: &str =
    "SELECT id, collection, content, remains, checksum FROM dictionaries ORDER BY id";

/// A row of the table.
#[derive(Clone, Debug)]
pub(crate) struct StoredDictionary {
    /// From 1 on. The frames have it.
    pub id: u32,
    pub collection: u32,
    /// In Zstandard's format.
    pub content: Vec<u8>,
    /// The part of a document that should remain, in thousandths.
    pub remains: u32,
    pub checksum: u32,
}

impl StoredDictionary {
    /// Whether the content is as it was written. Of what is damaged nothing is read, and nothing compressed by it.
    fn is_whole(&self) -> bool {
        crc32fast::hash(&self.content) == self.checksum
    }
}

/// All dictionaries of a store.
pub(crate) async fn load(
    connection: &mut SqliteConnection,
) -> Result<Vec<StoredDictionary>, StoreError> {
    let rows: Vec<(u32, u32, Vec<u8>, u32, u32)> = sqlx::query_as(ALL)
        .fetch_all(connection)
        .await
        .map_err(failed)?;
    let stored =
        rows.into_iter().map(
            |(id, collection, content, remains, checksum)| StoredDictionary {
                id,
                collection,
                content,
                remains,
                checksum,
            },
        );
    Ok(stored.collect())
}

/// Reads bodies.
pub(crate) struct Unpacking {
    known: RwLock<HashMap<u32, Arc<DDict<'static>>>>,
    context: Mutex<DCtx<'static>>,
}

impl Default for Unpacking {
    fn default() -> Self {
        Self {
            known: RwLock::default(),
            context: Mutex::new(DCtx::create()),
        }
    }
}

impl Unpacking {
    /// One that knows these dictionaries.
    pub fn of(stored: &[StoredDictionary]) -> Self {
        let unpacking = Self::default();
        unpacking.know_all(stored);
        unpacking
    }

    /// Know the stored dictionaries, too, but for damaged ones.
    pub fn know_all(&self, stored: &[StoredDictionary]) {
        for one in stored {
            if one.is_whole() {
                self.know(one.id, &one.content);
            } else {
                tracing::error!(
                    dictionary = one.id,
                    "a dictionary of the store is damaged; documents that are compressed by it cannot be read until its row is restored from a backup"
                );
            }
        }
    }

    /// Know a dictionary, before any body that is compressed by it can be read.
    pub fn know(&self, id: u32, content: &[u8]) {
        if let Some(dictionary) = DDict::try_create(content) {
            self.known.write().insert(id, Arc::new(dictionary));
        }
    }

    /// The body in a column of a row.
    pub fn body(&self, row: &SqliteRow, column: usize) -> Result<Name, StoreError> {
        let value = row.try_get_raw(column).map_err(failed)?;
        let is_frame = value.type_info().name() == "BLOB";
        let bytes =
            <&[u8] as Decode<Sqlite>>::decode(value).map_err(|e| unreadable("a document", e))?;
        if is_frame {
            self.unpacked(bytes)
        } else {
            let text = std::str::from_utf8(bytes).map_err(|e| unreadable("a document", e))?;
            Ok(text.into())
        }
    }

    /// The body in a frame.
    pub fn unpacked(&self, frame: &[u8]) -> Result<Name, StoreError> {
        let damaged = |what: String| unreadable("a compressed document", what);
        let id = zstd_safe::get_dict_id_from_frame(frame)
            .ok_or_else(|| damaged("it names no dictionary".into()))?;
        let dictionary = self.known.read().get(&id.get()).cloned();
        let dictionary =
            dictionary.ok_or_else(|| damaged(format!("dictionary {id} is missing")))?;
        let length = zstd_safe::get_frame_content_size(frame).ok().flatten();
        let length = length.and_then(|length| usize::try_from(length).ok());
        let length = length.filter(|length| *length <= BODY_MAX).ok_or_else(|| {
            damaged(format!(
                "its length is missing or more than {BODY_MAX} bytes"
            ))
        })?;
        let mut plain: Vec<u8> = Vec::with_capacity(length);
        self.context
            .lock()
            .decompress_using_ddict(&mut plain, frame, &dictionary)
            .map_err(|code| damaged(zstd_safe::get_error_name(code).into()))?;
        let text = String::from_utf8(plain).map_err(|e| damaged(e.to_string()))?;
        Ok(text.into())
    }
}

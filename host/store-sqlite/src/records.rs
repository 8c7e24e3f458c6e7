//! The history of a group: its records in their stored form, one behind the other.
//!
//! A record is encoded once, when its group is written. The journal's entry and the pages of the history have the
//! same bytes, and in memory they take one allocation for a group instead of dozens for a record.

use std::sync::Arc;

use postcard::ser_flavors::Flavor;
use rialto_engine::Name;
use rialto_engine::history::Record;
use rialto_engine::store::StoreError;

use crate::unreadable;

/// The encoded records of a group, in order.
#[derive(Debug, Default)]
pub(crate) struct Records {
    bytes: Vec<u8>,
    /// The subjects of all records.
    subjects: Vec<Name>,
    ends: Vec<Ends>,
}

/// Where a record ends, and what is needed of it without decoding.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    bytes: usize,
    subjects: usize,
    at: u64,
}

/// One encoded record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EncodedRecord<'a> {
    /// Its postcard form.
    pub bytes: &'a [u8],
    /// What the turn was about.
    pub subjects: &'a [Name],
    /// When it began, in milliseconds since 1970.
    pub at: u64,
}

impl Records {
    /// Encode records.
    ///
    /// # Errors
    /// When one cannot be encoded.
    pub fn of(records: &[Arc<Record>]) -> Result<Self, StoreError> {
        let mut all = Self::default();
        for record in records {
            all.bytes = encoded(&**record, std::mem::take(&mut all.bytes))?;
            all.subjects.extend(record.subjects.iter().cloned());
            all.end(record.at.0);
        }
        Ok(all)
    }

    fn end(&mut self, at: u64) {
        self.ends.push(Ends {
            bytes: self.bytes.len(),
            subjects: self.subjects.len(),
            at,
        });
    }

    /// Append all of them, as the encoded list of records.
    ///
    /// # Errors
    /// When memory ends.
    pub fn append_to(&self, bytes: Vec<u8>) -> Result<Vec<u8>, StoreError> {
        let mut bytes = encoded(&(self.ends.len() as u64), bytes)?;
        bytes.extend_from_slice(&self.bytes);
        Ok(bytes)
    }

    /// Read an encoded list of records.
    ///
    /// # Errors
    /// When it is none, or something follows it.
    pub fn read(bytes: &[u8]) -> Result<Self, StoreError> {
        let broken = |why: &dyn std::fmt::Display| unreadable("the history of a group", why);
        let (count, records) = postcard::take_from_bytes::<u64>(bytes).map_err(|e| broken(&e))?;
        let mut all = Self::default();
        let mut rest = records;
        for _ in 0..count {
            let (record, behind) =
                postcard::take_from_bytes::<Record>(rest).map_err(|e| broken(&e))?;
            all.bytes
                .extend_from_slice(&rest[..rest.len() - behind.len()]);
            all.subjects.extend(record.subjects);
            all.end(record.at.0);
            rest = behind;
        }
        if !rest.is_empty() {
            return Err(broken(&format!("{} bytes follow it", rest.len())));
        }
        Ok(all)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = EncodedRecord<'_>> {
        let begins = std::iter::once(Ends::default()).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| EncodedRecord {
            bytes: &self.bytes[begin.bytes..end.bytes],
            subjects: &self.subjects[begin.subjects..end.subjects],
            at: end.at,
        })
    }

    /// The subjects of all of them.
    pub fn subjects(&self) -> &[Name] {
        &self.subjects
    }
}

impl EncodedRecord<'_> {
    /// Decode it.
    ///
    /// # Errors
    /// When it is no record.
    pub fn decode(&self) -> Result<Record, StoreError> {
        postcard::from_bytes(self.bytes).map_err(|e| unreadable("a turn of the history", e))
    }
}

/// Bytes that encoded values are appended to. `postcard` has one for all that can be extended, which goes byte by byte.
struct Appending(Vec<u8>);

impl Flavor for Appending {
    type Output = Vec<u8>;

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<Vec<u8>> {
        Ok(self.0)
    }
}

/// Append a value's encoded form.
pub(crate) fn encoded(
    value: &impl serde::Serialize,
    bytes: Vec<u8>,
) -> Result<Vec<u8>, StoreError> {
    postcard::serialize_with_flavor(value, Appending(bytes))
        .map_err(|e| StoreError::Failed(format!("it cannot be written to the journal: {e}")))
}

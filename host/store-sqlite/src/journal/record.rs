//! A record: an entry in a file of the journal.
//!
//! Its head has 32 bytes, little-endian: a CRC-32 of all that follows, the entry's length, the database's key, the fencing
//! token of its writer, and its sequence number. Files are used again, so behind the last record there are zeros, a torn
//! record or records of an earlier use: their numbers do not follow.

use rialto_engine::store::StoreError;

use crate::unreadable;

/// The bytes of a head.
const HEAD: usize = 32;

/// Who writes records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Writer {
    /// The key of the database, which no other one has.
    pub database: u64,
    /// The fencing token.
    pub fence: u64,
}

/// A record in the bytes of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'f> {
    pub fence: u64,
    pub seq: u64,
    pub entry: &'f [u8],
}

/// Begin a record: a head, behind which its entry is to be appended.
pub(super) fn begin(record: &mut Vec<u8>) {
    record.clear();
    record.resize(HEAD, 0);
}

/// End a record whose entry was appended.
///
/// # Errors
/// When the entry has 4 GiB or more.
pub(super) fn end(writer: Writer, seq: u64, record: &mut [u8]) -> Result<(), StoreError> {
    let length = record.len() - HEAD;
    let length = u32::try_from(length)
        .map_err(|_| StoreError::Failed(format!("a group of {length} bytes is too large")))?;
    record[4..8].copy_from_slice(&length.to_le_bytes());
    record[8..16].copy_from_slice(&writer.database.to_le_bytes());
    record[16..24].copy_from_slice(&writer.fence.to_le_bytes());
    record[24..HEAD].copy_from_slice(&seq.to_le_bytes());
    let sum = crc32fast::hash(&record[4..]);
    record[..4].copy_from_slice(&sum.to_le_bytes());
    Ok(())
}

/// The records of a file of this database, from its beginning to the last one that follows. The tables have all groups up to
/// `flushed`, and records behind `through` are not wanted.
///
/// # Errors
/// When there is a later record behind the last one, so that one between them is damaged.
pub(super) fn all(
    database: u64,
    (flushed, through): (u64, u64),
    file: &[u8],
) -> Result<Vec<Record<'_>>, StoreError> {
    let mut records: Vec<Record<'_>> = Vec::new();
    let mut at = 0;
    while let Some(record) = one(database, file, at) {
        let follows = |last: &Record<'_>| record.seq == last.seq + 1 && record.fence == last.fence;
        if !records.last().is_none_or(follows) {
            break;
        }
        at += HEAD + record.entry.len();
        records.push(record);
    }
    let last = records.last().map_or(0, |last| last.seq).max(flushed);
    if last >= through {
        return Ok(records);
    }
    match later(database, file, at) {
        Some(seq) if seq > last => {
            let why = format!("a group between {last} and {} is damaged", seq + 1);
            Err(unreadable("the journal", why))
        }
        _ => Ok(records),
    }
}

/// The record that begins here, if it is whole.
fn one(database: u64, file: &[u8], at: usize) -> Option<Record<'_>> {
    let rest = file.get(at..)?;
    let head = rest.first_chunk::<HEAD>()?;
    let word = |from: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&head[from..from + 8]);
        u64::from_le_bytes(word)
    };
    let first = word(0).to_le_bytes();
    let sum = u32::from_le_bytes([first[0], first[1], first[2], first[3]]);
    let length = u32::from_le_bytes([first[4], first[5], first[6], first[7]]);
    let end = HEAD + usize::try_from(length).ok()?;
    let entry = rest.get(HEAD..end)?;
    if word(8) != database || crc32fast::hash(&rest[4..end]) != sum {
        return None;
    }
    Some(Record {
        fence: word(16),
        seq: word(24),
        entry,
    })
}

/// The highest number of the whole records that begin behind here.
fn later(database: u64, file: &[u8], behind: usize) -> Option<u64> {
    let key = database.to_le_bytes();
    let rest = file.get(behind..)?;
    let keys = memchr::memmem::find_iter(rest, &key);
    let begins = keys.filter_map(|at| (behind + at).checked_sub(8));
    begins
        .filter_map(|at| one(database, file, at))
        .map(|record| record.seq)
        .max()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    const WRITER: Writer = Writer {
        database: 77,
        fence: 3,
    };

    fn file(writer: Writer, numbers: &[u64]) -> Vec<u8> {
        let mut file = Vec::new();
        let mut record = Vec::new();
        for seq in numbers {
            begin(&mut record);
            record.extend_from_slice(format!("entry {seq}").as_bytes());
            end(writer, *seq, &mut record).unwrap();
            file.extend_from_slice(&record);
        }
        file.resize(file.len() + 100, 0);
        file
    }

    fn numbers(file: &[u8]) -> Vec<u64> {
        let records = all(WRITER.database, (4, u64::MAX), file).unwrap();
        records.iter().map(|record| record.seq).collect()
    }

    #[test]
    fn records_are_read_until_they_do_not_follow() {
        assert_eq!(numbers(&file(WRITER, &[5, 6, 7])), [5, 6, 7]);
        assert_eq!(numbers(&file(WRITER, &[15, 16, 3, 4])), [15, 16]);
        assert_eq!(numbers(&[0; 200]), [0; 0]);
        let other = Writer {
            database: 78,
            ..WRITER
        };
        assert_eq!(numbers(&file(other, &[5])), [0; 0]);
        let mut both = file(WRITER, &[5]);
        both.truncate(both.len() - 100);
        let later = Writer { fence: 4, ..WRITER };
        both.extend(file(later, &[3]));
        assert_eq!(numbers(&both), [5], "another writer's");
    }

    #[test]
    fn torn_record_ends_them() {
        let whole = file(WRITER, &[5, 6]);
        let length = whole.len() - 100;
        for cut in length / 2..length {
            let mut torn = whole.clone();
            torn[cut..].fill(0);
            assert_eq!(numbers(&torn), [5], "torn at {cut}");
        }
    }

    #[test]
    fn damage_before_another_record_is_told() {
        let mut damaged = file(WRITER, &[5, 6, 7]);
        let middle = (damaged.len() - 100) / 2;
        damaged[middle] ^= 1;
        let said = |flushed| {
            all(WRITER.database, (flushed, u64::MAX), &damaged).map(|records| records.len())
        };
        let refused = said(4).unwrap_err().to_string();
        assert!(refused.contains("between 5 and 8 is damaged"), "{refused}");
        assert_eq!(said(7), Ok(1), "the tables have it");
        let mut damaged = file(WRITER, &[5, 6, 7]);
        damaged[35] ^= 1;
        let refused = all(WRITER.database, (4, u64::MAX), &damaged);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("between 4 and 8 is damaged"), "{refused}");
    }
}

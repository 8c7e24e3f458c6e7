//! Verifies an archive. It reads every line, computes the tail, the index and the checksums again, and compares
//! them.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

use crate::index::{Index, Line};
use crate::read::{Subjects, damaged, lines_of, one};
use crate::write::Written;
use crate::{ArchiveError, Head, Reader, Tail};

/// A verified file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Its head.
    pub head: Head,
    /// Its counts and its checksum.
    pub written: Written,
}

/// A reader that hashes all bytes.
struct Hashed<R> {
    from: R,
    hash: Sha256,
    bytes: u64,
}

impl<R: BufRead> Read for Hashed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        self.hash.update(&into[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Hashed<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.from.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        // What is consumed is what was given, and is still there.
        if let Ok(given) = self.from.fill_buf() {
            let taken = &given[..amount.min(given.len())];
            self.hash.update(taken);
            self.bytes += taken.len() as u64;
        }
        self.from.consume(amount);
    }
}

/// The values that are computed again from the lines.
struct Recomputed {
    tail: Tail,
    index: Index,
    plain: Sha256,
    /// Lines of the index that were read.
    listed: usize,
    /// The last line, once it was read.
    says: Option<Tail>,
    /// The block of each item.
    block: u32,
    block_items: u64,
}

/// Read all of a file.
///
/// # Errors
/// The first damage.
pub fn verify(path: &Path) -> Result<Verified, ArchiveError> {
    // Its end and its layout, and where the blocks are said to be.
    let mut reader = Reader::open(path)?;
    let head = reader.head().clone();
    let blocks = reader.lines_of_blocks()?;
    let file = File::open(path).map_err(|source| ArchiveError::Io {
        path: path.to_owned(),
        source,
    })?;
    let mut hashed = Hashed {
        from: BufReader::new(file),
        hash: Sha256::new(),
        bytes: 0,
    };
    let mut again = Recomputed::of(reader.tail());
    let mut number = 0_u64;
    lines_of(path, &mut hashed, &mut |line| {
        number += 1;
        let line_wrong = |what: &dyn std::fmt::Display| {
            damaged(path, format!("line {number} ({}…): {what}", begin(line)))
        };
        if number == 1 {
            again.plain(line);
            return Ok(());
        }
        again
            .line(path, line, &blocks)
            .map_err(|error| match error {
                ArchiveError::Damaged { what, .. } => line_wrong(&what),
                other => other,
            })
    })?;
    let mut rest = Vec::new();
    let read = hashed.read_to_end(&mut rest);
    read.map_err(|error| damaged(path, error))?;
    let written = again.end(path, reader.tail(), hashed)?;
    Ok(Verified { head, written })
}

fn begin(line: &str) -> String {
    line.chars().take(40).collect()
}

impl Recomputed {
    fn of(tail: &Tail) -> Self {
        Self {
            tail: Tail {
                items: 0,
                from: 0,
                to: 0,
                bytes: 0,
                ..tail.clone()
            },
            index: Index::default(),
            plain: Sha256::new(),
            listed: 0,
            says: None,
            block: 0,
            block_items: 0,
        }
    }

    fn plain(&mut self, line: &str) {
        self.plain.update(line.as_bytes());
        self.plain.update(b"\n");
        self.tail.bytes += line.len() as u64 + 1;
    }

    fn line(&mut self, path: &Path, line: &str, blocks: &[u64]) -> Result<(), ArchiveError> {
        if self.says.is_some() {
            return Err(damaged(path, "there is a line behind the tail"));
        }
        if line.starts_with('[') {
            let Line(subject, found) = one(path, line)?;
            if self.index.0.get(&subject) != Some(&found) {
                let what = format!("the index says of `{subject}` what items do not say");
                return Err(damaged(path, what));
            }
            self.listed += 1;
            return Ok(());
        }
        if line.starts_with("{\"about\":") {
            if self.listed > 0 {
                return Err(damaged(path, "there is an item behind the index"));
            }
            return self.item(path, line, blocks);
        }
        self.says = Some(one(path, line)?);
        Ok(())
    }

    fn item(&mut self, path: &Path, line: &str, blocks: &[u64]) -> Result<(), ArchiveError> {
        self.plain(line);
        let item: Subjects<'_> = one(path, line)?;
        while blocks.get(self.block as usize) == Some(&self.block_items) {
            self.block += 1;
            self.block_items = 0;
        }
        assert!(
            self.block as usize <= blocks.len(),
            "an item is in block {}, and there are {}",
            self.block,
            blocks.len()
        );
        self.block_items += 1;
        let about: Vec<&str> = item.about.iter().map(AsRef::as_ref).collect();
        self.index.add(self.block, &about);
        let tail = &mut self.tail;
        tail.from = if tail.items == 0 {
            item.at
        } else {
            tail.from.min(item.at)
        };
        tail.to = tail.to.max(item.at);
        tail.items += 1;
        Ok(())
    }

    fn end<R>(self, path: &Path, tail: &Tail, file: Hashed<R>) -> Result<Written, ArchiveError> {
        let found = Tail {
            sha256: HEXLOWER.encode(&self.plain.finalize()),
            ..self.tail
        };
        if self.says.as_ref() != Some(tail) {
            return Err(damaged(path, "its last line is not the tail"));
        }
        if found != *tail {
            let short = |tail: &Tail| {
                format!(
                    "{} items of {} to {}, {} bytes with the SHA-256 {}",
                    tail.items, tail.from, tail.to, tail.bytes, tail.sha256
                )
            };
            let what = format!("it has {}, its tail says {}", short(&found), short(tail));
            return Err(damaged(path, what));
        }
        if self.listed != self.index.0.len() {
            let (listed, all) = (self.listed, self.index.0.len());
            let what = format!("its index has {listed} subjects, its items {all}");
            return Err(damaged(path, what));
        }
        Ok(Written {
            items: found.items,
            from: found.from,
            to: found.to,
            plain_bytes: found.bytes,
            bytes: file.bytes,
            sha256: HEXLOWER.encode(&file.hash.finalize()),
        })
    }
}

//! Writes an archive, one item after the other.

use std::io::{self, Write};

use data_encoding::HEXLOWER;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::index::{Index, Line};
use crate::{ArchiveError, Head, LAYOUT, Tail};

/// Bytes of lines of a block. A reader reads a whole block to see one item.
pub(crate) const BLOCK_BYTES: usize = 256 << 10;
/// The longest line, in bytes. A reader must have this much memory.
pub(crate) const LINE_BYTES_MAX: usize = 64 << 20;

/// The last member: empty, with the offset of the tail in its extra field.
pub(crate) const END_BYTES: usize = 34;

const _: () = assert!(
    END_BYTES == 10 + 2 + 12 + 2 + 8,
    "a member has a head, the length of its extra field and the field, its data, and a tail"
);

/// Writes an archive to a file, or to another writer.
pub struct Writer<W: Write> {
    out: Counted<W>,
    block: Vec<u8>,
    plain: Sha256,
    index: Index,
    tail: Tail,
}

/// The counts of a written archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// How many items.
    pub items: u64,
    /// The earliest time of an item, in milliseconds since 1970; 0 if there is none.
    pub from: u64,
    /// The latest.
    pub to: u64,
    /// Bytes before compression.
    pub plain_bytes: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// SHA-256 of the file in hexadecimal digits, as `sha256sum` prints it.
    pub sha256: String,
}

/// A writer that counts and hashes all bytes.
struct Counted<W> {
    out: W,
    bytes: u64,
    hash: Sha256,
}

impl<W: Write> Counted<W> {
    fn member(&mut self, plain: &[u8]) -> io::Result<()> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(plain)?;
        self.raw(&packed.finish()?)
    }

    fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

fn line<T: Serialize>(value: &T) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

/// The last member of a file whose tail begins at this offset.
pub(crate) fn end(tail: u64) -> [u8; END_BYTES] {
    let mut end = [0; END_BYTES];
    // Magic, deflate, an extra field, no time, no hint, an unknown system; 12 bytes of extra field.
    end[..12].copy_from_slice(&[0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 12, 0]);
    end[12..16].copy_from_slice(&[b'R', b'A', 8, 0]);
    end[16..24].copy_from_slice(&tail.to_le_bytes());
    // An empty block; its checksum and its length are zero.
    end[24] = 3;
    end
}

impl<W: Write> Writer<W> {
    /// Begin an archive. Use a buffered writer. The caller syncs the file.
    ///
    /// # Errors
    /// When nothing can be written.
    pub fn new(out: W, head: &Head) -> io::Result<Self> {
        assert_eq!(head.rialto_archive, LAYOUT, "the layout that is written");
        let mut writer = Self {
            out: Counted {
                out,
                bytes: 0,
                hash: Sha256::new(),
            },
            block: Vec::new(),
            plain: Sha256::new(),
            index: Index::default(),
            tail: Tail {
                items: 0,
                from: 0,
                to: 0,
                bytes: 0,
                sha256: String::new(),
                blocks: Vec::new(),
                index: Vec::new(),
            },
        };
        let head = line(head)?;
        writer.count(&head);
        writer.out.member(&head)?;
        writer.tail.blocks.push(writer.out.bytes);
        Ok(writer)
    }

    fn count(&mut self, plain: &[u8]) {
        self.plain.update(plain);
        self.tail.bytes += plain.len() as u64;
    }

    /// Add an item: an object that has these subjects as `about` and this time as `at`.
    ///
    /// # Errors
    /// When it cannot be written, or is too long to be read back.
    pub fn item<T: Serialize>(
        &mut self,
        item: &T,
        about: &[&str],
        at: u64,
    ) -> Result<(), ArchiveError> {
        let wrong = |error: &dyn std::fmt::Display| ArchiveError::Item(error.to_string());
        let line = line(item).map_err(|error| wrong(&error))?;
        if line.len() > LINE_BYTES_MAX {
            let much = format!("{} bytes, at most {LINE_BYTES_MAX} are read", line.len());
            return Err(wrong(&much));
        }
        assert!(
            !self.tail.blocks.is_empty(),
            "an item comes before it is known where items begin"
        );
        let block = u32::try_from(self.tail.blocks.len() - 1).map_err(|error| wrong(&error))?;
        self.index.add(block, about);
        let tail = &mut self.tail;
        tail.from = if tail.items == 0 {
            at
        } else {
            tail.from.min(at)
        };
        tail.to = tail.to.max(at);
        tail.items += 1;
        assert!(
            (tail.from..=tail.to).contains(&at),
            "an item of {at} is among {} from {} to {}",
            tail.items,
            tail.from,
            tail.to
        );
        self.count(&line);
        self.block.extend_from_slice(&line);
        if self.block.len() >= BLOCK_BYTES {
            self.end_block().map_err(|error| wrong(&error))?;
        }
        Ok(())
    }

    fn end_block(&mut self) -> io::Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let begins = self.tail.blocks.last().copied().unwrap_or_default();
        self.out.member(&self.block)?;
        assert!(
            self.out.bytes > begins,
            "a block begins at byte {begins} and ends at byte {}",
            self.out.bytes
        );
        self.block.clear();
        self.tail.blocks.push(self.out.bytes);
        Ok(())
    }

    /// Write the index and the end. Returns the writer, to be synced, and the counts.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> io::Result<(W, Written)> {
        self.end_block()?;
        let index = std::mem::take(&mut self.index);
        let mut lines: Vec<u8> = Vec::new();
        let mut first: Option<String> = None;
        for (subject, found) in index.0 {
            let began = first.get_or_insert_with(|| subject.clone());
            lines.extend(line(&Line(subject, found))?);
            if lines.len() >= BLOCK_BYTES {
                let began = std::mem::take(began);
                self.index_member(began, &mut lines)?;
                first = None;
            }
        }
        if let Some(began) = first {
            self.index_member(began, &mut lines)?;
        }
        assert!(
            lines.is_empty() && self.block.is_empty(),
            "{} bytes of the index and {} of items are not written",
            lines.len(),
            self.block.len()
        );
        let offset = self.out.bytes;
        self.tail.sha256 = HEXLOWER.encode(&self.plain.finalize());
        self.out.member(&line(&self.tail)?)?;
        self.out.raw(&end(offset))?;
        assert!(
            self.out.bytes > offset + END_BYTES as u64,
            "the tail begins at byte {offset}, and the file ends at byte {}",
            self.out.bytes
        );
        self.out.out.flush()?;
        let written = Written {
            items: self.tail.items,
            from: self.tail.from,
            to: self.tail.to,
            plain_bytes: self.tail.bytes,
            bytes: self.out.bytes,
            sha256: HEXLOWER.encode(&self.out.hash.finalize()),
        };
        Ok((self.out.out, written))
    }

    fn index_member(&mut self, first: String, lines: &mut Vec<u8>) -> io::Result<()> {
        if let Some((before, offset)) = self.tail.index.last() {
            assert!(
                *before < first && *offset < self.out.bytes,
                "a part of the index from `{first}` at byte {} comes after one from `{before}` at byte {offset}",
                self.out.bytes
            );
        }
        self.tail.index.push((first, self.out.bytes));
        self.out.member(lines)?;
        lines.clear();
        Ok(())
    }
}

//! Reads an archive: all items, or those about a subject.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::bufread::{GzDecoder, MultiGzDecoder};
use serde::de::DeserializeOwned;

use crate::index::Line;
use crate::write::{BLOCK_BYTES, END_BYTES, LINE_BYTES_MAX, end};
use crate::{ArchiveError, Head, LAYOUT, Tail};

/// The longest block, in bytes: nearly a whole block and one line of the greatest length.
const MEMBER_BYTES_MAX: u64 = LINE_BYTES_MAX as u64 + (1 << 20);

const _: () = assert!(
    (BLOCK_BYTES + LINE_BYTES_MAX) as u64 <= MEMBER_BYTES_MAX,
    "a block that ends with the longest line can be read"
);

/// An open archive, with its head and tail.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    file: BufReader<File>,
    head: Head,
    tail: Tail,
}

impl Reader {
    /// Open a file.
    ///
    /// # Errors
    /// When it is not there, or is no archive.
    pub fn open(path: &Path) -> Result<Self, ArchiveError> {
        let io = |source| ArchiveError::Io {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        let mut file = BufReader::new(file);
        let last = length.checked_sub(END_BYTES as u64);
        let last = last.ok_or_else(|| damaged(path, "it is too short"))?;
        let mut bytes = [0; END_BYTES];
        file.seek(SeekFrom::Start(last)).map_err(io)?;
        file.read_exact(&mut bytes).map_err(io)?;
        let offset = tail_offset(&bytes).filter(|offset| *offset < last);
        let offset = offset.ok_or_else(|| damaged(path, "it does not end as an archive does"))?;
        let tail: Tail = one(path, &member(path, &mut file, offset)?)?;
        let head: Head = one(path, &member(path, &mut file, 0)?)?;
        if head.rialto_archive != LAYOUT {
            let layout = format!(
                "its layout is {}, this version reads {LAYOUT}",
                head.rialto_archive
            );
            return Err(damaged(path, layout));
        }
        if tail.blocks.is_empty() {
            return Err(damaged(path, "its tail does not say where items are"));
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            head,
            tail,
        })
    }

    /// Its head.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Its tail.
    pub fn tail(&self) -> &Tail {
        &self.tail
    }

    /// The number of items about a subject.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn count(&mut self, subject: &str) -> Result<u64, ArchiveError> {
        let found = self.find(subject)?;
        Ok(found.iter().map(|(_, count)| u64::from(*count)).sum())
    }

    /// The lines of items that are about a subject, in the order of the file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn about(&mut self, subject: &str) -> Result<Vec<String>, ArchiveError> {
        let mut lines = Vec::new();
        for (block, count) in self.find(subject)? {
            let wrong = || damaged(&self.path, format!("its index names a block {block}"));
            let offset = self.tail.blocks.get(block as usize).ok_or_else(wrong)?;
            let block = member(&self.path, &mut self.file, *offset)?;
            let mut left = count;
            for line in block.lines() {
                if left == 0 {
                    break;
                }
                let item: Subjects<'_> = one(&self.path, line)?;
                if item.about.iter().any(|about| about == subject) {
                    lines.push(line.to_owned());
                    left -= 1;
                }
            }
        }
        Ok(lines)
    }

    fn find(&mut self, subject: &str) -> Result<Vec<(u32, u32)>, ArchiveError> {
        let behind = self
            .tail
            .index
            .partition_point(|(first, _)| first.as_str() <= subject);
        let Some((_, offset)) = behind.checked_sub(1).map(|n| &self.tail.index[n]) else {
            return Ok(Vec::new());
        };
        let lines = member(&self.path, &mut self.file, *offset)?;
        for line in lines.lines() {
            let Line(of, found) = one(&self.path, line)?;
            if of == subject {
                return Ok(found);
            }
        }
        Ok(Vec::new())
    }
}

/// The subjects of an item.
#[derive(serde::Deserialize)]
pub(crate) struct Subjects<'a> {
    #[serde(borrow)]
    pub about: Vec<std::borrow::Cow<'a, str>>,
    pub at: u64,
}

/// The offset of the tail, from the last bytes of a file.
pub(crate) fn tail_offset(bytes: &[u8; END_BYTES]) -> Option<u64> {
    let mut offset = [0; 8];
    offset.copy_from_slice(&bytes[16..24]);
    let offset = u64::from_le_bytes(offset);
    (end(offset) == *bytes).then_some(offset)
}

pub(crate) fn damaged(path: &Path, what: impl std::fmt::Display) -> ArchiveError {
    ArchiveError::Damaged {
        path: path.to_owned(),
        what: what.to_string(),
    }
}

pub(crate) fn one<'t, T: serde::Deserialize<'t>>(
    path: &Path,
    line: &'t str,
) -> Result<T, ArchiveError> {
    serde_json::from_str(line).map_err(|error| damaged(path, error))
}

/// The text of the member at this offset. Its gzip checksum is verified.
fn member(path: &Path, file: &mut BufReader<File>, offset: u64) -> Result<String, ArchiveError> {
    let wrong = |error: std::io::Error| damaged(path, format!("at byte {offset}: {error}"));
    file.seek(SeekFrom::Start(offset)).map_err(wrong)?;
    let mut text = String::new();
    let mut packed = GzDecoder::new(file).take(MEMBER_BYTES_MAX);
    packed.read_to_string(&mut text).map_err(wrong)?;
    if text.len() as u64 == MEMBER_BYTES_MAX {
        return Err(damaged(path, format!("at byte {offset}: it is too long")));
    }
    Ok(text)
}

/// Visit all lines of a file, the head's first, the tail's last.
///
/// # Errors
/// When it cannot be read, and the visitor's own errors.
pub fn lines<E: From<ArchiveError>>(
    path: &Path,
    visit: &mut dyn FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    let file = File::open(path).map_err(|source| ArchiveError::Io {
        path: path.to_owned(),
        source,
    })?;
    lines_of(path, BufReader::new(file), visit)
}

pub(crate) fn lines_of<E: From<ArchiveError>>(
    path: &Path,
    file: impl std::io::BufRead,
    visit: &mut dyn FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    let mut plain = BufReader::with_capacity(64 << 10, MultiGzDecoder::new(file));
    let mut line = String::new();
    loop {
        line.clear();
        let most = LINE_BYTES_MAX as u64 + 1;
        let read = plain.by_ref().take(most).read_line(&mut line);
        match read.map_err(|error| damaged(path, error))? {
            0 => return Ok(()),
            n if n as u64 == most => return Err(damaged(path, "a line is too long").into()),
            _ => visit(line.strip_suffix('\n').unwrap_or(&line))?,
        }
    }
}

impl Reader {
    /// The items about a subject, in the order of the file.
    ///
    /// # Errors
    /// When the file cannot be read, or an item is not of this form.
    pub fn items<T: DeserializeOwned>(&mut self, subject: &str) -> Result<Vec<T>, ArchiveError> {
        let lines = self.about(subject)?;
        lines.iter().map(|line| one(&self.path, line)).collect()
    }

    /// The number of lines of each block. Reads each block, and each member of the index, at its offset in the tail.
    pub(crate) fn lines_of_blocks(&mut self) -> Result<Vec<u64>, ArchiveError> {
        let mut blocks = Vec::new();
        let starts = self.tail.blocks.len() - 1;
        for offset in &self.tail.blocks[..starts] {
            let block = member(&self.path, &mut self.file, *offset)?;
            blocks.push(block.lines().count() as u64);
        }
        for (first, offset) in &self.tail.index {
            let lines = member(&self.path, &mut self.file, *offset)?;
            let line = lines.lines().next().unwrap_or_default();
            let Line(subject, _) = one(&self.path, line)?;
            if subject != *first {
                let what = format!("its index begins with `{subject}` where `{first}` should be");
                return Err(damaged(&self.path, what));
            }
        }
        Ok(blocks)
    }
}

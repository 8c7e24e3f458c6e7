//! Tar archives of plain files with short names, in one form: ustar headers without times and users.

use std::io::{self, Write};
use std::ops::Range;

use crate::BundleError;

/// Headers and contents fill whole blocks.
const BLOCK: usize = 512;
/// Zeros at the end.
const END: usize = 2 * BLOCK;

/// Where a header has what.
const NAME: Range<usize> = 0..100;
const MODE: Range<usize> = 100..108;
const USER: Range<usize> = 108..116;
const GROUP: Range<usize> = 116..124;
const SIZE: Range<usize> = 124..136;
const TIME: Range<usize> = 136..148;
const CHECKSUM: Range<usize> = 148..156;
const KIND: usize = 156;
const MAGIC: Range<usize> = 257..265;
const MAJOR: Range<usize> = 329..337;
const MINOR: Range<usize> = 337..345;
const PREFIX: usize = 345;

/// The kind of plain files.
const PLAIN: u8 = b'0';
/// The format and its version.
const USTAR: &[u8; 8] = b"ustar\x0000";

/// Writes an entry. The name has at most 100 bytes.
pub(crate) fn entry(out: &mut impl Write, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut header = [0; BLOCK];
    header[NAME][..name.len()].copy_from_slice(name.as_bytes());
    header[MODE].copy_from_slice(b"0000644\0");
    header[USER].copy_from_slice(b"0000000\0");
    header[GROUP].copy_from_slice(b"0000000\0");
    header[SIZE].copy_from_slice(format!("{:011o}\0", bytes.len()).as_bytes());
    header[TIME].copy_from_slice(b"00000000000\0");
    header[KIND] = PLAIN;
    header[MAGIC].copy_from_slice(USTAR);
    header[MAJOR].copy_from_slice(b"0000000\0");
    header[MINOR].copy_from_slice(b"0000000\0");
    let sum = checksum(&header);
    header[CHECKSUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    out.write_all(&header)?;
    out.write_all(bytes)?;
    out.write_all(&[0; BLOCK][..padding(bytes.len())])
}

/// Writes the end.
pub(crate) fn end(out: &mut impl Write) -> io::Result<()> {
    out.write_all(&[0; END])
}

/// The bytes of an archive with entries of these lengths.
pub(crate) fn length(entries: impl Iterator<Item = usize>) -> usize {
    let entries = entries.map(|bytes| BLOCK + bytes + padding(bytes));
    entries.sum::<usize>() + END
}

/// An entry of an archive that is read.
pub(crate) struct Entry<'a> {
    pub name: &'a str,
    pub bytes: &'a [u8],
}

/// The entries of an archive.
///
/// # Errors
/// With the first entry that cannot be read, or is no plain file. Names are not judged.
pub(crate) fn read(archive: &[u8]) -> Result<Vec<Entry<'_>>, BundleError> {
    let mut entries = Vec::new();
    let mut at = 0;
    loop {
        let bad = |why| BundleError::Header { at, why };
        let truncated = |within: &str| BundleError::Truncated {
            within: within.to_owned(),
        };
        let header = archive.get(at..at + BLOCK);
        let header = header.ok_or_else(|| truncated("the archive's headers"))?;
        if header.iter().all(|byte| *byte == 0) {
            // The one form has no more than the end; a reader that packs again finds what follows.
            return Ok(entries);
        }
        if &header[MAGIC] != USTAR {
            return Err(bad("it is no ustar header"));
        }
        let said = octal(&header[CHECKSUM]).ok_or(bad("its checksum is no number"))?;
        if said != u64::from(checksum(header)) {
            return Err(bad("its checksum is wrong"));
        }
        let name = header[NAME].split(|byte| *byte == 0).next();
        let name = name.and_then(|name| std::str::from_utf8(name).ok());
        let name = name.ok_or(bad("its name is no text"))?;
        if header[KIND] != PLAIN {
            return Err(BundleError::NotPlain {
                name: name.to_owned(),
            });
        }
        if header[PREFIX] != 0 {
            return Err(bad("its name has a second part"));
        }
        let size = octal(&header[SIZE]).ok_or(bad("its size is no number"))?;
        let size = usize::try_from(size).map_err(|_| bad("its size is no number"))?;
        let begin = at + BLOCK;
        let end = begin.checked_add(size);
        let bytes = end.and_then(|end| archive.get(begin..end));
        let bytes = bytes.ok_or_else(|| truncated(name))?;
        entries.push(Entry { name, bytes });
        at = begin + size + padding(size);
    }
}

/// The sum of a header's bytes, with spaces in the place of the sum.
fn checksum(header: &[u8]) -> u32 {
    let bytes = header.iter().enumerate();
    bytes
        .map(|(at, byte)| {
            let is_sum = CHECKSUM.contains(&at);
            u32::from(if is_sum { b' ' } else { *byte })
        })
        .sum()
}

/// An octal number that ends in a zero byte or a space.
fn octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?;
    u64::from_str_radix(text.trim_end_matches(['\0', ' ']), 8).ok()
}

const fn padding(bytes: usize) -> usize {
    (BLOCK - bytes % BLOCK) % BLOCK
}

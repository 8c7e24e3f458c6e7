//! How the entries of one file are compressed: as one stream, so that an entry refers to what the entries before it in the
//! file have already, which is most of it. So the entries of a file can only be read from its beginning, in order.
//!
//! A packed entry is the version of its layout, its length before compression (four bytes, little-endian), and its part of
//! the file's LZ4 frame, which has linked blocks and no end.

use std::borrow::Cow;
use std::io::{Read as _, Write as _};

use lz4_flex::block::{compress_prepend_size, decompress_size_prepended};
use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};
use rialto_engine::store::StoreError;

use crate::unreadable;

/// The first byte of an entry that is a part of its file's stream.
const IN_STREAM: u8 = 8;
/// The first byte of an entry that is compressed by itself, with the same content.
const BY_ITSELF: u8 = 7;
/// The bytes before an entry's part of the stream.
const HEAD: usize = 5;
/// LZ4 makes at most so many bytes of one.
const LONGER_AT_MOST: usize = 256;

/// An entry's bytes that can be read without others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Encoded {
    /// Not compressed: from a file.
    Plain(Vec<u8>),
    /// As in the table: the version of its layout, and the content compressed by itself.
    Packed(Vec<u8>),
}

impl Encoded {
    /// The version of its layout, and its content.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn content(&self) -> Result<(u8, Cow<'_, [u8]>), StoreError> {
        match self {
            Self::Plain(content) => Ok((BY_ITSELF, content.into())),
            Self::Packed(bytes) => {
                let Some((&layout, packed)) = bytes.split_first() else {
                    return Err(broken("it is empty"));
                };
                let content = decompress_size_prepended(packed).map_err(broken)?;
                Ok((layout, content.into()))
            }
        }
    }

    /// The bytes for the table.
    pub fn packed(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Packed(bytes) => bytes.into(),
            Self::Plain(content) => {
                let mut bytes = vec![BY_ITSELF];
                bytes.extend(compress_prepend_size(content));
                bytes.into()
            }
        }
    }
}

/// Packs the entries of one file after the other.
pub(super) struct Packer(FrameEncoder<Vec<u8>>);

impl Default for Packer {
    fn default() -> Self {
        let frame = FrameInfo::new()
            .block_mode(BlockMode::Linked)
            .block_size(BlockSize::Max64KB);
        Self(FrameEncoder::with_frame_info(frame, Vec::new()))
    }
}

impl Packer {
    /// Append the next entry's bytes.
    ///
    /// # Errors
    /// When it has 4 GiB or more.
    pub fn append(&mut self, content: &[u8], to: &mut Vec<u8>) -> Result<(), StoreError> {
        let length = content.len();
        let length = u32::try_from(length)
            .map_err(|_| StoreError::Failed(format!("a group of {length} bytes is too large")))?;
        to.push(IN_STREAM);
        to.extend(length.to_le_bytes());
        std::mem::swap(self.0.get_mut(), to);
        let written = self.0.write_all(content).and_then(|()| self.0.flush());
        std::mem::swap(self.0.get_mut(), to);
        written.map_err(|error| StoreError::Failed(error.to_string()))
    }
}

/// Unpacks the entries of one file, in order.
pub(super) struct Unpacker<'f>(FrameDecoder<&'f [u8]>);

impl<'f> Unpacker<'f> {
    /// Before the first entry of a file.
    pub fn new() -> Self {
        Self(FrameDecoder::new(&[]))
    }

    /// Unpack the next entry.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn next(&mut self, entry: &'f [u8]) -> Result<Encoded, StoreError> {
        if entry.first() != Some(&IN_STREAM) {
            return Ok(Encoded::Packed(entry.to_vec()));
        }
        let Some((head, part)) = entry.split_first_chunk::<HEAD>() else {
            return Err(broken("it is cut off"));
        };
        let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length / LONGER_AT_MOST > part.len() {
            return Err(broken(format!("{length} bytes in {}", part.len())));
        }
        *self.0.get_mut() = part;
        let mut content = vec![0; length];
        self.0.read_exact(&mut content).map_err(broken)?;
        Ok(Encoded::Plain(content))
    }
}

fn broken(why: impl std::fmt::Display) -> StoreError {
    unreadable("a group of the journal", why)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    /// Contents of all lengths around those of blocks and of the window, which repeat each other in part.
    fn contents() -> Vec<Vec<u8>> {
        let lengths = [
            1, 100, 0, 65_535, 65_536, 65_537, 7, 200_000, 3_000, 131_072, 64, 300_000, 65_536, 12,
        ];
        let content = |(n, length): (usize, &usize)| {
            let at = |at: usize| ((at / 7) ^ (at % 31) ^ (at / 5_000 * n)).to_le_bytes()[0];
            (0..*length).map(at).collect()
        };
        lengths.iter().enumerate().map(content).collect()
    }

    fn packed(contents: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut packer = Packer::default();
        let pack = |content: &Vec<u8>| {
            let mut bytes = b"before".to_vec();
            packer.append(content, &mut bytes).unwrap();
            bytes.split_off("before".len())
        };
        contents.iter().map(pack).collect()
    }

    #[test]
    fn entries_of_a_file_are_read_in_order() {
        let contents: Vec<Vec<u8>> = (0..20).flat_map(|_| contents()).collect();
        let entries = packed(&contents);
        let mut unpacker = Unpacker::new();
        for (content, entry) in contents.iter().zip(&entries) {
            let read = unpacker.next(entry).unwrap();
            assert!(read == Encoded::Plain(content.clone()));
        }
        let short = packed(&[contents[3].clone(), contents[3].clone()]);
        assert!(
            short[1].len() * 10 < short[0].len(),
            "the second refers to the first"
        );
    }

    #[test]
    fn a_new_stream_refers_to_nothing_before_it() {
        let contents = contents();
        for content in &contents {
            let alone = packed(std::slice::from_ref(content));
            let read = Unpacker::new().next(&alone[0]).unwrap();
            assert!(read == Encoded::Plain(content.clone()));
        }
    }

    #[test]
    fn an_entry_without_those_before_it_is_an_error_and_never_another_entry() {
        let contents = contents();
        let entries = packed(&contents);
        for (content, entry) in contents.iter().zip(&entries).skip(1) {
            let read = Unpacker::new().next(entry);
            assert!(read.is_err() || content.is_empty());
        }
        for cut in 0..entries[1].len() {
            let mut unpacker = Unpacker::new();
            unpacker.next(&entries[0]).unwrap();
            assert!(unpacker.next(&entries[1][..cut]).is_err_and(|_| cut > 0) || cut == 0);
        }
    }

    #[test]
    fn an_entry_for_the_table_has_the_same_content() {
        let content = contents()[7].clone();
        let plain = Encoded::Plain(content.clone());
        let packed = Encoded::Packed(plain.packed().into_owned());
        for one in [plain, packed] {
            let (layout, read) = one.content().unwrap();
            assert_eq!((layout, &*read), (BY_ITSELF, &*content));
        }
        assert!(Encoded::Packed(Vec::new()).content().is_err());
    }
}

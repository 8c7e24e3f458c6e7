//! Pages: values of the history or of receipts, encoded together and compressed together.

use rialto_engine::store::StoreError;
use zstd::zstd_safe::{self, CCtx, CParameter, DCtx};

use crate::unreadable;

/// The first byte of a page of an earlier version: then the length, then a block of LZ4. Others are frames of Zstandard, which
/// begin with its magic number.
const LZ4: u8 = 1;

/// Zstandard's level of compression: its fastest usual one. The next ones gain some percent for a third more time.
pub(crate) const LEVEL: i32 = 1;

/// What compresses, at this level and with a checksum in each frame. None when memory ends.
pub(crate) fn context() -> Option<CCtx<'static>> {
    let mut context = CCtx::try_create()?;
    for parameter in [
        CParameter::CompressionLevel(LEVEL),
        CParameter::ChecksumFlag(true),
    ] {
        context.set_parameter(parameter).ok()?;
    }
    Some(context)
}

/// Compress the encoded values of a page.
///
/// # Errors
/// When memory ends.
pub(crate) fn pack(context: &mut CCtx<'_>, plain: &[u8]) -> Result<Vec<u8>, StoreError> {
    let mut page = Vec::with_capacity(zstd_safe::compress_bound(plain.len()));
    let packed = context.compress2(&mut page, plain);
    packed.map_err(|code| {
        let why = zstd_safe::get_error_name(code);
        StoreError::Failed(format!("a page cannot be compressed: {why}"))
    })?;
    page.shrink_to_fit();
    Ok(page)
}

/// The encoded values of a page. `what` it is goes into the error.
///
/// # Errors
/// When it is damaged.
pub(crate) fn unpack(what: &str, page: &[u8]) -> Result<Vec<u8>, StoreError> {
    if let Some((&LZ4, block)) = page.split_first() {
        return lz4_flex::block::decompress_size_prepended(block).map_err(|e| unreadable(what, e));
    }
    let length = zstd_safe::get_frame_content_size(page).ok().flatten();
    let length = length.and_then(|length| usize::try_from(length).ok());
    let length = length.ok_or_else(|| unreadable(what, "it is no page"))?;
    let mut plain: Vec<u8> = Vec::new();
    plain
        .try_reserve_exact(length)
        .map_err(|e| unreadable(what, e))?;
    DCtx::create()
        .decompress(&mut plain, page)
        .map_err(|code| unreadable(what, zstd_safe::get_error_name(code)))?;
    Ok(plain)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    #[test]
    fn pages_of_earlier_versions_are_read_too() {
        for plain in [b"".as_slice(), b"one", &[7; 300_000]] {
            let page = pack(&mut context().unwrap(), plain).unwrap();
            assert_eq!(unpack("a page", &page).unwrap(), plain);
            let mut earlier = vec![LZ4];
            earlier.extend(lz4_flex::block::compress_prepend_size(plain));
            assert_eq!(unpack("a page", &earlier).unwrap(), plain);
        }
    }

    #[test]
    fn a_damaged_page_is_refused() {
        let page = pack(&mut context().unwrap(), &[7; 1_000]).unwrap();
        for damaged in [
            &page[..page.len() - 1],
            b"",
            b"no page",
            // Of more bytes than there is memory.
            b"\x28\xb5\x2f\xfd\xe0\xff\xff\xff\xff\xff\xff\xff\x7f",
        ] {
            let why = unpack("a page", damaged).unwrap_err().to_string();
            assert!(
                why.starts_with("a page in the store cannot be read"),
                "{why}"
            );
        }
    }
}

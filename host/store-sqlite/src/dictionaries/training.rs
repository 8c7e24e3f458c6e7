//! Makes a dictionary of documents, and measures what it is worth.

use zstd::zstd_safe::{CCtx, CDict, compress_bound, get_dict_id_from_dict};

use super::masked::masked;
use crate::pages;

/// Bytes of a dictionary at most.
const DICTIONARY_MAX: usize = 4 << 10;
/// One of so many samples is not learned from: it shows what the dictionary is worth for documents that it has not seen.
const HELD_OUT: usize = 4;

/// A dictionary that was made.
pub(super) struct Trained {
    pub content: Vec<u8>,
    /// What remains of the samples that were held out, in thousandths.
    pub remains: u32,
}

/// Make the dictionary with this id of some documents. None if they have too little in common, or are too few.
pub(super) fn train(id: u32, samples: &[&str]) -> Option<Trained> {
    let of = |held_out: bool| {
        let numbered = samples.iter().enumerate();
        let some = numbered.filter(move |(n, _)| (n % HELD_OUT == 0) == held_out);
        some.map(|(_, sample)| *sample).collect::<Vec<&str>>()
    };
    let mut content = zstd::dict::from_samples(&masked(&of(false)), DICTIONARY_MAX).ok()?;
    // The id follows the four bytes by which a dictionary is recognised.
    content.get_mut(4..8)?.copy_from_slice(&id.to_le_bytes());
    assert!(
        get_dict_id_from_dict(&content).is_some_and(|found| found.get() == id),
        "the dictionary that gets id {id} has {:?}",
        get_dict_id_from_dict(&content)
    );
    let remains = remains(&mut by_dictionary(&content)?, &of(true));
    Some(Trained { content, remains })
}

/// What compresses by a dictionary. None if the dictionary is damaged.
pub(super) fn by_dictionary(content: &[u8]) -> Option<CCtx<'static>> {
    // A context looks at it with the first document only.
    CDict::try_create(content, pages::LEVEL)?;
    let mut context = pages::context()?;
    context.load_dictionary(content).ok()?;
    Some(context)
}

/// What remains of documents that are compressed by a dictionary, in thousandths.
pub(super) fn remains(context: &mut CCtx<'_>, documents: &[&str]) -> u32 {
    let (mut plain, mut packed) = (0, 0);
    for document in documents {
        plain += document.len();
        packed += frame(context, document).map_or(document.len(), |frame| frame.len());
    }
    u32::try_from(1000 * packed / plain.max(1)).unwrap_or(u32::MAX)
}

/// A document as a frame. None if it does not become smaller.
pub(super) fn frame(context: &mut CCtx<'_>, document: &str) -> Option<Vec<u8>> {
    let mut frame: Vec<u8> = Vec::with_capacity(compress_bound(document.len()));
    let packed = context.compress2(&mut frame, document.as_bytes());
    packed.ok().filter(|length| *length < document.len())?;
    frame.shrink_to_fit();
    Some(frame)
}

//! The form of what is encrypted: AES-256-GCM under a key that comes from the keys of all people whom it names.
//!
//! | Part | Bytes |
//! |---|---|
//! | the form: 1, or 2 for a compressed plaintext | 1 |
//! | how many people, big-endian | 2 |
//! | the place of each one's key | 12 each |
//! | nonce, random | 12 |
//! | the ciphertext | as many as the plaintext has, compressed or not |
//! | tag | 16 |
//!
//! A plaintext is compressed (a block of LZ4 behind its length) if that makes it shorter: the store and archives cannot
//! compress it afterwards. Its length says something about what it has in both forms.
//!
//! All parts, and what the record is, are authenticated. The key is SHA-256 of the people's keys, in the order of
//! their places; so each of them is needed.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::digest::{Context, SHA256};
use zeroize::Zeroizing;

use crate::pseudonym::{LEAF_BYTES, Leaf};
use crate::tree::Seed;

/// The form with the plaintext as it is.
const PLAIN: u8 = 1;
/// The form with a compressed plaintext.
const COMPRESSED: u8 = 2;
/// A shorter plaintext is not worth the try.
const COMPRESSED_FROM: usize = 128;
/// Bytes of the form and the number of people.
const HEAD_BYTES: usize = 3;
/// Bytes of the tag.
const TAG_BYTES: usize = 16;
/// The most people of one record.
pub const PEOPLE_MAX: usize = u16::MAX as usize;

/// What is encrypted, in its parts.
pub(crate) struct Parts<'a> {
    /// The places of the people's keys, in their order.
    pub(crate) people: Vec<Leaf>,
    /// All before the nonce.
    head: &'a [u8],
    nonce: &'a [u8],
    /// The ciphertext and the tag.
    content: &'a [u8],
}

impl<'a> Parts<'a> {
    /// The parts, if it has this form.
    pub(crate) fn of(sealed: &'a [u8]) -> Option<Self> {
        let [PLAIN | COMPRESSED, high, low, ..] = sealed else {
            return None;
        };
        let people = usize::from(u16::from_be_bytes([*high, *low]));
        let (head, rest) = sealed.split_at_checked(HEAD_BYTES + people * LEAF_BYTES)?;
        let (nonce, content) = rest.split_at_checked(NONCE_LEN)?;
        let (places, _) = head[HEAD_BYTES..].as_chunks::<LEAF_BYTES>();
        (content.len() >= TAG_BYTES).then(|| Self {
            people: places.iter().copied().map(Leaf).collect(),
            head,
            nonce,
            content,
        })
    }

    /// Decrypt; none if it is damaged, or is the content of another kind of record.
    pub(crate) fn open(&self, key: &Seed, record: &str) -> Option<Vec<u8>> {
        let key = UnboundKey::new(&AES_256_GCM, &**key).ok()?;
        let nonce = Nonce::try_assume_unique_for_key(self.nonce).ok()?;
        let mut content = self.content.to_vec();
        let associated = Aad::from([self.head, record.as_bytes()].concat());
        let opened = LessSafeKey::new(key).open_in_place(nonce, associated, &mut content);
        let length = opened.ok()?.len();
        content.truncate(length);
        match self.head {
            // It is authentic, so its length is true.
            [COMPRESSED, ..] => lz4_flex::block::decompress_size_prepended(&content).ok(),
            _ => Some(content),
        }
    }
}

/// The key of a record, from the keys of its people, in the order of their places.
pub(crate) fn record_key<'k>(keys: impl Iterator<Item = &'k Seed>) -> Seed {
    let mut context = Context::new(&SHA256);
    for key in keys {
        context.update(&**key);
    }
    let mut whole = Zeroizing::new([0; 32]);
    whole.copy_from_slice(context.finish().as_ref());
    whole
}

/// Encrypt. `people` are the places of their keys, in their order; `key` is from [`record_key`]. None if there are too
/// many people, the plaintext is longer than the cipher takes, or the system gives no randomness.
pub(crate) fn seal(people: &[Leaf], key: &Seed, record: &str, plain: &[u8]) -> Option<Vec<u8>> {
    let count = u16::try_from(people.len()).ok()?;
    let mut nonce = [0; NONCE_LEN];
    aws_lc_rs::rand::fill(&mut nonce).ok()?;
    let begin = HEAD_BYTES + people.len() * LEAF_BYTES;
    let compressed = compressed(plain);
    let (form, content) = match &compressed {
        Some(shorter) => (COMPRESSED, &**shorter),
        None => (PLAIN, plain),
    };
    let mut whole = Vec::with_capacity(begin + NONCE_LEN + content.len() + TAG_BYTES);
    whole.push(form);
    whole.extend_from_slice(&count.to_be_bytes());
    for Leaf(place) in people {
        whole.extend_from_slice(place);
    }
    let associated = Aad::from([whole.as_slice(), record.as_bytes()].concat());
    whole.extend_from_slice(&nonce);
    whole.extend_from_slice(content);
    let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &**key).ok()?);
    let tag = key.seal_in_place_separate_tag(
        Nonce::assume_unique_for_key(nonce),
        associated,
        &mut whole[begin + NONCE_LEN..],
    );
    whole.extend_from_slice(tag.ok()?.as_ref());
    Some(whole)
}

/// The plaintext compressed, if that is shorter.
fn compressed(plain: &[u8]) -> Option<Vec<u8>> {
    if plain.len() < COMPRESSED_FROM {
        return None;
    }
    let shorter = lz4_flex::block::compress_prepend_size(plain);
    (shorter.len() < plain.len()).then_some(shorter)
}

//! Ciphertexts: AES-256-GCM with a data key of their own, which is with them, wrapped by the service.
//!
//! | Part | Bytes |
//! |---|---|
//! | nonce | 12 |
//! | the form, 1 | 1 |
//! | the length of the wrapped data key, big-endian | 2 |
//! | the data key, wrapped by the service | about 180 |
//! | the ciphertext | as many as the plaintext has |
//! | tag | 16 |
//!
//! So a ciphertext begins with its nonce and ends with its tag, as those of other providers. The parts in between and
//! the caller's associated data are authenticated.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use rialto_keys::{KeyError, random};

/// The form of the ciphertexts that are made.
const FORM: u8 = 1;
/// Bytes of the form and the length.
const HEAD_BYTES: usize = 3;
/// Bytes of the tag.
const TAG_BYTES: usize = 16;
/// The longest wrapped data key.
pub(crate) const WRAPPED_BYTES_MAX: usize = 1_024;

/// A ciphertext in its parts.
pub(crate) struct Parts<'a> {
    nonce: &'a [u8],
    /// The form, the length and the wrapped data key.
    head: &'a [u8],
    /// The data key, wrapped by the service.
    pub(crate) wrapped: &'a [u8],
    /// The ciphertext and the tag.
    sealed: &'a [u8],
}

impl<'a> Parts<'a> {
    /// The parts of a ciphertext, if it has this form.
    pub(crate) fn of(ciphertext: &'a [u8]) -> Option<Self> {
        let (nonce, rest) = ciphertext.split_at_checked(NONCE_LEN)?;
        let [FORM, high, low, ..] = rest else {
            return None;
        };
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        if !(1..=WRAPPED_BYTES_MAX).contains(&length) {
            return None;
        }
        let (head, sealed) = rest.split_at_checked(HEAD_BYTES + length)?;
        (sealed.len() >= TAG_BYTES).then_some(Self {
            nonce,
            head,
            wrapped: &head[HEAD_BYTES..],
            sealed,
        })
    }

    /// Decrypt with the data key.
    pub(crate) fn open(&self, data_key: &[u8], associated: &[u8]) -> Result<Vec<u8>, KeyError> {
        let not_opened = |_| KeyError::NotOpened;
        let key = UnboundKey::new(&AES_256_GCM, data_key).map_err(not_opened)?;
        let nonce = Nonce::try_assume_unique_for_key(self.nonce).map_err(not_opened)?;
        let aad = [self.head, associated].concat();
        let mut content = self.sealed.to_vec();
        let opened = LessSafeKey::new(key).open_in_place(nonce, Aad::from(aad), &mut content);
        let length = opened.map_err(not_opened)?.len();
        content.truncate(length);
        Ok(content)
    }
}

/// Encrypt with a new data key and put it into the ciphertext, wrapped. None if these are no such keys.
pub(crate) fn seal(
    data_key: &[u8],
    wrapped: &[u8],
    plaintext: &[u8],
    associated: &[u8],
) -> Result<Option<Vec<u8>>, KeyError> {
    let length = u16::try_from(wrapped.len());
    let (Ok(key), Ok(length)) = (UnboundKey::new(&AES_256_GCM, data_key), length) else {
        return Ok(None);
    };
    if !(1..=WRAPPED_BYTES_MAX).contains(&wrapped.len()) {
        return Ok(None);
    }
    let head = [&[FORM], &length.to_be_bytes()[..], wrapped].concat();
    let mut nonce = [0; NONCE_LEN];
    nonce.copy_from_slice(&random(NONCE_LEN)?);
    let begin = NONCE_LEN + head.len();
    let mut whole = Vec::with_capacity(begin + plaintext.len() + TAG_BYTES);
    for part in [&nonce, head.as_slice(), plaintext] {
        whole.extend_from_slice(part);
    }
    let aad = [head.as_slice(), associated].concat();
    let tag = LessSafeKey::new(key)
        .seal_in_place_separate_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(aad),
            &mut whole[begin..],
        )
        .map_err(|_| KeyError::BadInput("it is too long to be encrypted".to_owned()))?;
    whole.extend_from_slice(tag.as_ref());
    Ok(Some(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bit_of_a_ciphertext_counts() {
        let (key, wrapped) = ([5; 32], [6; 40]);
        let sealed = seal(&key, &wrapped, b"plain", b"more").unwrap().unwrap();
        assert_eq!(sealed.len(), 12 + 3 + 40 + 5 + 16);
        let open = |ciphertext: &[u8], associated: &[u8]| {
            Parts::of(ciphertext)?.open(&key, associated).ok()
        };
        assert_eq!(open(&sealed, b"more").unwrap(), b"plain");
        assert_eq!(Parts::of(&sealed).unwrap().wrapped, wrapped);
        assert_eq!(open(&sealed, b"less"), None);
        assert!(Parts::of(&sealed).unwrap().open(&[4; 32], b"more").is_err());
        assert!(Parts::of(&sealed).unwrap().open(&[5; 31], b"more").is_err());
        for byte in 0..sealed.len() {
            for bit in 0..8 {
                let mut changed = sealed.clone();
                changed[byte] ^= 1 << bit;
                assert_eq!(open(&changed, b"more"), None, "byte {byte}, bit {bit}");
            }
        }
        for length in 0..sealed.len() {
            assert_eq!(open(&sealed[..length], b"more"), None, "{length} bytes");
        }
    }

    #[test]
    fn parts_cannot_move_into_the_associated_data() {
        let (key, wrapped) = ([5; 32], [6; 40]);
        let sealed = seal(&key, &wrapped, b"", b"more").unwrap().unwrap();
        // The same authenticated bytes with another border.
        let mut shorter = sealed.clone();
        shorter.remove(12 + 3 + 39);
        shorter[14] = 39;
        assert!(
            Parts::of(&shorter)
                .unwrap()
                .open(&key, b"\x06more")
                .is_err()
        );
    }

    #[test]
    fn unusable_data_keys_seal_nothing() {
        for (key, wrapped) in [(31, 40), (0, 40), (32, 0), (32, 1_025), (32, 70_000)] {
            let sealed = seal(&vec![5; key], &vec![6; wrapped], b"plain", b"");
            assert_eq!(sealed, Ok(None), "{key} {wrapped}");
        }
    }
}

//! Keys that encipher PIN blocks, and the block ciphers below them.

use std::fmt;

use aes::{Aes128, Aes192, Aes256};
use cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use des::TdesEde3;
use zeroize::{ZeroizeOnDrop, Zeroizing};

use super::Format;

/// The length of a part of a TDES key, in bytes.
const PART_LEN: usize = 8;
/// The bits of a key byte that DES uses. The other one is the parity.
const KEY_BITS: u8 = 0xFE;

/// A zone's PIN encryption key. It is overwritten with zeros when it is dropped.
pub struct PinKey(Cipher);

/// Why a key or a pair of formats cannot be used. It says nothing about a block or about a key's bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PinKeyError {
    /// A TDES key of another length.
    #[error("a TDES key has 16 or 24 bytes, this one has {0}")]
    TdesLength(usize),
    /// A TDES key that enciphers like single DES, which is too weak.
    #[error(
        "two neighbouring parts of the TDES key are equal, so it is single DES: use another key"
    )]
    SingleDes,
    /// An AES key of another length.
    #[error("an AES key has 16, 24 or 32 bytes, this one has {0}")]
    AesLength(usize),
    /// A key of the other kind.
    #[error("PIN blocks of format {format} need a key for {needed}")]
    WrongKey {
        /// The format.
        format: Format,
        /// The cipher that the format needs.
        needed: &'static str,
    },
    /// A translation that loses the account number.
    #[error(
        "ISO 9564-1 does not allow a translation from {from} to ISO-1: it loses the account number"
    )]
    Unbound {
        /// The format of the source.
        from: Format,
    },
}

impl PinKey {
    /// Makes a TDES key of two or three parts (16 or 24 bytes).
    ///
    /// Parity bits are ignored. A key of three parts may have equal outer parts: it is a key of two parts, written out.
    ///
    /// # Errors
    /// [`PinKeyError::TdesLength`]; [`PinKeyError::SingleDes`] if the middle part equals a neighbour.
    pub fn tdes(bytes: &[u8]) -> Result<Self, PinKeyError> {
        let mut parts = Zeroizing::new([0; 3 * PART_LEN]);
        match bytes.len() {
            16 => {
                parts[..16].copy_from_slice(bytes);
                parts[16..].copy_from_slice(&bytes[..PART_LEN]);
            }
            24 => parts.copy_from_slice(bytes),
            len => return Err(PinKeyError::TdesLength(len)),
        }
        let (first, rest) = parts.split_at(PART_LEN);
        let (second, third) = rest.split_at(PART_LEN);
        if is_same_key(first, second) || is_same_key(second, third) {
            return Err(PinKeyError::SingleDes);
        }
        let cipher = TdesEde3::new((&*parts).into());
        Ok(Self(Cipher::Tdes(Tdes(Box::new(cipher)))))
    }

    /// Makes an AES key of 16, 24 or 32 bytes.
    ///
    /// # Errors
    /// [`PinKeyError::AesLength`].
    pub fn aes(bytes: &[u8]) -> Result<Self, PinKeyError> {
        let wrong = |_| PinKeyError::AesLength(bytes.len());
        let cipher = match bytes.len() {
            16 => Aes::Of128(Box::new(Aes128::new_from_slice(bytes).map_err(wrong)?)),
            24 => Aes::Of192(Box::new(Aes192::new_from_slice(bytes).map_err(wrong)?)),
            _ => Aes::Of256(Box::new(Aes256::new_from_slice(bytes).map_err(wrong)?)),
        };
        Ok(Self(Cipher::Aes(cipher)))
    }

    /// The cipher with this key.
    pub(super) const fn cipher(&self) -> &Cipher {
        &self.0
    }
}

impl fmt::Debug for PinKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0 {
            Cipher::Tdes(_) => "TDES",
            Cipher::Aes(_) => "AES",
        };
        write!(f, "PinKey({name})")
    }
}

/// Whether two parts of a key are equal apart from their parity bits.
fn is_same_key(a: &[u8], b: &[u8]) -> bool {
    let differing = a.iter().zip(b).fold(0, |bits, (a, b)| bits | (a ^ b));
    differing & KEY_BITS == 0
}

/// A block cipher with its key.
///
/// The expanded keys are in boxes: moving a [`PinKey`] then leaves no copy of them behind.
pub(super) enum Cipher {
    Tdes(Tdes),
    Aes(Aes),
}

/// TDES with a key.
pub(super) struct Tdes(Box<TdesEde3>);

/// AES with a key.
pub(super) enum Aes {
    Of128(Box<Aes128>),
    Of192(Box<Aes192>),
    Of256(Box<Aes256>),
}

/// The build fails if the ciphers are built without wiping their keys.
const _: () = {
    const fn is_wiped<T: ZeroizeOnDrop>() {}
    is_wiped::<TdesEde3>();
    is_wiped::<Aes128>();
    is_wiped::<Aes192>();
    is_wiped::<Aes256>();
};

// Every variant of `Cipher` holds a type of the list above.
impl ZeroizeOnDrop for PinKey {}

impl Tdes {
    /// Enciphers a block in place.
    pub(super) fn encrypt(&self, block: &mut [u8; 8]) {
        self.0.encrypt_block(block.into());
    }

    /// Deciphers a block in place.
    pub(super) fn decrypt(&self, block: &mut [u8; 8]) {
        self.0.decrypt_block(block.into());
    }
}

impl Aes {
    /// Enciphers a block in place.
    pub(super) fn encrypt(&self, block: &mut [u8; 16]) {
        match self {
            Self::Of128(cipher) => cipher.encrypt_block(block.into()),
            Self::Of192(cipher) => cipher.encrypt_block(block.into()),
            Self::Of256(cipher) => cipher.encrypt_block(block.into()),
        }
    }

    /// Deciphers a block in place.
    pub(super) fn decrypt(&self, block: &mut [u8; 16]) {
        match self {
            Self::Of128(cipher) => cipher.decrypt_block(block.into()),
            Self::Of192(cipher) => cipher.decrypt_block(block.into()),
            Self::Of256(cipher) => cipher.decrypt_block(block.into()),
        }
    }
}

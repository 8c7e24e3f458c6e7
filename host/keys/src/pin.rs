//! Translates PIN blocks of ISO 9564-1:2017 between formats and between the keys of two zones.
//!
//! A zone is a key and a format. [`translate`] deciphers a block with the key of one zone, checks it, writes the PIN
//! in the format of the other zone, and enciphers it with that zone's key. The clear PIN stays in this module.
//!
//! Rules that hold here:
//! - Formats 0, 1 and 3 use TDES and blocks of 8 bytes. Format 4 uses AES and blocks of 16 bytes.
//! - A PIN has 4 to 12 digits.
//! - Formats 0, 3 and 4 bind the block to an account number. A translation keeps the account number.
//! - No translation leads from formats 0, 3 and 4 to format 1, because format 1 loses the account number.
//! - Every failure of a block is the same [`PinError`]. A caller who could tell failures apart could find the PIN.
//! - The checks of a deciphered block do not branch on its content. A bad block is enciphered like a good one, and
//!   only then refused.
//! - Clear PINs, account numbers and intermediate blocks are overwritten with zeros when they are dropped.

use std::fmt;

use aws_lc_rs::rand;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

mod field;
mod key;
#[cfg(test)]
mod tests;

use field::{Layout, Pan, Pin, RANDOM_LEN};
use key::{Aes, Cipher, Tdes};
pub use key::{PinKey, PinKeyError};

/// A format of PIN blocks (ISO 9564-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Format {
    /// Format 0: bound to the account number, filled with `F`. TDES, 8 bytes.
    #[serde(rename = "ISO-0")]
    Iso0,
    /// Format 1: not bound to an account number, filled at random. TDES, 8 bytes.
    #[serde(rename = "ISO-1")]
    Iso1,
    /// Format 3: as format 0, filled at random with `A` to `F`. TDES, 8 bytes.
    #[serde(rename = "ISO-3")]
    Iso3,
    /// Format 4: bound to the account number between two encipherments. AES, 16 bytes.
    #[serde(rename = "ISO-4")]
    Iso4,
}

impl Format {
    /// The format's name: `ISO-0`, `ISO-1`, `ISO-3` or `ISO-4`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Iso0 => "ISO-0",
            Self::Iso1 => "ISO-1",
            Self::Iso3 => "ISO-3",
            Self::Iso4 => "ISO-4",
        }
    }

    /// The length of a block, in bytes.
    #[must_use]
    pub const fn block_len(self) -> usize {
        match self {
            Self::Iso0 | Self::Iso1 | Self::Iso3 => 8,
            Self::Iso4 => 16,
        }
    }

    /// Whether a block is bound to an account number.
    #[must_use]
    pub const fn is_bound(self) -> bool {
        !matches!(self, Self::Iso1)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A zone: the key and the format of its PIN blocks. The key fits the format.
#[derive(Clone, Copy, Debug)]
pub struct Zone<'k>(Blocks<'k>);

/// The format of a zone with the cipher that the format needs.
#[derive(Clone, Copy)]
enum Blocks<'k> {
    Iso0(&'k Tdes),
    Iso1(&'k Tdes),
    Iso3(&'k Tdes),
    Iso4(&'k Aes),
}

impl fmt::Debug for Blocks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.format().name())
    }
}

impl Blocks<'_> {
    const fn format(self) -> Format {
        match self {
            Self::Iso0(_) => Format::Iso0,
            Self::Iso1(_) => Format::Iso1,
            Self::Iso3(_) => Format::Iso3,
            Self::Iso4(_) => Format::Iso4,
        }
    }
}

impl<'k> Zone<'k> {
    /// Joins a key and a format.
    ///
    /// # Errors
    /// [`PinKeyError::WrongKey`] if the format needs the other kind of key.
    pub fn new(key: &'k PinKey, format: Format) -> Result<Self, PinKeyError> {
        let blocks = match (format, key.cipher()) {
            (Format::Iso0, Cipher::Tdes(cipher)) => Blocks::Iso0(cipher),
            (Format::Iso1, Cipher::Tdes(cipher)) => Blocks::Iso1(cipher),
            (Format::Iso3, Cipher::Tdes(cipher)) => Blocks::Iso3(cipher),
            (Format::Iso4, Cipher::Aes(cipher)) => Blocks::Iso4(cipher),
            (Format::Iso0 | Format::Iso1 | Format::Iso3, Cipher::Aes(_)) => {
                return Err(PinKeyError::WrongKey {
                    format,
                    needed: "TDES",
                });
            }
            (Format::Iso4, Cipher::Tdes(_)) => {
                return Err(PinKeyError::WrongKey {
                    format,
                    needed: "AES",
                });
            }
        };
        Ok(Self(blocks))
    }

    /// The format of the zone's blocks.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.0.format()
    }
}

/// The error of a PIN block. It is the same for every cause, so that a caller learns nothing about the PIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the PIN block cannot be translated")]
pub struct PinError;

/// Checks that ISO 9564-1 allows a translation from one format to the other.
///
/// The result depends on the formats only, so the caller may show the error.
///
/// # Errors
/// [`PinKeyError::Unbound`] if `to` is format 1 and `from` is not.
pub const fn check_pair(from: Format, to: Format) -> Result<(), PinKeyError> {
    if from.is_bound() && !to.is_bound() {
        return Err(PinKeyError::Unbound { from });
    }
    Ok(())
}

/// Translates a block from one zone to another.
///
/// `pan` is the primary account number with its check digit: 8 to 19 digits. The check digit itself is not checked.
/// A translation from format 1 to format 1 does not use `pan`.
///
/// # Errors
/// [`PinError`], whatever the cause: a block of the wrong length, a block that is not well-formed under this key and
/// account number, an account number that is no such number, a pair of formats that [`check_pair`] refuses, or a
/// random source that fails.
pub fn translate(
    block: &[u8],
    from: &Zone<'_>,
    to: &Zone<'_>,
    pan: &str,
) -> Result<Vec<u8>, PinError> {
    let mut random = Zeroizing::new([0; RANDOM_LEN]);
    rand::fill(random.as_mut_slice()).map_err(|_| PinError)?;
    translate_with(block, from, to, pan, &random)
}

/// [`translate`] with given random bytes.
fn translate_with(
    block: &[u8],
    from: &Zone<'_>,
    to: &Zone<'_>,
    pan: &str,
    random: &[u8; RANDOM_LEN],
) -> Result<Vec<u8>, PinError> {
    check_pair(from.format(), to.format()).map_err(|_| PinError)?;
    let pan = if from.format().is_bound() || to.format().is_bound() {
        Pan::parse(pan).ok_or(PinError)?
    } else {
        Pan::default()
    };
    let mut pin = Pin::default();
    open(block, from.0, &pan, &mut pin)?;
    // A PIN that is not valid is sealed too, so that it takes the same time as a valid one.
    let sealed = seal(&pin, to.0, &pan, random);
    if pin.is_valid() {
        Ok(sealed)
    } else {
        Err(PinError)
    }
}

/// Deciphers a block and reads its PIN. The PIN may be invalid. Fails only if the length of the block is wrong.
fn open(block: &[u8], blocks: Blocks<'_>, pan: &Pan, pin: &mut Pin) -> Result<(), PinError> {
    let layout = Layout::of(blocks.format());
    match blocks {
        Blocks::Iso0(cipher) | Blocks::Iso3(cipher) => {
            let mut field = copy::<8>(block)?;
            cipher.decrypt(&mut field);
            pan.bind(&mut field);
            pin.read(&field, layout);
        }
        Blocks::Iso1(cipher) => {
            let mut field = copy::<8>(block)?;
            cipher.decrypt(&mut field);
            pin.read(&field, layout);
        }
        Blocks::Iso4(cipher) => {
            let mut field = copy::<16>(block)?;
            cipher.decrypt(&mut field);
            pan.bind_extended(&mut field);
            cipher.decrypt(&mut field);
            // The last 8 bytes are random. No value of them is wrong.
            let (digits, _) = field.split_first_chunk().expect("16 bytes begin with 8");
            pin.read(digits, layout);
        }
    }
    Ok(())
}

/// Copies an enciphered block to where it is deciphered in place.
fn copy<const N: usize>(block: &[u8]) -> Result<Zeroizing<[u8; N]>, PinError> {
    let block = block.try_into().map_err(|_| PinError)?;
    Ok(Zeroizing::new(block))
}

/// Writes a PIN to a new block and enciphers it.
fn seal(pin: &Pin, blocks: Blocks<'_>, pan: &Pan, random: &[u8; RANDOM_LEN]) -> Vec<u8> {
    let layout = Layout::of(blocks.format());
    let (fill, tail) = random.split_first_chunk().expect("24 bytes begin with 16");
    let mut field = Zeroizing::new([0; 8]);
    pin.write(&mut field, layout, fill);
    match blocks {
        Blocks::Iso0(cipher) | Blocks::Iso3(cipher) => {
            pan.bind(&mut field);
            cipher.encrypt(&mut field);
            field.to_vec()
        }
        Blocks::Iso1(cipher) => {
            cipher.encrypt(&mut field);
            field.to_vec()
        }
        Blocks::Iso4(cipher) => {
            let mut extended = Zeroizing::new([0; 16]);
            extended[..8].copy_from_slice(&*field);
            extended[8..].copy_from_slice(tail);
            cipher.encrypt(&mut extended);
            pan.bind_extended(&mut extended);
            cipher.encrypt(&mut extended);
            extended.to_vec()
        }
    }
}

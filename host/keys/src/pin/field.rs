//! The clear fields of ISO 9564-1: the PIN field and the account number field.
//!
//! Functions that see digits of a PIN do not branch on them and do not use them as an index. They work with masks:
//! a byte of ones for true, zero for false.

use std::hint::black_box;

use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::Format;

/// How many random bytes a new block takes: 16 for the fill digits, 8 for the end of format 4.
pub(super) const RANDOM_LEN: usize = 24;

/// Digits of 4 bits in a PIN field after its first byte: the PIN, then the fill digits.
const DIGITS: usize = 14;
/// The fewest digits of a PIN.
const PIN_LEN_MIN: u8 = 4;
/// The most digits of a PIN.
const PIN_LEN_MAX: u8 = 12;
/// The fewest digits of an account number, with the check digit.
const PAN_LEN_MIN: usize = 8;
/// The most digits of an account number, with the check digit.
const PAN_LEN_MAX: usize = 19;
/// Digits of an account number in the field of formats 0 and 3. In format 4 a shorter number is padded to it.
const PAN_FIELD_DIGITS: usize = 12;

/// What is special about the PIN field of a format.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    /// The first digit.
    control: u8,
    /// The least fill digit.
    fill_min: u8,
    /// The greatest fill digit.
    fill_max: u8,
}

impl Layout {
    /// The layout of a format.
    pub(super) const fn of(format: Format) -> Self {
        let (control, fill_min, fill_max) = match format {
            Format::Iso0 => (0, 0xF, 0xF),
            Format::Iso1 => (1, 0x0, 0xF),
            Format::Iso3 => (3, 0xA, 0xF),
            Format::Iso4 => (4, 0xA, 0xA),
        };
        Self {
            control,
            fill_min,
            fill_max,
        }
    }

    /// The fill digits of a new block, each equally likely.
    ///
    /// The 128 random bits are read as a number in base 1, 6 or 16. At most 6^14 (37 bits) of it are used with base
    /// 6, so the digits are even to within 2^-91. With base 16 they are exactly even.
    fn fill(self, random: &[u8; 16]) -> Zeroizing<[u8; DIGITS]> {
        let base = u128::from(self.fill_max - self.fill_min) + 1;
        let mut rest = Zeroizing::new(u128::from_be_bytes(*random));
        let mut digits = Zeroizing::new([self.fill_min; DIGITS]);
        for digit in digits.iter_mut() {
            *digit += (*rest % base) as u8;
            *rest /= base;
        }
        digits
    }
}

/// A clear PIN as it stands in a field. It may be invalid: [`Pin::is_valid`] says so.
///
/// It is filled in place and not moved, so that no copy stays on the stack.
#[derive(Default, Zeroize, ZeroizeOnDrop)]
pub(super) struct Pin {
    /// The PIN, and behind it other digits that do not matter.
    digits: [u8; DIGITS],
    /// How many digits the PIN has.
    len: u8,
    /// All ones if the field was well-formed.
    valid: u8,
}

impl Pin {
    /// Reads the first 8 bytes of a clear PIN field, without the account number.
    pub(super) fn read(&mut self, field: &[u8; 8], layout: Layout) {
        self.len = field[0] & 0xF;
        let mut valid = equal(field[0] >> 4, layout.control);
        valid &= between(self.len, PIN_LEN_MIN, PIN_LEN_MAX);
        for (place, digit) in (0..).zip(&mut self.digits) {
            *digit = nibble(field, 2 + usize::from(place));
            let is_decimal = less(*digit, 10);
            let is_fill = between(*digit, layout.fill_min, layout.fill_max);
            valid &= select(less(place, self.len), is_decimal, is_fill);
        }
        self.valid = valid;
    }

    /// Writes the first 8 bytes of a clear PIN field, without the account number. The field must be zero.
    /// An invalid PIN gives some bytes.
    pub(super) fn write(&self, field: &mut [u8; 8], layout: Layout, random: &[u8; 16]) {
        let fill = layout.fill(random);
        field[0] = layout.control << 4 | self.len;
        for (place, (digit, fill)) in (0..).zip(self.digits.iter().zip(fill.iter())) {
            let digit = select(less(place, self.len), *digit, *fill);
            add_nibble(field, 2 + usize::from(place), digit);
        }
    }

    /// Whether the field was well-formed. This is the only branch on the content of a block.
    pub(super) fn is_valid(&self) -> bool {
        self.valid != 0
    }
}

/// A primary account number with its check digit.
#[derive(Default, Zeroize, ZeroizeOnDrop)]
pub(super) struct Pan {
    digits: [u8; PAN_LEN_MAX],
    len: usize,
}

impl Pan {
    /// Reads 8 to 19 digits. `None` for any other text.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut pan = Self {
            len: text.len(),
            ..Self::default()
        };
        if !(PAN_LEN_MIN..=PAN_LEN_MAX).contains(&pan.len) {
            return None;
        }
        for (digit, byte) in pan.digits.iter_mut().zip(text.bytes()) {
            *digit = byte.wrapping_sub(b'0');
            if *digit > 9 {
                return None;
            }
        }
        Some(pan)
    }

    fn digits(&self) -> &[u8] {
        &self.digits[..self.len]
    }

    /// Adds the number to a PIN field of format 0 or 3, bit by bit. The same call takes it away again.
    ///
    /// The account number field is: four zeros, then the last 12 digits before the check digit. A shorter number has
    /// zeros before it.
    pub(super) fn bind(&self, field: &mut [u8; 8]) {
        let from_the_right = self.digits().iter().rev().skip(1).take(PAN_FIELD_DIGITS);
        for (place, digit) in (0..2 * field.len()).rev().zip(from_the_right) {
            add_nibble(field, place, *digit);
        }
    }

    /// Adds the number to an intermediate block of format 4, bit by bit. The same call takes it away again.
    ///
    /// The account number field is: the number of digits above 12, the whole number, then zeros. A number that has
    /// fewer digits than 12 has zeros before it.
    pub(super) fn bind_extended(&self, block: &mut [u8; 16]) {
        let above = self.len.saturating_sub(PAN_FIELD_DIGITS);
        let before = PAN_FIELD_DIGITS.saturating_sub(self.len);
        add_nibble(block, 0, above as u8);
        for (place, digit) in (1 + before..).zip(self.digits()) {
            add_nibble(block, place, *digit);
        }
    }
}

/// The digit of 4 bits at a place.
const fn nibble(field: &[u8], place: usize) -> u8 {
    let byte = field[place / 2];
    if place.is_multiple_of(2) {
        byte >> 4
    } else {
        byte & 0xF
    }
}

/// Adds a digit of 4 bits to the one at a place, bit by bit.
const fn add_nibble(field: &mut [u8], place: usize, digit: u8) {
    field[place / 2] ^= if place.is_multiple_of(2) {
        digit << 4
    } else {
        digit
    };
}

/// The mask of `a < b`. Both are at most 127.
fn less(a: u8, b: u8) -> u8 {
    // `black_box` keeps the compiler from making a branch of it.
    black_box(a.wrapping_sub(b) >> 7).wrapping_neg()
}

/// The mask of `a == b`. Both are at most 127.
fn equal(a: u8, b: u8) -> u8 {
    less(a ^ b, 1)
}

/// The mask of `min <= a <= max`. All are at most 126.
fn between(a: u8, min: u8, max: u8) -> u8 {
    !less(a, min) & less(a, max + 1)
}

/// `yes` if the mask is true, else `no`.
const fn select(mask: u8, yes: u8, no: u8) -> u8 {
    (mask & yes) | (!mask & no)
}

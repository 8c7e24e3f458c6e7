//! Sizes in bytes, written with a binary unit.

use std::fmt;
use std::str::FromStr;

use super::{Invalid, text_value};

/// A number of bytes, written `16 MiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(u64);

text_value!(
    Size,
    "size",
    "a size",
    "16 MiB",
    "^(0|[1-9][0-9]*) ?(B|KiB|MiB|GiB)$"
);

/// Units, the largest first.
const UNITS: [(&str, u64); 4] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("B", 1),
];

impl Size {
    /// That many bytes.
    #[must_use]
    pub const fn from_bytes(bytes: u64) -> Self {
        Self(bytes)
    }

    /// That many times 1024 bytes.
    #[must_use]
    pub const fn from_kib(kib: u32) -> Self {
        Self((kib as u64) << 10)
    }

    /// That many times 1024 times 1024 bytes.
    #[must_use]
    pub const fn from_mib(mib: u32) -> Self {
        Self((mib as u64) << 20)
    }

    /// In bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, bytes) = UNITS
            .into_iter()
            .find(|(_, bytes)| self.0 != 0 && self.0.is_multiple_of(*bytes))
            .unwrap_or(("B", 1));
        write!(f, "{} {unit}", self.0 / bytes)
    }
}

impl FromStr for Size {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (number, unit) = split_number(text)
            .ok_or_else(|| Invalid::new("write a whole number and a unit, as in `16 MiB`"))?;
        let (_, factor) = UNITS
            .into_iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(|| Invalid::new("the units are B, KiB, MiB and GiB"))?;
        number
            .checked_mul(factor)
            .map(Self)
            .ok_or_else(|| Invalid::new("it is too large"))
    }
}

/// A whole number without superfluous zeros, at most one space, and the rest.
pub(super) fn split_number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (digits, unit) = text.split_at(end);
    if digits.len() > 1 && digits.starts_with('0') {
        return None;
    }
    Some((digits.parse().ok()?, unit.strip_prefix(' ').unwrap_or(unit)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_whole_numbers_with_a_binary_unit() {
        for (text, bytes) in [
            ("0 B", 0),
            ("1 B", 1),
            ("64 KiB", 65_536),
            ("16MiB", 16 << 20),
        ] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
        for bad in [
            "16",
            "16 MB",
            "16  MiB",
            "1.5 MiB",
            "-1 B",
            "MiB",
            "016 B",
            "16 mib",
            " 1 B",
            "1 B ",
            "18446744073709551616 B",
            "17179869184 GiB",
        ] {
            assert!(bad.parse::<Size>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_size_is_read_as_it_was_written(bytes: u64) {
            let size = Size(bytes);
            prop_assert_eq!(size.to_string().parse(), Ok(size));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".*") {
            let _ = text.parse::<Size>();
        }
    }
}

//! Hexadecimal digits in lower case, as `sha256sum` writes them.

/// The bytes of an even number of digits.
#[must_use]
pub fn bytes(digits: &[u8]) -> Option<Vec<u8>> {
    let (pairs, []) = digits.as_chunks::<2>() else {
        return None;
    };
    let value = |digit: &u8| b"0123456789abcdef".iter().position(|one| one == digit);
    let byte = |[high, low]: &[u8; 2]| u8::try_from(value(high)? * 16 + value(low)?).ok();
    pairs.iter().map(byte).collect()
}

/// The 32 bytes of 64 digits. It is made for long lists, and uses little fuel.
#[must_use]
pub fn bytes_of_hash(digits: &[u8]) -> Option<[u8; 32]> {
    let digits: &[u8; 64] = digits.try_into().ok()?;
    let mut hash = [0; 32];
    let (parts, _) = hash.as_chunks_mut::<4>();
    for (part, digits) in parts.iter_mut().zip(digits.as_chunks::<8>().0) {
        *part = four_bytes(*digits)?;
    }
    Some(hash)
}

/// The bytes of eight hexadecimal digits in lower case.
///
/// The function computes with all eight digits at once: each is a byte of an integer. With a table of digits, reading a
/// hash needs more than twice the fuel.
fn four_bytes(digits: [u8; 8]) -> Option<[u8; 4]> {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let digits = u64::from_le_bytes(digits);
    // Only letters have bit 6. The low half of a letter is its value less 9. A sum is at most 24, so it does not reach
    // the next byte.
    let letters = (digits >> 6) & EACH;
    let values = (digits & (0x0f * EACH)).wrapping_add(letters.wrapping_mul(9));
    // The digits are written again from their values. Any other byte changes by that, or has a value above 15.
    let from_ten = (values.wrapping_add(6 * EACH) >> 4) & EACH;
    let again = values
        .wrapping_add(0x30 * EACH)
        .wrapping_add(from_ten.wrapping_mul(0x27));
    if values & (0xf0 * EACH) != 0 || again != digits {
        return None;
    }
    // Of each two bytes, the first value is the high half of the result.
    let pairs = ((values << 4) | (values >> 8)) & 0x00ff_00ff_00ff_00ff;
    let halves = (pairs | (pairs >> 8)) & 0x0000_ffff_0000_ffff;
    Some(((halves | (halves >> 16)) as u32).to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::testing::Dice;

    const DIGITS: &[u8; 16] = b"0123456789abcdef";

    #[test]
    fn eight_digits_are_four_bytes() {
        let mut dice = Dice::new(4);
        for _ in 0..20_000 {
            let expected = (dice.any() as u32).to_be_bytes();
            let text = format!("{:08x}", u32::from_be_bytes(expected));
            let digits: [u8; 8] = text.as_bytes().try_into().unwrap();
            assert_eq!(four_bytes(digits), Some(expected));
            assert_eq!(bytes(&digits), Some(expected.to_vec()));
        }
    }

    #[test]
    fn every_other_byte_at_every_place_is_refused() {
        for place in 0..8 {
            for byte in 0..=255 {
                for other in DIGITS {
                    let mut digits = [*other; 8];
                    digits[place] = byte;
                    let is_digit = DIGITS.contains(&byte);
                    assert_eq!(four_bytes(digits).is_some(), is_digit, "{digits:?}");
                    assert_eq!(bytes(&digits).is_some(), is_digit, "{digits:?}");
                }
            }
        }
    }

    #[test]
    fn a_hash_has_64_digits() {
        let digits = DIGITS.repeat(4);
        let expected: Option<[u8; 32]> = bytes(&digits).and_then(|all| all.try_into().ok());
        assert!(expected.is_some());
        assert_eq!(bytes_of_hash(&digits), expected);
        for count in [0, 1, 32, 62, 63, 65, 66, 72, 128] {
            assert_eq!(bytes_of_hash(&DIGITS.repeat(8)[..count]), None, "{count}");
        }
        assert_eq!(bytes(b"0"), None);
        assert_eq!(bytes(b""), Some(Vec::new()));
    }
}

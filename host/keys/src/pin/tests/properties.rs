//! What holds for every PIN, account number, key and block.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::oracle::{decode, encode, hex, open, pin_of, seal};
use super::*;

/// A format and the bytes of a key for it.
type Side = (Format, Vec<u8>);

fn side() -> impl Strategy<Value = Side> {
    let format = select(&FORMATS[..]);
    format.prop_flat_map(|format| {
        let lengths = match format {
            Format::Iso4 => &[16, 24, 32][..],
            _ => &[16, 24][..],
        };
        let key = select(lengths).prop_flat_map(|len| vec(any::<u8>(), len));
        key.prop_filter_map("single DES", move |key| {
            pin_key(format, &key).is_ok().then_some((format, key))
        })
    })
}

/// A pair that [`check_pair`] allows.
fn pair() -> impl Strategy<Value = (Side, Side)> {
    let pairs = (side(), side());
    pairs.prop_filter("a pair that is not allowed", |(from, to)| {
        check_pair(from.0, to.0).is_ok()
    })
}

fn pin() -> impl Strategy<Value = String> {
    "[0-9]{4,12}"
}

fn pan() -> impl Strategy<Value = String> {
    "[0-9]{8,19}"
}

/// A clear PIN field of a format with up to three digits replaced.
fn spoilt_field(format: Format) -> impl Strategy<Value = String> {
    let changes = vec((0_usize..16, 0_u8..16), 0..=3);
    (pin(), any::<u128>(), changes).prop_map(move |(pin, seed, changes)| {
        let block = encode(format, &key_bytes(format), &pin, PAN, seed);
        let mut field = open(format, &key_bytes(format), &block, PAN);
        for (place, digit) in changes {
            field.replace_range(place..=place, &format!("{digit:X}"));
        }
        field
    })
}

/// [`translate`] between two sides.
fn between(block: &[u8], from: &Side, to: &Side, pan: &str) -> Result<Vec<u8>, PinError> {
    let from_key = pin_key(from.0, &from.1).unwrap();
    let to_key = pin_key(to.0, &to.1).unwrap();
    let from = Zone::new(&from_key, from.0).unwrap();
    let to = Zone::new(&to_key, to.0).unwrap();
    translate(block, &from, &to, pan)
}

/// Checks a result: the one error, or a well-formed block.
fn check(result: &Result<Vec<u8>, PinError>, to: &Side, pan: &str) {
    match result {
        Ok(block) => {
            assert_eq!(block.len(), to.0.block_len());
            assert!(decode(to.0, &to.1, block, pan).is_some());
        }
        Err(error) => assert_eq!(error.to_string(), PinError.to_string()),
    }
}

proptest! {
    #[test]
    fn a_pin_survives_every_allowed_chain(
        pin in pin(), pan in pan(), seed: u128, start in side(), hops in vec(side(), 1..6),
    ) {
        let mut at = start;
        let mut block = encode(at.0, &at.1, &pin, &pan, seed);
        for next in hops {
            let result = between(&block, &at, &next, &pan);
            if check_pair(at.0, next.0).is_err() {
                prop_assert_eq!(result, Err(PinError));
                continue;
            }
            block = result.unwrap();
            at = next;
            let read = decode(at.0, &at.1, &block, &pan);
            prop_assert_eq!(read.as_ref(), Some(&pin));
        }
    }

    #[test]
    fn exactly_the_well_formed_fields_are_translated(
        (format, field) in select(&FORMATS[..])
            .prop_flat_map(|format| (Just(format), spoilt_field(format))),
    ) {
        let block = seal(format, &key_bytes(format), &field, PAN);
        let to = if format == Format::Iso1 { Format::Iso1 } else { Format::Iso0 };
        let result = translated(&block, format, to, PAN);
        let read = result.ok().and_then(|block| decode(to, &key_bytes(to), &block, PAN));
        prop_assert_eq!(read, pin_of(format, &field), "{}", field);
    }

    #[test]
    fn a_changed_bit_gives_an_error_or_a_block(
        pin in pin(), pan in pan(), seed: u128, (from, to) in pair(), bit in 0_usize..128,
    ) {
        let mut block = encode(from.0, &from.1, &pin, &pan, seed);
        let bit = bit % (8 * block.len());
        block[bit / 8] ^= 1 << (bit % 8);
        check(&between(&block, &from, &to, &pan), &to, &pan);
    }

    #[test]
    fn another_account_number_gives_an_error_or_a_block(
        pin in pin(), pan in pan(), other in pan(), seed: u128, (from, to) in pair(),
    ) {
        let block = encode(from.0, &from.1, &pin, &pan, seed);
        check(&between(&block, &from, &to, &other), &to, &other);
    }

    #[test]
    fn another_key_gives_an_error_or_a_block(
        pin in pin(), pan in pan(), seed: u128, (from, to) in pair(), key in vec(any::<u8>(), 32),
    ) {
        let block = encode(from.0, &from.1, &pin, &pan, seed);
        let len = from.1.len();
        prop_assume!(pin_key(from.0, &key[..len]).is_ok());
        let other = (from.0, key[..len].to_vec());
        check(&between(&block, &other, &to, &pan), &to, &pan);
    }

    #[test]
    fn any_bytes_and_any_text_give_no_panic(
        block in vec(any::<u8>(), 0..40), pan in "\\PC{0,24}", (from, to) in pair(),
    ) {
        let result = between(&block, &from, &to, &pan);
        if let Ok(block) = &result {
            prop_assert_eq!(block.len(), to.0.block_len());
        }
    }

    #[test]
    fn format_0_refuses_another_digit_over_a_fill_digit(
        pin in "[0-9]{4,5}", pan in "[0-9]{13,19}", place in 1_usize..9, step in 1_u32..10,
    ) {
        // Places from the right, after the check digit. The PIN ends before the twelfth to ninth digit.
        let at = pan.len() - 1 - place;
        let digit = pan[at..=at].parse::<u32>().unwrap();
        let mut other = pan.clone();
        other.replace_range(at..=at, &((digit + step) % 10).to_string());
        let block = encode(Format::Iso0, &key_bytes(Format::Iso0), &pin, &pan, 0);
        let result = translated(&block, Format::Iso0, Format::Iso0, &other);
        prop_assert_eq!(result, Err(PinError), "{}", hex(&block));
    }
}

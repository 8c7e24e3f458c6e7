//! Published examples and known answers.

use super::oracle::{bytes, hex, open, seal};
use super::*;

/// Enciphers a block with a key and deciphers it again.
fn enciphered(key: &PinKey, plain: &str) -> String {
    match key.cipher() {
        Cipher::Tdes(cipher) => {
            let mut block = bytes(plain).try_into().unwrap();
            cipher.encrypt(&mut block);
            let answer = hex(&block);
            cipher.decrypt(&mut block);
            assert_eq!(hex(&block), plain);
            answer
        }
        Cipher::Aes(cipher) => {
            let mut block = bytes(plain).try_into().unwrap();
            cipher.encrypt(&mut block);
            let answer = hex(&block);
            cipher.decrypt(&mut block);
            assert_eq!(hex(&block), plain);
            answer
        }
    }
}

/// NIST SP 800-67, appendix B: "The qufck brown fox jump" in three blocks. It has no equal parts.
#[test]
fn tdes_with_three_parts_gives_known_answers() {
    let key = "0123456789ABCDEF23456789ABCDEF01456789ABCDEF0123";
    let key = PinKey::tdes(&bytes(key)).unwrap();
    for (plain, answer) in [
        ("5468652071756663", "A826FD8CE53B855F"),
        ("6B2062726F776E20", "CCE21C8112256FE6"),
        ("666F78206A756D70", "68D5C05DD9B6B900"),
    ] {
        assert_eq!(enciphered(&key, plain), answer);
    }
}

/// The DESede test of Bouncy Castle: "Now is the time for all " in three blocks.
#[test]
fn tdes_with_two_parts_gives_known_answers() {
    let key = PinKey::tdes(&bytes("0123456789ABCDEFFEDCBA9876543210")).unwrap();
    for (plain, answer) in [
        ("4E6F772069732074", "D80A0D8B2BAE5E4E"),
        ("68652074696D6520", "6A0094171ABCFC27"),
        ("666F7220616C6C20", "75D2235A706E232C"),
    ] {
        assert_eq!(enciphered(&key, plain), answer);
    }
}

/// FIPS 197, appendices C.1 to C.3.
#[test]
fn aes_gives_known_answers_for_every_length() {
    let key = "000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F";
    for (len, answer) in [
        (16, "69C4E0D86A7B0430D8CDB78070B4C55A"),
        (24, "DDA97CA4864CDFE06EAF70A0EC0D7191"),
        (32, "8EA2B7CA516745BFEAFC49904B496089"),
    ] {
        let key = PinKey::aes(&bytes(key)[..len]).unwrap();
        assert_eq!(enciphered(&key, "00112233445566778899AABBCCDDEEFF"), answer);
    }
}

/// Parity bits are the lowest bits of the key's bytes.
#[test]
fn parity_bits_of_a_key_change_nothing() {
    let key = bytes("0123456789ABCDEFFEDCBA9876543210");
    let inverted: Vec<u8> = key.iter().map(|byte| byte ^ 1).collect();
    let plain = "4E6F772069732074";
    assert_eq!(
        enciphered(&PinKey::tdes(&key).unwrap(), plain),
        enciphered(&PinKey::tdes(&inverted).unwrap(), plain)
    );
}

/// The clear blocks that translations from format 1 to another format of TDES give.
fn clear_blocks(pin_field: &str, to: Format, pan: &str, random: u128) -> String {
    let key_bytes = bytes(TDES);
    let key = PinKey::tdes(&key_bytes).unwrap();
    let from = Zone::new(&key, Format::Iso1).unwrap();
    let zone = Zone::new(&key, to).unwrap();
    let block = seal(Format::Iso1, &key_bytes, pin_field, "");
    let block = translate_with(&block, &from, &zone, pan, &with_fill(random)).unwrap();
    // Format 1 has no account number, so the oracle gives the block as it is.
    open(Format::Iso1, &key_bytes, &block, "")
}

/// Random bytes of which the first 16 are given.
fn with_fill(number: u128) -> [u8; RANDOM_LEN] {
    let mut random = [0; RANDOM_LEN];
    random[..16].copy_from_slice(&number.to_be_bytes());
    random
}

/// Random bytes of which the last 8 are given.
fn with_tail(tail: &str) -> [u8; RANDOM_LEN] {
    let mut random = [0; RANDOM_LEN];
    random[16..].copy_from_slice(&bytes(tail));
    random
}

/// EFTlab, "Complete list of PIN-blocks"; the manual of an HSM, "format 01"; tests of psec. By hand, the first two:
/// `041234FFFFFFFFFF` xor `0000987654321098` = `0412AC89ABCDEF67`,
/// `0592389FFFFFFFFF` xor `0000400000123456` = `0592789FFFEDCBA9`.
#[test]
fn format_0_gives_the_published_clear_blocks() {
    for (field, pan, clear) in [
        ("1412340000000000", "43219876543210987", "0412AC89ABCDEF67"),
        ("1592389000000000", "4000001234562", "0592789FFFEDCBA9"),
        ("1412340000000000", "5555555551234567", "041261AAAAEDCBA9"),
        ("1912345678900000", "5555555551234567", "091261032D8DCBA9"),
        ("1A12345678900000", "5555555551234567", "0A1261032D82CBA9"),
        ("1C12345678901200", "5555555551234567", "0C1261032D8226A9"),
    ] {
        assert_eq!(clear_blocks(field, Format::Iso0, pan, 0), clear);
    }
}

/// Tests of psec. Their fill digits are all `F`: the greatest number of 14 digits in base 6. The last one by hand,
/// with fill digits `A`: `341234AAAAAAAAAA` xor `0000555555123456` = `341261FFFFB89EFC`.
#[test]
fn format_3_gives_the_published_clear_blocks() {
    let all_f = 6_u128.pow(14) - 1;
    for (field, random, clear) in [
        ("1412340000000000", all_f, "341261AAAAEDCBA9"),
        ("1912345678900000", all_f, "391261032D8DCBA9"),
        ("1A12345678900000", all_f, "3A1261032D82CBA9"),
        ("1C12345678901200", all_f, "3C1261032D8226A9"),
        ("1412340000000000", 0, "341261FFFFB89EFC"),
    ] {
        assert_eq!(clear_blocks(field, Format::Iso3, PAN, random), clear);
    }
}

/// IBM's description of ISO format 1: `1`, length, PIN, random digits. The values are by hand: the random number gives
/// its digits from the lowest on, and the four digits of the PIN cover the first four.
#[test]
fn format_1_is_filled_with_any_digits() {
    for (random, clear) in [
        (0xDCBA_9876_5432_10FF, "14123423456789AB"),
        (u128::MAX, "141234FFFFFFFFFF"),
        (0, "1412340000000000"),
    ] {
        let field = "141234DEADBEEF00";
        assert_eq!(clear_blocks(field, Format::Iso1, "", random), clear);
    }
}

/// ANSI X9.24-1:2004, appendix A.4, first transaction: PIN 1234, account number 4012345678909, clear block
/// `041274EDCBA9876F`. The key is the PIN encryption key of that transaction.
#[test]
fn format_0_opens_the_block_of_ansi_x9_24() {
    let key = PinKey::tdes(&bytes("042666B49184CF5C68DE9628D0397B36")).unwrap();
    let zone = Zone::new(&key, Format::Iso0).unwrap();
    let block = bytes("1B9C1845EB993A7A");
    // Format 0 has no random digits: the same key and format give the same block.
    assert_eq!(
        translate(&block, &zone, &zone, "4012345678909").unwrap(),
        block
    );
    // Account digits over fill digits: another one never gives a block.
    for pan in ["4012345678919", "4012345679909", "4012395678909"] {
        assert_eq!(translate(&block, &zone, &zone, pan), Err(PinError));
    }
}

/// Blocks of format 4: key, account number, random end, block. The first one is of the ep2 security specification
/// 8.0.0, section 8.4, as tests of psec have it. The second one is of tests of psec. The third one is the output of
/// another tool, with the intermediate blocks `2938DEEA32E4E3888BB452555DE9FFEB` and
/// `4D0AC76D57A7C2810CB452555DE9FFEB`. openssl gives the same for all three.
const FORMAT_4: [(&str, &str, &str, &str); 3] = [
    (
        "C1D0F8FB4958670DBA40AB1F3752EF0D",
        "432198765432109870",
        "146C6601F4A8035C",
        "CC17F65586BFD0953010226C4FC5B3CA",
    ),
    (
        "00112233445566778899AABBCCDDEEFF",
        "1234567890123456789",
        "FFFFFFFFFFFFFFFF",
        "28B41FDDD29B743E93124BD8E32D921E",
    ),
    (
        "00112233445566778899AABBCCDDEEFF",
        "432198765432109870",
        "146C6601F4A8035C",
        "88E33C3ACF404F234F10F889C364E377",
    ),
];

#[test]
fn format_4_opens_and_gives_the_published_blocks() {
    let tdes = PinKey::tdes(&bytes(TDES)).unwrap();
    let iso0 = Zone::new(&tdes, Format::Iso0).unwrap();
    for (key, pan, tail, block) in FORMAT_4 {
        let aes = PinKey::aes(&bytes(key)).unwrap();
        let iso4 = Zone::new(&aes, Format::Iso4).unwrap();
        let inner = translate(&bytes(block), &iso4, &iso0, pan).unwrap();
        let field = open(Format::Iso0, &bytes(TDES), &inner, pan);
        assert_eq!(field, "041234FFFFFFFFFF");
        let again = translate_with(&inner, &iso0, &iso4, pan, &with_tail(tail)).unwrap();
        assert_eq!(hex(&again), block);
    }
}

#[test]
fn published_blocks_refuse_every_changed_bit() {
    for (key, pan, _, block) in FORMAT_4 {
        let key = PinKey::aes(&bytes(key)).unwrap();
        let zone = Zone::new(&key, Format::Iso4).unwrap();
        for bit in 0..128 {
            let mut changed = bytes(block);
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(translate(&changed, &zone, &zone, pan), Err(PinError));
        }
    }
    let key = PinKey::tdes(&bytes("042666B49184CF5C68DE9628D0397B36")).unwrap();
    let zone = Zone::new(&key, Format::Iso0).unwrap();
    for bit in 0..64 {
        let mut changed = bytes("1B9C1845EB993A7A");
        changed[bit / 8] ^= 1 << (bit % 8);
        let result = translate(&changed, &zone, &zone, "4012345678909");
        assert_eq!(result, Err(PinError));
    }
}

#[test]
fn published_blocks_refuse_another_account_number_or_key() {
    for (key, pan, _, block) in FORMAT_4 {
        let right = PinKey::aes(&bytes(key)).unwrap();
        let zone = Zone::new(&right, Format::Iso4).unwrap();
        for place in 0..pan.len() {
            let mut other = pan.to_owned();
            let digit = if &pan[place..=place] == "5" { "6" } else { "5" };
            other.replace_range(place..=place, digit);
            let result = translate(&bytes(block), &zone, &zone, &other);
            assert_eq!(result, Err(PinError));
        }
        for bit in 0..128 {
            let mut other = bytes(key);
            other[bit / 8] ^= 1 << (bit % 8);
            let other = PinKey::aes(&other).unwrap();
            let other = Zone::new(&other, Format::Iso4).unwrap();
            let result = translate(&bytes(block), &other, &zone, pan);
            assert_eq!(result, Err(PinError));
        }
    }
}

/// Tests of psec: wrong control digit, a letter in the PIN, wrong fill digits, a PIN of three digits.
#[test]
fn published_wrong_blocks_of_format_4_are_refused() {
    for (key, pan, block) in [
        (
            "E60B15B90ABDF14CEE337C97440F0D6E",
            "4266229809609384667",
            "7D5AF4C33667A2098626027FB7A9A1B7",
        ),
        (
            "C7BBEBA16C5AD97D5866450718C03750",
            "8220499325458689523",
            "2F9C910447F17293EC95DEDE1E3CA201",
        ),
        (
            "820F6C7C12355BDFF1AB6CE12E8EED89",
            "939589847393485609",
            "CCF310A8300B46C925A86B1098089301",
        ),
        (
            "4FE3F0311936FBCE44F17159F1659CF09B2BF8913BB514A1",
            "2129100799029059903",
            "51334B00A6CBA3EC7B1C6F871F060AFC",
        ),
    ] {
        let key = PinKey::aes(&bytes(key)).unwrap();
        let zone = Zone::new(&key, Format::Iso4).unwrap();
        assert_eq!(translate(&bytes(block), &zone, &zone, pan), Err(PinError));
    }
}

/// The first one is of tests of psec. The others are by hand.
#[test]
fn format_4_binds_account_numbers_of_every_length() {
    for (pan, expected) in [
        ("112233445566778899", "61122334455667788990000000000000"),
        ("432198765432109870", "64321987654321098700000000000000"),
        ("12345678", "00000123456780000000000000000000"),
        ("123456789012", "01234567890120000000000000000000"),
        ("1234567890123", "11234567890123000000000000000000"),
        ("1234567890123456789", "71234567890123456789000000000000"),
    ] {
        let mut field = [0; 16];
        Pan::parse(pan).unwrap().bind_extended(&mut field);
        assert_eq!(hex(&field), expected);
    }
}

/// The first one is of the manual of an HSM, "format 01". The others are by hand.
#[test]
fn formats_0_and_3_bind_twelve_digits_without_check_digit() {
    for (pan, expected) in [
        ("4000001234562", "0000400000123456"),
        ("12345678", "0000000001234567"),
        ("1234567890123", "0000123456789012"),
        ("9876543219876543210", "0000321987654321"),
    ] {
        let mut field = [0; 8];
        Pan::parse(pan).unwrap().bind(&mut field);
        assert_eq!(hex(&field), expected);
    }
}

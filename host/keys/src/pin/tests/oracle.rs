//! A second implementation of ISO 9564-1 for tests. It works on texts of hexadecimal digits, enciphers AES with
//! aws-lc, and shares no code with the module.

use aws_lc_rs::cipher::{
    AES_128, AES_192, AES_256, DecryptingKey, DecryptionContext, EncryptingKey, UnboundCipherKey,
};
use cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use des::{TdesEde2, TdesEde3};

use super::Format;

/// The bytes of hexadecimal digits.
pub fn bytes(hex: &str) -> Vec<u8> {
    assert_eq!(hex.len() % 2, 0);
    (0..hex.len() / 2)
        .map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
        .collect()
}

/// The hexadecimal digits of bytes.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

/// Adds two numbers of hexadecimal digits bit by bit.
fn xor(a: &str, b: &str) -> String {
    assert_eq!(a.len(), b.len());
    let digit = |c: char| c.to_digit(16).unwrap();
    a.chars()
        .zip(b.chars())
        .map(|(a, b)| format!("{:X}", digit(a) ^ digit(b)))
        .collect()
}

/// The PIN field. The fill digits and the random end come from the digits of `seed`.
fn pin_field(format: Format, pin: &str, seed: u128) -> String {
    let random = format!("{seed:032X}");
    let fill: String = match format {
        Format::Iso0 => "F".repeat(16),
        Format::Iso1 => random[..16].to_owned(),
        Format::Iso3 => (random[..16].chars())
            .map(|c| char::from(b"ABCDEF"[c.to_digit(16).unwrap() as usize % 6]))
            .collect(),
        Format::Iso4 => "A".repeat(16),
    };
    let control = &format.name()[4..];
    let start: String = format!("{control}{:X}{pin}{fill}", pin.len())
        .chars()
        .take(16)
        .collect();
    match format {
        Format::Iso4 => format!("{start}{}", &random[16..]),
        _ => start,
    }
}

/// The account number field.
fn pan_field(format: Format, pan: &str) -> String {
    match format {
        Format::Iso1 => "0".repeat(16),
        Format::Iso4 => {
            let above = pan.len().max(12) - 12;
            format!("{:0<32}", format!("{above}{pan:0>12}"))
        }
        _ => {
            let padded = format!("{:0>16}", &pan[..pan.len() - 1]);
            format!("0000{}", &padded[padded.len() - 12..])
        }
    }
}

/// Enciphers one block.
fn encipher(key: &[u8], field: &str, format: Format) -> String {
    let mut block = bytes(field);
    match (format, key.len()) {
        (Format::Iso4, _) => {
            EncryptingKey::ecb(aes(key))
                .unwrap()
                .encrypt(&mut block)
                .unwrap();
        }
        (_, 16) => TdesEde2::new_from_slice(key)
            .unwrap()
            .encrypt_block((&mut block[..]).try_into().unwrap()),
        _ => TdesEde3::new_from_slice(key)
            .unwrap()
            .encrypt_block((&mut block[..]).try_into().unwrap()),
    }
    hex(&block)
}

/// Deciphers one block.
fn decipher(key: &[u8], block: &str, format: Format) -> String {
    let mut block = bytes(block);
    match (format, key.len()) {
        (Format::Iso4, _) => {
            let key = DecryptingKey::ecb(aes(key)).unwrap();
            key.decrypt(&mut block, DecryptionContext::None).unwrap();
        }
        (_, 16) => TdesEde2::new_from_slice(key)
            .unwrap()
            .decrypt_block((&mut block[..]).try_into().unwrap()),
        _ => TdesEde3::new_from_slice(key)
            .unwrap()
            .decrypt_block((&mut block[..]).try_into().unwrap()),
    }
    hex(&block)
}

fn aes(key: &[u8]) -> UnboundCipherKey {
    let algorithm = match key.len() {
        16 => &AES_128,
        24 => &AES_192,
        _ => &AES_256,
    };
    UnboundCipherKey::new(algorithm, key).unwrap()
}

/// Binds a PIN field to the account number and enciphers it.
pub fn seal(format: Format, key: &[u8], field: &str, pan: &str) -> Vec<u8> {
    let block = match format {
        Format::Iso4 => {
            let intermediate = encipher(key, field, format);
            encipher(key, &xor(&intermediate, &pan_field(format, pan)), format)
        }
        _ => encipher(key, &xor(field, &pan_field(format, pan)), format),
    };
    bytes(&block)
}

/// The clear PIN field of a block.
pub fn open(format: Format, key: &[u8], block: &[u8], pan: &str) -> String {
    let plain = xor(&decipher(key, &hex(block), format), &pan_field(format, pan));
    match format {
        Format::Iso4 => decipher(key, &plain, format),
        _ => plain,
    }
}

/// The enciphered block of a PIN.
pub fn encode(format: Format, key: &[u8], pin: &str, pan: &str, seed: u128) -> Vec<u8> {
    seal(format, key, &pin_field(format, pin, seed), pan)
}

/// The enciphered block of a PIN with a digit of the clear PIN field replaced.
pub fn encode_spoilt(
    format: Format,
    key: &[u8],
    pin: &str,
    pan: &str,
    (place, digit): (usize, u8),
) -> Vec<u8> {
    let mut field = pin_field(format, pin, u128::MAX);
    field.replace_range(place..=place, &format!("{digit:X}"));
    seal(format, key, &field, pan)
}

/// The PIN of a clear PIN field, if the field is well-formed.
pub fn pin_of(format: Format, field: &str) -> Option<String> {
    let rest = field[..16].strip_prefix(&format.name()[4..])?;
    let len = usize::from_str_radix(&rest[..1], 16).unwrap();
    if !(4..=12).contains(&len) {
        return None;
    }
    let (pin, fill) = rest[1..].split_at(len);
    let allowed = match format {
        Format::Iso0 => "F",
        Format::Iso1 => "0123456789ABCDEF",
        Format::Iso3 => "ABCDEF",
        Format::Iso4 => "A",
    };
    let is_pin = pin.chars().all(|c| c.is_ascii_digit());
    (is_pin && fill.chars().all(|c| allowed.contains(c))).then(|| pin.to_owned())
}

/// The PIN of a block, if the block is well-formed.
pub fn decode(format: Format, key: &[u8], block: &[u8], pan: &str) -> Option<String> {
    pin_of(format, &open(format, key, block, pan))
}

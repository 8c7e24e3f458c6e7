//! Signatures of ECDSA: providers of keys make two numbers of a fixed length, and certificates have DER (RFC 3279, 2.2.3).

const INTEGER: u8 = 0x02;
const SEQUENCE: u8 = 0x30;
/// Bytes of each number on P-256 and on P-384.
const NUMBER_BYTES: [usize; 2] = [32, 48];

/// A signature as DER. None if it is not of the length of one.
#[must_use]
pub fn der(fixed: &[u8]) -> Option<Vec<u8>> {
    if !NUMBER_BYTES.contains(&(fixed.len() / 2)) || !fixed.len().is_multiple_of(2) {
        return None;
    }
    let (r, s) = fixed.split_at(fixed.len() / 2);
    let mut content = Vec::with_capacity(fixed.len() + 6);
    put(r, &mut content)?;
    put(s, &mut content)?;
    let mut whole = vec![SEQUENCE, short(content.len())?];
    whole.append(&mut content);
    Some(whole)
}

/// Append a positive number in its shortest form.
fn put(number: &[u8], content: &mut Vec<u8>) -> Option<()> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    let digits = number.get(zeros..).filter(|digits| !digits.is_empty())?;
    // A first bit of 1 would be a minus.
    let padded = digits.first().is_some_and(|first| *first >= 0x80);
    content.push(INTEGER);
    content.push(short(digits.len() + usize::from(padded))?);
    if padded {
        content.push(0);
    }
    content.extend_from_slice(digits);
    Some(())
}

/// A length of one byte.
fn short(length: usize) -> Option<u8> {
    u8::try_from(length).ok().filter(|length| *length < 0x80)
}

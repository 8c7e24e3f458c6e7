//! Reads protobuf's wire form, without a schema.

use super::{TypeMismatch, misfit};

/// The value of a field on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireValue<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32(u32),
}

/// The fields of a message, in their order. `tell` is called before each is kept.
pub fn fields(
    mut bytes: &[u8],
    tell: impl Fn() -> Result<(), TypeMismatch>,
) -> Result<Vec<(i32, WireValue<'_>)>, TypeMismatch> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let number = i32::try_from(key >> 3)
            .ok()
            .filter(|n| (1..1 << 29).contains(n));
        let number = number.ok_or_else(|| misfit("a field's number is out of range"))?;
        let held = match key & 7 {
            0 => WireValue::Varint(varint(&mut bytes)?),
            1 => WireValue::Fixed64(fixed64(&mut bytes)?),
            2 => WireValue::Bytes(counted(&mut bytes)?),
            5 => WireValue::Fixed32(fixed32(&mut bytes)?),
            _ => return Err(misfit("a field has a wire type that is not proto3's")),
        };
        tell()?;
        fields.push((number, held));
    }
    Ok(fields)
}

/// A number of up to ten bytes.
pub fn varint(bytes: &mut &[u8]) -> Result<u64, TypeMismatch> {
    let mut value = 0;
    for n in 0..10 {
        let (first, rest) = bytes.split_first().ok_or_else(ended)?;
        *bytes = rest;
        let bits = u64::from(first & 0x7f);
        if n == 9 && bits > 1 {
            break;
        }
        value |= bits << (7 * n);
        if first & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(misfit("a number is longer than 64 bits"))
}

pub fn fixed64(bytes: &mut &[u8]) -> Result<u64, TypeMismatch> {
    let (first, rest) = bytes.split_first_chunk().ok_or_else(ended)?;
    *bytes = rest;
    Ok(u64::from_le_bytes(*first))
}

pub fn fixed32(bytes: &mut &[u8]) -> Result<u32, TypeMismatch> {
    let (first, rest) = bytes.split_first_chunk().ok_or_else(ended)?;
    *bytes = rest;
    Ok(u32::from_le_bytes(*first))
}

fn counted<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8], TypeMismatch> {
    let count = usize::try_from(varint(bytes)?).ok();
    let split = count.and_then(|count| bytes.split_at_checked(count));
    let (first, rest) = split.ok_or_else(ended)?;
    *bytes = rest;
    Ok(first)
}

fn ended() -> TypeMismatch {
    misfit("the bytes end within a field")
}

/// Write a number.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Writes a field's key: its number and wire type.
pub fn put_key(out: &mut Vec<u8>, number: i32, wire: u8) {
    put_varint(
        out,
        (u64::from(number.unsigned_abs()) << 3) | u64::from(wire),
    );
}

/// Write bytes with their count before them.
pub fn put_counted(out: &mut Vec<u8>, number: i32, bytes: &[u8]) {
    put_key(out, number, 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

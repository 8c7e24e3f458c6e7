//! Decodes bytes to a value. A short message may become a large value: two bytes may mean a record of many fields. So the
//! memory of a value is bounded by the length of its message, and each part is counted before it is made.

use std::cell::Cell;

use serde_json::{Map, Number, Value};

use super::wire::{self, WireValue};
use super::{Codec, DEPTH_MAX, TypeMismatch, misfit, within};
use crate::model::{Cardinality, EMPTY, Field, Form, Kind, Message, Scalar};

/// The memory in bytes that each message may take while it is read.
const ROOM_LEAST: usize = 64 << 10;
/// The further memory for each byte of the message: an item, as in a list of small numbers.
const ROOM_PER_BYTE: usize = ITEM;
/// The memory of a field while its message is read: an item in the list of fields, and one in the list of its
/// number. Both lists double as they grow.
const FIELD_READ: usize = 2 * (size_of::<(i32, WireValue)>() + size_of::<WireValue>());
/// The memory of a list's item, in a list that doubles as it grows.
const ITEM: usize = 2 * size_of::<Value>();
/// The memory of a record's member without the text of its name.
const MEMBER: usize = 2 * size_of::<(u64, String, Value)>() + 4 * size_of::<u64>();

/// The message for an id that is missing or empty, which is the same on the wire.
const EMPTY_ID: &str = "is empty, and an id is not";

/// The memory that a message of so many bytes may take while it is read and handled, its own bytes included.
#[must_use]
pub const fn room(length: usize) -> usize {
    ROOM_LEAST.saturating_add(room_per_byte(length))
}

/// The memory that further bytes of a message add to its [`room`].
#[must_use]
pub const fn room_per_byte(length: usize) -> usize {
    length.saturating_mul(ROOM_PER_BYTE + 1)
}

impl Codec {
    /// Read a message, by its full name.
    ///
    /// # Errors
    /// When the bytes are no such message, something in it is missing or out of range, or it would take
    /// more memory than its [`room`].
    pub fn decode(&self, name: &str, bytes: &[u8]) -> Result<Value, TypeMismatch> {
        let reader = Reader {
            codec: self,
            left: Cell::new(room(bytes.len()) - bytes.len()),
        };
        reader.read(name, bytes, 0)
    }
}

/// Reads one message.
struct Reader<'c> {
    codec: &'c Codec,
    /// The memory that is left.
    left: Cell<usize>,
}

impl Reader<'_> {
    /// Takes memory from the rest before a part is made.
    fn take(&self, bytes: usize) -> Result<(), TypeMismatch> {
        let left = self.left.get().checked_sub(bytes).ok_or_else(|| {
            misfit("what the message stands for is too large for its length: leave out what is empty, or send less at a time")
        })?;
        self.left.set(left);
        Ok(())
    }

    fn member(&self, field: &Field) -> Result<(), TypeMismatch> {
        self.take(MEMBER + field.wit.len())
    }

    fn read(&self, name: &str, bytes: &[u8], depth: usize) -> Result<Value, TypeMismatch> {
        if name == EMPTY {
            return Ok(Value::Null);
        }
        if depth > DEPTH_MAX {
            return Err(misfit(format!(
                "more than {DEPTH_MAX} messages are inside of each other"
            )));
        }
        let message = self.codec.message(name)?;
        let raw = wire::fields(bytes, || self.take(FIELD_READ))?;
        match message.form {
            Form::Record | Form::Wrapper => {
                let fields = message.fields.iter();
                let read = fields.map(|field| {
                    self.member(field)?;
                    Ok((field.wit.clone(), self.field(field, &raw, depth)?))
                });
                read.collect::<Result<Map<_, _>, _>>().map(Value::Object)
            }
            Form::Tuple => {
                let fields = message.fields.iter();
                let read = fields.map(|field| {
                    self.take(ITEM)?;
                    self.field(field, &raw, depth)
                });
                read.collect::<Result<_, _>>().map(Value::Array)
            }
            Form::Flags => {
                let mut set = Vec::new();
                for field in &message.fields {
                    if self.field(field, &raw, depth)? == Value::Bool(true) {
                        self.take(ITEM + field.wit.len())?;
                        set.push(Value::String(field.wit.clone()));
                    }
                }
                Ok(Value::Array(set))
            }
            Form::Option | Form::List => match message.fields.first() {
                Some(field) => self.field(field, &raw, depth),
                None => Err(misfit("a wrapper has no field")),
            },
            Form::Variant | Form::Result => self.case(message, &raw, depth),
        }
    }

    fn case(
        &self,
        message: &Message,
        raw: &[(i32, WireValue)],
        depth: usize,
    ) -> Result<Value, TypeMismatch> {
        // The last case counts; what was said of it since another one is merged.
        let mut last: Option<(&Field, Vec<WireValue>)> = None;
        for (number, raw) in raw {
            let Some(field) = message.fields.iter().find(|field| field.number == *number) else {
                continue;
            };
            match &mut last {
                Some((same, all)) if same.number == field.number => all.push(*raw),
                _ => last = Some((field, vec![*raw])),
            }
        }
        let (field, raw) = last.ok_or_else(|| misfit("none of its cases is set"))?;
        self.member(field)?;
        let value = self.single(field, &raw, depth);
        let value = within(&field.name, value.and_then(|value| field.judged(value)))?;
        let bare = matches!(&field.kind, Kind::Message(name) if name == EMPTY);
        if bare && message.form == Form::Variant {
            return Ok(Value::String(field.wit.clone()));
        }
        Ok(object(&field.wit, value))
    }

    fn field(
        &self,
        field: &Field,
        raw: &[(i32, WireValue)],
        depth: usize,
    ) -> Result<Value, TypeMismatch> {
        let found = raw.iter().filter(|(number, _)| *number == field.number);
        let found: Vec<WireValue> = found.map(|(_, raw)| *raw).collect();
        let read = match field.cardinality {
            Cardinality::Repeated => self.repeated(field, &found, depth),
            Cardinality::Optional if found.is_empty() => Ok(Value::Null),
            Cardinality::Optional => {
                let read = self.single(field, &found, depth);
                if self.codec.may_be_null(&field.kind) {
                    self.take(MEMBER)?;
                    read.map(|value| object("some", value))
                } else {
                    read
                }
            }
            Cardinality::One | Cardinality::Case => self.single(field, &found, depth),
        };
        within(&field.name, read.and_then(|value| field.judged(value)))
    }

    /// The value of a field that is not repeated, also if it was sent several times.
    fn single(
        &self,
        field: &Field,
        raw: &[WireValue],
        depth: usize,
    ) -> Result<Value, TypeMismatch> {
        match (&field.kind, raw.last()) {
            (Kind::Message(_), None) => Err(misfit("is missing")),
            (Kind::Message(name), Some(only)) if raw.len() == 1 => {
                self.read(name, bytes(*only)?, depth + 1)
            }
            (Kind::Message(name), Some(_)) => {
                let mut merged = Vec::new();
                for raw in raw {
                    let part = bytes(*raw)?;
                    self.take(2 * part.len())?;
                    merged.extend_from_slice(part);
                }
                self.read(name, &merged, depth + 1)
            }
            (kind, Some(raw)) => self.one(kind, *raw, depth),
            (kind @ Kind::Enum(_), None) => self.one(kind, WireValue::Varint(0), depth),
            (Kind::Scalar(scalar), None) => self.scalar(*scalar, none(*scalar)),
        }
    }

    fn repeated(
        &self,
        field: &Field,
        raw: &[WireValue],
        depth: usize,
    ) -> Result<Value, TypeMismatch> {
        let mut items = Vec::new();
        for raw in raw {
            match (*raw, packed_as(&field.kind)) {
                (WireValue::Bytes(mut bytes), Some(read)) => {
                    while !bytes.is_empty() {
                        let item = read(&mut bytes)?;
                        self.take(ITEM)?;
                        items.push(within(items.len(), self.one(&field.kind, item, depth))?);
                    }
                }
                (raw, _) => {
                    self.take(ITEM)?;
                    items.push(within(items.len(), self.one(&field.kind, raw, depth))?);
                }
            }
        }
        Ok(Value::Array(items))
    }

    fn one(&self, kind: &Kind, raw: WireValue, depth: usize) -> Result<Value, TypeMismatch> {
        match kind {
            Kind::Message(name) => self.read(name, bytes(raw)?, depth + 1),
            Kind::Scalar(scalar) => self.scalar(*scalar, raw),
            Kind::Enum(name) => {
                let number = varint(raw)?;
                let mut values = self.codec.enumeration(name)?.values.iter();
                let found = values.find(|value| u64::try_from(value.number) == Ok(number));
                let found = found.ok_or_else(|| match number {
                    0 => misfit("is missing"),
                    _ => misfit(format!("{number} is no value of `{name}`")),
                })?;
                self.take(found.wit.len())?;
                Ok(Value::String(found.wit.clone()))
            }
        }
    }

    fn scalar(&self, scalar: Scalar, raw: WireValue) -> Result<Value, TypeMismatch> {
        if let WireValue::Bytes(bytes) = raw {
            self.take(match scalar {
                Scalar::Bytes => bytes.len().saturating_mul(size_of::<Value>()),
                _ => bytes.len(),
            })?;
        }
        scalar_value(scalar, raw)
    }
}

impl Field {
    /// The field's value, unless an id in it is empty.
    fn judged(&self, value: Value) -> Result<Value, TypeMismatch> {
        let is_empty = |value: &Value| self.is_id && value.as_str() == Some("");
        if is_empty(&value) {
            return Err(misfit(EMPTY_ID));
        }
        let items = value.as_array().into_iter().flatten();
        match items.clone().position(is_empty) {
            Some(place) => within(place, Err(misfit(EMPTY_ID))),
            None => Ok(value),
        }
    }
}

fn object(name: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(name.to_owned(), value)]))
}

/// The value of a scalar that was not sent.
const fn none(scalar: Scalar) -> WireValue<'static> {
    match scalar {
        Scalar::F32 => WireValue::Fixed32(0),
        Scalar::F64 => WireValue::Fixed64(0),
        Scalar::Char | Scalar::String | Scalar::Bytes => WireValue::Bytes(&[]),
        _ => WireValue::Varint(0),
    }
}

fn scalar_value(scalar: Scalar, raw: WireValue) -> Result<Value, TypeMismatch> {
    let unsigned = |max: u64| {
        let value = varint(raw)?;
        let fits = value <= max;
        fits.then(|| value.into())
            .ok_or_else(|| misfit(format!("{value} is more than {max}")))
    };
    let signed = |min: i64, max: i64| {
        let value = varint(raw)?.cast_signed();
        let fits = (min..=max).contains(&value);
        fits.then(|| value.into())
            .ok_or_else(|| misfit(format!("{value} is not from {min} to {max}")))
    };
    match scalar {
        Scalar::Bool => Ok(Value::Bool(varint(raw)? != 0)),
        Scalar::U8 => unsigned(u8::MAX.into()),
        Scalar::U16 => unsigned(u16::MAX.into()),
        Scalar::U32 => unsigned(u32::MAX.into()),
        Scalar::U64 => unsigned(u64::MAX),
        Scalar::S8 => signed(i8::MIN.into(), i8::MAX.into()),
        Scalar::S16 => signed(i16::MIN.into(), i16::MAX.into()),
        Scalar::S32 => signed(i32::MIN.into(), i32::MAX.into()),
        Scalar::S64 => signed(i64::MIN, i64::MAX),
        Scalar::F32 => match raw {
            WireValue::Fixed32(bits) => finite(f32::from_bits(bits).into()),
            _ => Err(other_type()),
        },
        Scalar::F64 => match raw {
            WireValue::Fixed64(bits) => finite(f64::from_bits(bits)),
            _ => Err(other_type()),
        },
        Scalar::String => Ok(Value::String(text(raw)?.to_owned())),
        Scalar::Char => {
            let text = text(raw)?;
            let one = text.chars().count() == 1;
            one.then(|| text.into())
                .ok_or_else(|| misfit("is not one character"))
        }
        Scalar::Bytes => Ok(bytes(raw)?.iter().map(|byte| Value::from(*byte)).collect()),
    }
}

/// Reads one item of a packed field.
type Read = fn(&mut &[u8]) -> Result<WireValue<'static>, TypeMismatch>;

fn packed_as(kind: &Kind) -> Option<Read> {
    match kind {
        Kind::Message(_) | Kind::Scalar(Scalar::Char | Scalar::String | Scalar::Bytes) => None,
        Kind::Scalar(Scalar::F32) => Some(|bytes| wire::fixed32(bytes).map(WireValue::Fixed32)),
        Kind::Scalar(Scalar::F64) => Some(|bytes| wire::fixed64(bytes).map(WireValue::Fixed64)),
        Kind::Scalar(_) | Kind::Enum(_) => Some(|bytes| wire::varint(bytes).map(WireValue::Varint)),
    }
}

fn finite(value: f64) -> Result<Value, TypeMismatch> {
    let number = Number::from_f64(value).map(Value::Number);
    number.ok_or_else(|| misfit("is not a finite number"))
}

fn text(raw: WireValue<'_>) -> Result<&str, TypeMismatch> {
    std::str::from_utf8(bytes(raw)?).map_err(|_| misfit("is not UTF-8"))
}

fn bytes(raw: WireValue<'_>) -> Result<&[u8], TypeMismatch> {
    match raw {
        WireValue::Bytes(bytes) => Ok(bytes),
        _ => Err(other_type()),
    }
}

fn varint(raw: WireValue) -> Result<u64, TypeMismatch> {
    match raw {
        WireValue::Varint(value) => Ok(value),
        _ => Err(other_type()),
    }
}

fn other_type() -> TypeMismatch {
    misfit("is sent as another type")
}

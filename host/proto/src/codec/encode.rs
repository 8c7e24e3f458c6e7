//! Encodes a value to bytes, in the order of field numbers. The same value gives the same bytes.

use serde_json::Value;

use super::wire::{put_counted, put_key, put_varint};
use super::{Codec, TypeMismatch, misfit, within};
use crate::model::{Cardinality, EMPTY, Field, Form, Kind, Message, Scalar};

impl Codec {
    /// Write a message, by its full name.
    ///
    /// # Errors
    /// When the value is not one of that message.
    pub fn encode(&self, name: &str, value: &Value) -> Result<Vec<u8>, TypeMismatch> {
        let mut out = Vec::new();
        if name == EMPTY {
            return Ok(out);
        }
        let message = self.message(name)?;
        match message.form {
            Form::Record | Form::Wrapper => {
                let object = value
                    .as_object()
                    .ok_or_else(|| misfit("is not an object"))?;
                for field in &message.fields {
                    let value = object.get(&field.wit).unwrap_or(&Value::Null);
                    self.put(&mut out, field, value)?;
                }
            }
            Form::Tuple => {
                let items = value.as_array().map_or(&[][..], Vec::as_slice);
                if items.len() != message.fields.len() {
                    return Err(misfit(format!("is not a list of {}", message.fields.len())));
                }
                for (field, value) in message.fields.iter().zip(items) {
                    self.put(&mut out, field, value)?;
                }
            }
            Form::Flags => {
                let set = value
                    .as_array()
                    .ok_or_else(|| misfit("is not a list of flags"))?;
                for field in &message.fields {
                    let is_set = set.iter().any(|flag| flag == field.wit.as_str());
                    self.put(&mut out, field, &Value::Bool(is_set))?;
                }
            }
            Form::Option | Form::List => {
                for field in &message.fields {
                    self.put(&mut out, field, value)?;
                }
            }
            Form::Variant | Form::Result => self.put_case(&mut out, message, value)?,
        }
        Ok(out)
    }

    fn put_case(
        &self,
        out: &mut Vec<u8>,
        message: &Message,
        value: &Value,
    ) -> Result<(), TypeMismatch> {
        let (case, payload) = match value {
            Value::String(case) => (case.as_str(), &Value::Null),
            Value::Object(object) if object.len() == 1 => {
                let only = object.iter().next();
                only.map_or(("", &Value::Null), |(case, payload)| {
                    (case.as_str(), payload)
                })
            }
            _ => return Err(misfit("is not a case")),
        };
        let field = message.fields.iter().find(|field| field.wit == case);
        let field = field.ok_or_else(|| misfit(format!("`{case}` is none of its cases")))?;
        self.put(out, field, payload)
    }

    fn put(&self, out: &mut Vec<u8>, field: &Field, value: &Value) -> Result<(), TypeMismatch> {
        let put = match field.cardinality {
            Cardinality::Optional if value.is_null() => Ok(()),
            Cardinality::Optional if self.may_be_null(&field.kind) => match value.get("some") {
                Some(value) => self.put_one(out, field, value),
                None => Err(misfit("is neither null nor `some`")),
            },
            Cardinality::Optional | Cardinality::Case => self.put_one(out, field, value),
            Cardinality::Repeated => self.put_all(out, field, value),
            Cardinality::One => {
                let mut written = Vec::new();
                let put = self.put_one(&mut written, field, value);
                if !is_default(&field.kind, value) {
                    out.append(&mut written);
                }
                put
            }
        };
        within(&field.name, put)
    }

    fn put_all(&self, out: &mut Vec<u8>, field: &Field, value: &Value) -> Result<(), TypeMismatch> {
        let items = value.as_array().ok_or_else(|| misfit("is not a list"))?;
        let counted = matches!(
            field.kind,
            Kind::Message(_) | Kind::Scalar(Scalar::Char | Scalar::String | Scalar::Bytes)
        );
        let mut packed = Vec::new();
        for (n, item) in items.iter().enumerate() {
            let put = if counted {
                self.put_one(out, field, item)
            } else {
                self.put_number(&mut packed, &field.kind, item)
            };
            within(n, put)?;
        }
        if !packed.is_empty() {
            put_counted(out, field.number, &packed);
        }
        Ok(())
    }

    /// A field with one value.
    fn put_one(&self, out: &mut Vec<u8>, field: &Field, value: &Value) -> Result<(), TypeMismatch> {
        match &field.kind {
            Kind::Message(name) => {
                let bytes = self.encode(name, value)?;
                put_counted(out, field.number, &bytes);
            }
            Kind::Scalar(Scalar::Char | Scalar::String) => {
                let text = value.as_str().ok_or_else(|| misfit("is not a text"))?;
                put_counted(out, field.number, text.as_bytes());
            }
            Kind::Scalar(Scalar::Bytes) => {
                let items = value
                    .as_array()
                    .ok_or_else(|| misfit("is not a list of bytes"))?;
                let bytes = items.iter().map(|item| {
                    let byte = item.as_u64().and_then(|byte| u8::try_from(byte).ok());
                    byte.ok_or_else(|| misfit("is not a list of bytes"))
                });
                put_counted(out, field.number, &bytes.collect::<Result<Vec<u8>, _>>()?);
            }
            kind => {
                let wire = match kind {
                    Kind::Scalar(Scalar::F32) => 5,
                    Kind::Scalar(Scalar::F64) => 1,
                    _ => 0,
                };
                put_key(out, field.number, wire);
                self.put_number(out, kind, value)?;
            }
        }
        Ok(())
    }

    /// Writes a value that is a number on the wire, without its key.
    fn put_number(
        &self,
        out: &mut Vec<u8>,
        kind: &Kind,
        value: &Value,
    ) -> Result<(), TypeMismatch> {
        let not = || misfit("is not a number of its type");
        match kind {
            Kind::Enum(name) => {
                let mut values = self.enumeration(name)?.values.iter();
                let found = values.find(|known| *value == known.wit.as_str());
                let found = found.ok_or_else(|| misfit(format!("is no value of `{name}`")))?;
                put_varint(out, u64::from(found.number.unsigned_abs()));
            }
            Kind::Scalar(Scalar::Bool) => {
                let value = value
                    .as_bool()
                    .ok_or_else(|| misfit("is not true or false"))?;
                put_varint(out, value.into());
            }
            #[allow(
                clippy::cast_possible_truncation,
                reason = "it was an f32 before it was JSON"
            )]
            Kind::Scalar(Scalar::F32) => {
                let value = value.as_f64().ok_or_else(not)? as f32;
                out.extend_from_slice(&value.to_le_bytes());
            }
            Kind::Scalar(Scalar::F64) => {
                let value = value.as_f64().ok_or_else(not)?;
                out.extend_from_slice(&value.to_le_bytes());
            }
            Kind::Scalar(Scalar::S8 | Scalar::S16 | Scalar::S32 | Scalar::S64) => {
                put_varint(out, value.as_i64().ok_or_else(not)?.cast_unsigned());
            }
            Kind::Scalar(_) | Kind::Message(_) => put_varint(out, value.as_u64().ok_or_else(not)?),
        }
        Ok(())
    }
}

/// Whether a value is the default, which is not sent.
fn is_default(kind: &Kind, value: &Value) -> bool {
    match (kind, value) {
        (Kind::Scalar(_), Value::Bool(value)) => !value,
        // Minus zero is not what is read when nothing was said.
        (Kind::Scalar(_), Value::Number(number)) => {
            number.as_f64().is_some_and(|value| value.to_bits() == 0)
        }
        (Kind::Scalar(_), Value::String(text)) => text.is_empty(),
        (Kind::Scalar(_), Value::Array(items)) => items.is_empty(),
        _ => false,
    }
}

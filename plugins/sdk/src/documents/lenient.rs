//! Reading documents of another release: unknown members are left out, at every level. A value of an unknown
//! kind and a missing member are refused. [`super::keep`] says how unknown members are kept.

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{
    Deserialize as _, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _,
    IntoDeserializer, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Value};

/// Reads what another release may have written: a document, or the payload of a reminder or a report. Unknown
/// members are left out.
///
/// # Errors
/// If it is not JSON, or does not fit the type without these members.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text).or_else(|error| read_known(text).map_err(|_| error))
}

/// As [`read`], after the type has refused it.
///
/// # Errors
/// If it is not JSON, or does not fit the type without these members.
#[cold]
pub(super) fn read_known<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    T::deserialize(Known(serde_json::from_str(text)?))
}

/// `#[serde(deserialize_with = "rialto_sdk::documents::known")]`: as [`read`], for a flattened member
/// (`#[serde(flatten)]`), which serde reads through a copy in memory.
///
/// # Errors
/// If it does not fit the type without these members.
pub fn known<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: DeserializeOwned,
    D: Deserializer<'de>,
{
    let value = Value::deserialize(deserializer)?;
    T::deserialize(Known(value)).map_err(D::Error::custom)
}

/// A value whose records only give the members that the type asks for.
struct Known(Value);

impl IntoDeserializer<'_, Error> for Known {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Known {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(items) => {
                let mut items = SeqDeserializer::new(items.into_iter().map(Known));
                let read = visitor.visit_seq(&mut items)?;
                items.end()?;
                Ok(read)
            }
            Value::Object(members) => {
                let members = members
                    .into_iter()
                    .map(|(name, value)| (name, Known(value)));
                let mut members = MapDeserializer::new(members);
                let read = visitor.visit_map(&mut members)?;
                members.end()?;
                Ok(read)
            }
            plain => plain.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        mut self,
        _name: &'static str,
        members: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if let Value::Object(all) = &mut self.0 {
            all.retain(|name, _| members.contains(&name.as_str()));
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.0 {
            Value::String(name) => visitor.visit_enum(Case {
                name,
                payload: None,
            }),
            Value::Object(members) if members.len() == 1 => {
                let mut members = members.into_iter();
                // The length was checked above.
                let (name, payload) = members.next().unwrap_or_default();
                visitor.visit_enum(Case {
                    name,
                    payload: Some(payload),
                })
            }
            _ => Err(Error::custom(
                "expected a name, or an object of one member that is called by one",
            )),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

/// A variant with its value.
struct Case {
    name: String,
    payload: Option<Value>,
}

impl<'de> EnumAccess<'de> for Case {
    type Error = Error;
    type Variant = Payload;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Payload), Error> {
        let name: serde::de::value::StringDeserializer<Error> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, Payload(self.payload)))
    }
}

struct Payload(Option<Value>);

impl Payload {
    fn needed(self) -> Result<Known, Error> {
        let missing =
            || Error::invalid_type(Unexpected::UnitVariant, &"a form that carries a value");
        self.0.map(Known).ok_or_else(missing)
    }
}

impl<'de> VariantAccess<'de> for Payload {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        match self.0 {
            None | Some(Value::Null) => Ok(()),
            Some(_) => Err(Error::custom("expected a form that carries nothing")),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self.needed()?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, Error> {
        self.needed()?.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        members: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.needed()?.deserialize_struct("", members, visitor)
    }
}

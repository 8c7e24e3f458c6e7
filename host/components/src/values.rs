//! Converts component values to JSON, and back by their type. Events on disk and the input in a receipt have
//! this form.
//!
//! | Type | JSON |
//! | --- | --- |
//! | record | an object with the WIT names |
//! | enum, variant without a payload | a string |
//! | variant with a payload | an object of one member |
//! | option | the value or null; an option of an option is `{"some": …}` or null |
//! | result | `{"ok": …}` or `{"err": …}` |

use serde::ser::{Error, Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;
use wasmtime::component::Val;
use wasmtime::component::types::{self, Type};

/// A value that serialises as described above.
pub struct Json<'a>(pub &'a Val);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Val::Bool(v) => serializer.serialize_bool(*v),
            Val::S8(v) => serializer.serialize_i8(*v),
            Val::U8(v) => serializer.serialize_u8(*v),
            Val::S16(v) => serializer.serialize_i16(*v),
            Val::U16(v) => serializer.serialize_u16(*v),
            Val::S32(v) => serializer.serialize_i32(*v),
            Val::U32(v) => serializer.serialize_u32(*v),
            Val::S64(v) => serializer.serialize_i64(*v),
            Val::U64(v) => serializer.serialize_u64(*v),
            Val::Float32(v) => serializer.serialize_f32(*v),
            Val::Float64(v) => serializer.serialize_f64(*v),
            Val::Char(v) => serializer.serialize_char(*v),
            Val::String(v) | Val::Enum(v) => serializer.serialize_str(v),
            Val::List(items) | Val::Tuple(items) | Val::FixedLengthList(items) => {
                let mut seq = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    seq.serialize_element(&Json(item))?;
                }
                seq.end()
            }
            Val::Record(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (name, value) in fields {
                    map.serialize_entry(name, &Json(value))?;
                }
                map.end()
            }
            Val::Variant(case, None) => serializer.serialize_str(case),
            Val::Variant(case, Some(payload)) => one(serializer, case, Some(payload)),
            Val::Option(None) => serializer.serialize_none(),
            Val::Option(Some(inner)) if matches!(**inner, Val::Option(_)) => {
                one(serializer, "some", Some(inner))
            }
            Val::Option(Some(inner)) => Json(inner).serialize(serializer),
            Val::Result(Ok(payload)) => one(serializer, "ok", payload.as_deref()),
            Val::Result(Err(payload)) => one(serializer, "err", payload.as_deref()),
            Val::Flags(flags) => flags.serialize(serializer),
            Val::Map(_)
            | Val::Resource(_)
            | Val::Future(_)
            | Val::Stream(_)
            | Val::ErrorContext(_) => Err(S::Error::custom(
                "resources, maps, futures and streams do not cross between components",
            )),
        }
    }
}

fn one<S: Serializer>(serializer: S, name: &str, payload: Option<&Val>) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry(name, &payload.map(Json))?;
    map.end()
}

/// Why a stored value does not fit its type.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: expected {expected}")]
pub struct TypeMismatch {
    /// Where, as a JSON pointer.
    pub at: String,
    /// What should be there.
    pub expected: String,
}

/// Read a value of a type.
///
/// # Errors
/// When the JSON is not of that type.
pub fn decode(ty: &Type, value: &Value) -> Result<Val, TypeMismatch> {
    let misfit = || TypeMismatch {
        at: String::new(),
        expected: describe(ty),
    };
    macro_rules! integer {
        ($val:ident, $get:ident) => {
            value
                .$get()
                .and_then(|n| n.try_into().ok())
                .map(Val::$val)
                .ok_or_else(misfit)
        };
    }
    match ty {
        Type::Bool => value.as_bool().map(Val::Bool).ok_or_else(misfit),
        Type::S8 => integer!(S8, as_i64),
        Type::U8 => integer!(U8, as_u64),
        Type::S16 => integer!(S16, as_i64),
        Type::U16 => integer!(U16, as_u64),
        Type::S32 => integer!(S32, as_i64),
        Type::U32 => integer!(U32, as_u64),
        Type::S64 => integer!(S64, as_i64),
        Type::U64 => integer!(U64, as_u64),
        #[allow(
            clippy::cast_possible_truncation,
            reason = "it was an f32 when written"
        )]
        Type::Float32 => value
            .as_f64()
            .map(|v| Val::Float32(v as f32))
            .ok_or_else(misfit),
        Type::Float64 => value.as_f64().map(Val::Float64).ok_or_else(misfit),
        Type::Char => {
            let mut chars = value.as_str().unwrap_or_default().chars();
            match (chars.next(), chars.next()) {
                (Some(c), None) => Ok(Val::Char(c)),
                _ => Err(misfit()),
            }
        }
        Type::String => value
            .as_str()
            .map(|v| Val::String(v.to_owned()))
            .ok_or_else(misfit),
        Type::List(list) => items(value, &list.ty(), misfit).map(Val::List),
        Type::Tuple(tuple) => {
            let values = value.as_array().ok_or_else(misfit)?;
            let types: Vec<Type> = tuple.types().collect();
            if values.len() != types.len() {
                return Err(misfit());
            }
            let decoded = types.iter().zip(values).enumerate();
            decoded
                .map(|(n, (ty, v))| within(n, decode(ty, v)))
                .collect::<Result<_, _>>()
                .map(Val::Tuple)
        }
        Type::Record(record) => {
            let object = value.as_object().ok_or_else(misfit)?;
            let fields = record.fields().map(|field| {
                let found = object.get(field.name).unwrap_or(&Value::Null);
                let decoded = within(field.name, decode(&field.ty, found))?;
                Ok((field.name.to_owned(), decoded))
            });
            fields.collect::<Result<_, _>>().map(Val::Record)
        }
        Type::Enum(names) => {
            let name = value.as_str().ok_or_else(misfit)?;
            let known = names.names().any(|n| n == name);
            known.then(|| Val::Enum(name.to_owned())).ok_or_else(misfit)
        }
        Type::Variant(variant) => decode_variant(variant, value).unwrap_or_else(|| Err(misfit())),
        Type::Option(option) => decode_option(&option.ty(), value),
        Type::Result(result) => {
            let (name, payload) = single(value).ok_or_else(misfit)?;
            let ty = match name {
                "ok" => result.ok(),
                "err" => result.err(),
                _ => return Err(misfit()),
            };
            let payload = within(name, payload_of(ty, Some(payload)))?;
            Ok(Val::Result(if name == "ok" {
                Ok(payload)
            } else {
                Err(payload)
            }))
        }
        Type::Flags(flags) => {
            let names = value.as_array().ok_or_else(misfit)?;
            let known: Vec<&str> = flags.names().collect();
            let set = names.iter().map(|n| {
                let name = n.as_str().filter(|n| known.contains(n));
                name.map(str::to_owned).ok_or_else(misfit)
            });
            set.collect::<Result<_, _>>().map(Val::Flags)
        }
        _ => Err(misfit()),
    }
}

fn items(
    value: &Value,
    ty: &Type,
    misfit: impl Fn() -> TypeMismatch,
) -> Result<Vec<Val>, TypeMismatch> {
    let values = value.as_array().ok_or_else(misfit)?;
    let decoded = values.iter().enumerate();
    decoded.map(|(n, v)| within(n, decode(ty, v))).collect()
}

fn decode_variant(variant: &types::Variant, value: &Value) -> Option<Result<Val, TypeMismatch>> {
    let (name, payload) = match value {
        Value::String(name) => (name.as_str(), None),
        other => single(other).map(|(name, payload)| (name, Some(payload)))?,
    };
    let case = variant.cases().find(|case| case.name == name)?;
    if case.ty.is_some() != payload.is_some() {
        return None;
    }
    let decoded = within(name, payload_of(case.ty, payload));
    Some(decoded.map(|payload| Val::Variant(name.to_owned(), payload)))
}

fn decode_option(inner: &Type, value: &Value) -> Result<Val, TypeMismatch> {
    if value.is_null() {
        return Ok(Val::Option(None));
    }
    let value = match inner {
        Type::Option(_) => value.get("some").unwrap_or(&Value::Null),
        _ => value,
    };
    Ok(Val::Option(Some(Box::new(decode(inner, value)?))))
}

fn payload_of(ty: Option<Type>, payload: Option<&Value>) -> Result<Option<Box<Val>>, TypeMismatch> {
    match (ty, payload) {
        (Some(ty), Some(payload)) => Ok(Some(Box::new(decode(&ty, payload)?))),
        _ => Ok(None),
    }
}

fn single(value: &Value) -> Option<(&str, &Value)> {
    let object = value.as_object().filter(|object| object.len() == 1)?;
    object.iter().next().map(|(name, v)| (name.as_str(), v))
}

fn within<T>(
    step: impl std::fmt::Display,
    result: Result<T, TypeMismatch>,
) -> Result<T, TypeMismatch> {
    result.map_err(|misfit| TypeMismatch {
        at: format!("/{step}{}", misfit.at),
        ..misfit
    })
}

/// A type in WIT's words, for messages.
pub fn describe(ty: &Type) -> String {
    let all = |types: Vec<Type>| types.iter().map(describe).collect::<Vec<_>>().join(", ");
    match ty {
        Type::Bool => "bool".into(),
        Type::S8 => "s8".into(),
        Type::U8 => "u8".into(),
        Type::S16 => "s16".into(),
        Type::U16 => "u16".into(),
        Type::S32 => "s32".into(),
        Type::U32 => "u32".into(),
        Type::S64 => "s64".into(),
        Type::U64 => "u64".into(),
        Type::Float32 => "f32".into(),
        Type::Float64 => "f64".into(),
        Type::Char => "char".into(),
        Type::String => "string".into(),
        Type::List(list) => format!("list<{}>", describe(&list.ty())),
        Type::Tuple(tuple) => format!("tuple<{}>", all(tuple.types().collect())),
        Type::Option(option) => format!("option<{}>", describe(&option.ty())),
        Type::Record(record) => {
            let fields = record.fields();
            let fields: Vec<String> = fields
                .map(|f| format!("{}: {}", f.name, describe(&f.ty)))
                .collect();
            format!("record {{ {} }}", fields.join(", "))
        }
        Type::Enum(names) => format!(
            "enum {{ {} }}",
            names.names().collect::<Vec<_>>().join(", ")
        ),
        Type::Flags(flags) => {
            format!(
                "flags {{ {} }}",
                flags.names().collect::<Vec<_>>().join(", ")
            )
        }
        Type::Variant(variant) => {
            let cases = variant.cases().map(|case| match case.ty {
                Some(ty) => format!("{}({})", case.name, describe(&ty)),
                None => case.name.to_owned(),
            });
            format!("variant {{ {} }}", cases.collect::<Vec<_>>().join(", "))
        }
        Type::Result(result) => {
            let part = |ty: Option<Type>| ty.map_or_else(|| "_".to_owned(), |ty| describe(&ty));
            format!("result<{}, {}>", part(result.ok()), part(result.err()))
        }
        _ => "a resource, map, future or stream".into(),
    }
}

/// Whether values of the type can cross between components: no resources, futures or streams.
pub fn is_plain(ty: &Type) -> bool {
    match ty {
        Type::Own(_)
        | Type::Borrow(_)
        | Type::Future(_)
        | Type::Stream(_)
        | Type::ErrorContext
        | Type::Map(_)
        | Type::FixedLengthList(_) => false,
        Type::List(list) => is_plain(&list.ty()),
        Type::Record(record) => record.fields().all(|f| is_plain(&f.ty)),
        Type::Tuple(tuple) => tuple.types().all(|ty| is_plain(&ty)),
        Type::Variant(variant) => variant.cases().all(|c| c.ty.is_none_or(|ty| is_plain(&ty))),
        Type::Option(option) => is_plain(&option.ty()),
        Type::Result(result) => [result.ok(), result.err()]
            .into_iter()
            .flatten()
            .all(|ty| is_plain(&ty)),
        _ => true,
    }
}

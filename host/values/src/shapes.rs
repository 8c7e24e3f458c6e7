//! A type, taken apart: its names and parts are found at once, where wasmtime's own would be searched for each value.

use wasmtime::component::types::Type;

use crate::bytes::Malformed;

/// A type.
pub(crate) enum Shape {
    /// One without parts.
    Scalar(Type),
    List(Box<Self>),
    Record(Vec<(String, Self)>),
    Tuple(Vec<Self>),
    Variant(Vec<(String, Option<Self>)>),
    Enum(Vec<String>),
    Option(Box<Self>),
    Result([Option<Box<Self>>; 2]),
    Flags(Vec<String>),
}

impl Shape {
    /// Take a type apart.
    ///
    /// # Errors
    /// When its values do not cross between components.
    pub fn of(ty: &Type) -> Result<Self, Malformed> {
        let boxed = |ty: Type| Self::of(&ty).map(Box::new);
        Ok(match ty {
            Type::List(list) => Self::List(boxed(list.ty())?),
            Type::Record(record) => {
                let fields = record.fields();
                let fields = fields.map(|f| Ok((f.name.to_owned(), Self::of(&f.ty)?)));
                Self::Record(fields.collect::<Result<_, _>>()?)
            }
            Type::Tuple(tuple) => {
                let parts = tuple.types().map(|ty| Self::of(&ty));
                Self::Tuple(parts.collect::<Result<_, _>>()?)
            }
            Type::Variant(variant) => {
                let cases = variant.cases();
                let cases = cases.map(|case| {
                    let payload = case.ty.map(|ty| Self::of(&ty)).transpose()?;
                    Ok((case.name.to_owned(), payload))
                });
                Self::Variant(cases.collect::<Result<_, _>>()?)
            }
            Type::Enum(names) => Self::Enum(names.names().map(str::to_owned).collect()),
            Type::Option(option) => Self::Option(boxed(option.ty())?),
            Type::Result(result) => {
                let ok = result.ok().map(boxed).transpose()?;
                Self::Result([ok, result.err().map(boxed).transpose()?])
            }
            Type::Flags(flags) => Self::Flags(flags.names().map(str::to_owned).collect()),
            Type::Bool
            | Type::S8
            | Type::U8
            | Type::S16
            | Type::U16
            | Type::S32
            | Type::U32
            | Type::S64
            | Type::U64
            | Type::Float32
            | Type::Float64
            | Type::Char
            | Type::String => Self::Scalar(ty.clone()),
            _ => return Err(Malformed),
        })
    }
}

/// The bytes of a case's index.
pub(crate) fn case_size(cases: usize) -> usize {
    match cases {
        0..=0x100 => 1,
        0x101..=0x1_0000 => 2,
        _ => 4,
    }
}

/// The bytes of so many flags.
pub(crate) fn flags_size(names: usize) -> usize {
    match names {
        0 => 0,
        1..=8 => 1,
        9..=16 => 2,
        more => more.div_ceil(32) * 4,
    }
}

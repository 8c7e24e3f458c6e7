//! How many core values a value has if it is passed without memory (the canonical ABI's flattening).

use wasmtime::component::types::Type;

/// A function's arguments are in memory if they have more core values than this.
pub(crate) const PARAMS_MAX: usize = 16;
/// A function's result is in memory if it has more core values than this.
pub(crate) const RESULTS_MAX: usize = 1;

/// The core values of all of these, or none if they are in memory.
pub(crate) fn all<'t>(types: impl IntoIterator<Item = &'t Type>, max: usize) -> Option<usize> {
    let mut sum = 0;
    for ty in types {
        sum += one(ty);
        if sum > max {
            return None;
        }
    }
    Some(sum)
}

/// The core values of one. Those of a variant are those of its largest case, and its index.
fn one(ty: &Type) -> usize {
    let largest = |cases: &mut dyn Iterator<Item = Option<Type>>| {
        let flat = cases.map(|case| case.as_ref().map_or(0, one));
        1 + flat.max().unwrap_or(0)
    };
    match ty {
        Type::String | Type::List(_) => 2,
        Type::Record(record) => record.fields().map(|field| one(&field.ty)).sum(),
        Type::Tuple(tuple) => tuple.types().map(|ty| one(&ty)).sum(),
        Type::Variant(variant) => largest(&mut variant.cases().map(|case| case.ty)),
        Type::Option(option) => 1 + one(&option.ty()),
        Type::Result(result) => largest(&mut [result.ok(), result.err()].into_iter()),
        Type::Flags(flags) => flags.names().len().div_ceil(32),
        _ => 1,
    }
}

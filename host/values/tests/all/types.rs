//! Types of all kinds with their values: in WIT's text form, by their core values, and any value of one.

use proptest::collection::vec;
use proptest::prelude::*;
use wasmtime::component::Val;

/// A type.
#[derive(Clone, Debug)]
pub enum Ty {
    /// One without parts, by its name.
    Plain(&'static str),
    List(Box<Ty>),
    Record(Vec<Ty>),
    Tuple(Vec<Ty>),
    Variant(Vec<Option<Ty>>),
    Enum(usize),
    Option(Box<Ty>),
    Result(Option<Box<Ty>>, Option<Box<Ty>>),
    Flags(usize),
}

const PLAIN: [&str; 13] = [
    "bool", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "f32", "f64", "char", "string",
];

/// Any type, a few levels deep.
pub fn any() -> impl Strategy<Value = Ty> {
    let leaf = prop_oneof![
        8 => proptest::sample::select(&PLAIN[..]).prop_map(Ty::Plain),
        1 => prop_oneof![Just(1_usize), Just(7), Just(256), Just(257)].prop_map(Ty::Enum),
        1 => Just(Ty::Variant([vec![Some(Ty::Plain("u64"))], vec![None; 256]].concat())),
        1 => prop_oneof![1_usize..=9, Just(16), Just(17), Just(32)].prop_map(Ty::Flags),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        let maybe = proptest::option::of(boxed.clone());
        prop_oneof![
            boxed.clone().prop_map(Ty::List),
            vec(inner.clone(), 1..6).prop_map(Ty::Record),
            vec(inner.clone(), 1..5).prop_map(Ty::Tuple),
            vec(proptest::option::of(inner), 1..5).prop_map(Ty::Variant),
            boxed.prop_map(Ty::Option),
            (maybe.clone(), maybe).prop_map(|(ok, err)| Ty::Result(ok, err)),
        ]
    })
}

/// Any value of a type.
pub fn value(ty: &Ty) -> BoxedStrategy<Val> {
    let payload = |ty: Option<&Ty>| match ty {
        Some(ty) => value(ty).prop_map(|v| Some(Box::new(v))).boxed(),
        None => Just(None).boxed(),
    };
    match ty {
        Ty::Plain(name) => plain(name),
        Ty::List(item) => vec(value(item), 0..4).prop_map(Val::List).boxed(),
        Ty::Record(fields) => {
            let values: Vec<_> = fields.iter().map(value).collect();
            let named = |values: Vec<Val>| {
                let named = values.into_iter().enumerate();
                named.map(|(n, v)| (format!("f{n}"), v)).collect()
            };
            values.prop_map(move |v| Val::Record(named(v))).boxed()
        }
        Ty::Tuple(types) => {
            let values: Vec<_> = types.iter().map(value).collect();
            values.prop_map(Val::Tuple).boxed()
        }
        Ty::Variant(cases) => {
            let cases = cases.iter().enumerate();
            let cases = cases.map(|(n, ty)| {
                payload(ty.as_ref())
                    .prop_map(move |v| Val::Variant(format!("c{n}"), v))
                    .boxed()
            });
            proptest::strategy::Union::new(cases.collect::<Vec<_>>()).boxed()
        }
        Ty::Enum(cases) => (0..*cases).prop_map(|n| Val::Enum(format!("e{n}"))).boxed(),
        Ty::Option(inner) => {
            let some = payload(Some(inner)).prop_map(Val::Option);
            prop_oneof![some, Just(Val::Option(None))].boxed()
        }
        Ty::Result(ok, err) => {
            let ok = payload(ok.as_deref()).prop_map(|v| Val::Result(Ok(v)));
            let err = payload(err.as_deref()).prop_map(|v| Val::Result(Err(v)));
            prop_oneof![ok, err].boxed()
        }
        Ty::Flags(names) => {
            let set = vec(any_bool(), *names).prop_map(|set| {
                let named = set.iter().enumerate().filter(|(_, is_set)| **is_set);
                Val::Flags(named.map(|(n, _)| format!("b{n}")).collect())
            });
            set.boxed()
        }
    }
}

fn any_bool() -> impl Strategy<Value = bool> {
    proptest::bool::ANY
}

fn plain(name: &str) -> BoxedStrategy<Val> {
    use proptest::prelude::any;
    match name {
        "bool" => any::<bool>().prop_map(Val::Bool).boxed(),
        "s8" => any::<i8>().prop_map(Val::S8).boxed(),
        "u8" => any::<u8>().prop_map(Val::U8).boxed(),
        "s16" => any::<i16>().prop_map(Val::S16).boxed(),
        "u16" => any::<u16>().prop_map(Val::U16).boxed(),
        "s32" => any::<i32>().prop_map(Val::S32).boxed(),
        "u32" => any::<u32>().prop_map(Val::U32).boxed(),
        "s64" => any::<i64>().prop_map(Val::S64).boxed(),
        "u64" => any::<u64>().prop_map(Val::U64).boxed(),
        "f32" => any::<u32>()
            .prop_map(|bits| Val::Float32(f32::from_bits(bits)))
            .boxed(),
        "f64" => any::<u64>()
            .prop_map(|bits| Val::Float64(f64::from_bits(bits)))
            .boxed(),
        "char" => any::<char>().prop_map(Val::Char).boxed(),
        _ => prop_oneof!["[a-z]{0,9}", "[à-ÿ]{0,9}", any::<String>()]
            .prop_map(Val::String)
            .boxed(),
    }
}

/// A core value's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Core {
    I32,
    I64,
    F32,
    F64,
}

impl Core {
    pub fn name(self) -> &'static str {
        match self {
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// The type that holds either, as the canonical ABI says.
    fn join(self, other: Self) -> Self {
        match (self, other) {
            (a, b) if a == b => a,
            (Self::I32, Self::F32) | (Self::F32, Self::I32) => Self::I32,
            _ => Self::I64,
        }
    }
}

impl Ty {
    /// Its core values.
    pub fn flat(&self) -> Vec<Core> {
        let cases = |cases: &[Option<&Ty>]| {
            let mut all: Vec<Core> = Vec::new();
            for case in cases.iter().flatten() {
                for (n, core) in case.flat().into_iter().enumerate() {
                    match all.get_mut(n) {
                        Some(known) => *known = known.join(core),
                        None => all.push(core),
                    }
                }
            }
            all.insert(0, Core::I32);
            all
        };
        match self {
            Self::Plain("s64" | "u64") => vec![Core::I64],
            Self::Plain("f32") => vec![Core::F32],
            Self::Plain("f64") => vec![Core::F64],
            Self::Plain("string") | Self::List(_) => vec![Core::I32; 2],
            Self::Plain(_) | Self::Enum(_) => vec![Core::I32],
            Self::Record(all) | Self::Tuple(all) => all.iter().flat_map(Self::flat).collect(),
            Self::Variant(all) => cases(&all.iter().map(Option::as_ref).collect::<Vec<_>>()),
            Self::Option(inner) => cases(&[None, Some(&**inner)]),
            Self::Result(ok, err) => cases(&[ok.as_deref(), err.as_deref()]),
            Self::Flags(names) => vec![Core::I32; names.div_ceil(32)],
        }
    }

    /// Declare its named types as imports of a component. Returns how to write it.
    pub fn declare(&self, text: &mut String, next: &mut usize) -> String {
        let named = |text: &mut String, next: &mut usize, body: String| {
            let n = *next;
            *next += 1;
            text.push_str(&format!(
                "(type $own{n} {body})\n(import \"t{n}\" (type $t{n} (eq $own{n})))\n"
            ));
            format!("$t{n}")
        };
        match self {
            Self::Plain(name) => (*name).to_owned(),
            Self::List(item) => format!("(list {})", item.declare(text, next)),
            Self::Option(inner) => format!("(option {})", inner.declare(text, next)),
            Self::Tuple(all) => {
                let all: Vec<String> = all.iter().map(|ty| ty.declare(text, next)).collect();
                format!("(tuple {})", all.join(" "))
            }
            Self::Result(ok, err) => {
                let ok = ok.as_ref().map(|ty| ty.declare(text, next));
                let err = err.as_ref().map(|ty| ty.declare(text, next));
                let err = err.map(|ty| format!("(error {ty})"));
                format!(
                    "(result {} {})",
                    ok.unwrap_or_default(),
                    err.unwrap_or_default()
                )
            }
            Self::Record(fields) => {
                let fields = fields.iter().enumerate();
                let fields = fields
                    .map(|(n, ty)| format!("(field \"f{n}\" {})", ty.declare(text, next)))
                    .collect::<String>();
                named(text, next, format!("(record {fields})"))
            }
            Self::Variant(cases) => {
                let cases = cases.iter().enumerate();
                let cases = cases
                    .map(|(n, ty)| {
                        let ty = ty.as_ref().map(|ty| ty.declare(text, next));
                        format!("(case \"c{n}\" {})", ty.unwrap_or_default())
                    })
                    .collect::<String>();
                named(text, next, format!("(variant {cases})"))
            }
            Self::Enum(cases) => {
                let names = (0..*cases)
                    .map(|n| format!("\"e{n}\" "))
                    .collect::<String>();
                named(text, next, format!("(enum {names})"))
            }
            Self::Flags(names) => {
                let names = (0..*names)
                    .map(|n| format!("\"b{n}\" "))
                    .collect::<String>();
                named(text, next, format!("(flags {names})"))
            }
        }
    }
}

/// Roughly the bytes of a value as JSON: what [`rialto_values::Values::size`] has to say of it.
pub fn size(value: &Val) -> usize {
    const PLAIN: usize = 12;
    let inner = match value {
        Val::String(text) | Val::Enum(text) => text.len(),
        Val::List(all) | Val::Tuple(all) => all.iter().map(size).sum(),
        Val::Record(fields) => fields.iter().map(|(name, v)| name.len() + size(v)).sum(),
        Val::Variant(name, payload) => name.len() + payload.as_deref().map_or(0, size),
        Val::Option(payload) | Val::Result(Ok(payload) | Err(payload)) => {
            payload.as_deref().map_or(0, size)
        }
        Val::Flags(names) => names.iter().map(|name| name.len() + PLAIN).sum(),
        _ => 0,
    };
    inner + PLAIN
}

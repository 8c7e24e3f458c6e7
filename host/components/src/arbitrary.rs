//! Values of a type at random, to try components with inputs that nobody thought of.

use wasmtime::component::Val;
use wasmtime::component::types::Type;

/// The longest list.
const ITEMS_MAX: u64 = 4;
/// The longest ordinary text, in characters.
const CHARS_MAX: u64 = 40;
/// Now and then a text is so long.
const LONG_CHARS: usize = 2_000;

/// Where random choices come from.
pub trait Choices {
    /// Any number.
    fn number(&mut self) -> u64;

    /// A text that means something where the values come from; none leaves it to chance.
    fn word(&mut self) -> Option<String> {
        None
    }

    /// A number below another one, which is not 0.
    fn below(&mut self, end: u64) -> u64 {
        self.number() % end.max(1)
    }
}

/// A value of a plain type: no resources, streams or futures. Bounds of numbers, empty and long texts come often.
pub fn arbitrary(ty: &Type, choices: &mut dyn Choices) -> Val {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        reason = "any bits of the number will do"
    )]
    match ty {
        Type::Bool => Val::Bool(choices.below(2) == 0),
        Type::S8 => Val::S8(integer(choices) as i8),
        Type::U8 => Val::U8(integer(choices) as u8),
        Type::S16 => Val::S16(integer(choices) as i16),
        Type::U16 => Val::U16(integer(choices) as u16),
        Type::S32 => Val::S32(integer(choices) as i32),
        Type::U32 => Val::U32(integer(choices) as u32),
        Type::S64 => Val::S64(integer(choices) as i64),
        Type::U64 => Val::U64(integer(choices)),
        Type::Float32 => Val::Float32(f32::from(integer(choices) as i16)),
        Type::Float64 => Val::Float64(f64::from(integer(choices) as i32)),
        Type::Char => Val::Char(char_of(choices)),
        Type::String => Val::String(text(choices)),
        Type::List(list) => {
            let items = choices.below(ITEMS_MAX + 1);
            Val::List((0..items).map(|_| arbitrary(&list.ty(), choices)).collect())
        }
        Type::Record(record) => {
            let fields = record.fields();
            let fields = fields.map(|field| {
                let value = arbitrary(&field.ty, choices);
                (field.name.to_owned(), value)
            });
            Val::Record(fields.collect())
        }
        Type::Tuple(tuple) => {
            let types: Vec<Type> = tuple.types().collect();
            Val::Tuple(types.iter().map(|ty| arbitrary(ty, choices)).collect())
        }
        Type::Variant(variant) => {
            let cases: Vec<_> = variant.cases().collect();
            let case = &cases[index(choices, cases.len())];
            let payload = case.ty.as_ref().map(|ty| Box::new(arbitrary(ty, choices)));
            Val::Variant(case.name.to_owned(), payload)
        }
        Type::Enum(names) => {
            let names: Vec<&str> = names.names().collect();
            Val::Enum(names[index(choices, names.len())].to_owned())
        }
        Type::Option(option) => {
            let is_some = choices.below(3) > 0;
            Val::Option(is_some.then(|| Box::new(arbitrary(&option.ty(), choices))))
        }
        Type::Result(result) => {
            let mut of = |ty: Option<Type>| ty.map(|ty| Box::new(arbitrary(&ty, choices)));
            // Half of them are failures.
            Val::Result(if of(Some(Type::Bool)) == Some(Box::new(Val::Bool(true))) {
                Ok(of(result.ok()))
            } else {
                Err(of(result.err()))
            })
        }
        Type::Flags(flags) => {
            let names = flags.names().filter(|_| choices.below(2) == 0);
            Val::Flags(names.map(str::to_owned).collect())
        }
        // No interface that the host takes has others.
        _ => Val::Bool(false),
    }
}

/// An index of a list that has items: types without cases do not exist.
fn index(choices: &mut dyn Choices, length: usize) -> usize {
    let length = u64::try_from(length).unwrap_or(u64::MAX);
    usize::try_from(choices.below(length)).unwrap_or_default()
}

/// Small numbers, bounds, and all others.
fn integer(choices: &mut dyn Choices) -> u64 {
    match choices.below(8) {
        0 => 0,
        1 => u64::MAX,
        2 => 1 << choices.below(64),
        3 => (1_u64 << choices.below(64)).wrapping_sub(1),
        4 | 5 => choices.below(1_000),
        6 => choices.below(10_000_000_000_000),
        _ => choices.number(),
    }
}

fn text(choices: &mut dyn Choices) -> String {
    if choices.below(2) == 0
        && let Some(word) = choices.word()
    {
        return word;
    }
    match choices.below(16) {
        0 => String::new(),
        1 => "9".repeat(LONG_CHARS),
        2..=6 => choices.number().to_string(),
        _ => {
            let chars = choices.below(CHARS_MAX + 1);
            (0..chars).map(|_| char_of(choices)).collect()
        }
    }
}

/// Mostly what people type.
fn char_of(choices: &mut dyn Choices) -> char {
    let code = match choices.below(10) {
        0 => u32::try_from(choices.below(0x11_0000)).unwrap_or_default(),
        1 => u32::try_from(choices.below(32)).unwrap_or_default(),
        _ => u32::try_from(32 + choices.below(95)).unwrap_or_default(),
    };
    char::from_u32(code).unwrap_or('\u{fffd}')
}

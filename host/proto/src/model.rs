//! The model of the output: files, messages, enums and services as in protobuf. [`derive`](mod@crate::derive) makes it,
//! [`lock`](crate::lock) numbers it, [`text`](crate::text) and [`descriptors`](mod@crate::descriptors) write it.

use std::collections::BTreeSet;

/// The file that has `google.protobuf.Empty`.
pub const EMPTY_FILE: &str = "google/protobuf/empty.proto";
/// The payload of a case without one.
pub const EMPTY: &str = "google.protobuf.Empty";

/// One `.proto` file, derived from one WIT package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// `rialto.quoting.v0_1`
    pub package: String,
    /// `rialto/quoting/v0_1/quoting.proto`
    pub path: String,
    /// The WIT package's doc comment.
    pub docs: String,
    /// Paths of the files that it uses.
    pub imports: BTreeSet<String>,
    /// The package's calls, if it has any.
    pub service: Option<Service>,
    /// Messages, in the order in which the calls need them.
    pub messages: Vec<Message>,
    /// Enums, in the order in which the calls need them.
    pub enums: Vec<Enum>,
}

/// The calls of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Without its package.
    pub name: String,
    /// What is said of it.
    pub docs: String,
    /// One for each function.
    pub methods: Vec<Method>,
}

/// One call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    /// In the service.
    pub name: String,
    /// The WIT interface, with its version: `rialto:quoting/get-agreement@0.1.0`.
    pub interface: String,
    /// The function in it.
    pub function: String,
    /// The names of its parameters, in their order.
    pub parameters: Vec<String>,
    /// What is said of it.
    pub docs: String,
    /// The full name of the request's message.
    pub input: String,
    /// The full name of the answer's message.
    pub output: String,
    /// The full name of the error message in a refusal's details, if the function can refuse.
    pub error: Option<String>,
    /// Whether it is an event, which has no result.
    pub event: bool,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Without its package.
    pub name: String,
    /// What of the WIT it stands for.
    pub wit: String,
    /// The WIT form that it stands for.
    pub form: Form,
    /// What is said of it.
    pub docs: String,
    /// The name of the `oneof` around the fields of [`Cardinality::Case`].
    pub oneof: Option<String>,
    /// Its fields.
    pub fields: Vec<Field>,
    /// Numbers and names of fields that it had.
    pub reserved: Vec<(i32, String)>,
}

/// The WIT form of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A record.
    Record,
    /// The parameters of a function, its result or its refusal, if these are no single record.
    Wrapper,
    /// A variant.
    Variant,
    /// Flags.
    Flags,
    /// A tuple.
    Tuple,
    /// An option where protobuf has no place for one.
    Option,
    /// A list where protobuf has no place for one.
    List,
    /// A result inside of data.
    Result,
}

/// A field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// In snake case.
    pub name: String,
    /// As the WIT has it.
    pub wit: String,
    /// On the wire; 0 until the lock has given one.
    pub number: i32,
    /// What is said of it.
    pub docs: String,
    /// How often it may be there.
    pub cardinality: Cardinality,
    /// Its type.
    pub kind: Kind,
    /// Whether its texts are ids, which may not be empty. The name of the field or of its WIT type decides: `id`,
    /// `…-id`, `ids`, `…-ids`.
    pub is_id: bool,
}

/// How often a field may be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cardinality {
    /// Once. A missing message and an unspecified enum are refused.
    One,
    /// Once or not at all.
    Optional,
    /// Any number of times.
    Repeated,
    /// One of the fields of the message's `oneof`.
    Case,
}

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One of WIT's own types.
    Scalar(Scalar),
    /// A message, by its full name.
    Message(String),
    /// An enum, by its full name.
    Enum(String),
}

/// WIT's own types. Protobuf has fewer. A value outside the WIT type's range is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the WIT type of its name")]
pub enum Scalar {
    Bool,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F32,
    F64,
    Char,
    String,
    /// `list<u8>`
    Bytes,
}

impl Scalar {
    /// Its name in a `.proto` file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Scalar::Bool => "bool",
            Scalar::U8 | Scalar::U16 | Scalar::U32 => "uint32",
            Scalar::U64 => "uint64",
            Scalar::S8 | Scalar::S16 | Scalar::S32 => "int32",
            Scalar::S64 => "int64",
            Scalar::F32 => "float",
            Scalar::F64 => "double",
            Scalar::Char | Scalar::String => "string",
            Scalar::Bytes => "bytes",
        }
    }

    /// The accepted part of protobuf's range, if it is not all.
    #[must_use]
    pub fn range(self) -> Option<&'static str> {
        match self {
            Scalar::U8 => Some("At most 255."),
            Scalar::U16 => Some("At most 65535."),
            Scalar::S8 => Some("From -128 to 127."),
            Scalar::S16 => Some("From -32768 to 32767."),
            Scalar::Char => Some("One character."),
            _ => None,
        }
    }

    /// Its name in WIT, which the lock keeps, because a range may not shrink.
    #[must_use]
    pub fn wit(self) -> &'static str {
        match self {
            Scalar::Bool => "bool",
            Scalar::U8 => "u8",
            Scalar::U16 => "u16",
            Scalar::U32 => "u32",
            Scalar::U64 => "u64",
            Scalar::S8 => "s8",
            Scalar::S16 => "s16",
            Scalar::S32 => "s32",
            Scalar::S64 => "s64",
            Scalar::F32 => "f32",
            Scalar::F64 => "f64",
            Scalar::Char => "char",
            Scalar::String => "string",
            Scalar::Bytes => "bytes",
        }
    }
}

/// An enum. Its value 0 means unspecified, as protobuf's style guide requires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enum {
    /// Without its package.
    pub name: String,
    /// What of the WIT it stands for.
    pub wit: String,
    /// What is said of it.
    pub docs: String,
    /// Its values, without that of 0.
    pub values: Vec<Value>,
    /// Numbers and names of values that it had.
    pub reserved: Vec<(i32, String)>,
}

/// A value of an enum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// With the enum's name before it.
    pub name: String,
    /// As the WIT has it.
    pub wit: String,
    /// On the wire; 0 until the lock has given one.
    pub number: i32,
    /// What is said of it.
    pub docs: String,
}

impl Field {
    /// The field's type in the lock's form. A change of it is a change for clients.
    #[must_use]
    pub fn shape(&self) -> String {
        let word = match self.cardinality {
            Cardinality::One => "",
            Cardinality::Optional => "optional ",
            Cardinality::Repeated => "repeated ",
            Cardinality::Case => "case ",
        };
        match &self.kind {
            Kind::Scalar(scalar) => format!("{word}{}", scalar.wit()),
            Kind::Message(name) | Kind::Enum(name) => format!("{word}{name}"),
        }
    }
}

impl Enum {
    /// The name of the value 0.
    #[must_use]
    pub fn unspecified(&self) -> String {
        format!("{}_UNSPECIFIED", crate::names::screaming(&self.name))
    }
}

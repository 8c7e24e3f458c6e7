//! Messages of calls: another reader of protobuf takes what is taken here and says the same, what was read can
//! be written and is read the same again, and what the other one takes is taken here too. Only what is stricter
//! here than there is refused here alone, and of that the other one's reading must show that it is so.

use std::sync::OnceLock;

use prost::Message as _;
use prost_reflect::Value as Told;
use prost_reflect::{DescriptorPool, DynamicMessage, ReflectMessage as _, SerializeOptions};
use rialto_proto::model::{Cardinality, EMPTY, Field, File, Form, Kind, Message, Method, Scalar};
use rialto_proto::{Codec, TypeMismatch, descriptors, own};
use serde_json::Value;

struct Contracts {
    files: Vec<File>,
    methods: Vec<Method>,
    codec: Codec,
    pool: DescriptorPool,
}

fn contracts() -> &'static Contracts {
    static CONTRACTS: OnceLock<Contracts> = OnceLock::new();
    CONTRACTS.get_or_init(|| {
        let files: Vec<File> = own().expect("the contracts are whole").files;
        let set = descriptors(&files).encode_to_vec();
        let services = files.iter().filter_map(|file| file.service.as_ref());
        Contracts {
            methods: services
                .flat_map(|service| service.methods.clone())
                .collect(),
            codec: Codec::new(&files),
            pool: DescriptorPool::decode(set.as_slice()).expect("descriptors are whole"),
            files,
        }
    })
}

/// The first line is the name of a method. What follows is a message: in protobuf's JSON if it begins with a
/// brace, in bytes if not.
pub fn judge(bytes: &[u8]) {
    let contracts = contracts();
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let Some((name, rest)) = end.map(|end| (&bytes[..end], &bytes[end + 1..])) else {
        return;
    };
    let mut methods = contracts.methods.iter();
    let Some(method) = methods.find(|method| method.name.as_bytes() == name) else {
        return;
    };
    let of = contracts.pool.get_message_by_name(&method.input);
    let of = of.expect("the pool has each method's messages");
    let message = if rest.first() == Some(&b'{') {
        let mut read = serde_json::Deserializer::from_slice(rest);
        match DynamicMessage::deserialize(of.clone(), &mut read) {
            Ok(message) => message.encode_to_vec(),
            Err(_) => return,
        }
    } else {
        rest.to_vec()
    };
    let theirs = DynamicMessage::decode(of.clone(), message.as_slice());
    let ours = match contracts.codec.decode(&method.input, &message) {
        Ok(ours) => ours,
        Err(misfit) => {
            if let Ok(theirs) = theirs {
                justified(contracts, &method.input, &theirs, &misfit);
            }
            return;
        }
    };
    let theirs = theirs.expect("what is read here is read by others");
    let written = contracts.codec.encode(&method.input, &ours);
    let written = written.expect("what was read can be written");
    let again = contracts.codec.decode(&method.input, &written);
    assert_eq!(again.as_ref(), Ok(&ours), "it is read the same again");
    let rewritten = DynamicMessage::decode(of, written.as_slice());
    let rewritten = rewritten.expect("others read what is written here");
    assert_eq!(told(&rewritten), told(&theirs), "others read the same");
    arguments(contracts, method, &message, &ours);
}

/// Why a message may be refused of which the value that others read does not tell: they cut numbers that are too
/// long, skip groups that they do not know, and have other bounds of depth and of memory.
const OF_THE_WIRE: [&str; 6] = [
    " is more than ",
    " is not from ",
    " is no value of ",
    "a wire type that is not proto3's",
    "messages are inside of each other",
    "is too large for its length",
];

/// What others take was refused here: because of how it is sent, which is one of few things, or because what
/// others read has something missing or out of range.
fn justified(contracts: &Contracts, name: &str, theirs: &DynamicMessage, misfit: &TypeMismatch) {
    if OF_THE_WIRE
        .iter()
        .any(|reason| misfit.message.contains(reason))
    {
        // As others would send what they have read it is refused no more, or the value itself does not fit.
        let of = theirs.descriptor();
        let plain = DynamicMessage::deserialize(of, told(theirs));
        let plain = plain.expect("what was told can be read").encode_to_vec();
        let bounded = OF_THE_WIRE[4..]
            .iter()
            .any(|reason| misfit.message.contains(reason));
        assert!(
            bounded
                || contracts.codec.decode(name, &plain).is_ok()
                || contracts.unfit(name, theirs),
            "others take it, and it is refused also as they would send it: {misfit}; {theirs}"
        );
        return;
    }
    assert!(
        contracts.unfit(name, theirs),
        "others take it, and nothing is missing or out of range: {misfit}; {theirs}"
    );
}

impl Contracts {
    fn message(&self, name: &str) -> Option<&Message> {
        let mut files = self.files.iter();
        files.find_map(|file| {
            let own = name
                .strip_prefix(file.package.as_str())?
                .strip_prefix('.')?;
            file.messages.iter().find(|message| message.name == own)
        })
    }

    fn is_value(&self, name: &str, number: i32) -> bool {
        self.files.iter().any(|file| {
            let own = name.strip_prefix(file.package.as_str());
            let own = own.and_then(|own| own.strip_prefix('.'));
            let mut enums = file.enums.iter();
            let found = own.and_then(|own| enums.find(|found| found.name == own));
            found.is_some_and(|found| found.values.iter().any(|value| value.number == number))
        })
    }

    /// Whether something in a message, as others have read it, is missing or out of range.
    fn unfit(&self, name: &str, theirs: &DynamicMessage) -> bool {
        if name == EMPTY {
            return false;
        }
        let message = self
            .message(name)
            .expect("each message is of the contracts");
        let is_there = |field: &Field| theirs.has_field_by_number(field.number.unsigned_abs());
        if matches!(message.form, Form::Variant | Form::Result) {
            return match message.fields.iter().find(|field| is_there(field)) {
                Some(case) => self.field_unfit(case, theirs),
                None => true,
            };
        }
        message.fields.iter().any(|field| match field.cardinality {
            Cardinality::Optional | Cardinality::Repeated if !is_there(field) => false,
            _ if matches!(field.kind, Kind::Message(_)) && !is_there(field) => true,
            _ => self.field_unfit(field, theirs),
        })
    }

    fn field_unfit(&self, field: &Field, theirs: &DynamicMessage) -> bool {
        let held = theirs.get_field_by_number(field.number.unsigned_abs());
        if field.is_id && names_nothing(held.as_deref()) {
            return true;
        }
        match held.as_deref() {
            Some(Told::List(all)) => all.iter().any(|held| self.value_unfit(&field.kind, held)),
            Some(held) => self.value_unfit(&field.kind, held),
            None => false,
        }
    }

    fn value_unfit(&self, kind: &Kind, held: &Told) -> bool {
        match (kind, held) {
            (Kind::Message(name), Told::Message(inner)) => self.unfit(name, inner),
            (Kind::Enum(name), Told::EnumNumber(number)) => !self.is_value(name, *number),
            (Kind::Scalar(scalar), held) => out_of_range(*scalar, held),
            _ => false,
        }
    }
}

/// Whether an id, or one of several, is missing or empty.
fn names_nothing(held: Option<&Told>) -> bool {
    match held {
        None => true,
        Some(Told::String(text)) => text.is_empty(),
        Some(Told::List(all)) => all.iter().any(|held| names_nothing(Some(held))),
        Some(_) => false,
    }
}

/// Whether a value is none of the WIT type's.
fn out_of_range(scalar: Scalar, held: &Told) -> bool {
    match (scalar, held) {
        (Scalar::U8, Told::U32(value)) => u8::try_from(*value).is_err(),
        (Scalar::U16, Told::U32(value)) => u16::try_from(*value).is_err(),
        (Scalar::S8, Told::I32(value)) => i8::try_from(*value).is_err(),
        (Scalar::S16, Told::I32(value)) => i16::try_from(*value).is_err(),
        (Scalar::F32, Told::F32(value)) => !value.is_finite(),
        (Scalar::F64, Told::F64(value)) => !value.is_finite(),
        (Scalar::Char, Told::String(text)) => text.chars().count() != 1,
        _ => false,
    }
}

/// What a message says, without fields that nobody here knows.
fn told(message: &DynamicMessage) -> Value {
    let options = SerializeOptions::new().skip_default_fields(false);
    let told = message.serialize_with_options(serde_json::value::Serializer, &options);
    told.expect("a message can be told")
}

/// A function has as many arguments as parameters, and they are what was said.
fn arguments(contracts: &Contracts, method: &Method, message: &[u8], ours: &Value) {
    let arguments = contracts.codec.arguments(method, message);
    let arguments = arguments.expect("it was read before");
    assert_eq!(arguments.len(), method.parameters.len());
    let whole = arguments.first().is_some_and(|argument| argument == ours);
    let mut parts = method.parameters.iter().zip(&arguments);
    let each = parts.all(|(name, argument)| ours.get(name).unwrap_or(&Value::Null) == argument);
    assert!(whole || each, "{arguments:?} of {ours:?}");
}

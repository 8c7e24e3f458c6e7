//! Messages of calls: another reader of protobuf takes what is taken here and says the same, and what was read
//! can be written and is read the same again. Only what is stricter here than there is refused here alone.

use std::sync::OnceLock;

use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, SerializeOptions};
use rialto_proto::model::{File, Method};
use rialto_proto::{Codec, descriptors, own};
use serde_json::Value;

struct Contracts {
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
    let Ok(ours) = contracts.codec.decode(&method.input, &message) else {
        return;
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

//! The arguments that a component gets from a call, and the answer that the client gets.

use prost_reflect::{DescriptorPool, DynamicMessage, ReflectMessage as _};
use rialto_proto::model::{File, Method};
use rialto_proto::status::Code;
use rialto_proto::{Codec, Lock, Refusal, descriptors};
use serde_json::{Value, json};

const CALLS: &str = "package a:b@0.1.0;
    interface pay {
        record request { one: u8 }
        record response { two: u8 }
        variant refusal { unknown-account(string), too-late }
        pay: func(request: request) -> result<response, refusal>;
    }
    interface plain {
        enum why { malformed, other }
        plain: func(zulu: string, alpha: option<u8>) -> list<u8>;
        bare: func() -> result<_, why>;
    }";

/// google's own messages, as their files have them.
const GOOGLES: &str = "syntax = \"proto3\";
    package google.rpc;
    import \"google/protobuf/any.proto\";
    message Status { int32 code = 1; string message = 2; repeated google.protobuf.Any details = 3; }
    message ErrorInfo { string reason = 1; string domain = 2; map<string, string> metadata = 3; }
    message BadRequest {
      message FieldViolation { string field = 1; string description = 2; }
      repeated FieldViolation field_violations = 1;
    }";

struct Calls {
    codec: Codec,
    methods: Vec<Method>,
    pool: DescriptorPool,
}

fn calls() -> Calls {
    calls_of(CALLS)
}

fn calls_of(wit: &str) -> Calls {
    let files: Vec<File> = crate::support::under(&Lock::default(), wit).files;
    let folder = tempfile::TempDir::new().expect("a folder can be made");
    let path = folder.path().join("googles.proto");
    std::fs::write(&path, GOOGLES).expect("a file can be written");
    let googles = protox::compile([path], [folder.path()]).expect("it is right");
    let mut pool = DescriptorPool::from_file_descriptor_set(googles).expect("it is right");
    pool.add_file_descriptor_set(descriptors(&files))
        .expect("it is right");
    let services = files.iter().filter_map(|file| file.service.clone());
    Calls {
        codec: Codec::new(&files),
        methods: services.flat_map(|service| service.methods).collect(),
        pool,
    }
}

impl Calls {
    fn method(&self, name: &str) -> &Method {
        let found = self.methods.iter().find(|method| method.name == name);
        found.expect("the WIT has it")
    }

    fn bytes(&self, name: &str, text: &str) -> Vec<u8> {
        let descriptor = self.pool.get_message_by_name(name).expect("it is there");
        let message = DynamicMessage::parse_text_format(descriptor, text).expect("it is one");
        prost::Message::encode_to_vec(&message)
    }

    fn text(&self, name: &str, bytes: &[u8]) -> String {
        let descriptor = self.pool.get_message_by_name(name).expect("it is there");
        let message = DynamicMessage::decode(descriptor, bytes).expect("it is one");
        assert_eq!(message.unknown_fields().count(), 0);
        assert_eq!(message.descriptor().full_name(), name);
        message.to_text_format()
    }

    fn answered(&self, method: &str, given: &Value) -> String {
        let method = self.method(method);
        let answer = self
            .codec
            .answer(method, given)
            .expect("it is of the method");
        self.text(&method.output, &answer.expect("it is no refusal"))
    }

    fn refused(&self, method: &str, given: &Value) -> Refusal {
        let answer = self.codec.answer(self.method(method), given);
        answer
            .expect("it is of the method")
            .expect_err("it is a refusal")
    }
}

#[test]
fn arguments_come_in_the_order_of_the_parameters() {
    let calls = calls();
    let own = calls.bytes("a.b.v0_1.PayRequest", "one: 7");
    assert_eq!(
        calls.codec.arguments(calls.method("Pay"), &own),
        Ok(vec![json!({"one": 7})])
    );
    let plain = calls.bytes("a.b.v0_1.PlainRequest", "alpha: 0 zulu: \"z\"");
    let arguments = calls.codec.arguments(calls.method("Plain"), &plain);
    assert_eq!(arguments, Ok(vec![json!("z"), json!(0)]));
    assert_eq!(
        calls.codec.arguments(calls.method("PlainBare"), &[]),
        Ok(vec![])
    );
}

#[test]
fn what_a_function_gives_is_its_answer() {
    let calls = calls();
    assert_eq!(calls.answered("Pay", &json!({"ok": {"two": 2}})), "two:2");
    assert_eq!(calls.answered("Plain", &json!([97, 98])), "result:\"ab\"");
    assert_eq!(calls.answered("PlainBare", &json!({"ok": null})), "");
}

#[test]
fn a_refusal_has_code_name_and_typed_error() {
    let calls = calls();
    let refusal = calls.refused("Pay", &json!({"err": {"unknown-account": "x"}}));
    assert_eq!(
        (refusal.code, refusal.message.as_str()),
        (Code::NotFound, "unknown-account")
    );
    let expected = "code:5,message:\"unknown-account\",details:[\
        {[type.googleapis.com/google.rpc.ErrorInfo]{reason:\"UNKNOWN_ACCOUNT\",domain:\"a:b\"}},\
        {[type.googleapis.com/a.b.v0_1.Refusal]{unknown_account:\"x\"}}]";
    let told = calls.text("google.rpc.Status", &refusal.details);
    assert_eq!(told, expected);
    let refusal = calls.refused("PlainBare", &json!({"err": "malformed"}));
    assert_eq!(refusal.code, Code::InvalidArgument);
    let told = calls.text("google.rpc.Status", &refusal.details);
    assert!(
        told.contains("a.b.v0_1.PlainBareError]{error:WHY_MALFORMED}"),
        "{told}"
    );
}

#[test]
fn a_bad_request_names_its_field() {
    let calls = calls();
    let bytes = calls.bytes("a.b.v0_1.PayRequest", "one: 256");
    let misfit = calls.codec.arguments(calls.method("Pay"), &bytes);
    let refusal = Refusal::from(&misfit.expect_err("it is out of range"));
    assert_eq!(
        (refusal.code, refusal.message.as_str()),
        (Code::InvalidArgument, "one: 256 is more than 255")
    );
    let told = calls.text("google.rpc.Status", &refusal.details);
    let violation = "field_violations:[{field:\"one\",description:\"256 is more than 255\"}]";
    assert!(told.contains(violation), "{told}");
}

/// Ids by their own names, by those of aliases of aliases, in lists, options and cases; and what is none.
const IDS: &str = "package a:ids@0.1.0;
    interface types { type book-id = string; }
    interface find {
        use types.{book-id};
        type novel-id = book-id;
        variant which { any, one(novel-id), word(string) }
        record request {
            request-id: string, id: option<string>, first: novel-id, others: list<book-id>,
            paid: string, ids: list<string>, which: which, names: list<string>,
        }
        find: func(request: request) -> bool;
    }
    interface get { get: func(book: u8, book-id: string) -> string; }";

#[test]
fn an_empty_or_missing_id_is_refused() {
    let calls = calls_of(IDS);
    let asked = |method: &str, text: &str| {
        let method = calls.method(method);
        let bytes = calls.bytes(&method.input, text);
        let misfit = calls.codec.arguments(method, &bytes).err()?;
        assert_eq!(Refusal::from(&misfit).code, Code::InvalidArgument);
        Some(misfit.to_string())
    };
    let good = "request_id: \"r\" first: \"f\" which: { word: \"\" } names: \"\"";
    assert_eq!(asked("Find", good), None);
    assert_eq!(asked("Get", "book_id: \"b\""), None);
    let all = format!("{good} id: \"i\" others: [\"o\"] ids: [\"i\"]");
    assert_eq!(asked("Find", &all), None);
    let refused = |text: &str, at: &str| {
        let said = asked("Find", text);
        assert_eq!(
            said,
            Some(format!("{at}: is empty, and an id is not")),
            "{text}"
        );
    };
    refused(&good.replace("\"r\"", "\"\""), "request_id");
    refused(&good.replace("request_id: \"r\"", ""), "request_id");
    refused(&good.replace("\"f\"", "\"\""), "first");
    refused(&format!("{good} id: \"\""), "id");
    refused(&format!("{good} others: [\"o\", \"\"]"), "others.1");
    refused(&format!("{good} ids: \"\""), "ids.0");
    refused(&good.replace("word", "one"), "which.one");
    let said = asked("Get", "book: 1");
    assert_eq!(said.as_deref(), Some("book_id: is empty, and an id is not"));
}

#[test]
fn what_is_not_of_the_method_is_no_answer() {
    let calls = calls();
    for given in [
        json!(null),
        json!({"ok": 3}),
        json!({"err": "no-such-case"}),
    ] {
        assert!(
            calls.codec.answer(calls.method("Pay"), &given).is_err(),
            "{given}"
        );
    }
}

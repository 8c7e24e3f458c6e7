//! The conversion of each WIT type, as `.proto` text.

use rialto_proto::wit::Chosen;
use rialto_proto::{Lock, derive, descriptors, proto};

/// The body of the one file, without comments and empty lines.
fn body(text: &str) -> Vec<String> {
    let locked = crate::support::under(&Lock::default(), text);
    assert_eq!(locked.files.len(), 1);
    let compiled = crate::support::compiled(&locked.files);
    let ours = descriptors(&locked.files);
    for file in &ours.file {
        let theirs = compiled
            .file
            .iter()
            .find(|other| other.name() == file.name());
        let mut theirs = theirs.expect("each file is compiled").clone();
        theirs.source_code_info = None;
        theirs.options = None;
        assert_eq!(&theirs, file);
    }
    let text = proto(&locked.files[0]);
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("//"));
    // After the lines about syntax and package.
    lines.skip(2).map(str::to_owned).collect()
}

#[test]
fn calls_use_their_own_messages_or_wrappers() {
    let text = "package a:b@0.1.0;
        interface pay {
            record request { amount: u64 }
            record response { left: s32 }
            enum refusal { poor, closed }
            pay: func(request: request) -> result<response, refusal>;
            event: func(request: request);
        }
        interface ask { ask: func(who: string, often: u8) -> option<string>; }";
    let expected = [
        "service BService {",
        "rpc Pay(PayRequest) returns (PayResponse);",
        "rpc Ask(AskRequest) returns (AskResponse);",
        "}",
        "message PayRequest {",
        "uint64 amount = 1;",
        "}",
        "message PayResponse {",
        "int32 left = 1;",
        "}",
        "message PayError {",
        "Refusal error = 1;",
        "}",
        "message AskRequest {",
        "string who = 1;",
        "uint32 often = 2;",
        "}",
        "message AskResponse {",
        "optional string result = 1;",
        "}",
        "enum Refusal {",
        "REFUSAL_UNSPECIFIED = 0;",
        "REFUSAL_POOR = 1;",
        "REFUSAL_CLOSED = 2;",
        "}",
    ];
    assert_eq!(body(text), expected);
}

#[test]
fn each_type_has_its_form() {
    let text = "package a:b@1.2.0;
        interface all {
            type alias = list<u8>;
            flags rights { read, may-write }
            variant choice { none, some(string), many(list<u32>), perhaps(option<bool>) }
            record everything {
                a: bool, b: u8, c: u16, d: u32, e: u64, f: s8, g: s16, h: s32, i: s64,
                j: f32, k: f64, l: char, m: string, n: alias, o: option<alias>,
                p: list<string>, q: option<list<string>>, r: list<option<string>>,
                s: list<list<string>>, t: option<option<u8>>, u: tuple<string, u8>,
                v: result<string, u8>, w: rights, x: option<choice>, y: list<choice>, z-1: result,
            }
            all: func() -> everything;
        }";
    let body = body(text).join("\n");
    let fields = "bool a = 1;\nuint32 b = 2;\nuint32 c = 3;\nuint32 d = 4;\nuint64 e = 5;\nint32 f = 6;\n\
        int32 g = 7;\nint32 h = 8;\nint64 i = 9;\nfloat j = 10;\ndouble k = 11;\nstring l = 12;\n\
        string m = 13;\nbytes n = 14;\noptional bytes o = 15;\nrepeated string p = 16;\n\
        optional StringList q = 17;\nrepeated OptionalString r = 18;\nrepeated StringList s = 19;\n\
        optional OptionalU8 t = 20;\nStringU8Tuple u = 21;\nStringOrU8 v = 22;\nRights w = 23;\n\
        optional Choice x = 24;\nrepeated Choice y = 25;\nEmptyOrEmpty z_1 = 26;\n";
    for expected in [
        fields,
        "message StringList {\nrepeated string items = 1;\n}",
        "message OptionalString {\noptional string value = 1;\n}",
        "message OptionalU8 {\noptional uint32 value = 1;\n}",
        "message StringU8Tuple {\nstring item0 = 1;\nuint32 item1 = 2;\n}",
        "message StringOrU8 {\noneof kind {\nstring ok = 1;\nuint32 err = 2;\n}\n}",
        "message Rights {\nbool read = 1;\nbool may_write = 2;\n}",
        "message Choice {\noneof kind {\n.google.protobuf.Empty none = 1;\nstring some = 2;\n\
         U32List many = 3;\nOptionalBool perhaps = 4;\n}\n}",
        "message AllResponse {\nEverything result = 1;\n}",
        "message AllRequest {\n}",
    ] {
        assert!(body.contains(expected), "{expected}\nis not in\n{body}");
    }
}

#[test]
fn types_with_the_same_name_get_their_interfaces_name() {
    let common = "package a:common@0.1.0; interface types { record money { units: u64 } }";
    let text = "package a:b@0.1.0;
        interface x { record thing { m: u32 } x: func() -> thing; }
        interface y { use a:common/types@0.1.0.{money}; record thing { m: money } y: func() -> thing; }";
    let resolve = crate::support::resolve(&[common, text]);
    let files = derive(&resolve, &Chosen::default(), &Lock::default()).expect("all has a form");
    let files = Lock::default().apply(files).files;
    crate::support::compiled(&files);
    let text = proto(&files[0]);
    for expected in [
        "import \"a/common/v0_1/common.proto\";",
        "message Thing {\n  uint32 m = 1;\n}",
        "message YThing {\n  .a.common.v0_1.Money m = 1;\n}",
        "message XResponse {\n  Thing result = 1;\n}",
        "message YResponse {\n  YThing result = 1;\n}",
    ] {
        assert!(text.contains(expected), "{expected}\nis not in\n{text}");
    }
}

#[test]
fn all_types_without_a_form_are_reported() {
    let text = "package a:b@0.1.0;
        interface x {
            resource file;
            enum e { unspecified }
            record r { f-1: u8, f1: u8 }
            one: func() -> list<own<file>>;
            two: func() -> e;
            three: func(r: r) -> u8;
        }";
    let problems = derive(
        &crate::support::resolve(&[text]),
        &Chosen::default(),
        &Lock::default(),
    );
    let problems: Vec<_> = problems
        .expect_err("it has none")
        .iter()
        .map(ToString::to_string)
        .collect();
    let expected = [
        "x.one: own cannot go to programs outside: use a record, or an id",
        "x.e: the case `unspecified` is protobuf's own: rename it",
        "x.r: two fields of `a.b.v0_1.R` are both `f1` in JSON: rename one",
    ];
    assert_eq!(problems, expected);
}

#[test]
fn a_nested_record_has_a_name_of_its_own() {
    let text = "package a:b@0.1.0; interface look { record response { n: u8 } \
                look: func() -> option<response>; }";
    let body = body(text);
    for expected in ["message LookResponse {", "message LookResponseData {"] {
        assert!(body.iter().any(|line| line == expected), "{body:?}");
    }
}

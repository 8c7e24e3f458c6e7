//! The effects of changes of the WIT on earlier clients.

use crate::support::{breaks, under};
use rialto_proto::wit::Chosen;
use rialto_proto::{Lock, Locked, checked_in, proto};

/// A package with one call; `request` and `response` are the fields of its records.
fn package(request: &str, response: &str) -> String {
    format!(
        "package a:b@0.1.0;
        interface pay {{
            enum colour {{ red, green }}
            record request {{ {request} }}
            record response {{ {response} }}
            pay: func(request: request) -> response;
        }}"
    )
}

fn first(request: &str, response: &str) -> Lock {
    let locked = under(&Lock::default(), &package(request, response));
    assert_eq!(breaks(&locked), [""; 0]);
    again(&locked)
}

/// The lock as the next run finds it.
fn again(locked: &Locked) -> Lock {
    let read = Lock::parse(&locked.lock.to_text()).expect("it was just written");
    assert_eq!(read, locked.lock);
    read
}

fn text(locked: &Locked) -> String {
    proto(&locked.files[0])
}

#[test]
fn what_stays_keeps_its_number_wherever_it_moves() {
    let lock = first("one: u8, two: string", "r: u8");
    let moved = under(&lock, &package("two: string, one: u8", "r: u8"));
    assert_eq!(breaks(&moved), [""; 0]);
    assert_eq!(moved.lock, lock);
    assert!(
        text(&moved).contains("  uint32 one = 1;\n  string two = 2;\n"),
        "{}",
        text(&moved)
    );
}

#[test]
fn numbers_are_never_reused() {
    let lock = first("one: option<u8>, two: option<u8>", "r: u8");
    let without = under(&lock, &package("one: option<u8>", "r: u8"));
    assert_eq!(breaks(&without), [""; 0]);
    assert!(
        text(&without).contains("  reserved 2;\n  reserved \"two\";\n"),
        "{}",
        text(&without)
    );
    crate::support::compiled(&without.files);
    let lock = again(&without);
    let new = under(
        &lock,
        &package("three: option<u8>, one: option<u8>", "r: u8"),
    );
    assert_eq!(breaks(&new), [""; 0]);
    assert!(
        text(&new).contains("optional uint32 three = 3;"),
        "{}",
        text(&new)
    );
    let back = under(&lock, &package("one: option<u8>, two: option<u8>", "r: u8"));
    let expected =
        "a.b.v0_1.PayRequest.two had been taken away and comes back: give it another name";
    assert_eq!(breaks(&back), [expected]);
}

#[test]
fn a_changed_type_is_refused() {
    let lock = first("one: u8", "r: list<u8>");
    let changed = under(&lock, &package("one: u64", "r: list<u16>"));
    let expected = [
        "a.b.v0_1.PayRequest.one was `u8` and is `u64`",
        "a.b.v0_1.PayResponse.r was `bytes` and is `repeated u16`",
    ];
    assert_eq!(breaks(&changed), expected);
    let shrunk = under(&first("one: u32", "r: u8"), &package("one: u16", "r: u8"));
    assert_eq!(
        breaks(&shrunk),
        ["a.b.v0_1.PayRequest.one was `u32` and is `u16`"]
    );
    let optional = under(&lock, &package("one: option<u8>", "r: list<u8>"));
    assert_eq!(
        breaks(&optional),
        ["a.b.v0_1.PayRequest.one was `u8` and is `optional u8`"]
    );
}

#[test]
fn required_requests_cannot_come_and_results_cannot_go() {
    let lock = first("one: u8, two: u8", "r: u8, s: u8");
    let came = under(
        &lock,
        &package("one: u8, two: u8, three: u8", "r: u8, s: u8, t: u8"),
    );
    let expected = "a.b.v0_1.PayRequest.three is new and must be said: make it an option";
    assert_eq!(breaks(&came), [expected]);
    let went = under(&lock, &package("one: u8", "r: u8"));
    assert_eq!(breaks(&went), ["a.b.v0_1.PayResponse.s is gone"]);
}

#[test]
fn a_value_cannot_go_while_clients_may_say_it() {
    let said = first("c: colour", "r: u8");
    let told = first("one: u8", "c: colour");
    let less =
        |request: &str, response: &str| package(request, response).replace("red, green", "red");
    let more =
        |request: &str, response: &str| package(request, response).replace("green", "green, blue");
    let went = under(&said, &less("c: colour", "r: u8"));
    assert_eq!(breaks(&went), ["a.b.v0_1.Colour.COLOUR_GREEN is gone"]);
    let went = under(&told, &less("one: u8", "c: colour"));
    assert_eq!(breaks(&went), [""; 0]);
    assert!(
        text(&went).contains("reserved \"COLOUR_GREEN\";"),
        "{}",
        text(&went)
    );
    crate::support::compiled(&went.files);
    for (lock, came) in [
        (&said, more("c: colour", "r: u8")),
        (&told, more("one: u8", "c: colour")),
    ] {
        let came = under(lock, &came);
        assert_eq!(breaks(&came), [""; 0]);
        assert!(text(&came).contains("COLOUR_BLUE = 3;"), "{}", text(&came));
    }
}

#[test]
fn a_call_cannot_go_or_answer_with_another_message() {
    let lock = first("one: u8", "r: u8");
    let gone = under(
        &lock,
        "package a:b@0.1.0; interface ask { ask: func() -> u8; }",
    );
    assert_eq!(breaks(&gone), ["a.b.v0_1.BService/Pay is gone"]);
    let refuses = package("one: u8", "r: u8").replace("-> response", "-> result<response, colour>");
    let expected = "a.b.v0_1.BService/Pay was `a.b.v0_1.PayRequest -> a.b.v0_1.PayResponse` and is \
                    `a.b.v0_1.PayRequest -> a.b.v0_1.PayResponse or a.b.v0_1.PayError`";
    assert_eq!(breaks(&under(&lock, &refuses)), [expected]);
    let other = "package a:b@0.2.0; interface ask { ask: func() -> u8; }";
    let both = rialto_proto::derive(
        &crate::support::resolve(&[&package("one: u8", "r: u8"), other]),
        &Chosen::default(),
        &lock,
    );
    let both = lock.apply(both.expect("all has a form"));
    assert_eq!(
        breaks(&both),
        [""; 0],
        "a new version beside the old one breaks nobody"
    );
}

#[test]
fn a_name_stays_with_its_type() {
    let only = "package a:b@0.1.0; interface y { record thing { m: u32 } y: func() -> thing; }";
    let lock = again(&under(&Lock::default(), only));
    let both = "package a:b@0.1.0;
        interface x { record thing { m: string } x: func() -> thing; }
        interface y { record thing { m: u32 } y: func() -> thing; }";
    let both = under(&lock, both);
    assert_eq!(breaks(&both), [""; 0]);
    assert!(
        text(&both).contains("message Thing {\n  uint32 m = 1;\n}"),
        "{}",
        text(&both)
    );
    assert!(
        text(&both).contains("message XThing {\n  string m = 1;\n}"),
        "{}",
        text(&both)
    );
}

#[test]
fn numbers_of_protobuf_are_left_out() {
    let text = "[messages.\"a.b.v0_1.PayRequest\"]\nwit = \"pay#request\"\n18999 = \"one: u8\"\n";
    let lock = Lock::parse(text).expect("it is a lock");
    let new = under(&lock, &package("one: u8, two: option<u8>", "r: u8"));
    assert!(
        self::text(&new).contains("optional uint32 two = 20000;"),
        "{}",
        self::text(&new)
    );
    crate::support::compiled(&new.files);
}

#[test]
fn a_malformed_lock_is_refused_with_the_reason() {
    let error = |text: &str| Lock::parse(text).expect_err("it is none").to_string();
    assert!(error("[messages.\"a.B\"]\none = \"one: uint32\"").contains("`one`"));
    assert!(error("[other.a]\nb = \"c\"").contains("`other`"));
    assert!(error("messages = 3").contains("cannot be read"));
}

#[test]
fn nothing_is_accepted_that_breaks_clients() {
    let folder = tempfile::TempDir::new().expect("a folder can be made");
    let (wit, protos) = (folder.path().join("wit"), folder.path().join("proto"));
    let set = |text: &str| {
        std::fs::create_dir_all(wit.join("b")).expect("a folder can be made");
        std::fs::write(wit.join("b/b.wit"), text).expect("a file can be written");
        checked_in::accept(&wit, &protos)
    };
    let kept = || {
        let lock = std::fs::read_to_string(wit.join(checked_in::LOCK)).expect("there is a lock");
        let files = checked_in::found(&protos).expect("it can be listed");
        let texts = files.iter().map(std::fs::read_to_string);
        (
            lock,
            texts
                .collect::<Result<Vec<_>, _>>()
                .expect("they can be read"),
        )
    };
    set(&package("one: u8", "r: u8")).expect("there are no clients yet");
    let before = kept();
    assert_eq!(before.1.len(), 1);
    let error = set(&package("one: string", "r: u8")).expect_err("the type has changed");
    let expected = "a.b.v0_1.PayRequest.one was `u8` and is `string`. Clients that were built before \
                    would break: undo it, or give the WIT package a new version, so that the old one stays \
                    as it is";
    assert_eq!(error.to_string(), expected);
    assert_eq!(kept(), before);
    set(&package("one: u8, two: option<u8>", "r: u8")).expect("clients need not say it");
    assert_ne!(kept(), before);
    let stale = protos.join("a/old.proto");
    std::fs::write(&stale, "").expect("a file can be written");
    set(&package("one: u8", "r: u8")).expect("clients need not say it");
    assert!(!stale.exists(), "a file that nothing gives is gone");
}

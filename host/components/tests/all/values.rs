//! Stored JSON that is read by the types of another release: events, and the inputs of rules.

#![allow(
    clippy::unwrap_used,
    reason = "a failed unwrap in a test is a failed test"
)]

use rialto_components::introspect::Shape;
use rialto_components::values::{Json, decode};
use serde_json::{Value, json};
use wasmtime::Engine;
use wasmtime::component::types::Type;
use wasmtime::component::{Component, Val};

/// The type of the one argument of an event whose record has these fields.
fn event(fields: &str) -> Type {
    let text = format!(
        r#"(component
            (import "rialto:hostile-context/happened@0.1.0" (instance
                (type $inner (record (field "code" string)))
                (export "reason" (type $reason (eq $inner)))
                (type $record (record {fields}))
                (export "event" (type $event (eq $record)))
                (export "happened" (func (param "event" $event))))))"#
    );
    let engine = Engine::default();
    let component = Component::new(&engine, wat::parse_str(text).unwrap()).unwrap();
    let shape = Shape::of(&component, &engine);
    shape.imports[0].functions[0].params[0].1.clone()
}

fn text(text: &str) -> Val {
    Val::String(text.to_owned())
}

#[test]
fn events_of_a_newer_release_lose_added_members() {
    let older = event(r#"(field "id" string) (field "reasons" (list $reason))"#);
    let newer = json!({
        "id": "t",
        "since": { "at": 7 },
        "reasons": [{ "code": "3100", "words": ["late"] }, { "code": "3303" }],
    });
    let reason = |code| Val::Record(vec![("code".to_owned(), text(code))]);
    let expected = Val::Record(vec![
        ("id".to_owned(), text("t")),
        (
            "reasons".to_owned(),
            Val::List(vec![reason("3100"), reason("3303")]),
        ),
    ]);
    assert_eq!(decode(&older, &newer).unwrap(), expected);
}

#[test]
fn events_of_an_older_release_need_optional_additions() {
    let optional = event(r#"(field "id" string) (field "note" (option string))"#);
    let older = json!({ "id": "t" });
    let read = decode(&optional, &older).unwrap();
    let expected = Val::Record(vec![
        ("id".to_owned(), text("t")),
        ("note".to_owned(), Val::Option(None)),
    ]);
    assert_eq!(read, expected);
    let written: Value = serde_json::to_value(Json(&read)).unwrap();
    assert_eq!(written, json!({ "id": "t", "note": null }));
    let needed = event(r#"(field "id" string) (field "note" string)"#);
    let misfit = decode(&needed, &older).unwrap_err();
    assert_eq!(misfit.to_string(), "/note: expected string");
}

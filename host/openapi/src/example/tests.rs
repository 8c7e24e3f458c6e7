//! Examples of documents that somebody has written to make them long, and of plain ones.

use super::*;

#[test]
fn a_type_that_has_itself_many_times_ends() {
    let root = json!({"components": {"schemas": {"A": {
        "type": "object",
        "required": ["a", "b", "c"],
        "properties": {
            "a": {"$ref": "#/components/schemas/A"},
            "b": {"type": "array", "items": {"$ref": "#/components/schemas/A"}, "minItems": 1_000_000},
            "c": {"$ref": "#/components/schemas/A"},
        },
    }}}});
    let media = json!({"schema": {"$ref": "#/components/schemas/A"}});
    let body = Examples::of(&root).body_of(&media).unwrap_or_default();
    assert!(body.contains("null"));
    assert!(body.len() <= BYTES_MAX, "{} bytes", body.len());
}

/// A schema with ten members that must be there, each of this schema.
fn ten_of(schema: &Value) -> Value {
    let names: Vec<String> = (0..10).map(|n| format!("m{n}")).collect();
    let members = names.iter().map(|name| (name.clone(), schema.clone()));
    let members: Map<String, Value> = members.collect();
    json!({"type": "object", "required": names, "properties": members})
}

#[test]
fn an_example_is_bounded_whatever_the_document() {
    let long = "z".repeat(BYTES_MAX / 4);
    let root = json!({"long": {"type": "string", "example": long}});
    let reference = json!({"$ref": "#/long"});
    for schema in [
        reference.clone(),
        json!({"type": "string", "enum": [long]}),
        json!({"type": "string", "default": long}),
        json!({"const": {"a": [long]}}),
        json!({"type": "integer", "minimum": long}),
        json!({"type": "object", "required": [long], "properties": {long.clone(): true}}),
        json!({"type": "array", "minItems": 16, "items": reference}),
        json!({"allOf": [{"properties": {"a": {"example": long}}}, {"properties": {"b": {"example": long}}}]}),
    ] {
        let media = json!({"schema": ten_of(&schema)});
        let examples = Examples::of(&root);
        let body = examples.body_of(&media);
        let body = body.unwrap_or_else(|| panic!("there is room for something: {schema:.80}"));
        assert!(body.len() <= BYTES_MAX, "{} bytes", body.len());
        assert!(body.contains("zzz"), "{schema:.80}");
    }
}

#[test]
fn examples_whose_text_would_be_too_long_are_left_out() {
    // Each level is a line more, with two blanks more on either side.
    let mut deep = json!(1);
    for _ in 0..400 {
        deep = json!([deep, 1]);
    }
    let media = json!({"schema": true, "example": deep});
    assert_eq!(Examples::of(&Value::Null).body_of(&media), None);
    let media = json!({"schema": true, "example": "z".repeat(BYTES_MAX)});
    assert_eq!(Examples::of(&Value::Null).body_of(&media), None);
    // A character that is written as six.
    let media = json!({"schema": true, "example": "\u{1}".repeat(BYTES_MAX / 2)});
    assert_eq!(Examples::of(&Value::Null).body_of(&media), None);
}

#[test]
fn an_example_request_is_bounded_whatever_its_parameters() {
    let long = "z".repeat(BYTES_MAX / 4);
    for place in ["path", "query", "header"] {
        let parameter = json!({"in": place, "name": "a", "required": true, "example": long});
        let all: Vec<Value> = (0..1_000).map(|_| parameter.clone()).collect();
        let item = json!({"get": {"parameters": all}});
        let path = "/{a}".repeat(1_000);
        let root = Value::Null;
        let request = Examples::of(&root).request(&path, &item, "get");
        let headers: usize = request.headers.iter().map(|(n, v)| n.len() + v.len()).sum();
        let bytes = request.target.len() + headers;
        assert!(bytes <= path.len() + 2 * BYTES_MAX, "{place}: {bytes}");
    }
    // One that fits is there.
    let item = json!({"get": {"parameters": [{"in": "path", "name": "a", "example": "x"}]}});
    let request = Examples::of(&Value::Null).request("/b/{a}", &item, "get");
    assert_eq!(request.target, "/b/x");
}

#[test]
fn patterns_are_looked_at_once_and_only_small_ones() {
    let long = "1".repeat(PATTERN_BYTES_MAX + 1);
    let patterns = Patterns::default();
    let place = |text: &str| TEXTS.iter().position(|t| *t == text).unwrap_or_default();
    let uuid = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$";
    assert_eq!(patterns.fitting(uuid), Some(1 << 6));
    assert_eq!(patterns.fitting("^[A-Z]{3}$"), Some(1 << place("USD")));
    assert_eq!(patterns.fitting("("), None);
    // Compiled, it would have megabytes.
    assert_eq!(patterns.fitting("^([\\p{L}\\p{N}]{1,500}){1,500}$"), None);
    assert_eq!(patterns.fitting(&long), None);
    let before = patterns.0.borrow().len();
    patterns.fitting(uuid);
    assert_eq!(patterns.0.borrow().len(), before);
    let many: Vec<String> = (0..2 * PATTERNS_MAX).map(|n| format!("^{n}$")).collect();
    let all = Patterns::default();
    let known = many.iter().filter(|p| all.fitting(p).is_some());
    assert_eq!(known.count(), PATTERNS_MAX);
    assert_eq!(all.0.borrow().len(), PATTERNS_MAX);
}

#[test]
fn an_example_text_fits_format_pattern_and_length() {
    for (schema, expected) in [
        (json!({"type": "string"}), "example"),
        (json!({"type": "string", "maxLength": 3}), "1"),
        (json!({"type": "string", "pattern": "^[0-9]+$"}), "1"),
        (
            json!({"type": "string", "pattern": "^[0-9]+$", "minLength": 3}),
            "100",
        ),
        (json!({"type": "string", "pattern": "("}), "example"),
        (json!({"type": "string", "format": "date"}), "2026-01-31"),
        (
            json!({"type": "string", "format": "http-date"}),
            "Tue, 15 Nov 1994 08:12:31 GMT",
        ),
    ] {
        let media = json!({"schema": schema});
        let body = Examples::of(&Value::Null).body_of(&media);
        assert_eq!(body, Some(format!("{expected:?}")), "{schema}");
    }
}

#[test]
fn properties_of_all_examples_are_bounded() {
    let optional: Map<String, Value> = (0..20_000)
        .map(|n| (format!("p{n}"), json!({"type": "string"})))
        .collect();
    let root = json!({"components": {"schemas": {"Wide": {
        "type": "object", "properties": optional,
    }}}});
    let media = json!({"schema": {
        "type": "array", "minItems": 16, "items": {"$ref": "#/components/schemas/Wide"},
    }});
    let examples = Examples::of(&root);
    assert_eq!(
        examples
            .body_of(&media)
            .as_deref()
            .map(|body| body.matches("{}").count()),
        Some(16)
    );
    for _ in 0..4 {
        let _ = examples.body_of(&media);
    }
    let body = examples.body_of(&media).unwrap_or_default();
    assert!(body.contains("null") && !body.contains('{'), "{body}");
}

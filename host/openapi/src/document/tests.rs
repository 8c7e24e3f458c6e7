//! What documents say, and which are refused.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use super::*;

fn within(path: &str) -> Option<(String, String)> {
    let text = format!(
        "openapi: 3.1.0\ninfo: {{title: t, version: '1'}}\npaths:\n  /alerts: {{}}\n  {path}: {{}}\n"
    );
    let document = Document::parse(&text).unwrap();
    let found = document.path_within(&["metrics", "releases"]);
    found.map(|(path, own)| (path.to_owned(), own.to_owned()))
}

#[test]
fn a_path_with_a_reserved_segment_is_found() {
    for path in ["/metrics", "/{a}/{b}", "/{*rest}", "/m{a}", "/{a}"] {
        assert_eq!(within(path), Some((path.to_owned(), "metrics".to_owned())));
    }
    assert_eq!(within("/releases/{a}").unwrap().1, "releases");
    for path in ["/", "/participants/{a}", "/metrics-of/{a}"] {
        assert_eq!(within(path), None, "{path}");
    }
    let document = Document::parse("openapi: 3.1.0\npaths:\n  /{a}: {}\n").unwrap();
    assert_eq!(document.path_within(&[]), None);
}

#[test]
fn a_trailing_slash_is_ignored_if_declared() {
    let document = |said: &str| {
        let paths = "paths:\n  /a/{b}: {get: {operationId: a}}\n  /: {get: {operationId: r}}\n";
        Document::parse(&format!("openapi: 3.1.0\n{said}{paths}"))
    };
    let parameters = |document: &Document, path: &str| {
        let found = document.find(path)?;
        Some(format!("{:?}", found.parameters))
    };
    let strict = document("").unwrap();
    assert_eq!(parameters(&strict, "/a/c/"), None);
    let lenient = document("x-rialto-trailing-slash: true\n").unwrap();
    let same = Some(r#"[("b", "c")]"#.to_owned());
    assert_eq!(parameters(&lenient, "/a/c/"), same);
    assert_eq!(parameters(&lenient, "/a/c"), same);
    for other in ["/a/c//", "/a/"] {
        assert_eq!(parameters(&lenient, other), None, "{other}");
    }
    assert!(lenient.find("/").is_some());
    let wrong = document("x-rialto-trailing-slash: 1\n").err().unwrap();
    assert!(wrong.what.contains("true or false"), "{wrong}");
}

#[test]
fn what_begins_something_is_said_with_true_or_false() {
    let begins = |said: &str| {
        let text = format!("openapi: 3.1.0\npaths:\n  /a: {{get: {{operationId: a{said}}}}}\n");
        let document = Document::parse(&text)?;
        let found = document.find("/a").unwrap();
        Ok::<_, BadDocument>(found.operations["GET"].begins)
    };
    assert!(!begins("").unwrap());
    assert!(!begins(", x-rialto-begins: false").unwrap());
    assert!(begins(", x-rialto-begins: true").unwrap());
    for other in ["'true'", "1", "null", "[true]"] {
        let wrong = begins(&format!(", x-rialto-begins: {other}")).unwrap_err();
        assert_eq!(wrong.at, "paths /a get");
        assert!(wrong.what.contains("x-rialto-begins"), "{wrong}");
    }
}

#[test]
fn only_an_empty_list_of_its_own_opens_an_operation() {
    let parsed = |all: &str, own: &str| {
        let text = format!(
            "openapi: 3.1.0\n{all}paths:\n  /a: {{get: {{operationId: a{own}}}}}\n  /b: {{get: {{operationId: b, security: []}}}}\n"
        );
        let document = Document::parse(&text)?;
        let found = document.find("/a").unwrap();
        let of_a = found.operations["GET"].is_open;
        assert!(document.find("/b").unwrap().operations["GET"].is_open);
        assert_eq!(document.is_open(), of_a, "{all}{own}");
        Ok::<_, BadDocument>(of_a)
    };
    for all in [
        "",
        "security: []\n",
        "security: [{}]\n",
        "security: [{a: []}]\n",
    ] {
        assert!(parsed(all, ", security: []").unwrap());
        for own in ["", ", security: [{}]", ", security: [{a: []}, {}]"] {
            assert!(!parsed(all, own).unwrap(), "{all}{own}");
        }
    }
    for wrong in ["null", "{}", "[a]", "[[]]", "true", "''"] {
        let refused = parsed("", &format!(", security: {wrong}")).unwrap_err();
        assert_eq!(refused.at, "paths /a get");
        assert!(refused.what.contains("security"), "{refused}");
        assert!(parsed(&format!("security: {wrong}\n"), "").is_err());
    }
    let none = Document::parse("openapi: 3.1.0\npaths: {}\n").unwrap();
    assert!(!none.is_open());
}

#[test]
fn security_schemes_say_what_a_document_knows() {
    let known = |schemes: &str| {
        let text =
            format!("openapi: 3.1.0\npaths: {{}}\ncomponents:\n  securitySchemes: {{{schemes}}}\n");
        let document = Document::parse(&text).unwrap();
        (document.knows_certificates(), document.knows_tokens())
    };
    assert_eq!(known(""), (false, false));
    assert_eq!(known("a: {type: mutualTLS}"), (true, false));
    assert_eq!(known("a: {type: http, scheme: Bearer}"), (false, true));
    assert_eq!(known("a: {type: http, scheme: basic}"), (false, false));
    assert_eq!(known("a: {type: oauth2, scheme: bearer}"), (false, false));
    let both = "a: {type: http, scheme: bearer}, b: {type: mutualTLS}";
    assert_eq!(known(both), (true, true));
}

#[test]
fn an_operations_priority_is_one_of_three() {
    let priority = |said: &str| {
        let text = format!("openapi: 3.1.0\npaths:\n  /a: {{get: {{operationId: a{said}}}}}\n");
        let document = Document::parse(&text)?;
        let found = document.find("/a").unwrap();
        Ok::<_, BadDocument>(found.operations["GET"].priority)
    };
    assert_eq!(priority("").unwrap(), Priority::High);
    for (said, expected) in [
        ("low", Priority::Low),
        ("middle", Priority::Middle),
        ("high", Priority::High),
    ] {
        assert_eq!(
            priority(&format!(", x-rialto-priority: {said}")).unwrap(),
            expected
        );
    }
    for other in ["urgent", "1", "null", "[low]"] {
        let wrong = priority(&format!(", x-rialto-priority: {other}")).unwrap_err();
        assert_eq!(wrong.at, "paths /a get");
        assert!(wrong.what.contains("low, middle or high"), "{wrong}");
    }
}

#[test]
fn roles_are_a_list_of_names_or_missing() {
    let roles = |more: &str| {
        let text = format!("openapi: 3.1.0\npaths: {{/a: {{get: {{operationId: a{more}}}}}}}");
        let document = Document::parse(&text)?;
        Ok::<_, BadDocument>(document.operations()[0].roles.clone())
    };
    assert!(roles("").unwrap().is_empty());
    assert_eq!(roles(", x-rialto-roles: [a, b]").unwrap(), ["a", "b"]);
    for wrong in ["[]", "a", "[1]", "{a: b}", "null"] {
        let wrong = roles(&format!(", x-rialto-roles: {wrong}")).unwrap_err();
        assert!(wrong.what.contains("x-rialto-roles"), "{wrong}");
    }
}

#[test]
fn a_schema_has_the_components_that_it_needs() {
    let all = json!({
        "schemas": {
            "A": { "properties": { "b": { "$ref": "#/components/schemas/B" } } },
            "B": { "items": { "$ref": "#/components/schemas/A/properties/b" } },
            "C": { "type": "string" },
        },
        "parameters": { "P": {} },
    });
    let of = |schema: Value| needed(&all, &schema);
    assert_eq!(of(json!({ "type": "string" })), json!({}));
    let found = of(json!({ "anyOf": [{ "$ref": "#/components/schemas/A" }] }));
    let expected = json!({ "schemas": { "A": all["schemas"]["A"], "B": all["schemas"]["B"] } });
    assert_eq!(found, expected, "and none that nothing refers to");
    let missing = json!({ "$ref": "#/components/schemas/D" });
    assert_eq!(of(missing.clone()), json!({}));
    let root = json!({ "components": all });
    assert!(validator(&root, &missing, "here").is_err());
    // Of what is not plain, everything is there.
    for reference in ["#", "#/components/schemas/A~1B", "https://a.example/b"] {
        assert_eq!(of(json!({ "$ref": reference })), all, "{reference}");
    }
    let list = json!({ "$ref": "#/components/schemas/B" });
    let list = validator(&root, &list, "here").unwrap();
    assert!(list.is_valid(&json!([[], [[]]])));
}

//! Cases in the form of the official test suite of JSON Schema (github.com/json-schema-org/JSON-Schema-Test-Suite), and
//! what this crate refuses.

use rialto_json_schema::{Schema, differences, with_defaults};
use serde_json::{Value, json};

/// A folder with the official cases of 2020-12; they are judged if it is named.
const SUITE: &str = "JSON_SCHEMA_SUITE";

fn fits(schema: &Value, value: &Value) -> bool {
    Schema::of(schema.clone()).unwrap().judge(value).is_ok()
}

fn problems(schema: Value) -> Vec<String> {
    let problems = Schema::of(schema).err().unwrap_or_default();
    let told =
        |problem: rialto_json_schema::Problem| format!("{}: {}", problem.pointer, problem.message);
    problems.into_iter().map(told).collect()
}

#[test]
fn official_cases_have_their_results() {
    let Ok(folder) = std::env::var(SUITE) else {
        return;
    };
    let (mut judged, mut refused, mut wrong) = (0, 0, Vec::new());
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let groups: Vec<Value> = serde_json::from_str(&text).unwrap();
        for group in groups {
            let name = format!("{}: {}", path.display(), group["description"]);
            let Ok(schema) = Schema::of(group["schema"].clone()) else {
                println!("refused {name}: {:?}", problems(group["schema"].clone()));
                refused += 1;
                continue;
            };
            for case in group["tests"].as_array().unwrap() {
                judged += 1;
                if schema.judge(&case["data"]).is_ok() != case["valid"].as_bool().unwrap() {
                    wrong.push(format!("{name}: {}", case["description"]));
                }
            }
        }
    }
    println!("{judged} cases judged, {refused} schemas refused");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn values_fit_by_each_keyword() {
    for (schema, good, bad) in [
        (
            json!({"type": "integer"}),
            json!([1, 1.0, -3]),
            json!([1.5, "1", null]),
        ),
        (
            json!({"type": ["string", "null"]}),
            json!(["", null]),
            json!([0, false]),
        ),
        (
            json!({"enum": [1, {"a": [1]}]}),
            json!([1.0, {"a": [1]}]),
            json!([2, {"a": []}]),
        ),
        (json!({"const": false}), json!([false]), json!([0, null])),
        (
            json!({"multipleOf": 0.01}),
            json!([0.07, 4.02, 7]),
            json!([0.075]),
        ),
        (
            json!({"minimum": 1, "exclusiveMaximum": 3}),
            json!([1, 2.9, "x"]),
            json!([0, 3]),
        ),
        (
            json!({"minLength": 2, "maxLength": 2}),
            json!(["äö"]),
            json!(["ä", "äöü"]),
        ),
        (
            json!({"pattern": "^a+$"}),
            json!(["aa", 7]),
            json!(["ab", ""]),
        ),
        (
            json!({"prefixItems": [{"type": "string"}], "items": {"type": "number"}}),
            json!([[], ["a", 1]]),
            json!([[1], ["a", "b"]]),
        ),
        (
            json!({"contains": {"const": 1}, "maxContains": 1}),
            json!([[1], [2, 1]]),
            json!([[], [1, 1]]),
        ),
        (
            json!({"uniqueItems": true}),
            json!([[1, true], [1, "1"]]),
            json!([[1, 1.0], [{"a": 1, "b": 2}, {"b": 2, "a": 1}]]),
        ),
        (
            json!({"required": ["a"], "maxProperties": 1}),
            json!([{"a": 1}]),
            json!([{}, {"a": 1, "b": 1}]),
        ),
        (
            json!({"properties": {"a": {"type": "null"}}, "patternProperties": {"^b": true}, "additionalProperties": false}),
            json!([{"a": null, "bc": 1}]),
            json!([{"a": 1}, {"c": 1}]),
        ),
        (
            json!({"propertyNames": {"maxLength": 1}}),
            json!([{"a": 1}]),
            json!([{"ab": 1}]),
        ),
        (
            json!({"dependentRequired": {"a": ["b"]}}),
            json!([{"b": 1}, {"a": 1, "b": 1}]),
            json!([{"a": 1}]),
        ),
        (
            json!({"dependentSchemas": {"a": {"minProperties": 2}}}),
            json!([{}, {"a": 1, "b": 1}]),
            json!([{"a": 1}]),
        ),
        (
            json!({"if": {"type": "string"}, "then": {"minLength": 1}, "else": {"type": "null"}}),
            json!(["a", null]),
            json!(["", 1]),
        ),
        (
            json!({"oneOf": [{"minimum": 1}, {"maximum": 2}]}),
            json!([0, 3]),
            json!([1]),
        ),
        (json!({"not": {"type": "null"}}), json!([1]), json!([null])),
        (
            json!({"$ref": "#/$defs/a%25b", "$defs": {"a%b": {"$anchor": "x", "type": "null"}}}),
            json!([null]),
            json!([1]),
        ),
        (
            json!({"$ref": "#x", "$defs": {"a": {"$anchor": "x", "type": "null"}}}),
            json!([null]),
            json!([1]),
        ),
        (
            json!({"properties": {"next": {"$ref": "#"}}, "additionalProperties": false}),
            json!([{"next": {"next": {}}}]),
            json!([{"next": {"other": 1}}]),
        ),
    ] {
        for value in good.as_array().unwrap() {
            assert!(fits(&schema, value), "{schema} {value}");
        }
        for value in bad.as_array().unwrap() {
            assert!(!fits(&schema, value), "{schema} {value}");
        }
    }
}

#[test]
fn document_that_is_no_schema_is_refused_with_its_place() {
    for (schema, place) in [
        (json!([]), ""),
        (json!({"type": "text"}), "/type"),
        (json!({"type": []}), "/type"),
        (
            json!({"properties": {"a/b": {"minimum": "1"}}}),
            "/properties/a~1b/minimum",
        ),
        (json!({"required": ["a", "a"]}), "/required"),
        (json!({"maxItems": -1}), "/maxItems"),
        (json!({"multipleOf": 0}), "/multipleOf"),
        (json!({"pattern": "("}), "/pattern"),
        (
            json!({"patternProperties": {"(?=a)": true}}),
            "/patternProperties/(?=a)",
        ),
        (json!({"allOf": []}), "/allOf"),
        (json!({"not": {"items": [{}]}}), "/not/items"),
        (json!({"$ref": "#/$defs/none"}), "/$ref"),
        (json!({"$ref": "https://example.com/schema"}), "/$ref"),
        (
            json!({"$schema": "http://json-schema.org/draft-07/schema#"}),
            "/$schema",
        ),
        (
            json!({"unevaluatedProperties": false}),
            "/unevaluatedProperties",
        ),
        (json!({"$defs": {"a": {"$id": "x"}}}), "/$defs/a/$id"),
    ] {
        let problems = problems(schema.clone());
        assert_eq!(problems.len(), 1, "{schema}: {problems:?}");
        assert_eq!(problems[0].split(": ").next(), Some(place), "{problems:?}");
    }
    let mut deep = json!({});
    for _ in 0..70 {
        deep = json!({ "not": deep });
    }
    assert!(problems(deep)[0].contains("deeper"));
}

#[test]
fn schema_that_applies_itself_without_end_is_bounded() {
    let endless = json!({"$ref": "#"});
    assert!(!fits(&endless, &json!(1)));
    let doubling = |n: usize| json!({"$ref": format!("#/$defs/{}", n + 1)});
    let mut defs = serde_json::Map::new();
    for n in 0..40 {
        defs.insert(n.to_string(), json!({"allOf": [doubling(n), doubling(n)]}));
    }
    defs.insert("40".to_owned(), json!(true));
    let schema = Schema::of(json!({"$ref": "#/$defs/0", "$defs": defs})).unwrap();
    let problems = schema.judge(&json!(1)).unwrap_err();
    assert!(problems[0].message.contains("too often"), "{problems:?}");
}

#[test]
fn defaults_are_filled_in_within_objects() {
    let schema = json!({
        "properties": {
            "a": {"default": 1},
            "b": {"$ref": "#/$defs/b"},
            "c": {"properties": {"d": {"default": true}}},
            "e": {"properties": {"d": {"default": true}}},
        },
        "$defs": {"b": {"default": {"x": 1}, "properties": {"y": {"default": 2}}}},
    });
    let schema = Schema::of(schema).unwrap();
    let filled = with_defaults(&schema, json!({"a": 7, "c": {}}));
    assert_eq!(
        filled,
        json!({"a": 7, "b": {"x": 1, "y": 2}, "c": {"d": true}})
    );
}

#[test]
fn differing_values_are_named_by_pointers() {
    let before = json!({"a": 1, "b": {"x": 1, "y": [1]}, "c/d": 1, "same": 2});
    let after = json!({"a": 1.0, "b": {"x": 2, "y": [1, 2]}, "e": null, "same": 2});
    let all = differences(&before, &after, 100);
    assert_eq!(all, ["/b/x", "/b/y", "/c~1d", "/e"]);
    assert_eq!(differences(&before, &after, 2), ["/b/x", "/b/y"]);
    assert_eq!(differences(&json!(1), &json!({}), 9), [""]);
}

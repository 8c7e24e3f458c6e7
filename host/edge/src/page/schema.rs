//! Types on a page: in one or two words where they are used, and as tables of their members. Tables of named
//! types are at the end of the page.

use std::collections::HashSet;

use serde_json::Value;

use super::html::Html;
use super::{items, word};

/// The path that references to types begin with.
const SCHEMAS: &str = "#/components/schemas/";

/// All types that have a name.
pub(super) fn all(page: &mut Html, root: &Value) {
    let schemas = root["components"]["schemas"].as_object();
    let Some(schemas) = schemas.filter(|schemas| !schemas.is_empty()) else {
        return;
    };
    page.heading("h2", "types", "Types");
    for (name, schema) in schemas {
        page.heading("h3", &format!("schema-{name}"), name);
        page.prose(word(schema, "description"));
        if has_members(schema) {
            members(page, schema);
        } else {
            page.raw("<p>");
            inline(page, schema);
            page.raw("</p>");
        }
    }
}

/// Whether a type has members, at any depth, that do not belong to a named type.
pub(super) fn has_members(schema: &Value) -> bool {
    let inner = |name: &str| schema.get(name).is_some_and(has_members);
    schema["properties"].is_object()
        || inner("items")
        || inner("additionalProperties")
        || combined(schema).any(has_members)
}

/// The members of a type as a table. Members of unnamed objects have the full path: `a.b`, `a[].b` in a list,
/// `a.*.b` in a map. Nothing if there are none.
pub(super) fn members(page: &mut Html, schema: &Value) {
    if !has_members(schema) {
        return;
    }
    page.raw("<table><thead><tr><th>Member</th><th>Type</th><th>Meaning</th></tr></thead><tbody>");
    rows(page, "", schema);
    page.raw("</tbody></table>");
}

/// The rows of a type whose members' names begin with `before`.
fn rows(page: &mut Html, before: &str, schema: &Value) {
    let required: HashSet<&str> = items(&schema["required"])
        .filter_map(Value::as_str)
        .collect();
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let path = match before {
            "" => name.clone(),
            before => format!("{before}.{name}"),
        };
        page.raw("<tr><td>").code(&path);
        page.required(required.contains(name.as_str()));
        page.raw("</td><td>");
        inline(page, member);
        page.raw("</td><td>");
        page.words(word(member, "description")).raw("</td></tr>");
        rows(page, &path, member);
    }
    if schema["items"].is_object() {
        rows(page, &format!("{before}[]"), &schema["items"]);
    }
    if schema["additionalProperties"].is_object() {
        let all = if before.is_empty() { "*" } else { ".*" };
        rows(
            page,
            &format!("{before}{all}"),
            &schema["additionalProperties"],
        );
    }
    for one in combined(schema) {
        rows(page, before, one);
    }
}

/// The types of which a type is combined (`allOf`, `anyOf`, `oneOf`).
fn combined(schema: &Value) -> impl Iterator<Item = &Value> {
    let hows = ["oneOf", "anyOf", "allOf"].into_iter();
    hows.flat_map(|how| items(&schema[how]))
}

/// A type in one or two words.
pub(super) fn inline(page: &mut Html, schema: &Value) {
    if let Some(name) = schema["$ref"]
        .as_str()
        .and_then(|r| r.strip_prefix(SCHEMAS))
    {
        page.link(&format!("#schema-{name}"), name);
        return;
    }
    let kind = word(schema, "type");
    if kind == "array" {
        page.raw("list of ");
        inline(page, &schema["items"]);
    } else {
        let combined = ["oneOf", "anyOf", "allOf"]
            .into_iter()
            .find(|how| schema[how].is_array());
        match combined {
            Some(how) => {
                let between = if how == "allOf" { " and " } else { " or " };
                for (n, one) in items(&schema[how]).enumerate() {
                    page.raw(if n == 0 { "" } else { between });
                    inline(page, one);
                }
            }
            None => {
                page.text(if kind.is_empty() { "any value" } else { kind });
            }
        }
    }
    for (n, value) in items(&schema["enum"]).enumerate() {
        page.raw(if n == 0 { ": " } else { ", " });
        page.code(value.as_str().map_or(&value.to_string(), |text| text));
    }
    bounds(page, schema);
}

fn bounds(page: &mut Html, schema: &Value) {
    let number = |name: &str| schema[name].as_u64();
    for (least, most, what) in [
        ("minLength", "maxLength", " characters"),
        ("minItems", "maxItems", ""),
        ("minimum", "maximum", ""),
    ] {
        match (number(least), number(most)) {
            (Some(least), Some(most)) => {
                page.text(&format!(", {least} to {most}{what}"));
            }
            (Some(least), None) => {
                page.text(&format!(", at least {least}{what}"));
            }
            (None, Some(most)) => {
                page.text(&format!(", at most {most}{what}"));
            }
            (None, None) => {}
        }
    }
    if let Some(format) = schema["format"].as_str() {
        page.text(", ").text(format);
    }
    if let Some(pattern) = schema["pattern"].as_str() {
        page.text(", as ").code(pattern);
    }
}

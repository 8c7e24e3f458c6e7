//! An OpenAPI document as an HTML page for people: operations with parameters, bodies, answers and an example,
//! named types, and the errors of the API. Another page lists these pages. They are plain HTML with an inline
//! style, without scripts.
//!
//! Extension of Rialto: `x-rialto-errors` on the document, a list of `{code, name, when}`.

mod html;
mod schema;

use rialto_openapi::example::Examples;
use serde_json::Value;

use html::Html;

/// Bytes of a page, at most: a component has written what is on it, and may have written the same type or
/// example once and named it very often.
const BYTES_MAX: usize = 8 << 20;
/// How the page looks.
const STYLE: &str = include_str!("page/style.css");
/// Methods of a path item, in the order in which people look for them.
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// The page of a valid document. `yaml` is the path of the document itself. If the page would be too long, it
/// only has a link to the document.
pub fn render(root: &Value, yaml: &str) -> String {
    rendered(root, yaml, BYTES_MAX).unwrap_or_else(|| {
        let mut page = begun("API", BYTES_MAX);
        page.raw("<p class=\"lead\">This API is too long for a page. ");
        page.link(yaml, "The document itself").raw(" has it.</p>");
        page.raw("</main></body></html>");
        page.done().unwrap_or_default()
    })
}

/// The page of a document in at most `bytes_max` bytes; none if it would be longer.
fn rendered(root: &Value, yaml: &str, bytes_max: usize) -> Option<String> {
    let info = &root["info"];
    let title = info["title"].as_str().unwrap_or("API");
    let made = Examples::of(root);
    let mut page = begun(title, bytes_max);
    page.raw("<p class=\"lead\">").text(word(info, "summary"));
    page.raw(" Version ").text(word(info, "version")).raw(". ");
    page.link(yaml, "The document itself").raw(".</p>");
    page.prose(word(info, "description"));
    contents(&mut page, root);
    for (path, method, operation) in operations(root) {
        if page.is_too_long() {
            return None;
        }
        one(&mut page, root, path, method, operation);
        examples(&mut page, root, &made, path, method);
    }
    errors(&mut page, root);
    schema::all(&mut page, root);
    page.raw("</main></body></html>");
    page.done()
}

/// The page that lists APIs, each by its name and its title. Their pages are below `place`.
pub fn list<'a>(place: &str, apis: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut page = begun("APIs", BYTES_MAX);
    page.raw("<p class=\"lead\">What is served on this listener.</p>");
    page.raw("<table><thead><tr><th>API</th><th>As a document</th></tr></thead><tbody>");
    for (name, title) in apis {
        let (target, document) = (format!("{place}/{name}"), format!("{name}.yaml"));
        page.raw("<tr><td>").link(&target, title).raw("</td><td>");
        page.link(&format!("{place}/{document}"), &document);
        page.raw("</td></tr>");
    }
    page.raw("</tbody></table></main></body></html>");
    page.done()
        .unwrap_or_else(|| "There are too many APIs for a page.".to_owned())
}

/// The beginning of a page of so many bytes at most, with its title.
fn begun(title: &str, bytes_max: usize) -> Html {
    let mut page = Html::of_at_most(bytes_max);
    page.raw("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">");
    page.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    page.element("title", title);
    page.raw("<style>")
        .raw(STYLE)
        .raw("</style></head><body><main>");
    page.element("h1", title);
    page
}

/// A member that is a text; empty if it is not one.
fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// All operations, by path.
fn operations(root: &Value) -> impl Iterator<Item = (&str, &'static str, &Value)> {
    let paths = root["paths"].as_object().into_iter().flatten();
    paths.flat_map(|(path, item)| {
        let methods = METHODS.into_iter();
        methods.filter_map(move |method| Some((path.as_str(), method, item.get(method)?)))
    })
}

/// The target of a reference within the document. A value that is not a reference is its own target.
fn resolved<'a>(root: &'a Value, value: &'a Value) -> &'a Value {
    /// The longest chain of references.
    const HOPS: usize = 8;
    let mut value = value;
    for _ in 0..HOPS {
        let Some(pointer) = value["$ref"].as_str().and_then(|r| r.strip_prefix('#')) else {
            return value;
        };
        value = root.pointer(pointer).unwrap_or(&Value::Null);
    }
    value
}

fn anchor(operation: &Value, method: &str, path: &str) -> String {
    match word(operation, "operationId") {
        "" => format!("{method} {path}"),
        id => id.to_owned(),
    }
}

fn contents(page: &mut Html, root: &Value) {
    page.element("h2", "Operations");
    page.raw("<table><thead><tr><th>Method</th><th>Path</th><th>What for</th></tr></thead><tbody>");
    for (path, method, operation) in operations(root) {
        page.raw("<tr><td>")
            .code(&method.to_uppercase())
            .raw("</td><td>");
        let target = format!("#{}", anchor(operation, method, path));
        page.link(&target, path).raw("</td><td>");
        page.text(word(operation, "summary")).raw("</td></tr>");
    }
    page.raw("</tbody></table>");
}

fn one(page: &mut Html, root: &Value, path: &str, method: &str, operation: &Value) {
    page.heading(
        "h3",
        &anchor(operation, method, path),
        &format!("{} {path}", method.to_uppercase()),
    );
    page.prose(word(operation, "summary"));
    page.prose(word(operation, "description"));
    let parameters: Vec<&Value> = items(&operation["parameters"])
        .map(|parameter| resolved(root, parameter))
        .collect();
    if !parameters.is_empty() {
        page.raw("<table><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th>Meaning</th></tr></thead><tbody>");
        for parameter in parameters {
            page.raw("<tr><td>").code(word(parameter, "name"));
            page.required(parameter["required"] == true);
            page.raw("</td><td>")
                .text(word(parameter, "in"))
                .raw("</td><td>");
            schema::inline(page, &parameter["schema"]);
            page.raw("</td><td>").words(word(parameter, "description"));
            example(page, &parameter["example"]);
            page.raw("</td></tr>");
        }
        page.raw("</tbody></table>");
    }
    let body = resolved(root, &operation["requestBody"]);
    for (media_type, content) in body["content"].as_object().into_iter().flatten() {
        page.raw("<p>Body, ").code(media_type).raw(": ");
        schema::inline(page, &content["schema"]);
        page.raw("</p>");
        schema::members(page, &content["schema"]);
    }
    answers(page, root, operation);
}

fn answers(page: &mut Html, root: &Value, operation: &Value) {
    let answers = operation["responses"].as_object().into_iter().flatten();
    let answers: Vec<(&String, &Value)> = answers
        .map(|(status, answer)| (status, resolved(root, answer)))
        .collect();
    page.raw("<p>Answers: ");
    for (n, (status, answer)) in answers.iter().enumerate() {
        page.raw(if n == 0 { "" } else { "; " })
            .code(status)
            .raw(" ");
        page.words(word(answer, "description").trim_end_matches('.'));
        if let Some(media) = first_of(answer) {
            page.raw(": ");
            schema::inline(page, &media["schema"]);
        }
    }
    page.raw(".</p>");
    for (status, answer) in answers {
        let Some(media) = first_of(answer) else {
            continue;
        };
        if schema::has_members(&media["schema"]) {
            page.raw("<p>Members of ").code(status).raw(":</p>");
            schema::members(page, &media["schema"]);
        }
    }
}

/// The first media type of a body or an answer.
fn first_of(of: &Value) -> Option<&Value> {
    of["content"].as_object()?.values().next()
}

/// A request, and the answer to it.
fn examples<'r>(page: &mut Html, root: &'r Value, made: &Examples<'r>, path: &str, method: &str) {
    let item = &root["paths"][path];
    let request = made.request(path, item, method);
    let mut text = format!("{} {}\n", request.method, request.target);
    for (name, value) in &request.headers {
        text.push_str(&format!("{name}: {value}\n"));
    }
    if let Some(body) = &request.body {
        text.push_str(&format!("\n{body}\n"));
    }
    page.raw("<p>For example:</p>").element("pre", &text);
    let answers = item[method]["responses"].as_object();
    let good =
        answers.and_then(|answers| answers.iter().find(|(status, _)| status.starts_with('2')));
    let body = good.and_then(|(_, answer)| made.body_of(first_of(resolved(root, answer))?));
    if let (Some((status, _)), Some(body)) = (good, body) {
        page.raw("<p>Answered with ").code(status).raw(":</p>");
        page.element("pre", &body);
    }
}

fn example(page: &mut Html, example: &Value) {
    match example {
        Value::Null => {}
        Value::String(text) => {
            page.raw(" For example ").code(text);
        }
        other => {
            page.raw(" For example ").code(&other.to_string());
        }
    }
}

fn errors(page: &mut Html, root: &Value) {
    let mut errors = items(&root["x-rialto-errors"]).peekable();
    if errors.peek().is_none() {
        return;
    }
    page.heading("h2", "errors", "Errors");
    page.raw("<table><thead><tr><th>Code</th><th>Name</th><th>Sent when</th></tr></thead><tbody>");
    for error in errors {
        page.raw("<tr><td>")
            .code(word(error, "code"))
            .raw("</td><td>");
        page.text(word(error, "name")).raw("</td><td>");
        page.text(word(error, "when")).raw("</td></tr>");
    }
    page.raw("</tbody></table>");
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> String {
        render(&serde_saphyr::from_str(text).unwrap(), "/openapi/x.yaml")
    }

    const SMALL: &str = r#"
openapi: 3.1.0
info: {title: Small <API>, version: '1', summary: Does little., description: "One `code` word.\n\nAnother paragraph."}
x-rialto-errors: [{code: '3100', name: Generic, when: something is wrong}]
paths:
  /things/{ID}:
    get:
      operationId: getThing
      summary: Get a thing.
      parameters: [{$ref: '#/components/parameters/ID'}]
      responses: {'200': {description: The `thing`.}, 4XX: {description: Refused.}}
    put:
      operationId: putThing
      summary: Put a thing.
      parameters: [{$ref: '#/components/parameters/ID'}]
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Thing'}}}}
      responses: {'200': {description: Taken.}}
components:
  parameters:
    ID: {name: ID, in: path, required: true, description: Which., schema: {type: string, minLength: 1, maxLength: 36}}
  schemas:
    Nested: {type: object, required: [a], properties: {a: {type: object, required: [b], properties: {b: {type: array, items: {type: object, properties: {c: {type: integer}}}}}}, m: {type: object, additionalProperties: {type: object, properties: {d: {type: boolean}}}}}}
    Thing: {type: object, required: [name], properties: {name: {type: string, enum: [a, b]}, parts: {type: array, items: {$ref: '#/components/schemas/Thing'}, maxItems: 3}}}
"#;

    #[test]
    fn what_a_document_says_is_on_its_page() {
        let page = page(SMALL);
        for expected in [
            "<title>Small &lt;API&gt;</title>",
            "<p>One <code>code</code> word.</p><p>Another paragraph.</p>",
            "<a href=\"#getThing\">/things/{ID}</a>",
            "<h3 id=\"putThing\">PUT /things/{ID}</h3>",
            "<code>ID</code> <b>required</b></td><td>path</td><td>string, 1 to 36 characters</td><td>Which.",
            "<a href=\"#schema-Thing\">Thing</a>",
            "<code>name</code> <b>required</b></td><td>string: <code>a</code>, <code>b</code>",
            "list of <a href=\"#schema-Thing\">Thing</a>, at most 3",
            "<code>200</code> The <code>thing</code>; <code>4XX</code> Refused.",
            "<code>3100</code></td><td>Generic</td><td>something is wrong",
            "<a href=\"/openapi/x.yaml\">",
        ] {
            assert!(page.contains(expected), "{expected}\nis not in\n{page}");
        }
    }

    #[test]
    fn inline_objects_are_shown_with_their_members() {
        let page = page(SMALL);
        for expected in [
            "<code>a</code> <b>required</b></td><td>object",
            "<code>a.b</code> <b>required</b></td><td>list of object",
            "<code>a.b[].c</code></td><td>integer",
            "<code>m.*.d</code></td><td>boolean",
        ] {
            assert!(page.contains(expected), "{expected}\nis not in\n{page}");
        }
    }

    #[test]
    fn each_operation_has_an_example() {
        let page = page(SMALL);
        for expected in [
            "<pre>GET /things/example\n</pre>",
            "<pre>PUT /things/example\nContent-Type: application/json\n\n{\n  &quot;name&quot;: &quot;a&quot;\n}\n</pre>",
        ] {
            assert!(page.contains(expected), "{expected}\nis not in\n{page}");
        }
    }

    #[test]
    fn a_very_long_document_has_a_short_page() {
        let long = "z".repeat(10_000);
        let operation = serde_json::json!({
            "operationId": "a",
            "parameters": [{"$ref": "#/components/parameters/P"}],
            "responses": {"200": {"description": "Done."}},
        });
        let paths = (0..2_000).map(|n| (format!("/a{n}"), serde_json::json!({"get": operation})));
        let paths: serde_json::Map<String, Value> = paths.collect();
        let parameter = serde_json::json!({"in": "query", "name": "p", "description": long});
        let root = serde_json::json!({
            "info": {"title": long},
            "paths": paths,
            "components": {"parameters": {"P": parameter}},
        });
        let page = render(&root, "x.yaml");
        assert!(page.len() < 1 << 20, "{} bytes", page.len());
        assert!(page.contains("too long for a page"), "{page:.200}");
        assert!(page.contains("<a href=\"x.yaml\">"), "{page:.200}");
        // At its bound a page is whole, or there is none.
        let small: Value = serde_saphyr::from_str(SMALL).unwrap();
        let whole = rendered(&small, "x.yaml", BYTES_MAX).unwrap();
        let at_bound = rendered(&small, "x.yaml", whole.len());
        assert_eq!(at_bound.as_deref(), Some(whole.as_str()));
        assert_eq!(rendered(&small, "x.yaml", whole.len() - 1), None);
    }

    #[test]
    fn apis_are_listed_with_their_pages_and_documents() {
        let page = list("/openapi", [("a", "A <one>"), ("b", "Two")].into_iter());
        for expected in [
            "<a href=\"/openapi/a\">A &lt;one&gt;</a>",
            "<a href=\"/openapi/b.yaml\">b.yaml</a>",
        ] {
            assert!(page.contains(expected), "{expected}\nis not in\n{page}");
        }
    }

    #[test]
    fn a_document_cannot_bring_in_markup() {
        let text = SMALL.replace("Get a thing.", "'<script>alert(1)</script>'");
        let page = page(&text);
        assert!(!page.contains("<script"), "{page}");
        assert!(page.contains("&lt;script&gt;"), "{page}");
    }

    #[test]
    fn a_reference_to_itself_ends() {
        let root = serde_json::json!({"a": {"$ref": "#/a"}});
        assert!(resolved(&root, &root["a"]).is_object());
    }
}

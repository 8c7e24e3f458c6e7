//! The example of each operation of each API document in the tree is valid for that document, and the example of each
//! answer is valid for its schema.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fs;
use std::path::{Path, PathBuf};

use http::{HeaderMap, HeaderName, HeaderValue, Request};
use rialto_openapi::document::validator;
use rialto_openapi::example::{self, Examples};
use rialto_openapi::{Document, head, validate};
use serde_json::Value;

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// The API documents of the tree: those of the contexts and the host's own.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let contexts = fs::read_dir(root.join("plugins/contexts")).unwrap();
    let mut found: Vec<PathBuf> = contexts
        .map(|context| context.unwrap().path().join("openapi.yaml"))
        .filter(|document| document.is_file())
        .collect();
    found.push(root.join("host/rialto/src/ops/openapi.yaml"));
    found.sort();
    found
}

fn operations(root: &Value) -> Vec<(&str, &Value, &'static str)> {
    let paths = root["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, item)| {
        let methods = METHODS
            .into_iter()
            .filter(|method| item.get(method).is_some());
        methods.map(move |method| (path.as_str(), item, method))
    });
    operations.collect()
}

/// What the document says about the example of an operation.
fn judged(document: &Document, example: &example::Request) -> Result<(), String> {
    let mut request = Request::builder()
        .method(example.method.as_str())
        .uri(&example.target);
    for (name, value) in &example.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|e| e.to_string())?;
        request = request.header(
            name,
            HeaderValue::from_str(value).map_err(|e| e.to_string())?,
        );
    }
    let (parts, ()) = request.body(()).map_err(|e| e.to_string())?.into_parts();
    let said = |violation: rialto_openapi::Violation| {
        format!("{}: {}", violation.location, violation.detail)
    };
    let found = document.find(parts.uri.path());
    let judged = head::judge(found, &parts, usize::MAX).map_err(said)?;
    validate::media_type(&judged.operation, &parts.headers).map_err(|taken| taken.join(", "))?;
    let body = example.body.as_deref().unwrap_or_default();
    if judged.operation.body.is_some() && is_json(&parts.headers) {
        validate::body(&judged.operation, body.as_bytes()).map_err(said)?;
    }
    Ok(())
}

fn is_json(headers: &HeaderMap) -> bool {
    let media_type = headers
        .get("content-type")
        .and_then(|value| value.to_str().ok());
    media_type.is_some_and(|media_type| media_type.contains("json"))
}

#[test]
fn each_operation_has_an_example_that_its_document_takes() {
    let mut wrong = Vec::new();
    let documents = documents();
    assert_eq!(documents.len(), 14, "{documents:?}");
    for path in documents {
        let document = Document::parse(&fs::read_to_string(&path).unwrap()).unwrap();
        let operations = operations(&document.root);
        assert!(!operations.is_empty(), "{}", path.display());
        let examples = Examples::of(&document.root);
        for (route, item, method) in operations {
            let example = examples.request(route, item, method);
            if let Err(why) = judged(&document, &example) {
                wrong.push(format!(
                    "{} {method} {route}: {why}: {example:?}",
                    path.display()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_example_of_each_answer_is_one_of_its_schema() {
    let mut wrong = Vec::new();
    for path in documents() {
        let document = Document::parse(&fs::read_to_string(&path).unwrap()).unwrap();
        let root = &document.root;
        let examples = Examples::of(root);
        for (route, item, method) in operations(root) {
            for (status, answer) in item[method]["responses"].as_object().unwrap() {
                let media = answer["content"]
                    .as_object()
                    .and_then(|all| all.iter().next());
                let Some((media_type, media)) = media else {
                    continue;
                };
                let Some(body) = examples.body_of(media) else {
                    continue;
                };
                let at = format!("{} {method} {route} {status}", path.display());
                if !media_type.contains("json") {
                    continue;
                }
                let value: Value = serde_json::from_str(&body).unwrap();
                let schema = validator(root, &media["schema"], &at).unwrap();
                if let Some(error) = schema.iter_errors(&value).next() {
                    wrong.push(format!("{at}: {error}: {body}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

//! Validates a request against its operation. It reports the first violation in a fixed order: headers in the order of
//! the document, path, query, body.

use std::borrow::Cow;

use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, TRANSFER_ENCODING};
use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::document::{In, Operation, Parameter, Versions};
use crate::form;
use crate::json;
use crate::schema::{REQUIRED, schema_violation, with_all_missing};
use crate::violation::{Kind, Violation};

/// Pairs of names and values.
pub type Pairs = Vec<(String, String)>;

/// Validates the headers, in the order of the document's parameters.
///
/// # Errors
/// The first violation.
pub fn headers(operation: &Operation, headers: &HeaderMap) -> Result<(), Violation> {
    let parameters = operation.parameters.iter();
    for parameter in parameters.filter(|p| p.place == In::Header) {
        match header_text(parameter, headers)? {
            Some(text) => parameter_value(parameter, &text)?,
            None if parameter.required => return Err(missing(&parameter.location)),
            None => {}
        }
    }
    Ok(())
}

/// The value of a header. The lines of one that is a list are one list (RFC 9110, 5.3); any other has one
/// line.
fn header_text<'a>(
    parameter: &Parameter,
    headers: &'a HeaderMap,
) -> Result<Option<Cow<'a, str>>, Violation> {
    let malformed = |detail: &str| Violation::new(Kind::Malformed, &parameter.location, detail);
    let is_list = parameter.versions.as_ref().is_some_and(|v| v.is_list);
    let mut whole: Option<Cow<'a, str>> = None;
    for line in headers.get_all(&parameter.name) {
        let line = line.to_str().map_err(|_| malformed("is not plain ASCII"))?;
        whole = Some(match whole {
            None => Cow::Borrowed(line),
            Some(_) if !is_list => return Err(malformed("is given more than once")),
            Some(before) => Cow::Owned(format!("{before}, {line}")),
        });
    }
    Ok(whole)
}

/// Judge how the body is written on the wire: only as it is, in chunks or not.
///
/// # Errors
/// When it is compressed or otherwise changed: it could not be read, and forwarding it would hand a
/// compressed body to who expects a plain one.
pub fn encodings(headers: &HeaderMap) -> Result<(), Violation> {
    let only = [
        (CONTENT_ENCODING, "Content-Encoding", "identity"),
        (TRANSFER_ENCODING, "Transfer-Encoding", "chunked"),
    ];
    for (name, title, taken) in only {
        let mut values = headers.get_all(name).iter();
        if !values.all(|value| value.as_bytes().eq_ignore_ascii_case(taken.as_bytes())) {
            let detail = format!("is something else than {taken}");
            let location = format!("header {title}");
            return Err(Violation::new(Kind::Malformed, &location, detail));
        }
    }
    Ok(())
}

/// Validates and decodes path parameters.
///
/// # Errors
/// The first violation.
pub fn path(operation: &Operation, found: &[(&str, &str)]) -> Result<Pairs, Violation> {
    let mut decoded = Vec::with_capacity(found.len());
    for (name, raw) in found {
        let value = percent_decode_str(raw).decode_utf8().map_err(|_| {
            let detail = "does not decode to UTF-8".to_owned();
            Violation::new(Kind::Malformed, &format!("path {name}"), detail)
        })?;
        let mut parameters = operation.parameters.iter();
        if let Some(parameter) = parameters.find(|p| p.place == In::Path && p.name == *name) {
            parameter_value(parameter, &value)?;
        }
        decoded.push(((*name).to_owned(), value.into_owned()));
    }
    Ok(decoded)
}

/// Validates and decodes query parameters. Unknown ones are kept.
///
/// # Errors
/// The first violation.
pub fn query(operation: &Operation, query: Option<&str>) -> Result<Pairs, Violation> {
    let mut decoded = Vec::new();
    for pair in query
        .unwrap_or_default()
        .split('&')
        .filter(|p| !p.is_empty())
    {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let plain = |text: &str| {
            let text = text.replace('+', " ");
            percent_decode_str(&text).decode_utf8_lossy().into_owned()
        };
        decoded.push((plain(name), plain(value)));
    }
    for parameter in operation.parameters.iter().filter(|p| p.place == In::Query) {
        match decoded.iter().find(|(name, _)| *name == parameter.name) {
            Some((_, value)) => parameter_value(parameter, value)?,
            None if parameter.required => return Err(missing(&parameter.location)),
            None => {}
        }
    }
    Ok(decoded)
}

/// Validates the body. Returns it as text, or `None` if there is no body and none is required.
///
/// # Errors
/// The first violation.
pub fn body(operation: &Operation, bytes: &[u8]) -> Result<Option<String>, Violation> {
    let Some(body) = &operation.body else {
        return Ok(None);
    };
    if bytes.is_empty() {
        return if body.required {
            Err(missing("body"))
        } else {
            Ok(None)
        };
    }
    let not_json = |detail: String| Violation::new(Kind::NotJson, "body", detail);
    let text = std::str::from_utf8(bytes).map_err(|e| not_json(format!("is not UTF-8: {e}")))?;
    let value = if body.is_form {
        form::parse(text).map_err(|detail| Violation::new(Kind::Malformed, "body", detail))?
    } else {
        json::parse(text).map_err(not_json)?
    };
    if !body.schema.is_valid(&value) {
        let mut errors = body.schema.iter_errors(&value);
        return Err(match errors.next() {
            Some(error) => with_all_missing(schema_violation("body", &error), errors),
            None => not_json("does not fit".into()),
        });
    }
    Ok(Some(text.to_owned()))
}

/// Judge whether a body is said to be of a media type that the operation takes. Of a request without a body
/// nothing is asked. `application/json` stands for all types that are JSON by their name.
///
/// # Errors
/// The types that are taken.
pub fn media_type<'a>(operation: &'a Operation, headers: &HeaderMap) -> Result<(), &'a [String]> {
    let Some(body) = &operation.body else {
        return Ok(());
    };
    let mut given = headers.get_all(CONTENT_TYPE).iter();
    let only = given.next().filter(|_| given.next().is_none());
    let essence = only.and_then(|value| value.to_str().ok()?.split(';').next());
    let essence = essence.unwrap_or_default().trim().to_ascii_lowercase();
    let fits = |taken: &String| {
        *taken == essence || (taken == "application/json" && essence.ends_with("+json"))
    };
    let is_taken = body.media_types.iter().any(fits);
    is_taken.then_some(()).ok_or(&body.media_types)
}

fn missing(location: &str) -> Violation {
    Violation::new(Kind::Missing, location, REQUIRED)
}

fn parameter_value(parameter: &Parameter, value: &str) -> Result<(), Violation> {
    let location = &parameter.location;
    if parameter.is_date && httpdate::parse_http_date(value).is_err() {
        let detail = "is no date such as `Tue, 15 Nov 1994 08:12:31 GMT`".to_owned();
        return Err(Violation::new(Kind::Malformed, location, detail));
    }
    if let Some(versions) = &parameter.versions {
        return version(versions, location, value);
    }
    let Some(schema) = &parameter.schema else {
        return Ok(());
    };
    let instance = Value::String(value.to_owned());
    if schema.is_valid(&instance) {
        return Ok(());
    }
    match schema.iter_errors(&instance).next() {
        None => Ok(()),
        Some(error) => Err(schema_violation(location, &error)),
    }
}

/// Validates a header whose value, or each comma-separated item of it, may have a version.
fn version(versions: &Versions, location: &str, value: &str) -> Result<(), Violation> {
    if versions.fitting.get().is_some_and(|fits| **fits == *value) {
        return Ok(());
    }
    judge_version(versions, location, value)?;
    let _ = versions.fitting.set(value.into());
    Ok(())
}

fn judge_version(versions: &Versions, location: &str, value: &str) -> Result<(), Violation> {
    let mut well_formed = false;
    let items = if versions.is_list {
        value.split(',').collect()
    } else {
        vec![value]
    };
    for item in items {
        let Some(captures) = versions.pattern.captures(item.trim()) else {
            continue;
        };
        well_formed = true;
        let Some(wanted) = captures.get(1) else {
            return Ok(());
        };
        let wanted = wanted.as_str();
        let supported = versions.supported.iter().any(|supported| {
            supported == wanted
                || supported
                    .split_once('.')
                    .is_some_and(|(major, _)| major == wanted)
        });
        if supported {
            return Ok(());
        }
    }
    let (kind, detail) = if well_formed {
        let detail = "asks for a version that is not supported";
        (Kind::UnacceptableVersion, detail)
    } else {
        (Kind::Malformed, "is not of the API's media type")
    };
    Err(Violation {
        kind,
        location: location.to_owned(),
        detail: detail.to_owned(),
        allowed: versions.supported.clone(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use http::HeaderValue;

    use super::*;
    use crate::document::Document;

    fn with_versions() -> Document {
        let text = r"
openapi: 3.1.0
paths:
  /a:
    get:
      operationId: a
      parameters:
        - {name: Accept, in: header, required: true, x-rialto-version: {supported: ['1.0'], pattern: '^a;v=([0-9.]+)$'}}
        - {name: Content-Type, in: header, x-rialto-version: {supported: ['1.0'], pattern: '^a;v=([0-9.]+)$'}}
        - {name: Date, in: header, schema: {type: string}}
";
        Document::parse(text).unwrap()
    }

    fn judged(lines: &[(&'static str, &'static str)]) -> Result<(), String> {
        judged_by(&with_versions(), lines)
    }

    fn judged_by(
        document: &Document,
        lines: &[(&'static str, &'static str)],
    ) -> Result<(), String> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_static(value));
        }
        let found = document.find("/a").unwrap();
        super::headers(&found.operations["GET"], &headers)
            .map_err(|violation| format!("{}: {}", violation.location, violation.detail))
    }

    #[test]
    fn a_list_on_several_lines_is_one_list() {
        let (one, two) = (("accept", "a;v=1.0"), ("accept", "a;v=2.0"));
        for lines in [&[one][..], &[two, one], &[one, two], &[two, two, one]] {
            assert_eq!(judged(lines), Ok(()), "{lines:?}");
        }
        let unsupported = "header Accept: asks for a version that is not supported";
        assert_eq!(judged(&[two, two]), Err(unsupported.to_owned()));
        assert_eq!(judged(&[]), Err("header Accept: is required".to_owned()));
    }

    #[test]
    fn a_value_that_fitted_lets_no_other_one_pass() {
        let document = with_versions();
        for value in ["a;v=1.0", "a;v=2.0", "a;v=1.0", "a;v=1", "b", "a;v=1.0 "] {
            let judged = judged_by(&document, &[("accept", value)]);
            let fits = ["a;v=1.0", "a;v=1"].contains(&value.trim());
            assert_eq!(judged.is_ok(), fits, "{value:?}: {judged:?}");
        }
    }

    const BODY: &str = "
openapi: 3.1.0
paths:
  /a:
    post:
      operationId: a
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [b, c, d]
              properties:
                b: {type: string, enum: [ONE, TWO]}
                c: {type: object, required: [e, f]}
                d: {const: 7}
";

    #[test]
    fn a_body_says_of_which_media_type_it_is() {
        let document = Document::parse(BODY).unwrap();
        let found = document.find("/a").unwrap();
        let taken = |lines: &[&'static str]| {
            let lines = lines
                .iter()
                .map(|line| (CONTENT_TYPE, HeaderValue::from_static(line)));
            let headers: HeaderMap = lines.fold(HeaderMap::new(), |mut all, (name, value)| {
                all.append(name, value);
                all
            });
            media_type(&found.operations["POST"], &headers).is_ok()
        };
        for json in [
            "application/json",
            "Application/JSON; charset=utf-8",
            "a/b+json",
        ] {
            assert!(taken(&[json]), "{json}");
        }
        for other in [
            &[][..],
            &["text/plain"],
            &[""],
            &["application/json", "application/json"],
        ] {
            assert!(!taken(other), "{other:?}");
        }
    }

    #[test]
    fn a_header_that_is_no_list_has_one_line() {
        let accept = ("accept", "a;v=1.0");
        for (name, value, title) in [
            ("content-type", "a;v=1.0", "Content-Type"),
            ("date", "x", "Date"),
        ] {
            let line = (name, value);
            assert_eq!(judged(&[accept, line]), Ok(()));
            let twice = format!("header {title}: is given more than once");
            assert_eq!(judged(&[accept, line, line]), Err(twice));
        }
    }
}

//! Messages for clients about values that do not fit their schema. A message does not have the value, which may be
//! secret or long.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Rule;
use serde_json::Value;

use crate::violation::{Kind, Violation};

/// The message for a missing value.
pub(crate) const REQUIRED: &str = "is required";
/// Missing members that a refusal names besides the first one.
const MISSING_MAX: usize = 20;
/// The most errors that are searched for missing members, because a body may have very many.
const ERRORS_MAX: usize = 200;
/// Values of an enumeration that a refusal names.
const VALUES_MAX: usize = 30;

/// The violation for a validator's error, with its location.
pub(crate) fn schema_violation(location: &str, error: &ValidationError<'_>) -> Violation {
    let pointer = error.instance_path().to_string();
    let (kind, at, detail) = match error.kind() {
        Rule::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            let at = format!("{pointer}/{name}");
            (Kind::Missing, at, REQUIRED.to_owned())
        }
        Rule::MinItems { limit } | Rule::MinProperties { limit } => {
            let detail = format!("has fewer than {limit} elements");
            (Kind::Missing, pointer, detail)
        }
        Rule::MaxItems { limit } | Rule::MaxProperties { limit } => {
            let detail = format!("has more than {limit} elements");
            (Kind::TooManyElements, pointer, detail)
        }
        Rule::AdditionalProperties { unexpected } => {
            let detail = format!("has the unknown member {}", unexpected.join(", "));
            (Kind::TooManyElements, pointer, detail)
        }
        other => (Kind::Malformed, pointer, wrong(other)),
    };
    let location = if at.is_empty() {
        location.to_owned()
    } else {
        format!("{location} {at}")
    };
    Violation {
        kind,
        location,
        detail,
        allowed: Vec::new(),
    }
}

/// The message that names an enumeration's values.
fn one_of<'v>(values: impl Iterator<Item = &'v Value>) -> String {
    let word = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let values: Vec<String> = values.map(word).collect();
    match values.as_slice() {
        [only] => format!("is not {only}"),
        all if all.len() <= VALUES_MAX => format!("is not one of {}", all.join(", ")),
        all => {
            let more = all.len() - VALUES_MAX;
            format!(
                "is not one of {} and {more} more",
                all[..VALUES_MAX].join(", ")
            )
        }
    }
}

/// The message for a broken rule, without the value, which may be secret or long.
fn wrong(rule: &Rule) -> String {
    match rule {
        Rule::Type { .. } => "is of the wrong JSON type".into(),
        Rule::Enum { options } => one_of(options.as_array().into_iter().flatten()),
        Rule::Constant { expected_value } => one_of([&**expected_value].into_iter()),
        Rule::Pattern { .. } => "does not have the required form".into(),
        Rule::Format { format } => format!("is no {format}"),
        Rule::MinLength { limit } => format!("is shorter than {limit} characters"),
        Rule::MaxLength { limit } => format!("is longer than {limit} characters"),
        Rule::Minimum { limit } | Rule::ExclusiveMinimum { limit } => {
            format!("is below the limit of {limit}")
        }
        Rule::Maximum { limit } | Rule::ExclusiveMaximum { limit } => {
            format!("is above the limit of {limit}")
        }
        other => format!("breaks the schema's `{}`", other.keyword()),
    }
}

/// Adds the other missing members to a violation about a missing one, so that a client learns all at once.
pub(crate) fn with_all_missing<'e>(
    mut first: Violation,
    others: impl Iterator<Item = ValidationError<'e>>,
) -> Violation {
    if first.kind != Kind::Missing || first.detail != REQUIRED {
        return first;
    }
    let mut places: Vec<String> = Vec::new();
    let mut more = false;
    for other in others.take(ERRORS_MAX) {
        if !matches!(other.kind(), Rule::Required { .. }) {
            continue;
        }
        let other = schema_violation("body", &other).location;
        let place = other.strip_prefix("body ").unwrap_or(&other);
        if other == first.location || places.iter().any(|known| known == place) {
            continue;
        }
        more = places.len() == MISSING_MAX;
        if more {
            break;
        }
        places.push(place.to_owned());
    }
    let verb = if places.len() == 1 { "is" } else { "are" };
    if !places.is_empty() {
        let rest = if more { " and more" } else { "" };
        let places = places.join(", ");
        first.detail = format!("{}; so {verb} {places}{rest}", first.detail);
    }
    first
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;
    use crate::document::Document;
    use crate::validate;

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
                l: {type: array, items: {type: object, required: [m]}}
                d: {const: 7}
";

    fn body_judged(text: &str) -> Option<(Kind, String)> {
        let document = Document::parse(BODY).unwrap();
        let found = document.find("/a").unwrap();
        let refused = validate::body(&found.operations["POST"], text.as_bytes()).err()?;
        Some((
            refused.kind,
            format!("{}: {}", refused.location, refused.detail),
        ))
    }

    #[test]
    fn all_missing_members_are_named_at_once() {
        let said = |text: &str| body_judged(text).unwrap();
        let all = "body /b: is required; so are /c, /d".to_owned();
        assert_eq!(said("{}"), (Kind::Missing, all));
        let (kind, text) = said(r#"{"c":{}}"#);
        assert_eq!(kind, Kind::Missing);
        for place in ["/b", "/d", "/c/e", "/c/f"] {
            assert!(text.contains(place), "{place}: {text}");
        }
        let many = format!(r#"{{"c":{{}},"l":[{}]}}"#, ["{}"; 5_000].join(","));
        let (_, text) = said(&many);
        assert!(text.ends_with(" and more"), "{text}");
        assert_eq!(text.matches(", ").count(), MISSING_MAX - 1, "{text}");
        let one = "body /d: is required".to_owned();
        let lacks_one = r#"{"b":"ONE","c":{"e":1,"f":1}}"#;
        assert_eq!(said(lacks_one), (Kind::Missing, one));
        assert_eq!(body_judged(r#"{"b":"ONE","c":{"e":1,"f":1},"d":7}"#), None);
    }

    #[test]
    fn a_refusal_names_the_values_of_an_enumeration() {
        let said = |b: &str, d: u8| {
            let text = format!(r#"{{"b":"{b}","c":{{"e":1,"f":1}},"d":{d}}}"#);
            body_judged(&text)
        };
        let enumeration = "body /b: is not one of ONE, TWO".to_owned();
        assert_eq!(said("THREE", 7), Some((Kind::Malformed, enumeration)));
        let constant = "body /d: is not 7".to_owned();
        assert_eq!(said("TWO", 8), Some((Kind::Malformed, constant)));
        let many: Vec<Value> = (0..=VALUES_MAX).map(Value::from).collect();
        assert!(one_of(many.iter()).ends_with(" and 1 more"));
    }
}

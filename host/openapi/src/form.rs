//! Reads the body of a form (`application/x-www-form-urlencoded`) strictly: two readers of it must see the same fields.

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

/// The most fields of a form.
const FIELDS_MAX: usize = 100;

/// The fields of a form, as an object of texts.
///
/// # Errors
/// With what is wrong, as half a sentence about the body.
pub(crate) fn parse(text: &str) -> Result<Value, &'static str> {
    let mut fields = Map::new();
    for field in text.split('&') {
        let (name, value) = field.split_once('=').ok_or("has a field without a value")?;
        let (name, value) = (decoded(name)?, decoded(value)?);
        if fields.insert(name, Value::String(value)).is_some() {
            return Err("has a field twice");
        }
        if fields.len() > FIELDS_MAX {
            return Err("has too many fields");
        }
    }
    Ok(Value::Object(fields))
}

fn decoded(text: &str) -> Result<String, &'static str> {
    let mut escapes = text.split('%').skip(1);
    let is_escape = |rest: &str| {
        let digits = rest.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if !escapes.all(is_escape) {
        return Err("has a percent sign without two hexadecimal digits");
    }
    let text = text.replace('+', " ");
    let decoded = percent_decode_str(&text).decode_utf8();
    Ok(decoded
        .map_err(|_| "does not decode to UTF-8")?
        .into_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn forms_are_read_strictly() {
        let read = parse("grant_type=client_credentials&a=%C3%A4+%2B&b=").unwrap();
        assert_eq!(
            read,
            json!({"grant_type": "client_credentials", "a": "ä +", "b": ""})
        );
        for wrong in [
            "",
            "a",
            "a=1&a=2",
            "a=1&%61=2",
            "a=1&",
            "a=%",
            "a=%4",
            "a=%zz",
            "a=%ff",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        let many: Vec<String> = (0..=FIELDS_MAX).map(|n| format!("f{n}=")).collect();
        assert!(parse(&many.join("&")).is_err());
    }
}

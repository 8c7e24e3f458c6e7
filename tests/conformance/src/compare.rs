//! JSON as expected and as found.

use anyhow::{Result, ensure};
use serde_json::Value;

/// In an expected value: any point in time as FSPIOP writes it.
pub const TIME: &str = "<a time>";
/// In an expected value: any text of 1 to 128 characters.
pub const TEXT: &str = "<a text>";

/// Accept a value that is as expected.
///
/// # Errors
/// With both when it is not.
pub fn same(found: &Value, expected: &Value, what: &str) -> Result<()> {
    ensure!(
        fits(found, expected),
        "{what}: expected {expected}, got {found}"
    );
    Ok(())
}

fn fits(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::String(found), Value::String(expected)) => match expected.as_str() {
            TIME => is_time(found),
            TEXT => (1..=128).contains(&found.chars().count()),
            _ => found == expected,
        },
        (Value::Object(found), Value::Object(expected)) => {
            found.len() == expected.len()
                && expected
                    .iter()
                    .all(|(name, value)| found.get(name).is_some_and(|found| fits(found, value)))
        }
        (Value::Array(found), Value::Array(expected)) => {
            found.len() == expected.len()
                && found
                    .iter()
                    .zip(expected)
                    .all(|(found, expected)| fits(found, expected))
        }
        _ => found == expected,
    }
}

/// `2016-05-24T12:38:08.699Z`
fn is_time(text: &str) -> bool {
    let form = "dddd-dd-ddTdd:dd:dd.dddZ";
    text.len() == form.len()
        && text
            .chars()
            .zip(form.chars())
            .all(|(found, form)| match form {
                'd' => found.is_ascii_digit(),
                form => found == form,
            })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_differs_by_run_fits_its_place_only() {
        let expected = json!({ "at": TIME, "why": TEXT, "state": "ABORTED", "list": [1] });
        let good = json!({
            "state": "ABORTED", "at": "2016-05-24T12:38:08.699Z", "why": "so", "list": [1]
        });
        assert!(same(&good, &expected, "x").is_ok());
        for (member, wrong) in [
            ("at", json!("2016-05-24T12:38:08Z")),
            ("at", json!(7)),
            ("why", json!("")),
            ("why", json!("x".repeat(129))),
            ("state", json!("COMMITTED")),
            ("list", json!([1, 2])),
            ("more", json!(1)),
        ] {
            let mut found = good.clone();
            found[member] = wrong;
            let error = same(&found, &expected, "a body").unwrap_err().to_string();
            assert!(error.starts_with("a body: expected {"), "{error}");
        }
    }
}

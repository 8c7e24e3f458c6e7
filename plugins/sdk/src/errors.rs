//! FSPIOP's error codes: names, HTTP statuses and texts.

use crate::bindings::rialto::common::types::ErrorInformation;

/// The most characters of an ErrorDescription.
pub const DESCRIPTION_MAX: usize = 128;

/// The codes of the API definition, in ascending order, with their names.
const TABLE: [(&str, &str); 56] = [
    ("1000", "Communication error"),
    ("1001", "Destination communication error"),
    ("2000", "Generic server error"),
    ("2001", "Internal server error"),
    ("2002", "Not implemented"),
    ("2003", "Service currently unavailable"),
    ("2004", "Server timed out"),
    ("2005", "Server busy"),
    ("3000", "Generic client error"),
    ("3001", "Unacceptable version requested"),
    ("3002", "Unknown URI"),
    ("3003", "Add Party information error"),
    ("3100", "Generic validation error"),
    ("3101", "Malformed syntax"),
    ("3102", "Missing mandatory element"),
    ("3103", "Too many elements"),
    ("3104", "Too large payload"),
    ("3105", "Invalid signature"),
    ("3106", "Modified request"),
    ("3107", "Missing mandatory extension parameter"),
    ("3200", "Generic ID not found"),
    ("3201", "Destination FSP Error"),
    ("3202", "Payer FSP ID not found"),
    ("3203", "Payee FSP ID not found"),
    ("3204", "Party not found"),
    ("3205", "Quote ID not found"),
    ("3206", "Transaction request ID not found"),
    ("3207", "Transaction ID not found"),
    ("3208", "Transfer ID not found"),
    ("3209", "Bulk quote ID not found"),
    ("3210", "Bulk transfer ID not found"),
    ("3300", "Generic expired error"),
    ("3301", "Transaction request expired"),
    ("3302", "Quote expired"),
    ("3303", "Transfer expired"),
    ("4000", "Generic Payer error"),
    ("4001", "Payer FSP insufficient liquidity"),
    ("4100", "Generic Payer rejection"),
    ("4101", "Payer rejected transaction request"),
    ("4102", "Payer FSP unsupported transaction type"),
    ("4103", "Payer unsupported currency"),
    ("4200", "Payer limit error"),
    ("4300", "Payer permission error"),
    ("4400", "Generic Payer blocked error"),
    ("5000", "Generic Payee error"),
    ("5001", "Payee FSP insufficient liquidity"),
    ("5100", "Generic Payee rejection"),
    ("5101", "Payee rejected quote"),
    ("5102", "Payee FSP unsupported transaction type"),
    ("5103", "Payee FSP rejected quote"),
    ("5104", "Payee rejected transaction"),
    ("5105", "Payee FSP rejected transaction"),
    ("5106", "Payee unsupported currency"),
    ("5200", "Payee limit error"),
    ("5300", "Payee permission error"),
    ("5400", "Generic Payee blocked error"),
];

/// The name of a code of the API definition.
#[must_use]
pub fn description(code: &str) -> Option<&'static str> {
    TABLE
        .binary_search_by_key(&code, |(code, _)| code)
        .ok()
        .map(|index| TABLE[index].1)
}

/// An error for an FSP: "name of the code - detail", cut at 128 characters. A code of the scheme is described
/// by the detail only; without a detail, by the code.
#[must_use]
pub fn error(code: &str, detail: &str) -> ErrorInformation {
    let text = match (description(code), detail) {
        (Some(name), "") => name.to_owned(),
        (Some(name), detail) => format!("{name} - {detail}"),
        (None, "") => format!("Error {code}"),
        (None, detail) => detail.to_owned(),
    };
    ErrorInformation {
        code: code.to_owned(),
        description: cut(text),
    }
}

fn cut(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(DESCRIPTION_MAX) {
        text.truncate(end);
    }
    text
}

/// Whether an FSP may use this code. It may be one of the table, or a scheme's code in a category of the API,
/// by the rule of deployed switches, `^(10|20|3[0-4]|4[0-4]|5[0-4])[0-9]{2}$`; or one that deployments add:
/// 6000 (settlement) and `7[0-9]{3}` (third parties).
#[must_use]
pub fn is_legal_code(code: &str) -> bool {
    let [a, b, c, d] = code.as_bytes() else {
        return false;
    };
    let category = matches!((a, b), (b'1' | b'2', b'0') | (b'3'..=b'5', b'0'..=b'4'));
    let added = *a == b'7' && b.is_ascii_digit();
    code == "6000" || ((category || added) && c.is_ascii_digit() && d.is_ascii_digit())
}

/// The HTTP status of a code in a synchronous answer.
#[must_use]
pub fn http_status(code: &str) -> u16 {
    match code {
        "2002" => 501,
        "2003" | "2005" => 503,
        "3001" => 406,
        "3002" => 404,
        _ if code.starts_with("10") => 503,
        _ if code.starts_with("20") => 500,
        _ => 400,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_so_that_every_code_is_found() {
        assert!(TABLE.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for (code, name) in TABLE {
            assert_eq!(description(code), Some(name));
            assert!(is_legal_code(code), "{code}");
        }
        assert_eq!(description("3999"), None);
    }

    #[test]
    fn a_description_names_the_code_and_the_detail() {
        assert_eq!(
            error("3101", "body /amount").description,
            "Malformed syntax - body /amount"
        );
        assert_eq!(error("3208", "").description, "Transfer ID not found");
        assert_eq!(error("5199", "Closed today").description, "Closed today");
        assert_eq!(error("5199", "").description, "Error 5199");
    }

    #[test]
    fn a_description_has_at_most_128_characters() {
        let long = error("3100", &"ü".repeat(500)).description;
        assert_eq!(long.chars().count(), DESCRIPTION_MAX);
    }

    #[test]
    fn codes_outside_the_categories_are_not_legal() {
        for code in [
            "", "100", "10000", "1100", "2100", "3500", "6001", "6100", "7a00", "700", "70000",
            "8000", "0000", "30a0", "３000",
        ] {
            assert!(!is_legal_code(code), "{code}");
        }
        for code in ["3140", "6000", "7000", "7208", "7999"] {
            assert!(is_legal_code(code), "{code}");
        }
    }

    #[test]
    fn a_status_goes_with_each_code() {
        for (code, status) in [
            ("1001", 503),
            ("2001", 500),
            ("2002", 501),
            ("2003", 503),
            ("3001", 406),
            ("3002", 404),
            ("3101", 400),
            ("4001", 400),
            ("5104", 400),
        ] {
            assert_eq!(http_status(code), status, "{code}");
        }
    }
}

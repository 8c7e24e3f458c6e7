//! Numbers of JSON: a number is what it is worth, so 1 and 1.0 are the same.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// A whole number from 0 on, also one written as `3.0`.
pub fn count(value: &Value) -> Option<u64> {
    let number = value.as_number()?;
    let whole = number.as_f64().filter(|float| {
        // Below this, each whole number is a double of its own.
        (0.0..9_007_199_254_740_992.0).contains(float) && float.fract() == 0.0
    });
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "in range and whole"
    )]
    number.as_u64().or_else(|| whole.map(|float| float as u64))
}

/// Whether a number is whole.
pub fn is_whole(number: &Number) -> bool {
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

/// Which of two numbers is more.
pub fn compare(a: &Number, b: &Number) -> Ordering {
    let whole = |number: &Number| {
        let signed = number.as_i64().map(i128::from);
        signed.or_else(|| number.as_u64().map(i128::from))
    };
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => {
            let (a, b) = (a.as_f64().unwrap_or(0.0), b.as_f64().unwrap_or(0.0));
            a.partial_cmp(&b).unwrap_or(Ordering::Equal)
        }
    }
}

/// Whether a number is a multiple of another one, which is above 0.
pub fn is_multiple(number: &Number, of: &Number) -> bool {
    let whole = |number: &Number| {
        let signed = number.as_i64().map(i128::from);
        signed.or_else(|| number.as_u64().map(i128::from))
    };
    if let (Some(number), Some(of)) = (whole(number), whole(of)) {
        return of != 0 && number % of == 0;
    }
    let (number, of) = (number.as_f64().unwrap_or(0.0), of.as_f64().unwrap_or(1.0));
    let quotient = number / of;
    if !quotient.is_finite() {
        return false;
    }
    // 0.0075 / 0.0001 is 75.00000000000001 in doubles.
    (quotient - quotient.round()).abs() <= quotient.abs().max(1.0) * 1e-12
}

/// Whether two values are the same: numbers by what they are worth, objects without the order of members.
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare(a, b) == Ordering::Equal,
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let is_same = |(name, value): (&String, &Value)| {
                b.get(name).is_some_and(|other| same(value, other))
            };
            a.len() == b.len() && a.iter().all(is_same)
        }
        (a, b) => a == b,
    }
}

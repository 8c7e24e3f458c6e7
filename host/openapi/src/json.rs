//! Parses JSON strictly. A body is validated here and passed on byte for byte, so all readers must understand it the
//! same way.
//!
//! - Duplicate members are refused, because some readers take the first and some the last. Names that differ only in
//!   ASCII case count as duplicates, because some readers ignore case.
//! - Private names of serde_json are refused, because serde_json would read another value.
//! - Depth is bounded, for readers that recurse.
//! - The number of values is bounded, because a value takes much more memory than bytes of text.

use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Levels of lists and objects in each other. FSPIOP's deepest body has eight.
pub const DEPTH_MAX: u32 = 64;
/// Values in a text, each list, object, member and item being one. FSPIOP's longest body, a bulk of a
/// thousand transfers, has some ten thousand.
pub const VALUES_MAX: u32 = 100_000;
/// The prefix of serde_json's private names.
const PRIVATE: &str = "$serde_json::";
/// The number of members up to which comparing all pairs of names is quickest.
const FEW: usize = 16;
/// Characters of a member's name that a refusal repeats.
const NAME_CHARS_SHOWN: usize = 48;

/// Read a text.
///
/// # Errors
/// With what is wrong, as half a sentence about the text: "is not JSON: …".
pub fn parse(text: &str) -> Result<Value, String> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let left = Cell::new(VALUES_MAX);
    let top = Level {
        above: 0,
        left: &left,
    };
    let read = top.deserialize(&mut deserializer);
    let read = read.and_then(|value| deserializer.end().map(|()| value));
    read.map_err(|error| {
        if error.is_data() {
            error.to_string()
        } else {
            format!("is not JSON: {error}")
        }
    })
}

/// Reads a value.
#[derive(Clone, Copy)]
struct Level<'c> {
    /// The number of lists and objects around it.
    above: u32,
    /// How many more values there may be.
    left: &'c Cell<u32>,
}

impl Level<'_> {
    fn below<E: Error>(self) -> Result<Self, E> {
        if self.above == DEPTH_MAX {
            let why = format!("is nested deeper than {DEPTH_MAX} levels");
            return Err(E::custom(why));
        }
        Ok(Self {
            above: self.above + 1,
            ..self
        })
    }
}

impl<'de> DeserializeSeed<'de> for Level<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let left = self.left.get().checked_sub(1).ok_or_else(|| {
            let why = format!("has more than {VALUES_MAX} values");
            D::Error::custom(why)
        })?;
        self.left.set(left);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value);
        let number = number.ok_or_else(|| E::custom("has a number that is out of range"))?;
        Ok(Value::Number(number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let below = self.below()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(below)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let below = self.below()?;
        let mut object = Map::new();
        let mut many = HashSet::new();
        while let Some(name) = members.next_key::<String>()? {
            if name.starts_with(PRIVATE) {
                let why = format!("has a member whose name begins with `{PRIVATE}`");
                return Err(A::Error::custom(why));
            }
            if object.len() == FEW {
                many.extend(object.keys().map(|name| name.to_ascii_lowercase()));
            }
            let is_there = if object.len() < FEW {
                object.keys().any(|other| other.eq_ignore_ascii_case(&name))
            } else {
                !many.insert(name.to_ascii_lowercase())
            };
            if is_there {
                let shown: String = name.chars().take(NAME_CHARS_SHOWN).collect();
                let why =
                    format!("has two members named `{shown}` (upper and lower case count as one)");
                return Err(A::Error::custom(why));
            }
            let value = members.next_value_seed(below)?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    fn wrong(text: &str) -> String {
        parse(text).unwrap_err()
    }

    #[test]
    fn a_sound_text_is_read_as_serde_json_reads_it() {
        for text in [
            "null",
            " [1, -1, 1.5, 18446744073709551615, 1e3, true, \"\\u00e9\\n\"] ",
            r#"{"a":{"a":{"A ":[]}},"b":[{"a":1},{"a":2}],"ä":1,"Ä":2}"#,
            r#"{"":0}"#,
        ] {
            let expected: Value = serde_json::from_str(text).unwrap();
            assert_eq!(parse(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn duplicate_members_are_refused_however_they_are_written() {
        for text in [
            r#"{"amount":1,"amount":2}"#,
            r#"{"amount":1,"b":0,"Amount":1}"#,
            r#"{"amount":1,"\u0061mount":2}"#,
            r#"[{"x":{"AMOUNT":1,"amount":{}}}]"#,
        ] {
            assert!(wrong(text).starts_with("has two members named `"), "{text}");
        }
        let names: Vec<String> = (0..100).map(|n| format!("\"n{n}\":{n}")).collect();
        assert!(parse(&format!("{{{}}}", names.join(","))).is_ok());
        for again in ["n3", "N16", "n99"] {
            let text = format!("{{{},\"{again}\":0}}", names.join(","));
            let expected = format!("has two members named `{again}`");
            assert!(wrong(&text).starts_with(&expected), "{again}");
        }
    }

    #[test]
    fn a_name_that_serde_json_keeps_for_itself_is_refused() {
        let text = r#"{"$serde_json::private::RawValue":"{\"amount\":\"1\"}"}"#;
        assert!(wrong(text).contains("begins with `$serde_json::`"));
        assert!(wrong(r#"{"a":[{"$serde_json::":0}]}"#).contains("begins with"));
    }

    #[test]
    fn depth_has_a_bound() {
        let nested = |levels: usize| {
            let lists = levels / 2;
            let objects = levels - lists;
            format!(
                "{}{}0{}{}",
                "[".repeat(lists),
                "{\"a\":".repeat(objects),
                "}".repeat(objects),
                "]".repeat(lists)
            )
        };
        let bound = DEPTH_MAX as usize;
        assert!(parse(&nested(bound)).is_ok());
        assert!(wrong(&nested(bound + 1)).starts_with("is nested deeper than 64 levels"));
        assert!(wrong(&"[".repeat(200_000)).starts_with("is nested deeper"));
    }

    #[test]
    fn the_number_of_values_has_a_bound_whatever_they_are() {
        let bound = VALUES_MAX as usize;
        let list = |item: &str, items: usize| format!("[{}]", vec![item; items].join(","));
        for (item, values) in [("0", 1), (r#"{"":0}"#, 2), ("[[]]", 2), (r#""[,{:""#, 1)] {
            let fit = (bound - 1) / values;
            assert!(parse(&list(item, fit)).is_ok(), "{item}");
            let refused = wrong(&list(item, fit + 1));
            assert!(
                refused.starts_with("has more than 100000 values"),
                "{refused}"
            );
        }
    }

    #[test]
    fn what_is_no_json_is_said_to_be_none() {
        for text in [
            "",
            "{",
            "{} {}",
            "nul",
            "1e999",
            "\"\\ud800\"",
            "{\"a\":1,}",
        ] {
            assert!(
                wrong(text).starts_with("is not JSON: "),
                "{text}: {}",
                wrong(text)
            );
        }
    }
}

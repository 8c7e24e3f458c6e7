//! How long a value is, without writing it, and writing it no longer than it may be.

use std::io;

use serde_json::Value;

/// Bytes that a value takes beside its texts.
const EACH: usize = 8;

/// Roughly how many bytes a value has: its texts and the names of its members, and something for each value
/// in it. Whoever has no use for more than `enough` is told of some more than that; the rest is not looked at.
pub(super) fn weight(value: &Value, enough: usize) -> usize {
    let mut sum = EACH;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => sum = sum.saturating_add(text.len()),
        Value::Array(items) => {
            for item in items {
                if sum > enough {
                    break;
                }
                sum = sum.saturating_add(weight(item, enough - sum));
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                sum = sum.saturating_add(name.len());
                if sum > enough {
                    break;
                }
                sum = sum.saturating_add(weight(member, enough - sum));
            }
        }
    }
    sum
}

/// A value as JSON, with a member a line; none where that has more bytes than this.
pub(super) fn pretty(value: &Value, bytes_max: usize) -> Option<String> {
    let mut written = Bounded {
        bytes: Vec::new(),
        left: bytes_max,
    };
    serde_json::to_writer_pretty(&mut written, value).ok()?;
    String::from_utf8(written.bytes).ok()
}

/// Takes so many bytes and no more.
struct Bounded {
    bytes: Vec<u8>,
    left: usize,
}

impl io::Write for Bounded {
    fn write(&mut self, some: &[u8]) -> io::Result<usize> {
        let left = self.left.checked_sub(some.len());
        self.left = left.ok_or(io::ErrorKind::StorageFull)?;
        self.bytes.extend_from_slice(some);
        Ok(some.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_weight_counts_texts_and_names_up_to_its_limit() {
        let value = json!({"abc": ["de", null, {"f": 1}]});
        let all = EACH * 6 + "abcdef".len();
        assert_eq!(weight(&value, usize::MAX), all);
        assert_eq!(weight(&value, all), all);
        let many = json!(vec!["abc"; 1_000]);
        let some = weight(&many, 100);
        assert!((101..=100 + EACH + 3).contains(&some), "{some}");
    }

    #[test]
    fn what_is_written_is_as_ever_or_nothing() {
        let value = json!({"a": [1, "b"], "c": {}});
        let text = format!("{value:#}");
        assert_eq!(pretty(&value, text.len()).as_deref(), Some(text.as_str()));
        assert_eq!(pretty(&value, text.len() - 1), None);
    }
}

//! Making two runs of one story read alike.

use std::collections::HashMap;
use std::fmt::Write as _;

/// Names in place of ids, the same name for the same id, and fixed words for what is never the
/// same twice.
#[derive(Default)]
pub(super) struct Aliases {
    ids: HashMap<String, usize>,
}

impl Aliases {
    /// The text with its ids, times and hashes replaced.
    pub(super) fn replace(&mut self, text: &str) -> String {
        let mut replaced = String::with_capacity(text.len());
        let token = |c: char| c.is_ascii_alphanumeric() || "-_:.…".contains(c);
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.find(|c| !token(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            if is_uuid(word) {
                let next = self.ids.len() + 1;
                let number = *self.ids.entry(word.to_owned()).or_insert(next);
                let _ = write!(replaced, "<id {number}>"); // a String takes all
            } else if is_datetime(word) {
                replaced.push_str("<time>");
            } else if word.ends_with('…') || is_hash(word) {
                replaced.push_str("<octets>");
            } else {
                replaced.push_str(word);
            }
            let skipped = after.chars().next().map_or(0, char::len_utf8);
            replaced.push_str(&after[..skipped]);
            rest = &after[skipped..];
        }
        replaced
    }
}

fn is_uuid(word: &str) -> bool {
    word.len() == 36
        && word.bytes().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn is_datetime(word: &str) -> bool {
    word.len() >= 20
        && word.as_bytes()[10] == b'T'
        && word.as_bytes()[..4].iter().all(u8::is_ascii_digit)
}

/// A condition or fulfilment.
fn is_hash(word: &str) -> bool {
    word.len() == 43
        && word
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

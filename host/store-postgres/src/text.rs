//! Texts as PostgreSQL keeps them: its type `text` has every character but U+0000.
//!
//! U+0000 becomes U+0001 U+0001, and U+0001 becomes U+0001 U+0002. So the order of texts by their bytes stays. JSON and
//! document ids have neither character, so they are stored as they are.

use std::borrow::Cow;

use rialto_engine::store::StoreError;

use crate::failures::unreadable;

const ESCAPE: char = '\u{1}';
const ESCAPED_NUL: char = '\u{1}';
const ESCAPED_ESCAPE: char = '\u{2}';

/// A text in its stored form.
pub(crate) fn stored(text: &str) -> Cow<'_, str> {
    if !text.contains(['\u{0}', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    let mut stored = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\u{0}' => stored.extend([ESCAPE, ESCAPED_NUL]),
            ESCAPE => stored.extend([ESCAPE, ESCAPED_ESCAPE]),
            other => stored.push(other),
        }
    }
    Cow::Owned(stored)
}

/// The stored form of a text, to bind.
pub(crate) fn owned(text: &str) -> String {
    stored(text).into_owned()
}

/// The text of a stored form.
///
/// # Errors
/// When an escape is broken.
pub(crate) fn original(stored: &str) -> Result<Cow<'_, str>, StoreError> {
    if !stored.contains(ESCAPE) {
        return Ok(Cow::Borrowed(stored));
    }
    let mut text = String::with_capacity(stored.len());
    let mut rest = stored.chars();
    while let Some(c) = rest.next() {
        match (c, c == ESCAPE) {
            (other, false) => text.push(other),
            _ => match rest.next() {
                Some(ESCAPED_NUL) => text.push('\u{0}'),
                Some(ESCAPED_ESCAPE) => text.push(ESCAPE),
                other => return Err(unreadable("a text", format!("U+0001 before {other:?}"))),
            },
        }
    }
    Ok(Cow::Owned(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 12] = [
        "",
        "\u{0}",
        "\u{0}\u{0}",
        "\u{0}a",
        "\u{1}",
        "\u{1}\u{0}",
        "\u{1}\u{1}",
        "\u{2}",
        "a",
        "a\u{0}",
        "a\u{1}",
        "a\u{10ffff}",
    ];

    #[test]
    fn a_stored_text_is_the_same_again_and_has_no_nul() {
        for text in TEXTS {
            let form = stored(text);
            assert!(!form.contains('\u{0}'));
            assert_eq!(original(&form).unwrap(), text);
        }
        assert!(original("\u{1}").is_err());
        assert!(original("\u{1}x").is_err());
    }

    #[test]
    fn stored_texts_are_in_the_order_of_the_texts() {
        for one in TEXTS {
            for other in TEXTS {
                assert_eq!(stored(one).cmp(&stored(other)), one.cmp(other));
            }
        }
    }
}

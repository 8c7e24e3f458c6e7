//! Parses conditions with the parser of the crate `cel`.
//!
//! The parser gives no positions of the parts of an expression. A mistake in a part names a word of the text by its
//! number, and [`place`] finds that word again. So a condition without a mistake costs nothing for its positions.

use cel::IdedExpr;
use cel::parser::PrattParser;
use cel::parser::pratt_parser::{Lexer, TokenKind};

/// The most characters of a condition.
pub const CHARACTERS_MAX: usize = 1024;
/// The most levels of a condition, of parentheses and of operators.
pub const DEPTH_MAX: u16 = 32;

/// What is wrong with a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The place in the text, in characters from 1 on.
    pub character: usize,
    /// A sentence.
    pub message: String,
}

/// Parses a condition.
///
/// # Errors
/// When it is too long or is no expression. The first mistake.
pub fn parse(text: &str) -> Result<IdedExpr, Mistake> {
    let length = text.chars().count();
    if length > CHARACTERS_MAX {
        return Err(Mistake {
            character: CHARACTERS_MAX + 1,
            message: format!(
                "The condition has {length} characters, more than {CHARACTERS_MAX}: make several rows of it."
            ),
        });
    }
    let parser = PrattParser::new().max_recursion_depth(DEPTH_MAX);
    parser.parse(text).map_err(|errors| {
        let first = errors.errors.first();
        let (line, column) = first.map_or((1, 1), |error| error.pos);
        let message = first.map_or("it is no expression", |error| &error.msg);
        let message = message.trim_start_matches("Syntax error: ");
        Mistake {
            character: characters(text, byte(text, line, column)),
            message: format!("This is no expression: {message}."),
        }
    })
}

/// The byte at a line and a byte of it, both from 1 on.
fn byte(text: &str, line: isize, column: isize) -> usize {
    let number = |count: isize| usize::try_from(count - 1).unwrap_or(0);
    let lines = text.split_inclusive('\n').take(number(line));
    lines.map(str::len).sum::<usize>() + number(column)
}

/// The character at a byte, from 1 on.
fn characters(text: &str, byte: usize) -> usize {
    let before = text.char_indices().take_while(|(start, _)| *start < byte);
    before.count() + 1
}

/// The place of a name or literal, by its number in the text from 0 on.
#[must_use]
pub fn place(text: &str, word: usize) -> usize {
    let mut lexer = Lexer::new(text);
    let mut words = 0;
    loop {
        let token = lexer.lex();
        match token.kind {
            TokenKind::TokEnd | TokenKind::TokError => return characters(text, text.len()),
            TokenKind::TokIdent
            | TokenKind::TokReservedWord
            | TokenKind::TokNull
            | TokenKind::TokFalse
            | TokenKind::TokTrue
            | TokenKind::TokInt
            | TokenKind::TokUint
            | TokenKind::TokFloat
            | TokenKind::TokString
            | TokenKind::TokBytes => {
                if words == word {
                    return characters(text, token.start);
                }
                words += 1;
            }
            _ => (),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::testing::Dice;

    fn mistake(text: &str) -> (usize, String) {
        let mistake = parse(text).unwrap_err();
        (mistake.character, mistake.message)
    }

    #[test]
    fn texts_that_are_no_expressions_have_a_place() {
        for (text, character, words) in [
            ("", 1, "mismatched input"),
            ("1 +", 4, "mismatched input"),
            ("input.now > ", 13, "mismatched input"),
            ("a b", 3, "'b'"),
            ("\"é\" == é", 8, "unexpected character"),
            ("a\n  && $", 8, "unexpected character"),
            ("a == \"open", 6, "string"),
            ("if", 1, "reserved"),
        ] {
            let (place, message) = mistake(text);
            assert_eq!(place, character, "{text}: {message}");
            assert!(message.contains(words), "{text}: {message}");
            assert!(!message.contains('\n'), "{message}");
        }
    }

    #[test]
    fn length_and_depth_are_bounded() {
        let longest = format!("\"{}\"", "é".repeat(CHARACTERS_MAX - 2));
        assert!(parse(&longest).is_ok());
        assert_eq!(mistake(&format!("{longest} ")).0, CHARACTERS_MAX + 1);
        let nested = |levels: usize| format!("{}a{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse(&nested(DEPTH_MAX.into())).is_ok());
        let message = mistake(&nested(usize::from(DEPTH_MAX) + 1)).1;
        assert!(message.contains("recursion limit"), "{message}");
        // No text of the longest length ends the parser.
        for part in [
            "(", "!(", "-", "a?", "a?b:", "a.", "a[", "f(", "a,", "1+", "a&&", "{1:",
        ] {
            let _ = parse(&part.repeat(CHARACTERS_MAX / part.len()));
        }
    }

    #[test]
    fn places_are_found_by_the_number_of_a_word() {
        let text = "has(é.b) && a.in(1, \"x y\") // no\n|| !null";
        assert_eq!(place("a.b && \"é\" == c", 3), 15);
        assert_eq!(place("a.b", 9), 4);
        assert_eq!(place(text, 0), 1);
        let text = "has(e.b) && a.f(1, \"x y\") // no\n|| !null";
        for (word, start) in [
            (0, 1),
            (1, 5),
            (2, 7),
            (3, 13),
            (4, 15),
            (5, 17),
            (6, 20),
            (7, 37),
        ] {
            assert_eq!(place(text, word), start, "{word}");
        }
    }

    #[test]
    fn any_text_is_parsed_or_has_a_place() {
        let parts = [
            "a",
            ".",
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            "\"",
            "'",
            "\\",
            "é",
            "\u{1F600}",
            "&&",
            "||",
            "1",
            "0x",
            "1.5",
            "u",
            "has(",
            "in",
            " ",
            "\n",
            "//",
            "?",
            ":",
            "-",
            "!",
            "r\"",
            "b'",
            "\"\"\"",
            "`",
            "\\u00",
            ",",
            "null",
            "\u{0}",
            "=",
            "<",
            ".exists(x,",
            ".map(",
        ];
        let mut dice = Dice::new(11);
        for _ in 0..100_000 {
            let length = dice.below(24);
            let text: String = (0..length).map(|_| *dice.pick(&parts)).collect();
            let count = text.chars().count();
            if let Err(mistake) = parse(&text) {
                assert!((1..=count + 1).contains(&mistake.character), "{text:?}");
            }
            assert!((1..=count + 1).contains(&place(&text, 3)), "{text:?}");
        }
    }
}

//! PEM (RFC 7468): blocks of base64 between a line that begins and one that ends them.
//!
//! Text between blocks is allowed, as in the RFC. A block without an end or with invalid base64 is an error. It is never
//! skipped, because a file with half of its keys would otherwise go unnoticed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// One block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// What it says it is: `PUBLIC KEY`.
    pub label: String,
    /// Its bytes, mostly DER.
    pub der: Vec<u8>,
}

/// Why a text is no PEM.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PemError {
    /// No block at all.
    #[error("it has no PEM block (`-----BEGIN PUBLIC KEY-----`)")]
    Nothing,
    /// A block that goes on to the end of the text, or into the next one.
    #[error("the block `{label}` that begins on line {line} does not end")]
    Unended {
        /// What the block says it is.
        label: String,
        /// The line that begins it, counted from 1.
        line: usize,
    },
    /// An end line without a begin line, or with another label.
    #[error("line {line} ends a block that did not begin")]
    Unbegun {
        /// The line, counted from 1.
        line: usize,
    },
    /// The content between the lines is no base64.
    #[error("the block `{label}` that begins on line {line} is not base64")]
    NotBase64 {
        /// What the block says it is.
        label: String,
        /// The line that begins it, counted from 1.
        line: usize,
    },
}

/// All blocks of a text.
///
/// # Errors
/// When there is none, or one is broken.
pub fn blocks(text: &str) -> Result<Vec<Block>, PemError> {
    let mut found = Vec::new();
    let mut open: Option<(String, usize, String)> = None;
    for (n, line) in text.lines().enumerate() {
        let line_number = n + 1;
        let line = line.trim();
        if let Some(label) = boundary(line, "-----BEGIN ") {
            if let Some((label, line, _)) = open {
                return Err(PemError::Unended { label, line });
            }
            open = Some((label.to_owned(), line_number, String::new()));
        } else if let Some(label) = boundary(line, "-----END ") {
            let Some((begun, line, content)) = open.take().filter(|(begun, ..)| begun == label)
            else {
                return Err(PemError::Unbegun { line: line_number });
            };
            let Ok(der) = STANDARD.decode(&content) else {
                return Err(PemError::NotBase64 { label: begun, line });
            };
            found.push(Block { label: begun, der });
        } else if let Some((_, _, content)) = &mut open {
            content.push_str(line);
        }
    }
    if let Some((label, line, _)) = open {
        return Err(PemError::Unended { label, line });
    }
    if found.is_empty() {
        return Err(PemError::Nothing);
    }
    Ok(found)
}

/// The bytes of the one block of a text, which must be a `PUBLIC KEY`; none for any other text.
#[must_use]
pub fn public_key(text: &str) -> Option<Vec<u8>> {
    let mut blocks = blocks(text).ok()?.into_iter();
    match (blocks.next(), blocks.next()) {
        (Some(only), None) if only.label == "PUBLIC KEY" => Some(only.der),
        _ => None,
    }
}

/// The text of a block, in lines of 64 characters.
#[must_use]
pub fn write(label: &str, der: &[u8]) -> String {
    const LINE: usize = 64;
    let base64 = STANDARD.encode(der);
    // Room for all of it: a private key is not left in memory by moving the text.
    let mut text = String::with_capacity(base64.len() + base64.len() / LINE + 2 * label.len() + 34);
    text.push_str("-----BEGIN ");
    text.push_str(label);
    text.push_str("-----\n");
    let mut rest = base64.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(LINE));
        text.push_str(line);
        text.push('\n');
        rest = after;
    }
    text.push_str("-----END ");
    text.push_str(label);
    text.push_str("-----\n");
    text
}

/// The label of a line that begins or ends a block.
fn boundary<'a>(line: &'a str, with: &str) -> Option<&'a str> {
    line.strip_prefix(with)?.strip_suffix("-----")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_among_words() {
        let text = "the first\r\n-----BEGIN PUBLIC KEY-----\r\nAAEC\r\n AwQ=\r\n-----END PUBLIC KEY-----\r\n\
            and another\n-----BEGIN X-----\n-----END X-----";
        let found = blocks(text).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[0].label.as_str(), &*found[0].der),
            ("PUBLIC KEY", &[0, 1, 2, 3, 4][..])
        );
        assert_eq!((found[1].label.as_str(), &*found[1].der), ("X", &[][..]));
    }

    #[test]
    fn written_block_is_read_again() {
        for length in [0, 1, 47, 48, 49, 200] {
            let der: Vec<u8> = (0..length).collect();
            let text = write("PUBLIC KEY", &der);
            assert_eq!(public_key(&text), Some(der));
            assert!(text.lines().all(|line| line.len() <= 64));
        }
    }

    #[test]
    fn anything_but_one_public_key_is_none() {
        let one = write("PUBLIC KEY", b"abc");
        for text in [
            "",
            "abc",
            &format!("{one}{one}"),
            &write("PRIVATE KEY", b"abc"),
            &one[1..],
        ] {
            assert_eq!(public_key(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_broken_is_said_with_its_line() {
        for (text, expected) in [
            ("", "it has no PEM block (`-----BEGIN PUBLIC KEY-----`)"),
            (
                "words",
                "it has no PEM block (`-----BEGIN PUBLIC KEY-----`)",
            ),
            (
                "\n-----BEGIN A-----\nAAAA",
                "the block `A` that begins on line 2 does not end",
            ),
            (
                "-----BEGIN A-----\n-----BEGIN A-----\n-----END A-----",
                "the block `A` that begins on line 1 does not end",
            ),
            (
                "-----BEGIN A-----\n-----END B-----",
                "line 2 ends a block that did not begin",
            ),
            ("-----END A-----", "line 1 ends a block that did not begin"),
            (
                "-----BEGIN A-----\nProc-Type: 4\n-----END A-----",
                "the block `A` that begins on line 1 is not base64",
            ),
        ] {
            assert_eq!(blocks(text).unwrap_err().to_string(), expected, "{text:?}");
        }
    }
}

//! The documents of this repository: their fenced blocks with their uses.
//!
//! | Fence | What a test does with it |
//! | --- | --- |
//! | `sh` | runs it, in the document's one shell, in the order of the document |
//! | `sh with PROGRAM` | the same, where the machine has the program |
//! | `sh background` | starts each line and waits until it says `ready`; it runs on until the document's end |
//! | `sh not run: WHY`, `toml not run: WHY` | nothing; the reason is for the reader |
//! | `toml rialto.toml`, `toml scheme.toml` | puts it into that document of the demonstration, and checks the scheme |
//! | `json` | reads it |
//! | `mermaid`, `text`, `wit` | nothing: it is shown |

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};

/// How a line begins that is a command, wherever it stands.
const PROGRAMS: [&str; 9] = [
    "cargo", "curl", "export", "openssl", "protoc", "python3", "rialto", "rustup", "sqlite3",
];

/// The use of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Use {
    /// It is run, if the program exists.
    Run(Option<String>),
    /// Each line is started, and runs on.
    Background,
    /// It is commands or settings, and is not run, for this reason.
    NotRun(String),
    /// It is part of this document of a scheme.
    Toml(String),
    /// It is JSON.
    Json,
    /// It is shown.
    Shown,
}

/// A fenced block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Where its text begins, counted from 1.
    pub line: usize,
    /// Its use.
    pub used: Use,
    /// Its text.
    pub text: String,
}

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A document's text, by its path in the repository.
///
/// # Errors
/// When it cannot be read.
pub fn read(document: &str) -> anyhow::Result<String> {
    let path = root().join(document);
    std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
}

/// The blocks of a document.
///
/// # Errors
/// With the line, when a fence does not say what its block is for, or is not closed, or a command or a table is in
/// no fence.
pub fn blocks(text: &str) -> anyhow::Result<Vec<Block>> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (n, line) in text.lines().enumerate() {
        let number = n + 1;
        let fence = line.trim_start().strip_prefix("```");
        match (&mut open, fence) {
            (None, Some(info)) => {
                let used = used(info).with_context(|| format!("line {number}"))?;
                open = Some(Block {
                    line: number + 1,
                    used,
                    text: String::new(),
                });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => ensure!(!is_code(line), "line {number} is in no fence: {line}"),
        }
    }
    if let Some(block) = open {
        bail!("the block at line {} is not closed", block.line);
    }
    Ok(blocks)
}

/// Parses a fence.
fn used(info: &str) -> anyhow::Result<Use> {
    ensure!(!info.contains('`'), "a fence has no other backquotes");
    let not_run = info.strip_prefix("sh not run:");
    if let Some(why) = not_run.or_else(|| info.strip_prefix("toml not run:")) {
        ensure!(!why.trim().is_empty(), "why is it not run?");
        return Ok(Use::NotRun(why.trim().to_owned()));
    }
    let words: Vec<&str> = info.split_whitespace().collect();
    Ok(match words.as_slice() {
        ["sh"] => Use::Run(None),
        ["sh", "with", program] => Use::Run(Some((*program).to_owned())),
        ["sh", "background"] => Use::Background,
        ["toml", document @ ("rialto.toml" | "scheme.toml")] => Use::Toml((*document).to_owned()),
        ["json"] => Use::Json,
        ["mermaid" | "text" | "wit"] => Use::Shown,
        _ => bail!("```{info} does not say what the block is for: see tests/e2e/src/handbook.rs"),
    })
}

/// Whether a line is a command or the head of a TOML table in an indented block, which no test would check.
fn is_code(line: &str) -> bool {
    let Some(code) = line.strip_prefix("    ") else {
        return false;
    };
    let code = code.trim_start();
    let first = code.split_whitespace().next().unwrap_or_default();
    PROGRAMS.contains(&first) || (code.starts_with('[') && code.trim_end().ends_with(']'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_its_line_its_use_and_its_text() {
        let text =
            "Words.\n\n```sh\nrialto check x\n```\n   ```toml scheme.toml\n   a = 1\n   ```\n";
        let expected = [
            Block {
                line: 4,
                used: Use::Run(None),
                text: "rialto check x\n".to_owned(),
            },
            Block {
                line: 7,
                used: Use::Toml("scheme.toml".to_owned()),
                text: "   a = 1\n".to_owned(),
            },
        ];
        assert_eq!(blocks(text).unwrap(), expected);
    }

    #[test]
    fn what_no_test_would_run_or_read_is_found() {
        for (text, why) in [
            ("```sh\nx\n", "not closed"),
            ("```\nx\n```\n", "line 1"),
            ("```sh not run:\nx\n```\n", "line 1"),
            ("```toml\nx = 1\n```\n", "line 1"),
            ("```sh not run: `x`\nx\n```\n", "line 1"),
            ("x\n\n    rialto check y\n", "line 3"),
            ("    [store]\n", "line 1"),
        ] {
            let error = blocks(text).unwrap_err();
            assert!(error.to_string().contains(why), "{text}: {error}");
        }
        assert_eq!(blocks("- x\n    with more words\n").unwrap(), []);
    }
}

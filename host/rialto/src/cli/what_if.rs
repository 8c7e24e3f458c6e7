//! `rialto what-if`: what the running release's rules would say about a draft.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::At;
use super::inspect::path;
use crate::ops::{Draft, WhatIf as Answer};
use crate::{out, words};

/// Asks the rules of a running host's step about a draft
///
/// Nothing is decided and no receipt is kept. Rules that are `confidential` are left out, so that nobody can probe them.
#[derive(Debug, clap::Args)]
pub(super) struct WhatIf {
    /// The step, such as transfer-prepare-check.
    step: String,
    /// The step's input as receipts have it: a file with JSON, or `-` for standard input.
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: At,
}

impl WhatIf {
    pub fn run(self) -> anyhow::Result<u8> {
        let draft = Draft {
            subject: None,
            input: read(&self.input)?,
        };
        let address = format!("/what-if/{}", path(&self.step));
        let answer: Answer = self.at.client()?.post(&address, &draft)?;
        if self.json {
            out::json(&answer)?;
        } else {
            out::text(words::what_if(&answer))?;
        }
        Ok(0)
    }
}

fn read(file: &Path) -> anyhow::Result<serde_json::Value> {
    let mut text = String::new();
    if file == Path::new("-") {
        let read = std::io::stdin().read_to_string(&mut text);
        read.context("reading standard input")?;
    } else {
        text =
            std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    }
    serde_json::from_str(&text).with_context(|| format!("{} is not JSON", file.display()))
}

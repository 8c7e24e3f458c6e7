//! `rialto what-if`: what the running release's rules would say about a draft.

use std::path::PathBuf;

use super::At;
use super::inspect::path;
use super::plugin::read;
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

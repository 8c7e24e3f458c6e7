//! `rialto drill`: what requests at a step would come to if its rules failed.

use std::path::PathBuf;

use rialto_components::FailureKind;

use super::At;
use super::inspect::path;
use super::plugin::{read, stored};
use crate::ops::{Drill as Answer, NewDrill};
use crate::{out, words};

/// Shows what a request at a step would come to if a rule failed
///
/// The rules of the running host's current release meet real failures, on a copy. Nothing is decided, no receipt is kept, and the running release is not touched.
#[derive(Debug, clap::Args)]
pub(super) struct Drill {
    /// The step, such as transfer-prepare-check.
    step: String,
    /// The failure. Without it, all of them.
    #[arg(long, value_parser = ["trap", "fuel", "memory", "verdict", "slow", "missing"])]
    failure: Option<String>,
    /// The rule that fails, by its name in the scheme. Without it, each rule at the step.
    #[arg(long, value_name = "NAME")]
    rule: Option<String>,
    /// The step's input as receipts have it, about which the other rules are asked: a file with JSON, or `-` for standard input.
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// The input of the host's receipts about this transfer or quote, by its id.
    #[arg(long, value_name = "ID", conflicts_with = "input")]
    receipt: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: At,
}

impl Drill {
    pub fn run(self) -> anyhow::Result<u8> {
        let client = self.at.client()?;
        let (subject, input) = match (&self.input, &self.receipt) {
            (Some(file), _) => (None, Some(read(file)?)),
            (None, Some(id)) => {
                let (subject, input) = stored(&client, id, &self.step)?;
                (Some(subject), Some(input))
            }
            (None, None) => (None, None),
        };
        let drill = NewDrill {
            failure: self.failure.as_deref().and_then(FailureKind::named),
            rule: self.rule,
            subject,
            input,
        };
        let address = format!("/drill/{}", path(&self.step));
        let answer: Answer = client.post(&address, &drill)?;
        if self.json {
            out::json(&answer)?;
        } else {
            out::text(words::drill(&answer))?;
        }
        Ok(0)
    }
}

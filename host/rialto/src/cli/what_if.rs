//! `rialto what-if`: what a running host's rules would say about a draft.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use rialto_components::rules::Receipt;
use serde_json::Value;

use super::At;
use super::inspect::path;
use super::plugin::read;
use super::receipts::write;
use crate::ops::{AgreedDraft, Draft, FiledReceipt, WhatIf as Answer};
use crate::{out, words};

/// Asks the rules of a running host's step about a draft
///
/// Nothing is decided. The receipts are marked as those of a what-if, and the host keeps none. Rules that are `confidential`
/// are left out, so that nobody can probe them.
#[derive(Debug, clap::Args)]
pub(super) struct WhatIf {
    /// The step, such as transfer-prepare-check.
    step: String,
    /// The step's input as receipts have it: a file with JSON, or `-` for standard input. The whole receipt of
    /// `rialto receipts ID --json` will do: then the rules judge under which it was agreed.
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// Write the receipts to a new file, which `rialto receipts verify` reads.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: At,
}

impl WhatIf {
    pub fn run(self) -> anyhow::Result<u8> {
        if let Some(file) = self.out.as_deref().filter(|file| file.exists()) {
            let file = file.display();
            bail!("{file} exists: name a new file, or remove this one");
        }
        let draft = draft(read(&self.input)?)?;
        let address = format!("/what-if/{}", path(&self.step));
        let answer: Answer = self.at.client()?.post(&address, &draft)?;
        if self.json {
            out::json(&answer)?;
        } else {
            out::text(words::what_if(&answer))?;
        }
        if let Some(file) = &self.out {
            write(file, &answer.receipts)?;
            let file = file.display();
            out::note(format_args!(
                "the receipts are in {file}; nobody else has them"
            ));
        }
        Ok(0)
    }
}

/// A draft of an input, or of a whole receipt.
fn draft(given: Value) -> anyhow::Result<Draft> {
    let is_filed = given.get("receipt").is_some_and(Value::is_object);
    if !is_filed {
        return Ok(Draft {
            subject: None,
            input: given,
            agreed: None,
        });
    }
    let filed: FiledReceipt = serde_json::from_value(given).context("reading a receipt")?;
    let receipt: Receipt = filed.receipt.context("the receipt is not readable")?;
    Ok(Draft {
        subject: Some(receipt.subject),
        input: serde_json::from_str(receipt.input.get())?,
        agreed: receipt.agreed.map(|agreed| AgreedDraft {
            release: agreed.release,
            at: agreed.at,
        }),
    })
}

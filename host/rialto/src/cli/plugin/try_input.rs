//! `rialto plugin try`.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use rialto_components::rules::{Outcome, Receipt};
use serde_json::{Value, json};

use super::{BINDING, RuleLimit, UNFIT, lines_of, size};
use crate::cli::At;
use crate::cli::inspect::path;
use crate::client::Client;
use crate::kit::file::{Judged, Unjudged};
use crate::ops::FiledReceipt;
use crate::{out, words};

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Try {
    /// The rule's component.
    file: PathBuf,
    /// The step, such as transfer-prepare-check. Without it, the only step that the rule has.
    #[arg(long)]
    step: Option<String>,
    /// The rule's settings: a file with a JSON object. Without it, those of the step in `binding.toml` beside the component; if there is none, an empty object.
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// The input as receipts have it: a file with JSON, or `-` for standard input.
    #[arg(long, value_name = "FILE", required_unless_present = "receipt")]
    input: Option<PathBuf>,
    /// The input of a running host's receipts about this transfer or quote, by its id.
    #[arg(long, value_name = "ID", conflicts_with = "input")]
    receipt: Option<String>,
    #[command(flatten)]
    limits: RuleLimit,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: At,
}

impl Try {
    pub fn run(self) -> anyhow::Result<u8> {
        let Some(rule) = self.limits.rule(&self.file)? else {
            return Ok(UNFIT);
        };
        let steps = rule.file.steps();
        let step = match (&self.step, &steps[..]) {
            (Some(step), _) => step.as_str(),
            (None, [only]) => only,
            (None, _) => bail!(
                "name one of the rule's steps with --step: {}",
                steps.join(", ")
            ),
        };
        let settings = match &self.settings {
            Some(file) => read(file)?,
            None => bound(&self.file, step)?.unwrap_or_else(|| json!({})),
        };
        let (subject, input) = match (&self.input, &self.receipt) {
            (Some(file), _) => ("case:1".to_owned(), read(file)?),
            (None, Some(id)) => stored(&self.at.client()?, id, step)?,
            (None, None) => bail!("name an input with --input or --receipt"),
        };
        match rule.judge(step, &settings, &subject, &input) {
            Ok(judged) => self.tell(&judged),
            Err(Unjudged::Unbound(problems)) => {
                super::show(&problems);
                Ok(UNFIT)
            }
            Err(other) => Err(other.into()),
        }
    }

    /// Prints the verdict. The exit code is 1 if the rule fails.
    fn tell(&self, judged: &Judged) -> anyhow::Result<u8> {
        let Judged {
            outcome,
            fuel,
            memory_bytes,
            branches,
        } = judged;
        if self.json {
            out::json(&json!({
                "verdict": outcome, "fuel": fuel, "memoryBytes": memory_bytes, "branches": branches,
            }))?;
        } else {
            out::line(words::verdict(outcome))?;
            out::line(format_args!(
                "{fuel} fuel, {} of memory",
                size(*memory_bytes)
            ))?;
            if !branches.is_empty() {
                out::line(format_args!(
                    "branches: {}",
                    words::plain(&branches.join(", "))
                ))?;
            }
        }
        Ok(u8::from(matches!(outcome, Outcome::Failed { .. })))
    }
}

/// The settings at a step in the binding beside a component, if there is one.
fn bound(component: &Path, step: &str) -> anyhow::Result<Option<Value>> {
    let lines = lines_of(&component.with_file_name(BINDING))?.unwrap_or_default();
    let steps = lines.get("steps").and_then(|steps| steps.get(step));
    let first = steps.and_then(|rules| rules.get(0)?.get("settings"));
    Ok(first.map(serde_json::to_value).transpose()?)
}

/// JSON from a file or from standard input.
pub(in crate::cli) fn read(file: &Path) -> anyhow::Result<Value> {
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

/// What a host's receipts about an id have as input of a step: the latest.
pub(in crate::cli) fn stored(
    client: &Client,
    id: &str,
    step: &str,
) -> anyhow::Result<(String, Value)> {
    let filed: Vec<FiledReceipt> = client.get(&format!("/receipts/{}", path(id)))?;
    let receipts = filed.into_iter().filter_map(|one| one.receipt);
    let found = receipts.filter(|receipt| &*receipt.step == step).last();
    let Some(Receipt { subject, input, .. }) = found else {
        bail!("there is no receipt about {id} at {step} that can be read");
    };
    Ok((subject, serde_json::from_str(input.get())?))
}

//! `rialto bundle verify`.

use std::path::PathBuf;

use anyhow::Context as _;
use serde_json::json;

use super::{about, open, told};
use crate::bundles::verifying::{self, Report, Taking};
use crate::cli::{compiled, operator_of};
use crate::out;
use crate::plans::Officers;
use crate::words;

/// The exit code if something does not hold.
const FAILED: u8 = 1;

/// Say whether a bundle holds, without a host: every byte, the documents, whether a host would take the components, the golden cases, the plan and its signatures.
///
/// Exits with 1 if something does not hold, and names all of it.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Verify {
    /// The bundle.
    file: PathBuf,
    /// The folder whose rialto.toml is to take it: what it admits, its ceilings, and the public keys of its officers.
    #[arg(long, value_name = "DIR")]
    operator: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Verify {
    pub fn run(self) -> anyhow::Result<u8> {
        let (bundle, digest) = match open(&self.file) {
            Ok(opened) => opened,
            Err(error) => {
                let wrong = format!("{error:#}");
                if self.json {
                    out::json(&json!({ "holds": false, "findings": [wrong] }))?;
                } else {
                    out::note(wrong);
                }
                return Ok(FAILED);
            }
        };
        let operator = self.operator.as_deref().map(operator_of).transpose()?;
        let taking = operator.as_ref().map(|operator| {
            let officers = Officers::of(operator)?;
            anyhow::Ok(Taking { operator, officers })
        });
        let taking = taking.transpose().context("reading the officers")?;
        let (cache, _folder) = match operator.as_ref().zip(self.operator.as_deref()) {
            Some((operator, folder)) => compiled::open(&operator.store_path(folder))?,
            None => {
                let (cache, folder) = compiled::temporary()?;
                (cache, Some(folder))
            }
        };
        let report = verifying::verify(&bundle, taking.as_ref(), cache)?;
        let holds = report.findings.is_empty();
        if self.json {
            out::json(&json!({
                "holds": holds,
                "bundle": about(&bundle, digest),
                "checked": report.holds,
                "findings": report.findings,
                "notes": report.notes,
            }))?;
        } else {
            out::text(told(&bundle, digest))?;
            show(&report)?;
        }
        Ok(if holds { 0 } else { FAILED })
    }
}

/// Prints what holds and what does not.
fn show(report: &Report) -> anyhow::Result<()> {
    let marks = [
        ("ok  ", &report.holds),
        ("note", &report.notes),
        ("FAIL", &report.findings),
    ];
    for (mark, lines) in marks {
        for line in lines {
            let line = words::plain_lines(line).replace('\n', "\n     ");
            out::line(format_args!("{mark} {line}"))?;
        }
    }
    out::line(match report.findings.len() {
        0 => "the bundle holds".to_owned(),
        1 => "the bundle does not hold: 1 finding".to_owned(),
        count => format!("the bundle does not hold: {count} findings"),
    })?;
    Ok(())
}

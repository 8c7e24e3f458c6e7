//! `rialto canary`.

use super::At;
use crate::canaries::CanaryReport;
use crate::{out, words};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Canary {
    /// Print what canaries have decided in the place of rules, how that differs, and which were held back
    Report {
        /// Print one JSON object for each canary.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
}

impl Canary {
    pub fn run(self) -> anyhow::Result<u8> {
        let Self::Report { json, at } = self;
        let reports: Vec<CanaryReport> = at.client()?.get("/canaries")?;
        if reports.is_empty() {
            out::note("no rule of the current release has a canary");
        }
        for report in &reports {
            if json {
                out::json(report)?;
            } else {
                out::text(words::canary(report))?;
            }
        }
        Ok(0)
    }
}

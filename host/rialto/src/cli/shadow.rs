//! `rialto shadow`.

use super::At;
use crate::shadow::report::ShadowReport;
use crate::{out, words};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Shadow {
    /// Print what candidates in the shadow of rules have judged so far, and would have decided otherwise
    Report {
        /// Print one JSON object for each candidate.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
}

impl Shadow {
    pub fn run(self) -> anyhow::Result<u8> {
        let Self::Report { json, at } = self;
        let reports: Vec<ShadowReport> = at.client()?.get("/shadows")?;
        if reports.is_empty() {
            out::note("no rule of the current release has a candidate in its shadow");
        }
        for report in &reports {
            if json {
                out::json(report)?;
            } else {
                out::text(words::shadow(report, words::colours()))?;
            }
        }
        Ok(0)
    }
}

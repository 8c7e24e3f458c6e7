//! `rialto rule`: the emergency path for one rule of a running host, and the rules in quarantine.

use super::At;
use crate::ops::{Change, EndQuarantine};
use crate::out;
use crate::quarantines::ShownQuarantine;
use crate::suspensions::ShownSuspension;
use crate::words;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Rule {
    /// Take a rule out of force at once; another person must confirm it, or it is in force again after a time
    Suspend {
        /// The rule, by its name in the scheme.
        rule: String,
        /// Why, for those who must confirm it and the audit log.
        #[arg(long)]
        note: String,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
    /// Confirm another person's suspension, which then lasts until somebody ends it
    Confirm {
        /// The suspension's number.
        id: u64,
        /// Why, for the audit log.
        #[arg(long, default_value = "")]
        note: String,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
    /// End a suspension: the rule is in force again
    Resume {
        /// The suspension's number.
        id: u64,
        /// Why, for the audit log.
        #[arg(long, default_value = "")]
        note: String,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
    /// List the suspensions of rules, those in force first
    Suspensions {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
    /// End the quarantine of a rule: the next request asks it, and failures are counted from 0
    EndQuarantine {
        /// The rule, by its name in the scheme.
        rule: String,
        /// The step. Without it, at all steps.
        #[arg(long)]
        step: Option<String>,
        /// Why, for the audit log.
        #[arg(long)]
        note: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
    /// List the rules in quarantine: they failed several times in a row, and are not asked for a while
    Quarantines {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
}

impl Rule {
    pub fn run(self) -> anyhow::Result<u8> {
        match self {
            Self::Suspend {
                rule,
                note,
                json,
                at,
            } => change(&format!("/rules/{rule}/suspend"), note, json, &at),
            Self::Confirm { id, note, json, at } => {
                change(&format!("/suspensions/{id}/approve"), note, json, &at)
            }
            Self::Resume { id, note, json, at } => {
                change(&format!("/suspensions/{id}/end"), note, json, &at)
            }
            Self::Suspensions { json, at } => {
                let all: Vec<ShownSuspension> = at.client()?.get("/suspensions")?;
                if json {
                    out::json(&all)?;
                } else {
                    out::text(all.iter().map(words::suspension).collect::<String>())?;
                    if all.is_empty() {
                        out::note("no rule was ever suspended");
                    }
                }
                Ok(0)
            }
            Self::EndQuarantine {
                rule,
                step,
                note,
                json,
                at,
            } => {
                let wanted = EndQuarantine { step, note };
                let path = format!("/rules/{rule}/end-quarantine");
                let ended: Vec<ShownQuarantine> = at.client()?.post(&path, &wanted)?;
                if json {
                    out::json(&ended)?;
                } else {
                    out::text(ended.iter().map(words::quarantine_end).collect::<String>())?;
                }
                Ok(0)
            }
            Self::Quarantines { json, at } => {
                let all: Vec<ShownQuarantine> = at.client()?.get("/quarantines")?;
                if json {
                    out::json(&all)?;
                } else {
                    out::text(all.iter().map(words::quarantine).collect::<String>())?;
                    if all.is_empty() {
                        out::note("no rule is in quarantine");
                    }
                }
                Ok(0)
            }
        }
    }
}

fn change(path: &str, note: String, json: bool, at: &At) -> anyhow::Result<u8> {
    let change = Change {
        note,
        ..Change::default()
    };
    let changed: ShownSuspension = at.client()?.post(path, &change)?;
    if json {
        out::json(&changed)?;
    } else {
        out::text(words::suspension(&changed))?;
    }
    Ok(0)
}

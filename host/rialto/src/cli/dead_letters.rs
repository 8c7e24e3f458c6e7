//! `rialto dead-letters`: deliveries that failed for good, and paused components.

use super::At;
use super::instants::{now, past};
use crate::client::Client;
use crate::ops::{Reason, Retried, Retry, ShownLetter, ShownPause};
use crate::out;
use crate::words;

#[derive(Debug, clap::Args)]
pub(super) struct DeadLetters {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Print one JSON object per dead letter.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: At,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Retry one dead letter, or all
    Retry {
        /// The dead letter's id.
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        id: Option<u64>,
        /// Retry all.
        #[arg(long)]
        all: bool,
        /// With --all: only dead letters of this component
        #[arg(long, value_name = "NAME", requires = "all")]
        component: Option<String>,
        /// With --all: only dead letters since this instant, such as 2026-01-31T09:00:00Z, or for so long, such
        /// as `2 h`
        #[arg(long, value_name = "TIME", requires = "all", value_parser = past)]
        since: Option<u64>,
        /// Why, for the audit log.
        #[arg(long, default_value = "")]
        note: String,
    },
    /// Drop a dead letter: it is not tried again
    Drop {
        /// The dead letter's id.
        id: u64,
        /// Why, for the audit log.
        #[arg(long, default_value = "")]
        note: String,
    },
    /// List paused components. Their deliveries failed, and new ones wait
    Paused,
}

impl DeadLetters {
    pub fn run(self) -> anyhow::Result<u8> {
        let client = self.at.client()?;
        match self.verb {
            Some(Verb::Retry {
                id: Some(id), note, ..
            }) => {
                client.tell(&format!("/dead-letters/{id}/retry"), &Reason { note })?;
                out::note(format_args!("dead letter {id} is tried again"));
            }
            Some(Verb::Retry {
                component,
                since,
                note,
                ..
            }) => {
                let which = Retry {
                    component,
                    since,
                    before: Some(now()),
                    note,
                };
                let count = retry_all(&client, &which)?;
                out::note(format_args!("{count} dead letters are tried again"));
            }
            Some(Verb::Paused) => {
                let paused: Vec<ShownPause> = client.get("/dead-letters/paused")?;
                if paused.is_empty() {
                    out::note("no component is paused");
                }
                for pause in &paused {
                    if self.json {
                        out::json(pause)?;
                    } else {
                        out::line(pause_in_a_line(pause))?;
                    }
                }
            }
            Some(Verb::Drop { id, note }) => {
                client.tell(&format!("/dead-letters/{id}/drop"), &Reason { note })?;
                out::note(format_args!("dead letter {id} is dropped"));
            }
            None => {
                let letters: Vec<ShownLetter> = client.get("/dead-letters")?;
                if letters.is_empty() {
                    out::note("there is no dead letter");
                }
                for letter in &letters {
                    if self.json {
                        out::json(letter)?;
                    } else {
                        out::line(in_a_line(letter))?;
                    }
                }
                let paused: Vec<ShownPause> = client.get("/dead-letters/paused")?;
                for pause in &paused {
                    out::note(format_args!("paused: {}", pause_in_a_line(pause)));
                }
            }
        }
        Ok(0)
    }
}

/// Retries all these dead letters of before now. Those that fail again are new dead letters.
fn retry_all(client: &Client, which: &Retry) -> anyhow::Result<usize> {
    let mut count = 0;
    loop {
        let Retried { retried } = client.post("/dead-letters/retry", which)?;
        if retried == 0 {
            return Ok(count);
        }
        count += retried;
    }
}

fn pause_in_a_line(pause: &ShownPause) -> String {
    let next = pause.next_probe_ms.map_or_else(
        || "one is being tried".to_owned(),
        |ms| format!("the next is tried in {} s", ms.div_ceil(1_000)),
    );
    format!(
        "{} since {}: {} deliveries wait, {} tried, {next}: {}",
        pause.component,
        words::instant(pause.since),
        pause.kept,
        pause.probes,
        pause.error
    )
}

fn in_a_line(letter: &ShownLetter) -> String {
    format!(
        "{} {} {} {} after {} attempts: {} [{}]",
        letter.id,
        words::instant(letter.at),
        letter.component,
        letter.interface,
        letter.attempts,
        letter.error,
        letter.subjects.join(", ")
    )
}

//! `rialto events`, `receipts`, `documents` and `dead-letters`: looking at a running host.

use super::At;
use crate::ops::{FiledReceipt, Shown, ShownLetter, Story};
use crate::out;
use crate::words;

#[derive(Debug, clap::Args)]
pub(super) struct Events {
    /// The id of a transfer or a quote, or a whole subject such as `party:MSISDN/123`.
    id: String,
    /// Print one JSON object a turn.
    #[arg(long)]
    json: bool,
    /// At most so many turns of each subject: the latest
    #[arg(long, value_name = "TURNS", default_value_t = 500)]
    last: u32,
    #[command(flatten)]
    at: At,
}

#[derive(Debug, clap::Args)]
pub(super) struct Receipts {
    /// The id of a transfer or a quote.
    id: String,
    /// Ask each rule again, with the same bytes on the same input, and compare.
    #[arg(long)]
    again: bool,
    /// Print one JSON object a receipt.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: At,
}

#[derive(Debug, clap::Args)]
pub(super) struct Documents {
    /// The component.
    component: String,
    /// Its collection.
    collection: String,
    /// Only ids that begin with this.
    #[arg(long, default_value = "")]
    prefix: String,
    /// At most so many.
    #[arg(long, default_value_t = 100)]
    limit: u32,
    /// Print one JSON object a document.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: At,
}

#[derive(Debug, clap::Args)]
pub(super) struct DeadLetters {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Print one JSON object a dead letter.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: At,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Try it again
    Retry {
        /// Its id.
        id: u64,
    },
    /// Forget it
    Drop {
        /// Its id.
        id: u64,
    },
}

impl Events {
    pub fn run(self) -> anyhow::Result<u8> {
        let path = format!("/events/{}?last={}", path(&self.id), self.last);
        let stories: Vec<Story> = self.at.client()?.get(&path)?;
        if stories.is_empty() {
            out::note(format_args!("nothing is known of {}", self.id));
            return Ok(1);
        }
        for story in &stories {
            if self.json {
                for turn in &story.turns {
                    out::json(turn)?;
                }
            } else {
                out::line(words::story(story, words::colours()))?;
            }
            if story.earlier > 0 {
                out::note(format_args!(
                    "{}: the last {} turns; there are {} before them, which a higher --last shows",
                    story.subject,
                    story.turns.len(),
                    story.earlier
                ));
            }
        }
        Ok(0)
    }
}

impl Receipts {
    pub fn run(self) -> anyhow::Result<u8> {
        let path = format!("/receipts/{}?again={}", path(&self.id), self.again);
        let filed: Vec<FiledReceipt> = self.at.client()?.get(&path)?;
        if filed.is_empty() {
            out::note(format_args!("there is no receipt about {}", self.id));
            return Ok(1);
        }
        if self.json {
            for receipt in &filed {
                out::json(receipt)?;
            }
        } else {
            out::text(words::receipts(&filed, words::colours()))?;
        }
        let differs = |filed: &FiledReceipt| filed.again.as_ref().is_some_and(|a| !a.same);
        Ok(u8::from(filed.iter().any(differs)))
    }
}

impl Documents {
    pub fn run(self) -> anyhow::Result<u8> {
        let path = format!(
            "/documents/{}/{}?prefix={}&limit={}",
            path(&self.component),
            path(&self.collection),
            path(&self.prefix),
            self.limit
        );
        let shown: Vec<Shown> = self.at.client()?.get(&path)?;
        if shown.is_empty() && !self.json {
            let (component, collection) = (&self.component, &self.collection);
            let whose = match self.prefix.as_str() {
                "" => String::new(),
                prefix => format!(" whose id begins with `{prefix}`"),
            };
            out::note(format_args!(
                "there is no such document: `{component}` has none in `{collection}`{whose}"
            ));
            return Ok(1);
        }
        for document in &shown {
            if self.json {
                out::json(document)?;
            } else {
                let Shown { id, version, body } = document;
                out::line(format_args!("{id} v{version} {body}"))?;
            }
        }
        Ok(0)
    }
}

impl DeadLetters {
    pub fn run(self) -> anyhow::Result<u8> {
        let client = self.at.client()?;
        match self.verb {
            Some(Verb::Retry { id }) => client.tell(&format!("/dead-letters/{id}/retry"))?,
            Some(Verb::Drop { id }) => client.tell(&format!("/dead-letters/{id}/drop"))?,
            None => {
                let letters: Vec<ShownLetter> = client.get("/dead-letters")?;
                for letter in &letters {
                    if self.json {
                        out::json(letter)?;
                    } else {
                        out::line(in_a_line(letter))?;
                    }
                }
            }
        }
        Ok(0)
    }
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

/// A text as one segment of a path or one value of a query.
pub(super) fn path(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

//! `rialto events`, `receipts`, `documents` and `dead-letters`: looking at a running host.

use super::At;
use crate::ops::{FiledReceipt, Shown, ShownLetter, Story};
use crate::words;

#[derive(Debug, clap::Args)]
pub(super) struct Events {
    /// The id of a transfer or a quote, or a whole subject such as `party:MSISDN/123`.
    id: String,
    /// Print one JSON object a turn.
    #[arg(long)]
    json: bool,
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
    #[command(flatten)]
    at: At,
}

#[derive(Debug, clap::Args)]
pub(super) struct DeadLetters {
    #[command(subcommand)]
    verb: Option<Verb>,
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
        let stories: Vec<Story> = self
            .at
            .client()?
            .get(&format!("/events/{}", path(&self.id)))?;
        if stories.is_empty() {
            eprintln!("nothing is known of {}", self.id);
            return Ok(1);
        }
        for story in &stories {
            if self.json {
                for turn in &story.turns {
                    println!("{}", serde_json::to_string(turn)?);
                }
            } else {
                println!("{}", words::story(story, words::colours()));
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
            eprintln!("there is no receipt about {}", self.id);
            return Ok(1);
        }
        if self.json {
            for receipt in &filed {
                println!("{}", serde_json::to_string(receipt)?);
            }
        } else {
            print!("{}", words::receipts(&filed, words::colours()));
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
        for document in shown {
            println!("{} v{} {}", document.id, document.version, document.body);
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
                for letter in letters {
                    println!(
                        "{} {} {} {} after {} attempts: {} [{}]",
                        letter.id,
                        words::instant(letter.at),
                        letter.component,
                        letter.interface,
                        letter.attempts,
                        letter.error,
                        letter.subjects.join(", ")
                    );
                }
            }
        }
        Ok(0)
    }
}

/// A text as one segment of a path or one value of a query.
fn path(text: &str) -> String {
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

//! The story of a payment: its messages, the host's turns, the ledger. It is printed within a number of
//! columns, or as JSON, which can be printed again later.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, bail};
use rialto::ops::Story;
use rialto::{out, words};
use rialto_engine::history::Record;
use rialto_simulator::transcript::{Style, Transcript};
use rialto_simulator::{PaymentOutcome, Recorded};
use serde_json::json;
use serde_json::value::RawValue;

use crate::kept::Kept;
use crate::ledger::Ledger;

/// The members of a line.
type Parts = BTreeMap<String, Box<RawValue>>;

/// See the module's documentation.
pub struct Told {
    /// Messages of the payment, in their order.
    pub messages: Transcript,
    /// Turns by their subjects.
    pub stories: Vec<Story>,
    /// The ledger before the payment.
    pub before: Ledger,
    /// And after.
    pub after: Ledger,
    /// Its outcome.
    pub outcome: PaymentOutcome,
}

impl Told {
    /// A story that was written as JSON.
    ///
    /// # Errors
    /// When a line cannot be read, or a part is missing.
    pub fn read(file: &Path) -> anyhow::Result<Self> {
        let text =
            std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
        let (mut messages, mut stories) = (Vec::<Recorded>::new(), Vec::<Story>::new());
        let (mut before, mut after, mut outcome) = (None, None, None);
        for (n, line) in text.lines().enumerate() {
            let at = || format!("{}, line {}", file.display(), n + 1);
            // Raw: a body is what was sent, byte for byte.
            let parts: Parts = serde_json::from_str(line).with_context(at)?;
            if let Some(message) = parts.get("message") {
                messages.push(serde_json::from_str(message.get()).with_context(at)?);
            } else if let (Some(subject), Some(turn)) = (parts.get("subject"), parts.get("turn")) {
                let subject = serde_json::from_str(subject.get()).with_context(at)?;
                let turn = serde_json::from_str(turn.get()).with_context(at)?;
                add_turn(&mut stories, subject, turn);
            } else if let Some(ledger) = parts.get("ledgerBefore") {
                before = Some(Ledger::from_json(ledger.get()).with_context(at)?);
            } else if let Some(ledger) = parts.get("ledgerAfter") {
                after = Some(Ledger::from_json(ledger.get()).with_context(at)?);
            } else if !parts.contains_key("kept") {
                outcome = Some(serde_json::from_str(line).with_context(at)?);
            }
        }
        let (Some(before), Some(after), Some(outcome)) = (before, after, outcome) else {
            bail!(
                "{} is no whole story: it lacks a ledger or the outcome",
                file.display()
            );
        };
        Ok(Self {
            messages: Transcript::new([messages]),
            stories,
            before,
            after,
            outcome,
        })
    }

    /// Prints it within a number of columns.
    ///
    /// # Errors
    /// When standard output takes no more.
    pub fn print(&self, columns: usize) -> anyhow::Result<()> {
        let say = |text: &str| out::text(words::wrapped(text, columns));
        say("\nWhat the FSPs saw: every HTTP message\n\n")?;
        let mut text = Vec::new();
        let style = Style::for_people(&std::io::stdout()).within(columns);
        self.messages.write(&mut text, style)?;
        say(&String::from_utf8_lossy(&text))?;
        say("\nWhat the host did: every turn, and the component that ran it\n\n")?;
        for story in &self.stories {
            say(&words::story(story, words::colours()))?;
            say("\n")?;
        }
        say("The ledger, before and after\n\n")?;
        say(&self.before.beside(&self.after, columns))?;
        let outcome = &self.outcome;
        say(&format!(
            "\ntransfer {} is {} after {:.1} ms\n",
            outcome.transfer_id,
            outcome.transfer_state.as_deref().unwrap_or("not there"),
            outcome.total_ms
        ))?;
        Ok(())
    }

    /// As JSON, an object a line; the last one has the outcome.
    ///
    /// # Errors
    /// When standard output takes no more.
    pub fn print_json(&self, kept: Option<&Kept>) -> anyhow::Result<()> {
        let mut text = Vec::new();
        self.messages.write_json_lines(&mut text)?;
        out::text(String::from_utf8_lossy(&text))?;
        for story in &self.stories {
            for turn in &story.turns {
                out::json(&json!({"subject": story.subject, "turn": turn}))?;
            }
        }
        out::json(&json!({"ledgerBefore": self.before.json()}))?;
        out::json(&json!({"ledgerAfter": self.after.json()}))?;
        if let Some(kept) = kept {
            out::json(&kept.json())?;
        }
        // Always the last line, since scripts wait for the outcome.
        out::json(&self.outcome)?;
        Ok(())
    }
}

/// Turns stand one after the other, those about one subject beside each other.
fn add_turn(stories: &mut Vec<Story>, subject: String, turn: Record) {
    match stories.last_mut() {
        Some(story) if story.subject == subject => story.turns.push(turn),
        _ => stories.push(Story {
            subject,
            turns: vec![turn],
            earlier: 0,
        }),
    }
}

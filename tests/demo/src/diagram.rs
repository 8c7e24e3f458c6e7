//! The life of a payment as a Mermaid sequence diagram, made from a run.
//!
//! | Drawn as | Meaning |
//! | --- | --- |
//! | `->>` | an HTTP message, with the status of its answer |
//! | `-)` | an event from one component to another |
//! | `Note over` a component | verdicts of rules, and calls that write |
//!
//! Two runs of the same payment give the same diagram: ids have names, and times are left out. Left out too are calls
//! that only read (`get-…`), turns that failed, and what follows the report of a delivery, which comes at any time.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use rialto_engine::history::{Ended, Kind, Record, Step};
use rialto_engine::ids::TurnId;
use rialto_simulator::recorder::Ending;
use rialto_simulator::{Direction, Recorded};

use crate::story::Told;

/// Draws a payment, as the text of a Mermaid diagram.
pub fn of(told: &Told) -> String {
    let mut diagram = Diagram {
        told,
        fsps: Vec::new(),
        components: Vec::new(),
        turns_drawn: BTreeSet::new(),
        messages_drawn: BTreeSet::new(),
        subject: "",
        body: String::new(),
    };
    for (index, message) in told.messages.messages().iter().enumerate() {
        if message.direction == Direction::Out {
            diagram.request(index, message);
        }
    }
    diagram.text()
}

/// A diagram in the making.
struct Diagram<'a> {
    told: &'a Told,
    /// In the order of their first message.
    fsps: Vec<&'a str>,
    /// In the order of their first turn.
    components: Vec<&'a str>,
    turns_drawn: BTreeSet<TurnId>,
    /// By their places in the transcript.
    messages_drawn: BTreeSet<usize>,
    /// The subject of the last request: `party`, `quote` or `transfer`.
    subject: &'a str,
    body: String,
}

impl<'a> Diagram<'a> {
    /// Draws a request of an FSP, the turn that took it, and what followed.
    fn request(&mut self, index: usize, message: &'a Recorded) {
        let function = format!("{} {}", message.method, message.path);
        let told = self.told;
        let turn = told.stories.iter().find_map(|story| {
            let mut turns = story.turns.iter();
            let turn = turns.find(|turn| {
                turn.kind == Kind::Request
                    && *turn.function == *function
                    && self.is_to_be_drawn(turn)
            })?;
            Some((story.subject.split(':').next().unwrap_or_default(), turn))
        });
        let Some((subject, turn)) = turn else {
            return; // refused at the edge: no component saw it
        };
        if subject != self.subject {
            self.subject = subject;
            self.line(format_args!("Note over {FIRST},{LAST}: {}", plain(subject)));
        }
        let (from, to) = (self.fsp(message), self.component(&turn.component));
        self.message(&from, &to, index, message);
        self.turn(turn);
    }

    /// Draws what a turn did, then the turns that it caused, depth first.
    fn turn(&mut self, turn: &'a Record) {
        self.turns_drawn.insert(turn.turn);
        let own = self.component(&turn.component);
        let mut notes: Vec<String> = turn.steps.iter().filter_map(note).collect();
        notes.dedup();
        if !notes.is_empty() {
            self.line(format_args!("Note over {own}: {}", notes.join("<br/>")));
        }
        for step in &turn.steps {
            match step {
                Step::Published { event, to } => {
                    for subscriber in to {
                        let other = self.component(subscriber);
                        self.line(format_args!("{own}-){other}: {}", plain(event)));
                        if let Some(next) = self.caused(turn, event, subscriber) {
                            self.turn(next);
                        }
                    }
                }
                Step::Sent { request, .. } => {
                    if let Some((index, message)) = self.received(request) {
                        let fsp = self.fsp(message);
                        self.message(&own, &fsp, index, message);
                    }
                }
                _ => {}
            }
        }
    }

    /// The turn of a subscriber that an event of another turn caused.
    fn caused(&self, cause: &Record, event: &str, subscriber: &str) -> Option<&'a Record> {
        let told = self.told;
        let mut turns = told.stories.iter().flat_map(|story| &story.turns);
        turns.find(|turn| {
            turn.kind == Kind::Event
                && turn.cause == Some(cause.turn)
                && *turn.component == *subscriber
                && *turn.function == *event
                && self.is_to_be_drawn(turn)
        })
    }

    fn is_to_be_drawn(&self, turn: &Record) -> bool {
        turn.ended == Ended::Executed && !self.turns_drawn.contains(&turn.turn)
    }

    /// The first message not drawn yet that an FSP received for `request`, a method and a URL.
    fn received(&self, request: &str) -> Option<(usize, &'a Recorded)> {
        let (method, url) = request.split_once(' ')?;
        let messages = self.told.messages.messages().iter().enumerate();
        let mut messages = messages.filter(|(index, _)| !self.messages_drawn.contains(index));
        messages.find(|(_, message)| {
            message.direction == Direction::In
                && message.method.as_str() == method
                && url.ends_with(&message.path)
        })
    }

    /// Draws an HTTP message.
    fn message(&mut self, from: &str, to: &str, index: usize, message: &Recorded) {
        self.messages_drawn.insert(index);
        let mut path = message.path.clone();
        let outcome = &self.told.outcome;
        for (id, name) in [
            (&outcome.quote_id, "{quoteId}"),
            (&outcome.transfer_id, "{transferId}"),
        ] {
            if !id.is_empty() {
                path = path.replace(id.as_str(), name);
            }
        }
        let answer = match &message.ending {
            Ending::Status(status) => status.to_string(),
            Ending::Pending | Ending::Broken(_) => "no answer".to_owned(),
        };
        let (method, path) = (&message.method, plain(&path));
        self.line(format_args!("{from}->>{to}: {method} {path} ({answer})"));
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.body, "    {line}"); // a String takes all
    }

    /// The FSP of a message, as the diagram names it.
    fn fsp(&mut self, message: &'a Recorded) -> String {
        let name = message.fsp.as_str();
        if !self.fsps.contains(&name) {
            self.fsps.push(name);
        }
        id(name)
    }

    /// A component, as the diagram names it.
    fn component(&mut self, name: &'a str) -> String {
        if !self.components.contains(&name) {
            self.components.push(name);
        }
        id(name)
    }

    /// The whole text. The first FSP stands to the left of the components, the others to the right.
    fn text(&self) -> String {
        let mut text = "sequenceDiagram\n".to_owned();
        let mut fsps = self.fsps.iter();
        let first = fsps.next();
        for name in first.into_iter().chain(&self.components).chain(fsps) {
            let _ = writeln!(text, "    participant {} as {name}", id(name)); // as above
        }
        let first = self.fsps.first().copied().unwrap_or_default();
        let last = self.fsps.last().copied().unwrap_or_default();
        let body = self.body.replace(FIRST, &id(first));
        text + &body.replace(LAST, &id(last))
    }
}

/// Stand for the outermost FSPs, which are known at the end.
const FIRST: &str = "<first>";
const LAST: &str = "<last>";

/// The note of a step, if it has one.
fn note(step: &Step) -> Option<String> {
    match step {
        Step::Judged { rule, verdict, .. } => {
            Some(format!("rule {}: {}", plain(rule), plain(verdict)))
        }
        Step::Called {
            component,
            function,
            ..
        } => {
            let function = function.rsplit('/').next().unwrap_or_default();
            (!function.starts_with("get-"))
                .then(|| format!("calls {} of {}", plain(function), plain(component)))
        }
        _ => None,
    }
}

/// A name without signs that have a meaning in a Mermaid diagram.
fn id(name: &str) -> String {
    name.replace(|c: char| !c.is_ascii_alphanumeric(), "_")
}

/// A text with the signs replaced that have a meaning in a Mermaid diagram.
fn plain(text: &str) -> String {
    text.replace(['#', ';', '<', '>', '\n'], " ")
}

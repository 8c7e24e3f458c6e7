//! Text for a terminal: the history of a payment, the wiring of a scheme, receipts.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io::IsTerminal as _;

use rialto_engine::TurnId;
use rialto_engine::history::{Ended, Kind, Record, Step};

use crate::ops::Story;

mod as_of;
mod backtest;
mod canaries;
mod cluster;
mod coverage;
mod deliveries;
mod drill;
mod plain;
mod plans;
mod receipts;
mod refusals;
mod releases;
mod suspensions;
mod what_if;
mod wiring;
mod wrap;

pub use as_of::{RuleInForce, StepAsOf, Stood, StoodVerdict, VerdictAsOf, verdict_as_of};
pub use backtest::{backtest, shadow};
pub use canaries::canary;
pub use cluster::cluster;
pub use coverage::coverage;
pub use deliveries::{deliveries, destinations, report};
pub use drill::{drill, quarantine, quarantine_end};
pub use plain::{plain, plain_lines};
pub use plans::{plan, plan_in_a_list, signatures_of_plan};
pub use receipts::{receipts, verdict};
pub use refusals::refusals;
pub use releases::{effective, release, release_in_a_list};
pub use suspensions::suspension;
pub use what_if::what_if;
pub use wiring::{calls, counter, scheme, wiring};
pub use wrap::{width, wrapped};

/// Whether standard output shows colours.
pub fn colours() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

struct Paint(bool);

impl Paint {
    fn with(&self, code: &str, text: &str) -> String {
        if self.0 {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
    fn bold(&self, text: &str) -> String {
        self.with("1", text)
    }
    fn dim(&self, text: &str) -> String {
        self.with("2", text)
    }
    fn red(&self, text: &str) -> String {
        self.with("31", text)
    }
    fn green(&self, text: &str) -> String {
        self.with("32", text)
    }
    fn cyan(&self, text: &str) -> String {
        self.with("36", text)
    }
}

/// Columns before a turn: its begin and its duration.
const BEFORE_TURN: usize = 19;

/// The turns of a subject as a tree: clients' requests at the left, their effects below them. Before each turn are
/// two columns of numbers, with their units in the heading.
pub fn story(story: &Story, colours: bool) -> String {
    let paint = Paint(colours);
    let mut text = String::new();
    let turns = &story.turns;
    let (Some(first), Some(last)) = (turns.first(), turns.last()) else {
        return text;
    };
    let first_at = turns.iter().map(|t| t.at.0).min().unwrap_or(first.at.0);
    let span = last.at.0.saturating_sub(first_at);
    let busy: u64 = turns.iter().map(|t| u64::from(t.took_us)).sum();
    let _ = writeln!(
        text,
        "{}  {}",
        paint.bold(&story.subject),
        paint.dim(&format!(
            "{} turns over {span} ms, {:.2} ms of them running, from {}",
            turns.len(),
            busy as f64 / 1000.0,
            instant(first_at)
        ))
    );
    let release = first.release;
    let _ = writeln!(
        text,
        "{}",
        paint.dim(&format!(
            "{:>8} {:>9} turn of release {release}, and what it did",
            "at, ms", "ran, µs"
        ))
    );
    let known: HashMap<TurnId, usize> =
        turns.iter().enumerate().map(|(n, t)| (t.turn, n)).collect();
    let mut children: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for (n, turn) in turns.iter().enumerate() {
        let parent = turn.cause.and_then(|cause| known.get(&cause).copied());
        let parent = parent.filter(|&p| p != n);
        children.entry(parent).or_default().push(n);
    }
    let mut roots = children.get(&None).cloned().unwrap_or_default();
    roots.sort_by_key(|&n| (turns[n].at, turns[n].turn));
    for root in roots {
        let base = (first_at, release);
        branch(&mut text, turns, &children, root, "", base, &paint);
    }
    text
}

fn branch(
    text: &mut String,
    turns: &[Record],
    children: &BTreeMap<Option<usize>, Vec<usize>>,
    at: usize,
    indent: &str,
    (first_at, release): (u64, u64),
    paint: &Paint,
) {
    let turn = &turns[at];
    let sign = match turn.kind {
        Kind::Request => "→",
        Kind::Event => "·",
        Kind::Reminder => "⏰",
        Kind::Report => "↩",
        Kind::Activation => "◆",
    };
    let ended = match &turn.ended {
        Ended::Executed => String::new(),
        Ended::Failed(why) => paint.red(&format!("  FAILED: {why}")),
        Ended::Parked(why) => paint.red(&format!("  PARKED: {why}")),
    };
    let after = format!("+{}", turn.at.0.saturating_sub(first_at));
    // It ran on another release than the one in the heading.
    let other = if turn.release == release {
        String::new()
    } else {
        paint.dim(&format!("  release {}", turn.release))
    };
    let _ = writeln!(
        text,
        "{} {indent}{sign} {} {}{other}{ended}",
        paint.dim(&format!("{after:>8} {:>9}", turn.took_us)),
        paint.bold(&turn.component),
        paint.cyan(&turn.function),
    );
    let inner = format!("{indent}  ");
    for step in &turn.steps {
        let _ = writeln!(text, "{:BEFORE_TURN$}{inner}{}", "", words(step, paint));
    }
    let mut below = children.get(&Some(at)).cloned().unwrap_or_default();
    below.sort_by_key(|&n| (turns[n].at, turns[n].turn));
    for child in below {
        branch(
            text,
            turns,
            children,
            child,
            &inner,
            (first_at, release),
            paint,
        );
    }
}

fn words(step: &Step, paint: &Paint) -> String {
    match step {
        Step::Called {
            component,
            function,
            took_us,
        } => match function.strip_prefix(&**component) {
            // `quoting/get-agreement` says whose it is.
            Some(rest) if rest.starts_with('/') => format!("calls {function} ({took_us} µs)"),
            _ => format!("calls {function} of {component} ({took_us} µs)"),
        },
        Step::Published { event, to } => {
            format!("publishes {} to {}", paint.cyan(event), to.join(", "))
        }
        Step::Judged {
            step,
            rule,
            verdict,
            took_us,
        } => {
            let verdict = if verdict == "allow" {
                paint.green(verdict)
            } else {
                paint.red(verdict)
            };
            format!("asks {rule} at {step}: {verdict} ({took_us} µs)")
        }
        Step::Sent { id, request } => format!("sends {} (request {id})", paint.bold(request)),
        Step::Reminded { id, due } => format!("sets the reminder {id} for {}", instant(due.0)),
        Step::Wrote { document } => paint.dim(&format!("writes {document}")),
        Step::Answered { status } => format!("answers {}", paint.bold(&status.to_string())),
        Step::Reported { id, outcome } => format!("request {id} ended: {outcome}"),
        Step::Sealed { steps: 0, .. } => {
            paint.dim("names a person whose key is destroyed or missing")
        }
        Step::Sealed { steps, .. } => paint.dim(&format!(
            "names a person whose key is destroyed or missing; unreadable steps: {steps}"
        )),
        Step::Message(message) => paint.dim(&format!(
            "keeps the message {} ({} bytes; --json shows it)",
            message.line, message.body_bytes
        )),
        Step::Replied { refused: None } => "answers the call".to_owned(),
        Step::Replied {
            refused: Some(case),
        } => format!("refuses the call: {}", paint.red(case)),
    }
}

/// An instant for people: UTC.
pub fn instant(milliseconds: u64) -> String {
    let instant = i64::try_from(milliseconds)
        .ok()
        .and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    instant.map_or_else(
        || milliseconds.to_string(),
        |instant| instant.strftime("%Y-%m-%d %H:%M:%S%.3fZ").to_string(),
    )
}

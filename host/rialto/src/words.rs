//! How things look on a terminal: the story of a payment, the wiring of a scheme, receipts.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io::IsTerminal as _;

use rialto_components::wiring::Target;
use rialto_components::{Release, Role};
use rialto_engine::TurnId;
use rialto_engine::history::{Ended, Kind, Record, Step};

use crate::ops::{FiledReceipt, Story};

/// Whether standard output takes colours.
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

/// The turns of a story as a tree: what came from outside at the left, what it caused below it.
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
        branch(&mut text, turns, &children, root, "", first_at, &paint);
    }
    text
}

fn branch(
    text: &mut String,
    turns: &[Record],
    children: &BTreeMap<Option<usize>, Vec<usize>>,
    at: usize,
    indent: &str,
    first_at: u64,
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
    let _ = writeln!(
        text,
        "{} {indent}{sign} {} {}  {}{ended}",
        paint.dim(&format!(
            "{:>8} ms",
            format!("+{}", turn.at.0.saturating_sub(first_at))
        )),
        paint.bold(&turn.component),
        paint.cyan(&turn.function),
        paint.dim(&format!("{} µs, release {}", turn.took_us, turn.release)),
    );
    let inner = format!("{indent}  ");
    for step in &turn.steps {
        let _ = writeln!(text, "{:>11} {inner}{}", "", words(step, paint));
    }
    let mut below = children.get(&Some(at)).cloned().unwrap_or_default();
    below.sort_by_key(|&n| (turns[n].at, turns[n].turn));
    for child in below {
        branch(text, turns, children, child, &inner, first_at, paint);
    }
}

fn words(step: &Step, paint: &Paint) -> String {
    match step {
        Step::Called {
            component,
            function,
            took_us,
        } => format!("calls {function} of {component} ({took_us} µs)"),
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

/// A release's wiring as a table: who imports what from whom.
pub fn wiring(release: &Release, colours: bool) -> String {
    let paint = Paint(colours);
    let mut text = String::new();
    let name = |at: usize| &*release.members[at].identity.name;
    for (at, member) in release.members.iter().enumerate() {
        let role = match member.role {
            Role::Context => "context",
            Role::Rule => "rule",
        };
        let digest = member.digest.hex();
        let _ = writeln!(
            text,
            "{} {}  {}",
            paint.dim(role),
            paint.bold(name(at)),
            paint.dim(&format!("sha256:{}…", &digest[..12]))
        );
        if let Some(listener) = &member.listener {
            let _ = writeln!(text, "    serves     HTTP on the listener {listener}");
        }
        let links = release.wiring.links.iter().filter(|l| l.importer == at);
        let mut surfaces = Vec::new();
        let mut rows = Vec::new();
        for link in links {
            let short = link.interface.short();
            match &link.target {
                Target::Surface => surfaces.push(link.interface.interface.clone()),
                Target::Wasi => surfaces.push(format!("{} (gives nothing)", link.interface)),
                Target::Provider(p) => rows.push(("calls", short, name(*p).to_owned())),
                Target::Subscribers(s) => {
                    let to: Vec<&str> = s.iter().map(|&s| name(s)).collect();
                    rows.push(("publishes", short, to.join(", ")));
                }
                Target::Step => {
                    let step = release.steps.get(link.interface.interface.as_str());
                    let rules = step.into_iter().flatten();
                    let rules: Vec<&str> = rules.map(|r| &*r.identity.name).collect();
                    let rules = if rules.is_empty() {
                        "no rule: everything is allowed".to_owned()
                    } else {
                        rules.join(", then ")
                    };
                    rows.push(("asks", link.interface.interface.clone(), rules));
                }
            }
        }
        if !surfaces.is_empty() {
            let _ = writeln!(text, "    uses       {}", surfaces.join(", "));
        }
        let width = rows
            .iter()
            .map(|(_, what, _)| what.len())
            .max()
            .unwrap_or(0);
        for (verb, what, whom) in rows {
            let _ = writeln!(text, "    {verb:<10} {what:<width$} → {whom}");
        }
        if let Some(rule) = &member.description {
            let _ = writeln!(
                text,
                "    is         {} {}: {}",
                rule.name, rule.version, rule.summary
            );
            let _ = writeln!(text, "    may return {}", rule.codes.join(", "));
        }
    }
    for (at, event) in &release.wiring.unheard {
        let _ = writeln!(
            text,
            "{}",
            paint.dim(&format!(
                "note: {} consumes {event}, which nothing here publishes",
                name(*at)
            ))
        );
    }
    text
}

/// Receipts, each in a few lines.
pub fn receipts(filed: &[FiledReceipt], colours: bool) -> String {
    let paint = Paint(colours);
    let mut text = String::new();
    for FiledReceipt {
        id,
        at,
        receipt,
        again,
    } in filed
    {
        let verdict = verdict_words(&receipt.verdict);
        let verdict = if verdict == "allow" {
            paint.green(&verdict)
        } else {
            paint.red(&verdict)
        };
        let _ = writeln!(
            text,
            "{} {} at {}: {verdict}",
            paint.dim(&format!("{id} {}", instant(*at))),
            paint.bold(&receipt.rule),
            receipt.step
        );
        let mut row = |name: &str, value: String| {
            let _ = writeln!(text, "    {name:<10} {value}");
        };
        row("about", receipt.subject.clone());
        row(
            "component",
            format!("{} (version {})", receipt.digest, receipt.rule_version),
        );
        row("settings", receipt.settings_digest.to_string());
        row(
            "input",
            format!("{} {}", receipt.input_digest, receipt.input.get()),
        );
        row(
            "cost",
            format!(
                "{} of {} fuel, {} µs",
                receipt.fuel, receipt.fuel_limit, receipt.took_us
            ),
        );
        row("release", receipt.release.to_string());
        if receipt.flagged {
            row("flagged", "the rule failed and the request went on".into());
        }
        if let Some(again) = again {
            let same = if again.same { "the same" } else { "DIFFERENT" };
            row(
                "again",
                format!("{same}: {}, {} fuel", again.verdict, again.fuel),
            );
        }
    }
    text
}

fn verdict_words(outcome: &rialto_components::rules::Outcome) -> String {
    use rialto_components::rules::Outcome;
    match outcome {
        Outcome::Allow => "allow".into(),
        Outcome::Refuse { violations } => {
            let all: Vec<String> = violations
                .iter()
                .map(|v| format!("{} {}", v.code, v.message))
                .collect();
            format!("refuse: {}", all.join("; "))
        }
        Outcome::Failed { reason, .. } => format!("{}: {reason}", outcome.short()),
    }
}

//! Releases as text for people: a line of the list with its activations, and one release with its contents.

use std::fmt::Write as _;

use rialto_manifest::scheme::Scheme;

use super::{instant, plain};
use crate::releases::{Activation, ShownRelease, Summary, calendar};

/// How many characters of a digest a list shows.
const DIGEST_SHOWN: usize = 19;

/// A release in the list, with a line for each of its activations. A blank mark means that it can be made current
/// again; `x` means that it never served.
pub fn release_in_a_list(release: &Summary) -> String {
    let mark = match release {
        Summary { current: true, .. } => "*",
        Summary { waits: true, .. } => "?",
        _ if release.comes_at().is_some() => ">",
        Summary {
            was_current: true, ..
        } => " ",
        _ => "x",
    };
    let digest: String = release.digest.chars().take(DIGEST_SHOWN).collect();
    let mut text = format!(
        "{mark} {:>4}  {}  {digest}  {}  {}\n",
        release.number,
        instant(release.created_at),
        by(release),
        plain(&release.note)
    );
    for activation in &release.activations {
        let _ = writeln!(text, "        {}", told(activation));
    }
    if let Some(scheduled) = scheduled(release) {
        let _ = writeln!(text, "        {scheduled}");
    }
    text
}

/// One release: its entry of the list, and its components.
pub fn release(release: &ShownRelease) -> String {
    let ShownRelease { summary, document } = release;
    let state = match summary {
        Summary { current: true, .. } => "is current",
        Summary { waits: true, .. } => "waits for the approval of a second person",
        _ if summary.comes_at().is_some() => "is scheduled",
        Summary {
            was_current: true, ..
        } => "was current",
        _ => "never was current",
    };
    let mut text = format!("release {} {state}\n", summary.number);
    let _ = writeln!(text, "digest     {}", summary.digest);
    let _ = writeln!(
        text,
        "made       {} {}",
        instant(summary.created_at),
        by(summary)
    );
    if !summary.note.is_empty() {
        let _ = writeln!(text, "note       {}", plain(&summary.note));
    }
    for activation in &summary.activations {
        let _ = writeln!(text, "activation {}", told(activation));
    }
    if let Some(scheduled) = scheduled(summary) {
        let _ = writeln!(text, "scheduled  {scheduled}");
    }
    for (kind, name, digest) in document.digests().iter() {
        let _ = writeln!(text, "{:<10} {name:<34} {digest}", kind.to_string());
    }
    text
}

/// The rules that are asked at an instant, by step, and when others begin and end after it.
pub fn effective(scheme: &Scheme, instant: u64) -> String {
    let mut text = format!("in force   {}\n", super::instant(instant));
    for (step, bindings) in &scheme.steps {
        let asked = bindings.iter().filter(|one| one.is_effective(instant));
        let asked: Vec<String> = asked.map(|one| one.rule.to_string()).collect();
        let asked = if asked.is_empty() {
            "no rule".to_owned()
        } else {
            asked.join(", ")
        };
        let _ = writeln!(text, "  {step}: {asked}");
    }
    for line in calendar::ahead(scheme, instant) {
        let _ = writeln!(text, "ahead      {line}");
    }
    text
}

/// `for 2026-01-01 00:00:00.000Z, by anna`, if it was scheduled.
fn scheduled(release: &Summary) -> Option<String> {
    let scheduled = release.scheduled.as_ref()?;
    let (from, person) = (instant(scheduled.from), plain(&scheduled.person));
    let withdrawn = scheduled.withdrawn_by.as_deref();
    let withdrawn =
        withdrawn.map_or_else(String::new, |by| format!(", withdrawn by {}", plain(by)));
    Some(format!("for {from}, by {person}{withdrawn}"))
}

/// Its maker and approver; `-` if not known.
fn by(release: &Summary) -> String {
    match (&*release.maker, &release.approver) {
        ("", _) => "-".to_owned(),
        (maker, None) => format!("by {}", plain(maker)),
        (maker, Some(approver)) => {
            format!("by {}, approved by {}", plain(maker), plain(approver))
        }
    }
}

/// `2026-01-01 00:00:00.000Z current in the place of 1, by anna (as anna-releases): back again`
fn told(activation: &Activation) -> String {
    let Activation {
        at,
        person,
        operator,
        note,
        before,
        done,
    } = activation;
    let done = if *done { "current" } else { "not made current" };
    let place = match before {
        0 => String::new(),
        before => format!(" in the place of {before}"),
    };
    let token = if operator == person || operator.is_empty() {
        String::new()
    } else {
        format!(" (as {operator})")
    };
    let note = if note.is_empty() {
        String::new()
    } else {
        format!(": {note}")
    };
    let who_and_why = plain(&format!("{person}{token}{note}"));
    format!("{} {done}{place}, by {who_and_why}", instant(*at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn activation(before: u64, note: &str, done: bool) -> Activation {
        Activation {
            at: 1_700_000_000_000,
            person: "anna".into(),
            operator: "anna-releases".into(),
            note: note.into(),
            before,
            done,
        }
    }

    #[test]
    fn an_activation_shows_time_person_reason_and_outcome() {
        let at = "2023-11-14 22:13:20.000Z";
        assert_eq!(
            told(&activation(2, "back again", true)),
            format!("{at} current in the place of 2, by anna (as anna-releases): back again")
        );
        let started = Activation {
            person: "start by user 0".into(),
            operator: String::new(),
            ..activation(0, "", false)
        };
        assert_eq!(
            told(&started),
            format!("{at} not made current, by start by user 0")
        );
    }

    #[test]
    fn a_list_has_the_activations_below_their_release() {
        let summary = Summary {
            number: 3,
            digest: format!("sha256:{}", "ab".repeat(32)),
            created_at: 1_700_000_000_000,
            note: "a third one".into(),
            current: true,
            was_current: true,
            maker: "anna".into(),
            approver: Some("ben".into()),
            waits: false,
            scheduled: None,
            activations: vec![activation(0, "", true), activation(4, "again", true)],
        };
        let text = release_in_a_list(&summary);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[0].starts_with("*    3  2023-11-14 22:13:20.000Z  sha256:abababababab  by anna, approved by ben  a third one"), "{text}");
        assert!(
            lines[2].ends_with("in the place of 4, by anna (as anna-releases): again"),
            "{text}"
        );
    }
}

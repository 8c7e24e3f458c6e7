//! Ways to misbehave.

use rialto_sdk::bindings::rialto::rules::types::{Verdict, Violation};
use serde_json::Value;
use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};

/// The one code that the rule declares: FSPIOP's "Generic validation error".
pub const DECLARED: &str = "3100";
/// A code that it does not declare: FSPIOP's "Payer limit error".
const UNDECLARED: &str = "4200";
/// Bytes of a message that a host must refuse.
const HUGE: usize = 12 << 20;
/// One character more than a violation's message may have.
const TOO_LONG: usize = 129;
/// One more than the violations that a refusal may have.
const TOO_MANY: usize = 17;
/// Bytes per allocation, until allocation fails.
const BITE: usize = 1 << 20;

/// The behaviour of the rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    /// Allow, as a good rule would.
    Allow,
    /// Refuse with the declared code, as a good rule would.
    Refuse,
    /// Panic.
    Trap,
    /// Never answer.
    Loop,
    /// Allocate memory until allocation fails.
    EatMemory,
    /// Call itself without end.
    Recurse,
    /// Refuse with a message of several mebibytes.
    Huge,
    /// Refuse with a code that the description does not list.
    UndeclaredCode,
    /// Refuse without saying why.
    EmptyRefusal,
    /// Refuse with a message that is one character too long.
    LongMessage,
    /// Refuse with an empty message.
    NoMessage,
    /// Refuse for as many reasons as there may be.
    ManyViolations,
    /// Refuse for one reason more.
    TooManyViolations,
    /// Refuse with a message that counts this instance's calls.
    Count,
    /// Write lines to the log without end.
    Chatter,
}

const ALL: [(&str, Behaviour); 15] = [
    ("allow", Behaviour::Allow),
    ("refuse", Behaviour::Refuse),
    ("trap", Behaviour::Trap),
    ("loop", Behaviour::Loop),
    ("eat-memory", Behaviour::EatMemory),
    ("recurse", Behaviour::Recurse),
    ("huge", Behaviour::Huge),
    ("undeclared-code", Behaviour::UndeclaredCode),
    ("empty-refusal", Behaviour::EmptyRefusal),
    ("long-message", Behaviour::LongMessage),
    ("no-message", Behaviour::NoMessage),
    ("many-violations", Behaviour::ManyViolations),
    ("too-many-violations", Behaviour::TooManyViolations),
    ("count", Behaviour::Count),
    ("chatter", Behaviour::Chatter),
];

/// The names of all behaviours, as settings give them.
pub const NAMES: [&str; ALL.len()] = {
    let mut names = [""; ALL.len()];
    let mut at = 0;
    while at < ALL.len() {
        names[at] = ALL[at].0;
        at += 1;
    }
    names
};

impl Behaviour {
    /// The behaviour of the settings; none if they do not fit the schema.
    #[must_use]
    pub fn read(settings: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(settings).ok()?;
        let members = value.as_object().filter(|members| members.len() == 1)?;
        let wanted = members.get("do")?.as_str()?;
        let found = ALL.iter().find(|(name, _)| *name == wanted);
        found.map(|(_, behaviour)| *behaviour)
    }

    /// Behaves so.
    ///
    /// # Panics
    /// If that is the behaviour.
    #[must_use]
    pub fn verdict(self) -> Verdict {
        match self {
            Self::Allow => Verdict::Allow,
            Self::Refuse => refuse(DECLARED, "the rule refuses, as it was told".to_owned()),
            Self::Trap => panic!("the rule traps, as it was told"),
            Self::Loop => endless(),
            Self::EatMemory => eat(),
            Self::Recurse => refuse(DECLARED, recurse(0).to_string()),
            Self::Huge => refuse(DECLARED, "x".repeat(HUGE)),
            Self::UndeclaredCode => refuse(UNDECLARED, "not a code of this rule".to_owned()),
            Self::EmptyRefusal => Verdict::Refuse(Vec::new()),
            Self::LongMessage => refuse(DECLARED, "é".repeat(TOO_LONG)),
            Self::NoMessage => refuse(DECLARED, String::new()),
            Self::ManyViolations => Verdict::Refuse(reasons(TOO_MANY - 1)),
            Self::TooManyViolations => Verdict::Refuse(reasons(TOO_MANY)),
            Self::Count => refuse(DECLARED, count().to_string()),
            Self::Chatter => chatter(),
        }
    }
}

fn chatter() -> ! {
    loop {
        rialto_sdk::info!("the rule chatters, as it was told");
    }
}

fn refuse(code: &str, message: String) -> Verdict {
    Verdict::Refuse(vec![violation(code, message)])
}

fn reasons(count: usize) -> Vec<Violation> {
    let numbers = 1..=count;
    let reasons = numbers.map(|n| violation(DECLARED, format!("reason {n}")));
    reasons.collect()
}

fn violation(code: &str, message: String) -> Violation {
    Violation {
        code: code.to_owned(),
        message,
    }
}

fn endless() -> ! {
    let mut turns: u64 = 0;
    loop {
        turns = black_box(turns.wrapping_add(1));
    }
}

fn eat() -> ! {
    loop {
        std::mem::forget(black_box(Vec::<u8>::with_capacity(BITE)));
    }
}

/// Each level adds to the sum after its inner one, so that the compiler cannot make it a loop. Levels use
/// almost no linear memory, so that the host's stack overflows.
#[inline(never)]
#[allow(
    unconditional_recursion,
    reason = "it is what the host must end with a stack overflow"
)]
fn recurse(depth: u64) -> u64 {
    recurse(black_box(depth).wrapping_add(1)).wrapping_add(depth)
}

/// The number of calls of this instance: 1 unless its memory outlives a verdict.
fn count() -> u32 {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    ASKED.fetch_add(1, Ordering::Relaxed) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_name_one_behaviour_and_nothing_else() {
        for (name, behaviour) in ALL {
            let settings = format!(r#"{{"do": "{name}"}}"#);
            assert_eq!(Behaviour::read(&settings), Some(behaviour));
        }
        for wrong in [
            "",
            "{}",
            r#"{"do": 1}"#,
            r#"{"do": "x"}"#,
            r#"{"do": "allow", "x": 1}"#,
        ] {
            assert_eq!(Behaviour::read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_schema_lists_the_same_behaviours() {
        let schema: Value = serde_json::from_str(include_str!("../settings.schema.json")).unwrap();
        let listed = schema["properties"]["do"]["enum"].as_array().unwrap();
        let listed: Vec<_> = listed.iter().filter_map(Value::as_str).collect();
        assert_eq!(listed, NAMES);
    }
}

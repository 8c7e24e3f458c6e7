//! The budget of one turn: its bytes in all, its counts of each kind, and the form of names and bodies.

use crate::history::Step;
use crate::limits;
use crate::turn::Interrupt;

/// Bytes that a staged item takes beside its texts, roughly.
const OVERHEAD: usize = 128;

/// What a turn has used.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    bytes: usize,
    lines: u32,
    /// Log lines that were not kept.
    pub lines_dropped: u32,
}

impl Budget {
    /// Charge bytes.
    pub fn charge(&mut self, bytes: usize) -> Result<(), Interrupt> {
        self.bytes = self.bytes.saturating_add(bytes);
        (self.bytes <= limits::TURN_BYTES_MAX)
            .then_some(())
            .ok_or_else(|| {
                Interrupt::Misuse(format!(
                    "a turn may read, write and stage {} bytes in all and this one wants more",
                    limits::TURN_BYTES_MAX
                ))
            })
    }

    /// Charge a staged item with these texts.
    pub fn charge_staged<'t>(
        &mut self,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Result<(), Interrupt> {
        let bytes = texts.into_iter().map(str::len).sum::<usize>();
        self.charge(bytes.saturating_add(OVERHEAD))
    }

    /// Charge a step of the history.
    pub fn charge_step(&mut self, step: &Step) -> Result<(), Interrupt> {
        match step {
            Step::Called {
                component: a,
                function: b,
                ..
            } => self.charge_staged([&**a, &**b]),
            Step::Published { event, to } => {
                self.charge_staged(to.iter().map(|name| &**name).chain([&**event]))
            }
            Step::Judged {
                step,
                rule,
                verdict,
                ..
            } => self.charge_staged([&**step, &**rule, &**verdict]),
            Step::Sent { request: text, .. } | Step::Reported { outcome: text, .. } => {
                self.charge_staged([text.as_str()])
            }
            Step::Reminded { id, .. } => self.charge_staged([id.as_str()]),
            Step::Wrote { document } => self.charge_staged([&**document]),
            // Its content was charged before it was sealed.
            Step::Answered { .. } | Step::Sealed { .. } => self.charge_staged([]),
            // Messages have bounds of their own, and are no steps before the turn has ended.
            Step::Message(_) => Ok(()),
            Step::Replied { refused } => self.charge_staged(refused.as_deref()),
        }
    }

    /// Whether one more log line is kept.
    pub fn line(&mut self) -> bool {
        let kept = self.lines < limits::LINES_PER_TURN_MAX;
        assert!(
            !kept || self.lines_dropped == 0,
            "a turn keeps its line {} after {} were dropped",
            self.lines + 1,
            self.lines_dropped
        );
        if kept {
            self.lines += 1;
        } else {
            self.lines_dropped = self.lines_dropped.saturating_add(1);
        }
        kept
    }
}

pub(crate) fn check_collection(name: &str) -> Result<(), Interrupt> {
    let fits = (1..=limits::COLLECTION_BYTES_MAX).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    fits.then_some(()).ok_or_else(|| {
        Interrupt::Misuse(format!(
            "`{name}` is no collection: 1 to {} lower-case letters, digits and hyphens",
            limits::COLLECTION_BYTES_MAX
        ))
    })
}

pub(crate) fn check_id(id: &str) -> Result<(), Interrupt> {
    let fits = (1..=limits::ID_BYTES_MAX).contains(&id.len()) && !id.chars().any(char::is_control);
    fits.then_some(()).ok_or_else(|| {
        Interrupt::Misuse(format!(
            "{:?} is no id: 1 to {} bytes without control characters",
            id.chars().take(64).collect::<String>(),
            limits::ID_BYTES_MAX
        ))
    })
}

pub(crate) fn check_body(body: &str) -> Result<(), Interrupt> {
    if body.len() > limits::BODY_BYTES_MAX {
        return Err(Interrupt::Misuse(format!(
            "a document's body may have {} bytes, not {}",
            limits::BODY_BYTES_MAX,
            body.len()
        )));
    }
    serde_json::from_str::<serde::de::IgnoredAny>(body)
        .map(|_| ())
        .map_err(|e| Interrupt::Misuse(format!("a document's body must be JSON: {e}")))
}

/// Check that `count` can grow by one.
pub(crate) fn check_count(what: &str, count: usize, max: usize) -> Result<(), Interrupt> {
    assert!(
        count <= max,
        "a turn has staged {count} {what}, and {max} are the most"
    );
    (count < max).then_some(()).ok_or_else(|| {
        Interrupt::Misuse(format!(
            "a turn may stage {max} {what} and this one wants more"
        ))
    })
}

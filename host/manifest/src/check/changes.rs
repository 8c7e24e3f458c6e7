//! The checks of the dated changes of a rule's settings.

use serde_json::Value as Json;

use crate::diagnostics::{Code, Diagnostics};
use crate::document::Document;
use crate::scheme::{Binding, CHANGES_MAX, SchemeFile, SettingChange};
use crate::values::Name;

/// Check the changes of one binding: its step, and its index there.
pub(super) fn check(
    document: &Document<SchemeFile>,
    problems: &mut Diagnostics,
    (step, n): (&Name, usize),
    binding: &Binding,
) {
    let path = format!("steps/{step}/{n}/changes");
    let rule = &binding.rule;
    if binding.changes.len() > CHANGES_MAX {
        let count = binding.changes.len();
        document.problem(
            problems,
            &path,
            Code::BadValue,
            format!(
                "the rule `{rule}` has {count} changes of its settings, more than {CHANGES_MAX}"
            ),
            "Leave out those that are over, with their values in `settings`.",
        );
        return;
    }
    for (m, change) in binding.changes.iter().enumerate() {
        let path = format!("{path}/{m}");
        if document.is_doubtful(&path) {
            continue;
        }
        let Some((key, message, help)) = problem(binding, m, change) else {
            continue;
        };
        let path = if key.is_empty() {
            path
        } else {
            format!("{path}/{key}")
        };
        document.problem(problems, &path, Code::Contradiction, message, help);
    }
}

/// What is wrong with one change: the key, the message, and what to do.
fn problem(
    binding: &Binding,
    m: usize,
    change: &SettingChange,
) -> Option<(&'static str, String, &'static str)> {
    let SettingChange {
        setting,
        effective_from,
        effective_until,
        ..
    } = change;
    if effective_from.is_none() && effective_until.is_none() {
        return Some((
            "",
            format!("the change of `{setting}` has no date"),
            "Name `effective-from` or `effective-until`, or write the value in `settings`.",
        ));
    }
    if let (Some(from), Some(until)) = (effective_from, effective_until)
        && until <= from
    {
        return Some((
            "effective-until",
            format!("the change of `{setting}` would end at {until}, before it begins at {from}"),
            "Name an end after the beginning.",
        ));
    }
    if let Some(from) = effective_from
        && binding.effective_until.is_some_and(|end| end <= *from)
    {
        return Some((
            "effective-from",
            format!(
                "the change of `{setting}` would begin when the rule `{}` has ended",
                binding.rule
            ),
            "Name an instant before the rule's `effective-until`.",
        ));
    }
    if let Some(until) = effective_until
        && binding.effective_from.is_some_and(|begin| *until <= begin)
    {
        return Some((
            "effective-until",
            format!(
                "the change of `{setting}` would end before the rule `{}` begins",
                binding.rule
            ),
            "Name an instant after the rule's `effective-from`.",
        ));
    }
    let earlier = binding.changes[..m].iter();
    let mut earlier = earlier.filter(|one| one.is_about(change) && one.overlaps(change));
    if let Some(other) = earlier.next() {
        let message = if other.setting == *setting {
            format!("`{setting}` would have two values at a time")
        } else {
            format!(
                "the changes of `{}` and of `{setting}`, of which one is in the other, are in force at a time",
                other.setting
            )
        };
        return Some((
            "setting",
            message,
            "Let the first end (`effective-until`) when the second begins (`effective-from`).",
        ));
    }
    let mut settings = Json::Object(binding.settings.clone());
    (!change.make(&mut settings)).then(|| {
        (
            "setting",
            format!("`{setting}` leads nowhere in the settings of the rule `{}`", binding.rule),
            "It names a value that is there, or a new key of a table that is there. An array gets no new element: change the array.",
        )
    })
}

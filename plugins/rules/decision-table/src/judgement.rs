//! The verdict of a table on one input.

use crate::input::Record;
use crate::settings::{Code, MESSAGE_CHARS_MAX, OnErrorThen, Row, Settings, Then, row_in_words};
use crate::{check, evaluate};
use rialto_sdk::rule::{Verdict, refuse};

/// What a table says of an input.
#[derive(Debug)]
pub enum Judged {
    /// A verdict.
    Verdict(Verdict),
    /// The rule fails, for this reason.
    Failure(String),
}

/// Judges an input by the first row that matches.
///
/// A row is parsed only when it is asked, because parsing costs most of a verdict.
#[must_use]
pub fn judge(settings: &Settings, input: Record<'_>) -> Judged {
    if let Some(step) = input.step()
        && step != settings.step
    {
        let message = format!(
            "the decision table is for {}, not for {step}",
            settings.step
        );
        return undecided(settings, &message);
    }
    for (index, row) in settings.rows.iter().enumerate() {
        match matches(row, settings, input) {
            Ok(true) => return verdict(row.then, row.code, row.message.as_deref()),
            Ok(false) => (),
            Err(reason) => {
                let row = row_in_words(index, row);
                return undecided(settings, &format!("{row} cannot be decided: {reason}"));
            }
        }
    }
    let otherwise = &settings.otherwise;
    verdict(otherwise.then, otherwise.code, otherwise.message.as_deref())
}

/// Whether a row's condition holds, or why that cannot be decided.
fn matches(row: &Row, settings: &Settings, input: Record<'_>) -> Result<bool, String> {
    let condition = check::condition(&row.when, settings.step.input());
    // Settings were validated before, so a mistake is a fault of the host.
    let condition = condition.map_err(|mistake| mistake.message)?;
    evaluate::holds(&condition, input).map_err(|failure| failure.to_string())
}

/// The verdict of a row. Settings were validated before, so a refusal has a code and a message.
fn verdict(then: Then, code: Option<Code>, message: Option<&str>) -> Judged {
    Judged::Verdict(match then {
        Then::Allow => Verdict::Allow,
        Then::Refuse => {
            let message = message.unwrap_or("the decision table does not allow it");
            refuse(code.unwrap_or_default().digits(), message)
        }
    })
}

/// What happens if no verdict can be found. It never allows.
fn undecided(settings: &Settings, reason: &str) -> Judged {
    match settings.on_error.then {
        OnErrorThen::Refuse => {
            let message: String = reason.chars().take(MESSAGE_CHARS_MAX).collect();
            Judged::Verdict(refuse(settings.on_error.code.digits(), message))
        }
        OnErrorThen::Fail => Judged::Failure(reason.to_owned()),
    }
}

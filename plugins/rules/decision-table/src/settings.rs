//! The operator's settings and their checks.

use crate::check;
use rialto_sdk::rule::Problems;
use schemars::JsonSchema;
use serde::Deserialize;
use std::fmt;

/// The most rows of a table.
pub const ROWS_MAX: usize = 256;
/// The most characters of a row's name.
const NAME_CHARS_MAX: usize = 64;
/// The most characters of a message, as in FSPIOP.
pub const MESSAGE_CHARS_MAX: usize = 128;

/// A decision table.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Settings {
    /// The step whose input the conditions read. It must be the step to which the table is bound.
    pub step: Step,
    /// Which of several matching rows decides.
    #[serde(default)]
    pub hit_policy: HitPolicy,
    /// The rows, from the first one to the last one.
    #[schemars(length(max = 256))]
    pub rows: Vec<Row>,
    /// The verdict if no row matches.
    pub otherwise: Outcome,
    /// What happens if a condition cannot be decided.
    #[serde(default)]
    pub on_error: OnError,
}

/// A step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum Step {
    /// A request for a quote.
    #[serde(rename = "quote-request-check")]
    QuoteRequest,
    /// The payee FSP's terms of a quote.
    #[serde(rename = "quote-response-check")]
    QuoteResponse,
    /// A transfer, before money is reserved.
    #[serde(rename = "transfer-prepare-check")]
    TransferPrepare,
    /// A fulfilment, before money moves to the payee.
    #[serde(rename = "transfer-fulfil-check")]
    TransferFulfil,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::QuoteRequest => "quote-request-check",
            Self::QuoteResponse => "quote-response-check",
            Self::TransferPrepare => "transfer-prepare-check",
            Self::TransferFulfil => "transfer-fulfil-check",
        })
    }
}

/// Which of several matching rows decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HitPolicy {
    /// The first one.
    #[default]
    First,
}

/// A row of the table.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Row {
    /// A name for operators.
    #[serde(default)]
    #[schemars(length(min = 1, max = 64))]
    pub name: Option<String>,
    /// The condition: an expression in CEL that is true or false.
    #[schemars(length(min = 1, max = 1024))]
    pub when: String,
    /// The verdict if this row decides.
    pub then: Then,
    /// The error code of a refusal.
    #[serde(default)]
    pub code: Option<Code>,
    /// The sentence of a refusal for the FSP.
    #[serde(default)]
    #[schemars(length(min = 1, max = 128))]
    pub message: Option<String>,
}

/// The verdict if no row matches.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Outcome {
    /// The verdict.
    pub then: Then,
    /// The error code of a refusal.
    #[serde(default)]
    pub code: Option<Code>,
    /// The sentence of a refusal for the FSP.
    #[serde(default)]
    #[schemars(length(min = 1, max = 128))]
    pub message: Option<String>,
}

/// A verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Then {
    /// Allow.
    Allow,
    /// Refuse with `code` and `message`.
    Refuse,
}

/// What happens if a condition cannot be decided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OnError {
    /// Refuse, or let the rule fail.
    #[serde(default)]
    pub then: OnErrorThen,
    /// The error code of a refusal.
    #[serde(default)]
    pub code: Code,
}

/// What happens if a condition cannot be decided. No later row is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OnErrorThen {
    /// Refuse, with a message that names the row.
    #[default]
    Refuse,
    /// The rule fails. The step's `on-failure` decides.
    Fail,
}

/// The error codes of FSPIOP that a table may give.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum Code {
    /// Generic validation error: names neither side.
    #[default]
    #[serde(rename = "3100")]
    Invalid,
    /// Generic payer rejection.
    #[serde(rename = "4100")]
    PayerRejected,
    /// Payer limit error.
    #[serde(rename = "4200")]
    PayerLimit,
    /// Payer permission error.
    #[serde(rename = "4300")]
    PayerPermission,
    /// Generic payer blocked error.
    #[serde(rename = "4400")]
    PayerBlocked,
    /// Generic payee rejection.
    #[serde(rename = "5100")]
    PayeeRejected,
    /// Payee limit error.
    #[serde(rename = "5200")]
    PayeeLimit,
    /// Payee permission error.
    #[serde(rename = "5300")]
    PayeePermission,
    /// Generic payee blocked error.
    #[serde(rename = "5400")]
    PayeeBlocked,
}

impl Code {
    /// The four digits.
    #[must_use]
    pub const fn digits(self) -> &'static str {
        match self {
            Self::Invalid => "3100",
            Self::PayerRejected => "4100",
            Self::PayerLimit => "4200",
            Self::PayerPermission => "4300",
            Self::PayerBlocked => "4400",
            Self::PayeeRejected => "5100",
            Self::PayeeLimit => "5200",
            Self::PayeePermission => "5300",
            Self::PayeeBlocked => "5400",
        }
    }
}

/// A row in messages: its number from 1 on, and its name.
#[must_use]
pub fn row_in_words(index: usize, row: &Row) -> String {
    let number = index + 1;
    match &row.name {
        Some(name) => format!("row {number} ({name})"),
        None => format!("row {number}"),
    }
}

/// Notes every problem that the types of the settings do not find.
pub fn validate(settings: &Settings, problems: &mut Problems) {
    let count = settings.rows.len();
    if count > ROWS_MAX {
        let message = format!("The table has {count} rows, more than {ROWS_MAX}: remove some.");
        problems.note("/rows", message);
        return;
    }
    for (index, row) in settings.rows.iter().enumerate() {
        let place = format!("/rows/{index}");
        let words = row_in_words(index, row);
        // Twice: a verdict evaluates conditions as well. So a table that passes here has fuel to spare for its verdicts.
        let check = || check::condition(&row.when, settings.step.input());
        if let Err(mistake) = check().and_then(|_| check()) {
            let message = format!(
                "In {words}, at character {}: {}",
                mistake.character, mistake.message
            );
            problems.note(&format!("{place}/when"), message);
        }
        let name = row.name.as_ref().map(|name| name.chars().count());
        if name.is_some_and(|length| !(1..=NAME_CHARS_MAX).contains(&length)) {
            let message = format!("The name must have 1 to {NAME_CHARS_MAX} characters.");
            problems.note(&format!("{place}/name"), message);
        }
        validate_outcome(&place, row.then, row.code, row.message.as_deref(), problems);
    }
    let Outcome {
        then,
        code,
        message,
    } = &settings.otherwise;
    validate_outcome("/otherwise", *then, *code, message.as_deref(), problems);
}

/// A refusal needs code and message. An allowance has neither.
fn validate_outcome(
    place: &str,
    then: Then,
    code: Option<Code>,
    message: Option<&str>,
    problems: &mut Problems,
) {
    match then {
        Then::Allow if code.is_some() || message.is_some() => {
            let message = "`allow` has no `code` and no `message`: remove them, or use `refuse`.";
            problems.note(place, message);
        }
        Then::Allow => (),
        Then::Refuse => {
            if code.is_none() {
                problems.note(place, "`refuse` needs a `code`, as in \"3100\".");
            }
            match message.map(|message| message.chars().count()) {
                None => problems.note(place, "`refuse` needs a `message`: a sentence for the FSP."),
                Some(1..=MESSAGE_CHARS_MAX) => (),
                Some(length) => {
                    let message = format!(
                        "The message has {length} characters: it must have 1 to {MESSAGE_CHARS_MAX}."
                    );
                    problems.note(&format!("{place}/message"), message);
                }
            }
        }
    }
}

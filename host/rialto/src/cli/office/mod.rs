//! `rialto participant`, `funds`, `settlement` and `approve`: commands over the HTTP API that the scheme's components
//! serve on the operators' listener.
//!
//! A command that asks for a change prints the request's id, and nothing else, to standard output. Who must approve it
//! goes to standard error. The components decide what is allowed, and their refusals are printed unchanged. This
//! module only formats.

mod approve;
mod certificates;
mod funds;
mod participant;
mod settlement;

use std::fmt::{self, Write as _};
use std::str::FromStr;

use anyhow::Context as _;
use serde_json::{Value, json};

pub(super) use approve::Approve;
pub(super) use funds::Funds;
pub(super) use participant::Participant;
pub(super) use settlement::Settlement;

use super::At;
use super::inspect::path as encoded;
use crate::client::Client;
use crate::out::{self, Unwritten};
use crate::words;

/// Items per page: the most that the components give.
const PAGE: usize = 1000;
/// The most pages of a list: nobody reads a million lines.
const PAGES_MAX: usize = 1000;
/// Characters of an id or a currency in a path.
const SEGMENT_MAX: usize = 128;

/// An id or a currency: one segment of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segment(String);

impl FromStr for Segment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let ends_well = text.chars().any(fits);
        let is_one = text.chars().all(|c| fits(c) || c == '.');
        if ends_well && is_one && text.len() <= SEGMENT_MAX {
            return Ok(Self(text.to_owned()));
        }
        Err(format!(
            "1 to {SEGMENT_MAX} letters, digits, `.`, `-` and `_`"
        ))
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Parses an amount, or `none`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bound(Option<String>);

impl FromStr for Bound {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self((text != "none").then(|| text.to_owned())))
    }
}

/// The reason for a change, and how the answer is printed.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Asking {
    /// The reason, for the operator who decides.
    #[arg(long)]
    reason: String,
    /// Print the host's answer as one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: At,
}

/// How an answer is printed.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Looking {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: At,
}

impl Asking {
    /// Asks for a change that another operator approves.
    fn ask(&self, path: &str, mut body: Value) -> anyhow::Result<u8> {
        body["reason"] = json!(self.reason);
        let asked: Value = self.at.client()?.post(path, &body)?;
        if self.json {
            out::json(&asked)?;
            return Ok(0);
        }
        let id = text(&asked, "id");
        out::line(&id)?;
        let state = text(&asked, "state");
        out::note(match state.as_str() {
            "PENDING" => format!(
                "the request waits for an operator with the role `checker`: rialto approve {id} --as NAME"
            ),
            _ => format!("its state is {state}"),
        });
        Ok(0)
    }
}

/// Money as the API has it.
fn amount(currency: &Segment, amount: &str) -> Value {
    json!({ "currency": currency.0, "amount": amount })
}

/// A net debit cap as the API has it; null for none.
fn cap(currency: &Segment, bound: Option<&str>) -> Value {
    bound.map_or(
        Value::Null,
        |most| json!({ "type": "NET_DEBIT_CAP", "value": amount(currency, most) }),
    )
}

/// All items of a list, page by page.
fn items(
    client: &Client,
    path: &str,
    filters: &[(&str, Option<&str>)],
) -> anyhow::Result<Vec<Value>> {
    let mut query = format!("limit={PAGE}");
    for (name, value) in filters {
        if let Some(value) = value {
            let _ = write!(query, "&{name}={}", encoded(value));
        }
    }
    let mut items = Vec::new();
    let mut cursor = String::new();
    for _ in 0..PAGES_MAX {
        let mut page: Value = client.get(&format!("{path}?{query}{cursor}"))?;
        let of_page = page["items"].as_array_mut().map(std::mem::take);
        items.extend(of_page.context("the host's answer has no `items`")?);
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={}", encoded(next)),
            None => return Ok(items),
        }
    }
    out::note(format_args!(
        "there are more than {} items: give a filter",
        items.len()
    ));
    Ok(items)
}

/// A member as text that is safe for a terminal, since others wrote it. Empty if there is none.
fn text(of: &Value, member: &str) -> String {
    let text = match &of[member] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    words::plain(&text)
}

/// Money for a terminal; `-` if there is none.
fn shown(amount: &Value) -> String {
    match (amount["amount"].as_str(), amount["currency"].as_str()) {
        (Some(units), Some(currency)) => format!("{units} {currency}"),
        _ => "-".to_owned(),
    }
}

/// Prints the lines of a list, a sentence if it is empty, or one object per line.
fn print(
    items: &[Value],
    json: bool,
    none: &str,
    line: impl Fn(&Value) -> String,
) -> Result<u8, Unwritten> {
    if json {
        items.iter().try_for_each(out::json)?;
    } else if items.is_empty() {
        out::note(none);
    } else {
        items.iter().try_for_each(|item| out::line(line(item)))?;
    }
    Ok(0)
}

/// Rows of names and values.
fn rows<'a>(rows: impl IntoIterator<Item = (&'a str, String)>) -> Result<(), Unwritten> {
    let mut rows = rows.into_iter();
    rows.try_for_each(|(name, value)| out::line(format_args!("{name:<14} {value}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_of_a_path_cannot_leave_its_place() {
        for good in ["payerfsp", "USD", "a.b-c_d", "DEFERRED_NET-USD-1"] {
            assert_eq!(good.parse(), Ok(Segment(good.to_owned())));
        }
        let long = "a".repeat(SEGMENT_MAX + 1);
        for bad in [
            "", ".", "..", "a/b", "a?b", "a b", "a%2Fb", "ä", "a\nb", &long,
        ] {
            assert!(bad.parse::<Segment>().is_err(), "{bad}");
        }
    }

    #[test]
    fn what_others_wrote_does_not_move_the_cursor() {
        let of = json!({ "reason": "a\u{1b}[2Jb\nc", "n": 7 });
        assert_eq!(text(&of, "reason"), "a [2Jb c");
        assert_eq!(text(&of, "n"), "7");
        assert_eq!(text(&of, "other"), "");
    }

    #[test]
    fn no_bound_is_null() {
        let usd = Segment("USD".to_owned());
        let bound = |text: &str| text.parse::<Bound>().unwrap_or(Bound(None)).0;
        assert_eq!(cap(&usd, bound("none").as_deref()), Value::Null);
        let five =
            json!({ "type": "NET_DEBIT_CAP", "value": { "currency": "USD", "amount": "5" } });
        assert_eq!(cap(&usd, bound("5").as_deref()), five);
    }
}

//! The last requests that were refused before a turn began, for engineers who connect a client. Such requests
//! leave no turn, so the history does not have them.
//!
//! They are only in memory, with bounds for all clients and for each one. Texts are cut. Requests that were
//! refused for load are counted, not kept.

use std::collections::{HashMap, VecDeque};
use std::time::{SystemTime, UNIX_EPOCH};

use http::request::Parts;
use parking_lot::Mutex;
use rialto_components::http::{Violation, ViolationKind};
use rialto_engine::Name;
use serde::{Deserialize, Serialize};

use crate::peers::Client;
use crate::spans::trace_of;

/// Refusals that are kept, of all clients.
const ALL_MAX: usize = 1_000;
/// Those of one client.
const EACH_MAX: usize = 100;
/// Bytes of a path, and of what is said about a request.
const TEXT_BYTES_MAX: usize = 1_024;

/// A request that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refused {
    /// When; milliseconds since 1970.
    pub at: u64,
    /// Who sent it: `address 192.0.2.1`.
    pub client: String,
    /// Its method.
    pub method: String,
    /// Its path.
    pub path: String,
    /// The status of the answer.
    pub status: u16,
    /// What kind of mistake it has: `malformed`, `missing`, …
    pub kind: String,
    /// Where: `header Date`, `body /amount/currency`.
    pub location: String,
    /// What is wrong, in words.
    pub detail: String,
    /// The trace that its sender gave, if it gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

impl Refused {
    pub(crate) fn of(head: &Parts, violation: &Violation, status: u16) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let at = since.map_or(0, |since| since.as_millis());
        let client = head.extensions.get::<Client>();
        let client = client.map(|client| client.0.clone()).unwrap_or_default();
        let trace = trace_of(&head.headers).id;
        Self {
            at: u64::try_from(at).unwrap_or(u64::MAX),
            client: client.to_string(),
            method: cut(head.method.as_str()),
            path: cut(head.uri.path()),
            status,
            kind: kind_of(violation.kind).to_owned(),
            location: cut(&violation.location),
            detail: cut(&violation.detail),
            trace: (trace != 0).then(|| format!("{trace:032x}")),
        }
    }
}

/// The last refusals.
#[derive(Debug, Default)]
pub struct Refusals(Mutex<RefusalLog>);

#[derive(Debug, Default)]
struct RefusalLog {
    /// The oldest first.
    all: VecDeque<Refused>,
    of_each: HashMap<Name, usize>,
}

impl RefusalLog {
    fn remove(&mut self, place: usize) {
        let Some(gone) = self.all.remove(place) else {
            return;
        };
        let left = self.of_each.get_mut(gone.client.as_str());
        let left = left.map_or(0, |count| {
            *count -= 1;
            *count
        });
        if left == 0 {
            self.of_each.remove(gone.client.as_str());
        }
    }
}

impl Refusals {
    /// Keep a refusal. It replaces the client's oldest one, or the oldest of all, if there are too many.
    pub(crate) fn keep(&self, refused: Refused) {
        let mut kept = self.0.lock();
        let of_client = kept.of_each.get(refused.client.as_str());
        let has_all = of_client.is_some_and(|count| *count >= EACH_MAX);
        if has_all || kept.all.len() >= ALL_MAX {
            let mut all = kept.all.iter();
            let oldest = all.position(|one| !has_all || one.client == refused.client);
            kept.remove(oldest.unwrap_or(0));
        }
        let client = refused.client.as_str().into();
        *kept.of_each.entry(client).or_default() += 1;
        kept.all.push_back(refused);
    }

    /// The last refusals, at most `most`, the oldest first.
    #[must_use]
    pub fn last(&self, most: usize) -> Vec<Refused> {
        let kept = self.0.lock();
        let skipped = kept.all.len().saturating_sub(most);
        kept.all.iter().skip(skipped).cloned().collect()
    }
}

/// The beginning of a text, with a mark where it is cut. Control characters are replaced, because a client's
/// text must not control an operator's terminal or fake another line.
fn cut(text: &str) -> String {
    let end = text.floor_char_boundary(TEXT_BYTES_MAX);
    let mut shown = text[..end].replace(char::is_control, " ");
    if end < text.len() {
        shown.push('…');
    }
    shown
}

fn kind_of(kind: ViolationKind) -> &'static str {
    match kind {
        ViolationKind::BodyTooLarge => "body-too-large",
        ViolationKind::HeadersTooLarge => "headers-too-large",
        ViolationKind::UnknownPath => "unknown-path",
        ViolationKind::MethodNotAllowed => "method-not-allowed",
        ViolationKind::Missing => "missing",
        ViolationKind::Malformed => "malformed",
        ViolationKind::UnacceptableVersion => "unacceptable-version",
        ViolationKind::NotJson => "not-json",
        ViolationKind::TooManyElements => "too-many-elements",
        ViolationKind::Overloaded => "overloaded",
        ViolationKind::Internal => "internal",
    }
}

/// Whether a refusal is about the request, not about the host's load.
pub(crate) fn is_of_the_request(kind: ViolationKind) -> bool {
    !matches!(kind, ViolationKind::Overloaded | ViolationKind::Internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(client: &str, at: u64) -> Refused {
        Refused {
            at,
            client: client.to_owned(),
            method: "POST".to_owned(),
            path: "/x".to_owned(),
            status: 400,
            kind: "missing".to_owned(),
            location: "header Date".to_owned(),
            detail: "it is missing".to_owned(),
            trace: None,
        }
    }

    #[test]
    fn refusals_are_bounded_for_each_client_and_all() {
        let refusals = Refusals::default();
        refusals.keep(refused("quiet", 0));
        for at in 1..=5 * EACH_MAX as u64 {
            refusals.keep(refused("loud", at));
        }
        let last = refusals.last(usize::MAX);
        assert_eq!(last.len(), EACH_MAX + 1);
        assert_eq!(last.first().map(|one| one.client.as_str()), Some("quiet"));
        assert_eq!(last.last().map(|one| one.at), Some(5 * EACH_MAX as u64));
        assert_eq!(refusals.last(2).len(), 2);

        for at in 0..2 * ALL_MAX as u64 {
            refusals.keep(refused(&format!("client {at}"), at));
        }
        assert_eq!(refusals.last(usize::MAX).len(), ALL_MAX);
        let kept = refusals.0.lock();
        assert_eq!(kept.of_each.values().sum::<usize>(), ALL_MAX);
        assert_eq!(kept.of_each.len(), ALL_MAX, "nothing of who is gone");
    }

    #[test]
    fn control_characters_of_a_text_are_replaced() {
        let shown = cut("a\u{1b}[2J\nb\u{9b}1m");
        assert_eq!(shown, "a [2J b 1m");
        assert_eq!(cut(&"ü".repeat(600)).chars().count(), 513);
    }

    #[test]
    fn a_text_is_cut_between_its_letters() {
        assert_eq!(cut("é"), "é");
        let long = "é".repeat(TEXT_BYTES_MAX);
        let cut = cut(&long);
        assert_eq!(cut.chars().count(), TEXT_BYTES_MAX / 2 + 1);
        assert!(cut.ends_with('…'));
    }
}

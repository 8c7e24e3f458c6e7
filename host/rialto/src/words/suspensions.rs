//! Suspensions of rules as text for people.

use super::{instant, plain};
use crate::suspensions::ShownSuspension;

/// `3 SUSPENDED limits since 2026-… until 2026-… by anna: too strict`
pub fn suspension(one: &ShownSuspension) -> String {
    let until = match (one.state.as_str(), &one.confirmed_by) {
        (_, Some(by)) => format!(", confirmed by {}", plain(by)),
        ("ENDED", None) => String::new(),
        ("LAPSED", None) => format!(", not confirmed until {}", instant(one.until)),
        (_, None) => format!(", until {} unless it is confirmed", instant(one.until)),
    };
    let ended = one
        .ended_by
        .as_ref()
        .map_or_else(String::new, |by| format!(", ended by {}", plain(by)));
    let note = if one.note.is_empty() {
        String::new()
    } else {
        format!(": {}", plain(&one.note))
    };
    format!(
        "{:>4} {:<9} {} since {} by {}{until}{ended}{note}\n",
        one.id,
        one.state,
        plain(&one.rule),
        instant(one.at),
        plain(&one.person),
    )
}

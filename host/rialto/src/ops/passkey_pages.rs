//! The pages for passkeys: one's own, those that wait for an approval, and a request that is to be confirmed. Their script
//! speaks to this host alone.

use axum::http::StatusCode;
use rialto_manifest::operator::Role;
use serde_json::Value;

use super::pages::Page;
use super::passkeys::{ShownConfirmation, ShownPasskey};
use crate::operators::Caller;
use crate::words::{instant, plain, plain_lines};

/// The script of the pages.
const SCRIPT: &str = include_str!("passkeys.js");

/// The caller's passkeys, and for a checker those that wait.
pub(super) fn list(caller: &Caller, all: &[ShownPasskey]) -> Page {
    let mut page = Page::new(StatusCode::OK, "Passkeys", "")
        .paragraph("With a passkey you confirm what you approve. Another person approves it first: tell them its id.");
    page = page.section("Yours");
    let is_own = |one: &&ShownPasskey| *one.person == *caller.person && one.state != "ENDED";
    for one in all.iter().filter(is_own) {
        let state = state(one);
        let label = plain(&one.label);
        page = page
            .rows(&[("Name", &label), ("Id", &one.id), ("State", &state)])
            .button("end", "End", &[("id", &one.id), ("label", &label)]);
    }
    if !all.iter().any(|one| is_own(&one)) {
        page = page.paragraph("You have none.");
    }
    page = page
        .field("label", "Name of a new passkey, such as the device's", 64)
        .button("register", "Register a passkey", &[]);
    if caller.has(Role::Checker) {
        page = waiting(page, caller, all);
    }
    page.script(SCRIPT)
}

fn waiting(page: Page, caller: &Caller, all: &[ShownPasskey]) -> Page {
    let mut page = page
        .section("Waiting for your approval")
        .paragraph("Approve one only if its owner has told you its id, by telephone or in person.");
    let waits = |one: &&ShownPasskey| *one.person != *caller.person && one.state == "WAITING";
    for one in all.iter().filter(waits) {
        let (label, registered) = (plain(&one.label), instant(one.registered));
        page = page
            .rows(&[
                ("Person", &one.person),
                ("Name", &label),
                ("Id", &one.id),
                ("Registered", &registered),
            ])
            .button("approve", "Approve", &[("id", &one.id)]);
    }
    if !all.iter().any(|one| waits(&one)) {
        page = page.paragraph("None waits.");
    }
    page
}

fn state(one: &ShownPasskey) -> String {
    match (&one.approved_by, one.used) {
        (None, _) => "waits for the approval of another person".to_owned(),
        (Some(by), None) => format!("approved by {by}, never used"),
        (Some(by), Some(used)) => format!("approved by {by}, used {}", instant(used)),
    }
}

/// A request that is to be confirmed, as it is sent.
pub(super) fn confirmation(
    caller: &Caller,
    shown: &ShownConfirmation,
    options: Option<&Value>,
) -> Page {
    let request = &shown.request;
    let sent = format!("{} {}", request.method, request.target);
    let until = instant(shown.expires);
    let page = Page::new(StatusCode::OK, "Confirm a request", "")
        .paragraph(
            "Confirm only what you have begun yourself, and compare it with what you see there.",
        )
        .rows(&[
            ("As", &*caller.person),
            ("Request", &plain(&sent)),
            ("Until", &until),
        ])
        .listing("Body", &plain_lines(&request.body));
    let page = match options {
        None => page.paragraph("It is confirmed already."),
        Some(options) => page.button(
            "confirm",
            "Confirm with a passkey",
            &[("id", &shown.id), ("options", &options.to_string())],
        ),
    };
    page.script(SCRIPT)
}

/// The page of a confirmation that is not there.
pub(super) fn nothing_waits(why: &str) -> Page {
    Page::new(StatusCode::NOT_FOUND, "Nothing waits here", "").paragraph(&plain_lines(why))
}

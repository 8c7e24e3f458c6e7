//! The checks of `[events.publish]`.

use crate::diagnostics::{Code, Diagnostics};
use crate::document::Document;
use crate::events::{EVERY_MEMBER, Publish};
use crate::operator::OperatorFile;

/// Check where events go, and what of them.
pub(super) fn events(document: &Document<OperatorFile>, problems: &mut Diagnostics) {
    let Some(publish) = document
        .value
        .events
        .as_ref()
        .and_then(|events| events.publish.as_ref())
    else {
        return;
    };
    let mut problem = |at: &str, code, message: String, help: &str| {
        let at = format!("events/publish/{at}");
        document.problem(problems, &at, code, message, help);
    };
    if let Err((message, help)) = publish.servers() {
        problem("nats", Code::BadValue, message, help);
    }
    if !publish.has_stream() {
        problem(
            "stream",
            Code::BadValue,
            format!("`{}` is no name of a stream", publish.stream),
            "It has 1 to 64 letters, digits, hyphens and underscores.",
        );
    }
    if !publish.has_prefix() {
        problem(
            "prefix",
            Code::BadValue,
            format!("subjects cannot begin with `{}`", publish.prefix),
            "It has letters, digits, hyphens and underscores, with dots between its parts.",
        );
    }
    if publish.events.is_empty() {
        problem(
            "events",
            Code::BadValue,
            "no event is listed, so none goes out".to_owned(),
            "List each event with the members that go out, or leave [events.publish] out.",
        );
    }
    if publish.password.is_some() && publish.ca.is_none() && publish.is_readable_by_others() {
        problem(
            "password",
            Code::Contradiction,
            "the password would go over the network without TLS".to_owned(),
            "Write the servers as `tls://…`, or sign in with `credentials` or an `nkey`.",
        );
    }
    if let Some((at, message, help)) = contradiction(publish) {
        problem(at, Code::Contradiction, message, help);
    }
    for (event, members) in &publish.events {
        let has_all = members.iter().any(|member| member == EVERY_MEMBER);
        if has_all && members.len() > 1 {
            problem(
                &format!("events/{event}"),
                Code::Contradiction,
                format!("`{event}` has all members and names some"),
                "Leave `*` or the names out.",
            );
        }
    }
}

/// What cannot be said together.
fn contradiction(publish: &Publish) -> Option<(&'static str, String, &'static str)> {
    let ways = [
        ("credentials", publish.credentials.is_some()),
        ("nkey", publish.nkey.is_some()),
        ("password", publish.password.is_some()),
    ];
    let mut ways = ways.iter().filter(|(_, there)| *there);
    if let (Some((first, _)), Some((second, _))) = (ways.next(), ways.next()) {
        let message = format!("the host has both `{first}` and `{second}`");
        return Some((
            second,
            message,
            "It signs in one way: leave one of them out.",
        ));
    }
    match (&publish.certificate, &publish.key) {
        (Some(_), None) => Some((
            "certificate",
            "there is a certificate without its `key`".to_owned(),
            "Name the file of its key too.",
        )),
        (None, Some(_)) => Some((
            "key",
            "there is a key without its `certificate`".to_owned(),
            "Name the file of its certificate too.",
        )),
        _ => None,
    }
}

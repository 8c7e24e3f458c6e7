//! Messages that the history keeps, where the operator wants them: what came in and was answered, and what a turn sent and
//! what became of it. They are steps of their turn's record, so they are archived, encrypted and removed with it.
//!
//! Keeping a message never fails a turn: what is beyond a bound is left out, and the message says so.

use serde::{Deserialize, Serialize};

use crate::history::Step;
use crate::limits;
use crate::turn::{Staged, Turn};

/// Names of headers that are never kept.
const SECRET: [&str; 4] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
];
/// A header with one of these in its name is never kept.
const SECRET_PARTS: [&str; 7] = [
    "token",
    "secret",
    "password",
    "api-key",
    "apikey",
    "credential",
    "confirmation",
];

/// Which message of a turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Part {
    /// The request that the turn handles.
    Came,
    /// The answer to it.
    Answer,
    /// A request that the turn sends.
    Sent,
    /// The answer to a request that an earlier turn sent.
    Response,
}

/// A message of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Which one.
    pub part: Part,
    /// The id of the outbound request; none for a request that came in.
    pub request: Option<u64>,
    /// Method and target, or the status.
    pub line: String,
    /// Names in lower case. Those with secrets are left out.
    pub headers: Vec<(String, String)>,
    /// How many headers were left out.
    pub headers_left_out: u32,
    /// The body, or its beginning; none if it has none, or if it was left out.
    pub body: Option<String>,
    /// The bytes of the whole body.
    pub body_bytes: u64,
}

/// A message as it is given to a turn.
pub struct Given<'a> {
    /// Which one.
    pub part: Part,
    /// The id of the outbound request.
    pub request: Option<u64>,
    /// Method and target, or the status.
    pub line: String,
    /// Its headers.
    pub headers: &'a [(String, String)],
    /// Its body.
    pub body: Option<&'a str>,
}

impl Turn {
    /// Whether the history keeps messages.
    #[must_use]
    pub fn keeps_messages(&self) -> bool {
        self.shared.limits.message_bytes_max > 0
    }

    /// Keep a message with the turn, as far as the bounds allow.
    pub fn keep_message(&mut self, given: Given<'_>) {
        let messages = &mut self.staged.messages;
        if messages.len() >= limits::MESSAGES_PER_TURN_MAX {
            return;
        }
        let used: usize = messages.iter().map(bytes).sum();
        let room = limits::MESSAGE_BYTES_PER_TURN_MAX.saturating_sub(used);
        let room = room.min(self.shared.limits.message_bytes_max);
        messages.push(kept(given, room));
    }
}

impl Staged {
    /// The messages as steps of the record.
    pub(crate) fn message_steps(&mut self) -> impl Iterator<Item = Step> {
        std::mem::take(&mut self.messages)
            .into_iter()
            .map(|message| Step::Message(Box::new(message)))
    }

    /// Leave only what came in: the turn has sent nothing.
    pub(crate) fn forget_messages_out(&mut self) {
        self.messages.retain(|message| message.part == Part::Came);
    }
}

fn bytes(message: &Message) -> usize {
    let headers = message.headers.iter();
    let headers: usize = headers.map(|(name, value)| name.len() + value.len()).sum();
    headers + message.line.len() + message.body.as_ref().map_or(0, String::len)
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET.contains(&&*name) || SECRET_PARTS.iter().any(|part| name.contains(part))
}

/// The message with at most so many bytes of line, headers and body.
fn kept(given: Given<'_>, room: usize) -> Message {
    let Given {
        part,
        request,
        mut line,
        headers,
        body,
    } = given;
    line.truncate(line.floor_char_boundary(room));
    let mut left = room - line.len();
    let mut left_out = 0;
    let mut kept = Vec::new();
    for (name, value) in headers {
        let size = name.len() + value.len();
        if is_secret(name) || size > left {
            left_out += 1;
        } else {
            left -= size;
            kept.push((name.clone(), value.clone()));
        }
    }
    let body_bytes = body.map_or(0, str::len);
    Message {
        part,
        request,
        line,
        headers: kept,
        headers_left_out: left_out,
        body: body.map(|body| body[..body.floor_char_boundary(left)].to_owned()),
        body_bytes: body_bytes as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given<'a>(headers: &'a [(String, String)], body: Option<&'a str>) -> Given<'a> {
        Given {
            part: Part::Came,
            request: None,
            line: "POST /a".into(),
            headers,
            body,
        }
    }

    #[test]
    fn headers_with_secrets_are_left_out_and_counted() {
        let names = [
            "content-type",
            "authorization",
            "Cookie",
            "set-cookie",
            "proxy-authorization",
            "x-access-token",
            "x-api-key",
            "x-rialto-confirmation",
            "fspiop-source",
        ];
        let headers = names.map(|name| (name.to_owned(), "value".to_owned()));
        let message = kept(given(&headers, None), 1_000);
        let kept: Vec<&str> = message.headers.iter().map(|(name, _)| &**name).collect();
        assert_eq!(kept, ["content-type", "fspiop-source"]);
        assert_eq!(message.headers_left_out, 7);
        assert_eq!((message.body, message.body_bytes), (None, 0));
    }

    #[test]
    fn body_is_cut_at_the_bound_between_characters() {
        let body = "é".repeat(100);
        for room in 0..300 {
            let message = kept(given(&[], Some(&body)), room);
            let part = message.body.clone().unwrap_or_default();
            assert!(body.starts_with(&part));
            assert!(bytes(&message) <= room, "{room}");
            assert_eq!(message.body_bytes, 200);
            assert_eq!(part.len() == 200, room >= 207, "{room}");
        }
    }

    #[test]
    fn header_beyond_the_bound_is_left_out_and_later_ones_may_fit() {
        let headers = [
            ("long".to_owned(), "x".repeat(100)),
            ("short".to_owned(), "y".to_owned()),
        ];
        let message = kept(given(&headers, Some("body")), 50);
        assert_eq!(message.headers, [("short".to_owned(), "y".to_owned())]);
        assert_eq!(message.headers_left_out, 1);
        assert_eq!(message.body.as_deref(), Some("body"));
    }
}

//! The transcript: the messages of one payment.
//!
//! ```text
//!      from → to            message                          answer      ms
//!   1  payerfsp → hub       GET /parties/MSISDN/27713803912     202     1.8
//!   2  hub → payeefsp       GET /parties/MSISDN/27713803912     202     0.2
//! ```

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

use http::Method;
use serde_json::{Value, json};

use crate::fsp::PaymentOutcome;
use crate::limits::{TRANSCRIPT_BODY_CHARS_MAX, TRANSCRIPT_VALUE_CHARS_MAX};
use crate::recorder::{Direction, Ending, Recorded};
use crate::text::decoded;

mod redaction;

use redaction::Aliases;

/// Columns before a body, and for the sign of what is cut.
const BESIDE_BODY: usize = 6;
/// Columns of a line besides its route and its message: number, answer, time, and blanks between.
const BESIDE_MESSAGE: usize = 3 + 2 + 2 + 2 + 6 + 2 + 6;

/// How a transcript looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Coloured, for terminals.
    pub colour: bool,
    /// With bodies, abridged.
    pub bodies: bool,
    /// With the times that answers took, and a heading that has their unit.
    pub times: bool,
    /// The most columns of a line; unlimited by default.
    pub columns: Option<usize>,
    /// With ids, times and secrets replaced by names, so that two runs read alike.
    pub redacted: bool,
}

impl Style {
    /// For people: bodies and times; colour only if `out` is a terminal and the environment
    /// does not ask for none (`NO_COLOR`).
    pub fn for_people(out: &impl IsTerminal) -> Self {
        let colour = out.is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self {
            colour,
            bodies: true,
            times: true,
            columns: None,
            redacted: false,
        }
    }

    /// Limits the columns: longer lines are cut.
    #[must_use]
    pub fn within(self, columns: usize) -> Self {
        Self {
            columns: Some(columns),
            ..self
        }
    }

    /// The characters left beside `taken` columns, at most `most`.
    fn beside(self, taken: usize, most: usize) -> usize {
        let room = self.columns.map_or(most, |all| all.saturating_sub(taken));
        room.min(most)
    }

    /// For comparing: nothing that differs between two runs of the same story.
    pub fn for_snapshots() -> Self {
        Self {
            colour: false,
            bodies: true,
            times: false,
            columns: None,
            redacted: true,
        }
    }
}

/// The messages of one story, in their order.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    messages: Vec<Recorded>,
}

impl Transcript {
    /// All the messages of some recordings.
    pub fn new(recordings: impl IntoIterator<Item = Vec<Recorded>>) -> Self {
        let mut messages: Vec<Recorded> = recordings.into_iter().flatten().collect();
        messages.sort_by_key(|message| message.at_us);
        Self { messages }
    }

    /// The messages of one payment. A lookup bears no id: it counts if it is of the payee and
    /// lies within the payment's time, so payments to one payee at one time share theirs.
    #[must_use]
    pub fn of_payment(mut self, payment: &PaymentOutcome) -> Self {
        let ids = [payment.quote_id.as_str(), payment.transfer_id.as_str()];
        let lookup = decoded(&payment.lookup_path).into_owned();
        let ended_us = payment
            .began_us
            .saturating_add((payment.total_ms * 1000.0) as u64);
        self.messages.retain(|message| {
            let body = String::from_utf8_lossy(&message.body);
            let mut ids = ids.iter().filter(|id| !id.is_empty());
            let named = ids.any(|id| message.path.contains(id) || body.contains(id));
            let path = decoded(message.path.trim_start_matches('/'));
            let path = path.strip_suffix("/error").unwrap_or(&path);
            let within = (payment.began_us..=ended_us).contains(&message.at_us);
            named || (path == lookup && within)
        });
        self
    }

    /// The messages.
    pub fn messages(&self) -> &[Recorded] {
        &self.messages
    }

    /// Writes the story as one JSON object a line, complete.
    pub fn write_json_lines(&self, out: &mut impl Write) -> io::Result<()> {
        let first = self.messages.first().map_or(0, |message| message.at_us);
        for (number, message) in self.messages.iter().enumerate() {
            let (from, to) = ends(message);
            let line = json!({
                "number": number + 1,
                "from": from,
                "to": to,
                "afterMs": message.at_us.saturating_sub(first) as f64 / 1000.0,
                "message": message,
            });
            writeln!(out, "{line}")?;
        }
        Ok(())
    }

    /// Writes the story for people.
    pub fn write(&self, out: &mut impl Write, style: Style) -> io::Result<()> {
        let mut aliases = Aliases::default();
        let mut rows: Vec<Row> = self
            .messages
            .iter()
            .map(|message| Row::of(message, style, &mut aliases))
            .collect();
        let widest = |of: fn(&Row) -> &str| rows.iter().map(|r| of(r).chars().count()).max();
        let route_width = widest(|row| &row.route).unwrap_or(0);
        let what_width = widest(|row| &row.what).unwrap_or(0);
        let what_width = style.beside(BESIDE_MESSAGE + route_width, what_width);
        for row in &mut rows {
            // One column is the sign's.
            if row.what.chars().count() > what_width {
                cut(&mut row.what, what_width.saturating_sub(1));
            }
        }
        let paint = |colour| if style.colour { colour } else { Colour::None };
        if style.times {
            let heading = format!(
                "     {:<route_width$}  {:<what_width$}  {:>6}  {:>6}",
                "from → to", "message", "answer", "ms"
            );
            writeln!(out, "{}", paint(Colour::Dim).on(&heading))?;
        }
        for (number, (row, message)) in rows.iter().zip(&self.messages).enumerate() {
            let mut line = format!(
                "{:>3}  {}  {}  {}",
                number + 1,
                paint(Colour::Cyan).on(&format!("{:<route_width$}", row.route)),
                paint(row.colour).on(&format!("{:<what_width$}", row.what)),
                paint(row.ending_colour).on(&if style.times {
                    format!("{:>6}", row.ending)
                } else {
                    row.ending.clone()
                }),
            );
            if style.times {
                let took = format!("{:>6.1}", message.took_us as f64 / 1000.0);
                let _ = write!(line, "  {}", paint(Colour::Dim).on(&took)); // a String takes all
            }
            writeln!(out, "{}", line.trim_end())?;
            if style.bodies && !row.body.is_empty() {
                writeln!(out, "     {}", paint(Colour::Dim).on(&row.body))?;
            }
        }
        Ok(())
    }
}

/// From where to where a message went.
fn ends(message: &Recorded) -> (&str, &str) {
    match message.direction {
        Direction::In => ("hub", message.fsp.as_str()),
        Direction::Out => (message.fsp.as_str(), "hub"),
    }
}

struct Row {
    route: String,
    what: String,
    colour: Colour,
    ending: String,
    ending_colour: Colour,
    body: String,
}

impl Row {
    fn of(message: &Recorded, style: Style, aliases: &mut Aliases) -> Self {
        let (from, to) = ends(message);
        let (ending, ending_colour) = match &message.ending {
            Ending::Pending => ("...".to_owned(), Colour::Yellow),
            Ending::Status(status @ ..400) => (status.to_string(), Colour::Green),
            Ending::Status(status) => (status.to_string(), Colour::Red),
            Ending::Broken(_) => ("---".to_owned(), Colour::Red),
        };
        let mut what = format!("{} {}", message.method, message.path);
        let mut body = abridged(&message.body);
        if style.redacted {
            what = aliases.replace(&what);
            body = aliases.replace(&body);
        }
        cut(
            &mut body,
            style.beside(BESIDE_BODY, TRANSCRIPT_BODY_CHARS_MAX),
        );
        let colour = match message.method {
            _ if message.path.ends_with("/error") => Colour::Red,
            Method::PUT | Method::PATCH => Colour::Blue,
            _ => Colour::Bold,
        };
        Self {
            route: format!("{from} → {to}"),
            what,
            colour,
            ending,
            ending_colour,
            body,
        }
    }
}

/// Cuts a text after a number of characters, with a sign for the cut.
fn cut(text: &mut String, chars_max: usize) {
    let place = text.char_indices().nth(chars_max).map(|(place, _)| place);
    if let Some(place) = place {
        text.truncate(place);
        text.push('…');
    }
}

/// A body with its long texts cut, in one line.
fn abridged(body: &[u8]) -> String {
    match serde_json::from_slice::<Value>(body) {
        Ok(mut value) => {
            shorten(&mut value);
            value.to_string()
        }
        Err(_) => String::from_utf8_lossy(body).replace(char::is_control, " "),
    }
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some((cut, _)) = text.char_indices().nth(TRANSCRIPT_VALUE_CHARS_MAX)
                && text.chars().count() > TRANSCRIPT_VALUE_CHARS_MAX + 4
            {
                text.truncate(cut.min(12));
                text.push('…');
            }
        }
        Value::Array(values) => values.iter_mut().for_each(shorten),
        Value::Object(members) => members.values_mut().for_each(shorten),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Colour {
    None,
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
    Blue,
    Cyan,
}

impl Colour {
    fn on(self, text: &str) -> String {
        let code = match self {
            Self::None => return text.to_owned(),
            Self::Bold => 1,
            Self::Dim => 2,
            Self::Red => 31,
            Self::Green => 32,
            Self::Yellow => 33,
            Self::Blue => 34,
            Self::Cyan => 36,
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use http::HeaderMap;

    fn message(at_us: u64, direction: Direction, line: (Method, &str), body: &str) -> Recorded {
        Recorded {
            fsp: "payerfsp".parse().expect("an id"),
            at_us,
            direction,
            method: line.0,
            path: line.1.to_owned(),
            headers: HeaderMap::new(),
            body: Bytes::from(body.to_owned()),
            ending: Ending::Status(202),
            took_us: 1800,
            complaints: Vec::new(),
        }
    }

    fn told(transcript: &Transcript, style: Style) -> String {
        let mut out = Vec::new();
        transcript.write(&mut out, style).expect("memory takes all");
        String::from_utf8(out).expect("UTF-8")
    }

    const ID: &str = "85feac2f-39b2-491b-817e-4a03203d4f14";

    fn story() -> Transcript {
        let packet = "A".repeat(1471);
        let condition = "fH9pAYDQbmoZLPbvv3CSW2RfjU4jvM4ApG_fqGnR7Xs";
        let answer = format!(
            r#"{{"ilpPacket":"{packet}","condition":"{condition}","expiration":"2030-01-02T03:04:05.678Z"}}"#
        );
        let put = format!("/quotes/{ID}");
        Transcript::new([
            vec![message(20, Direction::In, (Method::PUT, &put), &answer)],
            vec![message(
                10,
                Direction::Out,
                (Method::POST, "/quotes"),
                &format!(r#"{{"quoteId":"{ID}"}}"#),
            )],
        ])
    }

    #[test]
    fn a_story_is_numbered_aligned_and_abridged() {
        let plain = Style {
            bodies: false,
            times: true,
            redacted: false,
            ..Style::for_snapshots()
        };
        let expected = format!(
            "     from → to       message{}  answer      ms\n\
             \x20 1  payerfsp → hub  POST /quotes{}     202     1.8\n\
             \x20 2  hub → payerfsp  PUT /quotes/{ID}     202     1.8\n",
            " ".repeat(41),
            " ".repeat(36),
        );
        assert_eq!(told(&story(), plain), expected);
        let with_bodies = told(
            &story(),
            Style {
                bodies: true,
                ..plain
            },
        );
        assert!(
            with_bodies.contains(r#""ilpPacket":"AAAAAAAAAAAA…""#),
            "{with_bodies}"
        );
        let narrow = Style {
            bodies: true,
            ..plain
        };
        let narrow = told(&story(), narrow.within(60));
        let widths = narrow.lines().map(|line| line.chars().count());
        assert_eq!(widths.max(), Some(60), "{narrow}");
        assert!(narrow.contains("PUT /quotes/85feac2f-3…"), "{narrow}");
    }

    #[test]
    fn two_runs_read_alike_when_redacted() {
        let text = told(&story(), Style::for_snapshots());
        let expected = "  1  payerfsp → hub  POST /quotes        202\n     {\"quoteId\":\"<id 1>\"}\n  2  hub → payerfsp  PUT /quotes/<id 1>  202\n     {\"ilpPacket\":\"<octets>\",\"condition\":\"<octets>\",\"expiration\":\"<time>\"}\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn colour_comes_only_when_asked_for() {
        let coloured = Style {
            colour: true,
            times: true,
            redacted: false,
            ..Style::for_snapshots()
        };
        assert!(told(&story(), coloured).contains('\u{1b}'));
        assert!(
            !told(
                &story(),
                Style {
                    colour: false,
                    ..coloured
                }
            )
            .contains('\u{1b}')
        );
    }

    #[test]
    fn json_lines_hold_everything() {
        let mut out = Vec::new();
        story()
            .write_json_lines(&mut out)
            .expect("memory takes all");
        let lines: Vec<Value> = String::from_utf8(out)
            .expect("UTF-8")
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(
            (&lines[0]["from"], &lines[1]["from"]),
            (&json!("payerfsp"), &json!("hub"))
        );
        assert_eq!(
            lines[1]["message"]["body"]["ilpPacket"]
                .as_str()
                .map(str::len),
            Some(1471)
        );
    }

    #[test]
    fn messages_of_other_payments_are_left_out() {
        let payment = PaymentOutcome {
            quote_id: ID.to_owned(),
            lookup_path: "parties/MSISDN/%2B1".to_owned(),
            began_us: 5,
            total_ms: 1.0,
            ..PaymentOutcome::default()
        };
        let lookup = |at| message(at, Direction::Out, (Method::GET, "/parties/MSISDN/+1"), "");
        let other = message(
            12,
            Direction::Out,
            (Method::POST, "/quotes"),
            r#"{"quoteId":"other"}"#,
        );
        let all = Transcript::new([story().messages, vec![lookup(6), lookup(5_000), other]]);
        let of_payment = all.of_payment(&payment);
        let times: Vec<u64> = of_payment.messages().iter().map(|m| m.at_us).collect();
        assert_eq!(times, [6, 10, 20]);
    }
}

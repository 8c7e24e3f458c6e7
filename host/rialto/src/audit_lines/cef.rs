//! Entries as lines in the Common Event Format.

use std::fmt::{Display, Write as _};
use std::net::IpAddr;

use rialto_audit::{ActorKind, Entry};

use super::exported::{Attention, Exported, address, attention, count, reason};

/// The line of an entry, without its end.
pub(super) fn line(exported: &Exported) -> String {
    let Some(entry) = &exported.entry else {
        return unreadable(exported);
    };
    let name = entry.action.replace(['.', '-'], " ");
    let head = head(&entry.action, &name, attention(entry));
    let mut extension = String::new();
    field(&mut extension, "rt", entry.at);
    field(&mut extension, "externalId", exported.index);
    field(&mut extension, "act", &entry.action);
    field(&mut extension, "outcome", &entry.outcome);
    actor(&mut extension, entry);
    field(&mut extension, "deviceFacility", &entry.writer);
    labelled(&mut extension, "cs1", "about", &entry.about);
    request(&mut extension, entry);
    field(&mut extension, "msg", reason(entry));
    if let Some(count) = count(entry) {
        field(&mut extension, "cnt", count);
    }
    if let Some(details) = &entry.details {
        labelled(&mut extension, "cs2", "details", details);
    }
    labelled(&mut extension, "cs3", "trace", &entry.trace);
    labelled(&mut extension, "cs6", "credential", &entry.actor.credential);
    if let Some(release) = entry.release {
        labelled(&mut extension, "cn1", "release", release);
    }
    if let Some(turn) = entry.turn {
        labelled(&mut extension, "cn2", "turn", turn);
    }
    head + &extension
}

/// Bytes that are no entry are exported as they are.
fn unreadable(exported: &Exported) -> String {
    let head = head("unreadable", "unreadable entry", Attention::High);
    let mut extension = String::new();
    field(&mut extension, "rt", exported.at);
    field(&mut extension, "externalId", exported.index);
    labelled(&mut extension, "cs2", "entry", &exported.body);
    head + &extension
}

fn head(id: &str, name: &str, attention: Attention) -> String {
    let severity = match attention {
        Attention::None => 2,
        Attention::Low => 4,
        Attention::Medium => 6,
        Attention::High => 8,
    };
    format!(
        "CEF:0|Rialto|rialto|{}|{}|{}|{severity}|",
        env!("CARGO_PKG_VERSION"),
        in_head(id),
        in_head(name)
    )
}

/// Who: an address has fields of its own.
fn actor(extension: &mut String, entry: &Entry) {
    let actor = &entry.actor;
    field(extension, "suser", &actor.name);
    let address: Option<IpAddr> = address(entry).and_then(|text| text.parse().ok());
    match address {
        Some(IpAddr::V4(address)) => field(extension, "src", address),
        Some(IpAddr::V6(address)) => labelled(extension, "c6a2", "Source IPv6 Address", address),
        None => {}
    }
    let kind = match actor.kind {
        ActorKind::Operator => "operator",
        ActorKind::Client => "client",
        ActorKind::Component => "component",
        ActorKind::Host => "host",
    };
    labelled(extension, "cs4", "actorKind", kind);
    labelled(extension, "cs5", "operator", &actor.operator);
}

/// The method and the path of a request.
fn request(extension: &mut String, entry: &Entry) {
    if let Some((method, path)) = entry.about.split_once(' ')
        && path.starts_with('/')
    {
        field(extension, "requestMethod", method);
        field(extension, "request", path);
    }
}

/// A field of the extension; none for an empty value.
fn field(extension: &mut String, key: &str, value: impl Display) {
    let value = in_extension(&value.to_string());
    if value.is_empty() {
        return;
    }
    let blank = if extension.is_empty() { "" } else { " " };
    // Writing to a text does not fail.
    let _ = write!(extension, "{blank}{key}={value}");
}

/// A field whose meaning is in another one.
fn labelled(extension: &mut String, key: &str, label: &str, value: impl Display) {
    let value = value.to_string();
    if !value.is_empty() {
        field(extension, &format!("{key}Label"), label);
        field(extension, key, value);
    }
}

/// A text in the head: one line, in which a bar ends a field.
fn in_head(text: &str) -> String {
    let one_line = text.replace(ends_or_steers, " ");
    one_line.replace('\\', r"\\").replace('|', r"\|")
}

/// A text in the extension: an equals sign begins a value.
fn in_extension(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => escaped.push_str(r"\\"),
            '=' => escaped.push_str(r"\="),
            '\n' => escaped.push_str(r"\n"),
            '\r' => escaped.push_str(r"\r"),
            c if ends_or_steers(c) => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Whether a character ends a line for some readers, or controls a terminal. The format cannot escape it.
fn ends_or_steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests as examples;
    use super::*;

    /// The line after the version.
    fn shown(exported: &Exported) -> String {
        let line = line(exported);
        let head = format!("CEF:0|Rialto|rialto|{}|", env!("CARGO_PKG_VERSION"));
        line.strip_prefix(&head).unwrap().to_owned()
    }

    #[test]
    fn each_kind_of_entry_has_its_line() {
        for (exported, line) in [
            (
                examples::committed(),
                r#"transfer.committed|transfer committed|2|rt=1767225600123 externalId=7 act=transfer.committed outcome=done suser=bank|a cs4Label=actorKind cs4=client deviceFacility=transfers cs1Label=about cs1=transfer:1 cs2Label=details cs2={"amount":"5"} cs3Label=trace cs3=0af7 cn1Label=release cn1=2 cn2Label=turn cn2=40"#,
            ),
            (
                examples::request(),
                r#"approve-funds|approve funds|4|rt=1767225600124 externalId=8 act=approve-funds outcome=refused suser=anna cs4Label=actorKind cs4=operator cs5Label=operator cs5=anna-checks deviceFacility=office cs1Label=about cs1=POST /funds/1/approval requestMethod=POST request=/funds/1/approval cs2Label=details cs2={"operation":"approveFunds","status":403,"bodySha256":"ab"} cs6Label=credential cs6=token 5f0c"#,
            ),
            (
                examples::refused(),
                r#"authentication.refused|authentication refused|6|rt=1767225600125 externalId=9 act=authentication.refused outcome=refused suser=address 192.0.2.7 src=192.0.2.7 cs4Label=actorKind cs4=client deviceFacility=host msg=3 more \= many\nin the minute cnt=3 cs2Label=details cs2={"count":3,"since":1767225600000}"#,
            ),
            (
                examples::unreadable(),
                r#"unreadable|unreadable entry|8|rt=1767225600128 externalId=12 cs2Label=entry cs2={"at":\n1|"#,
            ),
        ] {
            assert_eq!(shown(&exported), line);
        }
    }

    /// What a reader makes of a line: the head's fields, and the extension's.
    fn read(line: &str) -> (Vec<String>, Vec<(String, String)>) {
        let (mut head, mut field, mut rest) = (Vec::new(), String::new(), line.chars());
        while head.len() < 7 {
            match rest.next().unwrap() {
                '\\' => field.push(rest.next().unwrap()),
                '|' => head.push(std::mem::take(&mut field)),
                c => field.push(c),
            }
        }
        let mut fields: Vec<(String, String)> = Vec::new();
        let mut text = String::new();
        while let Some(c) = rest.next() {
            match c {
                '\\' => text.push(match rest.next().unwrap() {
                    'n' => '\n',
                    'r' => '\r',
                    c => c,
                }),
                '=' => {
                    let at = text.rfind(' ').map_or(0, |at| at + 1);
                    let key = text.split_off(at);
                    if let Some((_, value)) = fields.last_mut() {
                        text.pop();
                        *value = std::mem::take(&mut text);
                    }
                    fields.push((key, String::new()));
                }
                c => text.push(c),
            }
        }
        if let Some((_, value)) = fields.last_mut() {
            *value = text;
        }
        (head, fields)
    }

    proptest! {
        #[test]
        fn readers_find_each_text_in_its_field(
            action in "[|=\\\\a-z\n. -]{1,9}",
            about in "[\\PC\n\r|=\\\\]{1,20}",
            note in "[\\PC\n\r|=\\\\ a-z]{1,40}",
            name in "\\PC{1,20}",
        ) {
            let mut exported = examples::refused();
            let entry = exported.entry.as_mut().unwrap();
            entry.action = action.clone();
            entry.about = about.clone();
            entry.note = note.clone();
            entry.actor.name = name.clone();
            let line = line(&exported);
            prop_assert!(!line.contains(['\n', '\r']));
            let (head, fields) = read(&line);
            prop_assert_eq!(&head[4], &action.replace('\n', " "));
            let plain = |text: String| text.replace(['\u{2028}', '\u{2029}'], " ");
            for (key, wanted) in [("act", action), ("cs1", about), ("msg", note), ("suser", name)] {
                let found: Vec<_> = fields.iter().filter(|(name, _)| name == key).collect();
                prop_assert_eq!(found.len(), 1);
                prop_assert_eq!(&found[0].1, &plain(wanted));
            }
        }

        #[test]
        fn any_text_stays_in_its_line(note: String, action: String) {
            let mut exported = examples::refused();
            let entry = exported.entry.as_mut().unwrap();
            (entry.note, entry.action) = (note, action);
            prop_assert!(!line(&exported).contains(ends_or_steers));
        }
    }
}

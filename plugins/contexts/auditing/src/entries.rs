//! Writing entries: those that programs have signed, and those of events. The host adds time, caller and turn.

use rialto_sdk::auditing::{ABOUT_BYTES_MAX, ACTION_BYTES_MAX, NOTE_BYTES_MAX, cut};
use serde_json::json;

use crate::bindings::exports::rialto::auditing::audit_log_write::{Event, Outcome as Ended};
use crate::bindings::rialto::host::auditing::{Entry, Outcome};
use crate::signed::Proven;
use crate::world::World;

/// Write an entry that a program has signed. Its signature is kept with it.
pub fn of_program(world: &mut impl World, proven: &Proven, text: &str) {
    let said = &proven.said;
    let details = json!({
        "writtenBy": proven.writer,
        "keyId": proven.key_id,
        "saidAt": said.at,
        "signed": text,
        "details": said.details,
    });
    world.write(&Entry {
        action: said.action.clone(),
        about: said.about.clone(),
        outcome: said.outcome.into(),
        note: said.note.clone(),
        details: Some(details.to_string()),
    });
}

/// Write the entry of an event. What is too long is cut, because an event that cannot be handled would stop those behind it.
pub fn of_event(world: &mut impl World, event: Event) {
    let outcome = match event.outcome {
        Ended::Done => Outcome::Done,
        Ended::Refused => Outcome::Refused,
        Ended::Failed => Outcome::Failed,
    };
    let details = json!({
        "writtenBy": format!("context/{}", cut(&event.context, ACTION_BYTES_MAX)),
        "saidAt": event.at,
    });
    world.write(&Entry {
        action: action(&event.action),
        about: cut(&event.about, ABOUT_BYTES_MAX).to_owned(),
        outcome,
        note: cut(&event.note, NOTE_BYTES_MAX).to_owned(),
        details: Some(details.to_string()),
    });
}

/// An action in the form that the host takes.
fn action(text: &str) -> String {
    let plain = |c: char| match c {
        'a'..='z' | '0'..='9' | '-' | '.' => c,
        'A'..='Z' => c.to_ascii_lowercase(),
        _ => '-',
    };
    let action: String = text.chars().take(ACTION_BYTES_MAX).map(plain).collect();
    if action.is_empty() {
        return "unnamed".to_owned();
    }
    action
}

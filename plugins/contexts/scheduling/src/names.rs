//! The host's names of clients' reminders, and the checks of instructions.

use crate::bindings::exports::rialto::scheduling::create_schedule_reminder::Reminder;

/// Longest name of a reminder at the host, in bytes.
const NAME_MAX: usize = 256;
/// The longest payload, in bytes.
const PAYLOAD_MAX: usize = 64 * 1024;

/// The name at the host. The client has no `/`, so the name can be split again.
#[must_use]
pub fn name(client: &str, id: &str) -> String {
    format!("{client}/{id}")
}

/// The client and the id of a name.
#[must_use]
pub fn parts(name: &str) -> Option<(&str, &str)> {
    name.split_once('/')
}

/// Checks an instruction.
///
/// # Errors
/// A sentence for the client.
pub fn check(reminder: &Reminder) -> Result<(), String> {
    let Reminder {
        id,
        client,
        payload,
        ..
    } = reminder;
    if !is_kebab_case(client) {
        return Err(format!("the client {client:?} is not a name in kebab-case"));
    }
    if id.is_empty() || id.chars().any(char::is_control) {
        return Err(format!("the id {id:?} is empty or has control characters"));
    }
    if client.len() + 1 + id.len() > NAME_MAX {
        return Err(format!(
            "client and id have more than {} bytes",
            NAME_MAX - 1
        ));
    }
    if payload.len() > PAYLOAD_MAX {
        return Err(format!("the payload has more than {PAYLOAD_MAX} bytes"));
    }
    Ok(())
}

fn is_kebab_case(text: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    text.split('-').all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reminder(client: &str, id: &str, payload: &str) -> Reminder {
        Reminder {
            id: id.to_owned(),
            client: client.to_owned(),
            due: 1,
            payload: payload.to_owned(),
        }
    }

    #[test]
    fn a_name_can_be_taken_apart_again() {
        for (client, id) in [
            ("transfers", "7c23e80c"),
            ("account-lookup", "a/b/c"),
            ("a", "/"),
        ] {
            assert!(check(&reminder(client, id, "")).is_ok());
            assert_eq!(parts(&name(client, id)), Some((client, id)));
        }
    }

    #[test]
    fn malformed_instructions_are_refused_with_a_sentence() {
        let long = "x".repeat(NAME_MAX);
        for (client, id, payload) in [
            ("", "a", ""),
            ("Transfers", "a", ""),
            ("a--b", "a", ""),
            ("a/b", "a", ""),
            ("transfers", "", ""),
            ("transfers", "a\n", ""),
            ("transfers", &long, ""),
            ("transfers", "a", &"x".repeat(PAYLOAD_MAX + 1)),
        ] {
            let refused = check(&reminder(client, id, payload)).unwrap_err();
            assert!(
                refused.starts_with("the ") || refused.starts_with("client "),
                "{refused}"
            );
        }
    }
}

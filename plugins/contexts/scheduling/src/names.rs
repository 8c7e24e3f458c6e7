//! Clients, the host's names of their reminders, and the checks of components' instructions.
//!
//! A name begins with what nobody can choose, so that no client reaches another's reminders: a component with its name,
//! which is in kebab-case; a program with `program:`; and a stored reminder ([`crate::reminders`]) with `@`.

use crate::bindings::exports::rialto::scheduling::create_schedule_reminder::Reminder;

/// Longest name of a reminder at the host, in bytes.
const NAME_MAX: usize = 256;
/// The longest payload, in bytes.
pub const PAYLOAD_MAX: usize = 64 * 1024;
/// Begins the names of programs.
const PROGRAM: &str = "program:";
/// Begins the host's names of stored reminders.
const STORED: char = '@';

/// Who sets reminders: the host's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Client {
    /// A component of the scheme, by its name there.
    Component(String),
    /// A program outside, by its operator's name.
    Program(String),
}

impl Client {
    /// The name that the client calls itself.
    #[must_use]
    pub fn own_name(&self) -> &str {
        match self {
            Self::Component(name) | Self::Program(name) => name,
        }
    }

    /// The name that no other client has: `transfers`, or `program:switch`.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Component(name) => name.clone(),
            Self::Program(name) => format!("{PROGRAM}{name}"),
        }
    }
}

/// The host's name of a reminder. The client has no `/`, so the name can be split again.
#[must_use]
pub fn name(client: &str, id: &str) -> String {
    format!("{client}/{id}")
}

/// The client and the id of a name.
#[must_use]
pub fn parts(name: &str) -> Option<(&str, &str)> {
    name.split_once('/')
}

/// The host's name of the stored reminder with this key.
#[must_use]
pub fn stored(key: &str) -> String {
    format!("{STORED}{key}")
}

/// The key of a stored reminder, if the host's name is that of one.
#[must_use]
pub fn stored_key(name: &str) -> Option<&str> {
    name.strip_prefix(STORED)
}

/// Checks an instruction of this caller.
///
/// # Errors
/// A sentence for the client.
pub fn check(reminder: &Reminder, caller: Option<&Client>) -> Result<(), String> {
    let Reminder {
        id,
        client,
        payload,
        ..
    } = reminder;
    if !is_kebab_case(client) {
        return Err(format!("the client {client:?} is not a name in kebab-case"));
    }
    let Some(caller) = caller else {
        return Err("the caller is not known, so it can have no reminders".to_owned());
    };
    if caller.own_name() != client {
        return Err(format!(
            "the client {client:?} is not the caller, which is `{}`: a client sets its own reminders alone",
            caller.own_name()
        ));
    }
    if id.is_empty() || id.chars().any(char::is_control) {
        return Err(format!("the id {id:?} is empty or has control characters"));
    }
    if caller.name().len() + 1 + id.len() > NAME_MAX {
        return Err(format!(
            "the client and the id have more than {} bytes",
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

    fn component(name: &str) -> Client {
        Client::Component(name.to_owned())
    }

    fn program(name: &str) -> Client {
        Client::Program(name.to_owned())
    }

    #[test]
    fn a_name_can_be_taken_apart_again() {
        for (client, id) in [
            ("transfers", "7c23e80c"),
            ("account-lookup", "a/b/c"),
            ("a", "/"),
        ] {
            for caller in [component(client), program(client)] {
                let checked = check(&reminder(client, id, ""), Some(&caller));
                assert_eq!(checked, Ok(()));
                let name = name(&caller.name(), id);
                assert_eq!(parts(&name), Some((&*caller.name(), id)));
                assert_eq!(stored_key(&name), None);
                assert_eq!(stored_key(&stored(&name)), Some(&*name));
            }
        }
        assert_ne!(component("a").name(), program("a").name());
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
            let caller = component(client);
            let refused = check(&reminder(client, id, payload), Some(&caller)).unwrap_err();
            assert!(refused.starts_with("the "), "{refused}");
        }
    }

    #[test]
    fn nobody_sets_reminders_of_others() {
        let of_transfers = reminder("transfers", "a", "");
        for caller in [component("quoting"), program("switch")] {
            let refused = check(&of_transfers, Some(&caller)).unwrap_err();
            assert!(refused.contains("is not the caller"), "{refused}");
        }
        assert!(check(&of_transfers, None).is_err());
    }
}

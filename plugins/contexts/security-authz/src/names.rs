//! Names of roles, privileges and subjects.

use std::fmt;

use rialto_sdk::operators::{Kind, Problem};
use serde::{Deserialize, Serialize};

/// The roles of the operator's document, and `client`, which participants' applications have.
pub const BUILT_IN: [&str; 6] = ["admin", "checker", CLIENT, "context", "maker", "reader"];
/// The role that every application of a participant has.
pub const CLIENT: &str = "client";
/// The longest name of a role.
const ROLE_CHARS_MAX: usize = 32;
/// The longest name of a subject, as that of an operator.
const SUBJECT_CHARS_MAX: usize = 64;

/// A privilege: an operation of a component. Its text is `component/operation`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Privilege(String);

impl Privilege {
    /// The privilege of an operation.
    #[must_use]
    pub fn of(component: &str, operation: &str) -> Self {
        Self(format!("{component}/{operation}"))
    }

    /// Component and operation.
    #[must_use]
    pub fn parts(&self) -> (&str, &str) {
        self.0.split_once('/').unwrap_or((&self.0, ""))
    }
}

impl fmt::Display for Privilege {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who has roles or keys. Its text is `operator/anna`, `application/<UUID>` or `context/<name>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Subject(String);

/// The kind of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubjectKind {
    /// A person of the operator's document.
    Operator,
    /// A participant's application, by its id.
    Application,
    /// A context outside of the host.
    Context,
}

impl Subject {
    /// A person.
    #[must_use]
    pub fn operator(person: &str) -> Self {
        Self(format!("operator/{person}"))
    }

    /// A context outside of the host.
    #[must_use]
    pub fn context(name: &str) -> Self {
        Self(format!("context/{name}"))
    }

    /// An application.
    #[must_use]
    pub fn application(id: &str) -> Self {
        Self(format!("application/{id}"))
    }

    /// Read a subject.
    ///
    /// # Errors
    /// When it has another form.
    pub fn read(text: &str) -> Result<Self, Problem> {
        let subject = Self(text.to_owned());
        match subject.parts() {
            Some((_, name)) if is_plain(name) => Ok(subject),
            _ => {
                let detail = format!(
                    "a subject is `operator/`, `application/` or `context/`, and 1 to {SUBJECT_CHARS_MAX} letters, digits, `.`, `-` or `_`"
                );
                Err(Problem::new(Kind::Malformed, detail))
            }
        }
    }

    /// Its kind and name.
    #[must_use]
    pub fn parts(&self) -> Option<(SubjectKind, &str)> {
        let (kind, name) = self.0.split_once('/')?;
        let kind = match kind {
            "operator" => SubjectKind::Operator,
            "application" => SubjectKind::Application,
            "context" => SubjectKind::Context,
            _ => return None,
        };
        Some((kind, name))
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }
}

fn is_plain(name: &str) -> bool {
    (1..=SUBJECT_CHARS_MAX).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
}

/// Check the name of a role.
///
/// # Errors
/// When it has another form.
pub fn check_role(name: &str) -> Result<(), Problem> {
    let is_right = (1..=ROLE_CHARS_MAX).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if is_right {
        return Ok(());
    }
    let detail = format!(
        "the name of a role has 1 to {ROLE_CHARS_MAX} lower-case letters, digits and `-`, a letter first"
    );
    Err(Problem::new(Kind::Malformed, detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_and_roles_of_other_forms_are_refused() {
        for right in ["operator/anna", "application/f-1", "context/a.b_c"] {
            assert_eq!(Subject::read(right).unwrap().text(), right);
        }
        let long = format!("operator/{}", "a".repeat(65));
        for wrong in [
            "anna",
            "operator/",
            "role/a",
            "operator/a/b",
            "operator/ä",
            &long,
        ] {
            assert_eq!(
                Subject::read(wrong).unwrap_err().kind,
                Kind::Malformed,
                "{wrong}"
            );
        }
        for right in ["a", "treasury-2"] {
            assert_eq!(check_role(right), Ok(()));
        }
        let long = "a".repeat(33);
        for wrong in ["", "2a", "-a", "A", "a_b", &long] {
            assert!(check_role(wrong).is_err(), "{wrong}");
        }
    }
}

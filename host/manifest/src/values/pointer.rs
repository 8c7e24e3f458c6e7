//! JSON pointers (RFC 6901), which name one value in settings.

use std::fmt;
use std::str::FromStr;

use super::{Invalid, text_value};

/// The most bytes of a pointer.
const BYTES_MAX: usize = 256;

/// The place of one value in a JSON document: `/limits/0/maximum`. Never the whole document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pointer(String);

text_value!(
    Pointer,
    "json-pointer",
    "a JSON pointer",
    "/limits/0/maximum",
    "^(/([^~/]|~[01])*)+$"
);

impl Pointer {
    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The pointer of the value around it, and the last key.
    #[must_use]
    pub fn split(&self) -> (&str, String) {
        let (around, key) = self.0.rsplit_once('/').unwrap_or(("", &self.0));
        (around, key.replace("~1", "/").replace("~0", "~"))
    }

    /// Whether it names the same value as a pointer, or one around it.
    #[must_use]
    pub fn is_around(&self, pointer: &str) -> bool {
        let rest = pointer.strip_prefix(&self.0);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Pointer {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if !text.starts_with('/') {
            return Err(Invalid::new(
                "write the keys on the way to one setting, each behind a slash, as in `/limits/0/maximum`",
            ));
        }
        if text.len() > BYTES_MAX {
            return Err(Invalid::new(format!(
                "it has more than {BYTES_MAX} characters"
            )));
        }
        let mut behind = text.split('~').skip(1);
        if text.chars().any(char::is_control)
            || !behind.all(|rest| rest.starts_with('0') || rest.starts_with('1'))
        {
            return Err(Invalid::new(
                "in a key, write `~0` for a tilde and `~1` for a slash, and no control character",
            ));
        }
        Ok(Self(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    #[test]
    fn pointers_name_one_value() {
        let pointer: Pointer = "/limits/0/a~1b~0c".parse().unwrap();
        assert_eq!(pointer.split(), ("/limits/0", "a/b~c".to_owned()));
        assert_eq!("/a".parse::<Pointer>().unwrap().split().0, "");
        for wrong in ["", "limits", "/a~", "/a~2", "/a\n", &"/a".repeat(200)] {
            assert!(wrong.parse::<Pointer>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn pointer_is_around_what_is_in_it() {
        let pointer: Pointer = "/limits/1".parse().unwrap();
        for inside in ["/limits/1", "/limits/1/maximum"] {
            assert!(pointer.is_around(inside), "{inside}");
        }
        for outside in ["/limits", "/limits/10", "/limits/0"] {
            assert!(!pointer.is_around(outside), "{outside}");
        }
    }
}

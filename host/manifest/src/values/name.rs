//! Names in kebab-case, and patterns of interface names as grants write them.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::{Invalid, text_value};

/// The longest name, in characters: names become file names, labels and parts of document ids.
const NAME_LENGTH_MAX: usize = 64;

/// A name in kebab-case: of a context, a rule, a step, a listener, a scheme.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

text_value!(
    Name,
    "name",
    "a name",
    "account-lookup",
    r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$"
);

impl Name {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as shared text.
    #[must_use]
    pub fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

/// Allows lookups in a map of names by plain text.
impl std::borrow::Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_kebab_case(text: &str) -> bool {
    let word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    text.starts_with(|c: char| c.is_ascii_lowercase()) && text.split('-').all(word)
}

impl FromStr for Name {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text.len() > NAME_LENGTH_MAX {
            return Err(Invalid::new(format!(
                "a name has at most {NAME_LENGTH_MAX} characters"
            )));
        }
        if !is_kebab_case(text) {
            return Err(Invalid::new(
                "names are kebab-case: lower-case letters and digits, joined by single hyphens, a letter first",
            ));
        }
        Ok(Self(text.into()))
    }
}

/// An interface by package and name, `quoting/get-agreement`, or a whole package, `quoting/*`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfacePattern {
    /// The package.
    pub package: Name,
    /// The interface; none for all of the package.
    pub interface: Option<Name>,
}

text_value!(
    InterfacePattern,
    "interface-pattern",
    "an interface",
    "quoting/get-agreement",
    r"^[a-z][a-z0-9]*(-[a-z0-9]+)*/([a-z][a-z0-9]*(-[a-z0-9]+)*|\*)$"
);

impl fmt::Display for InterfacePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.interface {
            Some(interface) => write!(f, "{}/{interface}", self.package),
            None => write!(f, "{}/*", self.package),
        }
    }
}

impl FromStr for InterfacePattern {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (package, interface) = text.split_once('/').ok_or_else(|| {
            Invalid::new("write package and interface, `quoting/get-agreement`, or `quoting/*`")
        })?;
        Ok(Self {
            package: package.parse()?,
            interface: match interface {
                "*" => None,
                name => Some(name.parse()?),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kebab_case() {
        for good in ["a", "account-lookup", "a1-2b", &"a".repeat(64)] {
            assert_eq!(good.parse::<Name>().unwrap().as_str(), good);
        }
        for bad in [
            "",
            "A",
            "a_b",
            "-a",
            "a-",
            "a--b",
            "1a",
            "a b",
            "ä",
            "a/b",
            "../a",
            &"a".repeat(65),
        ] {
            assert!(bad.parse::<Name>().is_err(), "{bad}");
        }
    }

    #[test]
    fn interface_patterns_name_an_interface_or_a_package() {
        for good in ["quoting/get-agreement", "quoting/*"] {
            assert_eq!(good.parse::<InterfacePattern>().unwrap().to_string(), good);
        }
        for bad in [
            "quoting",
            "*",
            "*/*",
            "quoting/",
            "/x",
            "a/b/c",
            "a/b*",
            "rialto:a/b",
        ] {
            assert!(bad.parse::<InterfacePattern>().is_err(), "{bad}");
        }
    }
}

//! The issuer of an OpenID provider.

use std::fmt;
use std::str::FromStr;

use super::origin::BaseUrl;
use super::{Invalid, Origin, text_value};

/// An issuer's URL. It keeps its text octet by octet, because the provider's tokens have the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Issuer {
    text: String,
    base: BaseUrl,
}

text_value!(
    Issuer,
    "issuer",
    "an issuer",
    "https://id.example/realms/hub",
    r"^https?://[^/?#@]+(/[^?#]*)?$"
);

impl Issuer {
    /// Its origin.
    #[must_use]
    pub const fn origin(&self) -> &Origin {
        self.base.origin()
    }
}

impl fmt::Display for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Issuer {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Ok(Self {
            text: text.to_owned(),
            base: text.parse()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_an_issuer_stays_as_it_is() {
        for text in [
            "https://id.example",
            "https://ID.example/",
            "https://id.example/realms/hub/",
        ] {
            let issuer: Issuer = text.parse().unwrap();
            assert_eq!(issuer.to_string(), text);
            assert_eq!(issuer.origin().host, "id.example");
        }
        for bad in [
            "id.example",
            "https://id.example/?a",
            "https://id.example/#",
        ] {
            assert!(bad.parse::<Issuer>().is_err(), "{bad}");
        }
    }
}

//! URLs of databases.

use std::fmt;
use std::str::FromStr;

use super::{Invalid, text_value};

/// The URL of a PostgreSQL database. It has no password, because documents are copied and shown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DatabaseUrl(String);

text_value!(
    DatabaseUrl,
    "database-url",
    "the URL of a PostgreSQL database",
    "postgres://rialto@db.example/scheme?sslmode=verify-full",
    r"^postgres(ql)?://[^/?#]*/[^/?#]+(\?[^#]*)?$"
);

/// The parameters that a URL may have.
const PARAMETERS: [&str; 7] = [
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "host",
    "port",
    "user",
];

impl DatabaseUrl {
    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for DatabaseUrl {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let rest = text
            .strip_prefix("postgres://")
            .or_else(|| text.strip_prefix("postgresql://"));
        let rest = rest.ok_or_else(|| Invalid::new("it begins with `postgres://`"))?;
        let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = place.split_once('/').unwrap_or((place, ""));
        if text.contains(['#', '\0', ' ', '\n']) {
            return Err(Invalid::new("it has no fragment and no spaces"));
        }
        if database.is_empty() || database.contains('/') {
            return Err(Invalid::new(
                "it ends with `/` and the name of the database",
            ));
        }
        let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
        let names = parameters
            .split('&')
            .map(|one| one.split('=').next().unwrap_or(one));
        let mut names = names.filter(|name| !name.is_empty());
        if user.contains(':') || names.clone().any(|name| name.starts_with("pass")) {
            return Err(Invalid::new(
                "it has no password: put that into the file that the variable PGPASSFILE names, or use a client certificate",
            ));
        }
        if let Some(name) = names.find(|name| !PARAMETERS.contains(name)) {
            let known = PARAMETERS.join("`, `");
            let why = format!("it has the parameter `{name}`, and the host knows `{known}`");
            return Err(Invalid::new(why));
        }
        Ok(Self(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_url_names_a_database_and_no_password() {
        for (text, is_one) in [
            ("postgres://rialto@db.example/scheme", true),
            (
                "postgresql://db.example:5433/scheme?sslmode=verify-full",
                true,
            ),
            ("postgres:///scheme?host=/run/postgresql", true),
            ("postgres://[::1]:5432/scheme", true),
            ("postgres://rialto:secret@db.example/scheme", false),
            ("postgres://db.example/scheme?password=secret", false),
            ("postgres://db.example/scheme?p%61ssword=secret", false),
            ("postgres://db.example/scheme?Password=secret", false),
            (
                "postgres://db.example/scheme?sslmode=verify-full&sslrootcert=/a.pem",
                true,
            ),
            ("postgres://db.example", false),
            ("postgres://db.example/", false),
            ("postgres://db.example/a/b", false),
            ("mysql://db.example/scheme", false),
            ("postgres://db.example/scheme#part", false),
        ] {
            assert_eq!(text.parse::<DatabaseUrl>().is_ok(), is_one, "{text}");
        }
        let refused = "postgres://a:b@c/d".parse::<DatabaseUrl>().unwrap_err();
        assert!(!refused.to_string().contains("a:b"), "{refused}");
    }
}

//! The OpenAPI document of this component, changed by its settings.
//!
//! The host routes and validates by this document alone. So a setting that admits more messages changes the
//! document that the host gets. Such messages are then brought into their usual form ([`crate::usual`]). The
//! file itself is the document for the default settings, which is the API definition's.

use crate::settings::{Deviation, IdFormat, Settings};

/// The document of the defaults.
const DOCUMENT: &str = include_str!("../openapi.yaml");

/// The paths of what-if, and the schema of its answers.
const WHAT_IF: &str = include_str!("../what-if.yaml");
const WHAT_IF_SCHEMAS: &str = include_str!("../what-if-schemas.yaml");

/// The lines before which these are inserted.
const COMPONENTS: &str = "\n\ncomponents:\n";
const SCHEMAS: &str = "\n  schemas:\n";

/// The pattern of ids in the default document, without anchors.
const UUID: &str = "[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}";
/// A UUID of any version of RFC 9562.
const UUID_ANY: &str = "[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}";
/// A ULID in its canonical spelling: 26 characters of Crockford's base 32. The first is at most 7, since a ULID
/// has 128 bits.
const ULID: &str = "[0-7][0-9A-HJKMNP-TV-Z]{25}";

/// The text in lines with a media type's pattern.
const MEDIA: &str = "'^application/vnd\\.interoperability\\.";
/// The end of the media type in such a pattern, before its version.
const SUFFIX: &str = "\\+json";
/// A redundant parameter: JSON is always UTF-8.
const CHARSET: &str = "(?:\\s?;\\s?[Cc][Hh][Aa][Rr][Ss][Ee][Tt]=\"?[Uu][Tt][Ff]-8\"?)?";

/// What begins the lines with the versions of a resource, and what ends the list in them.
const VERSIONS: &str = "x-rialto-version: {supported: [";
const LAST: &str = "'], pattern:";

/// The line before which the extension for trailing slashes is inserted.
const PATHS: &str = "\npaths:\n";

/// The document for these settings.
#[must_use]
pub fn of(settings: &Settings) -> String {
    let mut document = DOCUMENT.to_owned();
    if settings.what_if.participants {
        let with = format!("\n{WHAT_IF}\ncomponents:\n");
        document = document.replacen(COMPONENTS, &with, 1);
        document = document.replacen(SCHEMAS, &format!("{SCHEMAS}{WHAT_IF_SCHEMAS}"), 1);
    }
    if settings.id_formats != [IdFormat::Uuid] {
        document = document.replace(&format!("'^{UUID}$'"), &format!("'{}'", ids(settings)));
    }
    if settings.resource_version2 == Deviation::Accept {
        document = with_version2(&document);
    }
    if settings.charset_parameter == Deviation::Accept {
        document = with_charset(&document);
    }
    if settings.trailing_slash == Deviation::Accept {
        document = document.replacen(PATHS, &format!("\nx-rialto-trailing-slash: true{PATHS}"), 1);
    }
    document
}

/// The pattern of ids.
fn ids(settings: &Settings) -> String {
    let formats = settings.id_formats.iter();
    let patterns: Vec<&str> = formats
        .map(|format| match format {
            IdFormat::Uuid => UUID,
            IdFormat::UuidAny => UUID_ANY,
            IdFormat::Ulid => ULID,
        })
        .collect();
    format!("^(?:{})$", patterns.join("|"))
}

/// The document with version 2.0 of each resource.
fn with_version2(document: &str) -> String {
    let last = format!("', '2.0{LAST}");
    changed(document, VERSIONS, |line| line.replacen(LAST, &last, 1))
}

/// The document with a charset in each media type, before or after the version.
fn with_charset(document: &str) -> String {
    changed(document, MEDIA, |line| {
        let line = line.replace(SUFFIX, &format!("{SUFFIX}{CHARSET}"));
        line.replace("$'", &format!("{CHARSET}$'"))
    })
}

/// The document with each line changed that has this.
fn changed(document: &str, what: &str, change: impl Fn(&str) -> String) -> String {
    let mut whole = String::with_capacity(document.len() + 8_192);
    for line in document.split_inclusive('\n') {
        if line.contains(what) {
            whole.push_str(&change(line));
        } else {
            whole.push_str(line);
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_with<'a>(document: &'a str, what: &str) -> Vec<&'a str> {
        document.lines().filter(|l| l.contains(what)).collect()
    }

    #[test]
    fn the_document_of_the_defaults_is_the_file() {
        assert_eq!(of(&Settings::default()), DOCUMENT);
    }

    #[test]
    fn ids_are_of_the_formats_that_are_set() {
        let document = of(&Settings {
            id_formats: vec![IdFormat::Uuid, IdFormat::Ulid],
            ..Settings::default()
        });
        let expected = format!("      pattern: '^(?:{UUID}|{ULID})$'");
        assert_eq!(lines_with(&document, UUID), [expected]);
        assert_eq!(document.lines().count(), DOCUMENT.lines().count());
        let ulids = of(&Settings {
            id_formats: vec![IdFormat::Ulid],
            ..Settings::default()
        });
        assert!(!ulids.contains(UUID) && ulids.contains(ULID));
    }

    #[test]
    fn media_types_may_have_a_charset_if_set() {
        let document = of(&Settings {
            charset_parameter: Deviation::Accept,
            ..Settings::default()
        });
        let before = lines_with(DOCUMENT, MEDIA);
        let after = lines_with(&document, MEDIA);
        // Accept and Content-Type of four resources, each in its schema and in the host's extension.
        assert_eq!((before.len(), after.len()), (16, 16));
        for (before, after) in before.iter().zip(after) {
            assert_eq!(after.matches(CHARSET).count(), 2, "{after}");
            assert_eq!(after.replace(CHARSET, ""), **before);
            assert!(after.contains(&format!("{CHARSET}$'}}")), "{after}");
        }
    }

    #[test]
    fn version_2_of_each_resource_is_served_if_set() {
        let document = of(&Settings {
            resource_version2: Deviation::Accept,
            ..Settings::default()
        });
        let before = lines_with(DOCUMENT, VERSIONS);
        let after = lines_with(&document, VERSIONS);
        // Accept and Content-Type of four resources.
        assert_eq!((before.len(), after.len()), (8, 8));
        for (before, after) in before.iter().zip(after) {
            assert!(after.contains(", '2.0'], pattern:"), "{after}");
            assert_eq!(after.replacen(", '2.0'", "", 1), **before);
        }
        assert_eq!(document.len(), DOCUMENT.len() + 8 * ", '2.0'".len());
    }

    #[test]
    fn participants_may_ask_what_if_only_if_set() {
        let document = of(&Settings {
            what_if: crate::settings::WhatIf {
                participants: true,
                ..Default::default()
            },
            ..Settings::default()
        });
        for operation in crate::what_if::OPERATIONS {
            let line = format!("operationId: {operation}");
            assert_eq!(lines_with(&document, &line).len(), 1);
            assert!(!DOCUMENT.contains(&line));
        }
        let added = WHAT_IF.lines().count() + WHAT_IF_SCHEMAS.lines().count();
        assert_eq!(document.lines().count(), DOCUMENT.lines().count() + added);
        assert_eq!(lines_with(&document, "    WhatIf:").len(), 1);
    }

    #[test]
    fn trailing_slash_is_allowed_if_set() {
        let document = of(&Settings {
            trailing_slash: Deviation::Accept,
            ..Settings::default()
        });
        assert!(document.contains("\nx-rialto-trailing-slash: true\npaths:\n"));
        assert_eq!(document.lines().count(), DOCUMENT.lines().count() + 1);
    }
}

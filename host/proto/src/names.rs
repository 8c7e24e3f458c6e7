//! Converts WIT names to protobuf's style.

use wit_parser::PackageName;

/// `ledger-account` → `LedgerAccount`
pub fn camel(kebab: &str) -> String {
    let words = kebab.split('-').map(|word| {
        let mut letters = word.chars();
        let first = letters.next().map(|c| c.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    });
    words.collect()
}

/// Whether what has this name in WIT is an id: `id`, `batch-id`, `ids`, `batch-ids`.
pub fn is_id(kebab: &str) -> bool {
    let last = kebab.rsplit('-').next().unwrap_or(kebab);
    last == "id" || last == "ids"
}

/// `ledger-account` → `ledger_account`
pub fn snake(kebab: &str) -> String {
    kebab.to_ascii_lowercase().replace('-', "_")
}

/// `LedgerAccount` → `LEDGER_ACCOUNT`
pub fn screaming(camel: &str) -> String {
    let mut text = String::new();
    for (n, letter) in camel.char_indices() {
        if n > 0 && letter.is_ascii_uppercase() {
            text.push('_');
        }
        text.push(letter.to_ascii_uppercase());
    }
    text
}

/// `ledger_account` → `ledgerAccount`: the name in JSON, as protoc makes it.
pub fn json(snake: &str) -> String {
    let mut text = String::new();
    let mut upper = false;
    for letter in snake.chars() {
        if letter == '_' {
            upper = true;
        } else if upper {
            text.push(letter.to_ascii_uppercase());
            upper = false;
        } else {
            text.push(letter);
        }
    }
    text
}

/// The last part of a full name.
pub fn last(full: &str) -> &str {
    full.rsplit('.').next().unwrap_or(full)
}

/// The versions that a client may take for one another: `v1` for 1.x.y, `v0_3` for 0.3.y, `v0_0_4` for
/// 0.0.4, as semantic versioning has it.
fn track(name: &PackageName) -> Option<String> {
    let version = name.version.as_ref()?;
    Some(match (version.major, version.minor, version.patch) {
        (0, 0, patch) => format!("v0_0_{patch}"),
        (0, minor, _) => format!("v0_{minor}"),
        (major, ..) => format!("v{major}"),
    })
}

/// `rialto:quoting@0.1.0` → `rialto.quoting.v0_1`
pub fn package(name: &PackageName) -> String {
    let mut text = format!("{}.{}", snake(&name.namespace), snake(&name.name));
    if let Some(track) = track(name) {
        text.push('.');
        text.push_str(&track);
    }
    text
}

/// `rialto:quoting@0.1.0` → `rialto/quoting/v0_1/quoting.proto`
pub fn path(name: &PackageName) -> String {
    let folder = package(name).replace('.', "/");
    format!("{folder}/{}.proto", snake(&name.name))
}

/// `rialto:quoting@0.1.0` → `QuotingService`
pub fn service(name: &PackageName) -> String {
    format!("{}Service", camel(&name.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> PackageName {
        let (rest, version) = text.split_once('@').expect("a version");
        let (namespace, name) = rest.split_once(':').expect("a namespace");
        PackageName {
            namespace: namespace.into(),
            name: name.into(),
            version: Some(version.parse().expect("semver")),
        }
    }

    #[test]
    fn names_follow_the_style_guide() {
        assert_eq!(camel("ledger-account-type"), "LedgerAccountType");
        assert_eq!(snake("ledger-account-type"), "ledger_account_type");
        assert_eq!(screaming("LedgerAccountType"), "LEDGER_ACCOUNT_TYPE");
        assert_eq!(screaming("U128"), "U128");
        assert_eq!(json("ledger_account_type"), "ledgerAccountType");
        assert_eq!(json("a_1"), "a1");
    }

    #[test]
    fn compatible_versions_share_a_package() {
        assert_eq!(package(&name("a:b-c@0.1.0")), "a.b_c.v0_1");
        assert_eq!(package(&name("a:b-c@0.1.9")), "a.b_c.v0_1");
        assert_eq!(package(&name("a:b-c@0.2.0")), "a.b_c.v0_2");
        assert_eq!(package(&name("a:b-c@0.0.3")), "a.b_c.v0_0_3");
        assert_eq!(package(&name("a:b-c@2.7.1")), "a.b_c.v2");
        assert_eq!(path(&name("a:b-c@2.7.1")), "a/b_c/v2/b_c.proto");
        assert_eq!(service(&name("a:b-c@2.7.1")), "BCService");
    }
}

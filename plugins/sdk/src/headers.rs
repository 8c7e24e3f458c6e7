//! Header sections: the headers of a message in one string, one line `name: value` each, names in lower case.
//! The contract's `rialto:common/types.header-section`.

/// All headers, in their order.
pub fn each(section: &str) -> impl Iterator<Item = (&str, &str)> {
    section.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        Some((name, value.strip_prefix(' ').unwrap_or(value)))
    })
}

/// The first header of this name (lower case), trimmed.
#[must_use]
pub fn first<'a>(section: &'a str, name: &str) -> Option<&'a str> {
    each(section)
        .find(|(candidate, _)| *candidate == name)
        .map(|(_, value)| value.trim())
}

/// As [`first`], but an empty value counts as none.
#[must_use]
pub fn filled<'a>(section: &'a str, name: &str) -> Option<&'a str> {
    first(section, name).filter(|value| !value.is_empty())
}

/// The headers whose names pass a test.
#[must_use]
pub fn kept(section: &str, keep: impl Fn(&str) -> bool) -> String {
    let mut kept = String::with_capacity(section.len());
    for (name, value) in each(section).filter(|(name, _)| keep(name)) {
        push(&mut kept, name, value);
    }
    kept
}

/// Appends a header. The name is in lower case.
///
/// # Panics
/// If the header could not be read back: a line break in name or value, or a colon in the name. Messages by
/// HTTP have none.
pub fn push(section: &mut String, name: &str, value: &str) {
    let breaks = |byte| matches!(byte, b'\n' | b'\r');
    assert!(
        !value.bytes().any(breaks) && !name.bytes().any(|byte| breaks(byte) || byte == b':'),
        "the header {name:?} cannot have the value {value:?}"
    );
    section.reserve(name.len() + value.len() + 3);
    section.push_str(name);
    section.push_str(": ");
    section.push_str(value);
    section.push('\n');
}

/// The section for the host's list of headers.
#[must_use]
pub fn of_list(headers: &[(String, String)]) -> String {
    let bytes = headers.iter().map(|(n, v)| n.len() + v.len() + 3).sum();
    let mut section = String::with_capacity(bytes);
    for (name, value) in headers {
        push(&mut section, name, value);
    }
    section
}

/// The list for the host.
#[must_use]
pub fn to_list(section: &str) -> Vec<(String, String)> {
    each(section)
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_header_of_a_name_is_found_and_trimmed() {
        let section = "accept:  a \naccept: b\nfspiop-destination:   \n";
        assert_eq!(first(section, "accept"), Some("a"));
        assert_eq!(first(section, "fspiop-destination"), Some(""));
        assert_eq!(filled(section, "fspiop-destination"), None);
        assert_eq!(first(section, "date"), None);
    }

    #[test]
    fn headers_are_kept_by_name() {
        let section = "accept: a\nhost: h\naccept: b\n";
        assert_eq!(
            kept(section, |name| name == "accept"),
            "accept: a\naccept: b\n"
        );
    }

    #[test]
    #[should_panic(expected = "the header \"date\" cannot have the value \"x\\nfspiop-source: y\"")]
    fn a_value_cannot_bring_in_another_header() {
        push(&mut String::new(), "date", "x\nfspiop-source: y");
    }

    #[test]
    fn a_list_comes_back_as_it_was() {
        let values = [
            "",
            " ",
            "a: b",
            ": ",
            "{\"a\":\"b\"}",
            " padded ",
            "\u{e9}\t\u{85}\u{2028}",
        ];
        let list: Vec<_> = values
            .iter()
            .map(|value| ("x-y".to_owned(), (*value).to_owned()))
            .collect();
        assert_eq!(to_list(&of_list(&list)), list);
        assert_eq!(of_list(&[]), "");
    }
}

//! Text that differs from run to run, made the same.

/// The text with every digest replaced by a word.
pub fn without_digests(text: &str) -> String {
    const PREFIX: &str = "sha256:";
    let mut rest = text;
    let mut plain = String::with_capacity(text.len());
    let is_hex = |c: char| c.is_ascii_hexdigit();
    while let Some(place) = rest.find(PREFIX) {
        let (before, digest) = rest.split_at(place + PREFIX.len());
        plain.push_str(before);
        plain.push_str("[digest]");
        rest = digest.trim_start_matches(is_hex).trim_start_matches('…');
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_short_and_long_become_a_word() {
        let text = "a sha256:00ff12…, b sha256:abc\nc sha256";
        assert_eq!(
            without_digests(text),
            "a sha256:[digest], b sha256:[digest]\nc sha256"
        );
    }
}

//! Makes untrusted text safe for a terminal.

/// A text in one line. Each character that controls a terminal (C0, C1, line ends) or changes the order of the text
/// (Unicode's bidirectional controls) becomes a blank.
pub fn plain(text: &str) -> String {
    text.replace(steers, " ")
}

/// The same, with line ends.
pub fn plain_lines(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(plain).collect();
    lines.join("\n")
}

fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_bidirectional_characters_are_removed() {
        assert_eq!(plain("a\n* 3 by ben\u{1b}[2J\u{9b}K"), "a * 3 by ben [2J K");
        assert_eq!(
            plain("pay \u{202e}001\u{202c} \u{2066}x\u{2069}"),
            "pay  001   x "
        );
        assert_eq!(plain("Zoë’s note – naïve"), "Zoë’s note – naïve");
        assert_eq!(plain_lines("a\r\nb\u{1b}c"), "a\nb c");
    }
}

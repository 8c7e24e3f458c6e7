//! Wraps text to the width of the terminal. The rest of a long line is indented further.

use std::io::IsTerminal as _;

/// The widest line, on any terminal: longer lines are hard to read.
const WIDTH_MAX: usize = 120;
/// The narrowest line. A narrower terminal wraps lines itself.
const WIDTH_MIN: usize = 60;
/// The additional indent of the rest of a line, in columns.
const FURTHER: usize = 4;

/// The width in columns: of `COLUMNS`, else of the terminal, else 120.
#[must_use]
pub fn width() -> usize {
    let said = std::env::var("COLUMNS").ok();
    let said = said.and_then(|columns| columns.parse().ok());
    let out = std::io::stdout();
    let wide = said.or_else(|| {
        let size = out
            .is_terminal()
            .then(|| rustix::termios::tcgetwinsize(&out));
        let columns = size?.ok()?.ws_col;
        (columns > 0).then_some(usize::from(columns))
    });
    wide.unwrap_or(WIDTH_MAX).clamp(WIDTH_MIN, WIDTH_MAX)
}

/// Wrap a text to `width` columns. A line is broken in its second half: at a blank, else behind a slash,
/// else behind a hyphen, else where it is full. Colours take no column.
#[must_use]
pub fn wrapped(text: &str, width: usize) -> String {
    let mut wrapped = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        wrap_line(&mut wrapped, line, width);
        wrapped.push_str(end);
    }
    wrapped
}

fn wrap_line(wrapped: &mut String, line: &str, width: usize) {
    let begins = line.chars().take_while(|c| *c == ' ').count();
    let indent = (begins + FURTHER).min(width / 2);
    let (mut rest, mut room) = (line.trim_end(), width);
    while let Some(at) = break_of(rest, room) {
        wrapped.push_str(rest[..at].trim_end());
        wrapped.push('\n');
        wrapped.push_str(&" ".repeat(indent));
        rest = rest[at..].trim_start();
        room = width - indent;
    }
    wrapped.push_str(rest);
}

/// The byte at which a line of more than `room` columns is broken; none if it fits.
fn break_of(line: &str, room: usize) -> Option<usize> {
    let (mut columns, mut is_colour, mut has_begun) = (0, false, false);
    let (mut blank, mut slash, mut hyphen) = (None, None, None);
    for (at, c) in line.char_indices() {
        match c {
            '\u{1b}' => is_colour = true,
            'm' if is_colour => is_colour = false,
            _ if is_colour => {}
            ' ' if columns == room && has_begun => return Some(at),
            _ if columns == room => {
                return blank.or(slash).or(hyphen).or(Some(at));
            }
            c => {
                columns += 1;
                has_begun |= c != ' ';
                if has_begun && columns > room / 2 {
                    match c {
                        ' ' => blank = Some(at),
                        '/' => slash = Some(at + 1),
                        '-' => hyphen = Some(at + 1),
                        _ => {}
                    }
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_fit_stay_as_they_are() {
        let text = "one\n\n  two three\nno end";
        assert_eq!(wrapped(text, 11), text);
    }

    #[test]
    fn a_long_line_goes_on_below_at_a_blank() {
        let text = "  publishes an event to somebody else\nnext\n";
        let expected = "  publishes an event\n      to somebody\n      else\nnext\n";
        assert_eq!(wrapped(text, 20), expected);
    }

    #[test]
    fn what_has_no_blank_is_broken_anywhere() {
        let text = format!("  {}", "x".repeat(40));
        let lines = wrapped(&text, 20);
        assert!(lines.lines().all(|line| line.len() <= 20), "{lines}");
        assert_eq!(lines.matches('x').count(), 40);
    }

    #[test]
    fn a_long_name_breaks_behind_slash_or_hyphen() {
        assert_eq!(
            wrapped("calls a-package/its-function", 20),
            "calls a-package/\n    its-function"
        );
        assert_eq!(
            wrapped("sometimes-a-long-word-goes-on", 20),
            "sometimes-a-long-\n    word-goes-on"
        );
    }

    #[test]
    fn a_far_indented_line_continues_at_the_middle() {
        let text = format!("{}one two three", " ".repeat(14));
        let expected = format!("{}one\n{}two three", " ".repeat(14), " ".repeat(10));
        assert_eq!(wrapped(&text, 20), expected);
    }

    #[test]
    fn colours_take_no_column() {
        let text = "\u{1b}[1m12345\u{1b}[0m \u{1b}[36m1234\u{1b}[0m";
        assert_eq!(wrapped(text, 10), text);
        assert_eq!(wrapped(text, 9).lines().count(), 2);
    }
}

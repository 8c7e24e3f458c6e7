//! The last lines that a component wrote to standard error in one call. They are often the reason for a
//! failure. Components without Rialto's SDK report it only there.

/// Bytes that are kept, the last ones.
const BYTES_MAX: usize = 2_048;
/// The most lines that are shown, the last ones.
const LINES_MAX: usize = 8;
/// The most bytes that are shown.
const TOLD_BYTES_MAX: usize = 1_024;
/// The beginning of a Rust panic's message, after the name of its thread.
const PANIC: &str = " panicked at ";
/// The beginning of a hint for people at a terminal.
const HINT: &str = "note: ";

/// The last bytes of standard error.
#[derive(Debug, Default)]
pub(super) struct Tail(Vec<u8>);

impl Tail {
    /// Add written bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
        let beyond = self.0.len().saturating_sub(BYTES_MAX);
        self.0.drain(..beyond);
    }

    /// Drop all, because another call begins.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The last lines as one, without hints and control characters. If there is a panic's message, begins with it.
    pub(super) fn words(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.0);
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let lines: Vec<&str> = lines.filter(|line| !line.starts_with(HINT)).collect();
        let panic = lines.iter().rposition(|line| line.contains(PANIC));
        let first = panic.unwrap_or_else(|| lines.len().saturating_sub(LINES_MAX));
        let told: Vec<&str> = lines.into_iter().skip(first).take(LINES_MAX).collect();
        let mut told = told.join(" ").replace(char::is_control, " ");
        told.truncate(told.floor_char_boundary(TOLD_BYTES_MAX));
        (!told.is_empty()).then_some(told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(parts: &[&str]) -> Option<String> {
        let mut tail = Tail::default();
        for part in parts {
            tail.push(part.as_bytes());
        }
        tail.words()
    }

    #[test]
    fn a_panic_is_told_from_its_beginning_without_hints() {
        let said = told(&[
            "loading\n\nthread 'main' (1) panicked at a.rs:1:2:\nno ",
            "share\tis left\nnote: run with `RUST_BACKTRACE=1`\n",
        ]);
        let expected = "thread 'main' (1) panicked at a.rs:1:2: no share is left";
        assert_eq!(said.as_deref(), Some(expected));
    }

    #[test]
    fn without_a_panic_the_last_lines_are_told() {
        let lines: Vec<String> = (1..=20).map(|n| format!("{n}\n")).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        assert_eq!(told(&lines).as_deref(), Some("13 14 15 16 17 18 19 20"));
        assert_eq!(told(&[]), None);
        assert_eq!(told(&["\n \n"]), None);
    }

    #[test]
    fn what_is_kept_and_told_is_bounded() {
        let mut tail = Tail::default();
        for _ in 0..1_000 {
            tail.push("ß".repeat(100).as_bytes());
            assert!(tail.0.len() <= BYTES_MAX);
        }
        let words = tail.words().unwrap_or_default();
        assert!((TOLD_BYTES_MAX - 4..=TOLD_BYTES_MAX).contains(&words.len()));
        tail.clear();
        assert_eq!(tail.words(), None);
    }
}

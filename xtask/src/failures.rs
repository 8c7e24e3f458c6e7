//! What failed tests printed, to be told once more after everything else: in a long output, nobody finds it.

/// Most lines of one test: the first ones have its seed, the last ones its panic.
const LINES_MAX: usize = 60;
/// Most characters of a line.
const CHARACTERS_MAX: usize = 1_000;

/// Collects what failed tests printed, from the output of the test runner.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Failures {
    /// The failed tests, each with its heading and its lines.
    tests: Vec<Vec<String>>,
    is_within: bool,
}

impl Failures {
    /// Reads a line of the runner's output.
    pub fn read(&mut self, line: &str) {
        let line = line.trim_end();
        if line.starts_with("---- ") && line.ends_with(" stdout ----") {
            self.is_within = true;
            self.tests.push(Vec::new());
        } else if line == "failures:" {
            self.is_within = false;
        }
        if let (true, Some(test)) = (self.is_within, self.tests.last_mut()) {
            let is_first_empty = line.is_empty() && test.len() <= 1;
            if !is_first_empty {
                test.push(line.chars().take(CHARACTERS_MAX).collect());
            }
        }
    }

    /// The lines to print. A long output loses its middle.
    pub fn lines(&self) -> Vec<String> {
        self.tests.iter().flat_map(|test| shortened(test)).collect()
    }
}

fn shortened(lines: &[String]) -> Vec<String> {
    let Some(left_out) = lines.len().checked_sub(LINES_MAX).filter(|n| *n > 0) else {
        return lines.to_vec();
    };
    let (first, last) = (LINES_MAX / 2, lines.len() - LINES_MAX / 2);
    let note = format!("[{left_out} lines are left out here]");
    [&lines[..first], &[note], &lines[last..]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(output: &str) -> Vec<String> {
        let mut failures = Failures::default();
        output.lines().for_each(|line| failures.read(line));
        failures.lines()
    }

    #[test]
    fn what_failed_tests_printed_is_collected() {
        let output = "test a::good ... ok\ntest a::bad ... FAILED\n\nfailures:\n\n---- a::bad stdout ----\n\
            seed 7\n\nthread 'a::bad' panicked at a.rs:1:1:\nno\n\n---- b stdout ----\nhm\n\n\
            failures:\n    a::bad\n    b\n\ntest result: FAILED. 1 passed; 2 failed;\n";
        let lines = [
            "---- a::bad stdout ----",
            "seed 7",
            "",
            "thread 'a::bad' panicked at a.rs:1:1:",
            "no",
            "",
            "---- b stdout ----",
            "hm",
            "",
        ];
        assert_eq!(of(output), lines);
    }

    #[test]
    fn long_output_loses_its_middle() {
        let numbers: String = (0..100).map(|n| format!("{n}\n")).collect();
        let lines = of(&format!("---- a stdout ----\n{numbers}"));
        assert_eq!(lines.len(), LINES_MAX + 1);
        assert_eq!(lines[30], "[41 lines are left out here]");
        assert_eq!([&lines[1], &lines[60]], ["0", "99"]);
    }
}

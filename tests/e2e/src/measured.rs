//! Times that tests have measured, for who runs `cargo xtask test`. Nobody judges them.

use std::fmt::Display;
use std::io::Write as _;

/// Say what was measured, past the test's captured output.
pub fn measured(what: impl Display) {
    // Whoever has closed the output does not want to know.
    let _ = writeln!(std::io::stdout(), "\nmeasured: {what}");
}

//! Runs the conformance suite: `cargo xtask test conformance`.

use std::process::ExitCode;

use libtest_mimic::Arguments;

fn main() -> ExitCode {
    rialto_conformance::suite::run(Arguments::from_args())
}

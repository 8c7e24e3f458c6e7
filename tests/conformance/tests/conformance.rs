//! Runs the conformance suite: `cargo xtask test conformance`.

use std::process::ExitCode;

fn main() -> ExitCode {
    rialto_conformance::suite::run(std::env::args().skip(1))
}

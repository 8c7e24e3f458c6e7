//! The `rialto` command.

use clap::Parser as _;

#[global_allocator]
static ALLOCATOR: rialto::allocations::Allocator = rialto::allocations::Allocator;

fn main() -> std::process::ExitCode {
    match rialto::cli::run(rialto::cli::Cli::parse()) {
        Ok(code) => code.into(),
        Err(error) => {
            rialto::out::note(format_args!("error: {error:#}"));
            1.into()
        }
    }
}

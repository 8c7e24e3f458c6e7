//! The project's verbs, for people and for continuous integration: `cargo xtask help`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod build;
mod check;
mod console;
mod debian;
mod digest;
mod dist;
mod failures;
mod foreign;
mod fuzz;
mod guests;
mod host;
mod interfaces;
mod matrix;
mod node;
mod process;
mod profile;
mod python;
mod repository;
mod runs;
mod table;
mod test;
mod tidy;
mod times;
mod tools;
mod trained;
mod upgrade;

use times::Times;

/// The project's verbs: `cargo xtask <verb>`.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Build the plugins, wrap them as components, put them into the demonstration scheme, and build the console and the host
    Build,
    /// Check formatting, lints, documentation and the project's own rules; changes nothing
    Check {
        /// Leave out the dependencies' licences and uses, which change with Cargo.lock alone: their tools take minutes to build
        #[arg(long)]
        code: bool,
    },
    /// Check only the project's own rules, which is quick
    Tidy {
        /// Accept the current contracts in wit/: writes wit/frozen.toml, wit/proto.lock.toml and proto/
        #[arg(long)]
        accept_wit: bool,
    },
    /// Build, then run the plugins' tests and the workspace's, and print totals and how long each part took
    Test {
        /// Run only tests whose names contain this; `conformance` runs the conformance suite alone
        filter: Option<String>,
        /// Instead, build a rule with cargo-component and run the tests that need it
        #[arg(long, conflicts_with = "filter")]
        foreign: bool,
        /// Instead, run the tests of payments, transfers and the ledger on this store, and the store's own
        #[arg(long, conflicts_with_all = ["filter", "foreign"])]
        store: Option<test::OtherStore>,
        /// Instead, build this commit, and test that hosts of it can be replaced by hosts of this one under load
        #[arg(long, value_name = "COMMIT", conflicts_with_all = ["filter", "foreign", "store"])]
        upgrade_from: Option<String>,
    },
    /// Build the fuzz targets, then run them from their seeds
    Fuzz {
        /// Run only this target of fuzz/fuzz_targets
        target: Option<String>,
        /// The time of each target, in seconds
        #[arg(long, default_value_t = 60)]
        seconds: u64,
    },
    /// Count the rows of the interface catalogue that the last run of all tests saw work, and compare them with
    /// the checked-in ones
    Interfaces {
        /// Add the seen rows to tests/conformance/seen.json
        #[arg(long)]
        accept: bool,
    },
    /// Build for operators, and make an archive of binary, components, documents and contracts, with its
    /// SHA-256, in target/dist
    Dist {
        /// Optimize by the counts of an earlier build (its .profdata file), which makes the same binary
        #[arg(long, value_name = "FILE")]
        profile: Option<PathBuf>,
    },
    /// Build and run the demonstration: one payment and its story
    Demo {
        /// Arguments of `rialto-demo`, such as --keep or --json
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Build, then make a store with many participants and transfers, for measurements
    Fill {
        /// Arguments of `rialto-filler`: --place DIR, --participants, --transfers, --seed
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Build as `dist` does, then measure payments a second on the demonstration scheme
    Bench {
        /// Measure a build without a profile, which takes a third of the time to make
        #[arg(long)]
        untrained: bool,
        /// Measure this program, which was built before, to compare it with another
        #[arg(long, value_name = "FILE", conflicts_with = "untrained")]
        program: Option<PathBuf>,
        /// Print the table of docs/performance.md: where the host's processor time goes, its system calls, and
        /// latencies in a closed and an open loop
        #[arg(long, conflicts_with = "arguments")]
        table: bool,
        /// Print how the cost of a payment grows with participants, stored transfers, sizes of bodies, rules and
        /// signatures
        #[arg(long, conflicts_with_all = ["arguments", "table"])]
        matrix: bool,
        /// The stored transfers of the matrix
        #[arg(long, requires = "matrix", default_value_t = 10_000_000)]
        transfers: u64,
        /// Arguments of `rialto bench`, such as --json
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().verb {
        Verb::Build => build::build(&mut Times::default()),
        Verb::Check { code } => check::check(code),
        Verb::Tidy { accept_wit } => tidy::tidy(accept_wit),
        Verb::Test { foreign: true, .. } => foreign::test(),
        Verb::Test {
            store: Some(store), ..
        } => test::on(store),
        Verb::Test {
            upgrade_from: Some(commit),
            ..
        } => upgrade::test(&commit),
        Verb::Test { filter, .. } => test::test(filter.as_deref()),
        Verb::Fuzz { target, seconds } => fuzz::fuzz(target.as_deref(), seconds),
        Verb::Interfaces { accept: true } => interfaces::accept(),
        Verb::Interfaces { accept: false } => interfaces::show(),
        Verb::Dist { profile } => dist::dist(profile.as_deref()),
        Verb::Demo { arguments } => host::demo(&arguments),
        Verb::Bench {
            untrained,
            program,
            table: true,
            ..
        } => host::measured(program, !untrained).and_then(|rialto| table::print(&rialto)),
        Verb::Bench {
            untrained,
            program,
            matrix: true,
            transfers,
            ..
        } => host::filler(program.as_deref()).and_then(|filler| {
            let rialto = host::measured(program, !untrained)?;
            matrix::print(&rialto, &filler, transfers)
        }),
        Verb::Bench {
            untrained,
            program,
            arguments,
            ..
        } => {
            host::measured(program, !untrained).and_then(|rialto| host::bench(&rialto, &arguments))
        }
        Verb::Fill { arguments } => host::fill(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

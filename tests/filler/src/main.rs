//! `rialto-filler`: a scheme of many participants, and a store of it with many transfers.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, ensure};
use clap::Parser;
use rialto_filler::{Fill, fill, scheme};

/// Make a scheme with many participants, have a host bring them in, and fill its store with transfers
/// as a host would have left them.
#[derive(Debug, Parser)]
struct Arguments {
    /// The scheme that is copied.
    scheme: PathBuf,
    /// The folder that gets `scheme` and `state`; a store that is there already is filled.
    #[arg(long, value_name = "DIR")]
    place: PathBuf,
    /// Participants in all.
    #[arg(long, default_value_t = 10_000)]
    participants: usize,
    /// Transfers.
    #[arg(long, default_value_t = 10_000_000)]
    transfers: u64,
    /// The same seed gives the same ids.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[expect(clippy::print_stdout, reason = "a command tells how far it is")]
fn main() -> anyhow::Result<()> {
    let of = Arguments::parse();
    let (copy, state) = (of.place.join("scheme"), of.place.join("state"));
    // It lies beside this one.
    let program = std::env::current_exe()?.with_file_name("rialto");
    let rialto = |arguments: &dyn Fn(&mut Command)| -> anyhow::Result<()> {
        let mut command = Command::new(&program);
        arguments(&mut command);
        let status = command.status();
        let status = status.with_context(|| format!("starting {}", program.display()))?;
        ensure!(status.success(), "{command:?} failed");
        Ok(())
    };
    if !state.exists() {
        scheme::write(&of.scheme, &copy, of.participants)?;
        println!(
            "{} participants come in, and a few payments are made",
            of.participants
        );
        rialto(&|command| {
            command
                .args(["bench", "--seconds", "1", "--warm-up", "1", "--state"])
                .arg(&state)
                .arg(&copy);
        })?;
    }
    let wanted = Fill {
        transfers: of.transfers,
        seed: of.seed,
    };
    let filled = fill(&state, wanted, &mut |text| println!("{text}"))?;
    println!(
        "{} transfers, {} documents in {:.0} s: {:.0} bytes a transfer, {:.1} s for 100,000",
        filled.transfers,
        filled.documents,
        filled.seconds,
        filled.bytes as f64 / filled.transfers as f64,
        filled.seconds * 100_000.0 / filled.transfers as f64
    );
    rialto(&|command| {
        command.args(["ledger", "check", "--state"]).arg(&state);
    })
}

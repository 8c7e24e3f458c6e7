//! What to try next, as commands that work as they stand.

use std::path::Path;

use rialto::{out, words};

/// A demonstration that runs on.
pub struct Running<'a> {
    /// The folder of its store.
    pub store: &'a Path,
    /// The id of its transfer.
    pub transfer: &'a str,
}

/// Tell it: what to look at in a demonstration that runs on; what else to run after one that has ended.
///
/// # Errors
/// When standard output takes no more.
pub fn print(scheme: &Path, runs: Option<&Running>, columns: usize) -> Result<(), out::Unwritten> {
    let scheme = scheme.display();
    let commands = match runs {
        Some(Running { store, transfer }) => vec![
            (
                "tell commands which host is meant",
                format!(
                    "export RIALTO_SCHEME={scheme} RIALTO_STATE={}",
                    store.display()
                ),
            ),
            (
                "see every turn about the transfer",
                format!("rialto events {transfer}"),
            ),
            (
                "see every verdict about it, and have the rules asked again",
                format!("rialto receipts {transfer} --again"),
            ),
            (
                "have the ledger read anew and checked",
                "rialto ledger check".to_owned(),
            ),
        ],
        None => vec![
            (
                "leave all of it running, to look into it",
                "cargo xtask demo --keep".to_owned(),
            ),
            (
                "pay too much, and see the rule that refuses it",
                "cargo xtask demo --amount 10001".to_owned(),
            ),
            (
                "see who calls whom, and which rule guards what",
                format!("rialto check {scheme}"),
            ),
            (
                "have the same story for programs",
                "cargo xtask demo --json".to_owned(),
            ),
        ],
    };
    out::line("\nWhat to try next\n")?;
    for (what, command) in commands {
        let both = format!("  {what}\n      {command}\n");
        out::text(words::folded(&both, columns))?;
    }
    Ok(())
}

//! What to try next, as commands that work as they stand.

use std::path::{Path, PathBuf};

use rialto::{out, words};

/// A demonstration that runs on.
pub struct Running<'a> {
    /// The folder of its store.
    pub store: &'a Path,
    /// The id of its transfer.
    pub transfer: &'a str,
    /// With `--secure`: how an FSP is asked for by curl, and who asks.
    pub secured: Option<Asking>,
}

/// How messages are sent by curl in the name of an FSP that needs a certificate.
pub struct Asking {
    /// The operator whose token commands use.
    pub operator: &'static str,
    /// The command.
    pub curl: String,
}

/// Tell it: what to look at in a demonstration that runs on; what else to run after one that has ended.
///
/// # Errors
/// When standard output takes no more.
pub fn print(scheme: &Path, runs: Option<&Running>, columns: usize) -> Result<(), out::Unwritten> {
    let scheme = scheme.display();
    let folder = folder();
    let program = program(&folder);
    let commands = match runs {
        Some(Running {
            store,
            transfer,
            secured,
        }) => vec![
            (
                "tell commands which host is meant",
                format!(
                    "export PATH=\"{}:$PATH\" RIALTO_SCHEME={scheme} RIALTO_STATE={}{}",
                    folder.display(),
                    store.display(),
                    secured.as_ref().map_or_else(String::new, |asking| {
                        format!(" RIALTO_OPERATOR={}", asking.operator)
                    })
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
        ]
        .into_iter()
        .chain(secured.iter().map(|asking| {
            let what = "send a message in the name of an FSP, by its certificate";
            (what, asking.curl.clone())
        }))
        .collect(),
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
                "have FSPs prove who they are by certificates and access tokens, and sign their messages",
                "cargo xtask demo --secure".to_owned(),
            ),
            (
                "see who calls whom, and which rule guards what",
                format!("{program} check {scheme}"),
            ),
            (
                "have the same story for programs",
                "cargo xtask demo --json".to_owned(),
            ),
        ],
    };
    out::line("\nWhat to try next\n")?;
    for (what, command) in commands {
        out::text(words::wrapped(&format!("  {what}\n"), columns))?;
        // In one line, however long: it is to be copied.
        out::text(format!("      {command}\n"))?;
    }
    Ok(())
}

/// The folder of this program, where the build puts `rialto` too.
fn folder() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.parent().map(Path::to_owned).unwrap_or_default()
}

/// The command for `rialto`: its path if it is below the current folder, or else its name.
fn program(folder: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let below = folder.strip_prefix(here).ok();
    let path = below.map(|folder| folder.join("rialto"));
    path.map_or_else(|| "rialto".to_owned(), |path| path.display().to_string())
}

//! Running other programs, and saying so.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Tell the person at the terminal what happens; standard output stays free for results.
pub fn say(what: &str) {
    eprintln!("==> {what}");
}

/// A command in words, for messages.
pub fn words(command: &Command) -> String {
    let words = [command.get_program()]
        .into_iter()
        .chain(command.get_args());
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Run a command; its failure is an error.
pub fn run(command: &mut Command) -> Result<()> {
    let words = words(command);
    let status = command
        .status()
        .with_context(|| format!("cannot run `{words}`"))?;
    ensure!(status.success(), "`{words}` failed: {status}");
    Ok(())
}

/// Whether a command can be run and succeeds; it says nothing.
pub fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// What a command writes to standard output, if it succeeds.
pub fn output(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The cargo that runs this, or the one in the path.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

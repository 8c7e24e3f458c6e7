//! Running other programs, with notes on standard error.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Prints a note to standard error; standard output is for results.
pub fn say(what: &str) {
    eprintln!("==> {what}");
}

/// A command as text, for messages.
pub fn words(command: &Command) -> String {
    let words = [command.get_program()]
        .into_iter()
        .chain(command.get_args());
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Runs a command. Returns an error if it fails.
pub fn run(command: &mut Command) -> Result<()> {
    let words = words(command);
    let status = command
        .status()
        .with_context(|| format!("cannot run `{words}`"))?;
    ensure!(status.success(), "`{words}` failed: {status}");
    Ok(())
}

/// Whether a command succeeds. Discards its output.
pub fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The standard output of a command, if it succeeds.
pub fn output(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The cargo that runs this program, or the one in `PATH`.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// This machine, as the compiler names it.
pub fn target() -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let about = output(Command::new(rustc).arg("-vV")).context("`rustc -vV` failed")?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`rustc -vV` names no host")?.to_owned())
}

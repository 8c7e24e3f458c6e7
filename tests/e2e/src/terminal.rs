//! A terminal that runs a document's commands unchanged: one shell for the whole document.
//!
//! Two things are not as in the document, so that tests can run beside one another. Addresses have ports that are
//! free. And `rialto` is a function of the shell: `rialto init` takes the components that this repository built and
//! gives the new scheme those ports, and `rialto settlement` waits until the host has nothing to do, as a person would
//! have by the time.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use rialto_simulator::ports;
use tempfile::TempDir;

use crate::author;
use crate::binaries;
use crate::compiled;
use crate::handbook::{self, Use};
use crate::host::CliOutput;

/// Seconds that a document may take.
const ENDS_WITHIN: &str = "600";
/// Where documents' hosts listen for operators.
const OPERATORS: &str = "127.0.0.1:4002";
/// The addresses in documents.
const ADDRESSES: [&str; 7] = [
    "127.0.0.1:4001",
    OPERATORS,
    "127.0.0.1:4101",
    "127.0.0.1:4102",
    "127.0.0.1:4201",
    "127.0.0.1:4202",
    "127.0.0.1:4203",
];

/// The first lines of a document's shell.
const PREAMBLE: &str = r#"set -euo pipefail
pids=()
trap 'kill "${pids[@]}" 2> /dev/null || true; wait' EXIT

rialto() {
    case "${1-}" in
        init)
            command rialto "$@" --components "$COMPONENTS"
            sed -i -f "$PORTS" "$2/rialto.toml" "$2/scheme.toml"
            # What other tests' hosts have compiled already.
            mkdir -p -m 700 "$2/state" "$2/state/compiled"
            cp "$COMPILED"/key "$COMPILED"/*.cwasm "$2/state/compiled/" 2> /dev/null || true
            ;;
        settlement)
            idle
            command rialto "$@"
            ;;
        *) command rialto "$@" ;;
    esac
}

# Two looks in a row find nothing to do, and no turn between them.
idle() {
    local before= now
    until now=$(curl -sf "http://$OPERATORS/metrics" | awk '
            /^rialto_(turns_active|turns_alive|turns_delayed|turns_uncommitted|requests_outbound|requests_outbound_on_disk) / { busy += $2 }
            /^rialto_turns_executed_total / { executed = $2 }
            END { print (busy ? "busy" : executed) }') && [ "$now" != busy ] && [ "$now" = "$before" ]; do
        before=$now
        if ! kill -0 "${pids[@]}" 2> /dev/null; then
            echo "the host has ended" >&2
            exit 1
        fi
        sleep 0.05
    done
}

# The last of these processes says that it is ready, or has ended.
ready() {
    until grep -qx ready "$1.out"; do
        if ! kill -0 "${pids[-1]}" 2> /dev/null; then
            cat "$1.out" "$1.err" >&2
            exit 1
        fi
        sleep 0.05
    done
}
"#;

/// See the module's documentation.
pub struct Terminal {
    folder: TempDir,
    ports: BTreeMap<String, String>,
}

impl Terminal {
    /// A terminal in an empty folder.
    ///
    /// # Errors
    /// When the folder cannot be made, or no port is free.
    pub fn open() -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("rialto-test-terminal-")
            .tempdir()
            .context("making a folder")?;
        let ports = ADDRESSES.map(|address| {
            let port = ports::free()?;
            anyhow::Ok((address.to_owned(), format!("127.0.0.1:{port}")))
        });
        let ports = ports.into_iter().collect::<anyhow::Result<_>>()?;
        Ok(Self { folder, ports })
    }

    /// The folder in which commands are typed.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Replaces an address of the documents by this one.
    pub fn place(&mut self, address: &str, at: &str) {
        self.ports.insert(address.to_owned(), at.to_owned());
    }

    /// Type all commands of a document, which all succeed.
    ///
    /// # Errors
    /// If a command fails, with its output and its line.
    pub fn run(&self, document: &str) -> anyhow::Result<CliOutput> {
        let script = self.script(document)?;
        let path = self.path().join(".script");
        fs::write(&path, script).context("writing the script")?;
        let mut ports = String::new();
        for (from, to) in &self.ports {
            let _ = writeln!(ports, "s/{}/{to}/g", from.replace('.', "\\."));
        }
        let edits = self.path().join(".ports");
        fs::write(&edits, ports).context("writing the ports")?;
        let output = CliOutput::of("timeout", |command| {
            command
                .args(["--kill-after=10", ENDS_WITHIN, "bash"])
                .arg(&path)
                .current_dir(self.path())
                .envs(author::CARGO)
                .env("COMPONENTS", components())
                .env("COMPILED", compiled::shared())
                .env("OPERATORS", &self.ports[OPERATORS])
                .env("PORTS", &edits);
            for name in ["RIALTO_SCHEME", "RIALTO_OPERATOR"] {
                command.env_remove(name);
            }
        })?;
        ensure!(
            output.code == 0,
            "{document} does not run as it stands:\n{output}"
        );
        Ok(output)
    }

    /// A document as a script.
    fn script(&self, document: &str) -> anyhow::Result<String> {
        let programs = binaries::rialto()?;
        let programs = programs.parent().context("the programs' folder")?;
        let mut script = format!(
            "{PREAMBLE}PATH={}:$PATH\n",
            quoted(&programs.to_string_lossy())
        );
        let blocks = handbook::blocks(&handbook::read(document)?);
        let blocks = blocks.with_context(|| document.to_owned())?;
        for (n, block) in blocks.iter().enumerate() {
            let place = format!("{document}:{}", block.line);
            let text = self.with_ports(&block.text);
            match &block.used {
                Use::Run(None) => {
                    let _ = writeln!(script, "echo '=== {place}' >&2\n{text}");
                }
                Use::Run(Some(program)) => {
                    let _ = writeln!(
                        script,
                        "echo '=== {place}' >&2\n\
                         if command -v {program} > /dev/null; then\n{text}\nelse echo 'there is no {program}' >&2; fi"
                    );
                }
                Use::Background => {
                    let lines = text.lines().filter(|line| !line.trim().is_empty());
                    for (started, line) in lines.enumerate() {
                        let log = format!(".background-{n}-{started}");
                        let _ = writeln!(
                            script,
                            "echo '=== {place}' >&2\n: > {log}.out\n(\nexec {line}\n) > {log}.out 2> {log}.err &\npids+=($!)\nready {log}"
                        );
                    }
                }
                Use::NotRun(_) | Use::Toml(_) | Use::Json | Use::Shown => {}
            }
        }
        Ok(script)
    }

    fn with_ports(&self, text: &str) -> String {
        let ports = self.ports.iter();
        ports.fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    }
}

/// What `cargo xtask build` made.
pub fn components() -> PathBuf {
    handbook::root().join("target/plugins")
}

/// A word of a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_shell_stays_one() {
        assert_eq!(quoted("/a b/it's"), r"'/a b/it'\''s'");
    }

    #[test]
    fn addresses_of_a_document_have_ports_that_are_free() {
        let mut terminal = Terminal::open().unwrap();
        terminal.place("127.0.0.1:4101", "127.0.0.1:9");
        let text = terminal.with_ports("curl http://127.0.0.1:4101/x http://127.0.0.1:4001/");
        assert!(text.contains("http://127.0.0.1:9/x"), "{text}");
        assert!(!text.contains(":4001"), "{text}");
    }
}

//! A host as a process of its own: start, kill, start again, and its command line.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use crate::binaries;
use crate::compiled;
use crate::office::{OFFICE, OFFICE_TABLE};
use crate::scheme::TestScheme;

/// How long a host may take until it is ready. A first start compiles all components, and other
/// tests may run beside it.
const READY_WITHIN: Duration = Duration::from_secs(120);
/// Lines of a host's log that a failure shows.
const LOG_LINES_SHOWN: usize = 40;

/// The output and exit code of a command.
#[derive(Clone, Debug)]
pub struct CliOutput {
    /// Its exit code; -1 if a signal ended it.
    pub code: i32,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl CliOutput {
    /// Run a program to its end.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn of(
        program: impl AsRef<OsStr>,
        arguments: impl FnOnce(&mut Command),
    ) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        arguments(&mut command);
        command.env("NO_COLOR", "1").env_remove("RIALTO_STATE");
        let output = command
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("running {command:?}"))?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(Self {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        })
    }

    /// Its standard error as one line, without frames and line breaks, which depend on the length of paths.
    pub fn said(&self) -> String {
        let words = self.stderr.split_whitespace();
        let words: Vec<&str> = words.filter(|word| *word != "│").collect();
        words.join(" ")
    }

    /// The output of a command that must have succeeded.
    ///
    /// # Errors
    /// When it did not, with all that it said.
    pub fn success(self) -> anyhow::Result<String> {
        if self.code == 0 {
            return Ok(self.stdout);
        }
        bail!("the command failed:\n{self}");
    }
}

impl fmt::Display for CliOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "exit code: {}\n--- stdout\n{}--- stderr\n{}",
            self.code, self.stdout, self.stderr
        )
    }
}

/// A host that serves a scheme's folder. Dropping it kills it.
pub struct RunningHost {
    /// The `rialto` that it runs.
    program: PathBuf,
    folder: PathBuf,
    /// Environment variables of each start.
    variables: Vec<(String, OsString)>,
    child: Child,
    addresses: BTreeMap<String, String>,
    starts: u32,
}

impl RunningHost {
    /// Start a host and wait until it is ready.
    ///
    /// # Errors
    /// When it ends or is not ready in time, with the end of its log.
    pub fn start(scheme: &TestScheme) -> anyhow::Result<Self> {
        Self::start_with(scheme, &[])
    }

    /// The same, with these environment variables, also when it is started again.
    ///
    /// # Errors
    /// As `start`.
    pub fn start_with(scheme: &TestScheme, variables: &[(&str, &OsStr)]) -> anyhow::Result<Self> {
        Self::start_of(&binaries::rialto()?, scheme, variables)
    }

    /// The same of this `rialto`.
    ///
    /// # Errors
    /// As `start`.
    pub fn start_of(
        program: &Path,
        scheme: &TestScheme,
        variables: &[(&str, &OsStr)],
    ) -> anyhow::Result<Self> {
        let owned = variables.iter();
        let owned: Vec<_> = owned
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let mut host = Self::of(scheme, command(program, scheme.path(), &owned))?;
        host.variables = owned;
        host.program = program.to_owned();
        Ok(host)
    }

    /// Start a host and do not wait: another host serves, and this one is to be a standby. [`Self::wait_until_ready`]
    /// waits until it serves.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn standby(scheme: &TestScheme) -> anyhow::Result<Self> {
        let folder = scheme.path();
        let log = File::create(log_path(folder, 1)).context("making the host's log")?;
        let program = binaries::rialto()?;
        let child = command(&program, folder, &[])
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn();
        Ok(Self {
            program,
            folder: folder.to_owned(),
            variables: Vec::new(),
            child: child.context("starting the host")?,
            addresses: BTreeMap::new(),
            starts: 1,
        })
    }

    /// Wait until a standby serves.
    ///
    /// # Errors
    /// When it ends or is not ready in time, with the end of its log.
    pub fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let out = self
            .child
            .stdout
            .take()
            .context("a standby's standard output")?;
        let ready = addresses(out).with_context(|| log_end(&self.folder, self.starts));
        self.addresses = ready?;
        Ok(())
    }

    /// The same, under this umask.
    ///
    /// # Errors
    /// As `start`.
    pub fn start_under(scheme: &TestScheme, umask: &str) -> anyhow::Result<Self> {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "umask $0 && exec \"$1\" serve \"$2\"", umask])
            .arg(binaries::rialto()?)
            .arg(scheme.path())
            .env_remove("RIALTO_STATE")
            .stdin(Stdio::null());
        Self::of(scheme, shell)
    }

    fn of(scheme: &TestScheme, command: Command) -> anyhow::Result<Self> {
        let folder = scheme.path();
        let (child, addresses) = launch(folder, command, 1)?;
        compiled::keep(&scheme.state())?;
        Ok(Self {
            program: binaries::rialto()?,
            folder: folder.to_owned(),
            variables: Vec::new(),
            child,
            addresses,
            starts: 1,
        })
    }

    /// End it at once (SIGKILL), and wait until it is gone.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill().context("killing the host")?;
        self.child.wait().context("waiting for the host's end")?;
        Ok(())
    }

    /// Stop all of its threads (SIGSTOP), or let them go on (SIGCONT).
    ///
    /// # Errors
    /// When the system refuses.
    pub fn freeze(&self, is_frozen: bool) -> anyhow::Result<()> {
        let signal = if is_frozen { "-STOP" } else { "-CONT" };
        let told = Command::new("kill")
            .args([signal, &self.child.id().to_string()])
            .status();
        anyhow::ensure!(
            told.context("running `kill`")?.success(),
            "`kill {signal}` failed"
        );
        Ok(())
    }

    /// Wait until it ends by itself. Returns its exit code; -1 if a signal ended it.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn wait_for_end(&mut self) -> anyhow::Result<i32> {
        let status = self.child.wait().context("waiting for the host's end")?;
        Ok(status.code().unwrap_or(-1))
    }

    /// Tell it to stop, as a service manager does (SIGTERM). It may take its time.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn terminate(&self) -> anyhow::Result<()> {
        let pid = self.child.id().to_string();
        let told = Command::new("kill").args(["-TERM", &pid]).status();
        let told = told.context("running `kill`")?;
        anyhow::ensure!(told.success(), "`kill -TERM {pid}` failed");
        Ok(())
    }

    /// Stop it as a service manager does (SIGTERM), and wait until it has ended.
    ///
    /// # Errors
    /// When the system refuses, or the host ends with an error.
    pub fn stop(&mut self) -> anyhow::Result<()> {
        self.terminate()?;
        let status = self.child.wait().context("waiting for the host's end")?;
        anyhow::ensure!(status.success(), "the host ended with {status}");
        Ok(())
    }

    /// Kill it if it runs, and start it again on the same store.
    ///
    /// # Errors
    /// As `start`.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        self.kill()?;
        self.starts += 1;
        let command = command(&self.program, &self.folder, &self.variables);
        (self.child, self.addresses) = launch(&self.folder, command, self.starts)?;
        Ok(())
    }

    /// Kill it if it runs, start it again, and kill that one after so long, ready or not.
    ///
    /// # Errors
    /// When it cannot be started or killed.
    pub fn start_and_kill(&mut self, after: Duration) -> anyhow::Result<()> {
        self.kill()?;
        self.starts += 1;
        let log = File::create(log_path(&self.folder, self.starts)).context("making the log")?;
        self.child = command(&self.program, &self.folder, &self.variables)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .context("starting the host")?;
        std::thread::sleep(after);
        self.kill()
    }

    /// The base address of a listener, such as `fsps`.
    ///
    /// # Errors
    /// When the host has no such listener.
    pub fn url(&self, listener: &str) -> anyhow::Result<&str> {
        let address = self.addresses.get(listener);
        let address = address.with_context(|| format!("the host has no listener `{listener}`"))?;
        Ok(address.as_str())
    }

    /// Run a command against this host: `rialto … --at <folder>`.
    ///
    /// # Errors
    /// If the program cannot be run. The caller checks its output.
    pub fn cli<A: AsRef<OsStr>>(&self, command: &[A]) -> anyhow::Result<CliOutput> {
        let document = fs::read_to_string(self.folder.join("rialto.toml"));
        let names_office = document.is_ok_and(|text| text.contains(OFFICE_TABLE.trim()));
        CliOutput::of(self.program.clone(), |c| {
            c.args(command).arg("--at").arg(&self.folder);
            if names_office {
                c.env("RIALTO_OPERATOR", OFFICE);
            }
        })
    }

    /// The log of the latest start.
    pub fn log(&self) -> String {
        fs::read_to_string(log_path(&self.folder, self.starts)).unwrap_or_default()
    }
}

impl Drop for RunningHost {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("{}", log_end(&self.folder, self.starts));
        }
    }
}

fn launch(
    folder: &Path,
    mut command: Command,
    start: u32,
) -> anyhow::Result<(Child, BTreeMap<String, String>)> {
    let log = File::create(log_path(folder, start)).context("making the host's log")?;
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .context("starting the host")?;
    let out = child.stdout.take().context("the host's standard output")?;
    match addresses(out) {
        Ok(addresses) => Ok((child, addresses)),
        Err(error) => {
            let _ = child.kill();
            let _ = child.wait();
            Err(error.context(log_end(folder, start)))
        }
    }
}

/// The command of a host that serves this folder, with these environment variables.
fn command(program: &Path, folder: &Path, variables: &[(String, OsString)]) -> Command {
    let mut command = Command::new(program);
    command
        .arg("serve")
        .arg(folder)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .env_remove("RIALTO_STATE")
        .stdin(Stdio::null());
    command
}

/// Read what a host prints until it says that it is ready.
fn addresses(out: ChildStdout) -> anyhow::Result<BTreeMap<String, String>> {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break; // it is ready: nobody listens any more
            }
        }
    });
    let started = Instant::now();
    let mut addresses = BTreeMap::new();
    loop {
        let left = READY_WITHIN.saturating_sub(started.elapsed());
        match lines.recv_timeout(left) {
            Ok(line) if line == "ready" => return Ok(addresses),
            Ok(line) => {
                let (name, url) = line
                    .split_once(' ')
                    .with_context(|| format!("the host prints `{line}` before it is ready"))?;
                addresses.insert(name.to_owned(), url.to_owned());
            }
            Err(RecvTimeoutError::Disconnected) => bail!("the host ended before it was ready"),
            Err(RecvTimeoutError::Timeout) => {
                bail!("the host was not ready within {} s", READY_WITHIN.as_secs())
            }
        }
    }
}

fn log_path(folder: &Path, start: u32) -> PathBuf {
    folder.join(format!("host-{start}.log"))
}

fn log_end(folder: &Path, start: u32) -> String {
    let path = log_path(folder, start);
    let text = fs::read_to_string(&path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let shown = lines.len().saturating_sub(LOG_LINES_SHOWN);
    format!(
        "the end of the host's log {}:\n{}",
        path.display(),
        lines[shown..].join("\n")
    )
}

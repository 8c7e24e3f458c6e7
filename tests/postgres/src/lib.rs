//! PostgreSQL servers of tests, in temporary folders, on Unix sockets.
//!
//! A shell starts the server and waits for the end of its own input, which is a pipe from this process. So the server and
//! its folder go when this process ends, however it does.

#![forbid(unsafe_code)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The user under whom a server runs when the tests run as root, whom it refuses. Debian's package makes it.
const USER: &str = "postgres";
/// How long a server may take to start or to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server.
pub struct Server {
    folder: PathBuf,
    /// Removed with this value. The shell removes it when this process ends without that.
    _folder: TempDir,
    shell: Child,
}

/// The server that all tests share, each with its own database.
pub fn shared() -> &'static Server {
    static SHARED: OnceLock<Server> = OnceLock::new();
    SHARED.get_or_init(Server::new)
}

/// Whether this machine has PostgreSQL.
pub fn is_installed() -> bool {
    found().is_some()
}

/// The folder of the newest PostgreSQL's programs.
fn programs() -> PathBuf {
    found().expect(
        "no PostgreSQL: `cargo xtask test` installs it on Debian; elsewhere put its programs into PATH",
    )
}

fn found() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut versions: Vec<PathBuf> = versions
        .filter_map(|version| Some(version.ok()?.path().join("bin")))
        .filter(|folder| folder.join("initdb").exists())
        .collect();
    versions.sort();
    let in_path = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).find(|folder| folder.join("initdb").exists())
    };
    versions.pop().or_else(in_path)
}

/// A command for an ordinary user.
fn as_user(program: &Path) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid", USER, "--regid", USER, "--clear-groups"])
        .arg(program)
        .current_dir("/");
    command
}

fn run(command: &mut Command) {
    let output = command.output().expect("the program runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
}

impl Server {
    /// A new server without databases.
    ///
    /// # Panics
    /// When the machine has no PostgreSQL, or it does not start.
    #[allow(clippy::new_without_default, reason = "it starts processes")]
    pub fn new() -> Self {
        Self::with(|data| {
            run(as_user(&programs().join("initdb"))
                .arg("-D")
                .arg(data)
                .args(["-U", "rialto", "-A", "trust", "-E", "UTF8"])
                .args(["--locale", "C", "--no-sync"]));
        })
    }

    /// A replica of a server.
    ///
    /// # Panics
    /// As `new`.
    pub fn replica_of(primary: &Self) -> Self {
        Self::with(|data| {
            run(as_user(&programs().join("pg_basebackup"))
                .arg("-D")
                .arg(data)
                .arg("-h")
                .arg(&primary.folder)
                .args(["-U", "rialto", "-R", "-X", "stream", "-c", "fast"]));
        })
    }

    fn with(fill: impl FnOnce(&Path)) -> Self {
        let temporary = TempDir::new().expect("a temporary folder");
        let folder = temporary.path().to_owned();
        if rustix::process::geteuid().is_root() {
            run(Command::new("chown").arg(USER).arg(&folder));
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))
            .expect("the folder is this process's");
        fill(&folder.join("data"));
        let shell = start(&folder);
        let server = Self {
            folder,
            _folder: temporary,
            shell,
        };
        server.wait();
        server
    }

    /// Its folder, which has its socket.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The URL of a database.
    pub fn url(&self, database: &str) -> String {
        format!(
            "postgres:///{database}?host={}&user=rialto",
            self.folder().display()
        )
    }

    /// Make a database. Returns its name.
    ///
    /// # Panics
    /// When the server refuses.
    pub fn make_database(&self) -> String {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}", MADE.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        name
    }

    /// Run SQL in a database.
    ///
    /// # Panics
    /// When the server refuses.
    pub fn sql(&self, database: &str, text: &str) -> String {
        let said = self.try_sql(database, text);
        said.unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn try_sql(&self, database: &str, text: &str) -> Result<String, String> {
        let output = Command::new(programs().join("psql"))
            .arg("-h")
            .arg(&self.folder)
            .args(["-U", "rialto", "-d", database, "-X", "-A", "-t", "-q"])
            .args(["-v", "ON_ERROR_STOP=1", "-c", text])
            .output()
            .expect("psql runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        match output.status.success() {
            true => Ok(text(&output.stdout)),
            false => Err(text(&output.stderr)),
        }
    }

    fn wait(&self) {
        let until = Instant::now() + PATIENCE;
        while let Err(error) = self.try_sql("postgres", "SELECT 1") {
            let log = || fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            assert!(Instant::now() < until, "{error}\n{}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn pid(&self) -> Option<Pid> {
        let file = fs::read_to_string(self.folder.join("data/postmaster.pid")).ok()?;
        Pid::from_raw(file.lines().next()?.trim().parse().ok()?)
    }

    /// Kill all of the server's processes at once, as a power cut would.
    ///
    /// # Panics
    /// When it does not run.
    pub fn kill(&mut self) {
        let pid = self.pid().expect("a running server has a file with its id");
        let children = format!("/proc/{0}/task/{0}/children", pid.as_raw_nonzero());
        kill_process(pid, Signal::STOP).expect("the server runs");
        let children =
            fs::read_to_string(children).expect("a stopped process has a list of children");
        let children = children
            .split_whitespace()
            .map(|id| id.parse().expect("ids are numbers"));
        let children: Vec<Pid> = children.filter_map(Pid::from_raw).collect();
        for child in &children {
            // It may have ended by itself.
            let _ = kill_process(*child, Signal::KILL);
        }
        kill_process(pid, Signal::KILL).expect("the server is stopped");
        self.end_shell();
        // The next server refuses to start while one of them has the shared memory.
        while children.iter().any(|child| has_memory(*child)) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Have each commit wait for one replica from now on.
    ///
    /// # Panics
    /// When the server refuses, or no replica follows it.
    pub fn wait_for_replica(&self) {
        self.sql(
            "postgres",
            "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'",
        );
        self.sql("postgres", "SELECT pg_reload_conf()");
        let until = Instant::now() + PATIENCE;
        let state = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'quorum'";
        while self.sql("postgres", state) != "1" {
            assert!(Instant::now() < until, "no replica follows the server");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Make this replica a primary.
    ///
    /// # Panics
    /// When it is none.
    pub fn promote(&self) {
        assert_eq!(self.sql("postgres", "SELECT pg_promote(true, 60)"), "t");
    }

    fn end_shell(&mut self) {
        drop(self.shell.stdin.take());
        self.shell
            .wait()
            .expect("the shell is this process's child");
    }

    /// Start the server again after [`Self::kill`].
    ///
    /// # Panics
    /// When it does not start.
    pub fn restart(&mut self) {
        self.shell = start(&self.folder);
        self.wait();
    }
}

/// Start the server in a folder, below a shell that ends it when its input ends.
fn start(folder: &Path) -> Child {
    const SCRIPT: &str = r#"
        "$1/postgres" -D "$0/data" -k "$0" -c listen_addresses= -c max_connections=300 >>"$0/log" 2>&1 &
        cat >/dev/null
        kill -QUIT $! 2>/dev/null
        wait
        # After the process that had the folder, which else removes it.
        [ -d "/proc/$2" ] || rm -rf "$0"
    "#;
    as_user(Path::new("/bin/sh"))
        .args(["-c", SCRIPT])
        .arg(folder)
        .arg(programs())
        .arg(std::process::id().to_string())
        .stdin(Stdio::piped())
        .spawn()
        .expect("a shell starts")
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end_shell();
    }
}

/// Whether a process has memory: one that has ended has none, whether its parent knows of its end or not.
fn has_memory(process: Pid) -> bool {
    let maps = format!("/proc/{}/maps", process.as_raw_nonzero());
    fs::read(maps).is_ok_and(|maps| !maps.is_empty())
}

//! Starts of a host: problems are found before anything is stored, a stored release serves despite a broken
//! folder, a stop is possible meanwhile, and the log shows all of that.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fs::{self, DirBuilder, File};
use std::net::TcpListener;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rialto_store_sqlite::SqliteStore;
use rialto_tests::{CliOutput, RunningHost, TestScheme, binaries};
use serde_json::Value;

/// Longer than a host takes to say that it starts, or to end.
const SOON: Duration = Duration::from_secs(120);

fn serve(scheme: &Path, more: &[&str]) -> CliOutput {
    let output = CliOutput::of(binaries::rialto().unwrap(), |command| {
        command.arg("serve").arg(scheme).args(more);
    });
    output.unwrap()
}

fn has_store(scheme: &TestScheme) -> bool {
    scheme.state().join("rialto.db").exists()
}

fn current(host: &RunningHost) -> u64 {
    let listed = host.cli(&["release", "list", "--json"]).unwrap();
    let listed: Vec<Value> = serde_json::from_str(&listed.success().unwrap()).unwrap();
    let current = listed.iter().find(|release| release["current"] == true);
    current.unwrap()["number"].as_u64().unwrap()
}

#[test]
fn broken_folder_lets_the_stored_release_serve() {
    let scheme = TestScheme::demo().unwrap();
    let whole = fs::read_to_string(scheme.path().join("scheme.toml")).unwrap();
    let unfinished = |text: &str| text.replace("name = \"demo\"", "name = demo");
    fs::write(scheme.path().join("scheme.toml"), unfinished(&whole)).unwrap();
    // Without a store there is nothing else to start.
    let refused = serve(scheme.path(), &[]);
    assert_eq!(refused.code, 2, "{refused}");
    assert!(!has_store(&scheme), "{refused}");
    fs::write(scheme.path().join("scheme.toml"), &whole).unwrap();
    let mut host = RunningHost::start(&scheme).unwrap();
    host.kill().unwrap();

    fs::write(scheme.path().join("scheme.toml"), unfinished(&whole)).unwrap();
    let strict = serve(scheme.path(), &["--strict"]);
    assert_eq!(strict.code, 2, "{strict}");
    assert!(strict.stderr.contains("scheme.toml"), "{strict}");
    host.restart().unwrap();
    assert_eq!(current(&host), 1);
    let log = host.log();
    assert!(log.contains("the stored release serves"), "{log}");
    assert!(log.contains("rialto check"), "{log}");

    // Also where a component is gone that the release has.
    fs::write(scheme.path().join("scheme.toml"), &whole).unwrap();
    fs::remove_file(scheme.component("amount-limits")).unwrap();
    host.restart().unwrap();
    assert_eq!(current(&host), 1);
    assert!(host.log().contains("the stored release serves"));
    // The operator's document must be correct.
    fs::write(scheme.path().join("rialto.toml"), "listeners = 1\n").unwrap();
    host.kill().unwrap();
    assert_eq!(serve(scheme.path(), &[]).code, 2);
}

/// As a first start leaves it that ends between making the store and storing the release.
#[test]
fn store_without_release_takes_the_folders_release() {
    let scheme = TestScheme::demo().unwrap();
    let state = scheme.state();
    if !state.exists() {
        DirBuilder::new().mode(0o700).create(&state).unwrap();
    }
    drop(SqliteStore::open(&state).unwrap());
    assert!(has_store(&scheme));
    let whole = fs::read_to_string(scheme.path().join("scheme.toml")).unwrap();
    let unfinished = whole.replace("name = \"demo\"", "name = demo");
    fs::write(scheme.path().join("scheme.toml"), unfinished).unwrap();
    let refused = serve(scheme.path(), &[]);
    assert_eq!(refused.code, 2, "{refused}");
    assert!(refused.stderr.contains("scheme.toml"), "{refused}");
    fs::write(scheme.path().join("scheme.toml"), whole).unwrap();
    let mut host = RunningHost::start(&scheme).unwrap();
    assert_eq!(current(&host), 1);
    host.restart().unwrap();
    assert_eq!(current(&host), 1);
}

#[test]
fn start_problems_are_found_before_anything_is_stored() {
    let scheme = TestScheme::demo().unwrap();
    // An address that is taken.
    let text = fs::read_to_string(scheme.path().join("rialto.toml")).unwrap();
    let address = text.split("\"127.0.0.1:").nth(1).unwrap();
    let port: u16 = address.split('"').next().unwrap().parse().unwrap();
    let taken = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let refused = serve(scheme.path(), &[]);
    assert_eq!(refused.code, 1, "{refused}");
    let words = format!("listening on 127.0.0.1:{port} for `");
    assert!(refused.stderr.contains(&words), "{refused}");
    assert!(!has_store(&scheme), "{refused}");
    drop(taken);
    // A folder that cannot be created.
    let file = scheme.path().join("scheme.toml");
    let below = file.join("state");
    let refused = serve(scheme.path(), &["--state", below.to_str().unwrap()]);
    assert_eq!(refused.code, 1, "{refused}");
    assert!(
        refused.stderr.contains(below.to_str().unwrap()),
        "{refused}"
    );
    // Another host on the same store, before its addresses are tried.
    let _host = RunningHost::start(&scheme).unwrap();
    let refused = serve(scheme.path(), &[]);
    assert_eq!(refused.code, 1, "{refused}");
    assert!(
        refused.stderr.contains("is in use by another host"),
        "{refused}"
    );
}

/// Wait until the log has this text.
fn until_said(log: &Path, text: &str) {
    let until = Instant::now() + SOON;
    while !fs::read_to_string(log).unwrap().contains(text) {
        assert!(Instant::now() < until, "the log does not say `{text}`");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn terminate(child: &mut Child) -> Option<i32> {
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .unwrap()
            .success()
    );
    child.wait().unwrap().code()
}

#[test]
fn host_stopped_during_its_start_ends_cleanly() {
    let scheme = TestScheme::demo().unwrap();
    // Everything must be compiled: that takes its time.
    let _ = fs::remove_dir_all(scheme.state().join("compiled"));
    let log = scheme.path().join("stopped.log");
    let mut child = Command::new(binaries::rialto().unwrap())
        .arg("serve")
        .arg(scheme.path())
        .env_remove("RIALTO_STATE")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&log).unwrap())
        .spawn()
        .unwrap();
    until_said(&log, "the host starts");
    let code = terminate(&mut child);
    let said = fs::read_to_string(&log).unwrap();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("the host is told to stop"), "{said}");
    assert!(said.contains("SIGTERM"), "{said}");
    assert!(!scheme.state().join("addresses.json").exists());
    let host = RunningHost::start(&scheme).unwrap();
    assert_eq!(current(&host), 1);
}

#[test]
fn start_resume_recovery_and_stop_are_logged_with_version() {
    let scheme = TestScheme::demo().unwrap();
    let mut host = RunningHost::start(&scheme).unwrap();
    host.restart().unwrap();
    host.terminate().unwrap();
    let until = Instant::now() + SOON;
    while !host.log().contains("the host has stopped") {
        assert!(Instant::now() < until, "{}", host.log());
        std::thread::sleep(Duration::from_millis(20));
    }
    let log = host.log();
    for said in [
        "the host starts",
        "the host continues with this release",
        "no work was pending",
        "the host has stopped",
    ] {
        let lines: Vec<&str> = log.lines().filter(|line| line.contains(said)).collect();
        assert_eq!(lines.len(), 1, "{said}: {log}");
        assert!(lines[0].contains(env!("CARGO_PKG_VERSION")), "{}", lines[0]);
    }
}

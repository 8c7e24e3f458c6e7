//! The store's folder and files belong to the host's user only: created so with any umask, and refused
//! otherwise.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rialto_tests::{RunningHost, TestScheme, binaries};

/// A user that these tests are not.
const NOBODY: u32 = 65_534;

/// The modes of a folder and of all that is in it, by their paths.
fn modes(folder: &Path) -> BTreeMap<String, u32> {
    let mut found = BTreeMap::new();
    let mut rest = vec![folder.to_owned()];
    while let Some(path) = rest.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        let name = path.strip_prefix(folder).unwrap().display().to_string();
        found.insert(name, metadata.permissions().mode() & 0o7777);
        if metadata.is_dir() {
            rest.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        }
    }
    found
}

fn with_another_operator() -> TestScheme {
    let scheme = TestScheme::demo().unwrap();
    let operator = "[operators.anna]\nroles = [\"reader\"]\n\n[store]";
    scheme.replace("rialto.toml", "[store]", operator).unwrap();
    scheme
}

#[test]
fn whatever_the_umask_the_store_is_open_to_nobody_else() {
    let demo = || TestScheme::demo().unwrap();
    let first = ["operator.token"].as_slice();
    let named = ["operators", "operators/anna.token"].as_slice();
    let each = [
        ("000", demo(), first),
        ("000", with_another_operator(), named),
        ("022", with_another_operator(), named),
        ("777", demo(), first),
        ("777", with_another_operator(), named),
    ];
    for (umask, scheme, tokens) in each {
        let host = RunningHost::start_under(&scheme, umask).unwrap();
        let found = modes(&scheme.path().join("state"));
        let expected = [
            "rialto.db",
            "rialto.db-wal",
            "rialto.db-shm",
            "journal",
            "journal/head",
            "lock",
            "addresses.json",
        ];
        let expected = expected.iter().chain(tokens);
        for name in expected.chain(&["compiled", "compiled/key"]) {
            assert!(found.contains_key(*name), "{name} is not in {found:?}");
        }
        for (name, mode) in &found {
            let folder = matches!(name.as_str(), "" | "operators" | "compiled" | "journal");
            let wanted = if folder { 0o700 } else { 0o600 };
            assert_eq!(*mode, wanted, "`{name}` with umask {umask}: {mode:o}");
        }
        drop(host);
    }
}

#[test]
fn files_open_to_others_are_refused_with_the_remedy() {
    let scheme = with_another_operator();
    RunningHost::start(&scheme).unwrap().kill().unwrap();
    let state = scheme.path().join("state");
    let refusal = || {
        let served = Command::new(binaries::rialto().unwrap())
            .arg("serve")
            .arg(scheme.path())
            .env("NO_COLOR", "1")
            .output()
            .unwrap();
        assert!(!served.status.success());
        String::from_utf8(served.stderr).unwrap()
    };
    let each = [
        ("", 0o755, "chmod -R go="),
        ("rialto.db", 0o644, "chmod 600"),
        ("rialto.db-wal", 0o640, "chmod 600"),
        ("rialto.db-shm", 0o604, "chmod 600"),
        ("lock", 0o644, "chmod 600"),
        ("journal", 0o755, "chmod -R go="),
        ("journal/head", 0o604, "chmod 600"),
        ("journal/1-1.log", 0o644, "chmod 600"),
        ("operators", 0o750, "chmod -R go="),
        ("operators/anna.token", 0o660, "chmod 600"),
        ("compiled", 0o777, "chmod -R go="),
        ("compiled/key", 0o644, "chmod 600"),
    ];
    for (name, mode, help) in each {
        let path = state.join(name);
        let before = fs::metadata(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let said = refusal();
        let path_said = path.display().to_string();
        let path_said = path_said.trim_end_matches('/');
        let open = format!("is open to others (mode {mode:o}): `{help} {path_said}");
        assert!(said.contains(&open), "{name}: {said}");
        fs::set_permissions(&path, before.permissions()).unwrap();
        chown(&path, Some(NOBODY), None).expect("these tests run as root");
        let said = refusal();
        let foreign = "belongs to user 65534, and this is user 0";
        assert!(
            said.contains(path_said) && said.contains(foreign),
            "{name}: {said}"
        );
        chown(&path, Some(0), None).unwrap();
    }
    RunningHost::start(&scheme).unwrap().kill().unwrap();
}

/// A host in a shell that allows core dumps of any size, and its process id. It is ready.
fn host_with_room_for_dumps(scheme: &TestScheme, folder: &Path) -> (Child, String) {
    let script = "cd \"$0\" && ulimit -c unlimited && exec \"$1\" serve \"$2\"";
    let mut child = Command::new("sh")
        .args(["-c", script])
        .arg(folder)
        .arg(binaries::rialto().unwrap())
        .arg(scheme.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "ready"));
    let process = child.id().to_string();
    (child, process)
}

#[test]
fn crashed_host_leaves_no_core_dump_and_its_master_key_is_locked() {
    let scheme = TestScheme::demo().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (mut child, process) = host_with_room_for_dumps(&scheme, folder.path());
    let told = |file: &str, line: &str| {
        let text = fs::read_to_string(format!("/proc/{process}/{file}")).unwrap();
        let found = text.lines().find_map(|told| told.strip_prefix(line));
        found
            .unwrap()
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let (limits, locked) = (
        told("limits", "Max core file size"),
        told("status", "VmLck:"),
    );
    let aborted = Command::new("kill").args(["-ABRT", &process]).status();
    let ended = child.wait().unwrap();
    assert!(aborted.unwrap().success());
    assert_eq!(limits[..2], ["0", "0"]);
    assert_ne!(locked[0], "0", "no memory is locked");
    assert_eq!(ended.signal(), Some(6), "{ended}");
    assert!(!ended.core_dumped(), "{ended}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

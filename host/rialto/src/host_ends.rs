//! A host with a panicking thread ends with the reason, instead of staying up without working.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rialto_components::Activation;
use rialto_components::runtime::Argument;
use rialto_engine::fatal;
use rialto_manifest::Manifest;
use rialto_telemetry::logs::{self, Format};

use crate::host::Host;

/// The name of the test that a child process runs, and where it says which folder is its own.
const CHILD: &str = "host_ends::child_whose_committer_panics";
const FOLDER: &str = "RIALTO_TEST_FOLDER";

#[test]
fn a_panic_ends_the_host_with_the_reason() {
    let folder = rialto_files::temporary_folder().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", CHILD, "--ignored", "--nocapture"]);
    let ended = child.env(FOLDER, folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.signal(), Some(6), "it aborts: {said}");
    let reason = "the host ends at once: the thread `commit` panicked";
    assert!(said.contains(reason), "{said}");
    assert!(said.contains("nobody can go on after this"), "{said}");
}

/// Copies the demonstration scheme, which must have been built; its listeners take any ports.
fn copy_demo(to: &Path) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemes/demo");
    let components = from.join("components");
    fs::create_dir(to.join("components")).unwrap();
    let built = fs::read_dir(&components).expect("`cargo xtask build` has built the plugins");
    for component in built {
        let component = component.unwrap();
        fs::copy(
            component.path(),
            to.join("components").join(component.file_name()),
        )
        .unwrap();
    }
    for name in ["scheme.toml", "scheme.lock"] {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
    let operator = fs::read_to_string(from.join("rialto.toml")).unwrap();
    let operator = operator
        .replace(":4001\"", ":0\"")
        .replace(":4002\"", ":0\"");
    fs::write(to.join("rialto.toml"), operator).unwrap();
}

/// Ends its process: only for the test before it.
#[test]
#[ignore = "it ends its process"]
fn child_whose_committer_panics() {
    let folder = std::env::var(FOLDER).expect("the test before this one starts it");
    let folder = Path::new(&folder);
    copy_demo(folder);
    // As `rialto serve` does.
    logs::start("info", Format::Text).unwrap();
    fatal::end_process_on_panic();
    let manifest = Manifest::load(folder).unwrap_or_else(|problems| panic!("{problems:?}"));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let host = Host::start(&manifest, &folder.join("state"), runtime.handle()).unwrap();
    // What the committer calls panics: here, whoever waits.
    let release = host.shared.runtime.current().unwrap();
    let activation =
        Activation::first(release, Vec::new()).expect("the participants' context wants it");
    host.shared.engine.submit_activation(
        "release".into(),
        Arc::new(Argument::Activation(activation)),
        Box::new(|_| panic!("nobody can go on after this")),
    );
    runtime.block_on(std::future::pending::<()>());
}

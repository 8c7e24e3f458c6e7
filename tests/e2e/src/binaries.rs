//! Where the programs under test are: beside the test's own executable.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::handbook;

/// What to do about a program or a component that is not there.
pub const BUILD_FIRST: &str = "run `cargo xtask build` first";

/// The `rialto` command.
///
/// # Errors
/// When it has not been built.
pub fn rialto() -> anyhow::Result<PathBuf> {
    find("rialto")
}

/// The demonstration.
///
/// # Errors
/// When it has not been built.
pub fn rialto_demo() -> anyhow::Result<PathBuf> {
    find("rialto-demo")
}

/// The NATS server, which `cargo xtask test` unpacks. It may be missing.
#[must_use]
pub fn nats_server() -> PathBuf {
    handbook::root().join("target/tools/nats-server/usr/sbin/nats-server")
}

/// The project's verbs, `cargo xtask`.
///
/// # Errors
/// When it has not been built.
pub fn xtask() -> anyhow::Result<PathBuf> {
    find("xtask")
}

/// A component that was built, also one that no scheme uses.
///
/// # Errors
/// When it has not been built.
pub fn plugin(name: &str) -> anyhow::Result<PathBuf> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/plugins");
    let component = built.join(format!("{name}.wasm"));
    if component.is_file() {
        return Ok(component);
    }
    bail!("there is no {}: {BUILD_FIRST}", component.display());
}

fn find(name: &str) -> anyhow::Result<PathBuf> {
    // A test runs as <target>/<profile>/deps/<test>; programs lie one folder above.
    let test = std::env::current_exe().context("finding the test's own executable")?;
    let folder = test.parent().and_then(Path::parent);
    let folder = folder.context("the test's executable lies in no folder")?;
    let program = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    if program.is_file() {
        return Ok(program);
    }
    bail!("there is no {}: {BUILD_FIRST}", program.display());
}

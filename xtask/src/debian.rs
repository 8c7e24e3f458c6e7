//! Installs Debian's packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::{process, repository};

/// Whether this machine installs its packages so.
pub fn is_here() -> bool {
    Path::new("/usr/bin/apt-get").exists()
}

/// Installs packages. Only root can.
pub fn install(packages: &[&str]) -> Result<()> {
    let packages = packages.join(" ");
    let by_hand = format!("apt-get update && apt-get install -y {packages}");
    if !is_here() {
        bail!("this machine has no apt-get: install what Debian has in {packages}");
    }
    if process::output(Command::new("id").arg("-u")).as_deref() != Some("0") {
        bail!("run `{by_hand}` as root, then try again");
    }
    process::say(&by_hand);
    process::run(quiet().arg("update"))?;
    process::run(quiet().args(["install", "-y"]).args(packages.split(' ')))
}

/// SoftHSM, a PKCS #11 token in software: where Debian puts its module, and its package.
const SOFTHSM: (&str, &str) = ("/usr/lib/softhsm/libsofthsm2.so", "softhsm2");

/// Installs SoftHSM on Debian. Elsewhere what needs it says that it is missing.
pub fn install_token() -> Result<()> {
    let (module, package) = SOFTHSM;
    if is_here() && !Path::new(module).exists() {
        install(&[package]).context("no SoftHSM, the token of tests and of `demo --secure`")?;
    }
    Ok(())
}

/// PostgreSQL: where Debian puts its programs, in a folder for each version, and its package.
const POSTGRES: (&str, &str) = ("/usr/lib/postgresql", "postgresql");

/// Installs PostgreSQL on Debian. Elsewhere the tests that start it say that it is missing. Debian makes a cluster of its
/// own with it, which no test uses.
pub fn install_postgres() -> Result<()> {
    let (folder, package) = POSTGRES;
    let versions = fs::read_dir(folder).into_iter().flatten();
    let mut versions = versions.filter_map(|version| Some(version.ok()?.path()));
    if is_here() && !versions.any(|version| version.join("bin/initdb").exists()) {
        install(&[package]).context("no PostgreSQL, which the tests of its store start")?;
    }
    Ok(())
}

/// libfaketime, by which a test gives a host a wrong clock: a file of it, below the folder of libraries, and its package.
const FAKETIME: (&str, &str) = ("faketime/libfaketimeMT.so.1", "faketime");

/// Installs libfaketime on Debian. Elsewhere the test that needs it says that it is missing.
pub fn install_faketime() -> Result<()> {
    let (library, package) = FAKETIME;
    let folder = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    if is_here() && !Path::new(&folder).join(library).exists() {
        install(&[package]).context("no libfaketime, which a test of a wrong clock needs")?;
    }
    Ok(())
}

/// The registry of bundles' tests: its package, which has a program of that name, and its folder.
const REGISTRY: (&str, &str) = ("docker-registry", "usr/bin");
/// NATS, to which tests send events.
const NATS: (&str, &str) = ("nats-server", "usr/sbin");

/// Unpacks a registry among the tools on Debian. Elsewhere the test that needs it says that it is missing.
pub fn unpack_registry() -> Result<()> {
    unpack(REGISTRY).context("no registry, which a test of bundles needs")
}

/// Unpacks a NATS server among the tools on Debian. Elsewhere the tests that need it say that it is missing.
pub fn unpack_nats() -> Result<()> {
    unpack(NATS).context("no NATS server, which tests of events need")
}

/// The program of the NATS server among the tools.
pub fn nats() -> PathBuf {
    let (package, programs) = NATS;
    repository::tools()
        .join(package)
        .join(programs)
        .join(package)
}

/// Unpacks a package that has a program of its name. It is not installed, because Debian would start it as a service.
fn unpack((package, programs): (&str, &str)) -> Result<()> {
    let folder = repository::tools().join(package);
    if !is_here() || folder.join(programs).join(package).exists() {
        return Ok(());
    }
    process::say(&format!("unpacking {package} (once on a machine)"));
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let download = || {
        let mut command = quiet();
        command.current_dir(&folder).args(["download", package]);
        command
    };
    if !process::succeeds(&mut download()) {
        process::run(quiet().arg("update"))?;
        process::run(&mut download())?;
    }
    let listed = fs::read_dir(&folder)?.filter_map(|entry| Some(entry.ok()?.path()));
    let package = listed
        .into_iter()
        .find(|file| file.extension().is_some_and(|end| end == "deb"));
    let package = package.context("apt-get has downloaded no package")?;
    process::run(Command::new("dpkg").arg("-x").arg(package).arg(&folder))
}

/// apt-get without questions, with its output on standard error.
fn quiet() -> Command {
    let mut command = Command::new("apt-get");
    command
        .env("DEBIAN_FRONTEND", "noninteractive")
        .arg("-qq")
        .stdout(Stdio::null());
    command
}

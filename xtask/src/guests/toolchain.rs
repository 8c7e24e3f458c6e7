//! The choice of the compiler for WebAssembly.
//!
//! Three choices, in this order: a toolchain with the target's standard library; rustup, which can add it;
//! Debian's packages of a newer compiler with the library's sources, from which the library is built once. The
//! last is for machines without access to rustup's servers.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{debian, process, repository};

/// The target of plugins. It has no WASI, so a component only has what it is granted.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// Debian's packages: compiler, cargo, the library's sources.
const PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];
/// Their paths.
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
const DEBIAN_CARGO: &str = "/usr/bin/cargo";
const DEBIAN_LINKER: &str = "/usr/bin/rust-lld";
const DEBIAN_SOURCES: &str = "/usr/lib/rustlib/src/rust/library/std/Cargo.toml";
/// The oldest compiler for the plugins (edition 2024 and their dependencies).
const MINOR_VERSION_MIN: u32 = 87;

/// Variables of the caller for the host's build, which must not affect the plugins' build.
const NOT_INHERITED: [&str; 8] = [
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_INCREMENTAL",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC",
    "CARGO",
];

/// A compiler that makes WebAssembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toolchain {
    /// The one in `PATH`.
    Installed,
    /// Debian's, which builds the standard library from its sources.
    Debian,
}

impl Toolchain {
    /// Finds one, or installs it.
    pub fn find() -> Result<Self> {
        if target_is_installed() {
            return Ok(Self::Installed);
        }
        // The choice is kept, so that a build does not ask rustup's servers each time.
        let chosen = repository::guest_target().join("toolchain");
        if debian_is_complete() && fs::read_to_string(&chosen).is_ok_and(|text| text == "debian\n")
        {
            return Ok(Self::Debian);
        }
        if add_with_rustup() {
            return Ok(Self::Installed);
        }
        if !debian_is_complete() {
            install_debian()?;
        }
        fs::create_dir_all(repository::guest_target())
            .and_then(|()| fs::write(&chosen, "debian\n"))
            .with_context(|| format!("cannot write {chosen:?}"))?;
        Ok(Self::Debian)
    }

    /// Its description.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Installed => "the installed toolchain",
            Self::Debian => "Debian's compiler (the first time it builds the standard library)",
        }
    }

    /// Its cargo, with its own environment.
    pub fn cargo(self) -> Command {
        let mut command = match self {
            Self::Installed => Command::new("cargo"),
            Self::Debian => Command::new(DEBIAN_CARGO),
        };
        for name in NOT_INHERITED {
            command.env_remove(name);
        }
        if self == Self::Debian {
            let path = std::env::var("PATH").unwrap_or_default();
            command
                .env("PATH", format!("/usr/bin:{path}"))
                .env("RUSTC", DEBIAN_RUSTC)
                .env("RUSTC_BOOTSTRAP", "1")
                .env("CARGO_UNSTABLE_BUILD_STD", "std,panic_abort");
        }
        command.env("CARGO_TARGET_DIR", repository::guest_target());
        command
    }
}

/// Whether the toolchain in `PATH` has the target's standard library. Unlike `rustup target list --installed`,
/// this works without rustup.
fn target_is_installed() -> bool {
    let mut rustc = Command::new("rustc");
    rustc
        .current_dir(repository::plugins())
        .args(["--print", "target-libdir", "--target", TARGET]);
    let Some(folder) = process::output(&mut rustc) else {
        return false;
    };
    fs::read_dir(folder).is_ok_and(|entries| {
        entries
            .flatten()
            .any(|entry| entry.file_name().to_string_lossy().starts_with("libstd-"))
    })
}

fn add_with_rustup() -> bool {
    if process::output(Command::new("rustup").arg("--version")).is_none() {
        return false;
    }
    process::say(&format!("rustup target add {TARGET}"));
    let added = process::succeeds(
        Command::new("rustup")
            .current_dir(repository::plugins())
            .args(["target", "add", TARGET]),
    ) && target_is_installed();
    if !added {
        process::say("rustup cannot add the target; using Debian's compiler instead");
    }
    added
}

fn debian_is_complete() -> bool {
    let version = process::output(Command::new(DEBIAN_RUSTC).arg("--version"));
    version.is_some_and(|text| minor_version(&text) >= Some(MINOR_VERSION_MIN))
        && Path::new(DEBIAN_CARGO).exists()
        && Path::new(DEBIAN_SOURCES).exists()
        && Path::new(DEBIAN_LINKER).exists()
}

/// `rustc 1.96.0 (…)`: 96.
fn minor_version(text: &str) -> Option<u32> {
    let version = text.strip_prefix("rustc 1.")?;
    version.split('.').next()?.parse().ok()
}

fn install_debian() -> Result<()> {
    if !debian::is_here() {
        bail!(
            "no compiler for {TARGET}: run `rustup target add {TARGET}` where rustup can reach its servers"
        );
    }
    let missing = || format!("no compiler for {TARGET}");
    debian::install(&PACKAGES).with_context(missing)?;
    if !Path::new(DEBIAN_LINKER).exists() {
        // The link names the package: lld-22.
        let linker = fs::read_link(DEBIAN_LINKER)
            .with_context(|| format!("the packages brought no {DEBIAN_LINKER}"))?;
        let package = linker.file_name().and_then(|name| name.to_str());
        let package = package.context("the linker's link names no package")?;
        debian::install(&[package]).with_context(missing)?;
    }
    if !debian_is_complete() {
        let packages = PACKAGES.join(" ");
        bail!(
            "Debian's packages {packages} are installed, but do not make a compiler for {TARGET}"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_compilers_write_them() {
        assert_eq!(
            minor_version("rustc 1.96.0 (ac68faa20 2026-05-25)"),
            Some(96)
        );
        assert_eq!(minor_version("rustc 2.0.0"), None);
        assert_eq!(minor_version(""), None);
    }

    #[test]
    fn the_hosts_compiler_flags_do_not_reach_the_plugins() {
        for toolchain in [Toolchain::Installed, Toolchain::Debian] {
            let command = toolchain.cargo();
            let flags = command.get_envs().find(|(name, _)| *name == "RUSTFLAGS");
            assert_eq!(flags, Some(("RUSTFLAGS".as_ref(), None)));
        }
    }
}

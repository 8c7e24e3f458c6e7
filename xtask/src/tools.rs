//! Third-party tools that check the project. They are installed from their crates into the build's folder, in
//! the version given here, and run on both workspaces.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{process, repository};

/// A tool: its crate, which is also its program, and the version.
pub struct Tool {
    name: &'static str,
    version: &'static str,
}

/// Licences, bans and sources of dependencies, by `deny.toml`.
pub const DENY: Tool = Tool {
    name: "cargo-deny",
    version: "0.20.2",
};
/// Unused dependencies.
pub const MACHETE: Tool = Tool {
    name: "cargo-machete",
    version: "0.9.2",
};

impl Tool {
    /// Installs the tool unless it exists in this version. It runs for seconds, so it is built without
    /// optimization.
    pub fn install(&self) -> Result<PathBuf> {
        let folder = repository::tools();
        let program =
            folder
                .join("bin")
                .join(format!("{}{}", self.name, std::env::consts::EXE_SUFFIX));
        let wanted = format!("{} {}", self.name, self.version);
        if program.is_file() && self.said_version(&program).as_deref() == Some(&wanted) {
            return Ok(program);
        }
        process::say(&format!("installing {wanted} (once on a machine)"));
        let build = folder.join("build");
        let mut install = process::cargo();
        install
            // Without the workspace's settings, since it is another project.
            .current_dir(std::env::temp_dir())
            .args(["install", "--locked", "--debug", "--quiet", self.name])
            .args(["--version", self.version, "--root"])
            .arg(&folder)
            .env("CARGO_TARGET_DIR", &build)
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_INCREMENTAL", "0");
        process::run(&mut install).with_context(|| format!("{wanted} cannot be installed"))?;
        // Half a gigabyte that nobody needs again.
        fs::remove_dir_all(&build).with_context(|| format!("removing {}", build.display()))?;
        Ok(program)
    }

    /// The name and version that the program prints, such as `cargo-deny 0.20.2`.
    fn said_version(&self, program: &Path) -> Option<String> {
        let said = process::output(Command::new(program).arg("--version"))?;
        let version = said.split_whitespace().last()?.to_owned();
        Some(format!("{} {version}", self.name))
    }
}

/// Checks the dependencies of a workspace by `deny.toml`.
pub fn deny(folder: &Path) -> Result<()> {
    let program = DENY.install()?;
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .arg("--config")
        .arg(repository::root().join("deny.toml"))
        .args(["--log-level", "error", "check", "--hide-inclusion-graph"])
        .args(["bans", "licenses", "sources"]);
    process::run(&mut command)
}

/// Finds unused dependencies of a workspace.
pub fn machete(folder: &Path) -> Result<()> {
    let program = MACHETE.install()?;
    process::run(Command::new(program).current_dir(folder))
}

//! `cargo xtask dist`: makes one archive for operators, and its checksum.
//!
//! The archive's layout is the one that `rialto init` expects: `bin/rialto` beside `components/`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::digest::sha256;
use crate::{build, process, repository, trained};

/// Files and folders of the repository that the archive contains.
const COPIED: [&str; 8] = [
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "docs",
    "proto",
    "schemes/demo/README.md",
    "schemes/schema",
    "wit",
];
/// The example unit for systemd.
const SERVICE: &str = "docs/rialto.service";
/// The time stamp of all files, so that the same contents make the same archive.
const WRITTEN: &str = "@0";

/// Builds what operators run, and archives it. The counts by which it is optimized are put beside the archive.
pub fn dist(profile: Option<&Path>) -> Result<()> {
    let folder = repository::dist();
    let name = name();
    let trained = trained::build(profile)?;
    copy(&trained.profile, &folder.join(format!("{name}.profdata")))?;
    let files = Files {
        binary: trained.rialto,
        components: build::components_of(&repository::root().join(repository::DEMO))?,
        root: repository::root(),
    };
    let archive = files.archive(&folder, &name)?;
    process::say(&format!(
        "{} and its checksum {}",
        archive.display(),
        checksum_of(&archive).display()
    ));
    Ok(())
}

/// The archive's name: version, processor and system.
fn name() -> String {
    let (arch, os) = (std::env::consts::ARCH, std::env::consts::OS);
    format!("rialto-{}-{arch}-{os}", env!("CARGO_PKG_VERSION"))
}

/// The contents of an archive.
struct Files {
    binary: PathBuf,
    components: Vec<PathBuf>,
    /// The repository.
    root: PathBuf,
}

impl Files {
    /// Makes `FOLDER/NAME.tar.gz` and `FOLDER/NAME.tar.gz.sha256`, replacing existing ones.
    fn archive(&self, folder: &Path, name: &str) -> Result<PathBuf> {
        let staged = folder.join(name);
        if staged.exists() {
            fs::remove_dir_all(&staged).with_context(|| format!("cannot remove {staged:?}"))?;
        }
        self.stage(&staged)?;
        let archive = folder.join(format!("{name}.tar.gz"));
        process::run(
            Command::new("tar")
                .current_dir(folder)
                .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
                .args(["--format=ustar", &format!("--mtime={WRITTEN}")])
                .arg("--mode=u=rwX,go=rX")
                // Without -n gzip writes the current time.
                .args(["--use-compress-program=gzip -n", "--create", "--file"])
                .arg(&archive)
                .arg(name),
        )?;
        let bytes = fs::read(&archive).with_context(|| format!("cannot read {archive:?}"))?;
        let digest = sha256(&bytes);
        // The format of sha256sum.
        let line = format!("{digest}  {name}.tar.gz\n");
        let checksum = checksum_of(&archive);
        fs::write(&checksum, line).with_context(|| format!("cannot write {checksum:?}"))?;
        Ok(archive)
    }

    /// Copies all files to their places in the archive.
    fn stage(&self, folder: &Path) -> Result<()> {
        copy(&self.binary, &folder.join("bin/rialto"))?;
        ensure!(!self.components.is_empty(), "there are no components");
        for component in &self.components {
            let file = component.file_name().context("a component's file name")?;
            copy(component, &folder.join("components").join(file))?;
        }
        for path in COPIED {
            copy(&self.root.join(path), &folder.join(path))?;
        }
        copy(&self.root.join(SERVICE), &folder.join("rialto.service"))
    }
}

fn checksum_of(archive: &Path) -> PathBuf {
    let mut name = archive.as_os_str().to_owned();
    name.push(".sha256");
    name.into()
}

/// Copies a file, or a folder with its contents.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let copying = || format!("cannot copy {from:?} to {to:?}");
    if from.is_dir() {
        for entry in fs::read_dir(from).with_context(copying)? {
            let entry = entry.with_context(copying)?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).with_context(copying)?;
    }
    fs::copy(from, to).with_context(copying)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archive_is_complete_and_matches_its_checksum() {
        let folder = tempfile::tempdir().unwrap();
        let binary = folder.path().join("built");
        fs::write(&binary, "binary").unwrap();
        let component = folder.path().join("transfers.wasm");
        fs::write(&component, "component").unwrap();
        let files = Files {
            binary,
            components: vec![component],
            root: repository::root(),
        };
        let archive = files.archive(folder.path(), "rialto-x").unwrap();

        let listed = process::output(
            Command::new("tar")
                .arg("--list")
                .arg("--file")
                .arg(&archive),
        );
        let listed = listed.unwrap();
        for file in [
            "bin/rialto",
            "components/transfers.wasm",
            "docs/operators.md",
            "docs/install.md",
            "wit/host/host.wit",
            "schemes/schema/scheme.schema.json",
            "rialto.service",
            "LICENSE",
        ] {
            let path = format!("rialto-x/{file}");
            assert!(listed.lines().any(|line| line == path), "{path}: {listed}");
        }

        let checked = |folder: &Path| {
            let mut check = Command::new("sha256sum");
            process::succeeds(
                check
                    .current_dir(folder)
                    .args(["--check", "rialto-x.tar.gz.sha256"]),
            )
        };
        assert!(checked(folder.path()));
        let first = fs::read(&archive).unwrap();
        files.archive(folder.path(), "rialto-x").unwrap();
        assert_eq!(
            fs::read(&archive).unwrap(),
            first,
            "the same contents make the same archive"
        );
        fs::write(&archive, "another").unwrap();
        assert!(!checked(folder.path()));
    }
}

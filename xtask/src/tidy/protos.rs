//! The contracts for gRPC clients follow the WIT: `wit/proto.lock.toml` has the field numbers, `proto/` the
//! files. Changes that would break clients are not accepted. The rules are those of `rialto-proto`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use rialto_proto::{checked_in, proto};

use super::Finding;
use crate::process;

/// The folder of the files.
const FILES: &str = "proto";
/// The remedy.
const WHAT_TO_DO: &str =
    "if the change of wit/ is meant, `cargo xtask tidy --accept-wit` writes it";

/// Differences from the WIT, and changes that would break clients.
pub fn findings(root: &Path) -> Vec<Finding> {
    let finding = |file: &Path, message: String| Finding {
        file: file.to_owned(),
        line: 0,
        message,
    };
    let lock = Path::new("wit").join(checked_in::LOCK);
    let locked = match checked_in::read(&root.join("wit")) {
        Ok(locked) => locked,
        Err(error) => return vec![finding(Path::new("wit"), error.to_string())],
    };
    let breaks = locked.breaks.iter();
    let mut findings: Vec<_> = breaks
        .map(|found| finding(Path::new("wit"), found.to_string()))
        .collect();
    let differs = |path: &Path, wanted: &str| {
        let found = fs::read_to_string(root.join(path)).unwrap_or_default();
        (found != wanted).then(|| finding(path, format!("is not what wit/ gives: {WHAT_TO_DO}")))
    };
    findings.extend(differs(&lock, &locked.lock.to_text()));
    let files = locked.files.iter();
    findings.extend(files.filter_map(|file| {
        let path = Path::new(FILES).join(&file.path);
        differs(&path, &proto(file))
    }));
    findings
}

/// Accepts the current WIT.
pub fn accept(root: &Path) -> Result<()> {
    process::say("writing proto/ and its lock");
    checked_in::accept(&root.join("wit"), &root.join(FILES)).context("wit/ is not accepted")
}

//! A scheme with many participants: a copy of the demonstration's, with more of them.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context as _;

/// The callback address of added participants, which gets no callbacks.
const NOWHERE: &str = "http://127.0.0.1:9";

/// Copies a scheme to a new folder, with this total of participants.
///
/// # Errors
/// When the folder cannot be read or written.
pub fn write(from: &Path, to: &Path, participants: usize) -> anyhow::Result<()> {
    let from = std::fs::canonicalize(from).with_context(|| format!("{}", from.display()))?;
    std::fs::create_dir_all(to)?;
    let own = "scheme.toml";
    for entry in std::fs::read_dir(&from)? {
        let name = entry?.file_name();
        if name != own && name != "state" {
            std::os::unix::fs::symlink(from.join(&name), to.join(&name))?;
        }
    }
    let text = std::fs::read_to_string(from.join(own))?;
    let place = text
        .find("[[errors]]")
        .context("the scheme declares no [[errors]]")?;
    let there = text.matches("[[participants]]").count();
    let mut more = String::new();
    for n in there..participants {
        let _ = write!(
            more,
            "[[participants]]\nid = \"fsp{n:05}\"\nname = \"FSP {n}\"\n\
             callback-base-url = \"{NOWHERE}/fsp{n:05}\"\n\n\
             [[participants.accounts]]\ncurrency = \"USD\"\nopening-liquidity = \"1000000\"\n\n"
        );
    }
    let (before, after) = text.split_at(place);
    std::fs::write(to.join(own), format!("{before}{more}{after}"))?;
    Ok(())
}

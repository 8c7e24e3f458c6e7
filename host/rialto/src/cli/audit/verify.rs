//! `rialto audit verify`: whether the log is the one whose checkpoints were signed.

use std::path::PathBuf;

use anyhow::bail;
use rialto_audit::folder::Reader;
use rialto_audit::verify::check;
use rialto_audit::{Checkpoint, PublicKey, Report, WitnessKey};
use serde_json::json;

use super::Store;
use crate::audit_check::{Heads, check_store, findings};
use crate::audit_key;
use crate::checkpoints::witnesses;
use crate::cli::operator_of;
use crate::{out, words};

/// Reads one commit of the store's file, with or without a running host, or an exported log.
#[derive(Debug, clap::Args)]
pub(super) struct Verify {
    /// A log that `rialto audit export` has written. Without it, the log in the store.
    #[arg(long, value_name = "DIR")]
    log: Option<PathBuf>,
    /// The public key that has signed the checkpoints, PEM. Several for several. Without it, the keys of rialto.toml
    #[arg(long = "key", value_name = "FILE")]
    keys: Vec<PathBuf>,
    /// A checkpoint that was kept somewhere else, or a folder of them. Several for several.
    #[arg(long = "head", value_name = "FILE")]
    heads: Vec<PathBuf>,
    /// The public key of a witness: `name+id+key`. Several for several. Without it, those of rialto.toml
    #[arg(long = "witness", value_name = "KEY")]
    witnesses: Vec<WitnessKey>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: Store,
}

impl Verify {
    pub(super) fn run(self) -> anyhow::Result<u8> {
        let keys = self.keys()?;
        let witnesses = self.witnesses()?;
        let mut heads = Heads::new(&keys, &witnesses);
        for path in self.heads.iter().chain(&self.kept_elsewhere()?) {
            heads.add_files(path)?;
        }
        let mut archived = 0;
        let report = match &self.log {
            Some(folder) => {
                for (file, note) in Reader::checkpoints(folder)? {
                    heads.add(file.display().to_string(), &note);
                }
                let all: Vec<Checkpoint> = heads
                    .found
                    .iter()
                    .map(|one| one.checkpoint.clone())
                    .collect();
                let size = rialto_audit::folder::size_of(&all);
                check(&mut Reader::new(folder, size), &heads.found)?
            }
            None => {
                let checked = check_store(&mut heads, &self.store.stored()?, None)?;
                archived = checked.archived;
                checked.report
            }
        };
        self.tell(&report, archived, &heads)
    }

    fn keys(&self) -> anyhow::Result<Vec<PublicKey>> {
        if !self.keys.is_empty() {
            let keys = self.keys.iter();
            return keys.map(|file| audit_key::public_key(file)).collect();
        }
        if self.log.is_some() {
            bail!("an exported log is verified with --key, the public key of its checkpoints");
        }
        audit_key::public_keys(&operator_of(&self.store.at)?, &self.store.at)
    }

    /// The witnesses' keys.
    fn witnesses(&self) -> anyhow::Result<Vec<WitnessKey>> {
        if !self.witnesses.is_empty() || self.log.is_some() || !self.keys.is_empty() {
            return Ok(self.witnesses.clone());
        }
        let operator = operator_of(&self.store.at)?;
        let wanted = operator.audit.as_ref();
        wanted.map_or(Ok(Vec::new()), witnesses::keys)
    }

    /// The folder of rialto.toml to which checkpoints leave, if there is one.
    fn kept_elsewhere(&self) -> anyhow::Result<Option<PathBuf>> {
        if self.log.is_some() || self.store.state.is_some() {
            return Ok(None);
        }
        let operator = operator_of(&self.store.at)?;
        let folder = operator.audit.as_ref().and_then(|a| a.checkpoints.as_ref());
        let folder = folder.map(|folder| folder.from_folder(&self.store.at));
        // Before the first minute there is none.
        Ok(folder.filter(|folder| folder.exists()))
    }

    fn tell(&self, report: &Report, archived: u64, heads: &Heads<'_>) -> anyhow::Result<u8> {
        let mut findings = findings(report, heads);
        // Who names a witness wants its word. One of rialto.toml may not have signed yet.
        let silent = self.witnesses.iter().filter(|key| heads.is_silent(key));
        let silent =
            silent.map(|key| format!("no checkpoint is signed by the witness {}", key.name()));
        findings.extend(silent);
        let Report {
            entries,
            signed,
            fitting,
            ..
        } = report;
        if self.json {
            out::json(&json!({
                "entries": entries,
                "archived": archived,
                "signed": signed,
                "checkpoints": fitting,
                "findings": findings,
                "cosigned": heads.cosigned().map(|(name, size, at)| json!({
                    "witness": name, "entries": size, "at": at,
                })).collect::<Vec<_>>(),
            }))?;
        } else {
            for finding in &findings {
                out::line(words::plain(finding))?;
            }
            for (name, size, at) in heads.cosigned() {
                let at = words::instant(at);
                out::line(format_args!("{name} has signed {size} entries at {at}"))?;
            }
            let in_archives = match archived {
                0 => String::new(),
                count => format!(", {count} of them in archives"),
            };
            let behind = entries.saturating_sub(*signed);
            out::line(format_args!(
                "{entries} entries{in_archives}, {behind} of them behind the last checkpoint; {fitting} of {} checkpoints fit",
                heads.found.len()
            ))?;
        }
        Ok(u8::from(!findings.is_empty()))
    }
}

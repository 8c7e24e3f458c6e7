//! `rialto coverage`: which rules have decided, and by which branches.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use data_encoding::BASE64URL_NOPAD;
use rialto_components::Digest;
use rialto_engine::Timestamp;
use rialto_signatures::PersonSigner;
use rialto_telemetry::logs::{self, Format};
use serde_json::json;

use super::{instants, load, operator_of, rules_alone, show, stored_in};
use crate::coverage::{self, FORM};
use crate::personal_data::Reader;
use crate::{out, words};

/// Reads the receipts of a store's file and of its archives, with or without a running host.
#[derive(Debug, clap::Args)]
pub(super) struct Coverage {
    /// The folder with the scheme whose rules are described.
    scheme: PathBuf,
    /// Count what was judged from this instant on, such as 2026-01-31T09:00:00Z, or for so long, such as `30 days`.
    #[arg(long, value_name = "TIME", default_value = "30 days", value_parser = instants::past)]
    since: u64,
    /// Count what was judged before this instant. Without it, all until now.
    #[arg(long, value_name = "TIME", value_parser = instants::past)]
    until: Option<u64>,
    /// Write the report to this file and to one with `.html` added, both of which must not exist.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Sign the report's file with this private key: Ed25519 or P-256, PEM (PKCS #8). The signature is in a file with `.sig` added.
    #[arg(long, value_name = "FILE", requires = "out")]
    key: Option<PathBuf>,
    /// Print the report as one JSON object.
    #[arg(long)]
    json: bool,
    /// The scheme's folder whose store has the receipts. Without it, the scheme's own.
    #[arg(long, value_name = "DIR", env = "RIALTO_SCHEME")]
    at: Option<PathBuf>,
    /// The folder of the store. Without it, the folder that rialto.toml names.
    #[arg(long, value_name = "DIR", env = "RIALTO_STATE")]
    state: Option<PathBuf>,
}

impl Coverage {
    pub fn run(self) -> anyhow::Result<u8> {
        logs::start("component=off", Format::Text)?;
        let until = self.until.unwrap_or_else(instants::now);
        if self.since >= until {
            let since = words::instant(self.since);
            bail!("--since is {since}, and --until is not later");
        }
        let signer = self.key.as_deref().map(signer).transpose()?;
        let Some(manifest) = load(&self.scheme)? else {
            return Ok(2);
        };
        let rules = match rules_alone::prepare(&manifest, 1)? {
            Ok(rules) => rules,
            Err(problems) => {
                show(&problems);
                return Ok(2);
            }
        };
        let at = self.at.as_ref().unwrap_or(&self.scheme);
        let people = Reader::open(&operator_of(at)?, at)?;
        let period = (self.since, until);
        let (since, before) = (Timestamp(self.since), Timestamp(until));
        let stored = stored_in(at, self.state.as_deref())?;
        let mut receipts = stored.receipts(since, before)?;
        // Where a host serves from this machine, payments go first.
        let _ = rustix::process::nice(19);
        let counted = coverage::count(&rules.release, &mut *receipts, people.as_ref(), period);
        let report = counted.context("reading the receipts")?;
        let text = report.text()?;
        let digest = Digest::of(&text);
        if self.json {
            out::text(&text)?;
        } else {
            out::text(words::coverage(&report))?;
        }
        if let Some(file) = &self.out {
            make(file, &text)?;
            make(&with(file, "html"), &coverage::page(&report, digest))?;
            out::note(format_args!("{} has the report: {digest}", file.display()));
        }
        if let (Some(file), Some(signer)) = (&self.out, signer) {
            let signature = signer.sign(&coverage::statement(digest))?;
            let signed = json!({
                "form": FORM,
                "report": digest,
                "algorithm": signer.scheme().name(),
                "signature": BASE64URL_NOPAD.encode(&signature),
            });
            make(&with(file, "sig"), &format!("{signed:#}\n"))?;
        }
        Ok(0)
    }
}

fn signer(file: &Path) -> anyhow::Result<PersonSigner> {
    let about = || format!("the private key in {}", file.display());
    let text = fs::read_to_string(file).with_context(about)?;
    PersonSigner::of_pem(&text).with_context(about)
}

fn make(file: &Path, text: &str) -> anyhow::Result<()> {
    let is_new = rialto_files::make_once(file, &[text.as_bytes()])?;
    ensure!(is_new, "{} exists: name a new file", file.display());
    Ok(())
}

/// A file's name with an ending added.
fn with(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{ending}"));
    name.into()
}

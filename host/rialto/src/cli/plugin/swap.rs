//! `rialto plugin swap`.

use std::path::PathBuf;

use anyhow::{Context as _, bail};

use rialto_components::Digest;

use crate::cli::At;
use crate::cli::release::{print_applied, print_changes, print_needs};
use crate::client::Client;
use crate::ops::{Proposal, Swap as Swapped};
use crate::out;
use crate::releases::{Applied, ShownRelease, Summary, with_rule};

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Swap {
    /// The rule's name in the scheme.
    name: String,
    /// The component.
    file: PathBuf,
    /// Print what would change. The host only keeps the component's bytes.
    #[arg(long)]
    plan: bool,
    /// Why, for the list of releases and the audit log.
    #[arg(long, default_value = "")]
    note: String,
    /// Do it only if the release with this number is current
    #[arg(long, value_name = "NUMBER")]
    expect: Option<u64>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: At,
}

impl Swap {
    pub fn run(self) -> anyhow::Result<u8> {
        let path = self.file.display();
        let bytes = std::fs::read(&self.file).with_context(|| format!("reading {path}"))?;
        let client = self.at.client()?;
        let digest = client.put_component(&bytes)?;
        if self.plan {
            return self.plan(&client, digest);
        }
        let path = format!("/rules/{}/swap", self.name);
        let swap = Swapped {
            digest,
            expected: self.expect,
            note: self.note,
        };
        let applied: Applied = client.post(&path, &swap)?;
        print_applied(&applied, self.json)
    }

    fn plan(&self, client: &Client, digest: Digest) -> anyhow::Result<u8> {
        let releases: Vec<Summary> = client.get("/releases")?;
        let current = releases.into_iter().find(|release| release.current);
        let Some(current) = current else {
            bail!("no release is current: apply one first, with `rialto release apply`");
        };
        let current: ShownRelease = client.get(&format!("/releases/{}", current.number))?;
        let proposal = Proposal {
            document: with_rule(&current.document, &self.name, digest)?,
            note: String::new(),
            expected: self.expect,
            effective_from: None,
            effective_until: None,
        };
        let planned: Applied = client.post("/releases/plan", &proposal)?;
        if self.json {
            out::json(&planned)?;
        } else if planned.unchanged {
            out::line("nothing would change: the rule has this component already")?;
        } else {
            out::line(format_args!("release {} would change:", planned.number))?;
            print_changes(&planned.changes)?;
            print_needs(&planned)?;
        }
        Ok(0)
    }
}

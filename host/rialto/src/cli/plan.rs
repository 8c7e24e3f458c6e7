//! `rialto plan`: the plans of releases, and the signatures of officers. `release plan --out` makes one, and `release
//! apply --plan` applies it.

mod sign;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use rialto_components::Digest;

use super::release::{When, print_applied, proposal};
use super::{At, load};
use crate::ops::{Change, NewPlan};
use crate::out;
use crate::plans::{self, SignatureFile};
use crate::releases::{Applied, ShownPlan};
use crate::words;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Plan {
    /// Sign a plan as an officer, without a host: with a private key in a file, or one at a provider of keys
    Sign(sign::Sign),
    /// Make an officer's key at a provider of keys, and print its public key
    Key(sign::MakeKey),
    /// List the plans of a running host, the newest first
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
    /// Show what a plan changes; a digest is asked of the running host, which also knows who has signed
    Show {
        /// The plan's file or digest.
        plan: PathBuf,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
    /// Approve a plan as an officer, with a passkey
    Approve {
        /// The plan's file or digest.
        plan: PathBuf,
        /// Why, for the audit log.
        #[arg(long, default_value = "")]
        note: String,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
}

impl Plan {
    pub fn run(self) -> anyhow::Result<u8> {
        match self {
            Self::Sign(sign) => sign.run(),
            Self::Key(key) => key.run(),
            Self::List { json, at } => {
                let all: Vec<ShownPlan> = at.client()?.get("/plans")?;
                if json {
                    out::json(&all)?;
                } else {
                    out::text(all.iter().map(words::plan_in_a_list).collect::<String>())?;
                    if all.is_empty() {
                        out::note("there is no plan");
                    }
                }
                Ok(0)
            }
            Self::Show { plan, json, at } => {
                if plan.is_file() {
                    let (text, _) = read(&plan)?;
                    return shown(&text, json);
                }
                let digest = digest_of(&plan)?;
                let found: ShownPlan = at.client()?.get(&format!("/plans/{digest}"))?;
                if json {
                    out::json(&found)?;
                    return Ok(0);
                }
                shown(found.content.as_deref().unwrap_or_default(), false)?;
                out::text(words::signatures_of_plan(&found))?;
                Ok(0)
            }
            Self::Approve {
                plan,
                note,
                json,
                at,
            } => {
                let digest = digest_of(&plan)?;
                let change = Change {
                    note,
                    ..Change::default()
                };
                let path = format!("/plans/{digest}/approve");
                let approved: ShownPlan = at.client()?.post(&path, &change)?;
                if json {
                    out::json(&approved)?;
                } else {
                    out::text(words::signatures_of_plan(&approved))?;
                }
                Ok(0)
            }
        }
    }
}

/// What a plan is to be made of.
pub(super) struct Making {
    /// The folder with the new scheme.
    pub scheme: Option<PathBuf>,
    /// The release that is to become current again, instead.
    pub release: Option<u64>,
    /// The file of a backtest's report.
    pub backtest: Option<PathBuf>,
    /// Why.
    pub note: String,
    /// When it is in force.
    pub dates: When,
}

impl Making {
    /// Have the host make the plan, and write it to a file that does not exist.
    pub(super) fn write(self, file: &Path, json: bool, at: At) -> anyhow::Result<u8> {
        if file.exists() {
            bail!("{} exists: name a new file", file.display());
        }
        let backtest = self.backtest.as_deref().map(|report| {
            fs::read_to_string(report).with_context(|| format!("reading {}", report.display()))
        });
        let mut new = NewPlan {
            document: None,
            release: self.release,
            note: self.note,
            expected: None,
            backtest: backtest.transpose()?,
            effective_from: self.dates.effective_from,
            effective_until: self.dates.effective_until,
        };
        let client = match &self.scheme {
            None => at.client()?,
            Some(scheme) => {
                let Some(manifest) = load(scheme)? else {
                    return Ok(2);
                };
                let client = at.or(scheme).client()?;
                new.document = Some(proposal(&client, &manifest, "")?.document);
                client
            }
        };
        let made: ShownPlan = client.post("/plans", &new)?;
        let content = made.content.as_deref().context("the host gave no plan")?;
        if !rialto_files::make_once(file, &[content.as_bytes()])? {
            bail!("{} was made by somebody else meanwhile", file.display());
        }
        if json {
            out::json(&made)?;
            return Ok(0);
        }
        shown(content, false)?;
        out::note(format_args!(
            "{} has the plan: {}",
            file.display(),
            made.digest
        ));
        if made.needed > 0 {
            out::note(format_args!(
                "{} officers must sign it: `rialto plan sign {}`",
                made.needed,
                file.display()
            ));
        }
        Ok(0)
    }
}

/// Send the signatures, then have the plan applied.
pub(super) fn apply(
    plan: &Path,
    signatures: &[PathBuf],
    change: &Change,
    json: bool,
    at: &At,
) -> anyhow::Result<u8> {
    let digest = digest_of(plan)?;
    let read = signatures.iter().map(|file| {
        let text = fs::read_to_string(file);
        let text = text.with_context(|| format!("reading {}", file.display()))?;
        let signature: SignatureFile = serde_json::from_str(&text)
            .with_context(|| format!("{} is no signature under a plan", file.display()))?;
        anyhow::Ok(signature)
    });
    let signatures: Vec<SignatureFile> = read.collect::<Result<_, _>>()?;
    let client = at.client()?;
    for signature in &signatures {
        let path = format!("/plans/{digest}/signatures");
        let _: ShownPlan = client.post(&path, signature)?;
    }
    let applied: Applied = client.post(&format!("/plans/{digest}/apply"), change)?;
    print_applied(&applied, json)
}

/// Prints a plan.
fn shown(text: &str, json: bool) -> anyhow::Result<u8> {
    let (plan, digest) = plans::Plan::read(text)?;
    if json {
        out::json(&plan)?;
    } else {
        out::text(words::plan(&plan, digest))?;
    }
    Ok(0)
}

/// A plan's text and its digest.
fn read(file: &Path) -> anyhow::Result<(String, Digest)> {
    let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    let (_, digest) =
        plans::Plan::read(&text).with_context(|| format!("reading {}", file.display()))?;
    Ok((text, digest))
}

/// The digest of a plan's file, or the digest itself.
fn digest_of(plan: &Path) -> anyhow::Result<Digest> {
    if plan.is_file() {
        return Ok(read(plan)?.1);
    }
    let text = plan.to_string_lossy();
    let digest = text.parse::<Digest>();
    digest.with_context(|| format!("{text} is neither a plan's file nor its digest"))
}

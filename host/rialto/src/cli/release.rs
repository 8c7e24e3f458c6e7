//! `rialto release …` and `rialto plugin …`: changing what a running host runs.

use std::path::PathBuf;

use anyhow::Context as _;
use rialto_manifest::Manifest;

use super::{At, load};
use crate::client::Client;
use crate::ops::{Proposal, Rollback, Swap};
use crate::out::{self, Unwritten};
use crate::releases::{Applied, Summary};
use crate::words;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Release {
    /// Say in words what a folder would change, and whether it would be taken
    Plan {
        /// The folder with the new scheme.
        scheme: PathBuf,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
    /// Make a folder the current release, under load, or refuse it and change nothing
    Apply {
        /// The folder with the new scheme.
        scheme: PathBuf,
        /// Why, for the list of releases.
        #[arg(long, default_value = "")]
        note: String,
        /// Only if the release of this number is current
        #[arg(long, value_name = "NUMBER")]
        expect: Option<u64>,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
    /// List all releases: * is current, x was refused when it was to be activated
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
    /// Make a kept release current again
    Rollback {
        /// Its number.
        number: u64,
        /// Only if the release of this number is current
        #[arg(long, value_name = "NUMBER")]
        expect: Option<u64>,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
}

#[derive(Debug, clap::Subcommand)]
pub(super) enum Plugin {
    /// Put another component behind one rule: a new release with just that change
    Swap {
        /// The rule's name in the scheme.
        name: String,
        /// The component.
        file: PathBuf,
        /// Only if the release of this number is current
        #[arg(long, value_name = "NUMBER")]
        expect: Option<u64>,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
}

impl Release {
    pub fn run(self) -> anyhow::Result<u8> {
        match self {
            Self::Plan { scheme, json, at } => {
                let Some(manifest) = load(&scheme)? else {
                    return Ok(2);
                };
                let client = at.or(&scheme).client()?;
                let planned: Applied =
                    client.post("/releases/plan", &proposal(&client, &manifest, "")?)?;
                if json {
                    out::json(&planned)?;
                } else if planned.changes.is_empty() {
                    out::line("nothing would change")?;
                } else {
                    out::line(format_args!("release {} would change:", planned.number))?;
                    print_changes(&planned)?;
                }
                Ok(0)
            }
            Self::Apply {
                scheme,
                note,
                expect,
                json,
                at,
            } => {
                let Some(manifest) = load(&scheme)? else {
                    return Ok(2);
                };
                let client = at.or(&scheme).client()?;
                let proposal = Proposal {
                    expected: expect,
                    ..proposal(&client, &manifest, &note)?
                };
                let applied: Applied = client.post("/releases", &proposal)?;
                print_applied(&applied, json)?;
                Ok(0)
            }
            Self::List { json, at } => {
                let releases: Vec<Summary> = at.client()?.get("/releases")?;
                if json {
                    out::json(&releases)?;
                } else {
                    releases.iter().try_for_each(print_summary)?;
                }
                Ok(0)
            }
            Self::Rollback {
                number,
                expect,
                json,
                at,
            } => {
                let path = format!("/releases/{number}/rollback");
                let applied: Applied = at.client()?.post(&path, &Rollback { expected: expect })?;
                print_applied(&applied, json)?;
                Ok(0)
            }
        }
    }
}

impl Plugin {
    pub fn run(self) -> anyhow::Result<u8> {
        let Self::Swap {
            name,
            file,
            expect,
            json,
            at,
        } = self;
        let bytes = std::fs::read(&file).with_context(|| format!("reading {}", file.display()))?;
        let client = at.client()?;
        let digest = client.put_component(&bytes)?;
        let path = format!("/rules/{name}/swap");
        let swap = Swap {
            digest,
            expected: expect,
        };
        let applied: Applied = client.post(&path, &swap)?;
        print_applied(&applied, json)?;
        Ok(0)
    }
}

impl At {
    /// Without `--at` and `--state`, the folder that a command names is the host's.
    fn or(self, scheme: &std::path::Path) -> Self {
        if self.state.is_none() && self.at == std::path::Path::new(".") {
            return Self {
                at: scheme.to_owned(),
                ..self
            };
        }
        self
    }
}

/// Send the components, then what is to be planned or applied.
fn proposal(client: &Client, manifest: &Manifest, note: &str) -> anyhow::Result<Proposal> {
    for component in manifest.components() {
        client.put_component(&component.bytes)?;
    }
    Ok(Proposal {
        document: manifest.document().clone(),
        note: note.to_owned(),
        expected: None,
    })
}

fn print_changes(applied: &Applied) -> Result<(), Unwritten> {
    let mut changes = applied.changes.iter();
    changes.try_for_each(|change| out::line(format_args!("  {change}")))
}

fn print_applied(applied: &Applied, json: bool) -> Result<(), Unwritten> {
    if json {
        return out::json(applied);
    }
    let Applied { number, digest, .. } = applied;
    out::line(format_args!("release {number} is current ({digest})"))?;
    print_changes(applied)
}

fn print_summary(release: &Summary) -> Result<(), Unwritten> {
    // Kept ones can be made current again as they were; `x` never served.
    let mark = match release {
        Summary { current: true, .. } => "*",
        Summary {
            was_current: true, ..
        } => " ",
        _ => "x",
    };
    out::line(format_args!(
        "{mark} {:>4}  {}  {}  {}",
        release.number,
        words::instant(release.created_at),
        release.digest.chars().take(19).collect::<String>(),
        release.note
    ))
}

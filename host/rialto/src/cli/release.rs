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

/// The exit code of a change that is stored and waits for the approval of a second person.
const WAITS: u8 = 3;

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
    /// Approve a release that waits for it, and make it current: not by who made it
    Approve {
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
    /// List all releases: * is current, ? waits for an approval, x was refused when it was to be activated
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
                    print_needs(&planned)?;
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
                print_applied(&applied, json)
            }
            Self::Approve {
                number,
                expect,
                json,
                at,
            } => {
                let path = format!("/releases/{number}/approve");
                let applied: Applied = at.client()?.post(&path, &Rollback { expected: expect })?;
                print_applied(&applied, json)
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
                print_applied(&applied, json)
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
        print_applied(&applied, json)
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

/// Why a second person is needed, if one is.
fn print_needs(applied: &Applied) -> Result<(), Unwritten> {
    if applied.needs_approval.is_empty() {
        return Ok(());
    }
    out::line("a second person must approve it, for it brings in money:")?;
    let mut reasons = applied.needs_approval.iter();
    reasons.try_for_each(|reason| out::line(format_args!("  {reason}")))
}

/// Answers the exit code.
fn print_applied(applied: &Applied, json: bool) -> anyhow::Result<u8> {
    let code = if applied.needs_approval.is_empty() {
        0
    } else {
        WAITS
    };
    if json {
        out::json(applied)?;
        return Ok(code);
    }
    let Applied { number, digest, .. } = applied;
    if code == WAITS {
        out::line(format_args!(
            "release {number} is stored and not current ({digest}): `rialto release approve {number} --as NAME`"
        ))?;
    } else {
        out::line(format_args!("release {number} is current ({digest})"))?;
    }
    print_changes(applied)?;
    print_needs(applied)?;
    Ok(code)
}

fn print_summary(release: &Summary) -> Result<(), Unwritten> {
    // Kept ones can be made current again as they were; `x` never served.
    let mark = match release {
        Summary { current: true, .. } => "*",
        Summary { waits: true, .. } => "?",
        Summary {
            was_current: true, ..
        } => " ",
        _ => "x",
    };
    let by = match (&*release.maker, &release.approver) {
        ("", _) => "-".to_owned(),
        (maker, None) => format!("by {maker}"),
        (maker, Some(approver)) => format!("by {maker}, approved by {approver}"),
    };
    out::line(format_args!(
        "{mark} {:>4}  {}  {}  {by}  {}",
        release.number,
        words::instant(release.created_at),
        release.digest.chars().take(19).collect::<String>(),
        release.note
    ))
}

//! `rialto release …`: changing what a running host runs.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use rialto_manifest::Manifest;
use rialto_manifest::values::Instant;

use super::backtest::Backtest;
use super::{At, instants, load, plan};
use crate::client::Client;
use crate::ops::{Change, Proposal};
use crate::out::{self, Unwritten};
use crate::releases::{Applied, Difference, ShownRelease, Summary, Withdrawn};
use crate::words;

/// The exit code of a change that is stored and waits for the approval of a second person.
const WAITS: u8 = 3;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Release {
    /// Print what a folder would change, and whether it would be accepted; with --out make a plan that officers sign
    Plan {
        /// The folder with the new scheme.
        #[arg(required_unless_present = "release", conflicts_with = "release")]
        scheme: Option<PathBuf>,
        /// The release that is to become current again, instead of a folder.
        #[arg(long, value_name = "NUMBER", requires = "out")]
        release: Option<u64>,
        /// Make a plan, and write it to this file, which must not exist.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// The report that `rialto release backtest --out` wrote about the folder.
        #[arg(long, value_name = "FILE", requires = "out")]
        backtest: Option<PathBuf>,
        /// Why, for those who sign.
        #[arg(long, default_value = "", requires = "out")]
        note: String,
        #[command(flatten)]
        dates: When,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
    /// Have the rules of a folder judge again what was judged before, and print what they would decide otherwise
    Backtest(Backtest),
    /// Make a folder the current release while payments flow, or refuse it and change nothing
    Apply {
        /// The folder with the new scheme.
        #[arg(required_unless_present = "plan", conflicts_with = "plan")]
        scheme: Option<PathBuf>,
        /// A plan's file or digest, instead of a folder.
        #[arg(long, value_name = "FILE")]
        plan: Option<PathBuf>,
        /// The file of an officer's signature under the plan. Several for several.
        #[arg(long = "signature", value_name = "FILE", requires = "plan")]
        signatures: Vec<PathBuf>,
        /// Why, for the list of releases.
        #[arg(long, default_value = "")]
        note: String,
        /// Do it only if the release with this number is current
        #[arg(long, value_name = "NUMBER")]
        expect: Option<u64>,
        #[command(flatten)]
        dates: When,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
    /// Approve a release of another operator, and make it current
    Approve {
        /// The release's number.
        number: u64,
        /// Why, for the list of releases and the audit log.
        #[arg(long, default_value = "")]
        note: String,
        /// Do it only if the release with this number is current
        #[arg(long, value_name = "NUMBER")]
        expect: Option<u64>,
        #[command(flatten)]
        dates: When,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
    /// Show a release: who made it and why, when it was current, its components
    Show {
        /// The release's number.
        #[arg(required_unless_present = "as_of")]
        number: Option<u64>,
        /// The instant at which the rules must have been in force. Without a number, the release that was current then.
        #[arg(long, value_name = "TIME", value_parser = instants::past)]
        as_of: Option<u64>,
        /// Print only its scheme.toml.
        #[arg(long, conflicts_with = "json")]
        text: bool,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
    /// Print the differences between two releases
    Diff {
        /// The number of the first release.
        from: u64,
        /// The number of the second release.
        to: u64,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
    /// List all releases with their activations: * is current, > comes into force later, ? waits for approval, x never became current
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
    /// Withdraw a release that comes into force later
    Withdraw {
        /// The release's number.
        number: u64,
        /// Why, for the audit log.
        #[arg(long, default_value = "")]
        note: String,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: At,
    },
    /// Make an earlier release current again, and withdraw one that comes into force later
    Rollback {
        /// The release's number.
        number: u64,
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
    },
}

/// When a release is in force.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(super) struct When {
    /// The instant from which on it is in force, such as 2026-12-01T00:00:00Z; at once without it
    #[arg(long, value_name = "TIME")]
    pub effective_from: Option<Instant>,
    /// The instant from which on the release before is in force again
    #[arg(long, value_name = "TIME", requires = "effective_from")]
    pub effective_until: Option<Instant>,
}

impl Release {
    pub fn run(self) -> anyhow::Result<u8> {
        match self {
            Self::Backtest(backtest) => backtest.run(),
            Self::Plan {
                scheme,
                release,
                out,
                backtest,
                note,
                dates,
                json,
                at,
            } => match (out, scheme) {
                (Some(out), scheme) => {
                    let of = plan::Making {
                        scheme,
                        release,
                        backtest,
                        note,
                        dates,
                    };
                    of.write(&out, json, at)
                }
                (None, Some(scheme)) => planned(&scheme, dates, json, at),
                (None, None) => bail!("name the folder with the new scheme"),
            },
            Self::Apply {
                scheme,
                plan,
                signatures,
                note,
                expect,
                dates,
                json,
                at,
            } => {
                if let Some(plan) = plan {
                    if dates.effective_from.is_some() {
                        bail!("a plan has its dates: make it with --effective-from");
                    }
                    let change = Change {
                        expected: expect,
                        note,
                        ..Change::default()
                    };
                    return plan::apply(&plan, &signatures, &change, json, &at);
                }
                let scheme = scheme.context("name the folder with the new scheme")?;
                let Some(manifest) = load(&scheme)? else {
                    return Ok(2);
                };
                let client = at.or(&scheme).client()?;
                let proposal = Proposal {
                    expected: expect,
                    effective_from: dates.effective_from,
                    effective_until: dates.effective_until,
                    ..proposal(&client, &manifest, &note)?
                };
                let applied: Applied = client.post("/releases", &proposal)?;
                print_applied(&applied, json)
            }
            Self::Approve {
                number,
                note,
                expect,
                dates,
                json,
                at,
            } => {
                let path = format!("/releases/{number}/approve");
                let change = Change {
                    expected: expect,
                    note,
                    effective_from: dates.effective_from,
                    effective_until: dates.effective_until,
                };
                let applied: Applied = at.client()?.post(&path, &change)?;
                print_applied(&applied, json)
            }
            Self::List { json, at } => {
                let releases: Vec<Summary> = at.client()?.get("/releases")?;
                if json {
                    out::json(&releases)?;
                } else {
                    let told = releases.iter().map(words::release_in_a_list);
                    out::text(told.collect::<String>())?;
                    if releases.is_empty() {
                        out::note("there is no release");
                    }
                }
                Ok(0)
            }
            Self::Show {
                number,
                as_of,
                text,
                json,
                at,
            } => show((number, as_of), text, json, &at),
            Self::Diff { from, to, json, at } => {
                let path = format!("/releases/{from}/diff/{to}");
                let difference: Difference = at.client()?.get(&path)?;
                if json {
                    out::json(&difference)?;
                } else if difference.changes.is_empty() {
                    out::line(format_args!(
                        "nothing differs between release {from} and {to}"
                    ))?;
                } else {
                    out::line(format_args!("from release {from} to {to}:"))?;
                    print_changes(&difference.changes)?;
                }
                Ok(0)
            }
            Self::Withdraw {
                number,
                note,
                json,
                at,
            } => {
                let path = format!("/releases/{number}/withdraw");
                let change = Change {
                    note,
                    ..Change::default()
                };
                let withdrawn: Withdrawn = at.client()?.post(&path, &change)?;
                if json {
                    out::json(&withdrawn)?;
                } else {
                    for number in &withdrawn.releases {
                        out::line(format_args!("release {number} is withdrawn"))?;
                    }
                }
                Ok(0)
            }
            Self::Rollback {
                number,
                note,
                expect,
                json,
                at,
            } => {
                let path = format!("/releases/{number}/rollback");
                let change = Change {
                    expected: expect,
                    note,
                    ..Change::default()
                };
                let applied: Applied = at.client()?.post(&path, &change)?;
                print_applied(&applied, json)
            }
        }
    }
}

/// Prints what a folder would change.
fn planned(scheme: &Path, dates: When, json: bool, at: At) -> anyhow::Result<u8> {
    let Some(manifest) = load(scheme)? else {
        return Ok(2);
    };
    let client = at.or(scheme).client()?;
    let proposal = Proposal {
        effective_from: dates.effective_from,
        effective_until: dates.effective_until,
        ..proposal(&client, &manifest, "")?
    };
    let planned: Applied = client.post("/releases/plan", &proposal)?;
    if json {
        out::json(&planned)?;
    } else if planned.unchanged {
        let number = planned.number;
        out::line(format_args!(
            "nothing would change: release {number} is current"
        ))?;
    } else {
        out::line(format_args!("release {} would change:", planned.number))?;
        print_changes(&planned.changes)?;
        print_calendar(&planned)?;
        print_counters(&planned)?;
        print_needs(&planned)?;
    }
    Ok(0)
}

impl At {
    /// Without `--at` and `--state`, the folder that a command names is the running host's.
    pub(super) fn or(self, scheme: &Path) -> Self {
        if self.state.is_none() && self.at == std::path::Path::new(".") {
            return Self {
                at: scheme.to_owned(),
                ..self
            };
        }
        self
    }
}

/// Sends the components, then the scheme to plan or apply.
pub(super) fn proposal(
    client: &Client,
    manifest: &Manifest,
    note: &str,
) -> anyhow::Result<Proposal> {
    for component in manifest.components() {
        client.put_component(&component.bytes)?;
    }
    Ok(Proposal {
        document: manifest.document().clone(),
        note: note.to_owned(),
        expected: None,
        effective_from: None,
        effective_until: None,
    })
}

fn show(
    (number, as_of): (Option<u64>, Option<u64>),
    text: bool,
    json: bool,
    at: &At,
) -> anyhow::Result<u8> {
    let client = at.client()?;
    let number = match (number, as_of) {
        (Some(number), _) => number,
        (None, as_of) => current_at(&client, as_of.unwrap_or_default())?,
    };
    let release: ShownRelease = client.get(&format!("/releases/{number}"))?;
    if json {
        out::json(&release)?;
    } else if text {
        out::text(release.document.text())?;
    } else {
        out::text(words::release(&release))?;
        let scheme = release.document.scheme();
        let scheme = scheme.map_err(|problems| anyhow::anyhow!("{}", problems.plain()))?;
        let instant = as_of.unwrap_or_else(instants::now);
        out::text(words::effective(&scheme, instant))?;
    }
    Ok(0)
}

/// The release that was current at an instant.
pub(super) fn current_at(client: &Client, instant: u64) -> anyhow::Result<u64> {
    let releases: Vec<Summary> = client.get("/releases")?;
    let activations = releases.iter().flat_map(|release| {
        let done = release.activations.iter().filter(|one| one.done);
        let done = done.map(|one| (one.at, release.number));
        done.chain(release.comes_at().map(|at| (at, release.number)))
    });
    let before = activations.filter(|(at, _)| *at <= instant);
    let last = before.max();
    let (_, number) = last.with_context(|| {
        format!(
            "no release is known to have been current at {}",
            words::instant(instant)
        )
    })?;
    Ok(number)
}

pub(super) fn print_changes(changes: &[String]) -> Result<(), Unwritten> {
    let mut changes = changes.iter();
    changes.try_for_each(|change| out::line(format_args!("  {change}")))
}

/// Prints when rules begin and end, if they do.
pub(super) fn print_calendar(applied: &Applied) -> Result<(), Unwritten> {
    if applied.calendar.is_empty() {
        return Ok(());
    }
    out::line("the calendar ahead:")?;
    print_changes(&applied.calendar)
}

/// Prints which counters know nothing of before, if there are any.
pub(super) fn print_counters(applied: &Applied) -> Result<(), Unwritten> {
    if applied.fresh_counters.is_empty() {
        return Ok(());
    }
    out::line("counters that know nothing of before:")?;
    print_changes(&applied.fresh_counters)
}

/// Prints why a second person has to approve, if so.
pub(super) fn print_needs(applied: &Applied) -> Result<(), Unwritten> {
    if applied.needs_approval.is_empty() {
        return Ok(());
    }
    out::line("a second person must approve it, because of this:")?;
    let mut reasons = applied.needs_approval.iter();
    reasons.try_for_each(|reason| out::line(format_args!("  {reason}")))
}

/// Returns the exit code.
pub(super) fn print_applied(applied: &Applied, json: bool) -> anyhow::Result<u8> {
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
    if applied.unchanged {
        out::line(format_args!(
            "nothing changed: release {number} is already current ({digest})"
        ))?;
    } else if code == WAITS {
        out::line(format_args!(
            "release {number} is stored but not current ({digest}): `rialto release approve {number} --as NAME`"
        ))?;
    } else if let Some(from) = applied.effective_from {
        let from = words::instant(from);
        out::line(format_args!(
            "release {number} comes into force at {from} ({digest})"
        ))?;
    } else {
        out::line(format_args!("release {number} is current ({digest})"))?;
    }
    print_changes(&applied.changes)?;
    print_calendar(applied)?;
    print_counters(applied)?;
    print_needs(applied)?;
    Ok(code)
}

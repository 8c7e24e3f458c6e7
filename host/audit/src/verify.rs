//! The check of a log: are its entries those of its signed checkpoints, all of them and in their order?
//!
//! A log is two things: entries, and the hashes of entries, in tiles. A checkpoint is believed for its signature. If the
//! tiles lead to the checkpoint's root, they are right too, and each entry is compared with its own hash. So a changed
//! entry has a name. If even the tiles are wrong, the check says between which checkpoints.

use std::collections::HashMap;
use std::fmt;

use crate::checkpoint::Checkpoint;
use crate::hash::Hash;
use crate::tile::TILE_WIDTH;
use crate::tree::Tree;

/// The most entries that differ and are told apart. Behind them the check only counts.
pub const DIFFERENT_MAX: usize = 10_000;

/// Where the parts of a log come from.
pub trait Log {
    /// Why it cannot be read.
    type Error;

    /// The entries from this index on, at most 256 of them, each with its index, in order. Entries that are missing are
    /// left out. None at the end.
    ///
    /// # Errors
    /// When they cannot be read.
    fn entries(&mut self, first: u64) -> Result<Vec<(u64, Vec<u8>)>, Self::Error>;

    /// The hashes of 256 entries, or of fewer at the end, as the log has kept them: the tile of this index at level 0.
    /// None if it is missing.
    ///
    /// # Errors
    /// When it cannot be read.
    fn hashes(&mut self, tile: u64) -> Result<Option<Vec<Hash>>, Self::Error>;
}

/// A checkpoint whose signature was verified, and where it comes from.
#[derive(Clone, Debug)]
pub struct Head {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// Its place for people: a file's name, or `the log's own`.
    pub place: String,
}

/// Something that is wrong with a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The entry is another one than was signed.
    Changed(u64),
    /// Entries that were signed are gone: from the first to the last.
    Missing(u64, u64),
    /// An entry stands at this index that was never signed there, and the one that was is somewhere else.
    Inserted(u64),
    /// Entries, from the first to the last, stand at other indexes, from this one on.
    Moved {
        /// The first one's own index.
        first: u64,
        /// The last one's own index.
        last: u64,
        /// Where the first one stands now.
        to: u64,
    },
    /// More entries differ than are told apart.
    More(u64),
    /// The log is not the one of this checkpoint: up to its size, entries and hashes were both made anew.
    OtherLog {
        /// Where the checkpoint comes from.
        place: String,
        /// Its size.
        size: u64,
        /// Up to this size the log fits an earlier checkpoint.
        good: u64,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed(at) => write!(f, "entry {at} was changed after it was signed"),
            Self::Missing(first, last) if first == last => {
                write!(
                    f,
                    "entry {first} is missing: it was removed after it was signed"
                )
            }
            Self::Missing(first, last) => write!(
                f,
                "entries {first} to {last} are missing: they were removed after they were signed"
            ),
            Self::Inserted(at) => write!(f, "entry {at} was inserted: nobody has signed it there"),
            Self::Moved { first, last, to } if first == last => {
                write!(f, "entry {first} was moved: it stands at {to}")
            }
            Self::Moved { first, last, to } => {
                write!(
                    f,
                    "entries {first} to {last} were moved: they stand from {to} on"
                )
            }
            Self::More(count) => write!(f, "{count} more entries differ"),
            Self::OtherLog { place, size, good } => write!(
                f,
                "the log is not the one whose checkpoint is {place}: it differs somewhere from entry {good} to entry {}, and its hashes were made anew",
                size.saturating_sub(1)
            ),
        }
    }
}

/// The outcome of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// How many entries there are.
    pub entries: u64,
    /// How many of them a checkpoint covers.
    pub signed: u64,
    /// How many checkpoints the log fits.
    pub fitting: usize,
    /// What is wrong. None if the log is as it was signed.
    pub findings: Vec<Finding>,
}

/// An index at which a log differs from its own hashes.
struct Difference {
    at: u64,
    signed: Hash,
    found: Option<Hash>,
}

/// What is collected on the way through a log.
struct Check {
    /// The tree by the hashes that the log has kept, and by its entries where it has none.
    tree: Tree,
    differences: Vec<Difference>,
    more: u64,
}

impl Check {
    /// Go on by one index.
    fn step(&mut self, signed: Option<Hash>, found: Option<Hash>) {
        let at = self.tree.size();
        let Some(hash) = signed.or(found) else { return };
        self.tree.append(hash);
        if found == Some(hash) {
            return;
        }
        if self.differences.len() == DIFFERENT_MAX {
            self.more += 1;
            return;
        }
        self.differences.push(Difference {
            at,
            signed: hash,
            found,
        });
    }
}

/// Check a log against checkpoints, whose signatures were verified. Entries behind the largest checkpoint are counted and
/// not judged: nobody has signed them yet.
///
/// # Errors
/// When the log cannot be read.
pub fn check<L: Log>(log: &mut L, heads: &[Head]) -> Result<Report, L::Error> {
    let mut heads: Vec<&Head> = heads.iter().collect();
    heads.sort_by_key(|head| head.checkpoint.size);
    let signed = heads.last().map_or(0, |head| head.checkpoint.size);
    let mut report = Report {
        signed,
        ..Report::default()
    };
    let mut check = Check {
        tree: Tree::default(),
        differences: Vec::new(),
        more: 0,
    };
    let mut heads = heads.into_iter().peekable();
    let mut good = 0;
    let mut next = log.entries(0)?.into_iter().peekable();
    let mut tile = Vec::new();
    let mut gone = None;
    while check.tree.size() < signed {
        let at = check.tree.size();
        let place = usize::try_from(at % TILE_WIDTH as u64).unwrap_or_default();
        if place == 0 {
            tile = log.hashes(at / TILE_WIDTH as u64)?.unwrap_or_default();
        }
        if next.peek().is_none() {
            next = log.entries(at)?.into_iter().peekable();
        }
        let found = next.next_if(|(index, _)| *index == at);
        let found = found.map(|(_, entry)| Hash::of_entry(&entry));
        report.entries += u64::from(found.is_some());
        let kept = tile.get(place).copied();
        if kept.or(found).is_none() {
            // Neither the entry nor its hash is there, so the roots behind it cannot be known.
            gone = Some(at);
            break;
        }
        check.step(kept, found);
        while let Some(head) = heads.next_if(|head| head.checkpoint.size == check.tree.size()) {
            if check.tree.root() == head.checkpoint.root {
                report.fitting += 1;
                good = check.tree.size();
            } else {
                report.findings.push(other_log(head, good));
            }
        }
    }
    if let Some(at) = gone {
        report.findings.push(Finding::Missing(at, signed - 1));
    }
    report.findings.extend(told_apart(&check.differences));
    report
        .findings
        .extend((check.more > 0).then_some(Finding::More(check.more)));
    report.entries += behind(log, signed, next)?;
    Ok(report)
}

fn other_log(head: &Head, good: u64) -> Finding {
    Finding::OtherLog {
        place: head.place.clone(),
        size: head.checkpoint.size,
        good,
    }
}

/// Count the entries that no checkpoint covers.
fn behind<L: Log>(
    log: &mut L,
    signed: u64,
    read: impl Iterator<Item = (u64, Vec<u8>)>,
) -> Result<u64, L::Error> {
    let mut count = 0;
    let mut first = signed;
    for (index, _) in read.filter(|(index, _)| *index >= signed) {
        count += 1;
        first = index + 1;
    }
    loop {
        let more = log.entries(first)?;
        let Some((last, _)) = more.last() else {
            return Ok(count);
        };
        first = last + 1;
        count += more.len() as u64;
    }
}

/// Say of each difference what became of the entry.
fn told_apart(differences: &[Difference]) -> Vec<Finding> {
    let signed: HashMap<Hash, u64> = differences.iter().map(|d| (d.signed, d.at)).collect();
    let found = differences.iter().filter_map(|d| Some((d.found?, d.at)));
    let found: HashMap<Hash, u64> = found.collect();
    let mut findings = Vec::new();
    for difference in differences {
        let at = difference.at;
        let stands_elsewhere = found.contains_key(&difference.signed);
        let comes_from = difference.found.and_then(|hash| signed.get(&hash));
        match (difference.found, comes_from) {
            (_, Some(from)) => {
                if !stands_elsewhere {
                    add(&mut findings, Finding::Missing(at, at));
                }
                add(
                    &mut findings,
                    Finding::Moved {
                        first: *from,
                        last: *from,
                        to: at,
                    },
                );
            }
            (Some(_), None) if stands_elsewhere => findings.push(Finding::Inserted(at)),
            (Some(_), None) => findings.push(Finding::Changed(at)),
            (None, None) if stands_elsewhere => {}
            (None, None) => add(&mut findings, Finding::Missing(at, at)),
        }
    }
    findings
}

/// Add a finding, or make the one before longer by it.
fn add(findings: &mut Vec<Finding>, finding: Finding) {
    for earlier in findings.iter_mut().rev().take(2) {
        match (earlier, &finding) {
            (Finding::Missing(_, last), Finding::Missing(first, end)) if *last + 1 == *first => {
                *last = *end;
                return;
            }
            (
                Finding::Moved { first, last, to },
                Finding::Moved {
                    first: from,
                    to: here,
                    ..
                },
            ) if *last + 1 == *from && *to + (*last - *first) + 1 == *here => {
                *last = *from;
                return;
            }
            _ => {}
        }
    }
    findings.push(finding);
}

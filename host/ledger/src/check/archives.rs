//! Checks opening balances against the sums of archived entries.
//!
//! An entry in two archives counts once. An entry that is still in the ledger counts there. If archives are missing, an
//! opening balance must be at least the sum of the others. The check needs sixteen bytes of memory for each archived
//! entry, and the accounts.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use rialto_store::DocumentSnapshot;
use rialto_store_sqlite::retention::{ArchiveVisit, visit_archived_documents};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::documents::{Account, Entry};
use crate::source::{ENTRIES, KEEPER};
use crate::{LedgerError, decimal};

use super::report::{Check, Report};

/// The archives that were added up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InArchives {
    /// How many files were read.
    pub read: u64,
    /// Missing files, which are not added up.
    pub missing: Vec<String>,
    /// Files that differ from what was written.
    pub damaged: Vec<String>,
}

/// Sums of one account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    entries: i128,
    debits: i128,
    credits: i128,
}

/// See the module's documentation.
#[derive(Default)]
pub(super) struct Archives {
    looked: ArchiveVisit,
    ids: HashSet<[u8; 16]>,
    of: BTreeMap<String, Sums>,
}

/// The first sixteen bytes of an id's digest. They are enough to distinguish all ids.
fn short(id: &str) -> [u8; 16] {
    let digest = Sha256::digest(id.as_bytes());
    let mut short = [0; 16];
    for (to, from) in short.iter_mut().zip(digest) {
        *to = from;
    }
    short
}

impl Archives {
    /// Read all archives in the folder.
    pub fn read(
        snapshot: &mut dyn DocumentSnapshot,
        folder: &Path,
        report: &mut Report,
    ) -> Result<Self, LedgerError> {
        let mut found = Self::default();
        let archives = snapshot.archives()?;
        found.looked = visit_archived_documents(&archives, folder, KEEPER, &mut |document| {
            if document.collection != ENTRIES {
                return Ok::<_, LedgerError>(());
            }
            match serde_json::from_str::<Entry>(document.document.get()) {
                Ok(entry) => found.add(&entry),
                Err(error) => {
                    let text = format!("the archived entry {}: {error}", document.id);
                    report.breach(Check::Archives, text);
                }
            }
            Ok(())
        })?;
        Ok(found)
    }

    fn add(&mut self, entry: &Entry) {
        if self.ids.insert(short(&entry.id)) {
            self.count(entry, 1);
        }
    }

    /// Notes that an entry is in the ledger. If an archive has it too, the ledger's copy counts.
    pub fn is_here(&mut self, entry: &Entry) {
        if !self.ids.is_empty() && self.ids.remove(&short(&entry.id)) {
            self.count(entry, -1);
        }
    }

    fn count(&mut self, entry: &Entry, sign: i128) {
        let amount = sign * entry.amount.0;
        let debit = self.of.entry(entry.debit_account.clone()).or_default();
        (debit.entries, debit.debits) = (debit.entries + sign, debit.debits + amount);
        let credit = self.of.entry(entry.credit_account.clone()).or_default();
        (credit.entries, credit.credits) = (credit.entries + sign, credit.credits + amount);
    }

    /// Compares each account's opening balance with the sum of its archived entries. `is_of_all` says that
    /// these are all accounts, not those in one currency.
    pub fn end<'a>(
        mut self,
        accounts: impl Iterator<Item = &'a Account>,
        is_of_all: bool,
        report: &mut Report,
    ) {
        let ArchiveVisit {
            read,
            missing,
            damaged,
        } = self.looked;
        for file in &damaged {
            let text = format!("{file} is not the archive that was written");
            report.breach(Check::Archives, text);
        }
        let is_whole = missing.is_empty() && damaged.is_empty();
        for account in accounts {
            let found = self.of.remove(&account.id).unwrap_or_default();
            let opening = account.archived.as_ref();
            let says = opening.map_or_else(Sums::default, |of| Sums {
                entries: i128::from(of.entries),
                debits: of.debits.0,
                credits: of.credits.0,
            });
            report.looked_at(Check::Archives);
            let fits = if is_whole {
                found == says
            } else {
                found.entries <= says.entries
                    && found.debits <= says.debits
                    && found.credits <= says.credits
            };
            if !fits {
                let amount = |units| decimal(units, account.scale);
                let text = format!(
                    "{} has an opening balance of {} entries, debits {}, credits {}; archives have {} \
                     entries, debits {}, credits {}",
                    account.id,
                    says.entries,
                    amount(says.debits),
                    amount(says.credits),
                    found.entries,
                    amount(found.debits),
                    amount(found.credits),
                );
                report.breach(Check::Archives, text);
            }
        }
        if is_of_all {
            for (id, left) in self.of.iter().filter(|(_, left)| **left != Sums::default()) {
                let text = format!(
                    "archives have {} entries of {id}, which is no account",
                    left.entries
                );
                report.breach(Check::Archives, text);
            }
        }
        report.archives = Some(InArchives {
            read,
            missing,
            damaged,
        });
    }
}

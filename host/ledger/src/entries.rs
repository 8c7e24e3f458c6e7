//! Lists entries for people: those of an account with its running balance, and those of a cause.

use std::path::Path;

use rialto_engine::store::ScanRange;
use rialto_store_sqlite::retention::documents_about;
use serde::Serialize;
use uuid::Uuid;

use crate::documents::{Account, Archived, Entry, PAGE, Page, page_id};
use crate::pages::entries_of_page;
use crate::source::{ENTRIES, KEEPER, PAGES};
use crate::{Ledger, LedgerError, decimal, read};

/// The namespace of causes that are no UUIDs: version 5 of the URL `urn:rialto:ledger`.
const CAUSES: Uuid = Uuid::from_u128(0x2a13_7ed3_cae2_54ef_a62e_d925_15a9_acf3);

/// An entry for people and programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownEntry {
    /// Its public id: a UUID made of cause and step.
    pub journal_entry_id: String,
    /// The id of its document.
    pub id: String,
    /// The reason for it.
    pub entry_type: String,
    /// The debited account.
    pub debit_account: String,
    /// The credited account.
    pub credit_account: String,
    /// The amount.
    pub amount: String,
    /// ISO 4217.
    pub currency: String,
    /// The account's debits after it, in a list of one account's entries. After an archived entry they are
    /// unknown until the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debits_after: Option<String>,
    /// Its credits after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credits_after: Option<String>,
    /// Credits minus debits after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance_after: Option<String>,
    /// The transfer, the instruction or the settlement.
    pub cause: String,
    /// Milliseconds since 1970.
    pub posted_at: u64,
}

/// A filter of an account's entries.
#[derive(Clone, Copy, Debug)]
pub struct EntryFilter {
    /// The first instant; milliseconds since 1970.
    pub from: u64,
    /// The end, which is excluded; milliseconds since 1970.
    pub to: u64,
    /// At most so many: the oldest.
    pub limit: usize,
}

/// Entries of an account.
#[derive(Clone, Debug)]
pub struct Followed {
    /// The oldest first.
    pub entries: Vec<ShownEntry>,
    /// Whether there are more.
    pub more: bool,
    /// Whether the account has entries that are older than its history. They are not among these.
    pub earlier: bool,
    /// The sums of archived entries, which are not among these.
    pub opening: Option<Opening>,
}

/// An account's opening balance: the sums of its archived entries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Opening {
    /// How many entries.
    pub entries: u64,
    /// When the latest of them was posted: milliseconds since 1970.
    pub until: u64,
    /// Their debits.
    pub debits: String,
    /// Their credits.
    pub credits: String,
    /// Credits minus debits.
    pub balance: String,
    /// ISO 4217.
    pub currency: String,
    /// The newest archive.
    pub file: String,
    /// The newest archive's digest: SHA-256, hexadecimal.
    pub sha256: String,
}

impl Opening {
    /// The account's opening balance; none if no entry is archived.
    pub fn of(account: &Account) -> Option<Self> {
        let of = |archived: &Archived| Self {
            entries: archived.entries,
            until: archived.until,
            debits: decimal(archived.debits.0, account.scale),
            credits: decimal(archived.credits.0, account.scale),
            balance: decimal(archived.net(), account.scale),
            currency: account.currency.clone(),
            file: archived.file.clone(),
            sha256: archived.sha256.clone(),
        };
        account.archived.as_ref().map(of)
    }
}

/// The id of the entry of a cause and a step; a cause that is a UUID is the namespace itself.
pub fn journal_entry_id(cause: &str, step: &str) -> String {
    let namespace =
        Uuid::try_parse(cause).unwrap_or_else(|_| Uuid::new_v5(&CAUSES, cause.as_bytes()));
    Uuid::new_v5(&namespace, step.as_bytes()).to_string()
}

impl ShownEntry {
    pub(crate) fn of(entry: &Entry) -> Self {
        let step = entry.step().unwrap_or(&entry.id);
        Self {
            journal_entry_id: journal_entry_id(&entry.correlation_id, step),
            id: entry.id.clone(),
            entry_type: entry.entry_type.clone(),
            debit_account: entry.debit_account.clone(),
            credit_account: entry.credit_account.clone(),
            amount: decimal(entry.amount.0, entry.scale),
            currency: entry.currency.clone(),
            debits_after: None,
            credits_after: None,
            balance_after: None,
            cause: entry.correlation_id.clone(),
            posted_at: entry.posted_at,
        }
    }
}

impl Ledger {
    /// Entries of an account, in the order in which they were posted, with its balance after each.
    ///
    /// Missing entries and pages are left out if the account has archived ones. Only the check verifies that
    /// the missing ones are those.
    ///
    /// # Errors
    /// When there is no such account, or its history cannot be read. Also when a part of the history is
    /// missing although nothing of the account is archived.
    pub fn entries_of(
        &mut self,
        account: &str,
        wanted: EntryFilter,
    ) -> Result<Followed, LedgerError> {
        let account = self.account(account)?;
        let pages = account.tail.count / PAGE;
        let mut followed = Followed {
            entries: Vec::new(),
            more: false,
            earlier: false,
            opening: Opening::of(&account),
        };
        for number in 0..=pages {
            let page = if number < pages {
                let id = page_id(&account.id, number);
                let missing = || LedgerError::Missing(PAGES, id.clone());
                let pages = self.collections.pages.ok_or_else(missing)?;
                match self.document::<Page>(pages, PAGES, &id)? {
                    Some(page) => page,
                    None if account.archived.is_some() => continue,
                    None => return Err(missing()),
                }
            } else {
                account.tail.page.clone()
            };
            if number == 0 && (page.debit_before.0, page.credit_before.0) != (0, 0) {
                followed.earlier = true;
            }
            let overlaps = page.latest >= wanted.from && page.earliest < wanted.to;
            if overlaps && !self.follow(&account, &page, wanted, &mut followed)? {
                break;
            }
        }
        Ok(followed)
    }

    /// The entries of a page. Returns whether more are wanted.
    fn follow(
        &mut self,
        account: &Account,
        page: &Page,
        wanted: EntryFilter,
        followed: &mut Followed,
    ) -> Result<bool, LedgerError> {
        let entries = entries_of_page(self, account, page)?;
        for entry in entries.into_iter().flatten() {
            if !(wanted.from..wanted.to).contains(&entry.posted_at) {
                continue;
            }
            if followed.entries.len() == wanted.limit {
                followed.more = true;
                return Ok(false);
            }
            followed.entries.push(entry);
        }
        Ok(true)
    }

    /// All entries of a transfer, an instruction or a settlement, in the order in which they were
    /// posted.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn entries_of_cause(&mut self, cause: &str) -> Result<Vec<ShownEntry>, LedgerError> {
        let Some(collection) = self.collections.entries else {
            return Ok(Vec::new());
        };
        let range = ScanRange::prefix(&format!("{cause}:"));
        let mut entries: Vec<Entry> = Vec::new();
        for found in self.snapshot.range(collection, &range)? {
            entries.push(read(ENTRIES, &found)?);
        }
        // One that is called like this with a colon behind has its entries in between.
        entries.retain(|entry| entry.correlation_id == cause);
        entries.sort_by_key(|entry| entry.posted_at);
        Ok(entries.iter().map(ShownEntry::of).collect())
    }

    /// The entries of a transfer that are in archives, in the order in which they were posted, and the names
    /// of archives that are not in their folder.
    ///
    /// # Errors
    /// When an archive, or what it has, cannot be read.
    pub fn archived_entries_of(
        &mut self,
        transfer: &str,
        folder: &Path,
    ) -> Result<(Vec<ShownEntry>, Vec<String>), LedgerError> {
        let archives = self.snapshot.archives()?;
        let found = documents_about(&archives, folder, &format!("transfer:{transfer}"))?;
        let mut entries: Vec<Entry> = Vec::new();
        for (component, document) in &found.found {
            if component == KEEPER && document.collection == ENTRIES {
                // The ledger names no people, so its documents are never encrypted.
                let body = document.document.get();
                let entry = serde_json::from_str(body);
                entries.push(entry.map_err(|source| LedgerError::Unreadable {
                    collection: ENTRIES,
                    id: document.id.clone(),
                    source,
                })?);
            }
        }
        // One that was not taken out at once may be in a later archive too.
        entries.sort_by(|one, other| (one.posted_at, &one.id).cmp(&(other.posted_at, &other.id)));
        entries.dedup_by(|one, other| one.id == other.id);
        Ok((entries.iter().map(ShownEntry::of).collect(), found.missing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_that_the_scheme_shows() {
        let url = Uuid::new_v5(&Uuid::NAMESPACE_URL, b"urn:rialto:ledger");
        assert_eq!(url, CAUSES);
        let transfer = "11436b17-c690-4a30-8505-42a2c4eafb9d";
        assert_eq!(
            journal_entry_id(transfer, "prepare"),
            "b9125ad1-5b84-5a29-acdd-d178dee70153"
        );
    }
}

//! Entries of an account page by page, the newest first, each with the balance after it.
//!
//! An entry's number is its place among all entries of its account. It never changes, so a reader can go on while others are
//! posted.

use rialto_engine::store::StoredDocument;
use serde::Serialize;

use crate::documents::{Account, Entry, PAGE, Page, page_id};
use crate::entries::{Opening, ShownEntry};
use crate::source::{ACCOUNTS, ENTRIES, PAGES};
use crate::{AccountType, Ledger, LedgerError, decimal, read};

/// The most entries of a page for readers.
pub const ENTRIES_MAX: usize = 200;
/// How many pages of the ledger are looked at for one page for readers. Those with archived entries alone do not exist.
const LOOKED_AT_MAX: u32 = 64;

/// Where the ledger's documents are.
pub trait Documents {
    /// A document of the component that keeps the ledger.
    ///
    /// # Errors
    /// When it cannot be read.
    fn find(
        &mut self,
        collection: &'static str,
        id: &str,
    ) -> Result<Option<StoredDocument>, LedgerError>;
}

impl Documents for Ledger {
    fn find(
        &mut self,
        collection: &'static str,
        id: &str,
    ) -> Result<Option<StoredDocument>, LedgerError> {
        let known = match collection {
            ACCOUNTS => Some(self.collections.accounts),
            PAGES => self.collections.pages,
            ENTRIES => self.collections.entries,
            _ => None,
        };
        let Some(known) = known else {
            return Ok(None);
        };
        Ok(self.snapshot.document(known, id)?)
    }
}

/// An account, for people and programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownAccount {
    /// Its id.
    pub id: String,
    /// Who owns it.
    pub participant: String,
    /// What it is for.
    pub account_type: AccountType,
    /// ISO 4217.
    pub currency: String,
    /// Whether it takes new entries.
    pub state: String,
    /// All debits, ever.
    pub debits: String,
    /// All credits, ever.
    pub credits: String,
    /// Credits minus debits.
    pub balance: String,
    /// How many entries it has had.
    pub entries: u64,
    /// How far debits may exceed credits.
    pub debit_limit: String,
    /// The highest net debit position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub net_debit_cap: Option<String>,
    /// The liquidity below which a warning is published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub liquidity_threshold: Option<String>,
    /// The amount that waits for settlement.
    pub unsettled: String,
    /// Its settlement model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settlement_model: Option<String>,
    /// Its batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<String>,
    /// Milliseconds since 1970.
    pub created_at: u64,
}

/// An entry with its number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NumberedEntry {
    /// Its place among all entries of the account, from 0 on.
    pub number: u64,
    /// The rest.
    #[serde(flatten)]
    pub entry: ShownEntry,
}

/// A page for readers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EntriesPage {
    /// The account now.
    pub account: ShownAccount,
    /// The newest first.
    pub entries: Vec<NumberedEntry>,
    /// Where the next page begins; none on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// The sums of archived entries, which are on no page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opening: Option<Opening>,
}

impl ShownAccount {
    fn of(account: &Account) -> Self {
        let amount = |units| decimal(units, account.scale);
        Self {
            id: account.id.clone(),
            participant: account.participant.clone(),
            account_type: account.account_type,
            currency: account.currency.clone(),
            state: account.state.clone(),
            debits: amount(account.debit_balance.0),
            credits: amount(account.credit_balance.0),
            balance: amount(account.net()),
            entries: account.tail.count,
            debit_limit: amount(account.debit_limit.0),
            net_debit_cap: account.net_debit_cap.map(|cap| amount(cap.0)),
            liquidity_threshold: account.liquidity_threshold.map(|below| amount(below.0)),
            unsettled: amount(account.unsettled.0),
            settlement_model: account.settlement_model.clone(),
            batch: account.batch.clone(),
            created_at: account.created_at,
        }
    }
}

/// A page of an account's entries: those with a number below `before`, or the newest; at most `limit` and [`ENTRIES_MAX`]. A page
/// may be short, even empty, and have a next one: then its entries are archived.
///
/// # Errors
/// When there is no such account, or a document cannot be read. Also when an entry is missing although nothing of the account is
/// archived.
pub fn newest_first(
    documents: &mut dyn Documents,
    account: &str,
    before: Option<u64>,
    limit: usize,
) -> Result<EntriesPage, LedgerError> {
    let found = documents.find(ACCOUNTS, account)?;
    let found = found.ok_or_else(|| LedgerError::NoAccount(account.to_owned()))?;
    let account: Account = read(ACCOUNTS, &found)?;
    let count = account.tail.count;
    let mut end = before.map_or(count, |before| before.min(count));
    let limit = limit.min(ENTRIES_MAX);
    let mut entries = Vec::new();
    let mut looked_at = 0;
    while end > 0 && entries.len() < limit && looked_at < LOOKED_AT_MAX {
        looked_at += 1;
        let number = (end - 1) / PAGE;
        let first = number * PAGE;
        let Some(page) = page_of(documents, &account, number)? else {
            end = first;
            continue;
        };
        let of_page = entries_of_page(documents, &account, &page)?;
        for (at, entry) in of_page.into_iter().enumerate().rev() {
            let number = first + at as u64;
            if number >= end {
                continue;
            }
            if entries.len() == limit {
                break;
            }
            end = number;
            entries.extend(entry.map(|entry| NumberedEntry { number, entry }));
        }
        if entries.len() < limit {
            // Also for a page that lists fewer than it should.
            end = first;
        }
    }
    Ok(EntriesPage {
        entries,
        next: (end > 0).then_some(end),
        opening: Opening::of(&account),
        account: ShownAccount::of(&account),
    })
}

/// A page of an account's history; none if all its entries are archived.
fn page_of(
    documents: &mut dyn Documents,
    account: &Account,
    number: u64,
) -> Result<Option<Page>, LedgerError> {
    if number == account.tail.count / PAGE {
        return Ok(Some(account.tail.page.clone()));
    }
    let id = page_id(&account.id, number);
    match documents.find(PAGES, &id)? {
        Some(found) => Ok(Some(read(PAGES, &found)?)),
        None if account.archived.is_some() => Ok(None),
        None => Err(LedgerError::Missing(PAGES, id)),
    }
}

/// The entries of a page in their order, with the balance after each; none in the place of an archived one. Behind that, balances
/// are unknown until the next page.
pub(crate) fn entries_of_page(
    documents: &mut dyn Documents,
    account: &Account,
    page: &Page,
) -> Result<Vec<Option<ShownEntry>>, LedgerError> {
    let (mut debits, mut credits) = (page.debit_before.0, page.credit_before.0);
    let mut is_known = true;
    let mut entries = Vec::new();
    for id in page.ids() {
        let Some(found) = documents.find(ENTRIES, id)? else {
            if account.archived.is_none() {
                return Err(LedgerError::Missing(ENTRIES, id.to_owned()));
            }
            is_known = false;
            entries.push(None);
            continue;
        };
        let entry: Entry = read(ENTRIES, &found)?;
        if entry.debit_account == account.id {
            debits += entry.amount.0;
        } else {
            credits += entry.amount.0;
        }
        let after = |units| is_known.then(|| decimal(units, account.scale));
        entries.push(Some(ShownEntry {
            debits_after: after(debits),
            credits_after: after(credits),
            balance_after: after(credits - debits),
            ..ShownEntry::of(&entry)
        }));
    }
    Ok(entries)
}

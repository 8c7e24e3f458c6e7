//! Entries of settlement: a list that is posted completely or not at all.
//!
//! | Entry | Debit | Credit |
//! |---|---|---|
//! | record | payer's position in a batch | payee's position in the same batch, both open |
//! | hold | settlement | settlement reserved |
//! | hold release | settlement reserved | settlement |
//! | consolidate | settlement position | settlement position of the same owner, another batch |
//! | pay | settlement or settlement reserved | settlement position |
//! | receive | settlement position | settlement |
//! | reversal | settlement position | settlement position of the same owner, or settlement |
//! | reversal | settlement | settlement position |
//!
//! Both accounts belong to one settlement model and, except for `record`, to one owner. The caller ensures that
//! a reversal matches an earlier entry, and that a settlement has one cause for all its entries and counts
//! (`recorded.rs`). Held funds count as set aside for obligations of batches, unless the step's name begins
//! with `undo-`: before an undoing, payees hold the funds that they have to give back. An entry that does not
//! match the table is refused. So a caller can move obligations and settled funds, but never liquidity.

use super::naming::empty_positions;
use super::posting::Posting;
use super::{Ledger, check_cause};
use crate::accounts::{Account, AccountState, AccountType, Units, account_id};
use crate::bindings::exports::rialto::accounts_and_balances::insert_journal_entries::{
    JournalEntry, Request, SettlementEntryType, Unsettled, UnsettledChange as Change,
};
use crate::bindings::rialto::accounts_and_balances::types::{AccountPosition, LedgerError};
use crate::records::{
    Entry, EntryType, ReservationState, UnsettledChange, UnsettledOfAccount, entry_id,
};
use crate::store::Store;
use rialto_sdk::bindings::rialto::common::types::Money;
use std::collections::{BTreeMap, BTreeSet};

/// The prefix of steps of an undoing.
const UNDOING: &str = "undo-";
/// Most entries of one list.
const ENTRIES_MAX: usize = 1000;
/// Most bytes of a document's id.
pub(super) const ID_BYTES_MAX: usize = 256;

impl<S: Store> Ledger<'_, S> {
    /// Posts a list of entries. A repeat posts nothing and returns the current accounts.
    ///
    /// # Errors
    /// If an account is unknown, closed or of the wrong type; if settled funds do not cover an entry; if more
    /// is to be settled than waits for it; or if entries of the cause and the step exist on other terms.
    pub fn insert_entries(
        &mut self,
        request: &Request,
    ) -> Result<Vec<AccountPosition>, LedgerError> {
        check_cause("the cause", &request.cause)?;
        check_cause("the step", &request.step)?;
        if request.entries.len() > ENTRIES_MAX {
            let why = format!("at most {ENTRIES_MAX} entries are posted together");
            return Err(LedgerError::Malformed(why));
        }
        let steps = steps(&request.step, request.entries.len());
        check_ids(&request.cause, steps.iter().chain([&request.step]))?;
        if let Some(accounts) = self.repeated(request, &steps)? {
            return Ok(accounts);
        }
        // The entries of an archived transfer are not known here.
        let reservation = self.store.reservation(&request.cause);
        let is_in = |state| reservation.as_ref().is_some_and(|of| of.state == state);
        if is_in(ReservationState::Archived) {
            let why = format!("{} is in an archive with its entries", request.cause);
            return Err(LedgerError::PostedOtherwise(why));
        }
        let waits = is_in(ReservationState::Fulfilled)
            && reservation.is_some_and(|of| of.settlement.is_deferred());
        let changes = unsettled_accounts(&request.unsettled);
        let mut ids: BTreeSet<&str> = changes.iter().map(|of| of.account.as_str()).collect();
        for entry in &request.entries {
            ids.extend([entry.debit_account.as_str(), entry.credit_account.as_str()]);
        }
        let mut accounts = self.all(&ids)?;
        let empty = empty_positions(&accounts);
        let aside = aside_after(request, &accounts);
        let mut posted = Vec::with_capacity(steps.len());
        for (step, entry) in steps.iter().zip(&request.entries) {
            if waits && entry.entry_type == SettlementEntryType::Record {
                note_recorded(entry, &mut accounts);
            }
            posted.push(self.post_journal_entry(&request.cause, step, entry, &mut accounts)?);
        }
        for (id, amount) in aside {
            if let Some(account) = accounts.get_mut(&id) {
                account.set_apart(amount);
            }
        }
        for unsettled in &request.unsettled {
            change_unsettled(unsettled, &mut accounts)?;
        }
        for account in accounts.values() {
            self.write(account);
        }
        let still_empty = empty_positions(&accounts);
        let filled = empty.difference(&still_empty);
        let filled: Vec<&Account> = filled.filter_map(|id| accounts.get(id)).collect();
        self.name_again(&filled);
        for entry in &posted {
            self.store.append_entry(entry);
        }
        if !changes.is_empty() {
            self.store.append_unsettled_change(&UnsettledChange {
                id: entry_id(&request.cause, &request.step),
                accounts: changes,
                posted_at: self.now,
            });
        }
        Ok(accounts.values().map(Account::position).collect())
    }

    /// The current accounts if the list is posted already; none if nothing of it is.
    fn repeated(
        &mut self,
        request: &Request,
        steps: &[String],
    ) -> Result<Option<Vec<AccountPosition>>, LedgerError> {
        let own_id = entry_id(&request.cause, &request.step);
        let change = self.store.unsettled_change(&own_id);
        // The first entry of a list has one of these ids, for any number of entries.
        let single = self.store.entry(&own_id);
        let several = entry_id(&request.cause, &format!("{}:000", request.step));
        let first_of_several = self.store.entry(&several);
        if change.is_none() && single.is_none() && first_of_several.is_none() {
            return Ok(None);
        }
        let otherwise = || {
            LedgerError::PostedOtherwise(format!(
                "step {} of {} is already posted with other terms",
                request.step, request.cause
            ))
        };
        let mut ids = BTreeSet::new();
        for (step, wanted) in steps.iter().zip(&request.entries) {
            let posted = self.store.entry(&entry_id(&request.cause, step));
            let is_the_same = posted.is_some_and(|posted| is_posting_of(&posted, wanted));
            if !is_the_same {
                return Err(otherwise());
            }
            ids.extend([&wanted.debit_account, &wanted.credit_account]);
        }
        let has_more = match request.entries.len() {
            0 => single.is_some() || first_of_several.is_some(),
            1 => first_of_several.is_some(),
            entries => {
                let next = format!("{}:{entries:03}", request.step);
                self.store.entry(&entry_id(&request.cause, &next)).is_some()
            }
        };
        let changes = unsettled_accounts(&request.unsettled);
        let changed = change.map(|change| change.accounts).unwrap_or_default();
        if has_more || changed != changes {
            return Err(otherwise());
        }
        ids.extend(changes.iter().map(|of| &of.account));
        let views = ids.into_iter().filter_map(|id| self.store.view(id));
        Ok(Some(views.map(|account| account.position()).collect()))
    }

    fn post_journal_entry(
        &self,
        cause: &str,
        step: &str,
        wanted: &JournalEntry,
        accounts: &mut BTreeMap<String, Account>,
    ) -> Result<Entry, LedgerError> {
        let unknown = |id: &String| LedgerError::UnknownAccount(id.clone());
        let (debit, credit) = (&wanted.debit_account, &wanted.credit_account);
        if debit == credit {
            let why = format!("{debit} cannot pay itself");
            return Err(LedgerError::Malformed(why));
        }
        let mut debit = accounts.remove(debit).ok_or_else(|| unknown(debit))?;
        let mut credit = accounts.remove(credit).ok_or_else(|| unknown(credit))?;
        let posted = check_entry(wanted, &debit, &credit).and_then(|entry_type| {
            let posting = Posting {
                entry_type,
                cause,
                step,
                amount: Units::of(&wanted.amount),
            };
            self.post(posting, &mut debit, &mut credit)
        });
        let posted = posted.map_err(|error| match error {
            LedgerError::ExceedsLimits(position) => LedgerError::ExceedsSettledFunds(position),
            other => other,
        });
        accounts.insert(debit.id.clone(), debit);
        accounts.insert(credit.id.clone(), credit);
        posted
    }
}

/// Counts a deferred transfer on both positions of its record.
fn note_recorded(record: &JournalEntry, accounts: &mut BTreeMap<String, Account>) {
    let (amount, none) = (Units::of(&record.amount), Units(0));
    for (id, debits, credits) in [
        (&record.debit_account, amount, none),
        (&record.credit_account, none, amount),
    ] {
        if let Some(position) = accounts.get_mut(id) {
            position.note_recorded(debits, credits);
        }
    }
}

/// The part that will be set aside for obligations of batches, for each account of funds set aside.
fn aside_after(request: &Request, accounts: &BTreeMap<String, Account>) -> BTreeMap<String, u128> {
    let reserved = accounts.values();
    let reserved = reserved.filter(|of| of.account_type == AccountType::SettlementReserved);
    let mut aside: BTreeMap<String, u128> =
        reserved.map(|of| (of.id.clone(), of.apart())).collect();
    if request.step.starts_with(UNDOING) {
        return aside;
    }
    for entry in &request.entries {
        let amount = Units::of(&entry.amount).0;
        match entry.entry_type {
            SettlementEntryType::Hold => {
                let of = aside.get_mut(&entry.credit_account);
                of.into_iter()
                    .for_each(|sum| *sum = sum.saturating_add(amount));
            }
            SettlementEntryType::HoldRelease => {
                let of = aside.get_mut(&entry.debit_account);
                of.into_iter()
                    .for_each(|sum| *sum = sum.saturating_sub(amount));
            }
            _ => {}
        }
    }
    aside
}

/// Checks that the ids of a cause and these steps are short enough.
fn check_ids<'a>(
    cause: &str,
    mut steps: impl Iterator<Item = &'a String>,
) -> Result<(), LedgerError> {
    if steps.any(|step| entry_id(cause, step).len() > ID_BYTES_MAX) {
        let why = format!(
            "the cause and the step are too long: entry ids have at most {ID_BYTES_MAX} bytes"
        );
        return Err(LedgerError::Malformed(why));
    }
    Ok(())
}

/// The steps of a list's entries, in order. A single entry has the list's own step.
fn steps(step: &str, entries: usize) -> Vec<String> {
    match entries {
        1 => vec![step.to_owned()],
        _ => (0..entries).map(|n| format!("{step}:{n:03}")).collect(),
    }
}

const fn entry_type(wanted: SettlementEntryType) -> EntryType {
    match wanted {
        SettlementEntryType::Record => EntryType::SettlementRecord,
        SettlementEntryType::Hold => EntryType::SettlementHold,
        SettlementEntryType::HoldRelease => EntryType::SettlementHoldRelease,
        SettlementEntryType::Consolidate => EntryType::SettlementConsolidate,
        SettlementEntryType::Pay => EntryType::SettlementPay,
        SettlementEntryType::Receive => EntryType::SettlementReceive,
        SettlementEntryType::Reversal => EntryType::SettlementReversal,
    }
}

/// Checks that an entry may be posted to these accounts. See the module's table.
fn check_entry(
    wanted: &JournalEntry,
    debit: &Account,
    credit: &Account,
) -> Result<EntryType, LedgerError> {
    use AccountType::{Settlement, SettlementPosition, SettlementReserved};
    for account in [debit, credit] {
        account.holds(&wanted.amount)?;
    }
    let is_record = wanted.entry_type == SettlementEntryType::Record;
    let pair = (debit.account_type, credit.account_type);
    let fits = match wanted.entry_type {
        SettlementEntryType::Record | SettlementEntryType::Consolidate => {
            pair == (SettlementPosition, SettlementPosition)
        }
        SettlementEntryType::Hold => pair == (Settlement, SettlementReserved),
        SettlementEntryType::HoldRelease => pair == (SettlementReserved, Settlement),
        SettlementEntryType::Pay => {
            matches!(debit.account_type, Settlement | SettlementReserved)
                && credit.account_type == SettlementPosition
        }
        SettlementEntryType::Receive => pair == (SettlementPosition, Settlement),
        SettlementEntryType::Reversal => matches!(
            pair,
            (SettlementPosition, SettlementPosition | Settlement)
                | (Settlement, SettlementPosition)
        ),
    };
    let belong_together = debit.settlement_model == credit.settlement_model
        && if is_record {
            debit.batch == credit.batch
        } else {
            debit.participant == credit.participant
        };
    if !fits || !belong_together || Units::of(&wanted.amount).0 == 0 {
        return Err(LedgerError::Malformed(format!(
            "an entry {} cannot debit {} and credit {} with {} minor units",
            entry_type(wanted.entry_type).name(),
            debit.id,
            credit.id,
            Units::of(&wanted.amount).0
        )));
    }
    let closed = [debit, credit]
        .into_iter()
        .find(|account| account.state == AccountState::Closed)
        .filter(|account| is_record || !account.account_type.is_boundless());
    match closed {
        Some(account) => Err(LedgerError::AccountClosed(account.id.clone())),
        None => Ok(entry_type(wanted.entry_type)),
    }
}

fn is_posting_of(posted: &Entry, wanted: &JournalEntry) -> bool {
    posted.entry_type == entry_type(wanted.entry_type)
        && posted.debit_account == wanted.debit_account
        && posted.credit_account == wanted.credit_account
        && posted.amount == Units::of(&wanted.amount)
        && posted.currency == wanted.amount.currency
        && posted.scale == wanted.amount.scale
}

/// The changes by account: paid transfers on the position account, received ones on the liquidity account.
fn unsettled_accounts(unsettled: &[Unsettled]) -> Vec<UnsettledOfAccount> {
    let of = |of: &Unsettled| {
        let change = |account_type, amount: &Money| UnsettledOfAccount {
            account: account_id(&of.participant, &of.debits.currency, account_type),
            amount: Units::of(amount),
            settled: of.change == Change::Settled,
        };
        [
            change(AccountType::Position, &of.debits),
            change(AccountType::Liquidity, &of.credits),
        ]
    };
    unsettled.iter().flat_map(of).collect()
}

fn change_unsettled(
    unsettled: &Unsettled,
    accounts: &mut BTreeMap<String, Account>,
) -> Result<(), LedgerError> {
    for (account_type, amount) in [
        (AccountType::Position, &unsettled.debits),
        (AccountType::Liquidity, &unsettled.credits),
    ] {
        let id = account_id(
            &unsettled.participant,
            &unsettled.debits.currency,
            account_type,
        );
        let Some(account) = accounts.get_mut(&id) else {
            return Err(LedgerError::UnknownAccount(id));
        };
        account.holds(amount)?;
        match unsettled.change {
            Change::Settled => account.take_unsettled(Units::of(amount))?,
            Change::Reopened => account.add_unsettled(Units::of(amount))?,
        }
    }
    Ok(())
}

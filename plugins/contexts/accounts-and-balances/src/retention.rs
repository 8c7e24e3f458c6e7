//! Transfers that are over go to an archive, and each account that they touched keeps their sums as an opening
//! balance: of a transfer its reservation and all its entries, in one turn, and of accounts the pages of
//! which all entries have gone.
//!
//! A transfer is over when it was released, or when it was fulfilled and its batch is settled. An id that
//! comes again is not this context's to know: Transfers keeps them.

use crate::accounts::{Account, AccountState, Archived, Units};
use crate::bindings::exports::rialto::host::retention_handler::{
    Archive, ArchivedBundle, ArchivedDocument, Bundle, DocumentKey, Judged, KeptDocuments,
};
use crate::records::{Entry, EntryType, Reservation, ReservationState};
use crate::store::{ACCOUNTS, ENTRIES, PAGES, RESERVATIONS, Store as _, Stored};
use rialto_sdk::documents::Store;
use rialto_sdk::retention::{Standing, standing_of_all};
use std::collections::BTreeMap;

/// What the operator calls them in `keep`.
pub const NAME: &str = "transfers";
const OF_RESERVATIONS: &str = "reservations";
const OF_ENTRIES: &str = "entries";
const OF_PAGES: &str = "entry-pages";
/// Entries that are read at a time.
const AT_ONCE: u32 = 100;

/// What may have a period.
#[must_use]
pub fn kept() -> Vec<KeptDocuments> {
    vec![KeptDocuments {
        name: NAME.to_owned(),
        // Pages follow their entries.
        collections: vec![OF_RESERVATIONS.to_owned(), OF_PAGES.to_owned()],
    }]
}

/// How something stands.
enum Found {
    Gone,
    Open,
    Young,
    Over(Bundle),
}

/// Which of these documents are over since an instant or longer.
pub fn judge(store: &mut impl Store, collection: &str, ids: &[String], before: u64) -> Judged {
    let mut judged = Judged {
        over: Vec::new(),
        young: 0,
        open: 0,
    };
    for id in ids {
        let found = match collection {
            OF_PAGES => page(store, id, before),
            _ => transfer(store, id, before),
        };
        match found {
            Found::Gone => {}
            Found::Open => judged.open += 1,
            Found::Young => judged.young += 1,
            Found::Over(bundle) => judged.over.push(bundle),
        }
    }
    judged
}

fn key(collection: &str, id: &str) -> DocumentKey {
    DocumentKey {
        collection: collection.to_owned(),
        id: id.to_owned(),
    }
}

fn transfer(store: &mut impl Store, id: &str, before: u64) -> Found {
    let Some(reservation) = RESERVATIONS.within(store).get(id) else {
        return Found::Gone;
    };
    let Some(closed_at) = reservation.closed_at else {
        return Found::Open;
    };
    if closed_at > before {
        return Found::Young;
    }
    let entries = entries_of(store, id);
    let at = entries.iter().map(|entry| entry.posted_at);
    let at = at.chain([closed_at]).max().unwrap_or(closed_at);
    let is_recorded = entries
        .iter()
        .any(|entry| entry.entry_type == EntryType::SettlementRecord);
    let is_fulfilled = reservation.state == ReservationState::Fulfilled;
    if (is_fulfilled && !is_recorded) || !entries.iter().all(|entry| is_settled(store, entry)) {
        return Found::Open;
    }
    if at > before {
        return Found::Young;
    }
    let entries = entries.iter().map(|entry| key(OF_ENTRIES, &entry.id));
    Found::Over(Bundle {
        subject: format!("transfer:{id}"),
        at,
        documents: [key(OF_RESERVATIONS, id)]
            .into_iter()
            .chain(entries)
            .collect(),
    })
}

/// Whether no batch waits for an entry to be settled.
fn is_settled(store: &mut impl Store, entry: &Entry) -> bool {
    [&entry.debit_account, &entry.credit_account]
        .into_iter()
        .all(|id| {
            let account = ACCOUNTS.within(store).get(id);
            account.is_none_or(|account| account.batch.is_none() || has_ended(&account))
        })
}

/// Whether an account of a batch is closed, and nothing is owed on it.
fn has_ended(account: &Account) -> bool {
    account.state == AccountState::Closed && account.debit_balance == account.credit_balance
}

/// The entries of a transfer.
fn entries_of(store: &mut impl Store, cause: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    loop {
        let after = entries.last().map(|entry| entry.id.clone());
        let mut stored = Stored(&mut *store);
        let (some, more) = stored.entries_of(cause, after.as_deref(), AT_ONCE);
        let is_end = some.is_empty() || !more;
        entries.extend(some);
        if is_end {
            entries.retain(|entry| !is_of_operator(entry.entry_type));
            return entries;
        }
    }
}

/// Whether an entry moves funds that an operator asked for. An instruction may be called like a transfer,
/// and stays.
const fn is_of_operator(entry_type: EntryType) -> bool {
    use EntryType as Of;
    match entry_type {
        Of::DepositSettlement
        | Of::DepositLiquidity
        | Of::WithdrawalSettlement
        | Of::WithdrawalLiquidity
        | Of::CoverReserve
        | Of::CoverRelease => true,
        Of::TransferPrepare
        | Of::TransferFulfil
        | Of::TransferRelease
        | Of::SettlementRecord
        | Of::SettlementHold
        | Of::SettlementHoldRelease
        | Of::SettlementConsolidate
        | Of::SettlementPay
        | Of::SettlementReceive
        | Of::SettlementReversal => false,
    }
}

fn page(store: &mut impl Store, id: &str, before: u64) -> Found {
    let Some(page) = PAGES.within(store).get(id) else {
        return Found::Gone;
    };
    let (account, number) = account_of_page(id);
    let is_first = number.bytes().all(|digit| digit == b'0');
    if is_first && (page.debit_before, page.credit_before) != (Units(0), Units(0)) {
        // It says that there were entries before there was a history: it stays for good.
        return Found::Gone;
    }
    if page.latest > before {
        return Found::Young;
    }
    let mut entries = page.entries.split(' ');
    if entries.any(|entry| ENTRIES.within(store).get(entry).is_some()) {
        return Found::Open;
    }
    Found::Over(Bundle {
        subject: format!("account:{account}"),
        at: page.latest,
        documents: vec![key(OF_PAGES, id)],
    })
}

/// The account that a page is of, and its number.
fn account_of_page(id: &str) -> (&str, &str) {
    let parts = id.rsplit_once('/');
    parts.unwrap_or_else(|| panic!("the page {id:?} is of no account"))
}

/// What accounts have to keep of what goes.
#[derive(Default)]
struct Sums(BTreeMap<String, Archived>);

impl Sums {
    fn of(&mut self, account: &str) -> &mut Archived {
        self.0.entry(account.to_owned()).or_default()
    }

    fn entry(&mut self, entry: &Entry) {
        for (account, is_debit) in [(&entry.debit_account, true), (&entry.credit_account, false)] {
            let sums = self.of(account);
            let sum = if is_debit {
                &mut sums.debits
            } else {
                &mut sums.credits
            };
            add(sum, entry.amount);
            sums.entries += 1;
            sums.until = sums.until.max(entry.posted_at);
        }
    }

    fn reservation(&mut self, reservation: &Reservation) {
        let is_fulfilled = reservation.state == ReservationState::Fulfilled;
        if !is_fulfilled || !reservation.settlement.is_deferred() {
            return;
        }
        let accounts = &reservation.accounts;
        let Some(payee) = &accounts.payee_liquidity else {
            panic!(
                "transfer {} is fulfilled to nobody",
                reservation.transfer_id
            );
        };
        for account in [&accounts.payer_position, payee] {
            add(&mut self.of(account).unsettled, reservation.amount);
        }
    }

    /// Add them to the accounts, in the order of their ids.
    fn keep(self, store: &mut impl Store, archive: &Archive) {
        for (id, sums) in self.0 {
            let account = ACCOUNTS.within(store).get_for_update(&id);
            let mut account =
                account.unwrap_or_else(|| panic!("{id} has entries and is no account"));
            let before = account.archived.take().unwrap_or_default();
            let mut kept = Archived {
                entries: before.entries + sums.entries,
                pages: before.pages + sums.pages,
                until: before.until.max(sums.until),
                file: archive.file.clone(),
                sha256: archive.sha256.clone(),
                ..before
            };
            add(&mut kept.debits, sums.debits);
            add(&mut kept.credits, sums.credits);
            add(&mut kept.unsettled, sums.unsettled);
            let counted = (account.debit_balance, account.credit_balance);
            assert!(
                kept.debits <= counted.0 && kept.credits <= counted.1,
                "{id} has posted {counted:?}, {kept:?} would be in archives"
            );
            account.archived = Some(kept);
            ACCOUNTS.within(store).put(&id, &account);
        }
    }
}

fn add(sum: &mut Units, amount: Units) {
    let added = sum.0.checked_add(amount.0);
    let added = added.unwrap_or_else(|| panic!("{} and {} exceed 128 bits", sum.0, amount.0));
    *sum = Units(added);
}

/// These bundles are in an archive.
pub fn archived(store: &mut impl Store, archive: &Archive, bundles: &[ArchivedBundle]) {
    let mut sums = Sums::default();
    for bundle in bundles {
        let keys = bundle.documents.iter().map(compared);
        if standing_of_all(store, keys) != Standing::Same {
            continue;
        }
        match bundle.documents.as_slice() {
            [page] if page.collection == OF_PAGES => {
                let (account, _) = account_of_page(&page.id);
                sums.of(account).pages += 1;
                remove(store, page);
            }
            documents => take_out(store, &mut sums, documents),
        }
    }
    sums.keep(store, archive);
}

fn compared(document: &ArchivedDocument) -> (&str, &str, &str) {
    (&document.collection, &document.id, &document.sha256)
}

/// Take a transfer out, if the archive has all of it.
fn take_out(store: &mut impl Store, sums: &mut Sums, documents: &[ArchivedDocument]) {
    let [reservation, entries @ ..] = documents else {
        panic!("a bundle without a document");
    };
    let posted = entries_of(store, &reservation.id);
    if posted.len() != entries.len() {
        // Another entry came since; it goes with the others another time.
        return;
    }
    let of = RESERVATIONS.within(store).get_for_update(&reservation.id);
    let of = of.unwrap_or_else(|| panic!("{:?} is no reservation", reservation.id));
    assert_ne!(
        of.state,
        ReservationState::Open,
        "transfer {} is open and in an archive",
        of.transfer_id
    );
    sums.reservation(&of);
    for (entry, archived) in posted.iter().zip(entries) {
        assert_eq!(
            entry.id, archived.id,
            "entries of a cause are in the order of their ids"
        );
        sums.entry(entry);
    }
    for document in documents {
        remove(store, document);
    }
}

fn remove(store: &mut impl Store, document: &ArchivedDocument) {
    let removed = store.delete(&document.collection, &document.id);
    assert!(removed, "{} {} was there", document.collection, document.id);
}

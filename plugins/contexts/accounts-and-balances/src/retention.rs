//! Archiving of transfers that are over. One turn removes a transfer's reservation and all its entries, and
//! adds their sums to the opening balances of their accounts. A page of an account is removed after its last
//! entry.
//!
//! A transfer is over when it was released, or when it was fulfilled, recorded, and its batch (if any) is
//! settled. A shortened reservation stays, so that nothing is posted again under its id.

use crate::accounts::{Account, AccountState, Archived, Units};
use crate::bindings::exports::rialto::host::retention_handler::{
    Archive, ArchivedBundle, ArchivedDocument, Bundle, DocumentKey, Judged, KeptDocuments,
};
use crate::records::{
    Entry, EntryType, Reservation, ReservationAccounts, ReservationState, Timing, entry_id, steps,
};
use crate::store::{ACCOUNTS, ENTRIES, PAGES, RESERVATIONS};
use rialto_sdk::documents::Store;
use rialto_sdk::retention::{Standing, standing_of_all};
use std::collections::BTreeMap;

/// Their name in the operator's `keep`.
pub const NAME: &str = "transfers";
const OF_RESERVATIONS: &str = "reservations";
const OF_ENTRIES: &str = "entries";
const OF_PAGES: &str = "entry-pages";

/// The names that may have a period.
#[must_use]
pub fn kept() -> Vec<KeptDocuments> {
    vec![KeptDocuments {
        name: NAME.to_owned(),
        // Pages follow their entries.
        collections: vec![OF_RESERVATIONS.to_owned(), OF_PAGES.to_owned()],
    }]
}

/// The state of a document for archiving.
enum Found {
    Gone,
    Open,
    Young,
    Over(Bundle),
}

/// The documents that have been over since an instant or longer.
pub fn judge(store: &mut impl Store, collection: &str, ids: &[String], before: u64) -> Judged {
    let mut judged = Judged {
        over: Vec::new(),
        young: 0,
        open: 0,
    };
    for id in ids {
        let found = match collection {
            OF_PAGES => page(store, id, before),
            OF_RESERVATIONS => transfer(store, id, before),
            // Not of this release.
            _ => Found::Gone,
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
        sha256: None,
    }
}

fn transfer(store: &mut impl Store, id: &str, before: u64) -> Found {
    let Some(reservation) = RESERVATIONS.within(store).get(id) else {
        return Found::Gone;
    };
    if reservation.state == ReservationState::Archived {
        return Found::Gone;
    }
    let Some(closed_at) = reservation.closed_at else {
        return Found::Open;
    };
    if closed_at > before {
        return Found::Young;
    }
    let entries = entries_of(store, id);
    // Its age counts from its end: later entries are no reason to keep it.
    if entries.iter().any(|entry| entry.posted_at > before)
        || !is_over(store, &reservation, &entries)
    {
        return Found::Open;
    }
    let at = entries.iter().map(|entry| entry.posted_at);
    let at = at.chain([closed_at]).max().unwrap_or(closed_at);
    let entries = entries.iter().map(|entry| key(OF_ENTRIES, &entry.id));
    Found::Over(Bundle {
        subject: format!("transfer:{id}"),
        at,
        documents: [key(OF_RESERVATIONS, id)]
            .into_iter()
            .chain(entries)
            .collect(),
        people: Vec::new(),
    })
}

/// Whether an ended transfer gets no more entries.
fn is_over(store: &mut impl Store, of: &Reservation, entries: &[Entry]) -> bool {
    let is_record = |entry: &&Entry| entry.entry_type == EntryType::SettlementRecord;
    match (of.state, entries.iter().find(is_record)) {
        (ReservationState::Released, _) => true,
        (ReservationState::Fulfilled, None) => false,
        // An immediate transfer is recorded and paid in one list.
        (_, Some(record)) => !of.settlement.is_deferred() || is_settled(store, record),
        _ => false,
    }
}

/// Whether the batch in which a transfer is recorded is settled.
fn is_settled(store: &mut impl Store, record: &Entry) -> bool {
    [&record.debit_account, &record.credit_account]
        .into_iter()
        .all(|id| {
            ACCOUNTS
                .within(store)
                .get(id)
                .is_some_and(|account| has_ended(&account))
        })
}

/// Whether an account of a batch is closed and has no obligation.
fn has_ended(account: &Account) -> bool {
    account.state == AccountState::Closed && account.debit_balance == account.credit_balance
}

/// The entries of a transfer: its own steps, and the list with which Settlements has recorded it. Reads them by
/// their ids, since a scan would read each segment of the store. Reads no other steps, since an instruction or
/// a settlement may have the same id.
fn entries_of(store: &mut impl Store, transfer: &str) -> Vec<Entry> {
    let mut entry = |step: &str| ENTRIES.within(store).get(&entry_id(transfer, step));
    let own = [
        steps::PREPARE,
        steps::PREPARE_HOLD,
        steps::FULFIL,
        steps::RELEASE,
        steps::RELEASE_HOLD,
        steps::SETTLEMENT,
    ];
    let mut entries: Vec<Entry> = own.into_iter().filter_map(&mut entry).collect();
    let of_list = |n: usize| format!("{}:{n:03}", steps::SETTLEMENT);
    entries.extend((0..).map_while(|n| entry(&of_list(n))));
    entries
}

fn page(store: &mut impl Store, id: &str, before: u64) -> Found {
    let Some(page) = PAGES.within(store).get(id) else {
        return Found::Gone;
    };
    let (account, number) = account_of_page(id);
    let is_first = number.bytes().all(|digit| digit == b'0');
    if is_first && (page.debit_before, page.credit_before) != (Units(0), Units(0)) {
        // It shows that there are entries from before the history: it stays for good.
        return Found::Gone;
    }
    if page.latest > before {
        return Found::Young;
    }
    let mut left = page
        .entries
        .split(' ')
        .filter_map(|entry| ENTRIES.within(store).get(entry));
    let left = left.next();
    if let Some(entry) = left {
        // Other entries stay for good, and so do their pages.
        let cause = RESERVATIONS.within(store).get(&entry.correlation_id);
        let goes = cause.is_some_and(|of| of.state != ReservationState::Archived);
        return if goes { Found::Open } else { Found::Gone };
    }
    Found::Over(Bundle {
        subject: format!("account:{account}"),
        at: page.latest,
        documents: vec![key(OF_PAGES, id)],
        people: Vec::new(),
    })
}

/// The account of a page, and its number.
fn account_of_page(id: &str) -> (&str, &str) {
    let parts = id.rsplit_once('/');
    parts.unwrap_or_else(|| panic!("the page {id:?} is of no account"))
}

/// The sums that accounts keep of archived entries.
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

    /// Adds them to the accounts, in the order of their ids.
    fn keep(self, store: &mut impl Store, archive: &Archive) {
        for (id, sums) in self.0 {
            let account = ACCOUNTS.within(store).get_for_update(&id);
            let mut account =
                account.unwrap_or_else(|| panic!("{id} has entries but is not an account"));
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

/// Removes bundles that are in an archive.
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
            [reservation, ..] if reservation.collection == OF_RESERVATIONS => {
                take_out(store, &mut sums, &bundle.documents);
            }
            // Of a release that archives more: it stays until that one is back.
            _ => {}
        }
    }
    sums.keep(store, archive);
}

fn compared(document: &ArchivedDocument) -> (&str, &str, &str) {
    (&document.collection, &document.id, &document.sha256)
}

/// Removes a transfer, if the archive has all of it.
fn take_out(store: &mut impl Store, sums: &mut Sums, documents: &[ArchivedDocument]) {
    let [reservation, entries @ ..] = documents else {
        panic!("a bundle without a document");
    };
    let posted = entries_of(store, &reservation.id);
    if posted.len() != entries.len() {
        // An entry was added since: the transfer is archived another time.
        return;
    }
    let of = RESERVATIONS.within(store).get_for_update(&reservation.id);
    let of = of.unwrap_or_else(|| panic!("{:?} is not a reservation", reservation.id));
    assert!(
        matches!(
            of.state,
            ReservationState::Fulfilled | ReservationState::Released
        ),
        "transfer {} is {:?} and goes to an archive",
        of.transfer_id,
        of.state
    );
    sums.reservation(&of);
    for (entry, archived) in posted.iter().zip(entries) {
        assert_eq!(entry.id, archived.id, "entries are looked for in one order");
        sums.entry(entry);
    }
    for entry in entries {
        remove(store, entry);
    }
    RESERVATIONS
        .within(store)
        .put(&reservation.id, &shortened(of));
}

/// The shortened document of a reservation, which keeps its id in use.
fn shortened(of: Reservation) -> Reservation {
    Reservation {
        accounts: ReservationAccounts {
            payer_liquidity: String::new(),
            payer_position: String::new(),
            payee_liquidity: None,
        },
        settlement: Timing::Deferred,
        state: ReservationState::Archived,
        ..of
    }
}

fn remove(store: &mut impl Store, document: &ArchivedDocument) {
    let removed = store.delete(&document.collection, &document.id);
    assert!(removed, "{} {} was there", document.collection, document.id);
}

//! Finished transfers are archived, and their sums stay.

use super::{Book, HUB};
use crate::accounts::{Account, AccountState, Archived, Units};
use crate::bindings::exports::rialto::accounts_and_balances::{
    manage_funds_credit_debit_pair_instruction::Direction, process_transfer_fulfil as fulfil,
    process_transfer_release as release, request_account_position_history as history,
};
use crate::bindings::exports::rialto::host::retention_handler::{
    Archive, ArchivedBundle, ArchivedDocument, Bundle, Judged,
};
use crate::bindings::rialto::accounts_and_balances::types::LedgerError;
use crate::ledger::Ledger;
use crate::records::{Entry, ReservationState};
use crate::retention::{archived, judge};
use crate::store::{ACCOUNTS, ENTRIES, PAGES, RESERVATIONS, Stored};
use rialto_sdk::documents::{Memory, Store as _};
use rialto_sdk::retention::digest;
use std::collections::BTreeMap;

/// Later than everything that a book does.
const LATER: u64 = 1_000_000;

/// A book's documents, as the host keeps them.
fn documents(book: &Book) -> Memory {
    let mut memory = Memory::default();
    for (id, account) in &book.store.accounts {
        ACCOUNTS.within(&mut memory).put(id, account);
    }
    for (id, entry) in &book.store.entries {
        ENTRIES.within(&mut memory).put(id, entry);
    }
    for (id, page) in &book.store.pages {
        PAGES.within(&mut memory).put(id, page);
    }
    for (id, reservation) in &book.store.reservations {
        RESERVATIONS.within(&mut memory).put(id, reservation);
    }
    memory
}

fn ids(memory: &Memory, collection: &str) -> Vec<String> {
    let of = memory.0.keys().filter(|(of, _)| of == collection);
    of.map(|(_, id)| id.clone()).collect()
}

/// Reservations that are not in an archive.
fn whole(memory: &mut Memory) -> Vec<String> {
    let mut all = ids(memory, "reservations");
    all.retain(|id| {
        let of = RESERVATIONS.within(memory).get(id).unwrap();
        of.state != ReservationState::Archived
    });
    all
}

fn judged(memory: &mut Memory, collection: &str, before: u64) -> Judged {
    let ids = ids(memory, collection);
    judge(memory, collection, &ids, before)
}

/// Bundles as an archive has them now.
fn in_archive(memory: &mut Memory, bundles: &[Bundle]) -> Vec<ArchivedBundle> {
    let mut document = |collection: &str, id: &str| ArchivedDocument {
        collection: collection.to_owned(),
        id: id.to_owned(),
        sha256: digest(&memory.get(collection, id).unwrap()),
    };
    let bundle = |bundle: &Bundle| ArchivedBundle {
        subject: bundle.subject.clone(),
        documents: bundle
            .documents
            .iter()
            .map(|key| document(&key.collection, &key.id))
            .collect(),
    };
    bundles.iter().map(bundle).collect()
}

fn file(n: u32) -> Archive {
    Archive {
        file: format!("archive-{n}"),
        sha256: "00".to_owned(),
    }
}

/// Archive what is over of a collection. Returns the subjects.
fn archive(memory: &mut Memory, collection: &str, before: u64, n: u32) -> Vec<String> {
    let over = judged(memory, collection, before).over;
    let bundles = in_archive(memory, &over);
    archived(memory, &file(n), &bundles);
    over.into_iter().map(|bundle| bundle.subject).collect()
}

fn accounts(memory: &mut Memory) -> BTreeMap<String, Account> {
    let ids = ids(memory, "accounts");
    let account = |id: String| (id.clone(), ACCOUNTS.within(memory).get(&id).unwrap());
    ids.into_iter().map(account).collect()
}

/// Each account's sums are those of its entries and of what is in archives, and the latter cancel out.
fn adds_up(memory: &mut Memory) {
    let ids = ids(memory, "entries");
    let entries: Vec<Entry> = ids
        .iter()
        .map(|id| ENTRIES.within(memory).get(id).unwrap())
        .collect();
    let (mut debits, mut credits) = (0, 0);
    for (id, account) in accounts(memory) {
        let kept = account.archived.clone().unwrap_or_default();
        let sum = |side: fn(&Entry) -> &String| {
            let of = entries.iter().filter(|entry| *side(entry) == id);
            of.map(|entry| entry.amount.0).sum::<u128>()
        };
        let posted = (
            kept.debits.0 + sum(|entry| &entry.debit_account),
            kept.credits.0 + sum(|entry| &entry.credit_account),
        );
        assert_eq!(
            (account.debit_balance.0, account.credit_balance.0),
            posted,
            "{id}"
        );
        debits += kept.debits.0;
        credits += kept.credits.0;
    }
    assert_eq!(debits, credits);
}

#[test]
fn archived_transfers_leave_sums_and_open_ones_stay() {
    let mut book = Book::settled();
    for id in ["fulfilled", "unrecorded", "unsettled"] {
        book.prepare(id, "A", "USD", 30).unwrap();
        book.fulfil(id, "B", "USD").unwrap();
    }
    book.record("fulfilled", 30, "b1");
    book.settle("b1", 30);
    book.open_batch("b2");
    book.record("unsettled", 30, "b2");
    book.prepare("released", "A", "USD", 50).unwrap();
    book.release("released").unwrap();
    book.prepare("open", "A", "USD", 70).unwrap();
    let long_ago = book.now;
    book.prepare("young", "A", "USD", 90).unwrap();
    book.release("young").unwrap();

    let mut memory = documents(&book);
    let before = accounts(&mut memory);
    let found = judged(&mut memory, "reservations", long_ago);
    assert_eq!((found.young, found.open), (1, 3));
    let unchanged = memory.clone();
    assert_eq!(judged(&mut memory, "reservations", long_ago), found);
    assert_eq!(memory, unchanged, "to judge changes nothing");
    let gone = archive(&mut memory, "reservations", long_ago, 1);
    assert_eq!(gone, ["transfer:fulfilled", "transfer:released"]);
    adds_up(&mut memory);
    for id in ["fulfilled", "released"] {
        let left = ids(&memory, "entries");
        assert!(
            left.iter()
                .all(|entry| !entry.starts_with(&format!("{id}:"))),
            "{left:?}"
        );
    }
    assert_eq!(
        whole(&mut memory),
        ["open", "unrecorded", "unsettled", "young"]
    );
    // Nothing else about accounts has changed, and nothing that they are asked for.
    for (id, account) in accounts(&mut memory) {
        let expected = Account {
            archived: account.archived.clone(),
            ..before[&id].clone()
        };
        assert_eq!(account, expected);
    }
    let position = &accounts(&mut memory)["A:USD:POSITION"];
    let expected = Archived {
        entries: 4,
        pages: 0,
        debits: Units(80),
        credits: Units(80),
        unsettled: Units(30),
        until: position.archived.as_ref().unwrap().until,
        file: "archive-1".to_owned(),
        sha256: "00".to_owned(),
    };
    assert_eq!(position.archived, Some(expected));
    assert!(position.archived.as_ref().unwrap().until <= long_ago);

    // Nothing is posted again under the ids that have gone.
    let mut stored = Stored(memory);
    let mut ledger = Ledger::new(&mut stored, LATER);
    for id in ["fulfilled", "released"] {
        let is_refused = |outcome: Result<(), LedgerError>| {
            assert!(
                matches!(
                    outcome,
                    Err(LedgerError::WrongState(_) | LedgerError::PostedOtherwise(_))
                ),
                "{outcome:?}"
            );
        };
        is_refused(
            ledger
                .prepare(Book::to_prepare(id, "A", "USD", 30))
                .map(drop),
        );
        let request = fulfil::Request {
            transfer_id: id.to_owned(),
            credit_account: "B:USD:LIQUIDITY".to_owned(),
        };
        is_refused(ledger.fulfil(&request).map(drop));
        let request = release::Request {
            transfer_id: id.to_owned(),
        };
        is_refused(ledger.release(&request).map(drop));
        is_refused(
            ledger
                .insert_entries(&Book::to_record(id, 30, "b2"))
                .map(drop),
        );
    }
    let mut memory = stored.0;
    adds_up(&mut memory);

    // The ledger goes on.
    let mut stored = Stored(memory);
    let request = fulfil::Request {
        transfer_id: "open".to_owned(),
        credit_account: "B:USD:LIQUIDITY".to_owned(),
    };
    Ledger::new(&mut stored, LATER).fulfil(&request).unwrap();
    let mut memory = stored.0;
    adds_up(&mut memory);
    let gone = archive(&mut memory, "reservations", LATER, 2);
    assert_eq!(gone, ["transfer:young"]);
    adds_up(&mut memory);
    let position = &accounts(&mut memory)["A:USD:POSITION"];
    let kept = position.archived.as_ref().unwrap();
    assert_eq!((kept.entries, &*kept.file), (6, "archive-2"));
}

#[test]
fn repeated_removal_does_nothing_and_changed_documents_stay() {
    let mut book = super::funded();
    for id in ["one", "two"] {
        book.prepare(id, "A", "USD", 30).unwrap();
        book.release(id).unwrap();
    }
    let mut memory = documents(&book);
    let over = judged(&mut memory, "reservations", LATER).over;
    let bundles = in_archive(&mut memory, &over);
    let mut reservation = RESERVATIONS.within(&mut memory).get("two").unwrap();
    reservation.closed_at = Some(reservation.closed_at.unwrap() + 1);
    RESERVATIONS.within(&mut memory).put("two", &reservation);
    archived(&mut memory, &file(1), &bundles);
    assert_eq!(whole(&mut memory), ["two"]);
    adds_up(&mut memory);
    let after = memory.clone();
    // As after a crash.
    archived(&mut memory, &file(1), &bundles);
    assert_eq!(memory, after);
    assert_eq!(
        archive(&mut memory, "reservations", LATER, 2),
        ["transfer:two"]
    );
    adds_up(&mut memory);
}

#[test]
fn an_entry_that_came_since_keeps_its_transfer() {
    let mut book = Book::settled();
    book.prepare("one", "A", "USD", 30).unwrap();
    book.release("one").unwrap();
    let mut memory = documents(&book);
    let over = judged(&mut memory, "reservations", LATER).over;
    let bundles = in_archive(&mut memory, &over);
    let mut entry = ENTRIES.within(&mut memory).get("one:prepare").unwrap();
    entry.id = "one:release-hold".to_owned();
    ENTRIES.within(&mut memory).put("one:release-hold", &entry);
    let before = memory.clone();
    archived(&mut memory, &file(1), &bundles);
    assert_eq!(memory, before);
}

#[test]
fn page_is_removed_after_its_last_entry() {
    let mut book = super::funded();
    // Liquidity begins with a deposit, which stays; positions have transfers only.
    for n in 0..20 {
        let id = format!("t{n:02}");
        book.prepare(&id, "A", "USD", 10).unwrap();
        book.release(&id).unwrap();
    }
    let mut memory = documents(&book);
    let pages = ids(&memory, "entry-pages");
    // The page of the deposit always stays.
    let judged_of = |memory: &mut Memory, before| judged(memory, "entry-pages", before);
    assert_eq!(judged_of(&mut memory, LATER).open as usize, pages.len() - 1);
    assert_eq!(judged_of(&mut memory, 1).young as usize, pages.len());
    assert_eq!(archive(&mut memory, "reservations", LATER, 1).len(), 20);
    let gone = archive(&mut memory, "entry-pages", LATER, 2);
    assert_eq!(
        gone,
        [
            "account:A:USD:LIQUIDITY",
            "account:A:USD:POSITION",
            "account:A:USD:POSITION"
        ]
    );
    adds_up(&mut memory);
    let judged = judged_of(&mut memory, LATER);
    assert_eq!((judged.over.len(), judged.young, judged.open), (0, 0, 0));
    let all = accounts(&mut memory);
    assert_eq!(all["A:USD:POSITION"].archived.as_ref().unwrap().pages, 2);
    assert_eq!(all["A:USD:LIQUIDITY"].archived.as_ref().unwrap().pages, 1);
    assert!(
        all.values()
            .all(|account| account.state == AccountState::Enabled)
    );

    let mut stored = Stored(memory);
    let mut told = |account: &str| {
        let request = history::Request {
            account: account.to_owned(),
            from: None,
            to: None,
            cursor: None,
            limit: 100,
        };
        let answer = Ledger::new(&mut stored, LATER)
            .position_history(&request)
            .unwrap();
        assert_eq!(answer.cursor, None);
        let ids = answer
            .postings
            .iter()
            .map(|posting| posting.entry_id.clone());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(told("A:USD:POSITION"), Vec::<String>::new());
    let deposit = told("A:USD:LIQUIDITY");
    assert_eq!(deposit.len(), 1, "{deposit:?}");
    assert_eq!(told(&format!("{HUB}:USD:HUB_LIQUIDITY_CONTROL")).len(), 2);
}

#[test]
fn immediate_transfer_is_archived_but_same_named_instruction_stays() {
    let mut book = Book::settled();
    book.pays_at_once("one", 40);
    book.funds("one", "A", "USD", Direction::Deposit, 5)
        .unwrap();
    let mut memory = documents(&book);
    let before = ids(&memory, "entries");
    let gone = archive(&mut memory, "reservations", LATER, 1);
    assert_eq!(gone, ["transfer:one"]);
    adds_up(&mut memory);
    let left = ids(&memory, "entries");
    let gone: Vec<&String> = before.iter().filter(|id| !left.contains(id)).collect();
    assert_eq!(
        gone,
        [
            "one:fulfil",
            "one:prepare",
            "one:prepare-hold",
            "one:settlement:000",
            "one:settlement:001",
            "one:settlement:002",
        ]
    );
    assert!(left.contains(&"one:funds-liquidity".to_owned()), "{left:?}");
}

#[test]
fn unknown_archived_documents_of_another_release_stay() {
    let mut book = Book::settled();
    book.prepare("t1", "A", "USD", 30).unwrap();
    book.release("t1").unwrap();
    let mut memory = documents(&book);
    for id in ["t1", "t2"] {
        memory.put("statements", id, "{}");
        let document = ArchivedDocument {
            collection: "statements".to_owned(),
            id: id.to_owned(),
            sha256: digest("{}"),
        };
        let bundle = ArchivedBundle {
            subject: format!("transfer:{id}"),
            documents: vec![document],
        };
        let before = memory.clone();
        archived(&mut memory, &file(1), &[bundle]);
        assert_eq!(memory, before, "{id}");
    }
    let found = judged(&mut memory, "statements", LATER);
    assert_eq!((found.over.len(), found.young, found.open), (0, 0, 0));
}

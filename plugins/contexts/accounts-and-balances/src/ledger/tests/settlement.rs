//! Accounts and entries of settlement, deferred and immediate.

use super::{Book, funded};
use crate::accounts::{AccountType, Units, account_id};
use crate::bindings::exports::rialto::accounts_and_balances::{
    create_accounts::NewAccount,
    insert_journal_entries::{
        JournalEntry, Request, SettlementEntryType as Of, Unsettled, UnsettledChange,
    },
    manage_funds_credit_debit_pair_instruction as manage_funds,
    process_transfer_prepare as prepare,
};
use crate::bindings::rialto::accounts_and_balances::types::{
    AccountState, LedgerAccountType as Kind, LedgerError, SettlementHold, SettlementTiming,
};
use manage_funds::Direction;
use rialto_sdk::money::{minor_units, money};

fn new(kind: Kind, owner: &str, model: &str, batch: Option<&str>) -> NewAccount {
    NewAccount {
        account_type: kind,
        owner: owner.to_owned(),
        currency: "USD".to_owned(),
        scale: 2,
        settlement_model: model.to_owned(),
        batch: batch.map(str::to_owned),
    }
}

pub(super) fn entry(of: Of, debit: &str, credit: &str, amount: u128) -> JournalEntry {
    JournalEntry {
        entry_type: of,
        debit_account: debit.to_owned(),
        credit_account: credit.to_owned(),
        amount: money("USD", 2, amount),
    }
}

impl Book {
    /// Accounts of the models NET (the first) and GROSS, and of batch b1 of NET.
    pub(super) fn settled() -> Self {
        let mut book = funded();
        let mut wanted = Vec::new();
        for owner in ["A", "B"] {
            for model in ["NET", "GROSS"] {
                wanted.push(new(Kind::Settlement, owner, model, None));
                wanted.push(new(Kind::SettlementReserved, owner, model, None));
            }
            wanted.push(new(Kind::SettlementPosition, owner, "NET", Some("b1")));
            wanted.push(new(Kind::SettlementPosition, owner, "GROSS", Some("GROSS")));
        }
        let ids = book.ledger().open_settlement_accounts(&wanted).unwrap();
        assert_eq!(
            ids[..6],
            [
                "A:USD:SETTLEMENT",
                "A:USD:SETTLEMENT_RESERVED",
                "A:USD:SETTLEMENT:GROSS",
                "A:USD:SETTLEMENT_RESERVED:GROSS",
                "A:USD:SETTLEMENT_POSITION:b1",
                "A:USD:SETTLEMENT_POSITION:GROSS",
            ]
        );
        let before = book.store.clone();
        assert_eq!(book.ledger().open_settlement_accounts(&wanted), Ok(ids));
        assert_eq!(book.store, before, "they exist");
        book
    }

    pub(super) fn insert(
        &mut self,
        cause: &str,
        step: &str,
        entries: &[JournalEntry],
    ) -> Result<(), LedgerError> {
        let request = Request {
            cause: cause.to_owned(),
            step: step.to_owned(),
            entries: entries.to_vec(),
            unsettled: Vec::new(),
        };
        self.ledger().insert_entries(&request).map(drop)
    }

    /// Accounts of another batch of NET.
    pub(super) fn open_batch(&mut self, batch: &str) {
        let of = |owner| new(Kind::SettlementPosition, owner, "NET", Some(batch));
        self.ledger()
            .open_settlement_accounts(&[of("A"), of("B")])
            .unwrap();
    }

    /// What records a transfer from A to B in a batch.
    pub(super) fn to_record(transfer: &str, amount: u128, batch: &str) -> Request {
        let [a, b] = ["A", "B"].map(|owner| format!("{owner}:USD:SETTLEMENT_POSITION:{batch}"));
        Request {
            cause: transfer.to_owned(),
            step: "settlement".to_owned(),
            entries: vec![entry(Of::Record, &a, &b, amount)],
            unsettled: Vec::new(),
        }
    }

    pub(super) fn record(&mut self, transfer: &str, amount: u128, batch: &str) {
        let request = Self::to_record(transfer, amount, batch);
        self.ledger().insert_entries(&request).unwrap();
    }

    /// Record a transfer from B to A.
    pub(super) fn record_back(&mut self, transfer: &str, amount: u128, batch: &str) {
        let mut request = Self::to_record(transfer, amount, batch);
        let entry = &mut request.entries[0];
        std::mem::swap(&mut entry.debit_account, &mut entry.credit_account);
        self.ledger().insert_entries(&request).unwrap();
    }

    /// A pays B by a transfer that is settled at once.
    pub(super) fn pays_at_once(&mut self, transfer: &str, amount: u128) {
        let request = manage_funds::Request {
            instruction_id: format!("{transfer}-funds"),
            participant: "A".to_owned(),
            direction: Direction::Deposit,
            amount: money("USD", 2, amount),
            settlement_model: Some("GROSS".to_owned()),
        };
        self.ledger().manage_funds(&request, super::HUB).unwrap();
        let reserved = "A:USD:SETTLEMENT_RESERVED:GROSS";
        let request = prepare::Request {
            settlement: SettlementTiming::Immediate(Some(SettlementHold {
                settlement: "A:USD:SETTLEMENT:GROSS".to_owned(),
                reserved: reserved.to_owned(),
            })),
            ..Self::to_prepare(transfer, "A", "USD", amount)
        };
        self.ledger().prepare(request).unwrap();
        self.fulfil(transfer, "B", "USD").unwrap();
        let [a, b] = ["A", "B"].map(|owner| format!("{owner}:USD:SETTLEMENT_POSITION:GROSS"));
        let entries = [
            entry(Of::Record, &a, &b, amount),
            entry(Of::Pay, reserved, &a, amount),
            entry(Of::Receive, &b, "B:USD:SETTLEMENT:GROSS", amount),
        ];
        self.insert(transfer, "settlement", &entries).unwrap();
    }

    /// Settle a batch in which A owes B.
    pub(super) fn settle(&mut self, batch: &str, amount: u128) {
        let [a, b] = ["A", "B"].map(|owner| format!("{owner}:USD:SETTLEMENT_POSITION:{batch}"));
        self.ledger().close(&[a.clone(), b.clone()]).unwrap();
        let paid = [
            entry(Of::Pay, "A:USD:SETTLEMENT", &a, amount),
            entry(Of::Receive, &b, "B:USD:SETTLEMENT", amount),
        ];
        self.insert(
            &format!("settling {batch}").replace(' ', "-"),
            "settle",
            &paid,
        )
        .unwrap();
    }

    /// Debits minus credits of an account.
    fn net(&self, id: &str) -> i128 {
        let account = &self.store.accounts[id];
        let units = |units: Units| i128::try_from(units.0).unwrap();
        units(account.credit_balance) - units(account.debit_balance)
    }
}

#[test]
fn a_batch_is_recorded_held_and_settled() {
    let mut book = Book::settled();
    book.prepare("t1", "A", "USD", 300).unwrap();
    book.fulfil("t1", "B", "USD").unwrap();
    let (a, b) = (
        "A:USD:SETTLEMENT_POSITION:b1",
        "B:USD:SETTLEMENT_POSITION:b1",
    );
    let record = [entry(Of::Record, a, b, 300)];
    book.insert("t1", "settlement", &record).unwrap();
    let before = book.store.clone();
    book.insert("t1", "settlement", &record).unwrap();
    assert_eq!(book.store, before, "a repeat posts nothing");
    let other = book.insert("t1", "settlement", &[entry(Of::Record, a, b, 301)]);
    assert!(matches!(other, Err(LedgerError::PostedOtherwise(_))));
    let more = [record[0].clone(), entry(Of::Record, a, b, 1)];
    let other = book.insert("t1", "settlement", &more);
    assert!(matches!(other, Err(LedgerError::PostedOtherwise(_))));
    assert_eq!((book.net(a), book.net(b)), (-300, 300));

    let closed = book.ledger().close(&[b.to_owned(), a.to_owned()]).unwrap();
    assert_eq!(closed[0].position.account_id, b);
    assert_eq!(closed[1].state, AccountState::Closed);
    assert_eq!(minor_units(&closed[1].position.debit_balance), 300);
    let refused = book.insert("t2", "settlement", &[entry(Of::Record, a, b, 1)]);
    assert_eq!(refused, Err(LedgerError::AccountClosed(a.to_owned())));

    let hold = [entry(
        Of::Hold,
        "A:USD:SETTLEMENT",
        "A:USD:SETTLEMENT_RESERVED",
        300,
    )];
    book.insert("s1", "hold", &hold).unwrap();
    let settle = Request {
        cause: "s1".to_owned(),
        step: "settle".to_owned(),
        entries: vec![
            entry(
                Of::HoldRelease,
                "A:USD:SETTLEMENT_RESERVED",
                "A:USD:SETTLEMENT",
                300,
            ),
            entry(Of::Pay, "A:USD:SETTLEMENT", a, 300),
            entry(Of::Receive, b, "B:USD:SETTLEMENT", 300),
        ],
        unsettled: [("A", 300, 0), ("B", 0, 300)]
            .map(|(participant, debits, credits)| Unsettled {
                participant: participant.to_owned(),
                change: UnsettledChange::Settled,
                debits: money("USD", 2, debits),
                credits: money("USD", 2, credits),
            })
            .to_vec(),
    };
    let answer = book.ledger().insert_entries(&settle).unwrap();
    let before = book.store.clone();
    assert_eq!(book.ledger().insert_entries(&settle), Ok(answer));
    assert_eq!(book.store, before, "a repeat posts and settles nothing");
    assert_eq!(book.usd("A"), [700, 0, 700]);
    assert_eq!(book.usd("B"), [800, 0, 800]);
    assert_eq!((book.net(a), book.net(b)), (0, 0));
    let position = &book.store.accounts["A:USD:POSITION"];
    assert_eq!(position.unsettled, Units(0));
    let mut again = settle.clone();
    again.step = "settle-again".to_owned();
    again.entries.clear();
    let refused = book.ledger().insert_entries(&again);
    assert!(
        matches!(refused, Err(LedgerError::Malformed(_))),
        "nothing waits: {refused:?}"
    );
    assert_eq!(book.store, before);
}

#[test]
fn a_list_is_posted_whole_or_not_at_all() {
    let mut book = Book::settled();
    let before = book.store.clone();
    let hold = entry(
        Of::Hold,
        "A:USD:SETTLEMENT",
        "A:USD:SETTLEMENT_RESERVED",
        600,
    );
    let refused = book.insert("s1", "hold", &[hold.clone(), hold]);
    assert!(
        matches!(&refused, Err(LedgerError::ExceedsSettledFunds(position)) if minor_units(&position.available) == 400),
        "{refused:?}"
    );
    assert_eq!(book.store, before);
}

#[test]
fn entries_that_are_none_of_settlement_are_refused() {
    let mut book = Book::settled();
    let (s, sr) = ("A:USD:SETTLEMENT", "A:USD:SETTLEMENT_RESERVED");
    let (a, b) = (
        "A:USD:SETTLEMENT_POSITION:b1",
        "B:USD:SETTLEMENT_POSITION:b1",
    );
    let before = book.store.clone();
    for (of, debit, credit, amount) in [
        (Of::Record, "A:USD:LIQUIDITY", "B:USD:LIQUIDITY", 1),
        (Of::Record, a, "B:USD:SETTLEMENT_POSITION:GROSS", 1),
        (Of::Record, a, b, 0),
        (Of::Hold, s, "B:USD:SETTLEMENT_RESERVED", 1),
        (Of::Hold, s, "A:USD:SETTLEMENT_RESERVED:GROSS", 1),
        (Of::Pay, s, b, 1),
        (Of::Receive, a, "B:USD:SETTLEMENT", 1),
        (Of::Receive, a, sr, 1),
        (Of::Consolidate, a, b, 1),
        (Of::HoldRelease, s, sr, 1),
        (Of::Reversal, s, sr, 1),
        (Of::Pay, a, a, 1),
        // As a transfer from a participant to itself would be recorded.
        (Of::Record, a, a, 1),
    ] {
        let refused = book.insert("s1", "x", &[entry(of, debit, credit, amount)]);
        assert!(
            matches!(refused, Err(LedgerError::Malformed(_))),
            "{of:?} {debit} {credit}: {refused:?}"
        );
    }
    let unknown = book.insert("s1", "x", &[entry(Of::Record, a, "C", 1)]);
    assert_eq!(unknown, Err(LedgerError::UnknownAccount("C".to_owned())));
    assert_eq!(book.store, before);
}

#[test]
fn accounts_of_settlement_are_opened_for_who_takes_part_only() {
    let mut book = Book::settled();
    let before = book.store.clone();
    let good = new(Kind::SettlementPosition, "A", "NET", Some("b2"));
    for bad in [
        new(Kind::Settlement, "C", "NET", None),
        new(Kind::SettlementPosition, "C", "NET", Some("b2")),
        new(Kind::SettlementPosition, "A", "NET", None),
        new(Kind::SettlementPosition, "A", "GROSS", Some("b1")),
        new(Kind::SettlementPosition, "A", "NET", Some("b:2")),
        new(Kind::Settlement, "A", "no model", None),
        new(Kind::Liquidity, "A", "NET", None),
        new(Kind::HubReconciliation, "Hub", "NET", None),
        NewAccount {
            scale: 3,
            ..new(Kind::Settlement, "A", "NET", None)
        },
    ] {
        let refused = book
            .ledger()
            .open_settlement_accounts(&[good.clone(), bad.clone()]);
        assert!(refused.is_err(), "{bad:?}");
        assert_eq!(book.store, before);
    }
    let refused = book.ledger().close(&["A:USD:SETTLEMENT".to_owned()]);
    assert!(matches!(refused, Err(LedgerError::BalanceNotZero(_))));
    let empty = "A:USD:SETTLEMENT_RESERVED".to_owned();
    book.ledger().close(std::slice::from_ref(&empty)).unwrap();
    let hold = entry(Of::Hold, "A:USD:SETTLEMENT", &empty, 1);
    let refused = book.insert("s", "hold", &[hold]);
    assert_eq!(refused, Err(LedgerError::AccountClosed(empty)));
}

#[test]
fn immediate_transfer_holds_settled_funds_until_its_end() {
    let mut book = Book::settled();
    let gross = |book: &mut Book, id: &str, amount| {
        let request = prepare::Request {
            transfer_id: id.to_owned(),
            payer_fsp: "A".to_owned(),
            debit_account: account_id("A", "USD", AccountType::Liquidity),
            credit_account: account_id("A", "USD", AccountType::Position),
            amount: money("USD", 2, amount),
            settlement: SettlementTiming::Immediate(Some(SettlementHold {
                settlement: "A:USD:SETTLEMENT:GROSS".to_owned(),
                reserved: "A:USD:SETTLEMENT_RESERVED:GROSS".to_owned(),
            })),
        };
        book.ledger().prepare(request)
    };
    let before = book.store.clone();
    let refused = gross(&mut book, "t1", 10);
    let Err(LedgerError::ExceedsSettledFunds(position)) = refused else {
        panic!("liquidity alone is not enough: {refused:?}");
    };
    let liquidity = account_id("A", "USD", AccountType::Liquidity);
    assert_eq!(position, before.accounts[&liquidity].position());
    assert_eq!(book.store, before, "liquidity alone is not enough");
    let request = manage_funds::Request {
        instruction_id: "d".to_owned(),
        participant: "A".to_owned(),
        direction: Direction::Deposit,
        amount: money("USD", 2, 50),
        settlement_model: Some("GROSS".to_owned()),
    };
    book.ledger().manage_funds(&request, super::HUB).unwrap();
    assert_eq!(book.net("A:USD:SETTLEMENT:GROSS"), 50);

    gross(&mut book, "t1", 30).unwrap();
    assert_eq!(book.net("A:USD:SETTLEMENT_RESERVED:GROSS"), 30);
    book.release("t1").unwrap();
    assert_eq!(book.net("A:USD:SETTLEMENT:GROSS"), 50);
    assert_eq!(book.net("A:USD:SETTLEMENT_RESERVED:GROSS"), 0);

    gross(&mut book, "t2", 50).unwrap();
    book.fulfil("t2", "B", "USD").unwrap();
    let position = &book.store.accounts["A:USD:POSITION"];
    assert_eq!(
        position.unsettled,
        Units(0),
        "it does not wait for settlement"
    );
    let (a, b) = (
        "A:USD:SETTLEMENT_POSITION:GROSS",
        "B:USD:SETTLEMENT_POSITION:GROSS",
    );
    let list = [
        entry(Of::Record, a, b, 50),
        entry(Of::Pay, "A:USD:SETTLEMENT_RESERVED:GROSS", a, 50),
        entry(Of::Receive, b, "B:USD:SETTLEMENT:GROSS", 50),
    ];
    book.insert("t2", "settlement", &list).unwrap();
    assert_eq!((book.net(a), book.net(b)), (0, 0));
    assert_eq!(book.net("B:USD:SETTLEMENT:GROSS"), 50);
    assert_eq!(book.net("A:USD:SETTLEMENT_RESERVED:GROSS"), 0);
}

#[test]
fn a_transfer_may_be_called_like_an_instruction_about_funds() {
    let mut book = Book::settled();
    let (a, b) = (
        "A:USD:SETTLEMENT_POSITION:b1",
        "B:USD:SETTLEMENT_POSITION:b1",
    );
    let record = [entry(Of::Record, a, b, 300)];
    for (id, is_first) in [("x1", true), ("x2", false)] {
        let funds = |book: &mut Book| book.funds(id, "A", "USD", Direction::Deposit, 7);
        if is_first {
            funds(&mut book).unwrap();
        }
        book.prepare(id, "A", "USD", 300).unwrap();
        book.fulfil(id, "B", "USD").unwrap();
        book.insert(id, "settlement", &record).unwrap();
        if !is_first {
            funds(&mut book).unwrap();
        }
        let before = book.store.clone();
        funds(&mut book).unwrap();
        book.insert(id, "settlement", &record).unwrap();
        assert_eq!(book.store, before, "repeats post nothing");
    }
    assert_eq!((book.net(a), book.net(b)), (-600, 600));
    assert_eq!(book.net("A:USD:SETTLEMENT"), 1014);
}

#[test]
fn entries_whose_ids_would_be_too_long_are_refused() {
    let mut book = Book::settled();
    let (a, b) = (
        "A:USD:SETTLEMENT_POSITION:b1",
        "B:USD:SETTLEMENT_POSITION:b1",
    );
    let cause = "c".repeat(128);
    let record = entry(Of::Record, a, b, 1);
    let before = book.store.clone();
    for (step, entries) in [(128, 1), (124, 2)] {
        let entries = vec![record.clone(); entries];
        let refused = book.insert(&cause, &"s".repeat(step), &entries);
        assert!(matches!(refused, Err(LedgerError::Malformed(_))), "{step}");
    }
    assert_eq!(book.store, before);
    book.insert(&cause, &"s".repeat(127), std::slice::from_ref(&record))
        .unwrap();
    book.insert(&cause, &"t".repeat(123), &[record.clone(), record])
        .unwrap();
    assert_eq!(book.net(b), 3);
}

//! What is owed in batches is not withdrawn.

use super::{Book, HUB};
use crate::bindings::exports::rialto::accounts_and_balances::{
    insert_journal_entries::{
        JournalEntry, Request, SettlementEntryType as Of, Unsettled, UnsettledChange as Change,
    },
    manage_funds_credit_debit_pair_instruction as manage_funds,
    move_settled_funds as between_models, process_transfer_prepare as prepare,
};
use crate::bindings::rialto::accounts_and_balances::types::{
    LedgerError, SettlementHold, SettlementTiming,
};
use manage_funds::Direction;
use rialto_sdk::money::{minor_units, money};

const FUNDS: &str = "A:USD:SETTLEMENT";
const ASIDE: &str = "A:USD:SETTLEMENT_RESERVED";

fn position(owner: &str, batch: &str) -> String {
    format!("{owner}:USD:SETTLEMENT_POSITION:{batch}")
}

impl Book {
    pub(super) fn moves(
        &mut self,
        direction: Direction,
        model: Option<&str>,
        amount: u128,
    ) -> Result<(), LedgerError> {
        let request = manage_funds::Request {
            instruction_id: format!("i{}", self.now),
            participant: "A".to_owned(),
            direction,
            amount: money("USD", 2, amount),
            settlement_model: model.map(str::to_owned),
        };
        self.ledger().manage_funds(&request, HUB).map(drop)
    }

    /// A withdrawal that is refused because settled funds are short. Answers what may be withdrawn.
    fn may_withdraw(&mut self, model: Option<&str>, too_much: u128) -> u128 {
        let before = self.store.clone();
        let refused = self.moves(Direction::Withdrawal, model, too_much);
        assert_eq!(self.store, before, "a refusal changes nothing");
        match refused {
            Err(LedgerError::ExceedsSettledFunds(left)) => minor_units(&left.available),
            other => panic!("{other:?}"),
        }
    }

    fn post(&mut self, of: Of, debit: &str, credit: &str, amount: u128) {
        self.post_all(&[(of, debit, credit, amount)]);
    }

    fn post_all(&mut self, entries: &[(Of, &str, &str, u128)]) {
        self.post_of(format!("c{}", self.now), entries);
    }

    fn post_step(&mut self, step: &str, entries: &[(Of, &str, &str, u128)]) {
        let cause = format!("c{}", self.now);
        self.insert_all(cause, step, entries);
    }

    /// A has paid B so much in batches that are settled, or opened again.
    fn counts(&mut self, change: Change, amount: u128) {
        let of = |participant: &str, debits, credits| Unsettled {
            participant: participant.to_owned(),
            change,
            debits: money("USD", 2, debits),
            credits: money("USD", 2, credits),
        };
        let request = Request {
            cause: format!("c{}", self.now),
            step: "close".to_owned(),
            entries: Vec::new(),
            unsettled: vec![of("A", amount, 0), of("B", 0, amount)],
        };
        self.ledger().insert_entries(&request).unwrap();
    }

    pub(super) fn prepare_held(&mut self, id: &str, amount: u128) {
        let request = prepare::Request {
            settlement: SettlementTiming::Immediate(Some(SettlementHold {
                settlement: "A:USD:SETTLEMENT:GROSS".to_owned(),
                reserved: "A:USD:SETTLEMENT_RESERVED:GROSS".to_owned(),
            })),
            ..Self::to_prepare(id, "A", "USD", amount)
        };
        self.ledger().prepare(request).unwrap();
    }

    fn post_of(&mut self, cause: String, entries: &[(Of, &str, &str, u128)]) {
        self.insert_all(cause, "settle", entries);
    }

    fn insert_all(&mut self, cause: String, step: &str, entries: &[(Of, &str, &str, u128)]) {
        let entry = |(of, debit, credit, amount): &(Of, &str, &str, u128)| JournalEntry {
            entry_type: *of,
            debit_account: (*debit).to_owned(),
            credit_account: (*credit).to_owned(),
            amount: money("USD", 2, *amount),
        };
        let request = Request {
            cause,
            step: step.to_owned(),
            entries: entries.iter().map(entry).collect(),
            unsettled: Vec::new(),
        };
        self.ledger().insert_entries(&request).unwrap();
    }

    /// A owes 900 of its 1000 in batch b1 of NET, and has 400 of GROSS.
    fn owing() -> Self {
        let mut book = Self::settled();
        book.moves(Direction::Deposit, Some("GROSS"), 400).unwrap();
        book.prepare("t1", "A", "USD", 900).unwrap();
        book.fulfil("t1", "B", "USD").unwrap();
        book.record("t1", 900, "b1");
        book
    }
}

#[test]
fn what_is_owed_under_one_model_is_not_withdrawn_though_funds_of_another_cover_it() {
    let mut book = Book::owing();
    for model in [None, Some("NET")] {
        assert_eq!(book.may_withdraw(model, 101), 100);
    }
    book.moves(Direction::Withdrawal, Some("GROSS"), 400)
        .unwrap();
    // Liquidity is what is left of both.
    book.moves(Direction::Withdrawal, Some("NET"), 100).unwrap();
    book.settle("b1", 900);
    assert_eq!(book.usd("A"), [0, 0, 0]);
}

#[test]
fn funds_move_between_models_but_for_what_is_owed() {
    let mut book = Book::owing();
    let request = |id: &str, source: &str, target: &str, amount| between_models::Request {
        instruction_id: id.to_owned(),
        participant: "A".to_owned(),
        source_model: source.to_owned(),
        target_model: target.to_owned(),
        amount: money("USD", 2, amount),
    };
    let before = book.store.clone();
    let owed = request("m1", "NET", "GROSS", 101);
    match book.ledger().move_settled_funds(&owed) {
        Err(LedgerError::ExceedsSettledFunds(left)) => {
            assert_eq!(minor_units(&left.available), 100);
        }
        other => panic!("{other:?}"),
    }
    for (id, source, target) in [
        ("m1", "NET", "NET"),
        ("m1", "NET", "OTHER"),
        ("", "NET", "GROSS"),
    ] {
        let refused = book
            .ledger()
            .move_settled_funds(&request(id, source, target, 1));
        assert!(
            matches!(
                refused,
                Err(LedgerError::Malformed(_) | LedgerError::UnknownAccount(_))
            ),
            "{refused:?}"
        );
    }
    assert_eq!(book.store, before, "refusals change nothing");

    let asked = request("m1", "GROSS", "NET", 300);
    let moved = book.ledger().move_settled_funds(&asked).unwrap();
    let left = [&moved.source, &moved.target].map(|of| minor_units(&of.available));
    assert_eq!(left, [100, 1300]);
    assert_eq!(book.usd("A"), [500, 0, 1300], "liquidity stays");
    assert_eq!(book.hub(), [1900, 1900]);
    let before = book.store.clone();
    assert_eq!(book.ledger().move_settled_funds(&asked), Ok(moved));
    for other in [
        request("m1", "GROSS", "NET", 301),
        request("m1", "NET", "GROSS", 300),
    ] {
        let refused = book.ledger().move_settled_funds(&other);
        assert!(matches!(refused, Err(LedgerError::PostedOtherwise(_))));
    }
    assert_eq!(book.store, before, "a repeat posts nothing");
    assert_eq!(book.may_withdraw(None, 401), 400);
}

#[test]
fn what_is_set_aside_for_a_settlement_is_not_owed_once_more() {
    let mut book = Book::owing();
    book.post(Of::Hold, FUNDS, ASIDE, 900);
    assert_eq!(book.may_withdraw(None, 101), 100);
    book.moves(Direction::Withdrawal, None, 100).unwrap();
    book.post(Of::HoldRelease, ASIDE, FUNDS, 900);
    assert_eq!(book.may_withdraw(None, 1), 0);
}

#[test]
fn batches_of_one_model_may_be_settled_apart() {
    let mut book = Book::owing();
    book.open_batch("b2");
    book.prepare("t2", "B", "USD", 850).unwrap();
    book.fulfil("t2", "A", "USD").unwrap();
    book.record_back("t2", 850, "b2");
    assert_eq!(book.may_withdraw(None, 101), 100);
    book.moves(Direction::Withdrawal, None, 100).unwrap();
    // Though b1 is settled first.
    book.settle("b1", 900);
}

#[test]
fn what_is_reserved_or_not_recorded_yet_is_kept_of_each_model() {
    let mut book = Book::settled();
    book.moves(Direction::Deposit, Some("GROSS"), 400).unwrap();
    book.prepare("t1", "A", "USD", 150).unwrap();
    for (model, left) in [("NET", 850), ("GROSS", 250)] {
        assert_eq!(book.may_withdraw(Some(model), left + 1), left);
    }
    book.fulfil("t1", "B", "USD").unwrap();
    for (model, left) in [("NET", 850), ("GROSS", 250)] {
        assert_eq!(book.may_withdraw(Some(model), left + 1), left);
    }
    // Now it is known whose it is.
    book.record("t1", 150, "b1");
    for (model, left) in [("NET", 850), ("GROSS", 400)] {
        assert_eq!(book.may_withdraw(Some(model), left + 1), left);
    }
    book.prepare("t2", "A", "USD", 50).unwrap();
    book.release("t2").unwrap();
    assert_eq!(book.may_withdraw(None, 851), 850);
    // What is held is not kept once more.
    book.prepare_held("t3", 100);
    for (model, left) in [("NET", 850), ("GROSS", 300)] {
        assert_eq!(book.may_withdraw(Some(model), left + 1), left);
    }
}

#[test]
fn what_is_held_for_a_transfer_or_an_undoing_covers_no_batch() {
    let mut book = Book::owing();
    book.moves(Direction::Deposit, None, 500).unwrap();
    book.post_step("undo-000001", &[(Of::Hold, FUNDS, ASIDE, 300)]);
    assert_eq!(book.may_withdraw(None, 301), 300);
    book.post_step("step-000001", &[(Of::Hold, FUNDS, ASIDE, 200)]);
    assert_eq!(book.may_withdraw(None, 301), 300);
    book.post_step("undo-000002", &[(Of::HoldRelease, ASIDE, FUNDS, 300)]);
    assert_eq!(book.may_withdraw(None, 601), 600);
    book.post_step("step-000002", &[(Of::HoldRelease, ASIDE, FUNDS, 200)]);
    assert_eq!(book.may_withdraw(None, 601), 600);
}

#[test]
fn what_an_earlier_release_has_posted_is_rather_kept_twice_than_not() {
    let mut book = Book::owing();
    book.moves(Direction::Deposit, None, 2_000).unwrap();
    book.post(Of::Hold, FUNDS, ASIDE, 900);
    assert_eq!(book.may_withdraw(None, 2_101), 2_100);
    for account in book.store.accounts.values_mut() {
        account.recorded = None;
    }
    assert_eq!(book.may_withdraw(None, 2_101), 1_200);
    // A release that keeps no account of it has released what was set aside, and set aside for a transfer.
    let aside = book.store.accounts.get_mut(ASIDE).unwrap();
    aside.tail.count += 2;
    assert_eq!(book.may_withdraw(None, 2_101), 300);
}

#[test]
fn positions_that_are_over_are_named_no_more_and_those_of_an_undone_settlement_again() {
    let mut book = Book::owing();
    book.settle("b1", 900);
    book.counts(Change::Settled, 900);
    let named = |book: &Book| book.store.accounts[FUNDS].positions.clone();
    for batch in (2..40).map(|number| format!("b{number}")) {
        book.open_batch(&batch);
        assert!(named(&book).contains(&position("A", &batch)), "{batch}");
        book.close_batch(&batch);
        let stays = named(&book).contains(&position("A", &batch));
        assert!(!stays, "{batch} is named when it is closed");
    }
    assert!(named(&book).len() < 4, "{:?}", named(&book));
    assert!(!named(&book).contains(&position("A", "b1")));
    book.moves(Direction::Deposit, None, 5).unwrap();
    book.moves(Direction::Withdrawal, None, 5).unwrap();
    book.post(Of::Reversal, &position("A", "b1"), FUNDS, 900);
    assert_eq!(book.may_withdraw(None, 101), 100, "in the middle of it");
    book.counts(Change::Reopened, 900);
    assert_eq!(book.store.accounts[FUNDS].available(), 1000);
    assert_eq!(book.may_withdraw(None, 101), 100);
}

impl Book {
    fn named(&self) -> &[String] {
        &self.store.accounts[FUNDS].positions
    }
}

#[test]
fn what_is_recorded_in_open_batches_stays_named_however_many_there_are() {
    let mut book = Book::owing();
    for batch in 2..60 {
        let batch = format!("b{batch}");
        book.open_batch(&batch);
        let [a, b] = ["A", "B"].map(|owner| position(owner, &batch));
        book.post(Of::Record, &a, &b, 10);
        // Nothing is left: but there are transfers that wait.
        book.post(Of::Record, &b, &a, 10);
    }
    for batch in 1..60 {
        assert!(
            book.named().contains(&position("A", &format!("b{batch}"))),
            "{batch}"
        );
    }
}

#[test]
fn thousands_of_settlements_leave_the_document_small_and_a_withdrawal_works() {
    let mut book = Book::settled();
    for number in 0..3_000 {
        let [b1, b2, row] = ["x", "y", "s"].map(|of| format!("{of}{number}"));
        for batch in [&b1, &b2, &row] {
            book.open_batch(batch);
        }
        let [a, b] = ["A", "B"].map(|of| position(of, &b1));
        let [to_a, to_b] = ["A", "B"].map(|of| position(of, &row));
        book.post(Of::Record, &a, &b, 7);
        book.close_batch(&b1);
        book.close_batch(&b2);
        book.post_all(&[
            (Of::Consolidate, &to_a, &a, 7),
            (Of::Consolidate, &b, &to_b, 7),
            (Of::Pay, FUNDS, &to_a, 7),
            (Of::Receive, &to_b, "B:USD:SETTLEMENT", 7),
        ]);
        book.close_batch(&row);
        book.moves(Direction::Deposit, None, 7).unwrap();
        assert!(book.named().len() < 8, "{number}: {:?}", book.named());
    }
    book.moves(Direction::Withdrawal, None, 1_000).unwrap();
    assert_eq!(book.named(), [] as [&str; 0]);
}

#[test]
fn names_that_an_earlier_release_has_left_behind_leave_when_funds_move() {
    for direction in [Direction::Deposit, Direction::Withdrawal] {
        let mut book = Book::owing();
        // Accounts that settlements have opened for themselves and never closed.
        for number in 0..900 {
            let row = format!("s{number}");
            book.open_batch(&row);
            if number % 2 == 0 {
                let (a, cause) = (position("A", &row), row.clone());
                book.post_of(cause.clone(), &[(Of::Pay, FUNDS, &a, 1)]);
                book.post_of(format!("{cause}-2"), &[(Of::Receive, &a, FUNDS, 1)]);
            }
        }
        let all = (0..900).map(|number| position("A", &format!("s{number}")));
        let mut first = book.store.accounts[FUNDS].clone();
        first.positions = all.chain([position("A", "b1")]).collect();
        book.store.accounts.insert(FUNDS.to_owned(), first);
        book.moves(direction, None, 50).unwrap();
        assert_eq!(book.named(), [position("A", "b1")]);
        let left = if direction == Direction::Deposit {
            150
        } else {
            50
        };
        assert_eq!(book.may_withdraw(None, 151), left);
    }
}

#[test]
fn undoing_a_consolidation_forgets_no_debt_however_many_positions_are_named() {
    for open in 0..20 {
        let mut book = Book::owing();
        book.open_batch("s1");
        let [batch, row] = ["b1", "s1"].map(|batch| position("A", batch));
        book.close_batch("b1");
        book.post(Of::Consolidate, &row, &batch, 900);
        book.post(Of::Pay, FUNDS, &row, 900);
        book.close_batch("s1");
        for other in 0..open {
            book.open_batch(&format!("o{other}"));
        }
        book.post_all(&[
            (Of::Reversal, &row, FUNDS, 900),
            (Of::Reversal, &batch, &row, 900),
        ]);
        assert_eq!(book.may_withdraw(None, 101), 100, "beside {open}");
    }
}

impl Book {
    fn close_batch(&mut self, batch: &str) {
        let both = ["A", "B"].map(|owner| position(owner, batch));
        self.ledger().close(&both).unwrap();
    }
}

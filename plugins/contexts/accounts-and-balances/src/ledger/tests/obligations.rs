//! What is owed in batches is not withdrawn.

use super::{Book, HUB};
use crate::bindings::exports::rialto::accounts_and_balances::{
    insert_journal_entries::{JournalEntry, Request, SettlementEntryType as Of},
    manage_funds_credit_debit_pair_instruction as manage_funds,
    move_settled_funds as between_models,
};
use crate::bindings::rialto::accounts_and_balances::types::LedgerError;
use manage_funds::Direction;
use rialto_sdk::money::{minor_units, money};

const FUNDS: &str = "A:USD:SETTLEMENT";
const ASIDE: &str = "A:USD:SETTLEMENT_RESERVED";

fn position(owner: &str, batch: &str) -> String {
    format!("{owner}:USD:SETTLEMENT_POSITION:{batch}")
}

impl Book {
    fn moves(
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
        let request = Request {
            cause: format!("c{}", self.now),
            step: "settle".to_owned(),
            entries: vec![JournalEntry {
                entry_type: of,
                debit_account: debit.to_owned(),
                credit_account: credit.to_owned(),
                amount: money("USD", 2, amount),
            }],
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
fn batches_of_one_model_are_taken_together() {
    let mut book = Book::owing();
    book.open_batch("b2");
    book.prepare("t2", "B", "USD", 850).unwrap();
    book.fulfil("t2", "A", "USD").unwrap();
    book.post(Of::Record, &position("B", "b2"), &position("A", "b2"), 850);
    assert_eq!(book.may_withdraw(None, 951), 950);
    book.moves(Direction::Withdrawal, None, 950).unwrap();
}

#[test]
fn positions_that_are_over_are_named_no_more_and_those_of_an_undone_settlement_again() {
    let mut book = Book::owing();
    book.settle("b1", 900);
    for batch in 2..40 {
        book.open_batch(&format!("b{batch}"));
        book.settle_nothing(&format!("b{batch}"));
    }
    let named = |book: &Book| book.store.accounts[FUNDS].positions.clone();
    assert!(named(&book).len() < 16, "{:?}", named(&book));
    assert!(!named(&book).contains(&position("A", "b1")));
    // What is open stays, however many there are.
    assert!(named(&book).contains(&position("A", "GROSS")));
    book.moves(Direction::Deposit, None, 5).unwrap();
    book.moves(Direction::Withdrawal, None, 5).unwrap();
    book.post(Of::Reversal, &position("A", "b1"), FUNDS, 900);
    assert_eq!(book.store.accounts[FUNDS].available(), 1000);
    assert_eq!(book.may_withdraw(None, 101), 100);
}

impl Book {
    fn settle_nothing(&mut self, batch: &str) {
        let both = ["A", "B"].map(|owner| position(owner, batch));
        self.ledger().close(&both).unwrap();
    }
}

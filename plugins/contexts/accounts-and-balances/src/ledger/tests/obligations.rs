//! Withdrawals leave the obligations of batches.

use super::{Book, HUB};
use crate::bindings::exports::rialto::accounts_and_balances::{
    create_accounts,
    insert_journal_entries::{
        JournalEntry, Request, SettlementEntryType as Of, Unsettled, UnsettledChange as Change,
    },
    manage_funds_credit_debit_pair_instruction as manage_funds,
    move_settled_funds as between_models, process_transfer_prepare as prepare,
};
use crate::bindings::rialto::accounts_and_balances::types::{
    LedgerAccountType, LedgerError, SettlementHold, SettlementTiming,
};
use manage_funds::Direction;
use rialto_sdk::money::{minor_units, money};

const FUNDS: &str = "A:USD:SETTLEMENT";
const ASIDE: &str = "A:USD:SETTLEMENT_RESERVED";
/// The id of the settlement of batch b1 ([`Book::settle`]).
const SETTLING: &str = "settling-b1";

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

    /// A withdrawal that is refused because settled funds are short. Returns what may be withdrawn.
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

    /// A has paid B so much in batches that a settlement counts as settled, or as waiting again.
    fn counts(&mut self, settlement: &str, change: Change, amount: u128) {
        let of = |participant: &str, debits, credits| Unsettled {
            participant: participant.to_owned(),
            change,
            debits: money("USD", 2, debits),
            credits: money("USD", 2, credits),
        };
        let request = Request {
            cause: settlement.to_owned(),
            step: format!("{change:?}"),
            entries: Vec::new(),
            unsettled: vec![of("A", amount, 0), of("B", 0, amount)],
        };
        self.ledger().insert_entries(&request).unwrap();
    }

    /// Reserve a transfer of A that is settled at once, by NET (the first model) or GROSS.
    pub(super) fn prepare_held(
        &mut self,
        id: &str,
        model: &str,
        amount: u128,
    ) -> Result<(), LedgerError> {
        let of_model = |account: &str| match model {
            "NET" => account.to_owned(),
            other => format!("{account}:{other}"),
        };
        let request = prepare::Request {
            settlement: SettlementTiming::Immediate(Some(SettlementHold {
                settlement: of_model(FUNDS),
                reserved: of_model(ASIDE),
            })),
            ..Self::to_prepare(id, "A", "USD", amount)
        };
        self.ledger().prepare(request).map(drop)
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
    pub(super) fn owing() -> Self {
        let mut book = Self::settled();
        book.moves(Direction::Deposit, Some("GROSS"), 400).unwrap();
        book.prepare("t1", "A", "USD", 900).unwrap();
        book.fulfil("t1", "B", "USD").unwrap();
        book.record("t1", 900, "b1");
        book
    }
}

#[test]
fn withdrawal_leaves_obligations_of_its_own_model_covered() {
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
fn funds_set_aside_for_settlement_are_not_owed_twice() {
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
fn unrecorded_obligations_are_kept_in_each_model() {
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
    // Held funds are not kept twice.
    book.prepare_held("t3", "GROSS", 100).unwrap();
    for (model, left) in [("NET", 850), ("GROSS", 300)] {
        assert_eq!(book.may_withdraw(Some(model), left + 1), left);
    }
}

#[test]
fn held_funds_cover_no_batch() {
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
fn postings_of_an_earlier_release_may_be_kept_twice() {
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
fn finished_positions_are_removed_and_undone_ones_return() {
    let mut book = Book::owing();
    book.settle("b1", 900);
    book.counts(SETTLING, Change::Settled, 900);
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
    let batch = position("A", "b1");
    let turned_round = [(Of::Reversal, &*batch, FUNDS, 900)];
    book.insert_all(SETTLING.to_owned(), "undo-000002", &turned_round);
    assert_eq!(book.may_withdraw(None, 101), 100, "in the middle of it");
    book.counts(SETTLING, Change::Reopened, 900);
    assert_eq!(book.store.accounts[FUNDS].available(), 1000);
    assert_eq!(book.may_withdraw(None, 101), 100);
}

impl Book {
    fn named(&self) -> &[String] {
        &self.store.accounts[FUNDS].positions
    }
}

#[test]
fn positions_of_open_batches_stay_listed() {
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
fn thousands_of_settlements_leave_the_document_small() {
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
fn obsolete_positions_are_removed_when_funds_move() {
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
fn undone_consolidation_keeps_all_debts() {
    for open in 0..20 {
        let mut book = Book::owing();
        book.open_batch("s1");
        let [batch, row] = ["b1", "s1"].map(|batch| position("A", batch));
        let post = |book: &mut Book, step: &str, entries: &[(Of, &str, &str, u128)]| {
            book.insert_all("s1".to_owned(), step, entries);
        };
        book.close_batch("b1");
        post(&mut book, "1", &[(Of::Consolidate, &row, &batch, 900)]);
        post(&mut book, "2", &[(Of::Pay, FUNDS, &row, 900)]);
        book.counts("s1", Change::Settled, 900);
        book.close_batch("s1");
        for other in 0..open {
            book.open_batch(&format!("o{other}"));
        }
        post(&mut book, "undo-3", &[(Of::Reversal, &row, FUNDS, 900)]);
        assert_eq!(book.may_withdraw(None, 101), 100, "beside {open}");
        post(&mut book, "undo-4", &[(Of::Reversal, &batch, &row, 900)]);
        assert_eq!(book.may_withdraw(None, 101), 100, "beside {open}");
        book.counts("s1", Change::Reopened, 900);
        assert_eq!(book.may_withdraw(None, 101), 100, "beside {open}");
    }
}

#[test]
fn unrecorded_amounts_are_kept_during_an_undoing() {
    let mut book = Book::owing();
    book.moves(Direction::Deposit, None, 2_000).unwrap();
    let kept = |book: &mut Book| {
        let [liquidity, _, settled] = book.usd("A");
        settled - book.may_withdraw(None, liquidity)
    };
    assert_eq!(kept(&mut book), 900);
    // The same amount as in the undoing, so that the sums are equal.
    book.prepare("t2", "A", "USD", 900).unwrap();
    book.fulfil("t2", "B", "USD").unwrap();
    assert_eq!(kept(&mut book), 1_800);
    book.settle("b1", 900);
    book.counts(SETTLING, Change::Settled, 900);
    let [a, b] = ["A", "B"].map(|of| position(of, "b1"));
    let turned_round = [
        (Of::Reversal, "B:USD:SETTLEMENT", &*b, 900),
        (Of::Reversal, &*a, FUNDS, 900),
    ];
    book.insert_all(SETTLING.to_owned(), "undo-000002", &turned_round);
    assert_eq!(kept(&mut book), 1_800, "between two turns");
    book.counts(SETTLING, Change::Reopened, 900);
    assert_eq!(kept(&mut book), 1_800);
    // Another settlement, which pays as well.
    let paid = [
        (Of::Pay, FUNDS, &*a, 900),
        (Of::Receive, &*b, "B:USD:SETTLEMENT", 900),
    ];
    book.insert_all("s2".to_owned(), "step-000001", &paid);
    book.counts("s2", Change::Settled, 900);
    assert_eq!(kept(&mut book), 900, "of what is not recorded");
}

#[test]
fn recorded_amounts_are_kept_once_while_settlement_pays() {
    let mut book = Book::owing();
    let [a, b] = ["A", "B"].map(|of| position(of, "b1"));
    book.close_batch("b1");
    for step in ["step-000001", "step-000002"] {
        let paid = [
            (Of::Pay, FUNDS, &*a, 400),
            (Of::Receive, &*b, "B:USD:SETTLEMENT", 400),
        ];
        book.insert_all("s1".to_owned(), step, &paid);
        assert_eq!(book.may_withdraw(None, 101), 100, "{step}");
    }
}

#[test]
fn batch_needs_end_when_the_model_becomes_immediate() {
    let mut book = Book::owing();
    let refused = |book: &mut Book, amount| {
        let before = book.store.clone();
        let refused = book.prepare_held("too-much", "NET", amount);
        assert!(
            matches!(refused, Err(LedgerError::ExceedsSettledFunds(_))),
            "{refused:?}"
        );
        assert_eq!(book.store, before, "a refusal changes nothing");
    };
    // It has the liquidity: B has paid back in a batch that is not settled.
    book.open_batch("b2");
    book.prepare("t1-back", "B", "USD", 800).unwrap();
    book.fulfil("t1-back", "A", "USD").unwrap();
    book.record_back("t1-back", 800, "b2");
    refused(&mut book, 101);
    // Funds set aside for the batch are not kept twice.
    book.post(Of::Hold, FUNDS, ASIDE, 900);
    refused(&mut book, 101);
    book.post(Of::HoldRelease, ASIDE, FUNDS, 900);
    // Paid amounts that may be recorded in a batch of the model are kept, too.
    book.prepare("t3", "A", "USD", 30).unwrap();
    refused(&mut book, 71);
    book.release("t3").unwrap();
    book.prepare_held("t2", "NET", 100).unwrap();
    refused(&mut book, 1);
    book.settle("b1", 900);
    assert_eq!(book.usd("A")[2], 0);
}

#[test]
fn batches_of_a_model_that_was_immediate_are_kept() {
    let mut book = Book::owing();
    book.prepare_held("t2", "GROSS", 100).unwrap();
    // The scheme comes to settle by it in batches, and at once again.
    let positions = ["A", "B"].map(|owner| create_accounts::NewAccount {
        account_type: LedgerAccountType::SettlementPosition,
        owner: owner.to_owned(),
        currency: "USD".to_owned(),
        scale: 2,
        settlement_model: "GROSS".to_owned(),
        batch: Some("g1".to_owned()),
    });
    book.ledger().open_settlement_accounts(&positions).unwrap();
    book.moves(Direction::Deposit, None, 500).unwrap();
    book.prepare("t3", "A", "USD", 250).unwrap();
    book.fulfil("t3", "B", "USD").unwrap();
    book.record("t3", 250, "g1");
    let refused = book.prepare_held("t4", "GROSS", 51);
    assert!(matches!(refused, Err(LedgerError::ExceedsSettledFunds(_))));
    book.prepare_held("t4", "GROSS", 50).unwrap();
}

impl Book {
    fn close_batch(&mut self, batch: &str) {
        let both = ["A", "B"].map(|owner| position(owner, batch));
        self.ledger().close(&both).unwrap();
    }
}

//! After any withdrawal that is allowed, and any immediate transfer of a model with batches, each batch can
//! still be settled, alone and in any order, for any outcome of work under way. Tests random histories.

use super::Book;
use super::settlement::entry;
use crate::accounts::{Account, AccountState};
use crate::bindings::exports::rialto::accounts_and_balances::{
    insert_journal_entries::SettlementEntryType as Of,
    manage_funds_credit_debit_pair_instruction::Direction,
};
use crate::bindings::rialto::accounts_and_balances::types::LedgerError;
use rialto_sdk::money::minor_units;
use rialto_sdk::testing::Dice;

const FUNDS: &str = "A:USD:SETTLEMENT";
const ASIDE: &str = "A:USD:SETTLEMENT_RESERVED";

#[derive(Clone, Copy, PartialEq)]
enum State {
    Reserved,
    Fulfilled,
}

/// A transfer of which something is to come.
#[derive(Clone)]
struct Transfer {
    id: String,
    of_a: bool,
    amount: u128,
    /// The model by which it is settled at once.
    at_once: Option<&'static str>,
    state: State,
}

/// A history of A, who pays B and is paid by B.
#[derive(Clone)]
struct History {
    book: Book,
    transfers: Vec<Transfer>,
    open: String,
    closed: Vec<String>,
    /// Set aside by a settlement of several batches, and before an undoing.
    aside: [u128; 2],
    count: u64,
}

impl History {
    fn new() -> Self {
        let mut book = Book::settled();
        book.moves(Direction::Deposit, Some("GROSS"), 500).unwrap();
        // Where what NET settles at once stands for a moment, since a release has changed its kind.
        book.open_batch("NET");
        Self {
            book,
            transfers: Vec::new(),
            open: "b1".to_owned(),
            closed: Vec::new(),
            aside: [0, 0],
            count: 0,
        }
    }

    fn step(&mut self, dice: &mut Dice) {
        self.count += 1;
        match dice.below(12) {
            0..=3 => self.prepare(dice),
            4..=5 => self.fulfil(dice),
            6..=7 => self.record(dice),
            8 => self.close(),
            9 => self.set_aside(dice),
            _ => self.withdraw(dice),
        }
    }

    fn prepare(&mut self, dice: &mut Dice) {
        let id = format!("t{}", self.count);
        let (of_a, at_once) = (dice.chance(60), dice.chance(30));
        let model = *dice.pick(&["NET", "GROSS"]);
        let amount = 1 + u128::from(dice.below(300));
        // The model of transfers under way is not known before the first of them is in a batch.
        let at_once = of_a && at_once && (model == "GROSS" || self.has_batches());
        let before = self.book.clone();
        let done = if at_once {
            self.book.prepare_held(&id, model, amount)
        } else {
            let payer = if of_a { "A" } else { "B" };
            self.book.prepare(&id, payer, "USD", amount).map(drop)
        };
        if done.is_err() {
            self.book = before;
            return;
        }
        self.transfers.push(Transfer {
            id,
            of_a,
            amount,
            at_once: at_once.then_some(model),
            state: State::Reserved,
        });
        if at_once && model == "NET" {
            (0..4).for_each(|_| self.clone().settles_all(dice));
        }
    }

    /// Whether transfers wait in batches of NET that A is in.
    fn has_batches(&self) -> bool {
        let mut batches = self.closed.iter().chain([&self.open]);
        batches.any(|batch| {
            let position = self.position(batch);
            let is_even = position.debit_balance == position.credit_balance;
            position.recorded.is_some() && !(is_even && position.state == AccountState::Closed)
        })
    }

    fn fulfil(&mut self, dice: &mut Dice) {
        let reserved = |of: &&mut Transfer| of.state == State::Reserved;
        let found: Vec<&mut Transfer> = self.transfers.iter_mut().filter(reserved).collect();
        let Some(number) = (!found.is_empty()).then(|| dice.below(found.len() as u64)) else {
            return;
        };
        let transfer = found.into_iter().nth(number as usize).unwrap();
        if dice.chance(20) {
            self.book.release(&transfer.id).unwrap();
            let id = transfer.id.clone();
            self.transfers.retain(|of| of.id != id);
        } else {
            let payee = if transfer.of_a { "B" } else { "A" };
            self.book.fulfil(&transfer.id, payee, "USD").unwrap();
            transfer.state = State::Fulfilled;
        }
    }

    /// Record a transfer that is fulfilled: in the open batch, or at once.
    fn record(&mut self, dice: &mut Dice) {
        let fulfilled = |of: &usize| self.transfers[*of].state == State::Fulfilled;
        let found: Vec<usize> = (0..self.transfers.len()).filter(fulfilled).collect();
        if found.is_empty() {
            return;
        }
        let transfer = self.transfers.remove(*dice.pick(&found));
        let (id, amount) = (&transfer.id, transfer.amount);
        if let Some(model) = transfer.at_once {
            let [a, b] = ["A", "B"].map(|of| format!("{of}:USD:SETTLEMENT_POSITION:{model}"));
            let of_model = |account: &str| match model {
                "NET" => account.to_owned(),
                other => format!("{account}:{other}"),
            };
            let entries = [
                entry(Of::Record, &a, &b, amount),
                entry(Of::Pay, &of_model(ASIDE), &a, amount),
                entry(Of::Receive, &b, &of_model("B:USD:SETTLEMENT"), amount),
            ];
            self.book.insert(id, "settlement", &entries).unwrap();
        } else if transfer.of_a {
            self.book.record(id, amount, &self.open);
        } else {
            self.book.record_back(id, amount, &self.open);
        }
    }

    fn close(&mut self) {
        let both = ["A", "B"].map(|of| format!("{of}:USD:SETTLEMENT_POSITION:{}", self.open));
        self.book.ledger().close(&both).unwrap();
        let next = format!("b-{}", self.count);
        self.book.open_batch(&next);
        self.closed.push(std::mem::replace(&mut self.open, next));
    }

    fn position(&self, batch: &str) -> &Account {
        &self.book.store.accounts[&format!("A:USD:SETTLEMENT_POSITION:{batch}")]
    }

    /// A settlement of all closed batches sets the net aside, or an undoing anything; or gives it back.
    fn set_aside(&mut self, dice: &mut Dice) {
        let which = usize::from(dice.chance(40));
        let step = [
            format!("step-{}", self.count),
            format!("undo-{}", self.count),
        ];
        let cause = format!("s{}", self.count);
        let given_back = std::mem::take(&mut self.aside[which]);
        if given_back > 0 {
            let back = entry(Of::HoldRelease, ASIDE, FUNDS, given_back);
            self.book.insert(&cause, &step[which], &[back]).unwrap();
            return;
        }
        let sum = |side: fn(&Account) -> u128| -> u128 {
            self.closed.iter().map(|of| side(self.position(of))).sum()
        };
        let owed = sum(|of| of.debit_balance.0).saturating_sub(sum(|of| of.credit_balance.0));
        let amount = [owed, 1 + u128::from(dice.below(200))][which];
        let has = self.book.store.accounts[FUNDS].available();
        if amount > 0 && amount <= has {
            let hold = entry(Of::Hold, FUNDS, ASIDE, amount);
            self.book.insert(&cause, &step[which], &[hold]).unwrap();
            self.aside[which] = amount;
        }
    }

    /// Withdraw all that may be withdrawn of a model, or some of it.
    fn withdraw(&mut self, dice: &mut Dice) {
        let model = *dice.pick(&["NET", "GROSS"]);
        let mut amount = 1 + u128::from(dice.below(1_500));
        let before = self.book.store.clone();
        let mut done = self.book.moves(Direction::Withdrawal, Some(model), amount);
        if let Err(LedgerError::ExceedsSettledFunds(left)) = &done {
            assert_eq!(self.book.store, before);
            amount = minor_units(&left.available);
            let more = self
                .book
                .moves(Direction::Withdrawal, Some(model), amount + 1);
            assert!(more.is_err(), "what is left is all that is left");
            if amount == 0 {
                return;
            }
            done = self.book.moves(Direction::Withdrawal, Some(model), amount);
        }
        match done {
            Ok(()) if model == "NET" => (0..4).for_each(|_| self.clone().settles_all(dice)),
            // All batches are of NET, where A may lack funds already: it may spend what it is owed.
            Ok(()) => {}
            // Spent, and not settled yet.
            Err(LedgerError::ExceedsLimits(_)) => {}
            Err(other) => panic!("{other:?}"),
        }
    }

    /// All that is under way ends as it likes, and each batch is settled alone. A is never short.
    fn settles_all(mut self, dice: &mut Dice) {
        while !self.transfers.is_empty() {
            self.count += 1;
            match dice.below(5) {
                0..=1 => self.fulfil(dice),
                2..=3 => self.record(dice),
                _ => self.close(),
            }
        }
        self.close();
        for (aside, step) in self.aside.into_iter().zip(["step-end", "undo-end"]) {
            if aside > 0 && step == "step-end" {
                let back = entry(Of::HoldRelease, ASIDE, FUNDS, aside);
                self.book.insert("end", step, &[back]).unwrap();
            }
        }
        while !self.closed.is_empty() {
            let number = dice.below(self.closed.len() as u64) as usize;
            let batch = self.closed.remove(number);
            let position = self.position(&batch).clone();
            let (paid, received) = (position.debit_balance.0, position.credit_balance.0);
            // B, who pays A, pays in another batch's time: what A is owed comes last.
            if paid > received {
                let pay = entry(Of::Pay, FUNDS, &position.id, paid - received);
                let paid = self.book.insert(&batch, "settle", &[pay]);
                assert_eq!(paid, Ok(()), "A is short in {batch}");
            }
        }
    }
}

#[test]
fn after_withdrawals_batches_settle_alone_in_any_order() {
    let mut dice = Dice::new(20_261_123);
    for _ in 0..400 {
        let mut history = History::new();
        for _ in 0..60 {
            history.step(&mut dice);
        }
    }
}

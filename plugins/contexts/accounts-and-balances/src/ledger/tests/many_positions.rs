//! A participant with more settlement positions than a turn can look at: a turn of the host touches so many
//! documents at most, and fails beyond.

use super::{Book, HUB};
use crate::accounts::Account;
use crate::bindings::exports::rialto::accounts_and_balances::{
    get_current_liquidity_position as liquidity,
    manage_funds_credit_debit_pair_instruction as manage_funds,
};
use crate::bindings::rialto::accounts_and_balances::types::LedgerError;
use crate::ledger::Ledger;
use crate::store::{ACCOUNTS, ENTRIES, RESERVATIONS, Stored};
use manage_funds::Direction;
use rialto_sdk::documents::{Memory, Range, Store, StoredPage};
use rialto_sdk::money::{minor_units, money};
use std::collections::BTreeSet;

/// Documents that a turn of the host may touch.
const TOUCHED_MAX: usize = 4096;

/// Documents, and which of them the turn has touched.
#[derive(Clone, Default)]
struct Turn {
    memory: Memory,
    touched: BTreeSet<(String, String)>,
}

impl Turn {
    fn touch(&mut self, collection: &str, id: &str) {
        self.touched.insert((collection.to_owned(), id.to_owned()));
        assert!(self.touched.len() <= TOUCHED_MAX, "a turn touches too much");
    }
}

impl Store for Turn {
    fn get(&mut self, collection: &str, id: &str) -> Option<String> {
        self.touch(collection, id);
        self.memory.get(collection, id)
    }

    fn get_for_update(&mut self, collection: &str, id: &str) -> Option<String> {
        self.touch(collection, id);
        self.memory.get_for_update(collection, id)
    }

    fn put(&mut self, collection: &str, id: &str, body: &str) {
        self.touch(collection, id);
        self.memory.put(collection, id, body);
    }

    fn insert_if_absent(&mut self, collection: &str, id: &str, body: &str) -> bool {
        self.touch(collection, id);
        self.memory.insert_if_absent(collection, id, body)
    }

    fn delete(&mut self, collection: &str, id: &str) -> bool {
        self.touch(collection, id);
        self.memory.delete(collection, id)
    }

    fn scan(
        &mut self,
        collection: &str,
        range: &Range,
        cursor: Option<&str>,
        limit: u32,
    ) -> StoredPage {
        let page = self.memory.scan(collection, range, cursor, limit);
        for document in &page.documents {
            self.touch(collection, &document.id);
        }
        page
    }
}

/// A owes in batch b1, and in so many others.
fn owing_in(batches: usize) -> Turn {
    let mut book = Book::owing();
    let first = book.store.accounts.get_mut("A:USD:SETTLEMENT").unwrap();
    let position = |number| format!("A:USD:SETTLEMENT_POSITION:w{number}");
    first.positions.extend((0..batches).map(position));
    let waiting = book.store.accounts["A:USD:SETTLEMENT_POSITION:b1"].clone();
    for id in (0..batches).map(position) {
        let account = Account {
            id: id.clone(),
            ..waiting.clone()
        };
        book.store.accounts.insert(id, account);
    }
    let mut turn = Turn::default();
    for (id, account) in &book.store.accounts {
        ACCOUNTS.within(&mut turn.memory).put(id, account);
    }
    for (id, entry) in &book.store.entries {
        ENTRIES.within(&mut turn.memory).put(id, entry);
    }
    for (id, reservation) in &book.store.reservations {
        RESERVATIONS.within(&mut turn.memory).put(id, reservation);
    }
    turn
}

fn moves(
    turn: &Turn,
    direction: Direction,
    model: Option<&str>,
) -> Result<manage_funds::Response, LedgerError> {
    let request = manage_funds::Request {
        instruction_id: "i".to_owned(),
        participant: "A".to_owned(),
        direction,
        amount: money("USD", 2, 7),
        settlement_model: model.map(str::to_owned),
    };
    let mut stored = Stored(turn.clone());
    Ledger::new(&mut stored, 100).manage_funds(&request, HUB)
}

#[test]
fn too_many_positions_allow_deposits_only() {
    for batches in [3_390, 4_200] {
        let turn = owing_in(batches);
        for model in [None, Some("NET"), Some("GROSS")] {
            let done = moves(&turn, Direction::Deposit, model).unwrap();
            let before = if model == Some("GROSS") { 400 } else { 1_000 };
            assert_eq!(minor_units(&done.settlement.available), before + 7);
        }
        let refused = moves(&turn, Direction::Withdrawal, None);
        assert!(
            matches!(&refused, Err(LedgerError::ExceedsSettledFunds(left)) if minor_units(&left.available) == 0),
            "{batches}: {refused:?}"
        );
        let request = liquidity::Request {
            participant: "A".to_owned(),
            currency: "USD".to_owned(),
        };
        let mut stored = Stored(turn);
        let position = Ledger::new(&mut stored, 100).liquidity_position(&request);
        let settled = position.unwrap().settled;
        assert_eq!(settled.len(), 2);
        assert_eq!(minor_units(&settled[0].available), 0);
    }
}

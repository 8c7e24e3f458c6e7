//! The ledger's operations one by one, and the worked example of the account model.

mod any_order;
mod histories;
mod many_positions;
mod obligations;
mod operators;
mod retention;
mod rollback;
mod settlement;

use super::Ledger;
use super::memory::MemoryStore;
use crate::accounts::{AccountState, AccountType, Units, account_id};
use crate::bindings::exports::rialto::accounts_and_balances::{
    create_participant_accounts_with_limits as create_accounts,
    manage_funds_credit_debit_pair_instruction as manage_funds, process_transfer_fulfil as fulfil,
    process_transfer_prepare as prepare, process_transfer_release as release,
};
use crate::bindings::rialto::accounts_and_balances::types::{
    AccountWithLimit, LedgerError, SettlementTiming,
};
use crate::records::{EntryType, ReservationState};
use manage_funds::Direction;
use rialto_sdk::money::{minor_units, money};

pub(super) const HUB: &str = "Hub";

/// A ledger in memory, with short words for its operations. Amounts are minor units of USD.
#[derive(Debug, Clone, Default)]
pub(super) struct Book {
    pub store: MemoryStore,
    pub now: u64,
}

impl Book {
    pub(super) fn ledger(&mut self) -> Ledger<'_, MemoryStore> {
        self.now += 1;
        Ledger::new(&mut self.store, self.now)
    }

    pub(super) fn open(&mut self, participant: &str, currency: &str, cap: Option<u128>) {
        let request = create_accounts::Request {
            participant: participant.to_owned(),
            accounts: vec![AccountWithLimit {
                currency: currency.to_owned(),
                scale: 2,
                net_debit_cap: cap.map(|cap| money(currency, 2, cap)),
                liquidity_threshold: None,
            }],
        };
        self.ledger().create_accounts(&request).unwrap();
    }

    pub(super) fn funds(
        &mut self,
        id: &str,
        participant: &str,
        currency: &str,
        direction: Direction,
        amount: u128,
    ) -> Result<manage_funds::Response, LedgerError> {
        let request = manage_funds::Request {
            instruction_id: id.to_owned(),
            participant: participant.to_owned(),
            direction,
            amount: money(currency, 2, amount),
            settlement_model: None,
        };
        self.ledger().manage_funds(&request, HUB)
    }

    pub(super) fn prepare(
        &mut self,
        id: &str,
        payer: &str,
        currency: &str,
        amount: u128,
    ) -> Result<prepare::Response, LedgerError> {
        self.ledger()
            .prepare(Self::to_prepare(id, payer, currency, amount))
    }

    pub(super) fn to_prepare(
        id: &str,
        payer: &str,
        currency: &str,
        amount: u128,
    ) -> prepare::Request {
        prepare::Request {
            transfer_id: id.to_owned(),
            payer_fsp: payer.to_owned(),
            debit_account: account_id(payer, currency, AccountType::Liquidity),
            credit_account: account_id(payer, currency, AccountType::Position),
            amount: money(currency, 2, amount),
            settlement: SettlementTiming::Deferred,
        }
    }

    pub(super) fn fulfil(
        &mut self,
        id: &str,
        payee: &str,
        currency: &str,
    ) -> Result<fulfil::Response, LedgerError> {
        let request = fulfil::Request {
            transfer_id: id.to_owned(),
            credit_account: account_id(payee, currency, AccountType::Liquidity),
        };
        self.ledger().fulfil(&request)
    }

    pub(super) fn release(&mut self, id: &str) -> Result<release::Response, LedgerError> {
        let request = release::Request {
            transfer_id: id.to_owned(),
        };
        self.ledger().release(&request)
    }

    pub(super) fn balance(&self, owner: &str, currency: &str, account_type: AccountType) -> u128 {
        let id = account_id(owner, currency, account_type);
        self.store
            .accounts
            .get(&id)
            .map_or(0, |account| account.balance())
    }

    /// L, P and S of a participant, in USD.
    fn usd(&self, participant: &str) -> [u128; 3] {
        [
            AccountType::Liquidity,
            AccountType::Position,
            AccountType::Settlement,
        ]
        .map(|account_type| self.balance(participant, "USD", account_type))
    }

    /// R and G of the hub, in USD.
    fn hub(&self) -> [u128; 2] {
        [
            AccountType::HubReconciliation,
            AccountType::HubLiquidityControl,
        ]
        .map(|account_type| self.balance(HUB, "USD", account_type))
    }
}

/// A with 1000 and B with 500.
fn funded() -> Book {
    let mut book = Book::default();
    for (participant, amount) in [("A", 1000), ("B", 500)] {
        book.open(participant, "USD", None);
        book.funds(participant, participant, "USD", Direction::Deposit, amount)
            .unwrap();
    }
    book
}

#[test]
fn the_worked_example_of_the_account_model_comes_out() {
    let mut book = funded();
    assert_eq!(book.usd("A"), [1000, 0, 1000]);
    assert_eq!(book.usd("B"), [500, 0, 500]);
    assert_eq!(book.hub(), [1500, 1500]);

    let prepared = book.prepare("t1", "A", "USD", 300).unwrap();
    assert_eq!(minor_units(&prepared.liquidity.available), 700);
    assert_eq!(minor_units(&prepared.position.available), 300);
    assert_eq!(book.usd("A"), [700, 300, 1000]);

    let fulfilled = book.fulfil("t1", "B", "USD").unwrap();
    assert_eq!(minor_units(&fulfilled.payee_liquidity.available), 800);
    assert_eq!(minor_units(&fulfilled.payer_position.available), 0);
    assert_eq!(book.usd("A"), [700, 0, 1000]);
    assert_eq!(book.usd("B"), [800, 0, 500]);

    book.prepare("t2", "B", "USD", 120).unwrap();
    book.fulfil("t2", "A", "USD").unwrap();
    assert_eq!(book.usd("A"), [820, 0, 1000]);
    assert_eq!(book.usd("B"), [680, 0, 500]);

    book.prepare("t3", "A", "USD", 50).unwrap();
    let released = book.release("t3").unwrap();
    assert_eq!(minor_units(&released.liquidity.available), 820);
    assert_eq!(book.usd("A"), [820, 0, 1000]);

    let refused = book.funds("w1", "B", "USD", Direction::Withdrawal, 600);
    assert!(
        matches!(&refused, Err(LedgerError::ExceedsSettledFunds(position)) if position.account_id == "B:USD:SETTLEMENT"),
        "B holds 680 but only 500 of it is settled: {refused:?}"
    );
    assert_eq!(book.usd("B"), [680, 0, 500]);
    let refused = book.funds("w2", "B", "USD", Direction::Withdrawal, 381);
    assert!(
        matches!(&refused, Err(LedgerError::ExceedsSettledFunds(left)) if minor_units(&left.available) == 380),
        "what B has paid is in no batch yet, where it is less than B has received: {refused:?}"
    );
    book.open_batch("b1");
    book.record("t1", 300, "b1");
    book.record_back("t2", 120, "b1");
    book.funds("w2", "B", "USD", Direction::Withdrawal, 500)
        .unwrap();
    assert_eq!(book.usd("B"), [180, 0, 0]);
    assert_eq!(book.hub(), [1000, 1000]);
}

#[test]
fn entries_of_a_transfer_are_adjacent_and_complete() {
    let mut book = funded();
    book.prepare("t1", "A", "USD", 300).unwrap();
    book.fulfil("t1", "B", "USD").unwrap();
    let entries: Vec<_> = book
        .store
        .entries
        .values()
        .filter(|entry| entry.id.starts_with("t1:"))
        .map(|entry| {
            (
                entry.id.as_str(),
                entry.debit_account.as_str(),
                entry.credit_account.as_str(),
                entry.entry_type,
            )
        })
        .collect();
    assert_eq!(
        entries,
        [
            (
                "t1:fulfil",
                "A:USD:POSITION",
                "B:USD:LIQUIDITY",
                EntryType::TransferFulfil
            ),
            (
                "t1:prepare",
                "A:USD:LIQUIDITY",
                "A:USD:POSITION",
                EntryType::TransferPrepare
            ),
        ]
    );
    assert_eq!(
        serde_json::to_string(&book.store.entries["t1:prepare"]).unwrap(),
        concat!(
            r#"{"id":"t1:prepare","debitAccount":"A:USD:LIQUIDITY","creditAccount":"A:USD:POSITION","#,
            r#""amount":"300","currency":"USD","scale":2,"entryType":"TRANSFER_PREPARE","#,
            r#""correlationId":"t1","postedAt":5}"#
        )
    );
}

#[test]
fn liquidity_is_checked_before_net_debit_cap_both_exactly() {
    let mut book = Book::default();
    book.open("A", "USD", Some(400));
    book.open("B", "USD", None);
    book.funds("d", "A", "USD", Direction::Deposit, 1000)
        .unwrap();
    let refused = book.prepare("t1", "A", "USD", 1001);
    assert!(matches!(refused, Err(LedgerError::ExceedsLimits(_))));
    let refused = book.prepare("t1", "A", "USD", 401);
    assert!(matches!(refused, Err(LedgerError::ExceedsNetDebitCap(_))));
    book.prepare("t1", "A", "USD", 400).unwrap();
    book.fulfil("t1", "B", "USD").unwrap();
    let refused = book.prepare("t2", "A", "USD", 1);
    assert!(
        matches!(refused, Err(LedgerError::ExceedsNetDebitCap(_))),
        "what is fulfilled but not settled still counts"
    );
    book.prepare("t3", "B", "USD", 100).unwrap();
    book.fulfil("t3", "A", "USD").unwrap();
    book.prepare("t4", "A", "USD", 100).unwrap();
    book.release("t4").unwrap();
    book.prepare("t5", "A", "USD", 100).unwrap();
}

#[test]
fn repeats_post_nothing_and_answer_the_accounts_as_they_are() {
    let mut book = funded();
    let first = book.prepare("t1", "A", "USD", 300).unwrap();
    let before = book.store.clone();
    assert_eq!(book.prepare("t1", "A", "USD", 300).unwrap(), first);
    assert_eq!(book.store, before);

    let first = book.fulfil("t1", "B", "USD").unwrap();
    let before = book.store.clone();
    assert_eq!(book.fulfil("t1", "B", "USD").unwrap(), first);
    assert_eq!(book.store, before);

    book.prepare("t2", "A", "USD", 10).unwrap();
    let first = book.release("t2").unwrap();
    let before = book.store.clone();
    assert_eq!(book.release("t2").unwrap(), first);
    book.funds("A", "A", "USD", Direction::Deposit, 1000)
        .unwrap();
    assert_eq!(book.store, before);
}

#[test]
fn a_repeat_on_other_terms_is_refused() {
    let mut book = funded();
    book.prepare("t1", "A", "USD", 300).unwrap();
    let before = book.store.clone();
    for refused in [
        book.prepare("t1", "A", "USD", 301).err(),
        book.prepare("t1", "B", "USD", 300).err(),
        book.funds("A", "A", "USD", Direction::Deposit, 1001).err(),
        book.funds("A", "A", "USD", Direction::Withdrawal, 1000)
            .err(),
        book.funds("A", "B", "USD", Direction::Deposit, 1000).err(),
    ] {
        assert!(
            matches!(
                refused,
                Some(LedgerError::WrongState(_) | LedgerError::PostedOtherwise(_))
            ),
            "{refused:?}"
        );
    }
    assert_eq!(book.store, before);
}

#[test]
fn release_and_fulfilment_exclude_each_other() {
    let mut book = funded();
    book.prepare("t1", "A", "USD", 300).unwrap();
    book.release("t1").unwrap();
    book.prepare("t2", "A", "USD", 300).unwrap();
    book.fulfil("t2", "B", "USD").unwrap();
    let before = book.store.clone();
    for (refused, message) in [
        (
            book.fulfil("t1", "B", "USD").err(),
            "the reservation of transfer t1 is released",
        ),
        (
            book.prepare("t1", "A", "USD", 300).err(),
            "the reservation of transfer t1 is released",
        ),
        (
            book.release("t2").err(),
            "the reservation of transfer t2 is fulfilled",
        ),
        (
            book.fulfil("t2", "A", "USD").err(),
            "the reservation of transfer t2 is already fulfilled to another account",
        ),
        (
            book.fulfil("t3", "B", "USD").err(),
            "the reservation of transfer t3 does not exist",
        ),
        (
            book.release("t3").err(),
            "the reservation of transfer t3 does not exist",
        ),
    ] {
        assert_eq!(refused, Some(LedgerError::WrongState(message.to_owned())));
    }
    assert_eq!(book.store, before);
}

#[test]
fn disabled_account_refuses_new_reservations_only() {
    let mut book = funded();
    book.prepare("t1", "A", "USD", 300).unwrap();
    book.prepare("t2", "A", "USD", 300).unwrap();
    for account in book.store.accounts.values_mut() {
        account.state = AccountState::Disabled;
    }
    let refused = book.prepare("t3", "A", "USD", 1);
    assert_eq!(
        refused,
        Err(LedgerError::AccountDisabled("A:USD:LIQUIDITY".to_owned()))
    );
    let refused = book.funds("d2", "A", "USD", Direction::Deposit, 1);
    assert!(matches!(refused, Err(LedgerError::AccountDisabled(_))));
    book.fulfil("t1", "B", "USD").unwrap();
    book.release("t2").unwrap();
    assert_eq!(book.usd("A"), [700, 0, 1000]);
}

#[test]
fn accounts_that_do_not_fit_are_refused() {
    let mut book = funded();
    book.open("A", "EUR", None);
    book.prepare("t1", "A", "USD", 300).unwrap();
    let before = book.store.clone();
    assert_eq!(
        book.prepare("t2", "C", "USD", 1),
        Err(LedgerError::UnknownAccount("C:USD:LIQUIDITY".to_owned()))
    );
    assert_eq!(
        book.fulfil("t1", "A", "EUR"),
        Err(LedgerError::CurrencyMismatch)
    );
    let request = |payer: &str, debit: &str, credit: &str, scale| prepare::Request {
        transfer_id: "t2".to_owned(),
        payer_fsp: payer.to_owned(),
        debit_account: debit.to_owned(),
        credit_account: credit.to_owned(),
        amount: money("USD", scale, 1),
        settlement: SettlementTiming::Deferred,
    };
    for (payer, debit, credit, scale, expected) in [
        (
            "B",
            "A:USD:LIQUIDITY",
            "A:USD:POSITION",
            2,
            "A:USD:LIQUIDITY",
        ),
        (
            "A",
            "A:USD:POSITION",
            "A:USD:LIQUIDITY",
            2,
            "A:USD:POSITION",
        ),
        (
            "A",
            "A:USD:LIQUIDITY",
            "A:USD:LIQUIDITY",
            2,
            "A:USD:LIQUIDITY",
        ),
        ("A", "A:USD:LIQUIDITY", "A:USD:POSITION", 3, ""),
        ("A", "A:USD:LIQUIDITY", "A:EUR:POSITION", 2, ""),
    ] {
        let refused = book.ledger().prepare(request(payer, debit, credit, scale));
        let expected = match expected {
            "" => LedgerError::CurrencyMismatch,
            id => LedgerError::UnknownAccount(id.to_owned()),
        };
        assert_eq!(refused, Err(expected), "{debit} {credit}");
    }
    let position = fulfil::Request {
        transfer_id: "t1".to_owned(),
        credit_account: "B:USD:POSITION".to_owned(),
    };
    assert_eq!(
        book.ledger().fulfil(&position),
        Err(LedgerError::UnknownAccount("B:USD:POSITION".to_owned()))
    );
    assert_eq!(book.store, before);
}

#[test]
fn opening_accounts_again_leaves_them_as_they_are() {
    let mut book = Book::default();
    book.open("A", "USD", Some(400));
    book.funds("d", "A", "USD", Direction::Deposit, 10).unwrap();
    let before = book.store.clone();
    book.open("A", "USD", Some(500));
    assert_eq!(book.store, before);
    let liquidity = &book.store.accounts["A:USD:LIQUIDITY"];
    assert_eq!(liquidity.net_debit_cap, Some(Units(400)));
    let mismatch = create_accounts::Request {
        participant: "A".to_owned(),
        accounts: vec![create_accounts::AccountWithLimit {
            currency: "USD".to_owned(),
            scale: 3,
            net_debit_cap: None,
            liquidity_threshold: None,
        }],
    };
    assert_eq!(
        book.ledger().create_accounts(&mismatch),
        Err(LedgerError::CurrencyMismatch)
    );
    assert_eq!(book.store, before);
}

#[test]
fn a_reservation_document_says_where_the_funds_went() {
    let mut book = funded();
    book.prepare("t1", "A", "USD", 300).unwrap();
    book.fulfil("t1", "B", "USD").unwrap();
    let reservation = &book.store.reservations["t1"];
    assert_eq!(reservation.state, ReservationState::Fulfilled);
    assert_eq!(
        serde_json::to_string(reservation).unwrap(),
        concat!(
            r#"{"transferId":"t1","payer":"A","amount":"300","currency":"USD","scale":2,"#,
            r#""accounts":{"payerLiquidity":"A:USD:LIQUIDITY","payerPosition":"A:USD:POSITION","#,
            r#""payeeLiquidity":"B:USD:LIQUIDITY"},"state":"fulfilled","openedAt":5,"closedAt":6}"#
        )
    );
}

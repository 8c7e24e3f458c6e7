//! What must hold after every operation, tried with random operations, refusals and repeats
//! included, against a model that counts by itself.

use super::memory::MemoryStore;
use super::tests::{Book, HUB};
use crate::accounts::{AccountType, account_id};
use crate::bindings::exports::rialto::accounts_and_balances::manage_funds_credit_debit_pair_instruction::Direction;
use crate::bindings::rialto::accounts_and_balances::types::LedgerError;
use crate::records::{Entry, ReservationState};
use rialto_sdk::testing::Dice;
use std::collections::BTreeMap;

const PARTICIPANTS: [&str; 4] = ["alpha", "beta", "gamma", "delta"];
const CURRENCIES: [&str; 2] = ["USD", "TZS"];

/// A transfer as the model remembers it.
#[derive(Debug, Clone, Copy)]
struct Known {
    payer: &'static str,
    payee: &'static str,
    currency: &'static str,
    amount: u128,
    state: ReservationState,
}

#[derive(Default)]
struct Model {
    transfers: BTreeMap<String, Known>,
    caps: BTreeMap<(&'static str, &'static str), u128>,
}

impl Model {
    /// N of a participant: reserved + unsettled debits - unsettled credits.
    fn net_debit(&self, participant: &str, currency: &str) -> i128 {
        let mut net = 0;
        for known in self
            .transfers
            .values()
            .filter(|known| known.currency == currency)
        {
            let amount = i128::try_from(known.amount).unwrap();
            let fulfilled = known.state == ReservationState::Fulfilled;
            if known.payer == participant && known.state != ReservationState::Released {
                net += amount;
            }
            if known.payee == participant && fulfilled {
                net -= amount;
            }
        }
        net
    }
}

fn balance(store: &MemoryStore, owner: &str, currency: &str, account_type: AccountType) -> u128 {
    let id = account_id(owner, currency, account_type);
    store
        .accounts
        .get(&id)
        .map_or(0, |account| account.balance())
}

/// Invariants 1, 2, 3, 6 and 7 of the account model, and that entries explain every balance.
fn check(store: &MemoryStore, model: &Model) {
    let mut debits: BTreeMap<&str, u128> = BTreeMap::new();
    let mut credits: BTreeMap<&str, u128> = BTreeMap::new();
    for entry in store.entries.values() {
        *debits.entry(&entry.debit_account).or_default() += entry.amount.0;
        *credits.entry(&entry.credit_account).or_default() += entry.amount.0;
    }
    for currency in CURRENCIES {
        let mut books: BTreeMap<bool, (u128, u128)> = BTreeMap::new();
        for account in store.accounts.values().filter(|a| a.currency == currency) {
            let settlement_book = matches!(
                account.account_type,
                AccountType::Settlement | AccountType::HubReconciliation
            );
            let (debit, credit) = (account.debit_balance.0, account.credit_balance.0);
            let sums = books.entry(settlement_book).or_default();
            sums.0 += debit;
            sums.1 += credit;
            assert_eq!(debit, debits.get(&*account.id).copied().unwrap_or(0));
            assert_eq!(credit, credits.get(&*account.id).copied().unwrap_or(0));
            if account.account_type.is_debit_normal() {
                assert!(credit <= debit, "{account:?}");
            } else {
                assert!(debit <= credit + account.debit_limit.0, "{account:?}");
            }
        }
        for (debit, credit) in books.values() {
            assert_eq!(debit, credit, "each book of {currency} is balanced");
        }
        let sum = |account_type| -> u128 {
            PARTICIPANTS
                .iter()
                .map(|participant| balance(store, participant, currency, account_type))
                .sum()
        };
        let hub = |account_type| balance(store, HUB, currency, account_type);
        assert_eq!(
            hub(AccountType::HubReconciliation),
            sum(AccountType::Settlement)
        );
        assert_eq!(
            hub(AccountType::HubLiquidityControl),
            sum(AccountType::Liquidity)
                + sum(AccountType::Position)
                + sum(AccountType::LiquidityCover)
        );
        for participant in PARTICIPANTS {
            let open: u128 = store
                .reservations
                .values()
                .filter(|r| {
                    r.state == ReservationState::Open
                        && r.payer == participant
                        && r.currency == currency
                })
                .map(|r| r.amount.0)
                .sum();
            assert_eq!(
                balance(store, participant, currency, AccountType::Position),
                open
            );
            if let Some(cap) = model.caps.get(&(participant, currency)) {
                assert!(model.net_debit(participant, currency) <= i128::try_from(*cap).unwrap());
            }
        }
    }
}

/// Do something random. Answers whether the ledger accepted it.
fn step(dice: &mut Dice, book: &mut Book, model: &mut Model) -> bool {
    let known = if dice.chance(50) || model.transfers.is_empty() {
        None
    } else {
        let ids: Vec<&String> = model.transfers.keys().collect();
        let id = (*dice.pick(&ids)).clone();
        let known = model.transfers[&id];
        Some((id, known))
    };
    match (dice.below(10), known) {
        (0..=3, None) => {
            let id = format!("t{}", model.transfers.len());
            let payer = *dice.pick(&PARTICIPANTS);
            let others: Vec<&str> = PARTICIPANTS.into_iter().filter(|p| *p != payer).collect();
            let fresh = Known {
                payer,
                payee: dice.pick::<&str>(&others),
                currency: dice.pick::<&str>(&CURRENCIES),
                amount: u128::from(dice.below(400)),
                state: ReservationState::Open,
            };
            prepare(book, model, id, fresh)
        }
        (0..=1, Some((id, known))) => book
            .prepare(&id, known.payer, known.currency, known.amount)
            .is_ok(),
        (2..=5, Some((id, known))) => {
            let done = book.fulfil(&id, known.payee, known.currency).is_ok();
            assert_eq!(done, known.state != ReservationState::Released);
            if done && let Some(known) = model.transfers.get_mut(&id) {
                known.state = ReservationState::Fulfilled;
            }
            done
        }
        (6..=8, Some((id, known))) => {
            let done = book.release(&id).is_ok();
            assert_eq!(done, known.state != ReservationState::Fulfilled);
            if done && let Some(known) = model.transfers.get_mut(&id) {
                known.state = ReservationState::Released;
            }
            done
        }
        (4..=5, None) => book.fulfil("nobody", "beta", "USD").is_ok(),
        (which, _) => {
            let id = format!("f{}", dice.below(200));
            let direction = if which == 6 || which == 9 {
                Direction::Deposit
            } else {
                Direction::Withdrawal
            };
            let (participant, currency) = (*dice.pick(&PARTICIPANTS), *dice.pick(&CURRENCIES));
            let amount = u128::from(dice.below(1000));
            book.funds(&id, participant, currency, direction, amount)
                .is_ok()
        }
    }
}

fn prepare(book: &mut Book, model: &mut Model, id: String, fresh: Known) -> bool {
    let liquidity = book.balance(fresh.payer, fresh.currency, AccountType::Liquidity);
    let net = model.net_debit(fresh.payer, fresh.currency);
    let cap = model.caps.get(&(fresh.payer, fresh.currency));
    let capped = cap.is_some_and(|cap| {
        net + i128::try_from(fresh.amount).unwrap() > i128::try_from(*cap).unwrap()
    });
    let outcome = book.prepare(&id, fresh.payer, fresh.currency, fresh.amount);
    match &outcome {
        Err(LedgerError::ExceedsLimits(_)) => assert!(fresh.amount > liquidity),
        Err(LedgerError::ExceedsNetDebitCap(_)) => assert!(fresh.amount <= liquidity && capped),
        Err(other) => panic!("{other:?}"),
        Ok(_) => {
            assert!(fresh.amount <= liquidity && !capped);
            model.transfers.insert(id, fresh);
        }
    }
    outcome.is_ok()
}

#[test]
fn money_is_conserved_and_no_limit_is_passed_whatever_happens() {
    let mut accepted = 0;
    for seed in 0..40 {
        let mut dice = Dice::new(seed);
        let (mut book, mut model) = (Book::default(), Model::default());
        for participant in PARTICIPANTS {
            for currency in CURRENCIES {
                let cap = dice.chance(50).then(|| u128::from(dice.below(900)));
                book.open(participant, currency, cap);
                if let Some(cap) = cap {
                    model.caps.insert((participant, currency), cap);
                }
            }
        }
        for number in 0..250 {
            let before = book.store.clone();
            let done = step(&mut dice, &mut book, &mut model);
            let context = format!("seed {seed}, operation {number}");
            if !done {
                assert_eq!(book.store, before, "a refusal changes nothing: {context}");
            }
            let kept: BTreeMap<&String, &Entry> = before.entries.iter().collect();
            for (id, entry) in kept {
                assert_eq!(book.store.entries.get(id), Some(entry), "{context}");
            }
            let posted = book.store.entries.len() - before.entries.len();
            assert_eq!(posted == 0, book.store == before, "{context}");
            check(&book.store, &model);
            accepted += usize::from(posted > 0);
        }
    }
    assert!(accepted > 3000, "the test must do something: {accepted}");
}

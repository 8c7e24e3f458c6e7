//! Checks invariants 1 to 8 of the account model (choreography 18.9) on the ledger's documents, and compares
//! these with the model.

use super::driver::{World, account_id, hub_ids};
use super::model::{CURRENCIES, GROSS, Kind, NET, OWNERS};
use super::store::{Memory, digest};
use crate::accounts::Account;
use std::collections::BTreeMap;

fn net(account: &Account) -> i128 {
    let units = |units: u128| i128::try_from(units).expect("the test's sums are small");
    units(account.credit_balance.0) - units(account.debit_balance.0)
}

/// Invariants 1 to 7 in one currency, and that the ledger has the model's balances.
pub fn currency(world: &World, currency: usize, context: &str) {
    let model = &world.model;
    let mut sums = [0_i128; 4]; // L + P + C, S + SR, debits and credits of the books' difference
    let mut batches: BTreeMap<usize, i128> = BTreeMap::new();
    let mut standing = [[0_i128; 3]; OWNERS]; // L + P + C, S + SR, B
    let batches_of = world.batches_of(currency);
    let kinds = [
        Kind::L,
        Kind::P,
        Kind::C,
        Kind::S(NET),
        Kind::S(GROSS),
        Kind::Sr(NET),
        Kind::Sr(GROSS),
        Kind::B(0),
    ];
    for (owner, standing) in standing.iter_mut().enumerate() {
        for kind in kinds
            .into_iter()
            .chain(batches_of.iter().map(|batch| Kind::B(*batch)))
        {
            let Some(account) = world
                .store
                .accounts
                .get(&account_id((owner, currency, kind)))
            else {
                assert!(
                    !model.accounts.contains_key(&(owner, currency, kind)),
                    "{context}: {owner} {kind:?} is missing"
                );
                continue;
            };
            let expected = model
                .accounts
                .get(&(owner, currency, kind))
                .copied()
                .unwrap_or_default();
            assert_eq!(
                (
                    i128::try_from(account.debit_balance.0),
                    i128::try_from(account.credit_balance.0)
                ),
                (Ok(expected.debits), Ok(expected.credits)),
                "{context}: {}",
                account.id
            );
            let net = net(account);
            match kind {
                Kind::L | Kind::P | Kind::C => {
                    sums[0] += net;
                    standing[0] += net;
                }
                Kind::S(_) | Kind::Sr(_) => {
                    sums[1] += net;
                    standing[1] += net;
                }
                Kind::B(batch) => {
                    *batches.entry(batch).or_default() += net;
                    standing[2] += net;
                }
            }
            assert!(
                net >= 0 || matches!(kind, Kind::B(_)),
                "{context}: 7, {} is beyond its limit",
                account.id
            );
        }
        let reserved = &world.store.accounts[&account_id((owner, currency, Kind::P))];
        assert_eq!(
            net(reserved),
            model.open.get(&(owner, currency)).copied().unwrap_or(0),
            "{context}: 6"
        );
        let transit = model.transit.get(&(owner, currency)).copied().unwrap_or(0);
        assert_eq!(
            standing[0] - standing[2] - transit,
            standing[1],
            "{context}: 5, of {owner}"
        );
    }
    let hub = model.hub.get(&currency).copied().unwrap_or_default();
    for (id, expected) in hub_ids(currency).iter().zip(hub) {
        let found = world.store.accounts.get(id);
        let found = found.map_or((0, 0), |a| (a.debit_balance.0, a.credit_balance.0));
        let units = |units: i128| u128::try_from(units).expect("sums have no sign");
        let expected = (units(expected.debits), units(expected.credits));
        assert_eq!(found, expected, "{context}: {id}");
    }
    let [reconciliation, control] =
        hub_ids(currency).map(|id| world.store.accounts.get(&id).map_or(0, net));
    assert_eq!(-reconciliation, sums[1], "{context}: 2");
    assert_eq!(-control, sums[0], "{context}: 3");
    for (batch, sum) in &batches {
        assert_eq!(*sum, 0, "{context}: 4, batch {batch}");
    }
    // 1: every book's debits and credits are equal; B is zero in sum.
    assert_eq!(
        reconciliation + sums[1] + batches.values().sum::<i128>(),
        0,
        "{context}: 1"
    );
    assert_eq!(control + sums[0], 0, "{context}: 1");
}

/// Invariant 8, and that entries and pages explain each account.
pub fn whole(world: &World, context: &str) {
    for number in 0..CURRENCIES {
        currency(world, number, context);
    }
    let Memory {
        accounts,
        entries,
        pages,
        ..
    } = &world.store;
    let now = entries.values().map(digest).fold(0_u64, u64::wrapping_add);
    assert_eq!(now, world.store.digest, "{context}: 8");
    let mut of_account: BTreeMap<&str, (u128, u128, u64)> = BTreeMap::new();
    for entry in entries.values() {
        let debit = of_account.entry(&entry.debit_account).or_default();
        (debit.0, debit.2) = (debit.0 + entry.amount.0, debit.2 + 1);
        let credit = of_account.entry(&entry.credit_account).or_default();
        (credit.1, credit.2) = (credit.1 + entry.amount.0, credit.2 + 1);
    }
    for (id, account) in accounts {
        let found = of_account.get(id.as_str()).copied().unwrap_or_default();
        let own = (
            account.debit_balance.0,
            account.credit_balance.0,
            account.tail.count,
        );
        assert_eq!(own, found, "{context}: the entries of {id}");
        let mut listed: Vec<&str> = Vec::new();
        let first = format!("{id}/");
        for page in pages
            .range(first.clone()..)
            .take_while(|(page, _)| page.starts_with(&first))
        {
            listed.extend(page.1.entries.split(' '));
        }
        listed.extend(account.tail.entries.split(' ').filter(|id| !id.is_empty()));
        assert_eq!(
            listed.len() as u64,
            account.tail.count,
            "{context}: pages of {id}"
        );
        let is_own = |listed: &&str| {
            let entry = &entries[*listed];
            entry.debit_account == *id || entry.credit_account == *id
        };
        assert!(listed.iter().all(is_own), "{context}: pages of {id}");
    }
}

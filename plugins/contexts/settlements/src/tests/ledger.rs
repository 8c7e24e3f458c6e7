//! A store and a ledger in memory: what the ledger is asked for is done as its contract says, in a few
//! lines of its own.

use crate::bindings::rialto::accounts_and_balances::create_accounts::NewAccount;
use crate::bindings::rialto::accounts_and_balances::insert_journal_entries::{
    Request, SettlementEntryType, UnsettledChange,
};
use crate::bindings::rialto::accounts_and_balances::types::{
    AccountPosition, AccountState, AccountStatus, LedgerAccountType as Kind, LedgerError,
    SettlementHold,
};
use crate::world::World;
use rialto_sdk::documents::{Memory, Range, Store, StoredPage};
use rialto_sdk::money::{minor_units, money};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone)]
pub struct Account {
    pub owner: String,
    pub kind: Kind,
    pub debits: u128,
    pub credits: u128,
    pub closed: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Book {
    pub store: Memory,
    pub accounts: BTreeMap<String, Account>,
    /// Steps that were posted, and how many entries each had.
    pub steps: BTreeMap<(String, String), usize>,
    /// Paid and received of each participant that was settled.
    pub settled: BTreeMap<String, [i128; 2]>,
    pub due: Vec<(String, u64)>,
    /// Documents that were touched: this component's, and the ledger's accounts.
    pub touched: BTreeSet<String>,
    pub now: u64,
    pub ids: u64,
}

impl Book {
    pub fn fund(&mut self, account: &str, units: u128) {
        self.accounts.get_mut(account).unwrap().credits += units;
    }

    /// Credits minus debits.
    pub fn net(&self, account: &str) -> i128 {
        let account = &self.accounts[account];
        i128::try_from(account.credits).unwrap() - i128::try_from(account.debits).unwrap()
    }

    /// Hold settled funds, as the ledger does when a transfer is prepared; or nothing, when they are
    /// short.
    pub fn hold(&mut self, hold: &SettlementHold, units: u128) -> Result<(), LedgerError> {
        let before = self.accounts.clone();
        let of = SettlementEntryType::Hold;
        let held = self.post(&hold.settlement, &hold.reserved, units, of);
        if held.is_err() {
            self.accounts = before;
        }
        held
    }

    /// Run the steps that are due, as the host does.
    pub fn run(&mut self, mut step: impl FnMut(&mut Self, &str, u64)) -> usize {
        let mut done = 0;
        while let Some((settlement, number)) = self.due.pop() {
            step(self, &settlement, number);
            done += 1;
        }
        done
    }

    fn touch(&mut self, collection: &str, id: &str) {
        self.touched.insert(format!("{collection} {id}"));
    }

    fn post(
        &mut self,
        debit: &str,
        credit: &str,
        units: u128,
        of: SettlementEntryType,
    ) -> Result<(), LedgerError> {
        for (id, is_debit) in [(debit, true), (credit, false)] {
            let account = self
                .accounts
                .get_mut(id)
                .ok_or_else(|| LedgerError::UnknownAccount(id.to_owned()))?;
            if account.closed && of == SettlementEntryType::Record {
                return Err(LedgerError::AccountClosed(id.to_owned()));
            }
            let sum = if is_debit {
                &mut account.debits
            } else {
                &mut account.credits
            };
            *sum += units;
            if account.kind != Kind::SettlementPosition && account.debits > account.credits {
                let position = self.status(id).unwrap().position;
                return Err(LedgerError::ExceedsSettledFunds(position));
            }
        }
        Ok(())
    }

    fn status(&self, id: &str) -> Option<AccountStatus> {
        let account = self.accounts.get(id)?;
        let money = |units| money("USD", 2, units);
        Some(AccountStatus {
            position: AccountPosition {
                account_id: id.to_owned(),
                debit_balance: money(account.debits),
                credit_balance: money(account.credits),
                available: money(account.credits.saturating_sub(account.debits)),
                threshold: None,
            },
            owner: account.owner.clone(),
            account_type: account.kind,
            state: if account.closed {
                AccountState::Closed
            } else {
                AccountState::Enabled
            },
            net_debit_cap: None,
            settlement_model: None,
            batch: None,
            unsettled: money(0),
        })
    }
}

impl World for Book {
    fn now(&self) -> u64 {
        self.now
    }

    fn uuid(&mut self) -> String {
        self.ids += 1;
        format!("s{}", self.ids)
    }

    fn create_accounts(&mut self, wanted: &[NewAccount]) -> Result<Vec<String>, LedgerError> {
        for new in wanted {
            // The first account of settlement says which model is the first.
            self.touch("account", &format!("{}:{}:S", new.owner, new.currency));
        }
        let mut open = |new: &NewAccount| {
            let (kind, of) = match new.account_type {
                Kind::Settlement => ("S", new.settlement_model.as_str()),
                Kind::SettlementReserved => ("SR", new.settlement_model.as_str()),
                _ => ("B", new.batch.as_deref().unwrap()),
            };
            let id = format!("{}:{}:{kind}:{of}", new.owner, new.currency);
            self.accounts.entry(id.clone()).or_insert_with(|| Account {
                owner: new.owner.clone(),
                kind: new.account_type,
                debits: 0,
                credits: 0,
                closed: false,
            });
            id
        };
        let ids: Vec<String> = wanted.iter().map(&mut open).collect();
        for id in &ids {
            self.touch("account", id);
        }
        Ok(ids)
    }

    fn close_accounts(&mut self, ids: &[String]) -> Result<Vec<AccountStatus>, LedgerError> {
        for id in ids {
            self.touch("account", id);
            self.accounts.get_mut(id).unwrap().closed = true;
        }
        Ok(ids.iter().filter_map(|id| self.status(id)).collect())
    }

    fn accounts(&mut self, ids: &[String]) -> Vec<Option<AccountStatus>> {
        for id in ids {
            self.touch("account", id);
        }
        ids.iter().map(|id| self.status(id)).collect()
    }

    fn insert_entries(&mut self, request: &Request) -> Result<(), LedgerError> {
        let step = (request.cause.clone(), request.step.clone());
        if self.steps.contains_key(&step) {
            return Ok(());
        }
        let before = self.accounts.clone();
        for entry in &request.entries {
            self.touch("account", &entry.debit_account);
            self.touch("account", &entry.credit_account);
            let units = minor_units(&entry.amount);
            let posted = self.post(
                &entry.debit_account,
                &entry.credit_account,
                units,
                entry.entry_type,
            );
            if posted.is_err() {
                self.accounts = before;
                return posted;
            }
        }
        for of in &request.unsettled {
            let sign = if of.change == UnsettledChange::Settled {
                1
            } else {
                -1
            };
            let sums = self.settled.entry(of.participant.clone()).or_default();
            for (sum, amount) in sums.iter_mut().zip([&of.debits, &of.credits]) {
                *sum += sign * i128::try_from(minor_units(amount)).unwrap();
            }
        }
        self.steps.insert(step, request.entries.len());
        Ok(())
    }

    fn step_is_due(&mut self, settlement: &str, step: u64) {
        self.due.push((settlement.to_owned(), step));
    }
}

impl Store for Book {
    fn get(&mut self, collection: &str, id: &str) -> Option<String> {
        self.touch(collection, id);
        self.store.get(collection, id)
    }

    fn get_for_update(&mut self, collection: &str, id: &str) -> Option<String> {
        self.touch(collection, id);
        self.store.get_for_update(collection, id)
    }

    fn put(&mut self, collection: &str, id: &str, body: &str) {
        self.touch(collection, id);
        self.store.put(collection, id, body);
    }

    fn insert_if_absent(&mut self, collection: &str, id: &str, body: &str) -> bool {
        self.touch(collection, id);
        self.store.insert_if_absent(collection, id, body)
    }

    fn delete(&mut self, collection: &str, id: &str) -> bool {
        self.touch(collection, id);
        self.store.delete(collection, id)
    }

    fn scan(
        &mut self,
        collection: &str,
        range: &Range,
        cursor: Option<&str>,
        limit: u32,
    ) -> StoredPage {
        self.store.scan(collection, range, cursor, limit)
    }
}

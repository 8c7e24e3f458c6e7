//! Checks of accounts and of the sums over them.

use std::collections::{BTreeMap, HashMap};

use crate::documents::{Account, AccountType, Book, Entry};
use crate::{decimal, entries};

use super::report::{Check, Report};

/// The side of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Debit,
    Credit,
}

/// Sums that other documents give for an account, from its opening balance on.
#[derive(Clone, Copy, Default)]
struct ExpectedSums {
    debits: i128,
    credits: i128,
    reserved: i128,
    unsettled: i128,
}

/// Opening balances of one book in one currency.
#[derive(Default)]
struct Openings {
    scale: u8,
    debits: i128,
    credits: i128,
    /// What waits for settlement on positions.
    paid: i128,
    /// What waits for settlement on other accounts.
    received: i128,
}

/// See the module's documentation.
#[derive(Default)]
pub(super) struct Accounts {
    by_id: HashMap<String, u32>,
    all: Vec<Account>,
    said: Vec<ExpectedSums>,
    /// By owner and currency: received but in no batch, less what was paid.
    transit: HashMap<(String, String), i128>,
}

impl Accounts {
    pub fn add(&mut self, account: Account, report: &mut Report) {
        let number = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        report.looked_at(Check::Limits);
        let kind = account.account_type;
        let room = match kind {
            AccountType::SettlementPosition => 0,
            _ if kind.is_of_hub() => -account.net(),
            _ => account.net() + account.debit_limit.0,
        };
        if room < 0 {
            let (id, scale) = (&account.id, account.scale);
            let (net, limit) = (
                decimal(account.net(), scale),
                decimal(account.debit_limit.0, scale),
            );
            let text = format!("{id} stands at {net}, its debit limit is {limit}");
            report.breach(Check::Limits, text);
        }
        let opening = account.archived.as_ref();
        self.said.push(
            opening.map_or_else(ExpectedSums::default, |opening| ExpectedSums {
                debits: opening.debits.0,
                credits: opening.credits.0,
                reserved: 0,
                unsettled: opening.unsettled.0,
            }),
        );
        self.by_id.insert(account.id.clone(), number);
        self.all.push(account);
    }

    pub fn index(&self, id: &str) -> Option<u32> {
        self.by_id.get(id).copied()
    }

    pub fn get(&self, account: u32) -> &Account {
        &self.all[account as usize]
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &Account)> {
        (0_u32..).zip(&self.all)
    }

    pub fn explain_unsettled(&mut self, account: u32, amount: i128) {
        self.said[account as usize].unsettled += amount;
    }

    pub fn explain_reserved(&mut self, account: u32, amount: i128) {
        self.said[account as usize].reserved += amount;
    }

    /// A transfer was fulfilled from one account to another and is in no batch.
    pub fn in_transit(&mut self, from: u32, to: u32, amount: i128) {
        for (account, amount) in [(from, -amount), (to, amount)] {
            let account = self.get(account);
            let key = (account.participant.clone(), account.currency.clone());
            *self.transit.entry(key).or_default() += amount;
        }
    }

    /// Take an entry into account. Returns its accounts, as far as there are.
    pub fn post(&mut self, entry: &Entry, report: &mut Report) -> Vec<(u32, Side)> {
        report.looked_at(Check::Entries);
        report.looked_at(Check::DebitsAreCredits);
        let mut sides = Vec::with_capacity(2);
        for (id, side) in [
            (&entry.debit_account, Side::Debit),
            (&entry.credit_account, Side::Credit),
        ] {
            let Some(account) = self.index(id) else {
                let text = format!("the entry {} is posted to {id}, no account", entry.id);
                report.breach(Check::Entries, text);
                continue;
            };
            let said = &mut self.said[account as usize];
            match side {
                Side::Debit => said.debits += entry.amount.0,
                Side::Credit => said.credits += entry.amount.0,
            }
            sides.push((account, side));
        }
        if let [(debit, _), (credit, _)] = sides[..] {
            let place = |account: u32| {
                let of = self.get(account);
                (of.account_type.book(), of.currency.as_str(), of.scale)
            };
            let (from, to) = (place(debit), place(credit));
            let own = (from.0, entry.currency.as_str(), entry.scale);
            if from != to || from != own || debit == credit {
                let text = format!(
                    "the entry {} ({}) of {} {} goes from {} to {}: not in one book and currency",
                    entry.id,
                    entries::ShownEntry::of(entry).journal_entry_id,
                    decimal(entry.amount.0, entry.scale),
                    entry.currency,
                    entry.debit_account,
                    entry.credit_account
                );
                report.breach(Check::DebitsAreCredits, text);
            }
        }
        sides
    }

    /// What must hold once everything was read.
    pub fn end(&self, report: &mut Report) {
        self.against_said(report);
        self.sums(report);
        self.openings(report);
        self.batches(report);
        self.participants(report);
    }

    fn against_said(&self, report: &mut Report) {
        for (account, said) in self.all.iter().zip(&self.said) {
            let (id, text) = (&account.id, |units| decimal(units, account.scale));
            let kept = (account.debit_balance.0, account.credit_balance.0);
            let posted = (said.debits, said.credits);
            let opening = account.archived.as_ref();
            report.same(Check::Entries, &kept, &posted, || {
                let from = opening.map_or(String::new(), |opening| {
                    let (debits, credits) = (text(opening.debits.0), text(opening.credits.0));
                    format!("its opening balance (debits of {debits}, credits of {credits}) and ")
                });
                format!(
                    "{id} has debits of {} and credits of {}, {from}its entries sum to {} and {}",
                    text(kept.0),
                    text(kept.1),
                    text(posted.0),
                    text(posted.1)
                )
            });
            if account.account_type == AccountType::Position {
                report.same(Check::Reserved, &account.net(), &said.reserved, || {
                    let (stands, held) = (text(account.net()), text(said.reserved));
                    format!("{id} stands at {stands}, open reservations hold {held}")
                });
            } else if said.reserved != 0 {
                let text = format!("reservations are open on {id}, which is no position account");
                report.breach(Check::Reserved, text);
            }
            report.same(
                Check::Unsettled,
                &account.unsettled.0,
                &said.unsettled,
                || {
                    let (says, is) = (text(account.unsettled.0), text(said.unsettled));
                    let from = opening.map_or(String::new(), |opening| {
                        let before = text(opening.unsettled.0);
                        format!("its opening balance ({before}) and ")
                    });
                    format!("{id} says that {says} wait for settlement, {from}transfers say {is}")
                },
            );
        }
    }

    fn sums(&self, report: &mut Report) {
        let mut books: BTreeMap<(&str, Book), [i128; 2]> = BTreeMap::new();
        // Of participants, of the hub.
        let mut sides: BTreeMap<(&str, Book), [i128; 2]> = BTreeMap::new();
        let mut scales = BTreeMap::new();
        for account in &self.all {
            let key = (account.currency.as_str(), account.account_type.book());
            let book = books.entry(key).or_default();
            book[0] += account.debit_balance.0;
            book[1] += account.credit_balance.0;
            let side = sides.entry(key).or_default();
            match account.account_type {
                AccountType::SettlementPosition => {}
                kind if kind.is_of_hub() => side[1] -= account.net(),
                _ => side[0] += account.net(),
            }
            scales.insert(account.currency.as_str(), account.scale);
        }
        for ((currency, book), [debits, credits]) in &books {
            let text = |units| decimal(units, scales[currency]);
            report.same(Check::DebitsAreCredits, debits, credits, || {
                let (debits, credits, book) = (text(*debits), text(*credits), book.name());
                format!("{currency}, {book} book: debits are {debits}, credits {credits}")
            });
            let [participants, hub] = sides[&(*currency, *book)];
            let check = match book {
                Book::Liquidity => Check::LiquidityControl,
                Book::Settlement => Check::Reconciliation,
            };
            report.same(check, &participants, &hub, || {
                let (participants, hub) = (text(participants), text(hub));
                format!(
                    "{currency}: the hub's account says {hub}, participants have {participants}"
                )
            });
        }
    }

    /// Opening balances: the entries and transfers behind them had two sides.
    fn openings(&self, report: &mut Report) {
        let mut books: BTreeMap<(&str, Book), Openings> = BTreeMap::new();
        for account in &self.all {
            let Some(archived) = &account.archived else {
                continue;
            };
            let key = (account.currency.as_str(), account.account_type.book());
            let sums = books.entry(key).or_default();
            sums.scale = account.scale;
            sums.debits += archived.debits.0;
            sums.credits += archived.credits.0;
            match account.account_type {
                AccountType::Position => sums.paid += archived.unsettled.0,
                _ => sums.received += archived.unsettled.0,
            }
        }
        for ((currency, book), sums) in &books {
            let (text, book) = (|units| decimal(units, sums.scale), book.name());
            report.same(Check::DebitsAreCredits, &sums.debits, &sums.credits, || {
                let (debits, credits) = (text(sums.debits), text(sums.credits));
                format!(
                    "{currency}, {book} book: opening balances have debits of {debits}, credits of {credits}"
                )
            });
            report.same(Check::Unsettled, &sums.paid, &sums.received, || {
                let (paid, received) = (text(sums.paid), text(sums.received));
                format!(
                    "{currency}, {book} book: by opening balances {paid} wait for settlement of positions, \
                     {received} of other accounts"
                )
            });
        }
    }

    fn batches(&self, report: &mut Report) {
        let mut batches: BTreeMap<(&str, &str), (i128, u8)> = BTreeMap::new();
        for account in &self.all {
            if account.account_type == AccountType::SettlementPosition {
                let batch = account.batch.as_deref().unwrap_or("(no batch)");
                let sum = batches.entry((batch, &account.currency)).or_default();
                *sum = (sum.0 + account.net(), account.scale);
            }
        }
        for ((batch, currency), (sum, scale)) in batches {
            report.same(Check::Batches, &sum, &0, || {
                let sum = decimal(sum, scale);
                format!("the {currency} positions of batch {batch} sum to {sum}")
            });
        }
    }

    fn participants(&self, report: &mut Report) {
        let mut standing: BTreeMap<(&str, &str), (i128, i128, u8)> = BTreeMap::new();
        for account in &self.all {
            let kind = account.account_type;
            if kind.is_of_hub() {
                continue;
            }
            let key = (account.participant.as_str(), account.currency.as_str());
            let sums = standing.entry(key).or_default();
            sums.2 = account.scale;
            match (kind.book(), kind) {
                (Book::Liquidity, _) => sums.0 += account.net(),
                (_, AccountType::SettlementPosition) => sums.0 -= account.net(),
                _ => sums.1 += account.net(),
            }
        }
        for ((owner, currency), (liquidity, settlement, scale)) in standing {
            let key = (owner.to_owned(), currency.to_owned());
            let transit = self.transit.get(&key).copied().unwrap_or(0);
            report.same(Check::Books, &(liquidity - transit), &settlement, || {
                let text = |units| decimal(units, scale);
                format!(
                    "{owner} {currency}: liquidity without what is owed is {}, of it {} in transit; \
                     settled funds are {}",
                    text(liquidity),
                    text(transit),
                    text(settlement)
                )
            });
        }
    }
}

//! The ledger operations of settlement: records in batches, closing, settling, immediate settlement, aborting
//! and undoing.

use super::driver::{World, account_id, amount, code, owner};
use super::model::{Account, CURRENCIES, GROSS, Kind, NET, OWNERS, Refusal, Timing};
use super::under_way::UnderWay;
use crate::bindings::exports::rialto::accounts_and_balances::create_accounts::NewAccount;
use crate::bindings::exports::rialto::accounts_and_balances::insert_journal_entries::{
    JournalEntry, Request, SettlementEntryType as Of, Unsettled, UnsettledChange,
};
use crate::bindings::rialto::accounts_and_balances::types::LedgerAccountType;
use crate::ledger::Ledger;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Open,
    Closed,
    Settled,
    /// The accounts of a settlement of several batches.
    Consolidation,
}

/// A settlement batch; its number is its place, from 1.
#[derive(Debug)]
pub struct Batch {
    pub currency: usize,
    pub phase: Phase,
    /// Paid and received by each.
    pub gross: [[i128; 2]; OWNERS],
    pub members: [bool; OWNERS],
}

/// An entry of a list.
pub(super) type Line = (Of, Account, Account, i128);

impl World {
    /// Batches whose accounts may still move.
    pub fn batches_of(&self, currency: usize) -> Vec<usize> {
        self.alive[currency].clone()
    }

    pub fn open_standing_accounts(&mut self) {
        for currency in 0..CURRENCIES {
            for of in 0..OWNERS {
                for kind in [
                    Kind::S(NET),
                    Kind::Sr(NET),
                    Kind::S(GROSS),
                    Kind::Sr(GROSS),
                    Kind::B(0),
                ] {
                    self.open_account((of, currency, kind));
                }
            }
        }
    }

    fn open_account(&mut self, account: Account) {
        let (of, currency, kind) = account;
        let (kind, model, batch) = match kind {
            Kind::S(model) => (LedgerAccountType::Settlement, model, None),
            Kind::Sr(model) => (LedgerAccountType::SettlementReserved, model, None),
            Kind::B(0) => (
                LedgerAccountType::SettlementPosition,
                GROSS,
                Some("GROSS".to_owned()),
            ),
            Kind::B(batch) => (
                LedgerAccountType::SettlementPosition,
                NET,
                Some(format!("b{batch}")),
            ),
            other => panic!("{other:?} is no account of settlement"),
        };
        let (currency, scale) = code(currency);
        let wanted = NewAccount {
            account_type: kind,
            owner: owner(of),
            currency: currency.to_owned(),
            scale,
            settlement_model: ["NET", "GROSS"][model].to_owned(),
            batch,
        };
        let opened = Ledger::new(&mut self.store, 0).open_settlement_accounts(&[wanted]);
        assert_eq!(opened, Ok(vec![account_id(account)]));
        self.model.accounts.entry(account).or_default();
    }

    fn new_batch(&mut self, currency: usize, phase: Phase) -> usize {
        self.batches.push(Batch {
            currency,
            phase,
            gross: [[0; 2]; OWNERS],
            members: [false; OWNERS],
        });
        self.alive[currency].push(self.batches.len());
        self.batches.len()
    }

    fn join(&mut self, batch: usize, of: usize) {
        let currency = self.batches[batch - 1].currency;
        if !std::mem::replace(&mut self.batches[batch - 1].members[of], true) {
            self.open_account((of, currency, Kind::B(batch)));
        }
    }

    pub(super) fn retire(&mut self, batch: usize) {
        let settled = &mut self.batches[batch - 1];
        settled.phase = Phase::Settled;
        self.model.retire(settled.currency, batch);
        self.alive[settled.currency].retain(|alive| *alive != batch);
    }

    fn in_phase(&self, currency: usize, phase: Phase) -> Vec<usize> {
        let fits = |number: &usize| self.batches[number - 1].phase == phase;
        self.batches_of(currency).into_iter().filter(fits).collect()
    }

    /// Record a transfer that waits for it.
    pub fn record(&mut self, currency: usize) {
        let of_currency: Vec<usize> = (0..self.waiting.len())
            .filter(|place| self.transfers[self.waiting[*place]].currency == currency)
            .collect();
        if of_currency.is_empty() {
            return;
        }
        let place = *self.dice.pick(&of_currency);
        let number = self.waiting[place];
        let transfer = self.transfers[number];
        let cause = format!("t{number}");
        let (payer, payee) = (transfer.payer, transfer.payee);
        if transfer.amount == 0 {
            // Nothing is owed, and an entry of nothing is refused.
            self.waiting.swap_remove(place);
            return;
        }
        let at = |of, kind| (of, currency, kind);
        let closed = self.in_phase(currency, Phase::Closed);
        let mut batch = 0;
        let lines = if transfer.timing == Timing::InBatch {
            let open = self.in_phase(currency, Phase::Open).pop();
            batch = open.unwrap_or_else(|| self.new_batch(currency, Phase::Open));
            let late = closed.into_iter().find(|batch| {
                let members = self.batches[batch - 1].members;
                members[payer] && members[payee]
            });
            if let Some(late) = late.filter(|_| self.dice.chance(5)) {
                batch = late;
            } else {
                self.join(batch, payer);
                self.join(batch, payee);
            }
            vec![(
                Of::Record,
                at(payer, Kind::B(batch)),
                at(payee, Kind::B(batch)),
                transfer.amount,
            )]
        } else {
            let source = match transfer.timing {
                Timing::AtOnceHeld => Kind::Sr(GROSS),
                _ => Kind::S(GROSS),
            };
            vec![
                (
                    Of::Record,
                    at(payer, Kind::B(0)),
                    at(payee, Kind::B(0)),
                    transfer.amount,
                ),
                (
                    Of::Pay,
                    at(payer, source),
                    at(payer, Kind::B(0)),
                    transfer.amount,
                ),
                (
                    Of::Receive,
                    at(payee, Kind::B(0)),
                    at(payee, Kind::S(GROSS)),
                    transfer.amount,
                ),
            ]
        };
        let plain: Vec<_> = lines
            .iter()
            .map(|(_, debit, credit, units)| (*debit, *credit, *units))
            .collect();
        let expected = self.model.record(&transfer, &plain);
        let what = if batch > 0 {
            "record"
        } else {
            "settle at once"
        };
        if self.insert(what, expected, &cause, "settlement", &lines, Vec::new()) {
            self.waiting.swap_remove(place);
            if batch > 0 {
                self.batches[batch - 1].gross[payer][0] += transfer.amount;
                self.batches[batch - 1].gross[payee][1] += transfer.amount;
            }
        }
    }

    fn insert(
        &mut self,
        what: &'static str,
        expected: Result<(), Refusal>,
        cause: &str,
        step: &str,
        lines: &[Line],
        unsettled: Vec<Unsettled>,
    ) -> bool {
        let entry = |(of, debit, credit, units): &Line| JournalEntry {
            entry_type: *of,
            debit_account: account_id(*debit),
            credit_account: account_id(*credit),
            amount: amount(debit.1, *units),
        };
        let request = Request {
            cause: cause.to_owned(),
            step: step.to_owned(),
            entries: lines.iter().map(entry).collect(),
            unsettled,
        };
        self.compare(what, expected, move |ledger| {
            ledger.insert_entries(&request).map(drop)
        })
    }

    /// Close the open batch, settle closed ones, or go on with a settlement.
    pub fn settlement(&mut self, currency: usize) {
        if let Some(under_way) = self.under_way[currency].take() {
            self.under_way[currency] = self.go_on(currency, under_way);
            return;
        }
        let closed = self.in_phase(currency, Phase::Closed);
        if closed.is_empty() || self.dice.chance(50) {
            if let Some(open) = self.in_phase(currency, Phase::Open).pop() {
                self.close(open);
            }
            return;
        }
        let several = closed.len().min(1 + self.dice.below(3) as usize);
        self.settle(currency, &closed[..several]);
    }

    fn close(&mut self, batch: usize) {
        self.close_accounts(batch);
        self.batches[batch - 1].phase = Phase::Closed;
    }

    fn close_accounts(&mut self, batch: usize) {
        let currency = self.batches[batch - 1].currency;
        let members = self.batches[batch - 1].members;
        let accounts = (0..OWNERS)
            .filter(|of| members[*of])
            .map(|of| (of, currency, Kind::B(batch)));
        let accounts: Vec<Account> = accounts.collect();
        self.model.closed.extend(&accounts);
        let ids: Vec<String> = accounts.into_iter().map(account_id).collect();
        self.compare("close", Ok(()), move |ledger| ledger.close(&ids).map(drop));
    }

    fn settle(&mut self, currency: usize, batches: &[usize]) {
        let cause = format!("s{}", self.count);
        let at = |of, kind| (of, currency, kind);
        let owed = |world: &Self, of| -> i128 {
            batches
                .iter()
                .map(|batch| world.model.net(at(of, Kind::B(*batch))))
                .sum()
        };
        let nets: Vec<i128> = (0..OWNERS).map(|of| owed(self, of)).collect();
        assert_eq!(nets.iter().sum::<i128>(), 0, "a matrix is zero in sum");
        let holds: Vec<Line> = (0..OWNERS)
            .filter(|of| nets[*of] < 0)
            .map(|of| {
                (
                    Of::Hold,
                    at(of, Kind::S(NET)),
                    at(of, Kind::Sr(NET)),
                    -nets[of],
                )
            })
            .collect();
        if !self.list("hold", &cause, "hold", &holds, Vec::new()) {
            return;
        }
        if self.dice.chance(25) {
            let back = |(_, s, sr, units): &Line| (Of::HoldRelease, *sr, *s, *units);
            let lines: Vec<Line> = holds.iter().map(back).collect();
            assert!(self.list("abort", &cause, "abort", &lines, Vec::new()));
            return;
        }
        let (target, mut lines) = self.consolidated(currency, batches);
        for (payer, payee, units) in pairs(&nets) {
            lines.push((
                Of::HoldRelease,
                at(payer, Kind::Sr(NET)),
                at(payer, Kind::S(NET)),
                units,
            ));
            lines.push((
                Of::Pay,
                at(payer, Kind::S(NET)),
                at(payer, Kind::B(target)),
                units,
            ));
            lines.push((
                Of::Receive,
                at(payee, Kind::B(target)),
                at(payee, Kind::S(NET)),
                units,
            ));
        }
        assert!(
            self.list("settle", &cause, "settle", &lines, Vec::new()),
            "what is held is enough"
        );
        if !batches.contains(&target) {
            self.close_accounts(target);
        }
        let batches = batches.to_vec();
        self.under_way[currency] = Some(UnderWay::paid(cause, batches, target, lines));
    }

    /// A list of settlement, done to both. An empty list is no operation.
    pub(super) fn list(
        &mut self,
        what: &'static str,
        cause: &str,
        step: &str,
        lines: &[Line],
        unsettled: Vec<Unsettled>,
    ) -> bool {
        if lines.is_empty() && unsettled.is_empty() {
            return true;
        }
        let plain: Vec<_> = lines
            .iter()
            .map(|(_, debit, credit, units)| (*debit, *credit, *units))
            .collect();
        let expected = self.model.settle(&plain, false);
        self.insert(what, expected, cause, step, lines, unsettled)
    }

    /// The obligations of several batches moved to one: the accounts that hold them, and how.
    fn consolidated(&mut self, currency: usize, batches: &[usize]) -> (usize, Vec<Line>) {
        if let [single] = batches {
            return (*single, Vec::new());
        }
        let target = self.new_batch(currency, Phase::Consolidation);
        let at = |of, batch| (of, currency, Kind::B(batch));
        let mut lines = Vec::new();
        for batch in batches {
            let nets: Vec<i128> = (0..OWNERS)
                .map(|of| self.model.net(at(of, *batch)))
                .collect();
            for (payer, payee, units) in pairs(&nets) {
                self.join(target, payer);
                self.join(target, payee);
                lines.push((Of::Consolidate, at(payer, target), at(payer, *batch), units));
                lines.push((Of::Consolidate, at(payee, *batch), at(payee, target), units));
            }
        }
        (target, lines)
    }

    fn gross(&self, batches: &[usize], of: usize) -> [i128; 2] {
        let sum = |side: usize| {
            batches
                .iter()
                .map(|batch| self.batches[batch - 1].gross[of][side])
                .sum()
        };
        [sum(0), sum(1)]
    }

    pub(super) fn unsettled(
        &self,
        currency: usize,
        batches: &[usize],
        change: UnsettledChange,
    ) -> Vec<Unsettled> {
        let row = |of: usize| {
            let [debits, credits] = self.gross(batches, of);
            (debits + credits > 0).then(|| Unsettled {
                participant: owner(of),
                change,
                debits: amount(currency, debits),
                credits: amount(currency, credits),
            })
        };
        (0..OWNERS).filter_map(row).collect()
    }

    pub(super) fn count_unsettled(&mut self, currency: usize, batches: &[usize], sign: i128) {
        for batch in batches {
            let is_settled = sign < 0;
            let batch = (currency, *batch);
            if is_settled {
                self.model.counted.insert(batch);
            } else {
                self.model.counted.remove(&batch);
            }
        }
        for of in 0..OWNERS {
            let gross = self.gross(batches, of);
            let unsettled = self.model.unsettled.entry((of, currency)).or_default();
            for (sum, gross) in unsettled.iter_mut().zip(gross) {
                *sum += sign * gross;
            }
        }
    }
}

/// The payments that bring all balances to zero: two pointers.
fn pairs(nets: &[i128]) -> Vec<(usize, usize, i128)> {
    let mut left = nets.to_vec();
    let mut found = Vec::new();
    while let (Some(payer), Some(payee)) = (
        left.iter().position(|net| *net < 0),
        left.iter().position(|net| *net > 0),
    ) {
        let units = left[payee].min(-left[payer]);
        left[payer] += units;
        left[payee] -= units;
        found.push((payer, payee, units));
    }
    found
}

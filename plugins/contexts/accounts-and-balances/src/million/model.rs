//! A model of the ledger after the account model (choreography 18): whole numbers in maps, without the
//! component's code. It knows what must be refused, and why.

use std::collections::{BTreeMap, BTreeSet};

/// Participants of the test.
pub const OWNERS: usize = 5;
/// Currencies of the test.
pub const CURRENCIES: usize = 2;
/// The settlement model of batches; the other one is [`GROSS`].
pub const NET: usize = 0;
/// The settlement model of immediate transfers.
pub const GROSS: usize = 1;

/// The type of an account, with its model or batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Liquidity.
    L,
    /// Reserved for transfers.
    P,
    /// Cover.
    C,
    /// Settled funds of a settlement model.
    S(usize),
    /// Settled funds set aside, of a settlement model.
    Sr(usize),
    /// Owed in a batch. Batches have numbers from 1; 0 is the standing one of GROSS.
    B(usize),
}

/// A participant's account: owner, currency, kind.
pub type Account = (usize, usize, Kind);

/// Why something must be refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    Disabled,
    Closed,
    Liquidity,
    Cap,
    Settled,
    State,
    BelowUse,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Open,
    Fulfilled,
    Released,
}

/// When a transfer is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    InBatch,
    AtOnce,
    AtOnceHeld,
}

#[derive(Debug, Clone, Copy)]
pub struct Transfer {
    pub payer: usize,
    pub payee: usize,
    pub currency: usize,
    pub amount: i128,
    pub timing: Timing,
    pub state: State,
}

/// Debits and credits, as sums.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    pub debits: i128,
    pub credits: i128,
}

impl Sums {
    /// Credits minus debits.
    pub fn net(self) -> i128 {
        self.credits - self.debits
    }
}

#[derive(Debug, Clone, Default)]
pub struct Model {
    pub accounts: BTreeMap<Account, Sums>,
    /// R and G of each currency.
    pub hub: BTreeMap<usize, [Sums; 2]>,
    pub caps: BTreeMap<(usize, usize), i128>,
    pub disabled: BTreeSet<(usize, usize)>,
    pub closed: BTreeSet<Account>,
    /// Paid and received and not settled.
    pub unsettled: BTreeMap<(usize, usize), [i128; 2]>,
    /// Sum of open reservations.
    pub open: BTreeMap<(usize, usize), i128>,
    /// Of these, those whose settled funds are held.
    pub held: BTreeMap<(usize, usize), i128>,
    /// Paid with transfers that are fulfilled, settle in a batch and are recorded in none yet.
    pub unrecorded: BTreeMap<(usize, usize), i128>,
    /// Paid with transfers that were recorded on a settlement position.
    pub recorded: BTreeMap<Account, i128>,
    /// Batches whose transfers count as settled, with their currencies.
    pub counted: BTreeSet<(usize, usize)>,
    /// Settled funds that settlements have set aside, by owner, currency and model.
    pub aside: BTreeMap<(usize, usize, usize), i128>,
    /// Fulfilled and not recorded yet: received minus paid.
    pub transit: BTreeMap<(usize, usize), i128>,
}

impl Model {
    pub fn net(&self, account: Account) -> i128 {
        self.accounts.get(&account).map_or(0, |sums| sums.net())
    }

    fn post(&mut self, debit: Account, credit: Account, amount: i128) {
        self.accounts.entry(debit).or_default().debits += amount;
        self.accounts.entry(credit).or_default().credits += amount;
    }

    /// N: reserved, and paid minus received of what is not settled.
    pub fn net_position(&self, owner: usize, currency: usize) -> i128 {
        let [paid, received] = self
            .unsettled
            .get(&(owner, currency))
            .copied()
            .unwrap_or_default();
        self.net((owner, currency, Kind::P)) + paid - received
    }

    fn check_enabled(&self, owner: usize, currency: usize) -> Result<(), Refusal> {
        match self.disabled.contains(&(owner, currency)) {
            true => Err(Refusal::Disabled),
            false => Ok(()),
        }
    }

    pub fn prepare(&mut self, transfer: &Transfer) -> Result<(), Refusal> {
        let (payer, currency, amount) = (transfer.payer, transfer.currency, transfer.amount);
        self.check_enabled(payer, currency)?;
        if amount > self.net((payer, currency, Kind::L)) {
            return Err(Refusal::Liquidity);
        }
        let after = self.net_position(payer, currency) + amount;
        if self
            .caps
            .get(&(payer, currency))
            .is_some_and(|cap| after > *cap)
        {
            return Err(Refusal::Cap);
        }
        let (s, sr) = (
            (payer, currency, Kind::S(GROSS)),
            (payer, currency, Kind::Sr(GROSS)),
        );
        if transfer.timing == Timing::AtOnceHeld {
            if amount > self.net(s) {
                return Err(Refusal::Settled);
            }
            self.post(s, sr, amount);
            *self.held.entry((payer, currency)).or_default() += amount;
        }
        self.post(
            (payer, currency, Kind::L),
            (payer, currency, Kind::P),
            amount,
        );
        *self.open.entry((payer, currency)).or_default() += amount;
        Ok(())
    }

    pub fn fulfil(&mut self, transfer: &mut Transfer) -> Result<(), Refusal> {
        let Transfer {
            payer,
            payee,
            currency,
            amount,
            ..
        } = *transfer;
        match transfer.state {
            State::Fulfilled => return Ok(()),
            State::Released => return Err(Refusal::State),
            State::Open => transfer.state = State::Fulfilled,
        }
        self.post(
            (payer, currency, Kind::P),
            (payee, currency, Kind::L),
            amount,
        );
        *self.open.entry((payer, currency)).or_default() -= amount;
        if transfer.timing == Timing::AtOnceHeld {
            *self.held.entry((payer, currency)).or_default() -= amount;
        }
        if transfer.timing == Timing::InBatch {
            self.unsettled.entry((payer, currency)).or_default()[0] += amount;
            self.unsettled.entry((payee, currency)).or_default()[1] += amount;
            *self.unrecorded.entry((payer, currency)).or_default() += amount;
        }
        self.in_transit(transfer, 1);
        Ok(())
    }

    fn in_transit(&mut self, transfer: &Transfer, sign: i128) {
        let amount = sign * transfer.amount;
        *self
            .transit
            .entry((transfer.payer, transfer.currency))
            .or_default() -= amount;
        *self
            .transit
            .entry((transfer.payee, transfer.currency))
            .or_default() += amount;
    }

    pub fn release(&mut self, transfer: &mut Transfer) -> Result<(), Refusal> {
        let Transfer {
            payer,
            currency,
            amount,
            ..
        } = *transfer;
        match transfer.state {
            State::Released => return Ok(()),
            State::Fulfilled => return Err(Refusal::State),
            State::Open => transfer.state = State::Released,
        }
        self.post(
            (payer, currency, Kind::P),
            (payer, currency, Kind::L),
            amount,
        );
        if transfer.timing == Timing::AtOnceHeld {
            self.post(
                (payer, currency, Kind::Sr(GROSS)),
                (payer, currency, Kind::S(GROSS)),
                amount,
            );
            *self.held.entry((payer, currency)).or_default() -= amount;
        }
        *self.open.entry((payer, currency)).or_default() -= amount;
        Ok(())
    }

    /// What settled funds of a model have to be kept: for each batch of it that may be settled alone, for what is
    /// paid and not recorded, and for what is reserved; less what settlements have set aside.
    ///
    /// The account of a closed batch with equal sums does not show its state: its paid amount is kept until it
    /// counts as settled.
    fn kept_of(&self, of: usize, currency: usize, model: usize) -> i128 {
        let sum_of = |sums: &BTreeMap<(usize, usize), i128>| -> i128 {
            sums.get(&(of, currency)).copied().unwrap_or_default()
        };
        let mut kept = sum_of(&self.unrecorded) + sum_of(&self.open) - sum_of(&self.held);
        for (account, sums) in &self.accounts {
            let Kind::B(batch) = account.2 else { continue };
            if (account.0, account.1) != (of, currency) {
                continue;
            }
            if (model == NET) == (batch > 0) {
                kept += (-sums.net()).max(0);
            }
            let is_unsettled = !self.counted.contains(&(currency, batch));
            if is_unsettled && sums.net() == 0 && self.closed.contains(account) {
                kept += self.recorded.get(account).copied().unwrap_or_default();
            }
        }
        let aside = self.aside.get(&(of, currency, model));
        (kept - aside.copied().unwrap_or_default()).max(0)
    }

    /// A deposit, or with a negative amount a withdrawal.
    pub fn funds(
        &mut self,
        owner: usize,
        currency: usize,
        model: usize,
        amount: i128,
    ) -> Result<(), Refusal> {
        self.check_enabled(owner, currency)?;
        let (l, s) = (
            (owner, currency, Kind::L),
            (owner, currency, Kind::S(model)),
        );
        if -amount > self.net(l) {
            return Err(Refusal::Liquidity);
        }
        if -amount > self.net(s) - self.kept_of(owner, currency, model) && amount < 0 {
            return Err(Refusal::Settled);
        }
        for account in [l, s] {
            let sums = self.accounts.entry(account).or_default();
            if amount >= 0 {
                sums.credits += amount;
            } else {
                sums.debits -= amount;
            }
        }
        for sums in self.hub.entry(currency).or_default() {
            if amount >= 0 {
                sums.debits += amount;
            } else {
                sums.credits -= amount;
            }
        }
        Ok(())
    }

    /// Settled funds move from a model to the other one.
    pub fn move_funds(
        &mut self,
        owner: usize,
        currency: usize,
        model: usize,
        amount: i128,
    ) -> Result<(), Refusal> {
        self.check_enabled(owner, currency)?;
        let of = |model| (owner, currency, Kind::S(model));
        if amount > 0 && amount > self.net(of(model)) - self.kept_of(owner, currency, model) {
            return Err(Refusal::Settled);
        }
        self.post(of(model), of(1 - model), amount);
        Ok(())
    }

    pub fn cover(&mut self, owner: usize, currency: usize, total: i128) -> Result<(), Refusal> {
        self.check_enabled(owner, currency)?;
        let (l, c) = ((owner, currency, Kind::L), (owner, currency, Kind::C));
        let more = total - self.net(c);
        if more > self.net(l) {
            return Err(Refusal::Liquidity);
        }
        if more > 0 {
            self.post(l, c, more);
        } else {
            self.post(c, l, -more);
        }
        Ok(())
    }

    pub fn limit(
        &mut self,
        owner: usize,
        currency: usize,
        cap: Option<i128>,
    ) -> Result<(), Refusal> {
        if cap.is_some_and(|cap| cap < self.net_position(owner, currency)) {
            return Err(Refusal::BelowUse);
        }
        match cap {
            Some(cap) => self.caps.insert((owner, currency), cap),
            None => self.caps.remove(&(owner, currency)),
        };
        Ok(())
    }

    /// Posts a list of settlement, completely or not at all.
    pub fn settle(
        &mut self,
        list: &[(Account, Account, i128)],
        is_record: bool,
    ) -> Result<(), Refusal> {
        for (done, line) in list.iter().enumerate() {
            if let Err(refusal) = self.settle_line(line, is_record) {
                for (debit, credit, amount) in &list[..done] {
                    self.accounts.entry(*debit).or_default().debits -= amount;
                    self.accounts.entry(*credit).or_default().credits -= amount;
                }
                return Err(refusal);
            }
        }
        for (debit, credit, amount) in list {
            match (debit.2, credit.2) {
                (Kind::S(model), Kind::Sr(_)) => {
                    *self.aside.entry((debit.0, debit.1, model)).or_default() += amount;
                }
                (Kind::Sr(model), Kind::S(_)) => {
                    *self.aside.entry((debit.0, debit.1, model)).or_default() -= amount;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn settle_line(
        &mut self,
        (debit, credit, amount): &(Account, Account, i128),
        is_record: bool,
    ) -> Result<(), Refusal> {
        let closed = [debit, credit]
            .into_iter()
            .any(|account| self.closed.contains(account));
        if is_record && closed {
            return Err(Refusal::Closed);
        }
        if !matches!(debit.2, Kind::B(_)) && *amount > self.net(*debit) {
            return Err(Refusal::Settled);
        }
        self.post(*debit, *credit, *amount);
        Ok(())
    }

    /// Forget the accounts of a batch that is settled.
    pub fn retire(&mut self, currency: usize, batch: usize) {
        self.counted.remove(&(currency, batch));
        for owner in 0..OWNERS {
            let account = (owner, currency, Kind::B(batch));
            let left = self.accounts.remove(&account).unwrap_or_default();
            assert_eq!(left.net(), 0, "a settled batch is at zero: {account:?}");
            self.closed.remove(&account);
            self.recorded.remove(&account);
        }
    }

    /// A transfer is recorded: in a batch, or settled at once.
    pub fn record(
        &mut self,
        transfer: &Transfer,
        list: &[(Account, Account, i128)],
    ) -> Result<(), Refusal> {
        self.settle(list, transfer.timing == Timing::InBatch)?;
        if transfer.timing == Timing::InBatch {
            for (debit, _, amount) in list {
                *self.recorded.entry(*debit).or_default() += amount;
            }
            let payer = (transfer.payer, transfer.currency);
            *self.unrecorded.entry(payer).or_default() -= transfer.amount;
        }
        self.in_transit(transfer, -1);
        Ok(())
    }
}

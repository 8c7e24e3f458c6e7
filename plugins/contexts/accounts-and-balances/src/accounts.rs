//! A ledger account: its document, and posting to it.

pub use crate::account_types::{AccountState, AccountType, account_id};
use crate::bindings::rialto::accounts_and_balances::types::{
    AccountPosition, AccountStatus, LedgerError,
};
use crate::history::{Page, Tail};
use rialto_sdk::bindings::rialto::common::types::Money;
use rialto_sdk::money::{minor_units, money, units_text};
use serde::{Deserialize, Serialize};

/// An amount in minor units, as decimal text in documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Units(#[serde(with = "units_text")] pub u128);

impl Units {
    /// The amount of this money, without its currency.
    #[must_use]
    pub fn of(money: &Money) -> Self {
        Self(minor_units(money))
    }
}

/// A document of the collection `accounts`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Account {
    /// See [`account_id`].
    pub id: String,
    /// Its owner: a participant, or the hub.
    pub participant: String,
    /// Its type.
    pub account_type: AccountType,
    /// ISO 4217.
    pub currency: String,
    /// Decimal places of the currency in this scheme.
    pub scale: u8,
    /// Whether it takes new entries.
    pub state: AccountState,
    /// Sum of all debits, ever.
    pub debit_balance: Units,
    /// Sum of all credits, ever.
    pub credit_balance: Units,
    /// How far debits may exceed credits.
    pub debit_limit: Units,
    /// For a liquidity account: the highest net debit position. None: only the liquidity bounds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub net_debit_cap: Option<Units>,
    /// For a liquidity account: operators are warned below this available amount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub liquidity_threshold: Option<Units>,
    /// Sum of fulfilled transfers that wait for settlement: paid ones on a position account, received ones on a
    /// liquidity account. The fulfilment posts to these accounts anyway, so a transfer touches no third
    /// account.
    pub unsettled: Units,
    /// For an account of settlement: its model, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settlement_model: Option<String>,
    /// For a settlement position: its batch or settlement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<String>,
    /// For a participant's first settlement account: the ids of the participant's settlement positions that may
    /// have a balance. Positions that an earlier release opened are missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub positions: Vec<String>,
    /// For a settlement position: the deferred transfers recorded on it. None if an earlier release recorded
    /// all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Recorded>,
    /// For a position account: the part reserved for transfers whose settled funds are held. For settled funds
    /// set aside: the part that settlements have set aside for obligations of their batches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<Apart>,
    /// Its latest entries.
    #[serde(default, skip_serializing_if = "Tail::is_empty")]
    pub tail: Tail,
    /// The sums of archived entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<Archived>,
    /// UTC, milliseconds since 1970.
    pub created_at: u64,
    /// Pages that postings have filled and that are not written yet, with their numbers.
    #[serde(skip)]
    pub full_pages: Vec<(u64, Page)>,
}

/// Amounts paid and received with transfers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Recorded {
    /// Paid.
    pub debits: Units,
    /// Received.
    pub credits: Units,
}

/// A part of an account's balance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Apart {
    /// In minor units.
    pub amount: Units,
    /// The number of entries of the account at that time. If it differs, an earlier release has posted since,
    /// and the part is not known.
    pub entries: u64,
}

/// An opening balance: the sums of an account's archived entries. The account's own sums include them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Archived {
    /// The number of archived entries.
    pub entries: u64,
    /// The number of archived pages.
    pub pages: u64,
    /// Their debits.
    pub debits: Units,
    /// Their credits.
    pub credits: Units,
    /// The amounts of their transfers that were not settled.
    pub unsettled: Units,
    /// The latest instant of them: UTC, milliseconds since 1970.
    pub until: u64,
    /// The newest archive.
    pub file: String,
    /// Its SHA-256.
    pub sha256: String,
}

impl Account {
    /// A new account without balance.
    #[must_use]
    pub fn new(
        participant: &str,
        account_type: AccountType,
        currency: &str,
        scale: u8,
        created_at: u64,
    ) -> Self {
        Self {
            id: account_id(participant, currency, account_type),
            participant: participant.to_owned(),
            account_type,
            currency: currency.to_owned(),
            scale,
            state: AccountState::Enabled,
            debit_balance: Units(0),
            credit_balance: Units(0),
            debit_limit: Units(0),
            net_debit_cap: None,
            liquidity_threshold: None,
            unsettled: Units(0),
            settlement_model: None,
            batch: None,
            positions: Vec::new(),
            recorded: None,
            apart: None,
            tail: Tail::default(),
            archived: None,
            created_at,
            full_pages: Vec::new(),
        }
    }

    /// The balance on its normal side.
    #[must_use]
    pub fn balance(&self) -> u128 {
        let (debit, credit) = (self.debit_balance.0, self.credit_balance.0);
        if self.account_type.is_debit_normal() {
            debit.saturating_sub(credit)
        } else {
            credit.saturating_sub(debit)
        }
    }

    /// The amount that can still be debited: credits minus debits plus the debit limit.
    #[must_use]
    pub fn available(&self) -> u128 {
        self.credit_balance
            .0
            .saturating_add(self.debit_limit.0)
            .saturating_sub(self.debit_balance.0)
    }

    /// The account for callers.
    #[must_use]
    pub fn position(&self) -> AccountPosition {
        let money = |units| money(&self.currency, self.scale, units);
        AccountPosition {
            account_id: self.id.clone(),
            debit_balance: money(self.debit_balance.0),
            credit_balance: money(self.credit_balance.0),
            available: money(self.available()),
            threshold: self.liquidity_threshold.map(|threshold| money(threshold.0)),
        }
    }

    /// The account with its terms, for callers.
    #[must_use]
    pub fn status(&self) -> AccountStatus {
        let money = |units: Units| money(&self.currency, self.scale, units.0);
        AccountStatus {
            position: self.position(),
            owner: self.participant.clone(),
            account_type: self.account_type.into(),
            state: self.state.into(),
            net_debit_cap: self.net_debit_cap.map(money),
            settlement_model: self.settlement_model.clone(),
            batch: self.batch.clone(),
            unsettled: money(self.unsettled),
        }
    }

    /// The recorded part of the balance; zero if it is not known.
    #[must_use]
    pub fn apart(&self) -> u128 {
        let known = self.apart.filter(|of| of.entries == self.tail.count);
        known.map_or(0, |of| of.amount.0)
    }

    /// Records the part of the balance, after entries are posted.
    pub fn set_apart(&mut self, amount: u128) {
        self.apart = (amount > 0).then_some(Apart {
            amount: Units(amount),
            entries: self.tail.count,
        });
    }

    /// Counts a transfer before it is recorded. All earlier entries are of transfers too, since a settlement
    /// posts to closed positions only.
    pub fn note_recorded(&mut self, debits: Units, credits: Units) {
        let before = Recorded {
            debits: self.debit_balance,
            credits: self.credit_balance,
        };
        let of = self.recorded.get_or_insert(before);
        of.debits.0 = of.debits.0.saturating_add(debits.0);
        of.credits.0 = of.credits.0.saturating_add(credits.0);
    }

    /// Checks that this money can be posted.
    ///
    /// # Errors
    /// When the currency or its scale differs.
    pub fn holds(&self, money: &Money) -> Result<(), LedgerError> {
        if self.currency == money.currency && self.scale == money.scale {
            Ok(())
        } else {
            Err(LedgerError::CurrencyMismatch)
        }
    }

    /// Checks that the account takes new reservations and funds.
    ///
    /// # Errors
    /// When it is disabled or closed.
    pub fn takes_entries(&self) -> Result<(), LedgerError> {
        match self.state {
            AccountState::Enabled => Ok(()),
            AccountState::Disabled => Err(LedgerError::AccountDisabled(self.id.clone())),
            AccountState::Closed => Err(LedgerError::AccountClosed(self.id.clone())),
        }
    }

    /// Debits the account by an entry, posted at an instant.
    ///
    /// # Errors
    /// When debits would exceed credits by more than the limit, or 128 bits.
    pub fn debit(&mut self, amount: Units, entry: &str, now: u64) -> Result<(), LedgerError> {
        let within = |debits: &u128| {
            self.account_type.is_debit_normal()
                || self.account_type.is_boundless()
                || *debits <= self.credit_balance.0.saturating_add(self.debit_limit.0)
        };
        let debits = self.debit_balance.0.checked_add(amount.0).filter(within);
        let debits = debits.ok_or_else(|| self.exceeded())?;
        self.note(entry, now);
        self.debit_balance = Units(debits);
        Ok(())
    }

    /// Credits the account by an entry, posted at an instant.
    ///
    /// # Errors
    /// When credits of the hub's account would exceed its debits, or 128 bits.
    pub fn credit(&mut self, amount: Units, entry: &str, now: u64) -> Result<(), LedgerError> {
        let within = |credits: &u128| {
            !self.account_type.is_debit_normal() || *credits <= self.debit_balance.0
        };
        let credits = self.credit_balance.0.checked_add(amount.0).filter(within);
        let credits = credits.ok_or_else(|| self.exceeded())?;
        self.note(entry, now);
        self.credit_balance = Units(credits);
        Ok(())
    }

    /// Adds an entry to the account's history, before the sums change.
    fn note(&mut self, entry: &str, now: u64) {
        let page = self
            .tail
            .note(entry, now, self.debit_balance, self.credit_balance);
        self.full_pages.extend(page);
    }

    /// Adds a fulfilled transfer that waits for settlement.
    ///
    /// # Errors
    /// When the sum exceeds 128 bits.
    pub fn add_unsettled(&mut self, amount: Units) -> Result<(), LedgerError> {
        let sum = self.unsettled.0.checked_add(amount.0);
        self.unsettled = Units(sum.ok_or_else(|| self.exceeded())?);
        Ok(())
    }

    /// Removes settled transfers.
    ///
    /// # Errors
    /// If less waits for settlement.
    pub fn take_unsettled(&mut self, amount: Units) -> Result<(), LedgerError> {
        let rest = self.unsettled.0.checked_sub(amount.0);
        let too_many = || {
            let (id, waits) = (&self.id, self.unsettled.0);
            LedgerError::Malformed(format!(
                "{} minor units cannot be settled on {id}: {waits} wait for settlement",
                amount.0
            ))
        };
        self.unsettled = Units(rest.ok_or_else(too_many)?);
        Ok(())
    }

    fn exceeded(&self) -> LedgerError {
        LedgerError::ExceedsLimits(self.position())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_document_reads_as_an_operator_expects() {
        let mut account = Account::new("payerfsp", AccountType::Liquidity, "USD", 2, 7);
        account.credit(Units(100_000), "d:liquidity", 8).unwrap();
        account.net_debit_cap = Some(Units(50_000));
        assert_eq!(
            serde_json::to_string(&account).unwrap(),
            concat!(
                r#"{"id":"payerfsp:USD:LIQUIDITY","participant":"payerfsp","accountType":"LIQUIDITY","#,
                r#""currency":"USD","scale":2,"state":"ENABLED","debitBalance":"0","creditBalance":"100000","#,
                r#""debitLimit":"0","netDebitCap":"50000","unsettled":"0","#,
                r#""tail":{"count":1,"entries":"d:liquidity","debitBefore":"0","creditBefore":"0","#,
                r#""earliest":8,"latest":8},"createdAt":7}"#
            )
        );
    }

    #[test]
    fn a_debit_stops_exactly_at_the_limit() {
        let mut account = Account::new("a", AccountType::Liquidity, "USD", 2, 0);
        account.credit(Units(10), "e", 0).unwrap();
        account.debit_limit = Units(5);
        account.debit(Units(15), "e", 0).unwrap();
        let refused = account.debit(Units(1), "e", 0);
        assert_eq!(refused, Err(LedgerError::ExceedsLimits(account.position())));
        assert_eq!(account.available(), 0);
    }

    #[test]
    fn sums_beyond_128_bits_are_refused_and_change_nothing() {
        let mut account = Account::new("a", AccountType::Settlement, "USD", 2, 0);
        account.credit(Units(u128::MAX), "e", 0).unwrap();
        let before = account.clone();
        assert!(account.credit(Units(1), "e", 0).is_err());
        assert_eq!(account, before);
    }

    #[test]
    fn the_hub_grants_no_less_than_nothing() {
        let mut hub = Account::new("Hub", AccountType::HubLiquidityControl, "USD", 2, 0);
        hub.debit(Units(10), "e", 0).unwrap();
        assert!(hub.credit(Units(11), "e", 0).is_err());
        hub.credit(Units(10), "e", 0).unwrap();
        assert_eq!(hub.balance(), 0);
    }
}

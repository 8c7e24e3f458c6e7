//! The types of the ledger's documents. Members that are not listed here are not read.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::amounts::Units;

/// The purpose of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AccountType {
    /// Funds that a participant may spend.
    Liquidity,
    /// Funds reserved for open transfers.
    Position,
    /// Funds that are set aside.
    LiquidityCover,
    /// The hub's contra account of the liquidity book.
    HubLiquidityControl,
    /// Settled funds.
    Settlement,
    /// Settled funds that are set aside.
    SettlementReserved,
    /// Amounts owed or due in a batch.
    SettlementPosition,
    /// The hub's contra account of the settlement book.
    HubReconciliation,
}

/// A book. Each entry is within one book.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Book {
    /// The book that each transfer changes.
    Liquidity,
    /// The book that funds in and out and settlements change.
    Settlement,
}

impl AccountType {
    /// Its name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Liquidity => "LIQUIDITY",
            Self::Position => "POSITION",
            Self::LiquidityCover => "LIQUIDITY_COVER",
            Self::HubLiquidityControl => "HUB_LIQUIDITY_CONTROL",
            Self::Settlement => "SETTLEMENT",
            Self::SettlementReserved => "SETTLEMENT_RESERVED",
            Self::SettlementPosition => "SETTLEMENT_POSITION",
            Self::HubReconciliation => "HUB_RECONCILIATION",
        }
    }

    /// The book that it belongs to.
    pub const fn book(self) -> Book {
        match self {
            Self::Liquidity | Self::Position | Self::LiquidityCover | Self::HubLiquidityControl => {
                Book::Liquidity
            }
            _ => Book::Settlement,
        }
    }

    /// Whether the account belongs to the hub, which normally has more debits than credits.
    pub const fn is_of_hub(self) -> bool {
        matches!(self, Self::HubLiquidityControl | Self::HubReconciliation)
    }
}

impl Book {
    /// Its name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Liquidity => "liquidity",
            Self::Settlement => "settlement",
        }
    }
}

/// A document of `accounts`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// Its id.
    pub id: String,
    /// Who owns it.
    pub participant: String,
    /// What it is for.
    pub account_type: AccountType,
    /// ISO 4217.
    pub currency: String,
    /// Decimal places.
    pub scale: u8,
    /// Whether it takes new entries.
    pub state: String,
    /// All debits, ever.
    pub debit_balance: Units,
    /// All credits, ever.
    pub credit_balance: Units,
    /// How far debits may exceed credits.
    pub debit_limit: Units,
    /// The highest net debit position.
    pub net_debit_cap: Option<Units>,
    /// The liquidity below which a warning is published.
    pub liquidity_threshold: Option<Units>,
    /// The amount that waits for settlement.
    pub unsettled: Units,
    /// Its settlement model.
    pub settlement_model: Option<String>,
    /// Its batch.
    pub batch: Option<String>,
    /// Its latest entries.
    #[serde(default)]
    pub tail: Tail,
    /// Its opening balance; none if no entry is archived.
    pub archived: Option<Archived>,
    /// Milliseconds since 1970.
    pub created_at: u64,
}

impl Account {
    /// Credits minus debits.
    pub fn net(&self) -> i128 {
        self.credit_balance.0 - self.debit_balance.0
    }
}

/// The opening balance of an account, part of its document: the sums of its archived entries. The
/// account's own sums include them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Archived {
    /// How many entries of the account.
    pub entries: u64,
    /// How many of its pages have only archived entries.
    pub pages: u64,
    /// The sum of the entries that debit the account.
    pub debits: Units,
    /// The sum of the entries that credit the account.
    pub credits: Units,
    /// The sum that archived transfers have added to the unsettled amount.
    pub unsettled: Units,
    /// When the latest of the entries was posted: milliseconds since 1970.
    pub until: u64,
    /// The newest archive.
    pub file: String,
    /// The newest archive's digest: SHA-256, hexadecimal.
    pub sha256: String,
}

impl Archived {
    /// Credits minus debits.
    pub fn net(&self) -> i128 {
        self.credits.0 - self.debits.0
    }
}

/// An account's latest entries, part of its document.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tail {
    pub(crate) count: u64,
    #[serde(flatten)]
    pub(crate) page: Page,
}

/// A document of `entry-pages`: entries of one account, the oldest first. It lists archived entries too.
/// Once all are archived, the page is removed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Page {
    pub entries: String,
    pub debit_before: Units,
    pub credit_before: Units,
    pub earliest: u64,
    pub latest: u64,
}

impl Page {
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.entries.split(' ').filter(|id| !id.is_empty())
    }
}

/// Entries of a full page.
pub(crate) const PAGE: u64 = 16;

/// The id of an account's page.
pub(crate) fn page_id(account: &str, number: u64) -> String {
    format!("{account}/{number:010}")
}

/// A document of `entries`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// The cause and the step.
    pub id: String,
    /// Who is debited.
    pub debit_account: String,
    /// Who is credited.
    pub credit_account: String,
    /// How much.
    pub amount: Units,
    /// ISO 4217.
    pub currency: String,
    /// Decimal places.
    pub scale: u8,
    /// The reason for it.
    pub entry_type: String,
    /// The cause: a transfer, an instruction, a settlement.
    pub correlation_id: String,
    /// Milliseconds since 1970.
    pub posted_at: u64,
}

impl Entry {
    /// The part of the id behind the cause; none when the id does not begin with it.
    pub fn step(&self) -> Option<&str> {
        let step = self.id.strip_prefix(&self.correlation_id)?;
        step.strip_prefix(':')
    }
}

/// The state of a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReservationState {
    /// The funds are reserved.
    Open,
    /// The payee has them.
    Fulfilled,
    /// The payer has them back.
    Released,
    /// It is in an archive, with its entries.
    Archived,
}

/// A document of `reservations`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reservation {
    /// The transfer.
    pub transfer_id: String,
    /// Who pays.
    pub payer: String,
    /// How much.
    pub amount: Units,
    /// ISO 4217.
    pub currency: String,
    /// Decimal places.
    pub scale: u8,
    /// Where the funds are.
    pub accounts: ReservationAccounts,
    /// None for a reservation that is settled in a batch.
    pub settlement: Option<Value>,
    /// Its state.
    pub state: ReservationState,
    /// Milliseconds since 1970.
    pub opened_at: u64,
    /// When it was fulfilled or released: milliseconds since 1970.
    pub closed_at: Option<u64>,
}

impl Reservation {
    /// Whether it waits for a settlement in a batch after it is fulfilled.
    pub fn is_deferred(&self) -> bool {
        self.settlement.is_none() || self.settlement == Some(Value::from("DEFERRED"))
    }
}

/// The accounts of a reservation.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReservationAccounts {
    /// The account that the funds came from.
    pub payer_liquidity: String,
    /// The account that holds them while they are reserved.
    pub payer_position: String,
    /// The account that received them.
    pub payee_liquidity: Option<String>,
}

/// A document of `unsettled-changes`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UnsettledChange {
    pub accounts: Vec<UnsettledOfAccount>,
}

/// The change of one account.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UnsettledOfAccount {
    pub account: String,
    pub amount: Units,
    pub settled: bool,
}

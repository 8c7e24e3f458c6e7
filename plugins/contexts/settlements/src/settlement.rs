//! A settlement of batches: its document, its matrix, and its phases.
//!
//! | Phase | What is done | Event that ends it | Next phase |
//! |---|---|---|---|
//! | CALCULATING | closes the accounts of the batches, makes the rows of the matrix | all members are read | HOLDING |
//! | HOLDING | sets aside settled funds of net payers | all have enough | PENDING; CONSOLIDATING if the model settles by itself |
//! | | | a net payer has too little | RELEASING |
//! | RELEASING | gives back what was set aside | all rows are done | REFUSED |
//! | PENDING | waits | an operator completes it | CONSOLIDATING |
//! | | | an operator aborts it | ABORTING |
//! | CONSOLIDATING | turns obligations of several batches into those of the settlement | all batches are done | SETTLING |
//! | SETTLING | net payers pay net payees | all currencies are done | CLOSING |
//! | CLOSING | counts its transfers as settled | all rows are done | COMPLETED |
//! | ABORTING | gives back what was set aside | all rows are done | ABORTED |
//! | COMPLETED | waits, if it was completed by itself | an operator aborts it | UNDO_HOLDING |
//! | UNDO_HOLDING | sets aside settled funds of net payees | all have enough | UNDOING |
//! | | | a net payee has too little | UNDO_RELEASING |
//! | UNDO_RELEASING | gives back what was set aside | all rows are done | COMPLETED |
//! | UNDOING | posts every entry in reverse | all lists are reversed | REOPENING |
//! | REOPENING | counts its transfers as not settled | all rows are done | ABORTED |
//!
//! REFUSED and ABORTED are final. COMPLETED is final for a settlement that an operator completed.
//!
//! A settlement that has more to do publishes `settlement-step-due`, to this context alone. No event tells
//! participants: operators read the settlement.

use crate::bindings::rialto::accounts_and_balances::insert_journal_entries::{
    JournalEntry, SettlementEntryType,
};
use crate::units::{Net, Units};
use rialto_sdk::documents::Collection;
use rialto_sdk::money::money;
use serde::{Deserialize, Serialize};

/// Settlements by their ids.
pub const SETTLEMENTS: Collection<Settlement> = Collection::new("settlements");
/// Rows of matrices: `<settlement>/<currency>/<participant>`.
pub const ROWS: Collection<Row> = Collection::new("matrix-rows");
/// Posted lists: `<settlement>/<number>`.
pub const POSTED: Collection<Posted> = Collection::new("settlement-postings");

/// The phase of a settlement. See the module's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[allow(missing_docs, reason = "the module's table says what is done in each")]
pub enum Phase {
    Calculating,
    Holding,
    Releasing,
    Refused,
    Pending,
    Consolidating,
    Settling,
    Closing,
    Completed,
    Aborting,
    Aborted,
    UndoHolding,
    UndoReleasing,
    Undoing,
    Reopening,
}

impl Phase {
    /// Whether the settlement continues by itself.
    #[must_use]
    pub const fn is_working(self) -> bool {
        !matches!(
            self,
            Self::Refused | Self::Pending | Self::Completed | Self::Aborted
        )
    }

    /// Whether `next` may follow. See the module's table.
    #[must_use]
    pub const fn may_become(self, next: Self) -> bool {
        matches!(
            (self, next),
            (Self::Calculating, Self::Holding)
                | (
                    Self::Holding,
                    Self::Pending | Self::Consolidating | Self::Releasing
                )
                | (Self::Releasing, Self::Refused)
                | (Self::Pending, Self::Consolidating | Self::Aborting)
                | (Self::Consolidating, Self::Settling)
                | (Self::Settling, Self::Closing)
                | (Self::Closing, Self::Completed)
                | (Self::Completed, Self::UndoHolding)
                | (Self::Aborting, Self::Aborted)
                | (Self::UndoHolding, Self::Undoing | Self::UndoReleasing)
                | (Self::UndoReleasing, Self::Completed)
                | (Self::Undoing, Self::Reopening)
                | (Self::Reopening, Self::Aborted)
        )
    }
}

/// The progress of a phase.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Cursor {
    /// The index of the current part or batch.
    pub part: usize,
    /// The last document that was read; in a phase with two sides, the last payer.
    pub after: String,
    /// In a phase with two sides, the last payee.
    pub payees_after: String,
    /// While a batch is calculated: the sum that its members so far have paid.
    #[serde(default)]
    pub paid: Units,
    /// The sum that they have received.
    #[serde(default)]
    pub received: Units,
}

/// The part of a settlement in one currency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Part {
    /// ISO 4217.
    pub currency: String,
    /// Decimal places of the currency in this scheme.
    pub scale: u8,
    /// Its batches.
    pub batches: Vec<String>,
}

impl Part {
    /// Whether its obligations have to be consolidated first.
    #[must_use]
    pub fn is_of_several(&self) -> bool {
        self.batches.len() > 1
    }
}

/// An action of an operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Act {
    /// The operator's name.
    pub by: String,
    /// UTC, milliseconds since 1970.
    pub at: u64,
    /// The operator's reason.
    pub reason: String,
}

/// A participant with too little funds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Short {
    /// The participant.
    pub participant: String,
    /// ISO 4217.
    pub currency: String,
    /// Decimal places of the currency in this scheme.
    pub scale: u8,
    /// The amount that it has to pay.
    pub needs: Units,
    /// The settled funds that it has.
    pub has: Units,
}

/// A document of the collection `settlements`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Settlement {
    /// A UUID.
    pub id: String,
    /// The settlement model of all its batches.
    pub model: String,
    /// Whether it completes without an operator.
    pub automatic: bool,
    /// The parts by currency, in the order of their codes.
    pub parts: Vec<Part>,
    /// Where it is.
    pub state: Phase,
    /// The number of steps done: a step with a lower number is not repeated.
    pub step: u64,
    /// How far the phase has come.
    pub cursor: Cursor,
    /// The number of posted lists, which an undoing reverses.
    pub posted: u64,
    /// Participants with too little funds, at most a hundred.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub short: Vec<Short>,
    /// Their number.
    pub short_count: u64,
    /// Who asked for it.
    pub created: Act,
    /// When it was completed, and by whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed: Option<Act>,
    /// Who aborted it, or is aborting it. None again after an undoing that failed for lack of funds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aborted: Option<Act>,
    /// Incremented with each change.
    pub version: u64,
}

impl Settlement {
    /// Enters another phase, at its beginning.
    ///
    /// # Panics
    /// If the phase may not follow: a bug of this component; operators cannot cause it.
    pub fn enter(&mut self, state: Phase) {
        assert!(
            self.state.may_become(state),
            "settlement {} cannot go from {:?} to {state:?}",
            self.id,
            self.state
        );
        self.state = state;
        self.cursor = Cursor::default();
    }

    /// All its batches.
    pub fn batches(&self) -> impl Iterator<Item = &String> {
        self.parts.iter().flat_map(|part| &part.batches)
    }

    /// Adds a participant with too little funds.
    ///
    /// # Panics
    /// If the participant has enough.
    pub fn is_short(&mut self, short: Short) {
        assert!(
            short.has < short.needs,
            "{} needs {:?}, has {:?} and is said to be short",
            short.participant,
            short.needs,
            short.has
        );
        self.short_count += 1;
        if self.short.len() < 100 {
            self.short.push(short);
        }
        assert!(
            self.short.len() as u64 <= self.short_count,
            "{} are named of {} who are short",
            self.short.len(),
            self.short_count
        );
    }
}

/// A document of the collection `matrix-rows`: the amounts of one participant in a settlement and currency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Row {
    /// The participant.
    pub participant: String,
    /// ISO 4217.
    pub currency: String,
    /// Decimal places of the currency in this scheme.
    pub scale: u8,
    /// The account of its obligation: the batch's, or the settlement's.
    pub account: String,
    /// The amount that it paid with transfers of the batches.
    pub debits: Units,
    /// The amount that it received.
    pub credits: Units,
    /// Settled funds that are set aside.
    pub held: Units,
    /// Whether its transfers are settled.
    pub settled: bool,
}

impl Row {
    /// The difference between paid and received amounts.
    #[must_use]
    pub fn net(&self) -> Net {
        Net::of(self.debits, self.credits)
    }
}

/// The id of a row.
#[must_use]
pub fn row_id(settlement: &str, currency: &str, participant: &str) -> String {
    format!("{settlement}/{currency}/{participant}")
}

/// A document of the collection `settlement-postings`: a posted list, for an undoing to reverse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Posted {
    /// In the order in which they were posted.
    pub lines: Vec<Line>,
}

/// The type of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "as the ledger's contract names them")]
pub enum LineType {
    Hold,
    HoldRelease,
    Consolidate,
    Pay,
    Receive,
    Reversal,
}

/// An entry to post.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Line {
    /// What it is.
    pub of: LineType,
    /// The account that is debited.
    pub debit: String,
    /// The account that is credited.
    pub credit: String,
    /// In minor units.
    pub amount: Units,
    /// ISO 4217.
    pub currency: String,
    /// Decimal places of the currency in this scheme.
    pub scale: u8,
    /// For an amount that a net payee receives: the account where an undoing sets it aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<String>,
}

impl Line {
    /// The entry for the ledger.
    ///
    /// # Panics
    /// If its amount is zero.
    #[must_use]
    pub fn entry(&self) -> JournalEntry {
        assert!(
            self.amount > Units(0),
            "{:?} from {} to {} is of nothing",
            self.of,
            self.debit,
            self.credit
        );
        assert!(
            self.debit != self.credit,
            "{:?} of {:?} debits and credits {}",
            self.of,
            self.amount,
            self.debit
        );
        JournalEntry {
            entry_type: match self.of {
                LineType::Hold => SettlementEntryType::Hold,
                LineType::HoldRelease => SettlementEntryType::HoldRelease,
                LineType::Consolidate => SettlementEntryType::Consolidate,
                LineType::Pay => SettlementEntryType::Pay,
                LineType::Receive => SettlementEntryType::Receive,
                LineType::Reversal => SettlementEntryType::Reversal,
            },
            debit_account: self.debit.clone(),
            credit_account: self.credit.clone(),
            amount: money(&self.currency, self.scale, self.amount.0),
        }
    }
}

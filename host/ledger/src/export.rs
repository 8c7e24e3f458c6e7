//! Exports the ledger for other programs, as comma-separated values (RFC 4180) or one JSON object on each line. Each
//! amount is both decimal text and in minor units.
//!
//! Archived entries and reservations are not exported. Instead, accounts have an opening balance in their last columns.
//! An account's debits and credits are the opening ones plus those of the entries. The column `entries` counts all
//! entries that the account ever had.

use std::io::Write;

use rialto_engine::CollectionId;
use rialto_store::Order;
use serde_json::{Map, Value};

use crate::documents::{Account, Entry, Reservation};
use crate::entries::journal_entry_id;
use crate::source::{ACCOUNTS, ENTRIES, RESERVATIONS};
use crate::{Ledger, LedgerError, Units, decimal, read};

/// The kind of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportKind {
    /// Accounts with their balances and terms, and their opening balances if something is in archives; in
    /// the order of their ids.
    Accounts,
    /// All entries that are not in archives, roughly in the order in which they were posted.
    Entries,
    /// Reservations of transfers that are not in archives, roughly in the order in which they were made.
    Reservations,
}

/// The form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values with a header.
    Csv,
    /// An object a line.
    Json,
}

/// A row's members, in order.
type Row = Vec<(&'static str, Value)>;

impl Ledger {
    /// Writes all rows.
    ///
    /// # Errors
    /// When a document cannot be read, or nobody takes what is written.
    pub fn export(
        &mut self,
        what: ExportKind,
        format: Format,
        out: &mut dyn Write,
    ) -> Result<(), LedgerError> {
        let mut out = Writer {
            out,
            format,
            headed: false,
        };
        out.head(&columns(what))?;
        match what {
            ExportKind::Accounts => {
                let wanted = Some(self.collections.accounts);
                self.rows(wanted, Order::ById, &mut |found| {
                    out.row(&account(&read(ACCOUNTS, &found)?))
                })
            }
            ExportKind::Entries => {
                self.rows(self.collections.entries, Order::AsStored, &mut |found| {
                    out.row(&entry(&read(ENTRIES, &found)?))
                })
            }
            ExportKind::Reservations => {
                let wanted = self.collections.reservations;
                self.rows(wanted, Order::AsStored, &mut |found| {
                    out.row(&reservation(&read(RESERVATIONS, &found)?))
                })
            }
        }
    }

    fn rows(
        &mut self,
        collection: Option<CollectionId>,
        order: Order,
        row: &mut dyn FnMut(rialto_engine::store::StoredDocument) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        let wanted: Vec<_> = collection.into_iter().collect();
        self.snapshot
            .visit(&wanted, order, &mut |_, found| row(found))
    }
}

struct Writer<'a> {
    out: &'a mut dyn Write,
    format: Format,
    headed: bool,
}

impl Writer<'_> {
    fn head(&mut self, columns: &[&str]) -> Result<(), LedgerError> {
        if self.format == Format::Csv && !self.headed {
            self.headed = true;
            write!(self.out, "{}\r\n", columns.join(","))?;
        }
        Ok(())
    }

    fn row(&mut self, row: &Row) -> Result<(), LedgerError> {
        match self.format {
            Format::Csv => {
                let fields: Vec<_> = row.iter().map(|(_, value)| field(value)).collect();
                write!(self.out, "{}\r\n", fields.join(","))?;
            }
            Format::Json => {
                let members = row.iter().filter(|(_, value)| !value.is_null());
                let members = members.map(|(name, value)| ((*name).to_owned(), value.clone()));
                let object = Value::Object(members.collect::<Map<_, _>>());
                writeln!(self.out, "{object}")?;
            }
        }
        Ok(())
    }
}

/// A value as a field. It is quoted if it contains a separator.
fn field(value: &Value) -> String {
    let text = match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

/// The columns of an export: the names of its rows' members.
fn columns(what: ExportKind) -> Vec<&'static str> {
    match what {
        ExportKind::Accounts => vec![
            "id",
            "participant",
            "accountType",
            "currency",
            "scale",
            "state",
            "debits",
            "debitsMinor",
            "credits",
            "creditsMinor",
            "balance",
            "balanceMinor",
            "netDebitCap",
            "netDebitCapMinor",
            "liquidityThreshold",
            "liquidityThresholdMinor",
            "unsettled",
            "unsettledMinor",
            "settlementModel",
            "batch",
            "entries",
            "createdAt",
            "openingDebits",
            "openingDebitsMinor",
            "openingCredits",
            "openingCreditsMinor",
            "openingBalance",
            "openingBalanceMinor",
            "archivedEntries",
            "archivedUntil",
            "archiveFile",
            "archiveSha256",
        ],
        ExportKind::Entries => vec![
            "journalEntryId",
            "id",
            "entryType",
            "debitAccount",
            "creditAccount",
            "amount",
            "amountMinor",
            "currency",
            "scale",
            "cause",
            "postedAt",
        ],
        ExportKind::Reservations => vec![
            "transferId",
            "state",
            "payer",
            "amount",
            "amountMinor",
            "currency",
            "scale",
            "payerLiquidity",
            "payerPosition",
            "payeeLiquidity",
            "openedAt",
            "closedAt",
        ],
    }
}

/// Both forms of an amount.
fn both(units: Option<Units>, scale: u8) -> [Value; 2] {
    units.map_or([Value::Null, Value::Null], |units| {
        [decimal(units.0, scale).into(), units.0.to_string().into()]
    })
}

fn account(of: &Account) -> Row {
    let both = |units| both(units, of.scale);
    let [debits, debits_minor] = both(Some(of.debit_balance));
    let [credits, credits_minor] = both(Some(of.credit_balance));
    let [balance, balance_minor] = both(Some(Units(of.net())));
    let [cap, cap_minor] = both(of.net_debit_cap);
    let [threshold, threshold_minor] = both(of.liquidity_threshold);
    let [unsettled, unsettled_minor] = both(Some(of.unsettled));
    let archived = of.archived.as_ref();
    let [opening_debits, opening_debits_minor] = both(archived.map(|archived| archived.debits));
    let [opening_credits, opening_credits_minor] = both(archived.map(|archived| archived.credits));
    let [opening, opening_minor] = both(archived.map(|archived| Units(archived.net())));
    let values = vec![
        of.id.clone().into(),
        of.participant.clone().into(),
        of.account_type.name().into(),
        of.currency.clone().into(),
        of.scale.into(),
        of.state.clone().into(),
        debits,
        debits_minor,
        credits,
        credits_minor,
        balance,
        balance_minor,
        cap,
        cap_minor,
        threshold,
        threshold_minor,
        unsettled,
        unsettled_minor,
        of.settlement_model.clone().into(),
        of.batch.clone().into(),
        of.tail.count.into(),
        of.created_at.into(),
        opening_debits,
        opening_debits_minor,
        opening_credits,
        opening_credits_minor,
        opening,
        opening_minor,
        archived.map(|archived| archived.entries).into(),
        archived.map(|archived| archived.until).into(),
        archived.map(|archived| archived.file.clone()).into(),
        archived.map(|archived| archived.sha256.clone()).into(),
    ];
    columns(ExportKind::Accounts)
        .into_iter()
        .zip(values)
        .collect()
}

fn entry(of: &Entry) -> Row {
    let [amount, amount_minor] = both(Some(of.amount), of.scale);
    let step = of.step().unwrap_or(&of.id);
    let values = vec![
        journal_entry_id(&of.correlation_id, step).into(),
        of.id.clone().into(),
        of.entry_type.clone().into(),
        of.debit_account.clone().into(),
        of.credit_account.clone().into(),
        amount,
        amount_minor,
        of.currency.clone().into(),
        of.scale.into(),
        of.correlation_id.clone().into(),
        of.posted_at.into(),
    ];
    columns(ExportKind::Entries)
        .into_iter()
        .zip(values)
        .collect()
}

fn reservation(of: &Reservation) -> Row {
    let [amount, amount_minor] = both(Some(of.amount), of.scale);
    let state = match of.state {
        crate::documents::ReservationState::Open => "open",
        crate::documents::ReservationState::Fulfilled => "fulfilled",
        crate::documents::ReservationState::Released => "released",
        crate::documents::ReservationState::Archived => "archived",
    };
    let values = vec![
        of.transfer_id.clone().into(),
        state.into(),
        of.payer.clone().into(),
        amount,
        amount_minor,
        of.currency.clone().into(),
        of.scale.into(),
        of.accounts.payer_liquidity.clone().into(),
        of.accounts.payer_position.clone().into(),
        of.accounts.payee_liquidity.clone().into(),
        of.opened_at.into(),
        of.closed_at.into(),
    ];
    columns(ExportKind::Reservations)
        .into_iter()
        .zip(values)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_special_characters_are_quoted() {
        assert_eq!(field(&Value::from("plain text")), "plain text");
        assert_eq!(field(&Value::from("a,b")), "\"a,b\"");
        assert_eq!(field(&Value::from("a\"b\n")), "\"a\"\"b\n\"");
        assert_eq!(field(&Value::Null), "");
        assert_eq!(field(&Value::from(3)), "3");
    }
}

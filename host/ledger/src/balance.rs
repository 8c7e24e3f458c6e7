//! The trial balance: for each currency and book, the sums of each type of account, and whether debits equal
//! credits.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rialto_store_sqlite::Order;
use serde::Serialize;

use crate::documents::{Account, AccountType, Book};
use crate::source::ACCOUNTS;
use crate::{Ledger, LedgerError, decimal, read};

/// A trial balance.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TrialBalance {
    /// The last turn that is in it.
    pub lsn: u64,
    /// One for each currency and book.
    pub books: Vec<BookBalance>,
}

/// One book in one currency.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BookBalance {
    /// ISO 4217.
    pub currency: String,
    /// The book.
    pub book: Book,
    /// Its accounts, by type, and by owner if that was asked for.
    pub rows: Vec<Row>,
    /// The sum of all debits.
    pub debits: String,
    /// The sum of all credits.
    pub credits: String,
    /// Whether the sums are the same.
    pub balanced: bool,
}

/// Accounts of one type.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// The owner, if the balance is by participant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub participant: Option<String>,
    /// The type.
    pub account_type: AccountType,
    /// The number of accounts.
    pub accounts: u64,
    /// Their debits.
    pub debits: String,
    /// Their credits.
    pub credits: String,
    /// Credits minus debits.
    pub balance: String,
}

#[derive(Default)]
struct Sums {
    scale: u8,
    accounts: u64,
    debits: i128,
    credits: i128,
}

impl Ledger {
    /// The trial balance, by type of account, or by participant and type.
    ///
    /// # Errors
    /// When an account cannot be read.
    pub fn balance(&mut self, by_participant: bool) -> Result<TrialBalance, LedgerError> {
        let mut books = Books::new();
        let wanted = [self.collections.accounts];
        self.snapshot.visit(&wanted, Order::ById, &mut |_, found| {
            add(&mut books, &read(ACCOUNTS, &found)?, by_participant);
            Ok::<_, LedgerError>(())
        })?;
        Ok(TrialBalance {
            lsn: self.lsn(),
            books: shown(books),
        })
    }
}

/// The sums of accounts, by owner and type.
type Rows = BTreeMap<(Option<String>, AccountType), Sums>;
/// The same by currency and book. It is much smaller than the accounts, which may be many.
type Books = BTreeMap<(String, Book), Rows>;

fn add(books: &mut Books, account: &Account, by_participant: bool) {
    let book = (account.currency.clone(), account.account_type.book());
    let owner = by_participant.then(|| account.participant.clone());
    let rows = books.entry(book).or_default();
    let sums = rows.entry((owner, account.account_type)).or_default();
    sums.scale = account.scale;
    sums.accounts += 1;
    sums.debits += account.debit_balance.0;
    sums.credits += account.credit_balance.0;
}

fn shown(books: Books) -> Vec<BookBalance> {
    let book = |((currency, book), rows): ((String, Book), Rows)| {
        let scale = rows.values().next().map_or(0, |sums| sums.scale);
        let sum = |of: fn(&Sums) -> i128| rows.values().map(of).sum::<i128>();
        let (debits, credits) = (sum(|sums| sums.debits), sum(|sums| sums.credits));
        BookBalance {
            currency,
            book,
            debits: decimal(debits, scale),
            credits: decimal(credits, scale),
            balanced: debits == credits,
            rows: rows
                .into_iter()
                .map(|(key, sums)| row(key, &sums))
                .collect(),
        }
    };
    books.into_iter().map(book).collect()
}

fn row((owner, account_type): (Option<String>, AccountType), sums: &Sums) -> Row {
    Row {
        participant: owner,
        account_type,
        accounts: sums.accounts,
        debits: decimal(sums.debits, sums.scale),
        credits: decimal(sums.credits, sums.scale),
        balance: decimal(sums.credits - sums.debits, sums.scale),
    }
}

impl TrialBalance {
    /// Whether debits equal credits in each book.
    pub fn is_balanced(&self) -> bool {
        self.books.iter().all(|book| book.balanced)
    }

    /// A table for people.
    pub fn table(&self) -> String {
        let mut text = String::new();
        for book in &self.books {
            let title = format!("{}, {} book", book.currency, book.book.name());
            let _ = writeln!(
                text,
                "{title:<44} {:>8} {:>18} {:>18} {:>18}",
                "accounts", "debits", "credits", "balance"
            );
            for row in &book.rows {
                let owner = row.participant.as_ref().map(|owner| format!("{owner} "));
                let name = format!("{}{}", owner.unwrap_or_default(), row.account_type.name());
                let (debits, credits, balance) = (&row.debits, &row.credits, &row.balance);
                let _ = writeln!(
                    text,
                    "  {name:<42} {:>8} {debits:>18} {credits:>18} {balance:>18}",
                    row.accounts
                );
            }
            let verdict = if book.balanced {
                "balanced"
            } else {
                "NOT BALANCED"
            };
            let (debits, credits) = (&book.debits, &book.credits);
            let _ = writeln!(
                text,
                "  {:<51} {debits:>18} {credits:>18} {verdict:>18}\n",
                "sum"
            );
        }
        let _ = writeln!(text, "as of turn {}", self.lsn);
        text
    }
}

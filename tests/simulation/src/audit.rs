//! The invariants of every commit: of the ledger, and of changes of documents. The code is independent of the
//! components.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::journal::Documents;
use crate::problem::{LIMITS, MONEY, OUTCOME, Problem, STATE};

/// An account as its document has it: sums of all debits and credits ever, in minor units.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AccountDocument {
    participant: String,
    account_type: String,
    currency: String,
    debit_balance: String,
    credit_balance: String,
    debit_limit: String,
    net_debit_cap: Option<String>,
    unsettled: String,
    batch: Option<String>,
}

/// The same, reckoned.
#[derive(Clone, Debug)]
struct Account {
    /// The currency, and the book in which debits are credits.
    book: (String, String),
    /// Credits less debits.
    balance: i128,
    limit: i128,
    cap: Option<i128>,
    unsettled: i128,
    is_bounded: bool,
    is_position: bool,
    /// The position account of the same participant and currency.
    position: String,
}

/// A reservation as its document has it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reservation {
    amount: String,
    state: String,
    accounts: Reserved,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reserved {
    payer_position: String,
}

fn units(text: &str) -> i128 {
    // A document that holds no number has passed every limit.
    text.parse().unwrap_or(i128::MIN / 1_000)
}

impl Account {
    fn of(document: &Value) -> Result<Self, String> {
        let read = AccountDocument::deserialize(document).map_err(|error| error.to_string())?;
        let kind = read.account_type.as_str();
        let book = match kind {
            "LIQUIDITY" | "POSITION" | "LIQUIDITY_COVER" | "HUB_LIQUIDITY_CONTROL" => "liquidity",
            "SETTLEMENT" | "SETTLEMENT_RESERVED" | "HUB_RECONCILIATION" => "settlement",
            // Each batch is a book of its own: its obligations sum to zero.
            "SETTLEMENT_POSITION" => read.batch.as_deref().unwrap_or(UNKNOWN),
            _ => UNKNOWN,
        };
        Ok(Self {
            balance: units(&read.credit_balance) - units(&read.debit_balance),
            limit: units(&read.debit_limit),
            cap: read.net_debit_cap.as_deref().map(units),
            unsettled: units(&read.unsettled),
            is_bounded: !kind.starts_with("HUB_") && kind != "SETTLEMENT_POSITION",
            is_position: kind == "POSITION",
            position: format!("{}:{}:POSITION", read.participant, read.currency),
            book: (read.currency, book.to_owned()),
        })
    }
}

/// The book of an unknown account.
const UNKNOWN: &str = "unknown";

/// The ledger as its documents have it, read once each time that one of them changes: the invariants are
/// looked at after each commit, and few documents change in one.
#[derive(Clone, Debug, Default)]
pub struct Books {
    accounts: BTreeMap<String, Result<Account, String>>,
    /// Reservations that are open: the position account and the amount; or what is wrong with one.
    open: BTreeMap<String, Result<(String, i128), String>>,
}

impl Books {
    /// All of these documents.
    pub fn of(accounts: &Documents, reservations: &Documents) -> Self {
        let mut books = Self::default();
        for (id, document) in accounts {
            books.account(id, Some(document));
        }
        for (id, document) in reservations {
            books.reservation(id, Some(document));
        }
        books
    }

    /// An account is written, or gone.
    pub fn account(&mut self, id: &str, document: Option<&Value>) {
        match document {
            Some(document) => self.accounts.insert(id.to_owned(), Account::of(document)),
            None => self.accounts.remove(id),
        };
    }

    /// A reservation is written, or gone.
    pub fn reservation(&mut self, id: &str, document: Option<&Value>) {
        let read = document.map(Reservation::deserialize).transpose();
        let open = read.map(|read| read.filter(|reservation| reservation.state == "open"));
        match open {
            Ok(None) => self.open.remove(id),
            Ok(Some(one)) => {
                let held = (one.accounts.payer_position, units(&one.amount));
                self.open.insert(id.to_owned(), Ok(held))
            }
            Err(error) => self.open.insert(id.to_owned(), Err(error.to_string())),
        };
    }

    /// What does not add up.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let unread = self.accounts.iter().filter_map(|(id, account)| {
            let error = account.as_ref().err()?;
            Some(Problem::new(MONEY, format!("account {id}: {error}")))
        });
        problems.extend(unread);
        self.conserved(&mut problems);
        self.limits(&mut problems);
        self.reserved(&mut problems);
        problems
    }

    fn read(&self) -> impl Iterator<Item = (&String, &Account)> {
        let all = self.accounts.iter();
        all.filter_map(|(id, account)| Some((id, account.as_ref().ok()?)))
    }

    /// In each currency and book, what participants hold is what the
    /// hub holds against it.
    fn conserved(&self, problems: &mut Vec<Problem>) {
        let mut sums: BTreeMap<&(String, String), i128> = BTreeMap::new();
        for (_, account) in self.read() {
            *sums.entry(&account.book).or_default() += account.balance;
        }
        for ((currency, book), sum) in sums {
            if sum != 0 || book == UNKNOWN {
                let what = format!("{currency}, {book} book: credits exceed debits by {sum}");
                problems.push(Problem::new(MONEY, what));
            }
        }
    }

    fn limits(&self, problems: &mut Vec<Problem>) {
        for (id, account) in self.read() {
            let (balance, limit) = (account.balance, account.limit);
            if account.is_bounded && balance + limit < 0 {
                let what = format!("{id} stands at {balance}, its limit is {limit}");
                problems.push(Problem::new(LIMITS, what));
            }
            let Some(cap) = account.cap else {
                continue;
            };
            let position = self.accounts.get(&account.position);
            let position = position.and_then(|position| position.as_ref().ok());
            let used = position.map_or(0, |position| position.balance + position.unsettled);
            let net = used - account.unsettled;
            if net > cap {
                let what = format!("{id} has a net debit position of {net}, its cap is {cap}");
                problems.push(Problem::new(LIMITS, what));
            }
        }
    }

    /// What stands on position accounts is what open reservations hold.
    fn reserved(&self, problems: &mut Vec<Problem>) {
        let mut held: BTreeMap<&str, i128> = BTreeMap::new();
        for (id, reservation) in &self.open {
            match reservation {
                Ok((position, amount)) => *held.entry(position).or_default() += amount,
                Err(error) => {
                    problems.push(Problem::new(MONEY, format!("reservation {id}: {error}")));
                }
            }
        }
        for (id, account) in self.read().filter(|(_, account)| account.is_position) {
            let (stands, held) = (account.balance, held.remove(id.as_str()).unwrap_or(0));
            if stands != held {
                let what = format!("{id} stands at {stands}, open reservations hold {held}");
                problems.push(Problem::new(MONEY, what));
            }
        }
        for id in held.keys() {
            let what = format!("reservations on {id}, which is no position account");
            problems.push(Problem::new(MONEY, what));
        }
    }
}

/// An entry as its document has it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    debit_account: String,
    credit_account: String,
    amount: String,
}

/// Accounts whose balances are not the sums of their entries.
pub fn postings(accounts: &Documents, entries: &Documents) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut posted: BTreeMap<String, (i128, i128)> = BTreeMap::new();
    for (id, document) in entries {
        match Entry::deserialize(document) {
            Ok(entry) => {
                let amount = units(&entry.amount);
                posted.entry(entry.debit_account).or_default().0 += amount;
                posted.entry(entry.credit_account).or_default().1 += amount;
            }
            Err(error) => problems.push(Problem::new(MONEY, format!("entry {id}: {error}"))),
        }
    }
    for (id, document) in accounts {
        let kept = AccountDocument::deserialize(document).map(|account| {
            (
                units(&account.debit_balance),
                units(&account.credit_balance),
            )
        });
        let posted = posted.remove(id).unwrap_or_default();
        if kept.as_ref().ok() != Some(&posted) {
            let what = format!("{id} keeps {kept:?} (debits, credits), its entries say {posted:?}");
            problems.push(Problem::new(MONEY, what));
        }
    }
    for id in posted.keys() {
        problems.push(Problem::new(
            MONEY,
            format!("entries of {id}, which is no account"),
        ));
    }
    problems
}

/// The problem of a change of a document.
pub fn change(
    (component, collection): (&str, &str),
    id: &str,
    before: Option<&Value>,
    after: Option<&Value>,
) -> Option<Problem> {
    let text = |value: Option<&Value>| {
        let state = value.and_then(|value| value["state"].as_str());
        state.unwrap_or_default().to_owned()
    };
    let (from, to) = (text(before), text(after));
    let wrong = |rule, what: String| Some(Problem::new(rule, format!("{collection} {id} {what}")));
    let may = match (component, collection) {
        ("accounts-and-balances", "entries" | "entry-pages") if before.is_some() => {
            return wrong(STATE, "was posted and is changed".to_owned());
        }
        ("accounts-and-balances", "reservations") => matches!(
            (from.as_str(), to.as_str()),
            ("", _) | ("open", "fulfilled" | "released")
        ),
        // What lasts no longer than a group is not seen.
        ("transfers", "transfers") => {
            from == to
                || matches!(
                    (from.as_str(), to.as_str()),
                    ("", "PREPARED" | "COMMITTED" | "REJECTED" | "FAILED")
                        | ("PREPARED", "COMMITTED" | "REJECTED")
                )
        }
        _ => true,
    };
    if may {
        return None;
    }
    wrong(OUTCOME, format!("goes from {from:?} to {to:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn account(kind: &str, debits: u32, credits: u32, cap: Option<&str>) -> Value {
        json!({
            "participant": "a", "accountType": kind, "currency": "USD", "debitLimit": "0",
            "debitBalance": debits.to_string(), "creditBalance": credits.to_string(),
            "netDebitCap": cap, "unsettled": "0",
        })
    }

    /// Ten came in, three of them are reserved.
    fn accounts() -> Documents {
        let documents = [
            ("Hub:USD:G", account("HUB_LIQUIDITY_CONTROL", 10, 0, None)),
            ("a:USD:LIQUIDITY", account("LIQUIDITY", 3, 10, Some("3"))),
            ("a:USD:POSITION", account("POSITION", 0, 3, None)),
            ("a:b1", in_batch(7, 2)),
            ("b:b1", in_batch(0, 5)),
        ];
        documents
            .map(|(id, account)| (id.to_owned(), account))
            .into()
    }

    fn in_batch(debits: u32, credits: u32) -> Value {
        let mut account = account("SETTLEMENT_POSITION", debits, credits, None);
        account["batch"] = json!("b1");
        account
    }

    fn reservations(state: &str) -> Documents {
        let accounts = json!({ "payerPosition": "a:USD:POSITION" });
        let reservation = json!({ "amount": "3", "state": state, "accounts": accounts });
        Documents::from([("t".to_owned(), reservation)])
    }

    fn rules(accounts: &Documents, reservations: &Documents) -> Vec<&'static str> {
        let found = Books::of(accounts, reservations).problems();
        found.into_iter().map(|problem| problem.rule).collect()
    }

    #[test]
    fn audit_accepts_good_books_and_finds_each_damage() {
        assert_eq!(rules(&accounts(), &reservations("open")), [""; 0]);
        assert_eq!(rules(&accounts(), &reservations("released")), [MONEY]);
        let with = |changes: &[(&str, &str, &str)]| {
            let mut accounts = accounts();
            for (id, name, value) in changes {
                accounts.get_mut(*id).unwrap()[*name] = json!(value);
            }
            rules(&accounts, &reservations("open"))
        };
        let (hub, liquidity) = ("Hub:USD:G", "a:USD:LIQUIDITY");
        assert_eq!(with(&[(hub, "debitBalance", "9")]), [MONEY]);
        assert_eq!(with(&[("a:b1", "debitBalance", "8")]), [MONEY]);
        assert_eq!(with(&[("a:b1", "batch", "b2")]), [MONEY, MONEY]);
        assert_eq!(with(&[(liquidity, "netDebitCap", "2")]), [LIMITS]);
        let overdrawn = [
            (hub, "debitBalance", "2"),
            (liquidity, "creditBalance", "2"),
        ];
        assert_eq!(with(&overdrawn), [LIMITS]);
    }

    #[test]
    fn what_has_ended_does_not_change() {
        let state = |state: &str| json!({ "state": state });
        let changes = |name, from: Option<&str>, to: &str| {
            let (from, to) = (from.map(state), state(to));
            change(name, "t", from.as_ref(), Some(&to)).is_none()
        };
        let transfers = ("transfers", "transfers");
        assert!(changes(transfers, None, "PREPARED"));
        assert!(changes(transfers, Some("PREPARED"), "COMMITTED"));
        assert!(changes(transfers, Some("COMMITTED"), "COMMITTED"));
        assert!(!changes(transfers, Some("COMMITTED"), "REJECTED"));
        assert!(!changes(transfers, Some("FAILED"), "PREPARED"));
        let reservations = ("accounts-and-balances", "reservations");
        assert!(changes(reservations, Some("open"), "released"));
        assert!(!changes(reservations, Some("released"), "fulfilled"));
        let entries = ("accounts-and-balances", "entries");
        assert!(changes(entries, None, ""));
        assert!(!changes(entries, Some(""), ""));
    }
}

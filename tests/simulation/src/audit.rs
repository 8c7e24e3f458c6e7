//! The invariants that hold at every commit, whatever is under way: of the ledger, and of how
//! documents may change. Nothing here is shared with the components that keep the books.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::journal::Documents;
use crate::problem::{LIMITS, MONEY, OUTCOME, Problem, STATE};

/// An account as its document has it: sums of all debits and credits ever, in minor units.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Account {
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
    /// Credits minus debits.
    fn balance(&self) -> i128 {
        units(&self.credit_balance) - units(&self.debit_balance)
    }
}

/// What does not add up in the ledger.
pub fn books(accounts: &Documents, reservations: &Documents) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut read = BTreeMap::new();
    for (id, document) in accounts {
        match Account::deserialize(document) {
            Ok(account) => {
                read.insert(id.as_str(), account);
            }
            Err(error) => problems.push(Problem::new(MONEY, format!("account {id}: {error}"))),
        }
    }
    conserved(&read, &mut problems);
    limits(&read, &mut problems);
    reserved(&read, reservations, &mut problems);
    problems
}

/// In each currency and book, what participants hold is what the
/// hub holds against it.
fn conserved(accounts: &BTreeMap<&str, Account>, problems: &mut Vec<Problem>) {
    let mut sums: BTreeMap<(&str, &str), i128> = BTreeMap::new();
    for account in accounts.values() {
        let book = match account.account_type.as_str() {
            "LIQUIDITY" | "POSITION" | "LIQUIDITY_COVER" | "HUB_LIQUIDITY_CONTROL" => "liquidity",
            "SETTLEMENT" | "SETTLEMENT_RESERVED" | "HUB_RECONCILIATION" => "settlement",
            // Each batch is a book of its own: what is owed in it is owed to somebody in it.
            "SETTLEMENT_POSITION" => account.batch.as_deref().unwrap_or("unknown"),
            _ => "unknown",
        };
        *sums.entry((&account.currency, book)).or_default() += account.balance();
    }
    for ((currency, book), sum) in sums {
        if sum != 0 || book == "unknown" {
            let what = format!("{currency}, {book} book: credits exceed debits by {sum}");
            problems.push(Problem::new(MONEY, what));
        }
    }
}

fn limits(accounts: &BTreeMap<&str, Account>, problems: &mut Vec<Problem>) {
    for (id, account) in accounts {
        let (balance, limit) = (account.balance(), units(&account.debit_limit));
        let is_bounded = !account.account_type.starts_with("HUB_")
            && account.account_type != "SETTLEMENT_POSITION";
        if is_bounded && balance + limit < 0 {
            let what = format!("{id} stands at {balance}, its limit is {limit}");
            problems.push(Problem::new(LIMITS, what));
        }
        let Some(cap) = &account.net_debit_cap else {
            continue;
        };
        let position = format!("{}:{}:POSITION", account.participant, account.currency);
        let used = accounts.get(position.as_str()).map_or(0, |position| {
            position.balance() + units(&position.unsettled)
        });
        let net = used - units(&account.unsettled);
        if net > units(cap) {
            let what = format!("{id} has a net debit position of {net}, its cap is {cap}");
            problems.push(Problem::new(LIMITS, what));
        }
    }
}

/// What stands on position accounts is what open reservations hold.
fn reserved(
    accounts: &BTreeMap<&str, Account>,
    reservations: &Documents,
    problems: &mut Vec<Problem>,
) {
    let mut held: BTreeMap<String, i128> = BTreeMap::new();
    for (id, document) in reservations {
        match Reservation::deserialize(document) {
            Ok(open) if open.state == "open" => {
                *held.entry(open.accounts.payer_position).or_default() += units(&open.amount);
            }
            Ok(_) => {}
            Err(error) => problems.push(Problem::new(MONEY, format!("reservation {id}: {error}"))),
        }
    }
    for (id, account) in accounts {
        if account.account_type != "POSITION" {
            continue;
        }
        let (stands, held) = (account.balance(), held.remove(*id).unwrap_or(0));
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
        let kept = Account::deserialize(document).map(|account| {
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

/// What is wrong with a change of a document.
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
        let found = books(accounts, reservations);
        found.into_iter().map(|problem| problem.rule).collect()
    }

    #[test]
    fn books_that_add_up_have_no_problem_and_each_kind_of_damage_is_seen() {
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

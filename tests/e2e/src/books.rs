//! The books of a scheme, read back through the command line: accounts, entries, reservations and
//! transfers, and what does not add up in them. An independent reckoning: nothing here is shared
//! with the components that keep the books.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::host::RunningHost;

/// Documents that a host shows at a time, at most.
const LISTED_MAX: usize = 1_000;
/// What ids consist of: those of FSPs, of currencies, of accounts and of the API's resources.
const ID_CHARACTERS: &str = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.:";

/// An account: sums of all debits and credits ever, in minor units.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// Its kind, such as `LIQUIDITY`.
    pub account_type: String,
    /// ISO 4217.
    pub currency: String,
    debit_balance: String,
    credit_balance: String,
    debit_limit: String,
    net_debit_cap: Option<String>,
}

impl Account {
    /// Credits minus debits, in minor units.
    ///
    /// # Errors
    /// When the document holds no numbers.
    pub fn balance(&self) -> anyhow::Result<i128> {
        Ok(units(&self.credit_balance)? - units(&self.debit_balance)?)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    debit_account: String,
    credit_account: String,
    amount: String,
    entry_type: String,
    correlation_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reservation {
    amount: String,
    accounts: ReservationAccounts,
    state: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReservationAccounts {
    payer_position: String,
    payee_liquidity: Option<String>,
}

/// A transfer's document, as far as the tests look at it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Transfer {
    /// `PREPARED`, `COMMITTED` and so on.
    pub state: String,
    /// When it expires; milliseconds since 1970.
    pub expiration: u64,
}

impl Transfer {
    /// Whether it will not change any more.
    pub fn is_final(&self) -> bool {
        matches!(self.state.as_str(), "COMMITTED" | "REJECTED" | "FAILED")
    }
}

/// See the module's documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Books {
    accounts: BTreeMap<String, Account>,
    entries: BTreeMap<String, Entry>,
    reservations: BTreeMap<String, Reservation>,
    transfers: BTreeMap<String, Transfer>,
}

impl Books {
    /// Read everything. What changes meanwhile may be seen in part: let the host come to rest
    /// before asking for [`Books::problems`].
    ///
    /// # Errors
    /// When the host does not show its documents.
    pub fn read(host: &RunningHost) -> anyhow::Result<Self> {
        let ledger = "accounts-and-balances";
        Ok(Self {
            accounts: documents(host, ledger, "accounts")?,
            entries: documents(host, ledger, "entries")?,
            reservations: documents(host, ledger, "reservations")?,
            transfers: documents(host, "transfers", "transfers")?,
        })
    }

    /// The transfers by their ids.
    pub fn transfers(&self) -> &BTreeMap<String, Transfer> {
        &self.transfers
    }

    /// The state of a transfer; empty if there is no such transfer.
    pub fn state(&self, transfer_id: &str) -> &str {
        self.transfers
            .get(transfer_id)
            .map_or("", |transfer| &transfer.state)
    }

    /// Credits minus debits of an account such as `payerfsp:USD:LIQUIDITY`, in minor units.
    ///
    /// # Errors
    /// When there is no such account.
    pub fn balance(&self, account: &str) -> anyhow::Result<i128> {
        let found = self.accounts.get(account);
        found
            .with_context(|| format!("there is no account {account}"))?
            .balance()
    }

    /// Transfers and reservations that have not ended.
    pub fn open(&self) -> Vec<String> {
        let transfers = self.transfers.iter().filter(|(_, t)| !t.is_final());
        let reservations = self.reservations.iter().filter(|(_, r)| r.state == "open");
        transfers
            .map(|(id, t)| format!("transfer {id} is {}", t.state))
            .chain(reservations.map(|(id, _)| format!("reservation {id} is open")))
            .collect()
    }

    /// Everything that does not add up.
    ///
    /// # Errors
    /// When a document holds no number where one belongs.
    pub fn problems(&self) -> anyhow::Result<Vec<String>> {
        let mut problems = Vec::new();
        self.sums(&mut problems)?;
        self.postings(&mut problems)?;
        self.reserved(&mut problems)?;
        self.limits(&mut problems)?;
        self.caps(&mut problems)?;
        self.endings(&mut problems);
        Ok(problems)
    }

    /// Debits are credits, in each currency.
    fn sums(&self, problems: &mut Vec<String>) -> anyhow::Result<()> {
        let mut sums: BTreeMap<&str, i128> = BTreeMap::new();
        for account in self.accounts.values() {
            *sums.entry(&account.currency).or_default() += account.balance()?;
        }
        let wrong = sums.iter().filter(|&(_, &sum)| sum != 0);
        problems.extend(wrong.map(|(c, sum)| format!("{c}: credits exceed debits by {sum}")));
        Ok(())
    }

    /// Each account's balances are the sums of its entries.
    fn postings(&self, problems: &mut Vec<String>) -> anyhow::Result<()> {
        let mut posted: BTreeMap<&str, (i128, i128)> = BTreeMap::new();
        for entry in self.entries.values() {
            let amount = units(&entry.amount)?;
            posted.entry(&entry.debit_account).or_default().0 += amount;
            posted.entry(&entry.credit_account).or_default().1 += amount;
        }
        for (id, account) in &self.accounts {
            let kept = (
                units(&account.debit_balance)?,
                units(&account.credit_balance)?,
            );
            let posted = posted.remove(id.as_str()).unwrap_or_default();
            if kept != posted {
                problems.push(format!(
                    "{id} keeps {kept:?} (debits, credits), its entries say {posted:?}"
                ));
            }
        }
        problems.extend(
            posted
                .keys()
                .map(|id| format!("entries of {id}, which is no account")),
        );
        Ok(())
    }

    /// What stands on position accounts is what open reservations hold.
    fn reserved(&self, problems: &mut Vec<String>) -> anyhow::Result<()> {
        let mut reserved: BTreeMap<&str, i128> = BTreeMap::new();
        for reservation in self.reservations.values().filter(|r| r.state == "open") {
            let account = reservation.accounts.payer_position.as_str();
            *reserved.entry(account).or_default() += units(&reservation.amount)?;
        }
        for (id, account) in self
            .accounts
            .iter()
            .filter(|(_, a)| a.account_type == "POSITION")
        {
            let (stands, held) = (
                account.balance()?,
                reserved.remove(id.as_str()).unwrap_or(0),
            );
            if stands != held {
                problems.push(format!(
                    "{id} stands at {stands}, open reservations hold {held}"
                ));
            }
        }
        problems.extend(
            reserved
                .keys()
                .map(|id| format!("reservations on {id}, which is no position account")),
        );
        Ok(())
    }

    /// No participant has spent more than it may.
    fn limits(&self, problems: &mut Vec<String>) -> anyhow::Result<()> {
        // The hub's accounts are the other side of all funds, so they have debit balances. A participant's
        // obligation in a batch has no limit, since its liquidity had one.
        let of_participants = |a: &Account| {
            !a.account_type.starts_with("HUB_") && a.account_type != "SETTLEMENT_POSITION"
        };
        for (id, account) in self.accounts.iter().filter(|(_, a)| of_participants(a)) {
            let (balance, limit) = (account.balance()?, units(&account.debit_limit)?);
            if balance + limit < 0 {
                problems.push(format!("{id} stands at {balance}, its limit is {limit}"));
            }
        }
        Ok(())
    }

    /// Checks net debit caps: reserved and paid amounts, less received ones. Nothing is settled yet, so all
    /// payments count.
    fn caps(&self, problems: &mut Vec<String>) -> anyhow::Result<()> {
        for (id, account) in &self.accounts {
            let Some(cap) = &account.net_debit_cap else {
                continue;
            };
            let position = id.replace(":LIQUIDITY", ":POSITION");
            let mut used = 0;
            for reservation in self.reservations.values().filter(|r| r.state != "released") {
                let amount = units(&reservation.amount)?;
                if reservation.accounts.payer_position == position {
                    used += amount;
                }
                if reservation.accounts.payee_liquidity.as_ref() == Some(id) {
                    used -= amount;
                }
            }
            let cap = units(cap)?;
            if used > cap {
                problems.push(format!("{id} has used {used}, its net debit cap is {cap}"));
            }
        }
        Ok(())
    }

    /// A transfer is prepared once at most and ends once at most, in the ledger as in its state.
    fn endings(&self, problems: &mut Vec<String>) {
        let mut types: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for entry in self
            .entries
            .values()
            .filter(|e| e.entry_type.starts_with("TRANSFER_"))
        {
            types
                .entry(&entry.correlation_id)
                .or_default()
                .push(&entry.entry_type);
        }
        let all: BTreeSet<&str> = types
            .keys()
            .copied()
            .chain(self.transfers.keys().map(String::as_str))
            .chain(self.reservations.keys().map(String::as_str))
            .collect();
        for id in all {
            let mut posted = types.remove(id).unwrap_or_default();
            posted.sort_unstable();
            let reservation = self.reservations.get(id).map_or("none", |r| &r.state);
            let state = self.state(id);
            let fits = matches!(
                (state, reservation, posted.as_slice()),
                (
                    "COMMITTED",
                    "fulfilled",
                    ["TRANSFER_FULFIL", "TRANSFER_PREPARE"]
                ) | (
                    "REJECTED",
                    "released",
                    ["TRANSFER_PREPARE", "TRANSFER_RELEASE"]
                ) | ("PREPARED" | "RESERVED", "open", ["TRANSFER_PREPARE"])
                    | ("REJECTED" | "FAILED" | "RECEIVED", "none", [])
            );
            if !fits {
                problems.push(format!(
                    "transfer {id} is `{state}`, its reservation {reservation}, its entries {posted:?}"
                ));
            }
        }
    }
}

/// All documents of a collection, by their ids.
///
/// # Errors
/// When the host does not show them, or one cannot be read.
pub fn documents<T: DeserializeOwned>(
    host: &RunningHost,
    component: &str,
    collection: &str,
) -> anyhow::Result<BTreeMap<String, T>> {
    let mut documents = BTreeMap::new();
    let mut prefixes = vec![String::new()];
    while let Some(prefix) = prefixes.pop() {
        let limit = LISTED_MAX.to_string();
        let command = [
            "documents",
            component,
            collection,
            "--limit",
            &limit,
            "--prefix",
            &prefix,
            "--json",
        ];
        let text = host.cli(&command)?.success()?;
        if text.lines().count() == LISTED_MAX {
            // Perhaps not all: list them by one more character.
            prefixes.extend(ID_CHARACTERS.chars().map(|next| format!("{prefix}{next}")));
        }
        for line in text.lines() {
            let shown: Shown<T> =
                serde_json::from_str(line).with_context(|| format!("the document `{line}`"))?;
            documents.insert(shown.id, shown.body);
        }
    }
    Ok(documents)
}

/// One document as the command line shows it in JSON.
#[derive(Deserialize)]
struct Shown<T> {
    id: String,
    body: T,
}

fn units(text: &str) -> anyhow::Result<i128> {
    text.parse()
        .with_context(|| format!("`{text}` is no number of minor units"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn books(state: &str, reservation: &str, payer: [u8; 2], position: [u8; 2]) -> Books {
        let account = |kind: &str, [debit, credit]: [u8; 2]| {
            let json = format!(
                r#"{{"accountType":"{kind}","currency":"USD","debitBalance":"{debit}","creditBalance":"{credit}","debitLimit":"0"}}"#
            );
            serde_json::from_str::<Account>(&json).unwrap()
        };
        let entry = |from: &str, to: &str, amount: u8, kind: &str, of: &str| {
            let json = format!(
                r#"{{"debitAccount":"{from}","creditAccount":"{to}","amount":"{amount}","entryType":"{kind}","correlationId":"{of}"}}"#
            );
            serde_json::from_str::<Entry>(&json).unwrap()
        };
        let reservation = format!(
            r#"{{"amount":"3","accounts":{{"payerPosition":"p"}},"state":"{reservation}"}}"#
        );
        let transfer = format!(r#"{{"state":"{state}","expiration":1}}"#);
        Books {
            accounts: [
                ("h".into(), account("HUB_LIQUIDITY_CONTROL", [10, 0])),
                ("l".into(), account("LIQUIDITY", payer)),
                ("p".into(), account("POSITION", position)),
            ]
            .into(),
            entries: [
                ("o".into(), entry("h", "l", 10, "DEPOSIT_LIQUIDITY", "o")),
                (
                    "t:prepare".into(),
                    entry("l", "p", 3, "TRANSFER_PREPARE", "t"),
                ),
            ]
            .into(),
            reservations: [("t".into(), serde_json::from_str(&reservation).unwrap())].into(),
            transfers: [("t".into(), serde_json::from_str(&transfer).unwrap())].into(),
        }
    }

    #[test]
    fn books_that_add_up_have_no_problem() {
        let books = books("PREPARED", "open", [3, 10], [0, 3]);
        assert_eq!(books.problems().unwrap(), Vec::<String>::new());
        assert_eq!(books.balance("l").unwrap(), 7);
        assert_eq!(books.open().len(), 2);
    }

    #[test]
    fn each_kind_of_damage_is_seen() {
        let lost = books("PREPARED", "open", [0, 10], [0, 3])
            .problems()
            .unwrap();
        assert!(
            lost.iter()
                .any(|p| p.contains("credits exceed debits by 3")),
            "{lost:?}"
        );
        assert!(lost.iter().any(|p| p.starts_with("l keeps")), "{lost:?}");
        let spent = books("PREPARED", "open", [13, 10], [0, 3])
            .problems()
            .unwrap();
        assert!(
            spent.iter().any(|p| p.contains("its limit is 0")),
            "{spent:?}"
        );
        let held = books("PREPARED", "released", [3, 10], [0, 3])
            .problems()
            .unwrap();
        assert!(
            held.iter().any(|p| p.contains("reservations hold 0")),
            "{held:?}"
        );
        let half = books("COMMITTED", "open", [3, 10], [0, 3])
            .problems()
            .unwrap();
        assert!(
            half.iter()
                .any(|p| p.starts_with("transfer t is `COMMITTED`")),
            "{half:?}"
        );
    }
}

//! The ledger as a table: balances of all accounts, before and after.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Context as _;
use rialto::host::Host;
use rialto_engine::store::ScanRange;
use serde_json::{Value, json};

/// Where the ledger keeps its accounts.
const CONTEXT: &str = "accounts-and-balances";
const COLLECTION: &str = "accounts";

/// The first column's heading.
const HEADING: &str = "account, in minor units";
/// The label of the sums.
const SUM: &str = "sum of all accounts";
/// Columns of a row besides the account.
const NUMBERS: usize = 2 + 1 + 14 + 1 + 14 + 1 + 12;

/// Accounts with their debits and credits, in minor units.
pub struct Ledger(BTreeMap<String, (i128, i128)>);

impl Ledger {
    /// Read all accounts.
    pub fn read(host: &Host) -> anyhow::Result<Self> {
        let accounts = host
            .shared
            .engine
            .inspect(CONTEXT, COLLECTION, &ScanRange::all(), 1_000)
            .context("reading the ledger")?;
        let mut balances = BTreeMap::new();
        for account in accounts {
            let body: Value = serde_json::from_str(&account.body).context("reading an account")?;
            let amount = |name: &str| -> anyhow::Result<i128> {
                let text = body[name].as_str().unwrap_or("0");
                text.parse()
                    .with_context(|| format!("the {name} of {}", account.id))
            };
            let both = (amount("debitBalance")?, amount("creditBalance")?);
            balances.insert(account.id.to_string(), both);
        }
        Ok(Self(balances))
    }

    /// As JSON, in minor units.
    pub fn json(&self) -> Value {
        let accounts = self.0.iter().map(|(id, (debits, credits))| {
            let balance = json!({"debits": debits.to_string(), "credits": credits.to_string()});
            (id.clone(), balance)
        });
        Value::Object(accounts.collect())
    }

    /// What [`Self::json`] has written.
    ///
    /// # Errors
    /// When it is no JSON, or an amount is none.
    pub fn from_json(text: &str) -> anyhow::Result<Self> {
        let accounts: Value = serde_json::from_str(text)?;
        let accounts = accounts.as_object().context("a ledger is an object")?;
        let both = accounts.iter().map(|(id, balance)| {
            let amount = |side: &str| -> anyhow::Result<i128> {
                let text = balance[side].as_str().unwrap_or_default();
                text.parse().with_context(|| format!("the {side} of {id}"))
            };
            Ok((id.clone(), (amount("debits")?, amount("credits")?)))
        });
        both.collect::<anyhow::Result<_>>().map(Self)
    }

    /// A table of this ledger and a later one, within a number of columns: credits minus debits of changed
    /// accounts, in minor units, and the number of unchanged accounts.
    pub fn beside(&self, later: &Self, columns: usize) -> String {
        let net = |ledger: &Self, id: &str| {
            let (debits, credits) = ledger.0.get(id).copied().unwrap_or_default();
            credits - debits
        };
        let all = later.0.keys().map(|id| (id, net(self, id), net(later, id)));
        let (changed, same): (Vec<_>, Vec<_>) = all.partition(|(_, was, is)| was != is);
        let widest = changed.iter().map(|(id, ..)| id.len()).max().unwrap_or(0);
        let room = columns.saturating_sub(NUMBERS);
        let width = widest.clamp(HEADING.len(), room.max(HEADING.len()));
        let mut text = String::new();
        let mut row = |id: &str, was: &str, is: &str, change: &str| {
            // One that is too long has a line of its own.
            let id = if id.len() > width {
                let _ = writeln!(text, "  {id}");
                ""
            } else {
                id
            };
            let row = format!("  {id:<width$} {was:>14} {is:>14} {change:>12}");
            let _ = writeln!(text, "{}", row.trim_end());
        };
        row(HEADING, "before", "after", "change");
        for (id, was, is) in &changed {
            row(
                id,
                &was.to_string(),
                &is.to_string(),
                &format!("{:+}", is - was),
            );
        }
        let sum = |ledger: &Self| -> i128 { ledger.0.values().map(|(d, c)| c - d).sum() };
        let (was, is) = (sum(self).to_string(), sum(later).to_string());
        row(SUM, &was, &is, "");
        let _ = writeln!(text, "  and {} accounts that have not changed", same.len());
        text
    }
}

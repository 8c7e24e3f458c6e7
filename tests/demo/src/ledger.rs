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

    /// A table of this ledger and a later one: credits minus debits, in minor units.
    pub fn beside(&self, later: &Self) -> String {
        let mut text = String::new();
        let _ = writeln!(
            text,
            "  {:<36} {:>14} {:>14} {:>12}",
            "account (minor units)", "before", "after", "change"
        );
        for (id, (debits, credits)) in &later.0 {
            let (was_debits, was_credits) = self.0.get(id).copied().unwrap_or_default();
            let (was, is) = (was_credits - was_debits, credits - debits);
            let change = is - was;
            let change = if change == 0 {
                String::new()
            } else {
                format!("{change:+}")
            };
            let _ = writeln!(text, "  {id:<36} {was:>14} {is:>14} {change:>12}");
        }
        let sum = |ledger: &Self| -> i128 { ledger.0.values().map(|(d, c)| c - d).sum() };
        let _ = writeln!(text, "  {:<36} {:>14} {:>14}", "sum", sum(self), sum(later));
        text
    }
}

//! `rialto funds`.

use serde_json::{Value, json};

use super::{Asking, Looking, Segment, amount, shown, text};
use crate::out;

#[derive(Debug, clap::Subcommand)]
pub(in crate::cli) enum Funds {
    /// Show a participant's funds: liquidity, cover, and what it may still spend
    Show {
        /// The participant's id.
        id: Segment,
        #[command(flatten)]
        looking: Looking,
    },
    /// Ask for a deposit to be posted. The money itself moves at the settlement bank
    Deposit(Moving),
    /// Ask for a withdrawal to be posted. The money itself moves at the settlement bank
    Withdraw(Moving),
    /// Ask to move settled funds from one settlement model to another
    Move {
        /// The participant's id.
        id: Segment,
        /// The account's currency.
        currency: Segment,
        /// The amount, such as 1000.00.
        amount: String,
        /// The settlement model to take them from.
        #[arg(long, value_name = "MODEL")]
        from_model: String,
        /// The settlement model to add them to.
        #[arg(long, value_name = "MODEL")]
        to_model: String,
        #[command(flatten)]
        asking: Asking,
    },
    /// Ask to set liquidity aside as cover, to this total. 0 gives all back
    Reserve {
        /// The participant's id.
        id: Segment,
        /// The account's currency.
        currency: Segment,
        /// The amount, such as 1000.00, or a share of liquidity and cover together, such as 10%.
        amount: String,
        #[command(flatten)]
        asking: Asking,
    },
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Moving {
    /// The participant's id.
    id: Segment,
    /// The account's currency.
    currency: Segment,
    /// The amount, such as 1000.00.
    amount: String,
    /// The bank's reference. A reference is accepted once.
    #[arg(long)]
    reference: Option<String>,
    /// The settlement model of the settled funds. Without it, the participant's first.
    #[arg(long)]
    model: Option<String>,
    #[command(flatten)]
    asking: Asking,
}

impl Funds {
    pub fn run(self) -> anyhow::Result<u8> {
        match self {
            Self::Show { id, looking } => show(&id, &looking),
            Self::Deposit(moving) => moving.ask("DEPOSIT"),
            Self::Withdraw(moving) => moving.ask("WITHDRAWAL"),
            Self::Move {
                id,
                currency,
                amount: units,
                from_model,
                to_model,
                asking,
            } => {
                let body = json!({
                    "type": "MOVE",
                    "accountId": currency.0,
                    "amount": amount(&currency, &units),
                    "settlementModel": from_model,
                    "toSettlementModel": to_model,
                });
                asking.ask(&format!("/participants/{id}/funds"), body)
            }
            Self::Reserve {
                id,
                currency,
                amount,
                asking,
            } => {
                let path = format!("/participants/{id}/liquidity-cover-reservations");
                asking.ask(&path, cover(&currency, &amount))
            }
        }
    }
}

/// Parses a share or an amount to set aside.
fn cover(currency: &Segment, wanted: &str) -> Value {
    match wanted.strip_suffix('%') {
        Some(part) => json!({ "accountId": currency.0, "percentage": part.trim_end() }),
        None => json!({ "accountId": currency.0, "value": amount(currency, wanted) }),
    }
}

impl Moving {
    fn ask(self, direction: &str) -> anyhow::Result<u8> {
        let mut body = json!({
            "type": direction,
            "accountId": self.currency.0,
            "amount": amount(&self.currency, &self.amount),
        });
        if let Some(reference) = &self.reference {
            body["externalReference"] = json!(reference);
        }
        if let Some(model) = &self.model {
            body["settlementModel"] = json!(model);
        }
        let path = format!("/participants/{}/funds", self.id);
        self.asking.ask(&path, body)
    }
}

fn show(id: &Segment, looking: &Looking) -> anyhow::Result<u8> {
    let path = format!("/participants/{id}/liquidity-cover");
    let found: Value = looking.at.client()?.get(&path)?;
    if looking.json {
        out::json(&found)?;
        return Ok(0);
    }
    let accounts = found["accounts"].as_array().cloned().unwrap_or_default();
    if accounts.is_empty() {
        out::note("the participant has no account");
    }
    for of in &accounts {
        out::line(format_args!(
            "{} {}",
            text(of, "accountId"),
            text(of, "status")
        ))?;
        for (name, member) in [
            ("available", "available"),
            ("reserved", "position"),
            ("set aside", "liquidityCover"),
            ("net debit", "netDebit"),
            ("net credit", "netCredit"),
            ("threshold", "threshold"),
        ] {
            out::line(format_args!("  {name:<14} {:>24}", shown(&of[member])))?;
        }
        let cap = shown(&of["limit"]["value"]);
        out::line(format_args!("  {:<14} {cap:>24}", "net debit cap"))?;
        for settled in of["settlement"].as_array().into_iter().flatten() {
            let (has, held) = (shown(&settled["available"]), shown(&settled["reserved"]));
            let model = text(settled, "settlementModel");
            out::line(format_args!(
                "  {:<14} {has:>24}, {held} held, {model}",
                "settled"
            ))?;
        }
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_aside_is_an_amount_or_a_part() {
        let usd: Segment = "USD".parse().unwrap();
        let part = json!({ "accountId": "USD", "percentage": "12.5" });
        assert_eq!(cover(&usd, "12.5%"), part);
        let value = json!({ "accountId": "USD", "value": { "currency": "USD", "amount": "7" } });
        assert_eq!(cover(&usd, "7"), value);
    }
}

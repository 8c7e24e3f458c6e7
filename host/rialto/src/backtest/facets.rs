//! What a report says of a judged input beside its verdicts: who pays whom, and how much.
//!
//! It finds them by their names in `wit/rules`. An input of another form has none of them, and is reported all the same.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What an input is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facets {
    /// The participant that pays.
    pub payer: Option<String>,
    /// The one that is paid.
    pub payee: Option<String>,
    /// How much.
    pub amount: Option<Money>,
    /// What a quote and its transfer have in common: the transaction's id. Of a transfer without a quote, its own id.
    pub transaction: Option<String>,
}

/// An exact amount.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Money {
    /// ISO 4217.
    pub currency: String,
    /// Decimal places.
    pub scale: u8,
    /// Whole minor units.
    pub minor_units: u128,
}

/// Where inputs have who pays whom: a transfer, a request for a quote, or an agreement about one.
const SIDES: [&str; 3] = ["/transfer", "/request", "/agreement/request"];
/// Where they have the amount, the one that decides first.
const AMOUNTS: [&str; 4] = [
    "/transfer/amount",
    "/request/amount",
    "/agreement/response/transfer-amount",
    "/agreement/request/amount",
];

/// Where inputs have the transaction's id, the one that decides first.
const TRANSACTIONS: [&str; 3] = [
    "/request/transaction-id",
    "/agreement/request/transaction-id",
    "/transfer/transfer-id",
];

impl Facets {
    /// Those of an input as receipts have it.
    #[must_use]
    pub fn of(input: &Value) -> Self {
        let name = |member: &str| {
            let mut found = SIDES.iter().filter_map(|place| input.pointer(place));
            let found = found.find_map(|about| about.get(member)?.as_str());
            found.map(str::to_owned)
        };
        let mut transactions = TRANSACTIONS.iter().filter_map(|place| input.pointer(place));
        let transaction = transactions.find_map(Value::as_str);
        let mut amounts = AMOUNTS.iter().filter_map(|place| input.pointer(place));
        Self {
            payer: name("payer-fsp"),
            payee: name("payee-fsp"),
            amount: amounts.find_map(Money::of),
            transaction: transaction.map(str::to_owned),
        }
    }

    /// Whether the amount is in this currency.
    #[must_use]
    pub fn is_in(&self, currency: &str) -> bool {
        let amount = self.amount.as_ref();
        amount.is_some_and(|amount| amount.currency == currency)
    }

    /// Whether this participant pays or is paid.
    #[must_use]
    pub fn names(&self, participant: &str) -> bool {
        let both = [&self.payer, &self.payee];
        both.into_iter()
            .flatten()
            .any(|name| name.as_str() == participant)
    }
}

impl Money {
    fn of(value: &Value) -> Option<Self> {
        let half = |name: &str| value.get("minor-units")?.get(name)?.as_u64();
        Some(Self {
            currency: value.get("currency")?.as_str()?.to_owned(),
            scale: u8::try_from(value.get("scale")?.as_u64()?).ok()?,
            minor_units: u128::from(half("high")?) << 64 | u128::from(half("low")?),
        })
    }

    /// As decimal text, such as `12.50`.
    #[must_use]
    pub fn decimal(&self) -> String {
        let scale = usize::from(self.scale);
        let digits = format!("{:0>width$}", self.minor_units, width = scale + 1);
        let (whole, rest) = digits.split_at(digits.len() - scale);
        if rest.is_empty() {
            whole.to_owned()
        } else {
            format!("{whole}.{rest}")
        }
    }

    /// The band of the amount: how many digits its whole units have; 0 below one.
    #[must_use]
    pub fn band(&self) -> u32 {
        let one = 10_u128.checked_pow(u32::from(self.scale));
        let whole = one.map_or(0, |one| self.minor_units / one);
        whole.checked_ilog10().map_or(0, |power| power + 1)
    }
}

/// A band in words, such as `10 to 100`: from the first number on, and below the second one.
#[must_use]
pub fn band_words(band: u32) -> String {
    let power = |n: u32| format!("1{}", "0".repeat(n as usize));
    match band {
        0 => "below 1".to_owned(),
        digits => format!("{} to {}", power(digits - 1), power(digits)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn money(minor_units: u128, scale: u8) -> Money {
        Money {
            currency: "USD".to_owned(),
            scale,
            minor_units,
        }
    }

    #[test]
    fn inputs_of_each_step_say_who_pays_whom() {
        let amount =
            json!({ "currency": "USD", "scale": 2, "minor-units": { "high": 1, "low": 5 } });
        let about = json!({ "payer-fsp": "a", "payee-fsp": "b", "amount": amount });
        let agreement = json!({ "request": about, "response": { "transfer-amount": amount } });
        for input in [
            json!({ "now": 1, "transfer": about, "agreement": null }),
            json!({ "now": 1, "request": about }),
            json!({ "now": 1, "agreement": agreement }),
        ] {
            let found = Facets::of(&input);
            assert_eq!(found.payer.as_deref(), Some("a"));
            assert!(found.names("b") && !found.names("c"));
            assert_eq!(found.amount, Some(money((1 << 64) + 5, 2)));
        }
        assert_eq!(Facets::of(&json!({ "now": 1 })), Facets::default());
        assert_eq!(Facets::of(&json!([7])), Facets::default());
    }

    #[test]
    fn amounts_have_a_decimal_form_and_a_band() {
        for (minor, scale, decimal, band) in [
            (0, 0, "0", "below 1"),
            (5, 2, "0.05", "below 1"),
            (99, 2, "0.99", "below 1"),
            (100, 2, "1.00", "1 to 10"),
            (999, 2, "9.99", "1 to 10"),
            (1_000, 2, "10.00", "10 to 100"),
            (1_000, 0, "1000", "1000 to 10000"),
            (u128::MAX, 255, "", "below 1"),
        ] {
            let money = money(minor, scale);
            if !decimal.is_empty() {
                assert_eq!(money.decimal(), decimal);
            }
            assert_eq!(band_words(money.band()), band, "{minor} at scale {scale}");
        }
    }
}

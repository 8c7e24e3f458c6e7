//! Liquidity set aside as cover: an amount, or a percentage at the time of the approval (decision 7).

use super::{Change, account_of, compare, is_approved, refused};
use crate::bindings::rialto::accounts_and_balances::{
    get_current_liquidity_position as current_position,
    record_liquidity_reservation_entries as reservation_entries,
};
use crate::participants::{self, Participant};
use crate::world::{Event, World};
use rialto_sdk::bindings::rialto::common::types::Money;
use rialto_sdk::money::{minor_units, money};
use rialto_sdk::operators::{Amount, Kind, Problem};
use rialto_sdk::scheme::Scheme;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Decimal places of a percentage.
const PLACES: usize = 4;
/// A hundred percent, in its smallest parts.
const WHOLE: u128 = 1_000_000;

/// The total to set aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cover {
    /// The currency of the account.
    pub account_id: String,
    /// An amount; 0 gives all back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Amount>,
    /// A percentage of liquidity and cover, from 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percentage: Option<String>,
}

impl Cover {
    /// The total to set aside, with the current liquidity.
    ///
    /// # Errors
    /// If it is not a valid amount, or the liquidity is too little.
    pub fn total(&self, world: &mut dyn World, participant: &str) -> Result<Money, Problem> {
        let wanted = match (&self.value, &self.percentage) {
            (Some(value), None) => {
                value.is_in(&self.account_id)?;
                Wanted::Amount(value.money(world.scheme())?)
            }
            (None, Some(percentage)) => Wanted::Part(parts(percentage)?),
            _ => {
                let detail = "give either `value` or `percentage`";
                return Err(Problem::new(Kind::Malformed, detail));
            }
        };
        let request = current_position::Request {
            participant: participant.to_owned(),
            currency: self.account_id.clone(),
        };
        let position = world.position(&request);
        let position = position.map_err(|error| refused(error, Kind::InsufficientCover))?;
        let liquidity = &position.liquidity.available;
        let all = minor_units(liquidity) + minor_units(&position.cover);
        let total = match wanted {
            Wanted::Amount(total) => total,
            Wanted::Part(part) => money(&liquidity.currency, liquidity.scale, share(all, part)),
        };
        if minor_units(&total) > all {
            let most = Amount::from(&money(&liquidity.currency, liquidity.scale, all));
            let detail = format!(
                "no more than {} {} can be set aside",
                most.amount, most.currency
            );
            return Err(
                Problem::new(Kind::InsufficientCover, detail).with("available", json!(most))
            );
        }
        Ok(total)
    }
}

enum Wanted {
    Amount(Money),
    Part(u128),
}

/// A percentage in its smallest parts.
fn parts(percentage: &str) -> Result<u128, Problem> {
    let (whole, decimals) = percentage.split_once('.').unwrap_or((percentage, ""));
    let digits = format!("{whole}{decimals:0<PLACES$}");
    let is_number = !whole.is_empty()
        && decimals.len() <= PLACES
        && digits.bytes().all(|byte| byte.is_ascii_digit());
    let parts = digits.parse::<u128>().ok();
    parts
        .filter(|parts| is_number && *parts <= WHOLE)
        .ok_or_else(|| {
            let detail = format!(
                "`{percentage}` must be a percentage from 0 to 100 with at most {PLACES} decimal places"
            );
            Problem::new(Kind::PercentageOutOfRange, detail)
        })
}

/// A share of an amount, rounded down. Exact even if the product does not fit.
fn share(all: u128, part: u128) -> u128 {
    all / WHOLE * part + all % WHOLE * part / WHOLE
}

impl Change for Cover {
    fn target(&self, _: &Scheme) -> String {
        self.account_id.clone()
    }

    fn based_on(&self, _: &Participant) -> Value {
        Value::Null
    }

    fn judge(&self, world: &mut dyn World, participant: &Participant) -> Result<(), Problem> {
        is_approved(participant)?;
        let account = account_of(participant, &self.account_id)?;
        if !account.enabled {
            let detail = format!("the account {} is disabled", self.account_id);
            return Err(Problem::new(Kind::AccountDisabled, detail));
        }
        self.total(world, &participant.participant).map(drop)
    }

    fn make(
        &self,
        world: &mut dyn World,
        participant: &mut Participant,
        request: &str,
    ) -> Result<Vec<Event>, Problem> {
        let total = self.total(world, &participant.participant)?;
        let entries = reservation_entries::Request {
            instruction_id: request.to_owned(),
            participant: participant.participant.clone(),
            total: total.clone(),
        };
        let posted = world.reserve(&entries);
        let posted = posted.map_err(|error| refused(error, Kind::InsufficientCover))?;
        let since = world.now();
        if let Some(account) = participant.account_mut(&self.account_id) {
            account.cover = Some(participants::Cover {
                amount: total,
                request: request.to_owned(),
                since,
            });
        }
        compare(world, &participant.participant, &posted.liquidity);
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_read_exactly() {
        assert_eq!(parts("0").unwrap(), 0);
        assert_eq!(parts("100").unwrap(), WHOLE);
        assert_eq!(parts("100.0000").unwrap(), WHOLE);
        assert_eq!(parts("12.5").unwrap(), 125_000);
        assert_eq!(parts("0.0001").unwrap(), 1);
        for wrong in ["100.0001", "101", "1.00001", "", "x", "-1", "+1", ".5"] {
            let refused = parts(wrong).unwrap_err();
            assert_eq!(refused.kind, Kind::PercentageOutOfRange, "{wrong}");
        }
    }

    #[test]
    fn a_part_is_rounded_down_and_never_overflows() {
        assert_eq!(share(999, 333_333), 332);
        assert_eq!(share(7, WHOLE), 7);
        assert_eq!(share(u128::MAX, WHOLE), u128::MAX);
        assert_eq!(share(u128::MAX, 0), 0);
    }
}

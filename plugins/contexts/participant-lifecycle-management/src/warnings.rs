//! Warnings about a participant's liquidity: it is below its threshold, or could not cover a transfer. Each is
//! given once, and again after the liquidity has recovered (choreography 6.9 to 6.11).

use crate::bindings::rialto::accounts_and_balances::request_accounts_positions::Request;
use crate::bindings::rialto::accounts_and_balances::types::{
    AccountPosition, AccountStatus, LedgerAccountType,
};
use crate::bindings::rialto::participant_lifecycle_management::participant_liquidity_threshold_exceeded::{
    Event, Warning,
};
use crate::world::{self, World};
use rialto_sdk::documents::{Collection, Range};
use rialto_sdk::money::minor_units;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A document of the collection `liquidity-warnings`: a given warning. It is removed when the liquidity has
/// recovered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Given {
    /// UTC, milliseconds since 1970.
    pub warned_at: u64,
}

/// The most warnings of one participant.
const GIVEN_MAX: u32 = 1_000;

/// Given warnings.
pub(crate) const WARNINGS: Collection<Given> = Collection::new("liquidity-warnings");

/// Gives a warning, unless it was given before. Returns whether it gave one.
pub fn warn(
    world: &mut dyn World,
    participant: String,
    warning: Warning,
    position: AccountPosition,
) -> bool {
    let currency = position.available.currency.clone();
    let id = id(&participant, &currency, warning);
    if WARNINGS.within(world).get_for_update(&id).is_some() {
        return false;
    }
    let warned_at = world.now();
    WARNINGS.within(world).put(&id, &Given { warned_at });
    world.publish(world::Event::Warned(Event {
        participant,
        currency,
        warning,
        position,
        warned_at,
    }));
    true
}

/// Handles a rise of a participant's liquidity: removes warnings that no longer hold.
pub fn recovered(world: &mut dyn World, participant: &str, position: &AccountPosition) {
    let available = minor_units(&position.available);
    let threshold = position.threshold.as_ref().map(minor_units);
    // Without a threshold, any available amount ends the warning.
    if available < threshold.unwrap_or(1) {
        return;
    }
    for warning in [Warning::Threshold, Warning::Limit] {
        let id = id(participant, &position.available.currency, warning);
        if WARNINGS.within(world).get_for_update(&id).is_some() {
            WARNINGS.within(world).delete(&id);
        }
    }
}

/// Handles the release of a participant's reserved funds: removes warnings that no longer hold. The event has
/// no currency, so all currencies are checked; a participant has few warnings.
///
/// # Panics
/// If the ledger does not know the account of a warning.
pub fn released(world: &mut dyn World, participant: &str) {
    // Two per currency, and a scheme has tens of currencies.
    let given = Range::Prefix(format!("{participant}/"));
    let given = WARNINGS.within(world).scan(&given, None, GIVEN_MAX);
    let currency = |id: &str| id.split('/').nth(1).map(str::to_owned);
    let currencies = given.documents.iter().filter_map(|(id, _)| currency(id));
    for currency in currencies.collect::<BTreeSet<_>>() {
        let request = Request {
            participant: participant.to_owned(),
            currency: Some(currency),
        };
        // The accounts alone: what is owed in batches does not matter here, and may be much to look at.
        let accounts = world.positions(&request).unwrap_or_else(|error| {
            panic!("{participant} was warned and has no account: {error:?}")
        });
        let is_liquidity = |of: &&AccountStatus| of.account_type == LedgerAccountType::Liquidity;
        let liquidity = accounts.iter().find(is_liquidity);
        let liquidity = liquidity
            .unwrap_or_else(|| panic!("{participant} was warned and has no liquidity account"));
        recovered(world, participant, &liquidity.position);
    }
}

fn id(participant: &str, currency: &str, warning: Warning) -> String {
    let word = match warning {
        Warning::Threshold => "threshold",
        Warning::Limit => "limit",
    };
    format!("{participant}/{currency}/{word}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::rialto::accounts_and_balances::create_participant_accounts_with_limits as create_accounts;
    use crate::bindings::rialto::accounts_and_balances::types::AccountWithLimit;
    use crate::tests::fake::Fake;
    use crate::world::Ledger as _;
    use rialto_sdk::money::money;

    fn position(available: u128, threshold: Option<u128>) -> AccountPosition {
        AccountPosition {
            account_id: "payerfsp.USD.liquidity".to_owned(),
            debit_balance: money("USD", 2, 0),
            credit_balance: money("USD", 2, available),
            available: money("USD", 2, available),
            threshold: threshold.map(|units| money("USD", 2, units)),
        }
    }

    #[test]
    fn a_warning_is_given_once_until_the_liquidity_has_recovered() {
        let mut world = Fake::new();
        let warned = |world: &mut Fake, warning| {
            let before = world.published.len();
            let given = warn(world, "payerfsp".to_owned(), warning, position(9, Some(10)));
            let published = world.published.len() - before;
            assert_eq!(usize::from(given), published);
            published
        };
        assert_eq!(warned(&mut world, Warning::Threshold), 1);
        assert_eq!(warned(&mut world, Warning::Threshold), 0, "once");
        assert_eq!(warned(&mut world, Warning::Limit), 1, "it is another one");
        recovered(&mut world, "payerfsp", &position(9, Some(10)));
        recovered(&mut world, "otherfsp", &position(10, Some(10)));
        assert_eq!(warned(&mut world, Warning::Threshold), 0, "not yet");
        recovered(&mut world, "payerfsp", &position(10, Some(10)));
        assert_eq!(warned(&mut world, Warning::Threshold), 1);
        assert_eq!(warned(&mut world, Warning::Limit), 1);
        let Some(world::Event::Warned(last)) = world.published.last() else {
            panic!("the last event is no warning");
        };
        assert_eq!((last.currency.as_str(), last.warned_at), ("USD", world.now));
    }

    #[test]
    fn warning_rearms_when_reserved_funds_return() {
        let mut world = Fake::new();
        let account = |currency: &str, scale, threshold: Option<u128>| AccountWithLimit {
            currency: currency.to_owned(),
            scale,
            net_debit_cap: None,
            liquidity_threshold: threshold.map(|units| money(currency, scale, units)),
        };
        for participant in ["payerfsp", "payerfsp2"] {
            let accounts = vec![account("USD", 2, Some(10)), account("TZS", 0, None)];
            let request = create_accounts::Request {
                participant: participant.to_owned(),
                accounts,
            };
            world.open(&request).unwrap();
            for currency in ["USD", "TZS"] {
                let mut low = position(0, None);
                low.available = money(currency, 2, 0);
                for warning in [Warning::Threshold, Warning::Limit] {
                    assert!(warn(
                        &mut world,
                        participant.to_owned(),
                        warning,
                        low.clone()
                    ));
                }
            }
        }
        let given = |world: &Fake| -> Vec<String> {
            let given = world.documents("liquidity-warnings").into_keys();
            given.filter(|id| id.starts_with("payerfsp/")).collect()
        };
        world.book("payerfsp", "USD").liquidity = 9;
        world.batches_are_too_many = true;
        released(&mut world, "payerfsp");
        assert_eq!(given(&world).len(), 4, "not enough of it is back");
        world.book("payerfsp", "USD").liquidity = 10;
        released(&mut world, "payerfsp");
        assert_eq!(
            given(&world),
            ["payerfsp/TZS/limit", "payerfsp/TZS/threshold"]
        );
        world.book("payerfsp", "TZS").liquidity = 1;
        released(&mut world, "payerfsp");
        assert_eq!(given(&world), [""; 0]);
        released(&mut world, "payerfsp");
        let all = world.documents("liquidity-warnings");
        assert_eq!(all.len(), 4, "others' warnings stay: {all:?}");
        let low = position(9, Some(10));
        let again = warn(&mut world, "payerfsp".to_owned(), Warning::Threshold, low);
        assert!(again, "it is given anew");
    }

    #[test]
    fn without_a_threshold_anything_received_is_a_recovery() {
        let mut world = Fake::new();
        warn(
            &mut world,
            "payerfsp".to_owned(),
            Warning::Limit,
            position(0, None),
        );
        recovered(&mut world, "payerfsp", &position(0, None));
        assert_eq!(world.documents("liquidity-warnings").len(), 1);
        recovered(&mut world, "payerfsp", &position(1, None));
        assert_eq!(world.documents("liquidity-warnings").len(), 0);
    }
}

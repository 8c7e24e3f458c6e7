//! Warnings of a participant's liquidity: that it has fallen below its threshold, or could not cover a
//! transfer. Each is given once; it is given anew when the liquidity has recovered in between
//! (choreography 6.9 to 6.11).

use crate::bindings::rialto::accounts_and_balances::types::AccountPosition;
use crate::bindings::rialto::participant_lifecycle_management::participant_liquidity_threshold_exceeded::{
    Event, Warning,
};
use crate::world::{self, World};
use rialto_sdk::documents::Collection;
use rialto_sdk::money::minor_units;
use serde::{Deserialize, Serialize};

/// A document of the collection `liquidity-warnings`: a warning that has been given. It goes when
/// the liquidity has recovered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Given {
    /// UTC, milliseconds since 1970.
    pub warned_at: u64,
}

/// Warnings that have been given.
pub(crate) const WARNINGS: Collection<Given> = Collection::new("liquidity-warnings");

/// A warning is due; it is given unless it has been. Answers whether it is.
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

/// A participant has received funds: warnings that its liquidity is above again are forgotten.
pub fn recovered(world: &mut dyn World, participant: &str, position: &AccountPosition) {
    let available = minor_units(&position.available);
    let threshold = position.threshold.as_ref().map(minor_units);
    // Without a threshold, something is more than the nothing that could not cover a transfer.
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
    use crate::tests::fake::Fake;
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

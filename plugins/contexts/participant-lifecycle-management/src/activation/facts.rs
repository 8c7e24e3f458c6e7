//! Facts of the scheme that accounts depend on: the hub's name and the scale of their currency. A release
//! cannot change them while accounts exist.
//!
//! They are stored per currency, with its first account, so that an activation reads few documents and not all
//! participants.

use crate::participants::Participant;
use rialto_sdk::documents::{Collection, Store};
use rialto_sdk::scheme::Scheme;
use serde::{Deserialize, Serialize};

/// The facts that the accounts of a currency depend on.
pub(crate) const KEPT: Collection<Kept> = Collection::new("kept-currencies");

/// A document of the collection `kept-currencies`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Kept {
    /// The participant id of the hub.
    hub: String,
    /// Decimal places.
    scale: u8,
}

/// Checks that a release keeps the facts of currencies with accounts. Facts that no account uses may change.
///
/// # Panics
/// If it changes one.
pub fn judge(store: &mut (impl Store + ?Sized), scheme: &Scheme) {
    for currency in &scheme.currencies {
        if let Some(kept) = KEPT.within(store).get(&currency.code) {
            insist(&kept, &scheme.hub, &currency.code, currency.scale);
        }
    }
}

/// Stores the facts for the accounts of a currency.
///
/// # Panics
/// If there are accounts with other facts.
pub fn keep(store: &mut (impl Store + ?Sized), hub: &str, currency: &str, scale: u8) {
    if let Some(kept) = KEPT.within(store).get(currency) {
        insist(&kept, hub, currency, scale);
        return;
    }
    let hub = hub.to_owned();
    KEPT.within(store).put(currency, &Kept { hub, scale });
}

/// As [`judge`], for accounts from before facts were stored. Stores the facts.
///
/// # Panics
/// As [`judge`].
pub fn judge_accounts(
    store: &mut (impl Store + ?Sized),
    scheme: &Scheme,
    participant: &Participant,
) {
    for account in &participant.accounts {
        // A removed currency may come back unchanged.
        let scale = scheme.scale_of(&account.currency).unwrap_or(account.scale);
        let hub = scheme.hub.clone();
        let kept = Kept {
            hub,
            scale: account.scale,
        };
        insist(&kept, &scheme.hub, &account.currency, scale);
        keep(store, &scheme.hub, &account.currency, account.scale);
    }
}

fn insist(kept: &Kept, hub: &str, currency: &str, scale: u8) {
    assert!(
        kept.hub == hub,
        "the release names the hub {hub:?}, but the accounts in {currency} are of the hub {:?}; the hub's name cannot change once there are accounts",
        kept.hub
    );
    assert!(
        kept.scale == scale,
        "the release has {currency} with {scale} decimal places, but its accounts have {}; the scale of a currency cannot change once there are accounts",
        kept.scale
    );
}

//! Facts of the scheme that accounts are kept by: what the hub is called, and how exact their currency is. A
//! release cannot change them under accounts that there are.
//!
//! They are kept by currency, with its first account: an activation reads these few documents, not all
//! participants.

use crate::participants::Participant;
use rialto_sdk::documents::{Collection, Store};
use rialto_sdk::scheme::Scheme;
use serde::{Deserialize, Serialize};

/// What the accounts of a currency are kept by.
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

/// Insist that a release says of its currencies what their accounts are kept by. What no account uses may
/// change.
///
/// # Panics
/// When it says something else.
pub fn judge(store: &mut (impl Store + ?Sized), scheme: &Scheme) {
    for currency in &scheme.currencies {
        if let Some(kept) = KEPT.within(store).get(&currency.code) {
            insist(&kept, &scheme.hub, &currency.code, currency.scale);
        }
    }
}

/// Keep by what the accounts of a currency are opened.
///
/// # Panics
/// When there are some that are kept by something else.
pub fn keep(store: &mut (impl Store + ?Sized), hub: &str, currency: &str, scale: u8) {
    if let Some(kept) = KEPT.within(store).get(currency) {
        insist(&kept, hub, currency, scale);
        return;
    }
    let hub = hub.to_owned();
    KEPT.within(store).put(currency, &Kept { hub, scale });
}

/// As [`judge`], for the accounts of a participant of before facts were kept; from now on they are.
///
/// # Panics
/// As [`judge`].
pub fn judge_accounts(
    store: &mut (impl Store + ?Sized),
    scheme: &Scheme,
    participant: &Participant,
) {
    for account in &participant.accounts {
        // A currency that goes may come back as it was.
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
        "the release calls the hub {hub:?}, and the accounts in {currency} are kept beside those of {:?}: the hub's name cannot change any more",
        kept.hub
    );
    assert!(
        kept.scale == scale,
        "the release has {currency} with {scale} decimal places, and its accounts are kept with {}: the scale of a currency that accounts use cannot change",
        kept.scale
    );
}

//! An account's threshold: operators are warned when liquidity falls below it (decision 9).

use super::{Change, account_of, compare, is_in, nothing_changes, refused};
use crate::bindings::rialto::accounts_and_balances::update_participant_account_threshold as account_threshold;
use crate::bindings::rialto::participant_lifecycle_management::participant_account_threshold_updated;
use crate::participants::Participant;
use crate::world::{Event, World};
use rialto_sdk::bindings::rialto::common::types::Money;
use rialto_sdk::operators::{Amount, Kind, Problem};
use rialto_sdk::scheme::Scheme;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The requested threshold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThresholdUpdate {
    /// The currency of the account.
    pub account_id: String,
    /// None: no warnings.
    pub threshold: Option<Amount>,
}

impl ThresholdUpdate {
    fn money(&self, world: &mut dyn World) -> Result<Option<Money>, Problem> {
        let threshold = self.threshold.as_ref().map(|threshold| {
            threshold.is_in(&self.account_id)?;
            threshold.money(world.scheme())
        });
        threshold.transpose()
    }
}

impl Change for ThresholdUpdate {
    fn target(&self, _: &Scheme) -> String {
        self.account_id.clone()
    }

    fn account(&self) -> Option<&str> {
        Some(&self.account_id)
    }

    fn based_on(&self, participant: &Participant) -> Value {
        let account = participant.account(&self.account_id);
        let threshold = account.and_then(|account| account.liquidity_threshold.as_ref());
        json!(threshold.map(Amount::from))
    }

    fn judge(&self, world: &mut dyn World, participant: &Participant) -> Result<(), Problem> {
        is_in(participant)?;
        let account = account_of(participant, &self.account_id)?;
        if self.money(world)? == account.liquidity_threshold {
            return Err(nothing_changes());
        }
        Ok(())
    }

    fn make(
        &self,
        world: &mut dyn World,
        participant: &mut Participant,
        _: &str,
    ) -> Result<Vec<Event>, Problem> {
        let after = self.money(world)?;
        let id = participant.participant.clone();
        let set = world.set_thresholds(&account_threshold::Request {
            participant: id.clone(),
            accounts: vec![account_threshold::AccountThreshold {
                currency: self.account_id.clone(),
                threshold: after.clone(),
            }],
        });
        let positions = set.map_err(|error| refused(error, Kind::InsufficientFunds))?;
        let account = account_of(participant, &self.account_id)?;
        let (ids, before) = (account.ids(&id), account.liquidity_threshold.clone());
        if let Some(account) = participant.account_mut(&self.account_id) {
            account.liquidity_threshold.clone_from(&after);
        }
        for position in &positions {
            compare(world, &id, position);
        }
        let event = participant_account_threshold_updated::Event {
            participant: id,
            ids,
            before,
            after,
            updated_at: world.now(),
        };
        Ok(vec![Event::ThresholdUpdated(event)])
    }
}

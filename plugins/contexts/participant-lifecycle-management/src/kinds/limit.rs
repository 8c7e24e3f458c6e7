//! An account's limit: the highest net debit position (decision 8).

use super::{Change, account_of, below_use, compare, is_in, nothing_changes, refused};
use crate::bindings::rialto::accounts_and_balances::{
    get_current_liquidity_position as current_position,
    update_participant_account_limit as account_limit,
};
use crate::bindings::rialto::participant_lifecycle_management::participant_account_limit_updated;
use crate::participants::Participant;
use crate::world::{Event, World};
use rialto_sdk::bindings::rialto::common::types::Money;
use rialto_sdk::money::minor_units;
use rialto_sdk::operators::{Amount, Kind, Problem};
use rialto_sdk::scheme::Scheme;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The type of a limit. There is only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum LimitType {
    /// Reserved, and unsettled debits minus unsettled credits.
    NetDebitCap,
}

/// A limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// Its type.
    pub r#type: LimitType,
    /// The limit.
    pub value: Amount,
}

impl Limit {
    /// The limit of a cap.
    #[must_use]
    pub fn of(cap: &Money) -> Self {
        Self {
            r#type: LimitType::NetDebitCap,
            value: Amount::from(cap),
        }
    }
}

/// The requested limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitUpdate {
    /// The currency of the account.
    pub account_id: String,
    /// None: only the liquidity bounds it.
    pub limit: Option<Limit>,
}

impl LimitUpdate {
    fn cap(&self, world: &mut dyn World) -> Result<Option<Money>, Problem> {
        let cap = self.limit.as_ref().map(|limit| {
            limit.value.is_in(&self.account_id)?;
            limit.value.money(world.scheme())
        });
        cap.transpose()
    }
}

impl Change for LimitUpdate {
    fn target(&self, _: &Scheme) -> String {
        self.account_id.clone()
    }

    fn account(&self) -> Option<&str> {
        Some(&self.account_id)
    }

    fn based_on(&self, participant: &Participant) -> Value {
        let account = participant.account(&self.account_id);
        let cap = account.and_then(|account| account.net_debit_cap.as_ref());
        json!(cap.map(Limit::of))
    }

    fn judge(&self, world: &mut dyn World, participant: &Participant) -> Result<(), Problem> {
        is_in(participant)?;
        let account = account_of(participant, &self.account_id)?;
        let cap = self.cap(world)?;
        if cap == account.net_debit_cap {
            return Err(nothing_changes());
        }
        let Some(cap) = cap else {
            return Ok(());
        };
        let request = current_position::Request {
            participant: participant.participant.clone(),
            currency: self.account_id.clone(),
        };
        let position = world.position(&request);
        let position = position.map_err(|error| refused(error, Kind::InsufficientFunds))?;
        if minor_units(&cap) < minor_units(&position.net_debit) {
            return Err(below_use(&Amount::from(&position.net_debit)));
        }
        Ok(())
    }

    fn make(
        &self,
        world: &mut dyn World,
        participant: &mut Participant,
        _: &str,
    ) -> Result<Vec<Event>, Problem> {
        let after = self.cap(world)?;
        let id = participant.participant.clone();
        let set = world.set_limit(&account_limit::Request {
            participant: id.clone(),
            currency: self.account_id.clone(),
            net_debit_cap: after.clone(),
        });
        let position = set.map_err(|error| refused(error, Kind::InsufficientFunds))?;
        let account = account_of(participant, &self.account_id)?;
        let (ids, before) = (account.ids(&id), account.net_debit_cap.clone());
        if let Some(account) = participant.account_mut(&self.account_id) {
            account.net_debit_cap.clone_from(&after);
        }
        compare(world, &id, &position);
        let event = participant_account_limit_updated::Event {
            participant: id,
            ids,
            before,
            after,
            updated_at: world.now(),
        };
        Ok(vec![Event::LimitUpdated(event)])
    }
}

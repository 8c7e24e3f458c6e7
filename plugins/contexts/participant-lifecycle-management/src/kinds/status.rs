//! Enabling and disabling an account. Reserved transfers still end.

use super::{Change, account_of, is_in, nothing_changes, refused};
use crate::bindings::rialto::accounts_and_balances::enabled_disabled_participant_account as enabled_disabled;
use crate::bindings::rialto::participant_lifecycle_management::{
    participant_account_disabled, participant_account_enabled,
};
use crate::participants::Participant;
use crate::world::{Event, World};
use rialto_sdk::operators::{Kind, Problem};
use rialto_sdk::scheme::Scheme;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The new status of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Status {
    /// Takes transfers and funds.
    Enabled,
    /// Takes none.
    Disabled,
}

/// The requested status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusUpdate {
    /// The currency of the account.
    pub account_id: String,
    /// The status.
    pub status: Status,
}

impl Change for StatusUpdate {
    fn target(&self, _: &Scheme) -> String {
        self.account_id.clone()
    }

    fn account(&self) -> Option<&str> {
        Some(&self.account_id)
    }

    fn based_on(&self, participant: &Participant) -> Value {
        json!(
            participant
                .account(&self.account_id)
                .map(|account| account.enabled)
        )
    }

    fn judge(&self, _: &mut dyn World, participant: &Participant) -> Result<(), Problem> {
        is_in(participant)?;
        let account = account_of(participant, &self.account_id)?;
        if account.enabled == (self.status == Status::Enabled) {
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
        let id = participant.participant.clone();
        let request = enabled_disabled::Request {
            participant: id.clone(),
            currency: self.account_id.clone(),
            status: match self.status {
                Status::Enabled => enabled_disabled::Status::Enabled,
                Status::Disabled => enabled_disabled::Status::Disabled,
            },
        };
        let done = world.enable(&request);
        done.map_err(|error| refused(error, Kind::InsufficientFunds))?;
        let ids = account_of(participant, &self.account_id)?.ids(&id);
        if let Some(account) = participant.account_mut(&self.account_id) {
            account.enabled = self.status == Status::Enabled;
        }
        let updated_at = world.now();
        Ok(vec![match self.status {
            Status::Enabled => Event::AccountEnabled(participant_account_enabled::Event {
                participant: id,
                ids,
                updated_at,
            }),
            Status::Disabled => Event::AccountDisabled(participant_account_disabled::Event {
                participant: id,
                ids,
                updated_at,
            }),
        }])
    }
}

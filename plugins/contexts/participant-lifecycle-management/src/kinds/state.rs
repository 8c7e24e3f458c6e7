//! Enabling and disabling a participant. Reserved transfers still end.

use super::{Change, is_in, nothing_changes};
use crate::activation;
use crate::bindings::rialto::participant_lifecycle_management::participant_state_updated;
use crate::participants::{Participant, State};
use crate::world::{Event, World};
use rialto_sdk::operators::Problem;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The new state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum To {
    /// May transact.
    Approved,
    /// May not.
    Disabled,
}

/// The requested state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StateUpdate {
    /// The state.
    pub state: To,
}

impl StateUpdate {
    const fn state(&self) -> State {
        match self.state {
            To::Approved => State::Approved,
            To::Disabled => State::Disabled,
        }
    }
}

impl Change for StateUpdate {
    fn based_on(&self, participant: &Participant) -> Value {
        json!(participant.state)
    }

    fn judge(&self, world: &mut dyn World, participant: &Participant) -> Result<(), Problem> {
        is_in(participant)?;
        // A participant of an incomplete release is approved, but may not transact.
        let is_left =
            self.state() == State::Approved && activation::waits_for(world, participant).is_some();
        if participant.state == self.state() && !is_left {
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
        let before = participant.state;
        participant.state = self.state();
        if participant.state == State::Approved {
            // Two operators have decided: it no longer waits for a release.
            participant.created_by = None;
        }
        Ok(vec![Event::StateUpdated(
            participant_state_updated::Event {
                participant: participant.participant.clone(),
                before: before.into(),
                after: participant.state.into(),
                may_transact: participant.may_transact(),
                updated_at: world.now(),
            },
        )])
    }
}

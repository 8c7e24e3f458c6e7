//! A new participant: with its endpoints, and accounts with their limits and thresholds.

use super::account::{self, Terms};
use super::endpoints::{self, Endpoint};
use super::{Change, refused};
use crate::activation::{PISPS, Pisp, facts};
use crate::bindings::rialto::accounts_and_balances::create_participant_accounts_with_limits as create_accounts;
use crate::bindings::rialto::participant_lifecycle_management::participant_created;
use crate::participants::{Participant, State, Type};
use crate::world::{Event, World};
use rialto_sdk::operators::{Kind, Problem};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The new participant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewParticipant {
    /// 1 to 32 characters.
    pub id: String,
    /// For people.
    pub name: String,
    /// Its type.
    pub r#type: Type,
    /// Its endpoints.
    pub endpoints: Vec<Endpoint>,
    /// One for each currency.
    pub accounts: Vec<Terms>,
}

impl NewParticipant {
    /// The participant's document until the decision.
    #[must_use]
    pub fn applicant(&self, before: Option<Participant>, now: u64) -> Participant {
        let before = before.as_ref();
        Participant {
            participant: self.id.clone(),
            name: self.name.clone(),
            participant_type: self.r#type,
            state: State::PendApproval,
            callback_base_url: endpoints::fspiop(&self.endpoints),
            source_addresses: None,
            last_certificate: None,
            accounts: Vec::new(),
            created_at: now,
            updated_at: now,
            version: before.map_or(0, |before| before.version),
            changes: before.map_or(0, |before| before.changes),
            last_change_hash: before
                .map(|before| before.last_change_hash.clone())
                .unwrap_or_default(),
            brought: None,
            created_by: None,
            waits: false,
        }
    }
}

impl Change for NewParticipant {
    fn based_on(&self, participant: &Participant) -> Value {
        json!(participant.state)
    }

    fn judge(&self, world: &mut dyn World, _: &Participant) -> Result<(), Problem> {
        endpoints::judge(&self.endpoints)?;
        if self.r#type == Type::Pisp && !self.accounts.is_empty() {
            let detail = "a participant of type PISP cannot have accounts";
            return Err(Problem::new(Kind::Malformed, detail));
        }
        for (place, terms) in self.accounts.iter().enumerate() {
            account::opening(world.scheme(), terms)?;
            let twice = self.accounts[..place].iter();
            if twice
                .into_iter()
                .any(|other| other.currency == terms.currency)
            {
                let detail = format!("there are two accounts in {}", terms.currency);
                return Err(Problem::new(Kind::AccountExists, detail));
            }
        }
        Ok(())
    }

    fn make(
        &self,
        world: &mut dyn World,
        participant: &mut Participant,
        _: &str,
    ) -> Result<Vec<Event>, Problem> {
        let scheme = world.scheme();
        let accounts = self.accounts.iter();
        let accounts = accounts.map(|terms| account::opening(scheme, terms));
        let accounts = accounts.collect::<Result<Vec<_>, _>>()?;
        if !accounts.is_empty() {
            let request = create_accounts::Request {
                participant: self.id.clone(),
                accounts: accounts.clone(),
            };
            let ids = world.open(&request);
            let ids = ids.map_err(|error| refused(error, Kind::InsufficientFunds))?;
            assert_eq!(ids.len(), accounts.len(), "the ledger answers each account");
            for account in &accounts {
                facts::keep(world, &scheme.hub, &account.currency, account.scale);
            }
            let opened = ids.into_iter().zip(accounts);
            participant.accounts = opened
                .zip(&self.accounts)
                .map(|((ids, opening), terms)| account::opened(ids, opening, terms.name.clone()))
                .collect();
        }
        if self.r#type == Type::Pisp {
            let pisp = Pisp {
                participant: self.id.clone(),
            };
            PISPS.within(world).put(&self.id, &pisp);
        }
        participant.state = State::Approved;
        Ok(vec![Event::Created(participant_created::Event {
            participant: self.id.clone(),
            name: self.name.clone(),
            participant_type: participant.participant_type.into(),
            accounts: participant.accounts_with_terms(),
            created_at: world.now(),
        })])
    }

    fn reject(&self, participant: &mut Participant) {
        participant.state = State::Rejected;
    }
}

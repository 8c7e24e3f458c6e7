//! A deposit or a withdrawal: the money itself moves at the settlement bank, and the scheme records it. Or a
//! move of settled funds between two settlement models, which only the scheme makes.

use super::{Change, account_of, compare, is_approved, is_in, refused};
use crate::bindings::rialto::accounts_and_balances::{
    get_current_liquidity_position as current_position,
    manage_funds_credit_debit_pair_instruction as manage_funds,
    move_settled_funds as between_models, request_accounts_positions as accounts_positions,
    types::{LedgerAccountType, LedgerError},
};
use crate::participants::Participant;
use crate::world::{Event, World};
use rialto_sdk::bindings::rialto::common::types::Money;
use rialto_sdk::canonical::sha256_hex;
use rialto_sdk::documents::Collection;
use rialto_sdk::money::minor_units;
use rialto_sdk::operators::{Amount, Kind, Problem};
use rialto_sdk::scheme::Scheme;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Direction {
    /// Into the scheme.
    Deposit,
    /// Out of it.
    Withdrawal,
    /// From one settlement model to another.
    Move,
}

impl Direction {
    const fn name(self) -> &'static str {
        match self {
            Self::Deposit => "DEPOSIT",
            Self::Withdrawal => "WITHDRAWAL",
            Self::Move => "MOVE",
        }
    }
}

/// References of the bank that were used: each moves funds once.
pub(crate) const REFERENCES: Collection<Used> = Collection::new("funds-references");

/// A document of the collection `funds-references`, by participant, currency, direction and reference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Used {
    /// The request.
    request: String,
}

/// A request to move funds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Funds {
    /// The direction.
    pub r#type: Direction,
    /// The currency of the account.
    pub account_id: String,
    /// How much.
    pub amount: Amount,
    /// The model of the settled funds; none: the default model of the currency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settlement_model: Option<String>,
    /// For a move: the other model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_settlement_model: Option<String>,
    /// The bank's reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_reference: Option<String>,
}

impl Change for Funds {
    /// Two different movements may wait at the same time.
    fn target(&self, scheme: &Scheme) -> String {
        let which = match (self.reference(), self.amount.money(scheme)) {
            (Some(reference), _) => sha256_hex(reference.as_bytes()),
            // In any spelling.
            (None, Ok(money)) => minor_units(&money).to_string(),
            (None, Err(_)) => self.amount.amount.clone(),
        };
        let target = format!("{}/{}/{which}", self.account_id, self.r#type.name());
        match (&self.settlement_model, &self.to_settlement_model) {
            (Some(from), Some(to)) => format!("{target}/{from}/{to}"),
            (None, Some(to)) => format!("{target}/{to}"),
            (_, None) => target,
        }
    }

    fn based_on(&self, _: &Participant) -> Value {
        Value::Null
    }

    fn judge(&self, world: &mut dyn World, participant: &Participant) -> Result<(), Problem> {
        is_in(participant)?;
        self.models()?;
        let account = account_of(participant, &self.account_id)?;
        if self.r#type == Direction::Withdrawal {
            is_approved(participant)?;
        }
        if !account.enabled {
            let detail = format!("the account {} is disabled", self.account_id);
            return Err(Problem::new(Kind::AccountDisabled, detail));
        }
        self.amount.is_in(&self.account_id)?;
        self.refuse_used(world, &participant.participant)?;
        let money = self.amount.some_money(world.scheme())?;
        match self.r#type {
            Direction::Deposit => self.judge_deposit(world, &participant.participant),
            Direction::Withdrawal | Direction::Move => {
                self.judge_funds(world, &participant.participant, &money)
            }
        }
    }

    fn make(
        &self,
        world: &mut dyn World,
        participant: &mut Participant,
        request: &str,
    ) -> Result<Vec<Event>, Problem> {
        let amount = self.amount.some_money(world.scheme())?;
        let direction = match self.r#type {
            Direction::Deposit => manage_funds::Direction::Deposit,
            Direction::Withdrawal => manage_funds::Direction::Withdrawal,
            Direction::Move => {
                self.move_between_models(world, &participant.participant, request, amount)?;
                return Ok(Vec::new());
            }
        };
        let instruction = manage_funds::Request {
            instruction_id: request.to_owned(),
            participant: participant.participant.clone(),
            direction,
            amount,
            settlement_model: self.settlement_model.clone(),
        };
        let moved = world.move_funds(&instruction);
        let moved = moved.map_err(|error| match (error, &self.settlement_model) {
            (LedgerError::UnknownAccount(_), Some(model)) => self.unknown_model(model),
            (error, _) => refused(error, Kind::InsufficientFunds),
        })?;
        if let Some(id) = self.reference_id(&participant.participant) {
            let used = Used {
                request: request.to_owned(),
            };
            REFERENCES.within(world).put(&id, &used);
        }
        compare(world, &participant.participant, &moved.liquidity);
        Ok(Vec::new())
    }
}

impl Funds {
    /// The two models of a move; none for a deposit or a withdrawal.
    fn models(&self) -> Result<Option<(&str, &str)>, Problem> {
        let malformed = |detail: &str| Err(Problem::new(Kind::Malformed, detail));
        let models = (&self.settlement_model, &self.to_settlement_model);
        match (self.r#type, models, &self.external_reference) {
            (Direction::Move, _, Some(_)) => {
                malformed("a move is not a movement at the bank: leave out `externalReference`")
            }
            (Direction::Move, (Some(from), Some(to)), _) if from == to => {
                malformed("`settlementModel` and `toSettlementModel` are the same")
            }
            (Direction::Move, (Some(from), Some(to)), _) => Ok(Some((from.as_str(), to.as_str()))),
            (Direction::Move, ..) => {
                malformed("a move needs `settlementModel` and `toSettlementModel`")
            }
            (_, (_, Some(_)), _) => malformed("`toSettlementModel` is for a move"),
            _ => Ok(None),
        }
    }

    fn move_between_models(
        &self,
        world: &mut dyn World,
        participant: &str,
        request: &str,
        amount: Money,
    ) -> Result<(), Problem> {
        let Some((source, target)) = self.models()? else {
            return Ok(());
        };
        let moved = world.move_between_models(&between_models::Request {
            instruction_id: request.to_owned(),
            participant: participant.to_owned(),
            source_model: source.to_owned(),
            target_model: target.to_owned(),
            amount,
        });
        moved
            .map(drop)
            .map_err(|error| refused(error, Kind::InsufficientSettledFunds))
    }

    /// The bank's reference, without surrounding white space.
    fn reference(&self) -> Option<&str> {
        let reference = self.external_reference.as_deref().map(str::trim);
        reference.filter(|reference| !reference.is_empty())
    }

    fn reference_id(&self, participant: &str) -> Option<String> {
        let hash = sha256_hex(self.reference()?.as_bytes());
        let (currency, direction) = (&self.account_id, self.r#type.name());
        Some(format!("{participant}/{currency}/{direction}/{hash}"))
    }

    /// Checks that the reference was never used.
    fn refuse_used(&self, world: &mut dyn World, participant: &str) -> Result<(), Problem> {
        let used = self.reference_id(participant);
        let used = used.and_then(|id| REFERENCES.within(world).get_for_update(&id));
        let Some(used) = used else {
            return Ok(());
        };
        let detail = format!(
            "the approved request {} already used this external reference",
            used.request
        );
        Err(Problem::new(Kind::ReferenceUsed, detail).with("request", used.request))
    }

    /// A deposit goes to settled funds of the model. What of them is owed does not matter, and is not looked at:
    /// funds come in however many batches there are.
    fn judge_deposit(&self, world: &mut dyn World, participant: &str) -> Result<(), Problem> {
        let accounts = world.positions(&accounts_positions::Request {
            participant: participant.to_owned(),
            currency: Some(self.account_id.clone()),
        });
        let accounts = accounts.map_err(|error| refused(error, Kind::InsufficientFunds))?;
        let settled = accounts.iter();
        let mut settled = settled.filter(|of| of.account_type == LedgerAccountType::Settlement);
        match self.settlement_model.as_deref() {
            None if settled.next().is_none() => Err(self.unknown_model("by default")),
            Some(model) if !settled.any(|of| of.settlement_model.as_deref() == Some(model)) => {
                Err(self.unknown_model(model))
            }
            _ => Ok(()),
        }
    }

    /// The ledger decides when it posts. This check refuses too large an amount earlier.
    fn judge_funds(
        &self,
        world: &mut dyn World,
        participant: &str,
        money: &Money,
    ) -> Result<(), Problem> {
        let request = current_position::Request {
            participant: participant.to_owned(),
            currency: self.account_id.clone(),
        };
        let position = world.position(&request);
        let position = position.map_err(|error| refused(error, Kind::InsufficientFunds))?;
        // The first account is the currency's default, of whatever model.
        let mut all = position.settled.iter();
        let settled = match &self.settlement_model {
            None => all.next(),
            model => all.find(|funds| funds.settlement_model == *model),
        };
        let Some(settled) = settled else {
            let model = self.settlement_model.as_deref().unwrap_or("by default");
            return Err(self.unknown_model(model));
        };
        let liquidity = (
            &position.liquidity.available,
            Kind::InsufficientFunds,
            "liquidity",
        );
        let settled = (
            &settled.available,
            Kind::InsufficientSettledFunds,
            "withdrawable settled funds",
        );
        let needed = match self.r#type {
            Direction::Withdrawal => vec![liquidity, settled],
            Direction::Deposit | Direction::Move => vec![settled],
        };
        if let Some((_, to)) = self.models()? {
            let mut models = position.settled.iter().map(|of| &of.settlement_model);
            if !models.any(|of| of.as_deref() == Some(to)) {
                return Err(self.unknown_model(to));
            }
        }
        for (available, kind, what) in needed {
            if minor_units(available) < minor_units(money) {
                let left = Amount::from(available);
                let detail = format!("only {} {} of {what} are left", left.amount, left.currency);
                return Err(Problem::new(kind, detail).with("available", json!(left)));
            }
        }
        Ok(())
    }

    fn unknown_model(&self, model: &str) -> Problem {
        let detail = format!(
            "there are no settled funds of the model {model} in {}",
            self.account_id
        );
        Problem::new(Kind::ModelUnknown, detail)
    }
}

//! An account in one more currency, and the terms with which accounts are opened.

use super::limit::Limit;
use super::{Change, is_in, refused};
use crate::activation::facts;
use crate::bindings::rialto::accounts_and_balances::create_participant_account_with_limits as create_account;
use crate::bindings::rialto::accounts_and_balances::types::{
    AccountWithLimit, ParticipantAccountIds,
};
use crate::bindings::rialto::participant_lifecycle_management::participant_account_added;
use crate::participants::{Account, Participant, Type};
use crate::world::{Event, World};
use rialto_sdk::operators::{Amount, Kind, Problem};
use rialto_sdk::scheme::Scheme;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The terms of an account to open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Terms {
    /// ISO 4217.
    pub currency: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// None: only the liquidity bounds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// None: no warnings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Amount>,
}

/// A requested account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NewAccount(pub Terms);

/// The account for the ledger.
///
/// # Errors
/// If the scheme does not use the currency, or an amount is not valid.
pub fn opening(scheme: &Scheme, terms: &Terms) -> Result<AccountWithLimit, Problem> {
    let currency = &terms.currency;
    let scale = scheme.scale_of(currency).ok_or_else(|| {
        let detail = format!("the scheme does not use {currency}");
        Problem::new(Kind::CurrencyUnused, detail)
    })?;
    let money = |amount: &Amount| {
        amount.is_in(currency)?;
        amount.money(scheme)
    };
    let limit = terms.limit.as_ref().map(|limit| money(&limit.value));
    Ok(AccountWithLimit {
        currency: currency.clone(),
        scale,
        net_debit_cap: limit.transpose()?,
        liquidity_threshold: terms.threshold.as_ref().map(money).transpose()?,
    })
}

/// The account that the ledger opened.
#[must_use]
pub fn opened(
    ids: ParticipantAccountIds,
    opening: AccountWithLimit,
    name: Option<String>,
) -> Account {
    Account {
        currency: ids.currency,
        name,
        scale: opening.scale,
        enabled: true,
        net_debit_cap: opening.net_debit_cap,
        liquidity_threshold: opening.liquidity_threshold,
        cover: None,
        liquidity_account: ids.liquidity,
        position_account: ids.position,
        liquidity_cover_account: ids.liquidity_cover,
        settlement_account: ids.settlement,
    }
}

impl Change for NewAccount {
    fn target(&self, _: &Scheme) -> String {
        self.0.currency.clone()
    }

    fn based_on(&self, _: &Participant) -> Value {
        Value::Null
    }

    fn judge(&self, world: &mut dyn World, participant: &Participant) -> Result<(), Problem> {
        is_in(participant)?;
        let (id, currency) = (&participant.participant, &self.0.currency);
        if participant.participant_type == Type::Pisp {
            let detail = format!("{id} is of type PISP and cannot have accounts");
            return Err(Problem::new(Kind::ParticipantState, detail));
        }
        if participant.account(currency).is_some() {
            let detail = format!(
                "{id} already has an account in {currency}; there is one for each currency"
            );
            return Err(Problem::new(Kind::AccountExists, detail));
        }
        opening(world.scheme(), &self.0).map(drop)
    }

    fn make(
        &self,
        world: &mut dyn World,
        participant: &mut Participant,
        _: &str,
    ) -> Result<Vec<Event>, Problem> {
        let account = opening(world.scheme(), &self.0)?;
        let request = create_account::Request {
            participant: participant.participant.clone(),
            account: account.clone(),
        };
        let ids = world.open_one(&request);
        let ids = ids.map_err(|error| refused(error, Kind::InsufficientFunds))?;
        facts::keep(world, &world.scheme().hub, &account.currency, account.scale);
        let account = opened(ids, account, self.0.name.clone());
        let added = account.with_terms(&participant.participant);
        participant.accounts.push(account);
        Ok(vec![Event::AccountAdded(
            participant_account_added::Event {
                participant: participant.participant.clone(),
                account: added,
                added_at: world.now(),
            },
        )])
    }
}

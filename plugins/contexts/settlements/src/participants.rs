//! The ledger's accounts of participants, from the events about participants. This does not decide whether a
//! participant may transact: the turn that needs it asks Participant Lifecycle Management. So a late event lets
//! no disabled participant trade.

use crate::bindings::rialto::accounts_and_balances::create_accounts::NewAccount;
use crate::bindings::rialto::accounts_and_balances::types::{
    LedgerAccountType, LedgerError, ParticipantAccountIds,
};
use crate::bindings::rialto::participant_lifecycle_management::types::AccountWithTerms;
use crate::settings::{Kind, Model, Settings};
use crate::world::World;
use rialto_sdk::bindings::rialto::common::types::Money;
use rialto_sdk::documents::Collection;
use rialto_sdk::money::document;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Accounts by participant and currency.
pub const ACCOUNTS: Collection<ParticipantAccounts> = Collection::new("participant-accounts");
/// States by participant.
pub const STATES: Collection<ParticipantState> = Collection::new("participant-states");

/// A document of the collection `participant-accounts`: the ledger's accounts of one participant
/// in one currency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ParticipantAccounts {
    /// The participant.
    pub participant: String,
    /// ISO 4217.
    pub currency: String,
    /// Decimal places of the currency in this scheme.
    #[serde(default)]
    pub scale: u8,
    /// Funds that it may still spend.
    pub liquidity: String,
    /// Reserved for its transfers in flight.
    pub position: String,
    /// Cover set aside.
    pub liquidity_cover: String,
    /// Settled funds of the first settlement model.
    pub settlement: String,
    /// Whether the account is enabled: for operators to look at.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// The net debit cap: for operators to look at.
    #[serde(
        default,
        with = "document::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub net_debit_cap: Option<Money>,
    /// The warning threshold: for operators to look at.
    #[serde(
        default,
        with = "document::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub liquidity_threshold: Option<Money>,
    /// When the terms above were changed last.
    #[serde(default, skip_serializing_if = "Updated::is_never")]
    pub updated: Updated,
    /// Accounts of each settlement model, by its name.
    #[serde(default)]
    pub settlements: BTreeMap<String, ModelAccounts>,
}

fn yes() -> bool {
    true
}

/// When each term of an account last changed: UTC, milliseconds since 1970; 0 for never.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Updated {
    /// Whether it is enabled.
    pub enabled: u64,
    /// The net debit cap.
    pub net_debit_cap: u64,
    /// The warning threshold.
    pub liquidity_threshold: u64,
}

impl Updated {
    fn is_never(&self) -> bool {
        *self == Self::default()
    }
}

/// A term of an account, from an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Term {
    /// Whether the account is enabled.
    Enabled(bool),
    /// The net debit cap.
    NetDebitCap(Option<Money>),
    /// The warning threshold.
    LiquidityThreshold(Option<Money>),
}

/// A participant's accounts of one settlement model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelAccounts {
    /// Settled funds.
    pub settlement: String,
    /// Settled funds set aside.
    pub reserved: String,
    /// For an immediate model: its standing position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<String>,
}

impl ModelAccounts {
    /// Whether it is complete: a release may have made a deferred model an immediate one.
    fn is_enough_for(&self, model: &Model) -> bool {
        model.kind != Kind::ImmediateGross || self.standing.is_some()
    }
}

/// A document of the collection `participant-states`, from the last event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ParticipantState {
    /// The state's name in the participants' API.
    pub state: String,
    /// UTC, milliseconds since 1970.
    pub updated_at: u64,
}

/// The id of a participant's accounts in one currency. A currency has no colon, so the id is unique.
#[must_use]
pub fn document_id(participant: &str, currency: &str) -> String {
    format!("{participant}:{currency}")
}

impl ParticipantAccounts {
    /// The accounts of an event.
    #[must_use]
    pub fn of(ids: ParticipantAccountIds, scale: u8) -> Self {
        Self {
            participant: ids.participant,
            currency: ids.currency,
            scale,
            liquidity: ids.liquidity,
            position: ids.position,
            liquidity_cover: ids.liquidity_cover,
            settlement: ids.settlement,
            enabled: true,
            net_debit_cap: None,
            liquidity_threshold: None,
            updated: Updated::default(),
            settlements: BTreeMap::new(),
        }
    }

    /// Stores a term that changed at an instant, unless a later change is known: events may arrive in the wrong
    /// order.
    fn take(&mut self, term: Term, at: u64) {
        let updated = match &term {
            Term::Enabled(_) => &mut self.updated.enabled,
            Term::NetDebitCap(_) => &mut self.updated.net_debit_cap,
            Term::LiquidityThreshold(_) => &mut self.updated.liquidity_threshold,
        };
        if at < *updated {
            return;
        }
        *updated = at;
        match term {
            Term::Enabled(enabled) => self.enabled = enabled,
            Term::NetDebitCap(cap) => self.net_debit_cap = cap,
            Term::LiquidityThreshold(threshold) => self.liquidity_threshold = threshold,
        }
    }
}

/// Stores the accounts of a participant in a currency, and opens those of the settlement models. A known
/// account keeps its terms.
pub fn added(world: &mut impl World, settings: &Settings, account: AccountWithTerms) {
    let id = document_id(&account.ids.participant, &account.ids.currency);
    let known = ACCOUNTS.within(world).get_for_update(&id);
    let (updated, settlements) = known
        .map(|known| (known.updated, known.settlements))
        .unwrap_or_default();
    let fresh = ParticipantAccounts::of(account.ids, account.scale);
    let mut accounts = ParticipantAccounts {
        enabled: account.enabled,
        net_debit_cap: account.net_debit_cap,
        liquidity_threshold: account.liquidity_threshold,
        updated,
        settlements,
        ..fresh
    };
    let models = settings.models();
    let served = models
        .iter()
        .filter(|model| model.serves(&accounts.currency));
    let served: Vec<&Model> = served.collect();
    open(world, &mut accounts, &served).unwrap_or_else(|error| {
        panic!("the ledger opens no accounts of settlement for {id}: {error:?}")
    });
    ACCOUNTS.within(world).put(&id, &accounts);
}

/// Stores a term of an account that changed at an instant. If the account is not known yet, the event is early:
/// it traps and is tried again after the other event.
///
/// # Panics
/// If the account is not known yet.
pub fn change(world: &mut impl World, ids: &ParticipantAccountIds, term: Term, at: u64) {
    let id = document_id(&ids.participant, &ids.currency);
    let Some(mut accounts) = ACCOUNTS.within(world).get_for_update(&id) else {
        panic!("{id} has no accounts yet");
    };
    accounts.take(term, at);
    ACCOUNTS.within(world).put(&id, &accounts);
}

/// A participant's accounts of a model. Opens missing ones, since models come with releases.
///
/// # Errors
/// When the participant has no accounts of the currency, or the ledger refuses.
pub fn of_model(
    world: &mut impl World,
    participant: &str,
    (currency, scale): (&str, u8),
    model: &Model,
) -> Result<ModelAccounts, LedgerError> {
    let id = document_id(participant, currency);
    let unknown = || LedgerError::UnknownAccount(id.clone());
    let known = ACCOUNTS.within(world).get(&id).ok_or_else(unknown)?;
    if let Some(own) = known.settlements.get(&model.name)
        && own.is_enough_for(model)
    {
        return Ok(own.clone());
    }
    let mut accounts = ACCOUNTS
        .within(world)
        .get_for_update(&id)
        .ok_or_else(unknown)?;
    // Documents of an earlier version have none.
    accounts.scale = scale;
    open(world, &mut accounts, &[model])?;
    ACCOUNTS.within(world).put(&id, &accounts);
    accounts.settlements.remove(&model.name).ok_or_else(unknown)
}

fn open(
    world: &mut impl World,
    accounts: &mut ParticipantAccounts,
    models: &[&Model],
) -> Result<(), LedgerError> {
    let is_missing = |model: &&Model| {
        let own = accounts.settlements.get(&model.name);
        own.is_none_or(|own| !own.is_enough_for(model))
    };
    // The ledger opens no account twice: it returns the existing one.
    let missing: Vec<&Model> = models.iter().copied().filter(is_missing).collect();
    for model in missing {
        let new = |account_type, batch: Option<&str>| NewAccount {
            account_type,
            owner: accounts.participant.clone(),
            currency: accounts.currency.clone(),
            scale: accounts.scale,
            settlement_model: model.name.clone(),
            batch: batch.map(str::to_owned),
        };
        let mut wanted = vec![
            new(LedgerAccountType::Settlement, None),
            new(LedgerAccountType::SettlementReserved, None),
        ];
        if model.kind == Kind::ImmediateGross {
            wanted.push(new(
                LedgerAccountType::SettlementPosition,
                Some(&model.name),
            ));
        }
        let opened = world.create_accounts(&wanted)?;
        assert_eq!(
            opened.len(),
            wanted.len(),
            "the ledger answers each account"
        );
        let mut ids = opened.into_iter();
        let mut next = || ids.next().unwrap_or_default();
        let own = ModelAccounts {
            settlement: next(),
            reserved: next(),
            standing: ids.next(),
        };
        assert!(
            own.settlement != own.reserved,
            "settled funds of {} are set aside where they are, in {}",
            accounts.participant,
            own.reserved
        );
        assert!(
            own.is_enough_for(model),
            "{} lacks an account of {}",
            accounts.participant,
            model.name
        );
        accounts.settlements.insert(model.name.clone(), own);
    }
    Ok(())
}

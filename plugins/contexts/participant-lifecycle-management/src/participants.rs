//! The participant document, and what callers are told of it.
//!
//! | State | Event | Next state | Publishes |
//! |---|---|---|---|
//! | none, REJECTED | an operator applies for it | PEND-APPROVAL | |
//! | none | a release names it | APPROVED | `participant-created` |
//! | PEND-APPROVAL | the application is approved | APPROVED | `participant-created` |
//! | PEND-APPROVAL | the application is rejected | REJECTED | |
//! | APPROVED | operators disable it | DISABLED | `participant-state-updated` |
//! | DISABLED | operators enable it | APPROVED | `participant-state-updated` |
//!
//! Only an APPROVED participant may transact. [`requests`](crate::requests) has the states of a request.

use crate::bindings::exports::rialto::participant_lifecycle_management::{
    get_participant_callback_info::ParticipantCallbackInfo,
    get_participant_info::{ParticipantAccount, ParticipantInfo},
    get_participant_quote_data::ParticipantQuoteData,
    get_participants_transfers_data::ParticipantTransfersData,
};
use crate::bindings::rialto::accounts_and_balances::types::ParticipantAccountIds;
use crate::bindings::rialto::participant_lifecycle_management::types::{
    AccountWithTerms, Endpoint, ParticipantState, ParticipantType,
};
use rialto_sdk::bindings::rialto::common::types::Money;
use rialto_sdk::documents::Collection;
use rialto_sdk::money::document;
use rialto_sdk::operators::version;
use serde::{Deserialize, Serialize};

/// A participant's state as documents write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Waits for approval.
    #[serde(rename = "PEND-APPROVAL")]
    PendApproval,
    /// May transact.
    #[serde(rename = "APPROVED")]
    Approved,
    /// May not transact for now.
    #[serde(rename = "DISABLED")]
    Disabled,
    /// Was never let in.
    #[serde(rename = "REJECTED")]
    Rejected,
}

impl State {
    /// The state as documents and operators have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PendApproval => "PEND-APPROVAL",
            Self::Approved => "APPROVED",
            Self::Disabled => "DISABLED",
            Self::Rejected => "REJECTED",
        }
    }
}

/// What a participant is in the scheme.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Type {
    /// A financial service provider with accounts.
    #[default]
    Dfsp,
    /// A payment initiation service provider: it has none.
    Pisp,
}

impl Type {
    /// The type as documents and operators have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dfsp => "DFSP",
            Self::Pisp => "PISP",
        }
    }
}

impl From<Type> for ParticipantType {
    fn from(of: Type) -> Self {
        match of {
            Type::Dfsp => Self::Dfsp,
            Type::Pisp => Self::Pisp,
        }
    }
}

impl From<State> for ParticipantState {
    fn from(state: State) -> Self {
        match state {
            State::PendApproval => Self::PendApproval,
            State::Approved => Self::Approved,
            State::Disabled => Self::Disabled,
            State::Rejected => Self::Rejected,
        }
    }
}

/// Participants by id. Their accounts change; a currency has one.
pub const PARTICIPANTS: Collection<Participant> =
    Collection::new("participants").with_elements_named_by(&["currency"]);

/// What of an account is set aside by an approved request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Cover {
    /// So much in all.
    #[serde(with = "document")]
    pub amount: Money,
    /// By this request.
    pub request: String,
    /// Since then; UTC, milliseconds since 1970.
    pub since: u64,
}

/// An account of a participant: one currency, and the ledger's accounts for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Account {
    /// ISO 4217.
    pub currency: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Decimal places of the currency in this scheme.
    pub scale: u8,
    /// Whether it may be used.
    pub enabled: bool,
    /// The highest net debit position; none when cover alone decides.
    #[serde(
        default,
        with = "document::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub net_debit_cap: Option<Money>,
    /// What is available below this is warned of.
    #[serde(
        default,
        with = "document::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub liquidity_threshold: Option<Money>,
    /// What is set aside; none when that was never asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cover: Option<Cover>,
    /// The ledger's id of the liquidity account.
    pub liquidity_account: String,
    /// The ledger's id of the position account.
    pub position_account: String,
    /// The ledger's id of the liquidity cover account.
    pub liquidity_cover_account: String,
    /// The ledger's id of the settlement account.
    pub settlement_account: String,
}

/// A document of the collection `participants`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Participant {
    /// 1 to 32 characters; the document's id.
    pub participant: String,
    /// For people.
    pub name: String,
    /// What it is in the scheme.
    #[serde(default)]
    pub participant_type: Type,
    /// Whether it may transact, and why not.
    pub state: State,
    /// Where it takes callbacks, without a slash at the end; empty when it takes none.
    pub callback_base_url: String,
    /// One for each currency.
    pub accounts: Vec<Account>,
    /// UTC, milliseconds since 1970.
    pub created_at: u64,
    /// When it was last changed.
    pub updated_at: u64,
    /// Counts each write.
    #[serde(default)]
    pub version: u64,
    /// How many entries its history has.
    #[serde(default)]
    pub changes: u64,
    /// The hash of the last one; empty while there is none.
    #[serde(default)]
    pub last_change_hash: String,
    /// What the last release that changed it said; none when no release has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brought: Option<Brought>,
    /// The release that it came with; none for one that came otherwise, that operators have approved since,
    /// or that came before this was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<u64>,
    /// Whether that release is not wholly in yet: found out when others ask, never stored.
    #[serde(skip)]
    pub waits: bool,
}

/// What a release says of a participant. What operators have changed since stays, until a release says
/// something else than the one before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Brought {
    /// For people.
    pub name: String,
    /// Without a slash at the end.
    pub callback_base_url: String,
}

/// What a release has changed of a participant that was there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moved {
    /// Its name.
    pub name: bool,
    /// Where it is reached.
    pub endpoint: bool,
}

impl Participant {
    /// The entity tag of its version. What is read with it may hold more: its open requests, and whether its
    /// release is in.
    #[must_use]
    pub fn tag(&self) -> String {
        version::tag_of('p', self.version)
    }

    /// Whether it may send and receive transfers now.
    #[must_use]
    pub fn may_transact(&self) -> bool {
        self.state == State::Approved && !self.waits
    }

    /// Whether it has been let in. Who waits for approval or was rejected is no participant to others: nobody
    /// has approved where it would be reached.
    #[must_use]
    pub const fn is_in(&self) -> bool {
        matches!(self.state, State::Approved | State::Disabled)
    }

    /// Take over what a release says, as far as it says something new.
    pub fn take_over(&mut self, wanted: &Brought) -> Moved {
        let said = self.brought.as_ref();
        let name = said.map_or(&self.name, |said| &said.name);
        let url = said.map_or(&self.callback_base_url, |said| &said.callback_base_url);
        let moved = Moved {
            name: *name != wanted.name,
            endpoint: *url != wanted.callback_base_url,
        };
        if moved.name {
            self.name.clone_from(&wanted.name);
        }
        if moved.endpoint {
            self.callback_base_url.clone_from(&wanted.callback_base_url);
        }
        self.brought = Some(wanted.clone());
        moved
    }

    /// Its account in a currency.
    #[must_use]
    pub fn account(&self, currency: &str) -> Option<&Account> {
        let mut accounts = self.accounts.iter();
        accounts.find(|account| account.currency == currency)
    }

    /// Its account in a currency, to be changed.
    pub fn account_mut(&mut self, currency: &str) -> Option<&mut Account> {
        let mut accounts = self.accounts.iter_mut();
        accounts.find(|account| account.currency == currency)
    }

    fn into_currencies(self) -> Vec<String> {
        let enabled = self.accounts.into_iter().filter(|account| account.enabled);
        enabled.map(|account| account.currency).collect()
    }

    /// The participant as a transfer needs it.
    #[must_use]
    pub fn into_transfers_data(self) -> ParticipantTransfersData {
        ParticipantTransfersData {
            state: self.state.into(),
            may_transact: self.may_transact(),
            participant: self.participant.clone(),
            currencies: self.into_currencies(),
        }
    }

    /// The participant as a quote needs it.
    #[must_use]
    pub fn into_quote_data(self) -> ParticipantQuoteData {
        ParticipantQuoteData {
            state: self.state.into(),
            may_transact: self.may_transact(),
            participant: self.participant.clone(),
            currencies: self.into_currencies(),
        }
    }

    /// Where the participant takes callbacks; none when it takes none, or has not been let in.
    #[must_use]
    pub fn into_callback_info(self) -> Option<ParticipantCallbackInfo> {
        if !self.is_in() || self.callback_base_url.is_empty() {
            return None;
        }
        Some(ParticipantCallbackInfo {
            participant: self.participant,
            state: self.state.into(),
            base_url: self.callback_base_url,
        })
    }

    /// All that is known of the participant.
    #[must_use]
    pub fn into_info(self) -> ParticipantInfo {
        let may_transact = self.may_transact();
        ParticipantInfo {
            participant: self.participant,
            name: self.name,
            state: self.state.into(),
            may_transact,
            participant_type: self.participant_type.into(),
            endpoints: endpoints(self.callback_base_url),
            accounts: self.accounts.into_iter().map(Account::into_info).collect(),
        }
    }

    /// The accounts, as the event about the participant lists them.
    #[must_use]
    pub fn accounts_with_terms(&self) -> Vec<AccountWithTerms> {
        let accounts = self.accounts.iter();
        accounts
            .map(|account| account.with_terms(&self.participant))
            .collect()
    }
}

/// The endpoints of whom takes callbacks there.
#[must_use]
pub fn endpoints(callback_base_url: String) -> Vec<Endpoint> {
    if callback_base_url.is_empty() {
        return Vec::new();
    }
    vec![Endpoint {
        endpoint_type: "FSPIOP".to_owned(),
        value: callback_base_url,
    }]
}

impl Account {
    /// The ledger's accounts of this one.
    #[must_use]
    pub fn ids(&self, participant: &str) -> ParticipantAccountIds {
        ParticipantAccountIds {
            participant: participant.to_owned(),
            currency: self.currency.clone(),
            liquidity: self.liquidity_account.clone(),
            position: self.position_account.clone(),
            liquidity_cover: self.liquidity_cover_account.clone(),
            settlement: self.settlement_account.clone(),
        }
    }

    /// The account as events list it.
    #[must_use]
    pub fn with_terms(&self, participant: &str) -> AccountWithTerms {
        AccountWithTerms {
            ids: self.ids(participant),
            scale: self.scale,
            enabled: self.enabled,
            net_debit_cap: self.net_debit_cap.clone(),
            liquidity_threshold: self.liquidity_threshold.clone(),
        }
    }

    fn into_info(self) -> ParticipantAccount {
        ParticipantAccount {
            currency: self.currency,
            scale: self.scale,
            enabled: self.enabled,
            net_debit_cap: self.net_debit_cap,
            liquidity_threshold: self.liquidity_threshold,
            liquidity_account: self.liquidity_account,
            position_account: self.position_account,
            liquidity_cover_account: self.liquidity_cover_account,
            settlement_account: self.settlement_account,
        }
    }
}

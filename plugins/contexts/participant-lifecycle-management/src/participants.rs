//! The participant document, and its views for callers.
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
    /// Was not approved.
    #[serde(rename = "REJECTED")]
    Rejected,
}

impl State {
    /// The state's name in documents and for operators.
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

/// The type of a participant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Type {
    /// A financial service provider with accounts.
    #[default]
    Dfsp,
    /// A payment initiation service provider, without accounts.
    Pisp,
}

impl Type {
    /// The type's name in documents and for operators.
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

/// Participants by id. Accounts are named by their currency, since they change.
pub const PARTICIPANTS: Collection<Participant> =
    Collection::new("participants").with_elements_named_by(&["currency"]);

/// Cover set aside by an approved request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Cover {
    /// The total.
    #[serde(with = "document")]
    pub amount: Money,
    /// The request.
    pub request: String,
    /// Since when; UTC, milliseconds since 1970.
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
    /// The highest net debit position; none if only the liquidity bounds it.
    #[serde(
        default,
        with = "document::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub net_debit_cap: Option<Money>,
    /// Operators are warned below this available amount.
    #[serde(
        default,
        with = "document::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub liquidity_threshold: Option<Money>,
    /// The cover; none if it was never requested.
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
    /// Its type.
    #[serde(default)]
    pub participant_type: Type,
    /// Its state.
    pub state: State,
    /// Its callback URL, without a slash at the end; empty if it has none.
    pub callback_base_url: String,
    /// The ranges of IP addresses from which it may send, in CIDR notation; none if it may send from everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_addresses: Option<Vec<String>>,
    /// The serial number of the certificate that was issued last; none if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_certificate: Option<String>,
    /// One for each currency.
    pub accounts: Vec<Account>,
    /// UTC, milliseconds since 1970.
    pub created_at: u64,
    /// When it was last changed.
    pub updated_at: u64,
    /// Counts each write.
    #[serde(default)]
    pub version: u64,
    /// The number of entries of its history.
    #[serde(default)]
    pub changes: u64,
    /// The hash of the last entry; empty if there is none.
    #[serde(default)]
    pub last_change_hash: String,
    /// The values of the last release that changed it; none if no release has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brought: Option<Brought>,
    /// The release that added it. None if operators added it or have approved it since, or for older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<u64>,
    /// Whether that release is not completely added. Computed at each query, never stored.
    #[serde(skip)]
    pub waits: bool,
}

/// The values of a release. Operators' changes stay until a release differs from the one before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Brought {
    /// For people.
    pub name: String,
    /// Without a slash at the end.
    pub callback_base_url: String,
}

/// The changes of a release to an existing participant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moved {
    /// Its name.
    pub name: bool,
    /// Its endpoints.
    pub endpoint: bool,
}

impl Participant {
    /// The entity tag of its version. It does not cover open requests and the state of its release.
    #[must_use]
    pub fn tag(&self) -> String {
        version::tag_of('p', self.version)
    }

    /// Whether it may send and receive transfers now.
    #[must_use]
    pub fn may_transact(&self) -> bool {
        self.state == State::Approved && !self.waits
    }

    /// Whether it is approved or disabled. Others see no participant that waits or was rejected, since nobody
    /// has approved its endpoint.
    #[must_use]
    pub const fn is_in(&self) -> bool {
        matches!(self.state, State::Approved | State::Disabled)
    }

    /// Applies the values of a release that differ from those of the release before.
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

    /// Its account in a currency, mutable.
    pub fn account_mut(&mut self, currency: &str) -> Option<&mut Account> {
        let mut accounts = self.accounts.iter_mut();
        accounts.find(|account| account.currency == currency)
    }

    fn into_currencies(self) -> Vec<String> {
        let enabled = self.accounts.into_iter().filter(|account| account.enabled);
        enabled.map(|account| account.currency).collect()
    }

    /// The participant for a transfer.
    #[must_use]
    pub fn into_transfers_data(self) -> ParticipantTransfersData {
        ParticipantTransfersData {
            state: self.state.into(),
            may_transact: self.may_transact(),
            participant: self.participant.clone(),
            currencies: self.into_currencies(),
        }
    }

    /// The participant for a quote.
    #[must_use]
    pub fn into_quote_data(self) -> ParticipantQuoteData {
        ParticipantQuoteData {
            state: self.state.into(),
            may_transact: self.may_transact(),
            participant: self.participant.clone(),
            currencies: self.into_currencies(),
        }
    }

    /// The participant's callback URL; none if it has none, or is not approved.
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

    /// All facts about the participant.
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

    /// The accounts for the event about the participant.
    #[must_use]
    pub fn accounts_with_terms(&self) -> Vec<AccountWithTerms> {
        let accounts = self.accounts.iter();
        accounts
            .map(|account| account.with_terms(&self.participant))
            .collect()
    }
}

/// The endpoints with this callback URL.
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

    /// The account for events.
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

//! The participant document, and what callers are told of it.

use crate::bindings::exports::rialto::participant_lifecycle_management::{
    get_participant_callback_info::ParticipantCallbackInfo,
    get_participant_info::{ParticipantAccount, ParticipantInfo},
    get_participant_quote_data::ParticipantQuoteData,
    get_participants_transfers_data::ParticipantTransfersData,
};
use crate::bindings::rialto::accounts_and_balances::types::ParticipantAccountIds;
use crate::bindings::rialto::participant_lifecycle_management::types::ParticipantState;
use rialto_sdk::bindings::rialto::common::types::Money;
use rialto_sdk::money::document;
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

/// An account of a participant: one currency, and the ledger's accounts for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Account {
    /// ISO 4217.
    pub currency: String,
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
    /// Whether it may transact, and why not.
    pub state: State,
    /// Where it takes callbacks, without a slash at the end; empty when it takes none.
    pub callback_base_url: String,
    /// One for each currency.
    pub accounts: Vec<Account>,
    /// UTC, milliseconds since 1970.
    pub created_at: u64,
    /// When name, endpoint or accounts last changed.
    pub updated_at: u64,
}

impl Participant {
    fn may_transact(&self) -> bool {
        self.state == State::Approved
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

    /// Where the participant takes callbacks; none when it takes none.
    #[must_use]
    pub fn into_callback_info(self) -> Option<ParticipantCallbackInfo> {
        if self.callback_base_url.is_empty() {
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
            callback_base_url: self.callback_base_url,
            accounts: self.accounts.into_iter().map(Account::into_info).collect(),
        }
    }

    /// The ledger's accounts, as the event about the participant lists them.
    #[must_use]
    pub fn account_ids(&self) -> Vec<ParticipantAccountIds> {
        let ids = |account: &Account| ParticipantAccountIds {
            participant: self.participant.clone(),
            currency: account.currency.clone(),
            liquidity: account.liquidity_account.clone(),
            position: account.position_account.clone(),
            liquidity_cover: account.liquidity_cover_account.clone(),
            settlement: account.settlement_account.clone(),
        };
        self.accounts.iter().map(ids).collect()
    }
}

impl Account {
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

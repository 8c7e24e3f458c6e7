//! The surroundings of a request as a trait, so that native tests can replace them.

use crate::bindings::rialto::accounts_and_balances::{
    create_participant_account_with_limits as create_account,
    create_participant_accounts_with_limits as create_accounts,
    enabled_disabled_participant_account as enabled_disabled,
    get_current_liquidity_position as current_position,
    manage_funds_credit_debit_pair_instruction as manage_funds,
    move_settled_funds as between_models,
    record_liquidity_reservation_entries as reservation_entries,
    request_account_position_history as position_history,
    request_accounts_positions as accounts_positions,
    request_reservation_accounts as reservation_accounts,
    types::{AccountPosition, AccountStatus, LedgerError, ParticipantAccountIds},
    update_participant_account_limit as account_limit,
    update_participant_account_threshold as account_threshold,
};
use crate::bindings::rialto::host::certificates::{Certificate, CertificateError, RequestedKey};
use crate::bindings::rialto::participant_lifecycle_management::{
    approval_notification, participant_account_added, participant_account_disabled,
    participant_account_enabled, participant_account_limit_updated,
    participant_account_threshold_updated, participant_created, participant_endpoints_updated,
    participant_liquidity_threshold_exceeded, participant_state_updated,
};
use crate::settings::Settings;
use rialto_sdk::bindings::rialto::host::http::OutboundRequest;
use rialto_sdk::documents::Store;
use rialto_sdk::scheme::Scheme;

/// An event for other contexts.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A participant was added, with its accounts.
    Created(participant_created::Event),
    /// Its state has changed.
    StateUpdated(participant_state_updated::Event),
    /// It has an account in one more currency.
    AccountAdded(participant_account_added::Event),
    /// Its account was enabled.
    AccountEnabled(participant_account_enabled::Event),
    /// Its account was disabled.
    AccountDisabled(participant_account_disabled::Event),
    /// Its net debit cap has changed.
    LimitUpdated(participant_account_limit_updated::Event),
    /// Its warning threshold has changed.
    ThresholdUpdated(participant_account_threshold_updated::Event),
    /// Its endpoints have changed.
    EndpointsUpdated(participant_endpoints_updated::Event),
    /// Its liquidity is low.
    Warned(participant_liquidity_threshold_exceeded::Event),
    /// The state of a request has changed.
    Notice(approval_notification::Event),
}

/// The ledger's operations for participants.
pub trait Ledger {
    /// Open the accounts of a new participant.
    ///
    /// # Errors
    /// If the ledger refuses.
    fn open(
        &mut self,
        request: &create_accounts::Request,
    ) -> Result<Vec<ParticipantAccountIds>, LedgerError>;
    /// Open accounts in one more currency.
    ///
    /// # Errors
    /// If the ledger refuses.
    fn open_one(
        &mut self,
        request: &create_account::Request,
    ) -> Result<ParticipantAccountIds, LedgerError>;
    /// Post a deposit or a withdrawal.
    ///
    /// # Errors
    /// If the ledger refuses.
    fn move_funds(
        &mut self,
        request: &manage_funds::Request,
    ) -> Result<manage_funds::Response, LedgerError>;
    /// Move settled funds between two settlement models.
    ///
    /// # Errors
    /// If the ledger refuses.
    fn move_between_models(
        &mut self,
        request: &between_models::Request,
    ) -> Result<between_models::Response, LedgerError>;
    /// Enables or disables accounts for new reservations and funds.
    ///
    /// # Errors
    /// If the ledger refuses.
    fn enable(
        &mut self,
        request: &enabled_disabled::Request,
    ) -> Result<Vec<AccountStatus>, LedgerError>;
    /// Set the net debit cap.
    ///
    /// # Errors
    /// If the ledger refuses.
    fn set_limit(
        &mut self,
        request: &account_limit::Request,
    ) -> Result<AccountPosition, LedgerError>;
    /// Set warning thresholds.
    ///
    /// # Errors
    /// If the ledger refuses.
    fn set_thresholds(
        &mut self,
        request: &account_threshold::Request,
    ) -> Result<Vec<AccountPosition>, LedgerError>;
    /// The liquidity of a participant in one currency: total, used and available.
    ///
    /// # Errors
    /// If the ledger refuses.
    fn position(
        &mut self,
        request: &current_position::Request,
    ) -> Result<current_position::Response, LedgerError>;
    /// Set liquidity aside, or give it back.
    ///
    /// # Errors
    /// If the ledger refuses.
    fn reserve(
        &mut self,
        request: &reservation_entries::Request,
    ) -> Result<reservation_entries::Response, LedgerError>;
    /// All accounts of a participant.
    ///
    /// # Errors
    /// If the ledger refuses.
    fn positions(
        &mut self,
        request: &accounts_positions::Request,
    ) -> Result<Vec<AccountStatus>, LedgerError>;
    /// The entries of an account.
    ///
    /// # Errors
    /// If the ledger refuses.
    fn history(
        &mut self,
        request: &position_history::Request,
    ) -> Result<position_history::Response, LedgerError>;
    /// The reservations of a participant.
    ///
    /// # Errors
    /// If the ledger refuses.
    fn reservations(
        &mut self,
        participant: &str,
    ) -> Result<Vec<reservation_accounts::ReservationAccount>, LedgerError>;
}

/// The surroundings of a turn. All its effects are committed together, or not at all.
pub trait World: Store + Ledger {
    /// Judge a request for a certificate.
    ///
    /// # Errors
    /// If no certificate can be issued for it.
    fn judge_certificate(&mut self, request: &str) -> Result<RequestedKey, CertificateError>;
    /// Issue a certificate in this name.
    ///
    /// # Errors
    /// If it cannot be issued.
    fn issue_certificate(
        &mut self,
        name: &str,
        request: &str,
    ) -> Result<Certificate, CertificateError>;
    /// The turn's instant: UTC, milliseconds since 1970.
    fn now(&self) -> u64;
    /// A random UUID.
    fn uuid(&mut self) -> String;
    /// The scheme's facts.
    fn scheme(&self) -> &'static Scheme;
    /// The component's settings.
    fn settings(&self) -> &'static Settings;
    /// Adds a subject to the turn.
    fn subject(&mut self, kind: &str, id: &str);
    /// Publishes an event.
    fn publish(&mut self, event: Event);
    /// Stage a request to the outside.
    fn send(&mut self, request: &OutboundRequest);
}

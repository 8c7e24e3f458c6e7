//! The real surroundings: the host's surfaces, and the contexts that this one calls.

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
use crate::bindings::rialto::host::certificates::{
    self, Certificate, CertificateError, RequestedKey,
};
use crate::bindings::rialto::participant_lifecycle_management::{
    approval_notification, participant_account_added, participant_account_disabled,
    participant_account_enabled, participant_account_limit_updated,
    participant_account_threshold_updated, participant_created, participant_endpoints_updated,
    participant_liquidity_threshold_exceeded, participant_state_updated,
};
use crate::settings::Settings;
use crate::world::{Event, Ledger, World};
use rialto_sdk::bindings::rialto::host::http::OutboundRequest;
use rialto_sdk::bindings::rialto::host::{clock, http, random};
use rialto_sdk::logging;
use rialto_sdk::scheme::{self, Scheme};

/// The host.
pub struct Host;

rialto_sdk::stores_in_host!(Host);

impl Ledger for Host {
    fn open(
        &mut self,
        request: &create_accounts::Request,
    ) -> Result<Vec<ParticipantAccountIds>, LedgerError> {
        create_accounts::create_participant_accounts_with_limits(request)
    }

    fn open_one(
        &mut self,
        request: &create_account::Request,
    ) -> Result<ParticipantAccountIds, LedgerError> {
        create_account::create_participant_account_with_limits(request)
    }

    fn move_funds(
        &mut self,
        request: &manage_funds::Request,
    ) -> Result<manage_funds::Response, LedgerError> {
        manage_funds::manage_funds_credit_debit_pair_instruction(request)
    }

    fn move_between_models(
        &mut self,
        request: &between_models::Request,
    ) -> Result<between_models::Response, LedgerError> {
        between_models::move_settled_funds(request)
    }

    fn enable(
        &mut self,
        request: &enabled_disabled::Request,
    ) -> Result<Vec<AccountStatus>, LedgerError> {
        enabled_disabled::enabled_disabled_participant_account(request)
    }

    fn set_limit(
        &mut self,
        request: &account_limit::Request,
    ) -> Result<AccountPosition, LedgerError> {
        account_limit::update_participant_account_limit(request)
    }

    fn set_thresholds(
        &mut self,
        request: &account_threshold::Request,
    ) -> Result<Vec<AccountPosition>, LedgerError> {
        account_threshold::update_participant_account_threshold(request)
    }

    fn position(
        &mut self,
        request: &current_position::Request,
    ) -> Result<current_position::Response, LedgerError> {
        current_position::get_current_liquidity_position(request)
    }

    fn reserve(
        &mut self,
        request: &reservation_entries::Request,
    ) -> Result<reservation_entries::Response, LedgerError> {
        reservation_entries::record_liquidity_reservation_entries(request)
    }

    fn positions(
        &mut self,
        request: &accounts_positions::Request,
    ) -> Result<Vec<AccountStatus>, LedgerError> {
        accounts_positions::request_accounts_positions(request)
    }

    fn history(
        &mut self,
        request: &position_history::Request,
    ) -> Result<position_history::Response, LedgerError> {
        position_history::request_account_position_history(request)
    }

    fn reservations(
        &mut self,
        participant: &str,
    ) -> Result<Vec<reservation_accounts::ReservationAccount>, LedgerError> {
        reservation_accounts::request_reservation_accounts(participant)
    }
}

impl World for Host {
    fn judge_certificate(&mut self, request: &str) -> Result<RequestedKey, CertificateError> {
        certificates::judge(request)
    }

    fn issue_certificate(
        &mut self,
        name: &str,
        request: &str,
    ) -> Result<Certificate, CertificateError> {
        certificates::issue(name, request)
    }

    fn now(&self) -> u64 {
        clock::now()
    }

    fn uuid(&mut self) -> String {
        random::uuid()
    }

    fn scheme(&self) -> &'static Scheme {
        scheme::scheme()
    }

    fn settings(&self) -> &'static Settings {
        scheme::settings()
    }

    fn subject(&mut self, kind: &str, id: &str) {
        logging::subject(kind, id);
    }

    fn publish(&mut self, event: Event) {
        match event {
            Event::Created(event) => participant_created::participant_created(&event),
            Event::StateUpdated(event) => {
                participant_state_updated::participant_state_updated(&event);
            }
            Event::AccountAdded(event) => {
                participant_account_added::participant_account_added(&event);
            }
            Event::AccountEnabled(event) => {
                participant_account_enabled::participant_account_enabled(&event);
            }
            Event::AccountDisabled(event) => {
                participant_account_disabled::participant_account_disabled(&event);
            }
            Event::LimitUpdated(event) => {
                participant_account_limit_updated::participant_account_limit_updated(&event);
            }
            Event::ThresholdUpdated(event) => {
                participant_account_threshold_updated::participant_account_threshold_updated(
                    &event,
                );
            }
            Event::EndpointsUpdated(event) => {
                participant_endpoints_updated::participant_endpoints_updated(&event);
            }
            Event::Warned(event) => {
                participant_liquidity_threshold_exceeded::participant_liquidity_threshold_exceeded(
                    &event,
                );
            }
            Event::Notice(event) => approval_notification::approval_notification(&event),
        }
    }

    fn send(&mut self, request: &OutboundRequest) {
        http::send(request);
    }
}

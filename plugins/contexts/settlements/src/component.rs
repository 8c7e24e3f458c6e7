//! The exports, over the host's storage and the ledger.

use crate::allocation::allocate;
use crate::bindings::exports::rialto::fsp_interop_api::transfer_prepare_requested;
use crate::bindings::exports::rialto::host::{
    configuration_schema, http_handler, settings_handler,
};
use crate::bindings::exports::rialto::participant_lifecycle_management::{
    participant_account_added, participant_account_disabled, participant_account_enabled,
    participant_account_limit_updated, participant_account_threshold_updated, participant_created,
    participant_endpoints_updated, participant_state_updated,
};
use crate::bindings::exports::rialto::settlements::settlement_step_due;
use crate::bindings::exports::rialto::transfers::transfer_committed_fulfiled;
use crate::bindings::rialto::accounts_and_balances::types::{AccountStatus, LedgerError};
use crate::bindings::rialto::accounts_and_balances::{
    close_accounts, create_accounts, get_accounts, insert_journal_entries as journal,
};
use crate::bindings::rialto::participant_lifecycle_management::types::ParticipantState as State;
use crate::bindings::rialto::settlements::{
    settlement_step_due as due, transfer_prepare_accounts_allocated as allocated,
};
use crate::participants::{self, ParticipantState, STATES, Term};
use crate::settings::Settings;
use crate::world::World;
use crate::{api, progress, recording};
use rialto_sdk::bindings::rialto::host::{clock, random};
use rialto_sdk::logging::subject;
use rialto_sdk::scheme::settings;

struct Settlements;

/// The host's storage, the ledger, and the turn's other surroundings.
struct Host;

rialto_sdk::stores_in_host!(Host);

impl World for Host {
    fn now(&self) -> u64 {
        clock::now()
    }

    fn uuid(&mut self) -> String {
        random::uuid()
    }

    fn create_accounts(
        &mut self,
        accounts: &[create_accounts::NewAccount],
    ) -> Result<Vec<String>, LedgerError> {
        create_accounts::create_accounts(accounts)
    }

    fn close_accounts(&mut self, accounts: &[String]) -> Result<Vec<AccountStatus>, LedgerError> {
        close_accounts::close_accounts(accounts)
    }

    fn accounts(&mut self, accounts: &[String]) -> Vec<Option<AccountStatus>> {
        get_accounts::get_accounts(accounts)
    }

    fn insert_entries(&mut self, request: &journal::Request) -> Result<(), LedgerError> {
        journal::insert_journal_entries(request).map(drop)
    }

    fn step_is_due(&mut self, settlement: &str, step: u64) {
        due::settlement_step_due(&due::Event {
            settlement: settlement.to_owned(),
            step,
        });
    }
}

rialto_sdk::judges_settings!(settings_handler, Settlements, Settings);
rialto_sdk::describes_settings!(configuration_schema, Settlements, version 1, "../settings.schema.json");
rialto_sdk::serves_operators!(http_handler for Settlements, "../openapi.yaml", |request, caller| {
    api::answer(&mut Host, settings(), &caller, &request)
});

impl transfer_prepare_requested::Guest for Settlements {
    fn transfer_prepare_requested(event: transfer_prepare_requested::Event) {
        subject("transfer", &event.transfer_id);
        let event = allocate(&mut Host, settings(), event);
        allocated::transfer_prepare_accounts_allocated(&event);
    }
}

impl transfer_committed_fulfiled::Guest for Settlements {
    fn transfer_committed_fulfiled(event: transfer_committed_fulfiled::Event) {
        subject("transfer", &event.transfer_id);
        if let Err(error) = recording::record(&mut Host, settings(), &event) {
            panic!(
                "transfer {} cannot be recorded now: {error:?}",
                event.transfer_id
            );
        }
    }
}

impl settlement_step_due::Guest for Settlements {
    fn settlement_step_due(event: settlement_step_due::Event) {
        subject("settlement", &event.settlement);
        progress::step_due(&mut Host, settings(), &event.settlement, event.step);
    }
}

impl participant_created::Guest for Settlements {
    fn participant_created(event: participant_created::Event) {
        subject("participant", &event.participant);
        for account in event.accounts {
            participants::added(&mut Host, settings(), account);
        }
    }
}

impl participant_account_added::Guest for Settlements {
    fn participant_account_added(event: participant_account_added::Event) {
        subject("participant", &event.participant);
        participants::added(&mut Host, settings(), event.account);
    }
}

impl participant_account_enabled::Guest for Settlements {
    fn participant_account_enabled(event: participant_account_enabled::Event) {
        subject("participant", &event.participant);
        participants::change(&mut Host, &event.ids, Term::Enabled(true), event.updated_at);
    }
}

impl participant_account_disabled::Guest for Settlements {
    fn participant_account_disabled(event: participant_account_disabled::Event) {
        subject("participant", &event.participant);
        participants::change(
            &mut Host,
            &event.ids,
            Term::Enabled(false),
            event.updated_at,
        );
    }
}

impl participant_account_limit_updated::Guest for Settlements {
    fn participant_account_limit_updated(event: participant_account_limit_updated::Event) {
        subject("participant", &event.participant);
        let cap = Term::NetDebitCap(event.after);
        participants::change(&mut Host, &event.ids, cap, event.updated_at);
    }
}

impl participant_account_threshold_updated::Guest for Settlements {
    fn participant_account_threshold_updated(event: participant_account_threshold_updated::Event) {
        subject("participant", &event.participant);
        let threshold = Term::LiquidityThreshold(event.after);
        participants::change(&mut Host, &event.ids, threshold, event.updated_at);
    }
}

impl participant_state_updated::Guest for Settlements {
    fn participant_state_updated(event: participant_state_updated::Event) {
        subject("participant", &event.participant);
        let state = match event.after {
            State::PendApproval => "PEND-APPROVAL",
            State::Approved => "APPROVED",
            State::Disabled => "DISABLED",
            State::Rejected => "REJECTED",
        };
        let state = ParticipantState {
            state: state.to_owned(),
            updated_at: event.updated_at,
        };
        // Two changes may arrive in the wrong order.
        let known = STATES.get_for_update(&event.participant);
        if known.is_none_or(|known| known.updated_at <= state.updated_at) {
            STATES.put(&event.participant, &state);
        }
    }
}

impl participant_endpoints_updated::Guest for Settlements {
    fn participant_endpoints_updated(event: participant_endpoints_updated::Event) {
        subject("participant", &event.participant);
        rialto_sdk::info!("participant {} is reached elsewhere", event.participant);
    }
}

crate::bindings::export!(Settlements with_types_in crate::bindings);

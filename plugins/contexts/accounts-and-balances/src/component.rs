//! The exports: each one call of the ledger over the host's storage.

use crate::bindings::exports::rialto::accounts_and_balances::{
    close_accounts, create_accounts,
    create_participant_account_with_limits as create_participant_account,
    create_participant_accounts_with_limits as create_participant_accounts,
    enabled_disabled_participant_account as status, get_accounts,
    get_current_liquidity_position as liquidity, get_journal_entries,
    insert_journal_entries as journal, manage_funds_credit_debit_pair_instruction as manage_funds,
    move_settled_funds as between_models, process_transfer_fulfil as fulfil,
    process_transfer_prepare as prepare, process_transfer_release as release,
    record_liquidity_reservation_entries as cover, request_account_position_history as history,
    request_accounts_positions as positions, request_reservation_accounts as reservations,
    update_participant_account_limit as limit, update_participant_account_threshold as threshold,
};
use crate::bindings::exports::rialto::host::retention_handler;
use crate::bindings::exports::rialto::participant_lifecycle_management::participant_endpoints_updated;
use crate::bindings::rialto::accounts_and_balances::types::{
    AccountPosition, AccountStatus, LedgerError, ParticipantAccountIds,
};
use crate::ledger::Ledger;
use crate::retention;
use crate::store::Stored;
use rialto_sdk::auditing::Audited;
use rialto_sdk::bindings::rialto::common::types::Money;
use rialto_sdk::bindings::rialto::host::clock;
use rialto_sdk::documents::HostStore;
use rialto_sdk::logging::subject;
use rialto_sdk::money::format_amount;
use serde_json::{Map, Value, json};

struct AccountsAndBalances;

/// Runs an operation on the ledger of this turn.
fn ledger<T>(act: impl FnOnce(Ledger<'_, Stored<HostStore>>) -> T) -> T {
    act(Ledger::new(&mut Stored(HostStore), clock::now()))
}

/// Runs an operation on the ledger, and writes an entry of the audit log about it. Operations on transfers have none: the
/// entry of Transfers is in the same turn.
fn audited<T>(
    action: &'static str,
    about: String,
    details: Value,
    act: impl FnOnce(Ledger<'_, Stored<HostStore>>) -> Result<T, LedgerError>,
) -> Result<T, LedgerError> {
    let outcome = ledger(act);
    match &outcome {
        Ok(_) => Audited::done(action, about, details).write(),
        Err(error) => Audited {
            details,
            ..Audited::refused(action, about, &format!("{error:?}"))
        }
        .write(),
    }
    outcome
}

/// An instruction and its amount, for an entry.
fn with_amount(instruction: &str, amount: &Money) -> Value {
    json!({
        "instruction": instruction,
        "amount": format_amount(amount),
        "currency": amount.currency,
    })
}

/// A participant as a subject.
fn participant(id: &str) -> String {
    format!("participant:{id}")
}

impl prepare::Guest for AccountsAndBalances {
    fn process_transfer_prepare(
        request: prepare::Request,
    ) -> Result<prepare::Response, LedgerError> {
        subject("transfer", &request.transfer_id);
        ledger(|mut ledger| ledger.prepare(request))
    }
}

impl fulfil::Guest for AccountsAndBalances {
    fn process_transfer_fulfil(request: fulfil::Request) -> Result<fulfil::Response, LedgerError> {
        subject("transfer", &request.transfer_id);
        ledger(|mut ledger| ledger.fulfil(&request))
    }
}

impl release::Guest for AccountsAndBalances {
    fn process_transfer_release(
        request: release::Request,
    ) -> Result<release::Response, LedgerError> {
        subject("transfer", &request.transfer_id);
        ledger(|mut ledger| ledger.release(&request))
    }
}

impl create_participant_accounts::Guest for AccountsAndBalances {
    fn create_participant_accounts_with_limits(
        request: create_participant_accounts::Request,
    ) -> Result<Vec<ParticipantAccountIds>, LedgerError> {
        subject("participant", &request.participant);
        let details = json!({ "accounts": request.accounts.len() });
        audited(
            "accounts.created",
            participant(&request.participant),
            details,
            |mut ledger| ledger.create_accounts(&request),
        )
    }
}

impl create_participant_account::Guest for AccountsAndBalances {
    fn create_participant_account_with_limits(
        request: create_participant_account::Request,
    ) -> Result<ParticipantAccountIds, LedgerError> {
        subject("participant", &request.participant);
        let about = participant(&request.participant);
        let details = json!({ "accounts": 1 });
        audited("accounts.created", about, details, |mut ledger| {
            ledger.create_account(request)
        })
    }
}

impl cover::Guest for AccountsAndBalances {
    fn record_liquidity_reservation_entries(
        request: cover::Request,
    ) -> Result<cover::Response, LedgerError> {
        subject("participant", &request.participant);
        let details = with_amount(&request.instruction_id, &request.total);
        audited(
            "cover.reserved",
            participant(&request.participant),
            details,
            |mut ledger| ledger.reserve_cover(&request),
        )
    }
}

impl status::Guest for AccountsAndBalances {
    fn enabled_disabled_participant_account(
        request: status::Request,
    ) -> Result<Vec<AccountStatus>, LedgerError> {
        subject("participant", &request.participant);
        let is_enabled = request.status == status::Status::Enabled;
        let details = json!({ "currency": request.currency, "enabled": is_enabled });
        audited(
            "account.status-changed",
            participant(&request.participant),
            details,
            |mut ledger| ledger.set_status(&request),
        )
    }
}

impl limit::Guest for AccountsAndBalances {
    fn update_participant_account_limit(
        request: limit::Request,
    ) -> Result<AccountPosition, LedgerError> {
        subject("participant", &request.participant);
        let cap = request.net_debit_cap.as_ref().map(format_amount);
        let details = json!({ "currency": request.currency, "netDebitCap": cap });
        audited(
            "account.limit-changed",
            participant(&request.participant),
            details,
            |mut ledger| ledger.set_limit(&request),
        )
    }
}

impl threshold::Guest for AccountsAndBalances {
    fn update_participant_account_threshold(
        request: threshold::Request,
    ) -> Result<Vec<AccountPosition>, LedgerError> {
        subject("participant", &request.participant);
        let thresholds = request.accounts.iter();
        let thresholds: Map<String, Value> = thresholds
            .map(|one| {
                (
                    one.currency.clone(),
                    json!(one.threshold.as_ref().map(format_amount)),
                )
            })
            .collect();
        let details = json!({ "thresholds": thresholds });
        let about = participant(&request.participant);
        audited("account.threshold-changed", about, details, |mut ledger| {
            ledger.set_thresholds(&request)
        })
    }
}

impl liquidity::Guest for AccountsAndBalances {
    fn get_current_liquidity_position(
        request: liquidity::Request,
    ) -> Result<liquidity::Response, LedgerError> {
        subject("participant", &request.participant);
        ledger(|mut ledger| ledger.liquidity_position(&request))
    }
}

impl positions::Guest for AccountsAndBalances {
    fn request_accounts_positions(
        request: positions::Request,
    ) -> Result<Vec<AccountStatus>, LedgerError> {
        subject("participant", &request.participant);
        ledger(|mut ledger| ledger.positions(&request))
    }
}

impl manage_funds::Guest for AccountsAndBalances {
    fn manage_funds_credit_debit_pair_instruction(
        request: manage_funds::Request,
    ) -> Result<manage_funds::Response, LedgerError> {
        subject("participant", &request.participant);
        let hub = &rialto_sdk::scheme::scheme().hub;
        let action = match request.direction {
            manage_funds::Direction::Deposit => "funds.deposited",
            manage_funds::Direction::Withdrawal => "funds.withdrawn",
        };
        let details = with_amount(&request.instruction_id, &request.amount);
        audited(
            action,
            participant(&request.participant),
            details,
            |mut ledger| ledger.manage_funds(&request, hub),
        )
    }
}

impl between_models::Guest for AccountsAndBalances {
    fn move_settled_funds(
        request: between_models::Request,
    ) -> Result<between_models::Response, LedgerError> {
        subject("participant", &request.participant);
        let details = with_amount(&request.instruction_id, &request.amount);
        audited(
            "funds.moved",
            participant(&request.participant),
            details,
            |mut ledger| ledger.move_settled_funds(&request),
        )
    }
}

impl reservations::Guest for AccountsAndBalances {
    fn request_reservation_accounts(
        participant: String,
    ) -> Result<Vec<reservations::ReservationAccount>, LedgerError> {
        subject("participant", &participant);
        ledger(|mut ledger| ledger.reservation_accounts(&participant))
    }
}

impl history::Guest for AccountsAndBalances {
    fn request_account_position_history(
        request: history::Request,
    ) -> Result<history::Response, LedgerError> {
        ledger(|mut ledger| ledger.position_history(&request))
    }
}

impl create_accounts::Guest for AccountsAndBalances {
    fn create_accounts(
        accounts: Vec<create_accounts::NewAccount>,
    ) -> Result<Vec<String>, LedgerError> {
        ledger(|mut ledger| ledger.open_settlement_accounts(&accounts))
    }
}

impl close_accounts::Guest for AccountsAndBalances {
    fn close_accounts(accounts: Vec<String>) -> Result<Vec<AccountStatus>, LedgerError> {
        ledger(|mut ledger| ledger.close(&accounts))
    }
}

impl journal::Guest for AccountsAndBalances {
    fn insert_journal_entries(
        request: journal::Request,
    ) -> Result<Vec<AccountPosition>, LedgerError> {
        let of_transfer = |entry: &journal::JournalEntry| {
            entry.entry_type == journal::SettlementEntryType::Record
        };
        if request.entries.iter().all(of_transfer) {
            return ledger(|mut ledger| ledger.insert_entries(&request));
        }
        let details = json!({ "step": request.step, "entries": request.entries.len() });
        let about = format!("settlement:{}", request.cause);
        audited("settlement.posted", about, details, |mut ledger| {
            ledger.insert_entries(&request)
        })
    }
}

impl get_accounts::Guest for AccountsAndBalances {
    fn get_accounts(accounts: Vec<String>) -> Vec<Option<AccountStatus>> {
        ledger(|mut ledger| ledger.accounts_by_id(&accounts))
    }
}

impl get_journal_entries::Guest for AccountsAndBalances {
    fn get_journal_entries(request: get_journal_entries::Request) -> get_journal_entries::Response {
        ledger(|mut ledger| ledger.entries_of(&request))
    }
}

impl retention_handler::Guest for AccountsAndBalances {
    fn kept() -> Vec<retention_handler::KeptDocuments> {
        retention::kept()
    }

    fn judge(
        _: String,
        collection: String,
        ids: Vec<String>,
        before: u64,
    ) -> retention_handler::Judged {
        retention::judge(&mut HostStore, &collection, &ids, before)
    }

    fn archived(
        _: String,
        archive: retention_handler::Archive,
        bundles: Vec<retention_handler::ArchivedBundle>,
    ) {
        retention::archived(&mut HostStore, &archive, &bundles);
    }
}

impl participant_endpoints_updated::Guest for AccountsAndBalances {
    fn participant_endpoints_updated(event: participant_endpoints_updated::Event) {
        rialto_sdk::logging::heard("participant-endpoints-updated", &event.participant);
    }
}

crate::bindings::export!(AccountsAndBalances with_types_in crate::bindings);

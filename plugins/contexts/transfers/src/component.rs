//! The exports, and the host's surroundings.

use crate::agreement_use::AgreementUse;
use crate::audited;
use crate::bindings::exports::rialto::counting::get_counts;
use crate::bindings::exports::rialto::fsp_interop_api::*;
use crate::bindings::exports::rialto::host::{
    configuration_schema, http_handler, retention_handler, settings_handler,
};
use crate::bindings::exports::rialto::participant_lifecycle_management::{
    participant_endpoints_updated, participant_state_updated,
};
use crate::bindings::exports::rialto::scheduling::schedule_reminder_elapsed;
use crate::bindings::exports::rialto::settlements::transfer_prepare_accounts_allocated;
use crate::bindings::exports::rialto::transfers::get_fulfilment_hash;
use crate::bindings::rialto::accounts_and_balances::types::LedgerError;
use crate::bindings::rialto::accounts_and_balances::{
    process_transfer_fulfil, process_transfer_prepare, process_transfer_release,
};
use crate::bindings::rialto::host::judging;
use crate::bindings::rialto::participant_lifecycle_management::get_participants_transfers_data::{
    ParticipantTransfersData, get_participants_transfers_data,
};
use crate::bindings::rialto::participant_lifecycle_management::liquidity_threshold_exceeded as threshold_exceeded;
use crate::bindings::rialto::quoting::get_agreement::{Agreed, get_agreement_with_rules};
use crate::bindings::rialto::scheduling::create_schedule_reminder::{
    Reminder, create_schedule_reminder,
};
use crate::bindings::rialto::scheduling::delete_schedule_reminder::{
    Deletion, delete_schedule_reminder,
};
use crate::bindings::rialto::scheduling::get_earlier_work::{EarlierWork, get_earlier_work};
use crate::bindings::rialto::transfers as events;
use crate::bindings::{transfer_fulfil_check, transfer_prepare_check, transfer_prepare_counters};
use crate::counters::{self, COUNTERS, Document};
use crate::query::Question;
use crate::settings::Settings;
use crate::surroundings::{Publication, Surroundings};
use crate::timeout::CLIENT;
use crate::transfer::{AgreedRules, Transfer};
use crate::{api, fulfil, index, prepare, query, reject, reports, retention, timeout};
use rialto_sdk::auditing::Audited;
use rialto_sdk::bindings::rialto::common::types::CallbackReport;
use rialto_sdk::bindings::rialto::host::clock;
use rialto_sdk::bindings::rialto::rules::types::{self as rules, Verdict};
use rialto_sdk::counters::{Counted, Counter};
use rialto_sdk::documents::{Collection, HostStore};
use rialto_sdk::logging::{self, Level, subject};
use rialto_sdk::operators::parameter;
use rialto_sdk::scheme::{scheme, settings};

const TRANSFERS: Collection<Transfer> = Collection::new(retention::TRANSFERS);
const AGREEMENT_USES: Collection<AgreementUse> = Collection::new("agreement-uses");

struct Host;

impl Surroundings for Host {
    fn now(&self) -> u64 {
        clock::now()
    }

    fn settings(&self) -> &Settings {
        settings()
    }

    fn transfer(&mut self, id: &str) -> Option<Transfer> {
        TRANSFERS.get_for_update(id)
    }

    fn read_transfer(&mut self, id: &str) -> Option<Transfer> {
        TRANSFERS.get(id)
    }

    fn put_transfer(&mut self, transfer: &Transfer) {
        TRANSFERS.put(&transfer.transfer_id, transfer);
    }

    fn note(&mut self, transfer: &Transfer, at: u64) {
        index::note(&mut HostStore, transfer, at);
    }

    fn agreement_use(&mut self, condition: &str) -> Option<AgreementUse> {
        AGREEMENT_USES.get_for_update(condition)
    }

    fn put_agreement_use(&mut self, condition: &str, agreement_use: &AgreementUse) {
        AGREEMENT_USES.put(condition, agreement_use);
    }

    fn participants(&mut self, ids: &[String]) -> Vec<Option<ParticipantTransfersData>> {
        get_participants_transfers_data(ids)
    }

    fn agreement(&mut self, condition: &str) -> Option<Agreed> {
        get_agreement_with_rules(condition)
    }

    fn judge_as_agreed(&mut self, rules: Option<AgreedRules>) {
        let AgreedRules { release, at } = rules.unwrap_or_default();
        judging::judge_as_agreed(release, at);
    }

    fn counters(&mut self) -> Vec<Counter> {
        transfer_prepare_counters::counters()
    }

    fn counter(&mut self, id: &str) -> Option<Document> {
        COUNTERS.get_for_update(id)
    }

    fn read_counter(&mut self, id: &str) -> Option<Document> {
        COUNTERS.get(id)
    }

    fn put_counter(&mut self, id: &str, document: &Document) {
        COUNTERS.put(id, document);
    }

    fn judge_prepare(&mut self, id: &str, input: &transfer_prepare_check::Input) -> Verdict {
        if let Some(agreement) = &input.agreement {
            logging::parties(&agreement.request);
        }
        transfer_prepare_check::check(&about(id), input)
    }

    fn judge_fulfil(&mut self, id: &str, input: &transfer_fulfil_check::Input) -> Verdict {
        transfer_fulfil_check::check(&about(id), input)
    }

    fn create_reminder(&mut self, id: &str, due: u64) {
        // Without a reminder, a reservation could stay for ever.
        remind(id, due, String::new());
    }

    fn ask_again(&mut self, name: &str, question: &Question) {
        let payload = serde_json::to_string(question).expect("texts always have a JSON text");
        remind(name, clock::now(), payload);
    }

    fn delete_reminder(&mut self, id: &str) -> bool {
        // A reminder that has elapsed already finds the transfer ended.
        delete_schedule_reminder(CLIENT, id) == Deletion::Deleted
    }

    fn earlier(&mut self, id: &str, before: u64) -> Option<EarlierWork> {
        get_earlier_work(&about(id), before)
    }

    fn be_about(&mut self, id: &str) {
        subject("transfer", id);
    }

    fn ledger_prepare(
        &mut self,
        request: &process_transfer_prepare::Request,
    ) -> Result<process_transfer_prepare::Response, LedgerError> {
        process_transfer_prepare::process_transfer_prepare(request)
    }

    fn threshold_exceeded(&mut self, request: &threshold_exceeded::Request) {
        // Participant Lifecycle Management decides whether this is a warning.
        let _ = threshold_exceeded::liquidity_threshold_exceeded(request);
    }

    fn ledger_fulfil(
        &mut self,
        request: &process_transfer_fulfil::Request,
    ) -> Result<process_transfer_fulfil::Response, LedgerError> {
        process_transfer_fulfil::process_transfer_fulfil(request)
    }

    fn ledger_release(&mut self, transfer_id: &str) -> Result<(), LedgerError> {
        let request = process_transfer_release::Request {
            transfer_id: transfer_id.to_owned(),
        };
        process_transfer_release::process_transfer_release(&request).map(drop)
    }

    fn publish(&mut self, publication: Publication) {
        if let Some(audited) = audited::of(&publication) {
            audited.write();
        }
        publish(&publication);
    }

    fn audit(&mut self, audited: &Audited) {
        audited.write();
    }

    fn log(&mut self, level: Level, line: &str) {
        logging::log(level, line);
    }
}

rialto_sdk::stores_in_host!(Host);

/// Sets a reminder at Scheduling.
///
/// # Panics
/// If Scheduling refuses: ids and payloads made here always have the right form.
fn remind(id: &str, due: u64, payload: String) {
    let reminder = Reminder {
        id: id.to_owned(),
        client: CLIENT.to_owned(),
        due,
        payload,
    };
    if let Err(error) = create_schedule_reminder(&reminder) {
        panic!("no reminder {id:?}: {error:?}");
    }
}

/// The subject of turns about a transfer, under which the receipts of its rules are filed. The id alone is not
/// enough: participants choose ids, and a quote may have the same.
fn about(transfer_id: &str) -> String {
    format!("transfer:{transfer_id}")
}

#[rustfmt::skip]
fn publish(publication: &Publication) {
    match publication {
        Publication::Prepared(event) => events::transfer_prepared::transfer_prepared(event),
        Publication::CommittedFulfiled(event) => events::transfer_committed_fulfiled::transfer_committed_fulfiled(event),
        Publication::QueryResponse(event) => events::transfer_query_response::transfer_query_response(event),
        Publication::RejectRequestProcessed(event) => events::transfer_reject_request_processed::transfer_reject_request_processed(event),
        Publication::PrepareRequestTimedout(event) => events::transfer_prepare_request_timedout::transfer_prepare_request_timedout(event),
        Publication::FulfilComitRequestTimedout(event) => events::transfer_fulfil_comit_request_timedout::transfer_fulfil_comit_request_timedout(event),
        Publication::PrepareDuplicateCheckFailed(event) => events::transfer_prepare_duplicate_check_failed::transfer_prepare_duplicate_check_failed(event),
        Publication::PrepareLiquidityCheckFailed(event) => events::transfer_prepare_liquidity_check_failed::transfer_prepare_liquidity_check_failed(event),
        Publication::PrepareInvalidPayerCheckFailed(event) => events::transfer_prepare_invalid_payer_check_failed::transfer_prepare_invalid_payer_check_failed(event),
        Publication::PrepareInvalidPayeeCheckFailed(event) => events::transfer_prepare_invalid_payee_check_failed::transfer_prepare_invalid_payee_check_failed(event),
        Publication::PrepareRuleCheckFailed(event) => events::transfer_prepare_rule_check_failed::transfer_prepare_rule_check_failed(event),
    }
}

struct Transfers;

rialto_sdk::judges_settings!(settings_handler, Transfers, Settings);
rialto_sdk::describes_settings!(configuration_schema, Transfers, version 1, "../settings.schema.json");
rialto_sdk::serves_operators!(http_handler for Transfers, "../openapi.yaml", |request, caller| {
    let changes = request.method != "GET";
    if let Some(id) = parameter(&request.path_parameters, "id").filter(|_| changes) {
        subject("transfer", id);
    }
    api::answer(&mut Host, scheme(), &caller, &request)
});

impl retention_handler::Guest for Transfers {
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

impl get_fulfilment_hash::Guest for Transfers {
    fn get_fulfilment_hash(transfer_id: String, payee_fsp: String) -> Option<String> {
        fulfil::taken(&mut Host, &transfer_id, &payee_fsp)
    }
}

impl get_counts::Guest for Transfers {
    fn get_counts(
        counters: Vec<Counter>,
        transfer: rules::Transfer,
        agreement: Option<rules::Agreement>,
    ) -> Vec<Counted> {
        let about = (&transfer, agreement.as_ref());
        counters::look(&mut Host, counters, about, clock::now())
    }
}

impl transfer_prepare_accounts_allocated::Guest for Transfers {
    fn transfer_prepare_accounts_allocated(event: transfer_prepare_accounts_allocated::Event) {
        subject("transfer", &event.transfer_id);
        prepare::prepare(&mut Host, event);
    }
}

impl transfer_fulfil_committed_requested::Guest for Transfers {
    fn transfer_fulfil_committed_requested(event: transfer_fulfil_committed_requested::Event) {
        subject("transfer", &event.transfer_id);
        fulfil::fulfil(&mut Host, event);
    }
}

impl transfer_reject_requested::Guest for Transfers {
    fn transfer_reject_requested(event: transfer_reject_requested::Event) {
        subject("transfer", &event.transfer_id);
        reject::reject(&mut Host, event);
    }
}

impl transfer_query_received::Guest for Transfers {
    fn transfer_query_received(event: transfer_query_received::Event) {
        subject("transfer", &event.transfer_id);
        query::query(&mut Host, event);
    }
}

impl schedule_reminder_elapsed::Guest for Transfers {
    fn schedule_reminder_elapsed(event: schedule_reminder_elapsed::Event) {
        if event.client != CLIENT {
            return;
        }
        if let Some(question) = query::of_reminder(&event) {
            subject("transfer", &question.transfer_id);
            return query::ask_again(&mut Host, &event.id, question);
        }
        subject("transfer", &event.id);
        timeout::reminder_elapsed(&mut Host, &event);
    }
}

impl participant_state_updated::Guest for Transfers {
    fn participant_state_updated(event: participant_state_updated::Event) {
        logging::heard("participant-state-updated", &event.participant);
    }
}

impl participant_endpoints_updated::Guest for Transfers {
    fn participant_endpoints_updated(event: participant_endpoints_updated::Event) {
        logging::heard("participant-endpoints-updated", &event.participant);
    }
}

/// Keeps each kind of callback report under its own name.
macro_rules! keep_reports {
    ($($interface:ident as $kind:literal,)*) => {$(
        impl $interface::Guest for Transfers {
            fn $interface(report: CallbackReport) {
                subject("transfer", &report.subject);
                reports::report(&mut Host, $kind, report);
            }
        }
    )*};
}

keep_reports! {
    transfer_prepare_callback_report as "transfer-prepare", // `reports::PREPARE`
    transfer_fulfil_committed_callback_report as "transfer-fulfil-committed",
    transfer_query_response_callback_report as "transfer-query-response",
    transfer_reject_request_processed_callback_report as "transfer-reject-request-processed",
    transfer_prepare_request_timedout_callback_report as "transfer-prepare-request-timedout",
    transfer_fulfil_commit_request_timedout_callback_report as "transfer-fulfil-commit-request-timedout",
    transfer_prepare_duplicate_check_failed_callback_report as "transfer-prepare-duplicate-check-failed",
    transfer_prepare_liquidity_check_failed_callback_report as "transfer-prepare-liquidity-check-failed",
    transfer_prepare_invalid_payer_check_failed_callback_report as "transfer-prepare-invalid-payer-check-failed",
    transfer_prepare_invalid_payee_check_failed_callback_report as "transfer-prepare-invalid-payee-check-failed",
    transfer_prepare_rule_check_failed_callback_report as "transfer-prepare-rule-check-failed",
}

crate::bindings::export!(Transfers with_types_in crate::bindings);

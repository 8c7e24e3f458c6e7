//! The surroundings of a transfer as a trait: the host in a component, a fake in tests.

use crate::agreement_use::AgreementUse;
use crate::bindings::rialto::accounts_and_balances::types::LedgerError;
use crate::bindings::rialto::accounts_and_balances::{
    process_transfer_fulfil as ledger_fulfil, process_transfer_prepare as ledger_prepare,
};
use crate::bindings::rialto::participant_lifecycle_management::get_participants_transfers_data::ParticipantTransfersData;
use crate::bindings::rialto::participant_lifecycle_management::liquidity_threshold_exceeded as threshold_exceeded;
use crate::bindings::rialto::quoting::get_agreement::Agreed;
use crate::bindings::rialto::scheduling::get_earlier_work::EarlierWork;
use crate::bindings::rialto::transfers::{
    transfer_committed_fulfiled, transfer_fulfil_comit_request_timedout,
    transfer_prepare_duplicate_check_failed, transfer_prepare_invalid_payee_check_failed,
    transfer_prepare_invalid_payer_check_failed, transfer_prepare_liquidity_check_failed,
    transfer_prepare_request_timedout, transfer_prepare_rule_check_failed, transfer_prepared,
    transfer_query_response, transfer_reject_request_processed,
};
use crate::bindings::{transfer_fulfil_check, transfer_prepare_check};
use crate::counters::{self, Document};
use crate::query::Question;
use crate::settings::Settings;
use crate::transfer::{AgreedRules, Transfer};
use rialto_sdk::auditing::Audited;
use rialto_sdk::bindings::rialto::rules::types::Verdict;
use rialto_sdk::counters::Counter;
use rialto_sdk::logging::Level;

/// An event of this context.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "each is named after its event")]
#[allow(
    clippy::large_enum_variant,
    reason = "one is made in a turn, and published at once"
)]
pub enum Publication {
    Prepared(transfer_prepared::Event),
    CommittedFulfiled(transfer_committed_fulfiled::Event),
    QueryResponse(transfer_query_response::Event),
    RejectRequestProcessed(transfer_reject_request_processed::Event),
    PrepareRequestTimedout(transfer_prepare_request_timedout::Event),
    FulfilComitRequestTimedout(transfer_fulfil_comit_request_timedout::Event),
    PrepareDuplicateCheckFailed(transfer_prepare_duplicate_check_failed::Event),
    PrepareLiquidityCheckFailed(transfer_prepare_liquidity_check_failed::Event),
    PrepareInvalidPayerCheckFailed(transfer_prepare_invalid_payer_check_failed::Event),
    PrepareInvalidPayeeCheckFailed(transfer_prepare_invalid_payee_check_failed::Event),
    PrepareRuleCheckFailed(transfer_prepare_rule_check_failed::Event),
}

/// Everything outside one transfer. What is done through it belongs to one turn.
pub trait Surroundings {
    /// The turn's instant: UTC, milliseconds since 1970.
    fn now(&self) -> u64;
    /// The scheme's settings for this component.
    fn settings(&self) -> &Settings;

    /// The transfer, held for this turn.
    fn transfer(&mut self, id: &str) -> Option<Transfer>;
    /// The transfer, to be read only.
    fn read_transfer(&mut self, id: &str) -> Option<Transfer>;
    /// Write a transfer.
    fn put_transfer(&mut self, transfer: &Transfer);

    /// Adds a transfer that arrived at an instant to the index by time.
    fn note(&mut self, transfer: &Transfer, at: u64);

    /// The transfer that was prepared last with this condition, held for this turn.
    fn agreement_use(&mut self, condition: &str) -> Option<AgreementUse>;
    /// Write which transfer was prepared last with this condition.
    fn put_agreement_use(&mut self, condition: &str, agreement_use: &AgreementUse);

    /// Participants, in the order asked for.
    fn participants(&mut self, ids: &[String]) -> Vec<Option<ParticipantTransfersData>>;
    /// The agreed quote whose terms carry this condition.
    fn agreement(&mut self, condition: &str) -> Option<Agreed>;
    /// Has what is asked next judged by the rules of an agreement; none for those in force now.
    fn judge_as_agreed(&mut self, rules: Option<AgreedRules>);
    /// The counters that the rules need who judge the next transfer to prepare.
    fn counters(&mut self) -> Vec<Counter>;
    /// The document of a counter, held for this turn.
    fn counter(&mut self, id: &str) -> Option<Document>;
    /// The document of a counter as it is, not held.
    fn read_counter(&mut self, id: &str) -> Option<Document>;
    /// Write the document of a counter.
    fn put_counter(&mut self, id: &str, document: &Document);
    /// Asks the rules about a transfer to prepare.
    fn judge_prepare(&mut self, id: &str, input: &transfer_prepare_check::Input) -> Verdict;
    /// Asks the rules about a fulfilment.
    fn judge_fulfil(&mut self, id: &str, input: &transfer_fulfil_check::Input) -> Verdict;

    /// Sets the reminder of a transfer at its expiry.
    fn create_reminder(&mut self, id: &str, due: u64);
    /// Sets a reminder, due at once and with this name, for a query that found nothing.
    fn ask_again(&mut self, name: &str, question: &Question);
    /// Cancels the reminder of a transfer. Returns whether it was waiting.
    fn delete_reminder(&mut self, id: &str) -> bool;

    /// Work about a transfer that arrived before an instant and is not handled, if any.
    fn earlier(&mut self, id: &str, before: u64) -> Option<EarlierWork>;
    /// Adds the transfer to the turn's subjects, for the history and for reminders that the turn sets.
    fn be_about(&mut self, id: &str);

    /// Reserve the payer's funds.
    ///
    /// # Errors
    /// When the ledger refuses; nothing is posted.
    fn ledger_prepare(
        &mut self,
        request: &ledger_prepare::Request,
    ) -> Result<ledger_prepare::Response, LedgerError>;
    /// Reports that a participant's liquidity has fallen below its threshold.
    fn threshold_exceeded(&mut self, request: &threshold_exceeded::Request);
    /// Gives the reserved funds to the payee.
    ///
    /// # Errors
    /// When the ledger refuses; nothing is posted.
    fn ledger_fulfil(
        &mut self,
        request: &ledger_fulfil::Request,
    ) -> Result<ledger_fulfil::Response, LedgerError>;
    /// Gives the reserved funds back to the payer.
    ///
    /// # Errors
    /// When the ledger refuses; nothing is posted.
    fn ledger_release(&mut self, transfer_id: &str) -> Result<(), LedgerError>;

    /// Publish an event.
    fn publish(&mut self, publication: Publication);
    /// Write an entry of the audit log.
    fn audit(&mut self, audited: &Audited);
    /// Logs a line for the operator.
    fn log(&mut self, level: Level, line: &str);
}

/// Writes a transfer after checking its document.
///
/// # Panics
/// When it does not.
pub(crate) fn keep(world: &mut impl Surroundings, transfer: &Transfer) {
    transfer.assert_whole();
    world.put_transfer(transfer);
}

/// Takes a prepared transfer out of its counters, and releases its reservation.
///
/// # Panics
/// If the ledger refuses: then its reservation contradicts the transfer's state, which no participant can cause
/// and no answer can repair.
pub(crate) fn release(world: &mut impl Surroundings, transfer: &mut Transfer) {
    counters::take_out(world, transfer);
    let id = &transfer.transfer_id;
    if let Err(error) = world.ledger_release(id) {
        panic!("the ledger does not release transfer {id}: {error:?}");
    }
}

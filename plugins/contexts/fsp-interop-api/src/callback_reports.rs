//! Publishing callback reports: one event for each delivered outcome.

use crate::bindings::rialto::fsp_interop_api as events;
use crate::report::ReportKind;
use rialto_sdk::bindings::rialto::common::types::CallbackReport;

/// Publishes the callback report of this kind. Lookups and queries of quotes have none.
pub fn publish(kind: ReportKind, report: &CallbackReport) {
    if kind.subject_kind() == "transfer" {
        of_transfer(kind, report);
    } else {
        of_quote(kind, report);
    }
}

fn of_quote(kind: ReportKind, report: &CallbackReport) {
    use events::{
        invalid_fsp_in_quote_request_callback_report as invalid_fsp,
        invalid_quote_request_callback_report as invalid_request,
        quote_accepted_callback_report as accepted, quote_received_callback_report as received,
        rule_violated_in_quote_request_callback_report as rule_in_request,
        rule_violated_in_quote_response_callback_report as rule_in_response,
    };
    match kind {
        ReportKind::QuoteReceived => received::quote_received_callback_report(report),
        ReportKind::QuoteAccepted => accepted::quote_accepted_callback_report(report),
        ReportKind::InvalidQuoteRequest => {
            invalid_request::invalid_quote_request_callback_report(report);
        }
        ReportKind::InvalidFspInQuoteRequest => {
            invalid_fsp::invalid_fsp_in_quote_request_callback_report(report);
        }
        ReportKind::RuleViolatedInQuoteRequest => {
            rule_in_request::rule_violated_in_quote_request_callback_report(report);
        }
        ReportKind::RuleViolatedInQuoteResponse => {
            rule_in_response::rule_violated_in_quote_response_callback_report(report);
        }
        _ => {}
    }
}

fn of_transfer(kind: ReportKind, report: &CallbackReport) {
    use events::{
        transfer_fulfil_commit_request_timedout_callback_report as fulfil_timedout,
        transfer_fulfil_committed_callback_report as fulfil,
        transfer_prepare_callback_report as prepare,
        transfer_prepare_duplicate_check_failed_callback_report as duplicate,
        transfer_prepare_invalid_payee_check_failed_callback_report as invalid_payee,
        transfer_prepare_invalid_payer_check_failed_callback_report as invalid_payer,
        transfer_prepare_liquidity_check_failed_callback_report as liquidity,
        transfer_prepare_request_timedout_callback_report as prepare_timedout,
        transfer_prepare_rule_check_failed_callback_report as rule,
        transfer_query_response_callback_report as query,
        transfer_reject_request_processed_callback_report as reject,
    };
    match kind {
        ReportKind::TransferPrepare => prepare::transfer_prepare_callback_report(report),
        ReportKind::TransferFulfilCommitted => {
            fulfil::transfer_fulfil_committed_callback_report(report);
        }
        ReportKind::TransferQueryResponse => query::transfer_query_response_callback_report(report),
        ReportKind::TransferRejectRequestProcessed => {
            reject::transfer_reject_request_processed_callback_report(report);
        }
        ReportKind::TransferPrepareRequestTimedout => {
            prepare_timedout::transfer_prepare_request_timedout_callback_report(report);
        }
        ReportKind::TransferFulfilCommitRequestTimedout => {
            fulfil_timedout::transfer_fulfil_commit_request_timedout_callback_report(report);
        }
        ReportKind::TransferPrepareDuplicateCheckFailed => {
            duplicate::transfer_prepare_duplicate_check_failed_callback_report(report);
        }
        ReportKind::TransferPrepareLiquidityCheckFailed => {
            liquidity::transfer_prepare_liquidity_check_failed_callback_report(report);
        }
        ReportKind::TransferPrepareInvalidPayerCheckFailed => {
            invalid_payer::transfer_prepare_invalid_payer_check_failed_callback_report(report);
        }
        ReportKind::TransferPrepareInvalidPayeeCheckFailed => {
            invalid_payee::transfer_prepare_invalid_payee_check_failed_callback_report(report);
        }
        ReportKind::TransferPrepareRuleCheckFailed => {
            rule::transfer_prepare_rule_check_failed_callback_report(report);
        }
        _ => {}
    }
}

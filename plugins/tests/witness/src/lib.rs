//! A context that consumes every event of the contracts and stores it unchanged: a document of the collection
//! `events`, with the event's name and its members, whose names have underscores. Its id begins with its
//! arrival time, in milliseconds since 1970.

/// Bindings generated from `world.wit`, whose values can be written as JSON.
#[allow(missing_docs, clippy::all, clippy::pedantic)]
pub mod bindings {
    wit_bindgen::generate!({
        world: "rialto:witness/witness",
        path: [
            "../../../wit/common",
            "../../../wit/host",
            "../../../wit/rules",
            "../../../wit/accounts-and-balances",
            "../../../wit/participant-lifecycle-management",
            "../../../wit/quoting",
            "../../../wit/transfers",
            "../../../wit/account-lookup",
            "../../../wit/notifications-and-alerts",
            "../../../wit/fsp-interop-api",
            "../../../wit/scheduling",
            "../../../wit/settlements",
            "../../../wit/platform-configuration",
            ".",
        ],
        with: {
            "rialto:host/clock@0.1.0": rialto_sdk::bindings::rialto::host::clock,
            "rialto:host/random@0.1.0": rialto_sdk::bindings::rialto::host::random,
            "rialto:host/storage@0.1.0": rialto_sdk::bindings::rialto::host::storage,
        },
        generate_all,
        additional_derives: [serde::Serialize],
    });
}

// Exports have names that no native linker takes.
#[cfg(target_arch = "wasm32")]
mod component {
    //! The exports.

    use crate::bindings::exports::rialto as told;
    use crate::bindings::rialto::common::types::CallbackReport;
    use rialto_sdk::bindings::rialto::host::{clock, random, storage};
    use serde::Serialize;

    struct Witness;

    /// Stores an event.
    fn keep(event: &str, content: &impl Serialize) {
        let event = event.replace('_', "-");
        let content = serde_json::to_string(content).expect("an event always has a JSON text");
        let body = format!(r#"{{"event":"{event}","content":{content}}}"#);
        let id = format!("{:013}/{event}/{}", clock::now(), random::uuid());
        storage::put("events", &id, &body);
    }

    macro_rules! takes {
        ($content:ident: $($package:ident { $($event:ident),* $(,)? })*) => {
            $($(
                impl told::$package::$event::Guest for Witness {
                    fn $event(content: takes!(@ $content $package $event)) {
                        keep(stringify!($event), &content);
                    }
                }
            )*)*
        };
        (@ report $package:ident $event:ident) => { CallbackReport };
        (@ event $package:ident $event:ident) => { told::$package::$event::Event };
    }

    takes! {
        event:
        account_lookup {
            account_lookup_failed,
            participant_association_created,
            participant_association_removed,
            participants_association_failed,
            participants_association_processed,
            participant_query_response,
            party_info_requested,
            party_query_response,
        }
        fsp_interop_api {
            notify_requested,
            participant_association_request_received,
            participants_association_request_received,
            participant_disassociate_request_received,
            participant_query_received,
            party_info_available,
            party_info_refused,
            party_query_received,
            quote_query_received,
            quote_reject_requested,
            quote_request_received,
            quote_request_undelivered,
            quote_response_received,
            transfer_fulfil_committed_requested,
            transfer_prepare_requested,
            transfer_query_received,
            transfer_reject_requested,
        }
        notifications_and_alerts {
            notify_report,
            rule_state_changed,
        }
        participant_lifecycle_management {
            approval_notification,
            participant_account_added,
            participant_account_disabled,
            participant_account_enabled,
            participant_account_limit_updated,
            participant_account_threshold_updated,
            participant_created,
            participant_endpoints_updated,
            participant_liquidity_threshold_exceeded,
            participant_state_updated,
        }
        platform_configuration {
            configuration_values_changed,
            secrets_values_changed,
        }
        quoting {
            invalid_fsp_in_quote_request,
            invalid_quote_request,
            quote_query_response,
            quote_reject_request_processed,
            quote_request_accepted,
            quote_response_accepted,
            rule_violated_in_quote_request,
            rule_violated_in_quote_response,
        }
        scheduling {
            schedule_reminder_elapsed,
        }
        settlements {
            transfer_prepare_accounts_allocated,
        }
        transfers {
            transfer_committed_fulfiled,
            transfer_fulfil_comit_request_timedout,
            transfer_prepare_duplicate_check_failed,
            transfer_prepare_invalid_payee_check_failed,
            transfer_prepare_invalid_payer_check_failed,
            transfer_prepare_liquidity_check_failed,
            transfer_prepare_request_timedout,
            transfer_prepare_rule_check_failed,
            transfer_prepared,
            transfer_query_response,
            transfer_reject_request_processed,
        }
    }

    takes! {
        report:
        fsp_interop_api {
            invalid_fsp_in_quote_request_callback_report,
            invalid_quote_request_callback_report,
            quote_accepted_callback_report,
            quote_received_callback_report,
            rule_violated_in_quote_request_callback_report,
            rule_violated_in_quote_response_callback_report,
            transfer_fulfil_commit_request_timedout_callback_report,
            transfer_fulfil_committed_callback_report,
            transfer_prepare_callback_report,
            transfer_prepare_duplicate_check_failed_callback_report,
            transfer_prepare_invalid_payee_check_failed_callback_report,
            transfer_prepare_invalid_payer_check_failed_callback_report,
            transfer_prepare_liquidity_check_failed_callback_report,
            transfer_prepare_request_timedout_callback_report,
            transfer_prepare_rule_check_failed_callback_report,
            transfer_query_response_callback_report,
            transfer_reject_request_processed_callback_report,
        }
    }

    crate::bindings::export!(Witness with_types_in crate::bindings);
}

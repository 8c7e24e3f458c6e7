//! Participant Lifecycle Management: the participants, their terms and their endpoints.
//!
//! | Module | Holds |
//! |---|---|
//! | [`participants`] | the participant document, and what callers are told of it |
//! | [`api`] | the operators' API: which operation does what |
//! | [`kinds`] | what operators may ask for, a file for each kind |
//! | [`submit`], [`decide`] | maker and checker: the way of every request |
//! | [`requests`] | requests as data |
//! | [`history`] | what was changed, as a chain of hashes |
//! | [`health`] | trying an endpoint before it is taken |
//! | [`notices`] | telling operators what became of requests |
//! | [`warnings`] | warnings of a participant's liquidity |
//! | [`liquidity`] | what other contexts may ask about a participant's money |
//! | [`activation`] | bringing the participants of the manifest in |
//! | [`certificates`] | certificates that were issued to participants |
//! | [`settings`] | which requests need a second person |
//! | [`world`] | everything outside; [`host`] is the real one |

#![allow(
    clippy::result_large_err,
    reason = "the contract's ledger-error carries an account's position, and is not made often"
)]

pub mod activation;
pub mod api;
pub mod bindings;
pub mod certificates;
pub mod decide;
pub mod health;
pub mod history;
pub mod host;
pub mod kinds;
pub mod liquidity;
pub mod notices;
pub mod participants;
pub mod requests;
pub mod settings;
pub mod submit;
#[cfg(test)]
mod tests;
pub mod warnings;
pub mod world;

mod component {
    //! The exports.

    use crate::activation;
    use crate::api;
    use crate::bindings::exports::rialto::host::{
        activation_handler, address_handler, configuration_schema, http_handler,
        http_report_handler, revocation_handler, settings_handler,
    };
    use crate::bindings::exports::rialto::participant_lifecycle_management::{
        get_liquidity_cover_history as cover_history,
        get_participant_callback_info as callback_info, get_participant_info as info,
        get_participant_quote_data as quote_data,
        get_participants_transfers_data as transfers_data, get_reservations as reservations,
        liquidity_threshold_exceeded as threshold_exceeded,
    };
    use crate::bindings::exports::rialto::transfers::{
        transfer_committed_fulfiled as committed,
        transfer_fulfil_comit_request_timedout as timedout,
        transfer_prepare_liquidity_check_failed as liquidity_check_failed,
        transfer_reject_request_processed as rejected,
    };
    use crate::bindings::rialto::accounts_and_balances::types::LedgerError;
    use crate::bindings::rialto::participant_lifecycle_management::participant_liquidity_threshold_exceeded as warned;
    use crate::certificates::REVOKED;
    use crate::health;
    use crate::host::Host;
    use crate::liquidity;
    use crate::participants::{PARTICIPANTS, Participant};
    use crate::settings::Settings;
    use crate::warnings;
    use rialto_sdk::logging::subject;
    use rialto_sdk::scheme::{participants, scheme, settings};

    struct ParticipantLifecycleManagement;

    rialto_sdk::judges_settings!(settings_handler, ParticipantLifecycleManagement, Settings);
    rialto_sdk::describes_settings!(configuration_schema, ParticipantLifecycleManagement, version 1, "../settings.schema.json");
    rialto_sdk::serves_operators!(
        http_handler for ParticipantLifecycleManagement, "../openapi.yaml",
        |request, caller| api::answer(&mut Host, &caller, &request)
    );

    impl http_report_handler::Guest for ParticipantLifecycleManagement {
        fn report(report: http_report_handler::DeliveryReport) {
            health::tried(&mut Host, &report);
        }
    }

    impl address_handler::Guest for ParticipantLifecycleManagement {
        fn limited(names: Vec<String>) -> Vec<address_handler::LimitedClient> {
            let limited = |name: String| {
                let ranges = PARTICIPANTS.get(&name)?.source_addresses?;
                Some(address_handler::LimitedClient { name, ranges })
            };
            names.into_iter().filter_map(limited).collect()
        }
    }

    impl revocation_handler::Guest for ParticipantLifecycleManagement {
        fn revoked(names: Vec<String>) -> Vec<revocation_handler::RevokedClient> {
            let revoked = |name: String| {
                let certificates = REVOKED.get(&name)?.certificates;
                let serials = certificates.into_iter().map(|one| one.serial).collect();
                Some(revocation_handler::RevokedClient { name, serials })
            };
            names.into_iter().filter_map(revoked).collect()
        }
    }

    impl activation_handler::Guest for ParticipantLifecycleManagement {
        fn release_activated(release: u64, step: u32) -> bool {
            let (changes, more) =
                activation::step(&mut Host, (scheme(), &participants), release, step);
            for change in &changes {
                rialto_sdk::info!("release {release}: {change}");
            }
            let alone = settings::<Settings>().automatic();
            if step == 0 && !alone.is_empty() {
                rialto_sdk::warn!(
                    "THIS IS A SANDBOX: one operator alone changes participants (`approval` is automatic for {})",
                    alone.join(", ")
                );
            }
            more
        }
    }

    impl transfers_data::Guest for ParticipantLifecycleManagement {
        fn get_participants_transfers_data(
            participants: Vec<String>,
        ) -> Vec<Option<transfers_data::ParticipantTransfersData>> {
            let read = |id: String| {
                activation::trader(&mut Host, &id).map(Participant::into_transfers_data)
            };
            participants.into_iter().map(read).collect()
        }
    }

    impl quote_data::Guest for ParticipantLifecycleManagement {
        fn get_participant_quote_data(
            participants: Vec<String>,
        ) -> Vec<Option<quote_data::ParticipantQuoteData>> {
            let read =
                |id: String| activation::trader(&mut Host, &id).map(Participant::into_quote_data);
            participants.into_iter().map(read).collect()
        }
    }

    impl callback_info::Guest for ParticipantLifecycleManagement {
        fn get_participant_callback_info(
            participant: String,
        ) -> Option<callback_info::ParticipantCallbackInfo> {
            PARTICIPANTS
                .get(&participant)
                .and_then(Participant::into_callback_info)
        }
    }

    impl info::Guest for ParticipantLifecycleManagement {
        fn get_participant_info(participant: String) -> Option<info::ParticipantInfo> {
            activation::known(&mut Host, &participant).map(Participant::into_info)
        }
    }

    impl cover_history::Guest for ParticipantLifecycleManagement {
        fn get_liquidity_cover_history(
            request: cover_history::Request,
        ) -> Result<Option<cover_history::Response>, LedgerError> {
            liquidity::history(&mut Host, request)
        }
    }

    impl reservations::Guest for ParticipantLifecycleManagement {
        fn get_reservations(participant: String) -> Option<Vec<reservations::Reservation>> {
            liquidity::reservations(&mut Host, &participant)
        }
    }

    impl threshold_exceeded::Guest for ParticipantLifecycleManagement {
        fn liquidity_threshold_exceeded(request: threshold_exceeded::Request) -> bool {
            warnings::warn(
                &mut Host,
                request.participant,
                warned::Warning::Threshold,
                request.position,
            )
        }
    }

    impl liquidity_check_failed::Guest for ParticipantLifecycleManagement {
        fn transfer_prepare_liquidity_check_failed(event: liquidity_check_failed::Event) {
            subject("transfer", &event.transfer_id);
            warnings::warn(
                &mut Host,
                event.payer_fsp,
                warned::Warning::Limit,
                event.payer_position,
            );
        }
    }

    impl committed::Guest for ParticipantLifecycleManagement {
        fn transfer_committed_fulfiled(event: committed::Event) {
            subject("transfer", &event.transfer_id);
            warnings::recovered(&mut Host, &event.payee_fsp, &event.payee_position);
        }
    }

    impl rejected::Guest for ParticipantLifecycleManagement {
        fn transfer_reject_request_processed(event: rejected::Event) {
            subject("transfer", &event.transfer_id);
            warnings::released(&mut Host, &event.payer_fsp);
        }
    }

    impl timedout::Guest for ParticipantLifecycleManagement {
        fn transfer_fulfil_comit_request_timedout(event: timedout::Event) {
            subject("transfer", &event.transfer_id);
            warnings::released(&mut Host, &event.payer_fsp);
        }
    }

    // Component exports have names that no native linker takes.
    #[cfg(target_arch = "wasm32")]
    crate::bindings::export!(ParticipantLifecycleManagement with_types_in crate::bindings);
}

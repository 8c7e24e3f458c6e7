//! Participant Lifecycle Management: who takes part in the scheme, and where they are reached.
//!
//! | Module | Holds |
//! |---|---|
//! | [`participants`] | the participant document, and what callers are told of it |
//! | [`warnings`] | warnings of a participant's liquidity |
//! | [`activation`] | bringing the participants of the manifest in, pure over its surroundings |

#![allow(
    clippy::result_large_err,
    reason = "the contract's ledger-error carries an account's position, and is not made often"
)]

pub mod activation;
pub mod participants;
pub mod warnings;

/// Bindings generated from `world.wit`.
#[allow(missing_docs)]
pub mod bindings {
    wit_bindgen::generate!({
        world: "rialto:participant-lifecycle-management-plugin/participant-lifecycle-management",
        path: [
            "../../../wit/common",
            "../../../wit/host",
            "../../../wit/rules",
            "../../../wit/accounts-and-balances",
            "../../../wit/participant-lifecycle-management",
            "../../../wit/transfers",
            ".",
        ],
        with: {
            "rialto:common/types@0.1.0": rialto_sdk::bindings::rialto::common::types,
            "rialto:host/storage@0.1.0": rialto_sdk::bindings::rialto::host::storage,
            "rialto:host/configuration@0.1.0": rialto_sdk::bindings::rialto::host::configuration,
            "rialto:host/clock@0.1.0": rialto_sdk::bindings::rialto::host::clock,
            "rialto:host/logging@0.1.0": rialto_sdk::bindings::rialto::host::logging,
        },
        generate_all,
        additional_derives: [PartialEq],
    });
}

mod component {
    //! The exports, over the host's storage and the ledger.

    use crate::activation::{self, Surroundings};
    use crate::bindings::exports::rialto::host::activation_handler;
    use crate::bindings::exports::rialto::participant_lifecycle_management::{
        get_participant_callback_info as callback_info, get_participant_info as info,
        get_participant_quote_data as quote_data,
        get_participants_transfers_data as transfers_data,
        liquidity_threshold_exceeded as threshold_exceeded,
    };
    use crate::bindings::exports::rialto::transfers::{
        transfer_committed_fulfiled as committed,
        transfer_prepare_liquidity_check_failed as liquidity_check_failed,
    };
    use crate::bindings::rialto::accounts_and_balances::create_participant_accounts_with_limits as create_accounts;
    use crate::bindings::rialto::accounts_and_balances::manage_funds_credit_debit_pair_instruction as manage_funds;
    use crate::bindings::rialto::accounts_and_balances::types::{
        LedgerError, ParticipantAccountIds,
    };
    use crate::bindings::rialto::participant_lifecycle_management::{
        participant_created, participant_liquidity_threshold_exceeded as warned,
    };
    use crate::participants::Participant;
    use crate::warnings::{self, Given};
    use rialto_sdk::bindings::rialto::host::clock;
    use rialto_sdk::documents::Collection;
    use rialto_sdk::logging::subject;
    use rialto_sdk::scheme::scheme;

    const PARTICIPANTS: Collection<Participant> = Collection::new("participants");
    const WARNINGS: Collection<Given> = Collection::new("liquidity-warnings");

    struct Host;

    impl Surroundings for Host {
        fn participant(&mut self, id: &str) -> Option<Participant> {
            PARTICIPANTS.get_for_update(id)
        }

        fn put_participant(&mut self, participant: &Participant) {
            PARTICIPANTS.put(&participant.participant, participant);
        }

        fn create_accounts(
            &mut self,
            request: &create_accounts::Request,
        ) -> Result<Vec<ParticipantAccountIds>, LedgerError> {
            create_accounts::create_participant_accounts_with_limits(request)
        }

        fn manage_funds(&mut self, request: &manage_funds::Request) -> Result<(), LedgerError> {
            manage_funds::manage_funds_credit_debit_pair_instruction(request).map(drop)
        }

        fn publish_created(&mut self, event: &participant_created::Event) {
            participant_created::participant_created(event);
        }
    }

    impl warnings::Surroundings for Host {
        fn now(&self) -> u64 {
            clock::now()
        }

        fn is_given(&mut self, id: &str) -> bool {
            WARNINGS.get_for_update(id).is_some()
        }

        fn put_given(&mut self, id: &str, given: &Given) {
            WARNINGS.put(id, given);
        }

        fn forget_given(&mut self, id: &str) {
            WARNINGS.delete(id);
        }

        fn publish(&mut self, event: &warned::Event) {
            warned::participant_liquidity_threshold_exceeded(event);
        }
    }

    struct ParticipantLifecycleManagement;

    impl activation_handler::Guest for ParticipantLifecycleManagement {
        fn release_activated(release: u64) {
            let changes = activation::bring_in(&mut Host, scheme(), clock::now());
            for change in &changes {
                rialto_sdk::info!("release {release}: {change}");
            }
        }
    }

    impl transfers_data::Guest for ParticipantLifecycleManagement {
        fn get_participants_transfers_data(
            participants: Vec<String>,
        ) -> Vec<Option<transfers_data::ParticipantTransfersData>> {
            let read = |id: String| PARTICIPANTS.get(&id).map(Participant::into_transfers_data);
            participants.into_iter().map(read).collect()
        }
    }

    impl quote_data::Guest for ParticipantLifecycleManagement {
        fn get_participant_quote_data(
            participants: Vec<String>,
        ) -> Vec<Option<quote_data::ParticipantQuoteData>> {
            let read = |id: String| PARTICIPANTS.get(&id).map(Participant::into_quote_data);
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

    impl info::Guest for ParticipantLifecycleManagement {
        fn get_participant_info(participant: String) -> Option<info::ParticipantInfo> {
            PARTICIPANTS.get(&participant).map(Participant::into_info)
        }
    }

    crate::bindings::export!(ParticipantLifecycleManagement with_types_in crate::bindings);
}

//! Settlements: gives each transfer its settlement model and its accounts.
//!
//! | Module | Holds |
//! |---|---|
//! | [`allocation`] | which accounts of which participant a transfer uses, and the model |
//!
//! It knows a participant's accounts from the events about participants, and asks nobody: a
//! transfer costs it two documents and one event.

pub mod allocation;

/// Bindings generated from `world.wit`.
#[allow(missing_docs)]
pub mod bindings {
    wit_bindgen::generate!({
        world: "rialto:settlements-plugin/settlements",
        path: [
            "../../../wit/common",
            "../../../wit/host",
            "../../../wit/rules",
            "../../../wit/accounts-and-balances",
            "../../../wit/participant-lifecycle-management",
            "../../../wit/settlements",
            "../../../wit/transfers",
            "../../../wit/quoting",
            "../../../wit/fsp-interop-api",
            ".",
        ],
        with: {
            "rialto:common/types@0.1.0": rialto_sdk::bindings::rialto::common::types,
            "rialto:host/storage@0.1.0": rialto_sdk::bindings::rialto::host::storage,
            "rialto:host/configuration@0.1.0": rialto_sdk::bindings::rialto::host::configuration,
            "rialto:host/logging@0.1.0": rialto_sdk::bindings::rialto::host::logging,
        },
        generate_all,
        additional_derives: [PartialEq],
    });
}

mod component {
    //! The exports, over the host's storage.

    use crate::allocation::{ParticipantAccounts, Settings, allocate, document_id};
    use crate::bindings::exports::rialto::fsp_interop_api::transfer_prepare_requested;
    use crate::bindings::exports::rialto::participant_lifecycle_management::participant_created;
    use crate::bindings::rialto::settlements::transfer_prepare_accounts_allocated::transfer_prepare_accounts_allocated;
    use rialto_sdk::documents::Collection;
    use rialto_sdk::logging::subject;
    use rialto_sdk::scheme::settings;

    const ACCOUNTS: Collection<ParticipantAccounts> = Collection::new("participant-accounts");

    struct Settlements;

    impl participant_created::Guest for Settlements {
        fn participant_created(event: participant_created::Event) {
            subject("participant", &event.participant);
            for accounts in event.accounts {
                let id = document_id(&accounts.participant, &accounts.currency);
                ACCOUNTS.put(&id, &ParticipantAccounts::from(accounts));
            }
        }
    }

    impl transfer_prepare_requested::Guest for Settlements {
        fn transfer_prepare_requested(event: transfer_prepare_requested::Event) {
            subject("transfer", &event.transfer_id);
            let model = &settings::<Settings>().settlement_model;
            let allocated = allocate(event, model, |id| ACCOUNTS.get(id));
            transfer_prepare_accounts_allocated(&allocated);
        }
    }

    crate::bindings::export!(Settlements with_types_in crate::bindings);
}

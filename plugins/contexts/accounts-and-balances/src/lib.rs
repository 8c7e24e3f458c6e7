//! Accounts & Balances: the ledger of the scheme.
//!
//! | Module | Holds |
//! |---|---|
//! | [`accounts`] | the account document, its limits and how an amount is posted to it |
//! | [`records`] | the documents that say what happened: entries and reservations |
//! | [`store`] | the storage that the ledger needs, and the host's |
//! | [`ledger`] | the operations, pure over a store |
//!
//! Two books: the liquidity book (liquidity, position, liquidity cover, and the hub's liquidity
//! control) moves with every transfer; the settlement book (settlement and the hub's
//! reconciliation) moves with deposits, withdrawals and settlement. An entry is one debit and one
//! credit inside one book, so the sum of debits is the sum of credits in each at any time.

#![allow(
    clippy::result_large_err,
    reason = "the contract's ledger-error carries an account's position, and is not made often"
)]

pub mod accounts;
pub mod ledger;
pub mod records;
pub mod store;

/// Bindings generated from `world.wit`.
#[allow(missing_docs)]
pub mod bindings {
    wit_bindgen::generate!({
        world: "rialto:accounts-and-balances-plugin/accounts-and-balances",
        path: [
            "../../../wit/common",
            "../../../wit/host",
            "../../../wit/accounts-and-balances",
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
    //! The exports: each one call of the ledger over the host's storage.

    use crate::bindings::exports::rialto::accounts_and_balances::{
        create_participant_accounts_with_limits as create_accounts,
        manage_funds_credit_debit_pair_instruction as manage_funds,
        process_transfer_fulfil as fulfil, process_transfer_prepare as prepare,
        process_transfer_release as release,
    };
    use crate::bindings::rialto::accounts_and_balances::types::{
        LedgerError, ParticipantAccountIds,
    };
    use crate::ledger::Ledger;
    use crate::store::HostStore;
    use rialto_sdk::bindings::rialto::host::clock;
    use rialto_sdk::logging::subject;

    struct AccountsAndBalances;

    impl prepare::Guest for AccountsAndBalances {
        fn process_transfer_prepare(
            request: prepare::Request,
        ) -> Result<prepare::Response, LedgerError> {
            subject("transfer", &request.transfer_id);
            Ledger::new(&mut HostStore, clock::now()).prepare(request)
        }
    }

    impl fulfil::Guest for AccountsAndBalances {
        fn process_transfer_fulfil(
            request: fulfil::Request,
        ) -> Result<fulfil::Response, LedgerError> {
            subject("transfer", &request.transfer_id);
            Ledger::new(&mut HostStore, clock::now()).fulfil(&request)
        }
    }

    impl release::Guest for AccountsAndBalances {
        fn process_transfer_release(
            request: release::Request,
        ) -> Result<release::Response, LedgerError> {
            subject("transfer", &request.transfer_id);
            Ledger::new(&mut HostStore, clock::now()).release(&request)
        }
    }

    impl create_accounts::Guest for AccountsAndBalances {
        fn create_participant_accounts_with_limits(
            request: create_accounts::Request,
        ) -> Result<Vec<ParticipantAccountIds>, LedgerError> {
            subject("participant", &request.participant);
            Ledger::new(&mut HostStore, clock::now()).create_accounts(&request)
        }
    }

    impl manage_funds::Guest for AccountsAndBalances {
        fn manage_funds_credit_debit_pair_instruction(
            request: manage_funds::Request,
        ) -> Result<manage_funds::Response, LedgerError> {
            subject("participant", &request.participant);
            let hub = &rialto_sdk::scheme::scheme().hub;
            Ledger::new(&mut HostStore, clock::now()).manage_funds(&request, hub)
        }
    }

    crate::bindings::export!(AccountsAndBalances with_types_in crate::bindings);
}

//! Settlements: gives each transfer its settlement model and accounts, records committed transfers, and settles
//! them.
//!
//! | Module | Holds |
//! |---|---|
//! | [`settings`] | settlement models, and which transfer is settled by which |
//! | [`participants`] | the ledger's accounts of participants, as events tell of them |
//! | [`allocation`] | which accounts a transfer uses, and when it is settled |
//! | [`batches`] | settlement batches, and who is in them |
//! | [`recording`] | a committed transfer, recorded in its batch or settled at once |
//! | [`settlement`] | a settlement's document and its matrix |
//! | [`progress`] | how a settlement goes on, step by step |
//! | [`operations`] | what operators do |
//! | [`views`], [`api`] | what operators read, and the operations over HTTP |
//! | [`units`] | amounts |
//! | [`world`] | everything outside |
//!
//! It learns of participants' accounts from events. Only the ledger moves funds: this context proposes entries,
//! and the ledger checks them.

#![allow(
    clippy::result_large_err,
    reason = "the contract's ledger-error carries an account's position, and is not made often"
)]

pub mod allocation;
pub mod api;
pub mod batches;
mod component;
pub mod operations;
pub mod participants;
pub mod progress;
pub mod recording;
pub mod settings;
pub mod settlement;
pub mod units;
pub mod views;
pub mod world;

#[cfg(test)]
mod tests;

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
            "rialto:host/clock@0.1.0": rialto_sdk::bindings::rialto::host::clock,
            "rialto:host/random@0.1.0": rialto_sdk::bindings::rialto::host::random,
            "rialto:host/http@0.1.0": rialto_sdk::bindings::rialto::host::http,
            "rialto:host/logging@0.1.0": rialto_sdk::bindings::rialto::host::logging,
        },
        generate_all,
        additional_derives: [PartialEq],
    });
}

//! Transfers: takes each transfer from its request to its one outcome.
//!
//! | Module | Holds |
//! |---|---|
//! | [`transfer`] | the transfer document and its states |
//! | [`settings`] | what a scheme may choose |
//! | [`agreement_use`] | which transfer an agreement serves |
//! | [`counters`], [`window`] | what was transferred before, for rules that limit it |
//! | [`audited`] | what of a transfer is in the audit log |
//! | [`surroundings`] | what a transfer reads, asks and publishes, as a trait |
//! | [`prepare`] | a request for a transfer: checks, reservation, refusals, repeats |
//! | [`fulfil`] | the payee FSP commits |
//! | [`reject`] | the payee FSP declines |
//! | [`timeout`] | a transfer expires |
//! | [`query`] | an FSP asks for a transfer, and how a state is told |
//! | [`reports`] | what became of the messages to participants |
//! | [`index`] | which transfers there are, by time |
//! | [`sweep`] | what is reserved past its expiry |
//! | [`endings`] | operators have a stuck transfer ended |
//! | [`api`], [`views`] | transfers for operators, over HTTP |
//! | [`retention`] | what goes to an archive when it is over, and what stays of it |
//!
//! Every message about a transfer is one turn that first holds the transfer's document. So messages about one
//! transfer are handled one after the other. Its state, the money and its events are committed together.

#![allow(
    clippy::result_large_err,
    reason = "the contract's ledger-error carries an account's position, and is not made often"
)]

pub mod agreement_use;
pub mod api;
pub mod audited;
pub mod counters;
pub mod endings;
pub mod fulfil;
pub mod index;
pub mod prepare;
pub mod query;
pub mod reject;
pub mod reports;
pub mod retention;
pub mod settings;
pub mod surroundings;
pub mod sweep;
pub mod timeout;
pub mod transfer;
pub mod views;
pub mod window;

mod component;
#[cfg(test)]
mod tests;

/// Bindings generated from `world.wit`.
#[allow(missing_docs)]
pub mod bindings {
    wit_bindgen::generate!({
        world: "rialto:transfers-plugin/transfers",
        path: [
            "../../../wit/common",
            "../../../wit/host",
            "../../../wit/rules",
            "../../../wit/rules-0.2.0",
            "../../../wit/counting",
            "../../../wit/accounts-and-balances",
            "../../../wit/participant-lifecycle-management",
            "../../../wit/scheduling",
            "../../../wit/settlements",
            "../../../wit/transfers",
            "../../../wit/quoting",
            "../../../wit/fsp-interop-api",
            ".",
        ],
        with: {
            "rialto:common/types@0.1.0": rialto_sdk::bindings::rialto::common::types,
            "rialto:rules/types@0.1.0": rialto_sdk::bindings::rialto::rules::types,
            "rialto:rules/types@0.2.0": rialto_sdk::counting_bindings::rialto::rules0_2_0::types,
            "rialto:host/configuration@0.1.0": rialto_sdk::bindings::rialto::host::configuration,
            "rialto:host/storage@0.1.0": rialto_sdk::bindings::rialto::host::storage,
            "rialto:host/clock@0.1.0": rialto_sdk::bindings::rialto::host::clock,
            "rialto:host/auditing@0.1.0": rialto_sdk::bindings::rialto::host::auditing,
            "rialto:host/logging@0.1.0": rialto_sdk::bindings::rialto::host::logging,
        },
        generate_all,
        additional_derives: [PartialEq],
    });

    pub use rialto::rules0_1_0::transfer_fulfil_check;
    pub use rialto::rules0_2_0::{transfer_prepare_check, transfer_prepare_counters};
}

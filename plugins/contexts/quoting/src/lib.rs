//! Agreements / Quotes: requests for quotes, their terms, and agreements.
//!
//! | Module | Holds |
//! |---|---|
//! | [`quote`] | the quote document and its states |
//! | [`terms`] | requests, responses and agreements as documents hold them |
//! | [`settings`] | what a scheme may choose |
//! | [`surroundings`] | what a quote reads, asks and publishes, as a trait |
//! | [`request`] | a payer FSP asks for a quote |
//! | [`response`] | the payee FSP names its terms |
//! | [`reject`] | the payee FSP declines |
//! | [`query`] | an FSP asks for a quote that exists |
//! | [`reports`] | what became of the messages to participants |
//! | [`retention`] | archiving of quotes that are over |
//!
//! This context computes no fees: FSPs agree on amounts, and the scheme's rules check them.

pub mod query;
pub mod quote;
pub mod reject;
pub mod reports;
pub mod request;
pub mod response;
pub mod retention;
pub mod settings;
pub mod surroundings;
pub mod terms;

mod component;
#[cfg(test)]
mod tests;

/// Bindings generated from `world.wit`.
#[allow(missing_docs)]
pub mod bindings {
    wit_bindgen::generate!({
        world: "rialto:quoting-plugin/quoting",
        path: [
            "../../../wit/common",
            "../../../wit/host",
            "../../../wit/rules",
            "../../../wit/accounts-and-balances",
            "../../../wit/participant-lifecycle-management",
            "../../../wit/transfers",
            "../../../wit/quoting",
            "../../../wit/account-lookup",
            "../../../wit/fsp-interop-api",
            ".",
        ],
        with: {
            "rialto:common/types@0.1.0": rialto_sdk::bindings::rialto::common::types,
            "rialto:rules/types@0.1.0": rialto_sdk::bindings::rialto::rules::types,
            "rialto:host/configuration@0.1.0": rialto_sdk::bindings::rialto::host::configuration,
            "rialto:host/storage@0.1.0": rialto_sdk::bindings::rialto::host::storage,
            "rialto:host/clock@0.1.0": rialto_sdk::bindings::rialto::host::clock,
            "rialto:host/logging@0.1.0": rialto_sdk::bindings::rialto::host::logging,
        },
        generate_all,
        additional_derives: [PartialEq],
    });
}

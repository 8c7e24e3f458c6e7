//! Accounts & Balances: the ledger of the scheme.
//!
//! | Module | Holds |
//! |---|---|
//! | [`account_types`] | what accounts are for, their states and ids |
//! | [`accounts`] | the account document and how an amount is posted to it |
//! | [`limits`] | what a participant uses of its net debit cap |
//! | [`history`] | where an account's entries are found |
//! | [`records`] | the documents that say what happened: entries and reservations |
//! | [`journal_id`] | the ids that entries have outside |
//! | [`store`] | the storage that the ledger needs, and the host's |
//! | [`ledger`] | the operations, pure over a store |
//! | [`retention`] | what goes to an archive when it is over, and the opening balances in its place |
//! | `component` | the exports |
//!
//! Two books: the liquidity book (liquidity, position, liquidity cover, and the hub's liquidity
//! control) moves with every transfer; the settlement book (settlement, settlement reserved,
//! settlement positions and the hub's reconciliation) moves with deposits, withdrawals, commits and
//! settlement. An entry is one debit and one credit inside one book, so the sum of debits is the sum
//! of credits in each at any time.

#![allow(
    clippy::result_large_err,
    reason = "the contract's ledger-error carries an account's position, and is not made often"
)]

pub mod account_types;
pub mod accounts;
mod component;
pub mod history;
pub mod journal_id;
pub mod ledger;
pub mod limits;
#[cfg(test)]
mod million;
pub mod records;
pub mod retention;
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
            "../../../wit/participant-lifecycle-management",
            ".",
        ],
        with: {
            "rialto:common/types@0.1.0": rialto_sdk::bindings::rialto::common::types,
            "rialto:host/storage@0.1.0": rialto_sdk::bindings::rialto::host::storage,
            "rialto:host/configuration@0.1.0": rialto_sdk::bindings::rialto::host::configuration,
            "rialto:host/clock@0.1.0": rialto_sdk::bindings::rialto::host::clock,
            "rialto:host/auditing@0.1.0": rialto_sdk::bindings::rialto::host::auditing,
            "rialto:host/logging@0.1.0": rialto_sdk::bindings::rialto::host::logging,
        },
        generate_all,
        additional_derives: [PartialEq],
    });
}

//! The SDK for Rialto plugins in Rust: bindings of the host's surfaces, and tools.
//!
//! | To | Use |
//! |---|---|
//! | store documents | [`documents::Collection`] |
//! | read and write amounts | [`money`] |
//! | read and write instants | [`time`] |
//! | bound an expiration | [`lifetime`] |
//! | know the scheme and the component's own settings | [`scheme`] |
//! | make a rule of a function (feature `rule`) | `rule!` |
//! | judge a rule's settings | [`settings`] |
//! | know which agreed quote a transfer is about | [`agreements`] |
//! | declare counters in a rule, and find their values | [`counters`] |
//! | hash a message, judge a fulfilment | [`canonical`] |
//! | word an FSPIOP error | [`errors`] |
//! | look into a message | [`messages`] |
//! | know in which version to answer | [`media`] |
//! | keep what became of messages | [`deliveries`] |
//! | serve operators over HTTP | [`operators`] |
//! | write entries of the audit log | [`auditing`] |
//! | write to the host's log | [`logging`], [`info!`], [`warn!`] |
//! | test with random choices that a seed repeats | [`testing`] |
//!
//! [`auditing`], [`documents`], [`scheme`] and [`logging`] call the host, which only exists for a component. Everything else
//! is pure and runs in native tests.

pub mod agreements;
pub mod auditing;
pub mod canonical;
pub mod counters;
pub mod deliveries;
pub mod documents;
pub mod errors;
pub mod headers;
#[cfg(target_family = "wasm")]
mod heap;
pub mod lifetime;
pub mod logging;
pub mod media;
pub mod messages;
pub mod money;
pub mod operators;
#[cfg(target_family = "wasm")]
mod panics;
pub mod retention;
#[cfg(feature = "rule")]
pub mod rule;
pub mod scheme;
pub mod settings;
#[cfg(any(target_family = "wasm", test))]
mod small_blocks;
pub mod testing;
pub mod time;

/// Bindings generated from the contracts in `wit/`.
#[allow(missing_docs)]
pub mod bindings {
    wit_bindgen::generate!({
        world: "rialto:sdk/sdk",
        path: ["../../wit/common", "../../wit/host", "../../wit/rules", "wit"],
        generate_all,
        generate_unused_types: true,
        additional_derives: [PartialEq],
    });
}

/// Bindings of the rules' contracts in their version 0.2.0, which has counters.
#[allow(missing_docs)]
pub mod counting_bindings {
    wit_bindgen::generate!({
        inline: "package rialto:sdk-counting@0.1.0;
            world counting { import rialto:rules/types@0.2.0; }",
        path: ["../../wit/common", "../../wit/host", "../../wit/rules", "../../wit/rules-0.2.0"],
        with: {
            "rialto:common/types@0.1.0": crate::bindings::rialto::common::types,
        },
        generate_all,
        generate_unused_types: true,
        additional_derives: [PartialEq],
    });
}

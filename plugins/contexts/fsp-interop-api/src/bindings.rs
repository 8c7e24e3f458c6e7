//! Bindings generated from the component's world.

#![allow(missing_docs, clippy::all, clippy::pedantic)]

wit_bindgen::generate!({
    world: "rialto:fsp-interop-api-plugin/fsp-interop-api",
    path: [
        "../../../wit/common",
        "../../../wit/host",
        "../../../wit/rules",
        "../../../wit/rules-0.2.0",
        "../../../wit/counting",
        "../../../wit/accounts-and-balances",
        "../../../wit/participant-lifecycle-management",
        "../../../wit/quoting",
        "../../../wit/transfers",
        "../../../wit/account-lookup",
        "../../../wit/notifications-and-alerts",
        "../../../wit/security-crypto",
        "../../../wit/fsp-interop-api",
        "../../../plugins/contexts/fsp-interop-api",
    ],
    with: {
        "rialto:common/types@0.1.0": rialto_sdk::bindings::rialto::common::types,
        "rialto:rules/types@0.1.0": rialto_sdk::bindings::rialto::rules::types,
        "rialto:rules/types@0.2.0": rialto_sdk::counting_bindings::rialto::rules0_2_0::types,
        "rialto:host/http@0.1.0": rialto_sdk::bindings::rialto::host::http,
        "rialto:host/storage@0.1.0": rialto_sdk::bindings::rialto::host::storage,
        "rialto:host/auditing@0.1.0": rialto_sdk::bindings::rialto::host::auditing,
        "rialto:host/configuration@0.1.0": rialto_sdk::bindings::rialto::host::configuration,
        "rialto:host/clock@0.1.0": rialto_sdk::bindings::rialto::host::clock,
        "rialto:host/random@0.1.0": rialto_sdk::bindings::rialto::host::random,
        "rialto:host/logging@0.1.0": rialto_sdk::bindings::rialto::host::logging,
    },
    generate_all,
    additional_derives: [PartialEq],
    pub_export_macro: true,
    default_bindings_module: "crate::bindings",
});

pub use rialto::rules0_1_0::quote_request_check;
pub use rialto::rules0_2_0::{transfer_prepare_check, transfer_prepare_counters};

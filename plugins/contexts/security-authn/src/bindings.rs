//! Bindings generated from the component's world.

#![allow(missing_docs, clippy::all, clippy::pedantic)]

wit_bindgen::generate!({
    world: "rialto:security-authn-plugin/security-authn",
    path: [
        "../../../wit/common",
        "../../../wit/host",
        "../../../wit/security-authn",
        "../../../wit/security-crypto",
        ".",
    ],
    with: {
        "rialto:common/types@0.1.0": rialto_sdk::bindings::rialto::common::types,
        "rialto:host/storage@0.1.0": rialto_sdk::bindings::rialto::host::storage,
        "rialto:host/http@0.1.0": rialto_sdk::bindings::rialto::host::http,
        "rialto:host/configuration@0.1.0": rialto_sdk::bindings::rialto::host::configuration,
        "rialto:host/clock@0.1.0": rialto_sdk::bindings::rialto::host::clock,
        "rialto:host/random@0.1.0": rialto_sdk::bindings::rialto::host::random,
        "rialto:host/auditing@0.1.0": rialto_sdk::bindings::rialto::host::auditing,
        "rialto:host/logging@0.1.0": rialto_sdk::bindings::rialto::host::logging,
    },
    generate_all,
    additional_derives: [PartialEq],
    pub_export_macro: true,
    default_bindings_module: "crate::bindings",
});

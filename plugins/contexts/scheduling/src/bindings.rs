//! Bindings generated from the component's world.

#![allow(missing_docs, clippy::all, clippy::pedantic)]

wit_bindgen::generate!({
    world: "rialto:scheduling-plugin/scheduling",
    path: ["../../../wit/common", "../../../wit/host", "../../../wit/scheduling", "."],
    with: {
        "rialto:common/types@0.1.0": rialto_sdk::bindings::rialto::common::types,
        "rialto:host/storage@0.1.0": rialto_sdk::bindings::rialto::host::storage,
        "rialto:host/scheduling@0.1.0": rialto_sdk::bindings::rialto::host::scheduling,
        "rialto:host/http@0.1.0": rialto_sdk::bindings::rialto::host::http,
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

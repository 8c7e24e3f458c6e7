//! Static bindings, generated from `wit/`: of the host surfaces, and of what components export to the host.
//! Interfaces between components are linked dynamically instead (see [`crate::link`]).

#![allow(
    missing_docs,
    clippy::all,
    unused_qualifications,
    reason = "generated code; the contracts are documented in wit/"
)]

wasmtime::component::bindgen!({
    inline: "
        package rialto:linked@0.1.0;
        world surfaces {
            import rialto:host/storage@0.1.0;
            import rialto:host/scheduling@0.1.0;
            import rialto:host/http@0.1.0;
            import rialto:host/configuration@0.1.0;
            import rialto:host/clock@0.1.0;
            import rialto:host/random@0.1.0;
            import rialto:host/crypto@0.1.0;
            import rialto:host/keys@0.1.0;
            import rialto:host/certificates@0.1.0;
            import rialto:host/tls@0.1.0;
            import rialto:host/auditing@0.1.0;
            import rialto:host/audit-log@0.1.0;
            import rialto:host/caller@0.1.0;
            import rialto:host/judging@0.1.0;
            import rialto:host/logging@0.1.0;
            import rialto:host/trace@0.1.0;
            export rialto:host/http-handler@0.1.0;
            export rialto:host/http-report-handler@0.1.0;
            export rialto:host/reminder-handler@0.1.0;
            export rialto:host/activation-handler@0.1.0;
            export rialto:host/authorization-handler@0.1.0;
            export rialto:host/configuration-schema@0.1.0;
            export rialto:host/configuration-handler@0.1.0;
            export rialto:host/settings-handler@0.1.0;
            export rialto:rules/rule@0.1.0;
        }
    ",
    path: ["../../wit/common", "../../wit/host", "../../wit/rules"],
    world: "rialto:linked/surfaces",
    imports: { default: trappable },
});

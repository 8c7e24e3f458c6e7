//! A rule that misbehaves as its settings say, for the host's tests of containment.
//!
//! The settings are `{"do": "…"}` with one of the names of [`behaviour::Behaviour`].

pub mod behaviour;

/// Bindings generated from `world.wit`.
#[allow(missing_docs)]
pub mod bindings {
    wit_bindgen::generate!({
        world: "rialto:hostile-rule/hostile-rule",
        path: ["../../../wit/common", "../../../wit/host", "../../../wit/rules", "."],
        with: {
            "rialto:common/types@0.1.0": rialto_sdk::bindings::rialto::common::types,
            "rialto:rules/types@0.1.0": rialto_sdk::bindings::rialto::rules::types,
            "rialto:host/configuration@0.1.0": rialto_sdk::bindings::rialto::host::configuration,
            "rialto:host/logging@0.1.0": rialto_sdk::bindings::rialto::host::logging,
        },
        generate_all,
    });
}

mod component {
    //! The exports.

    use crate::behaviour::{Behaviour, DECLARED, NAMES};
    use crate::bindings::exports::rialto::rules::{
        quote_request_check, quote_response_check, rule, transfer_fulfil_check,
        transfer_prepare_check,
    };
    use rialto_sdk::bindings::rialto::host::configuration;
    use rialto_sdk::bindings::rialto::rules::types::Verdict;

    struct HostileRule;

    fn misbehave() -> Verdict {
        let settings = configuration::settings();
        let behaviour = Behaviour::read(&settings)
            .unwrap_or_else(|| panic!("the settings {settings} name no behaviour"));
        behaviour.verdict()
    }

    impl rule::Guest for HostileRule {
        fn describe() -> rule::Description {
            rule::Description {
                name: env!("CARGO_PKG_NAME").to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                summary: "Misbehaves as its settings say.".to_owned(),
                codes: vec![DECLARED.to_owned()],
                settings_schema: include_str!("../settings.schema.json").to_owned(),
            }
        }

        fn validate_settings(settings: String) -> Result<(), Vec<rule::SettingsError>> {
            if Behaviour::read(&settings).is_some() {
                return Ok(());
            }
            Err(vec![rule::SettingsError {
                pointer: "/do".to_owned(),
                message: format!("This must be one of {}.", NAMES.join(", ")),
            }])
        }
    }

    impl quote_request_check::Guest for HostileRule {
        fn check(_subject: String, _input: quote_request_check::Input) -> Verdict {
            misbehave()
        }
    }

    impl quote_response_check::Guest for HostileRule {
        fn check(_subject: String, _input: quote_response_check::Input) -> Verdict {
            misbehave()
        }
    }

    impl transfer_fulfil_check::Guest for HostileRule {
        fn check(_subject: String, _input: transfer_fulfil_check::Input) -> Verdict {
            misbehave()
        }
    }

    impl transfer_prepare_check::Guest for HostileRule {
        fn check(_subject: String, _input: transfer_prepare_check::Input) -> Verdict {
            misbehave()
        }
    }

    // Component exports have names that no native linker takes.
    #[cfg(target_arch = "wasm32")]
    crate::bindings::export!(HostileRule with_types_in crate::bindings);
}

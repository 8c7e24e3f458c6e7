//! A scheme rule: a transfer must be what its quote agreed on.
//!
//! | Module | Holds |
//! |---|---|
//! | [`settings`] | what an operator writes, and what is wrong with it |
//! | [`judgement`] | the verdict on one transfer and its quote |
//!
//! The README tells plugin authors how such a rule is made, tested and handed over.

pub mod judgement;
pub mod settings;

/// Bindings generated from `world.wit`.
#[allow(missing_docs)]
pub mod bindings {
    wit_bindgen::generate!({
        world: "rialto:transfer-matches-quote/transfer-matches-quote",
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

    use crate::bindings::exports::rialto::rules::{rule, transfer_prepare_check};
    use crate::judgement::{CODES, judge};
    use crate::settings::Settings;
    use rialto_sdk::bindings::rialto::host::configuration;
    use rialto_sdk::bindings::rialto::rules::types::Verdict;

    struct TransferMatchesQuote;

    impl rule::Guest for TransferMatchesQuote {
        fn describe() -> rule::Description {
            rule::Description {
                name: env!("CARGO_PKG_NAME").to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                summary: "Refuses a transfer that has no agreed quote, or is not what its quote agreed on.".to_owned(),
                codes: CODES.map(str::to_owned).to_vec(),
                settings_schema: include_str!("../settings.schema.json").to_owned(),
            }
        }

        fn validate_settings(settings: String) -> Result<(), Vec<rule::SettingsError>> {
            let problems = Settings::read(&settings).err().unwrap_or_default();
            if problems.is_empty() {
                return Ok(());
            }
            let error = |problem: rialto_sdk::settings::Problem| rule::SettingsError {
                pointer: problem.pointer,
                message: problem.message,
            };
            Err(problems.into_iter().map(error).collect())
        }
    }

    impl transfer_prepare_check::Guest for TransferMatchesQuote {
        fn check(_subject: String, input: transfer_prepare_check::Input) -> Verdict {
            // Validated before the release became current. If they are still not valid, the rule fails, and the
            // step's `on-failure` decides.
            let settings = Settings::read(&configuration::settings())
                .unwrap_or_else(|problems| panic!("the settings cannot be used: {problems:?}"));
            judge(
                settings,
                input.now,
                &input.transfer,
                input.agreement.as_ref(),
            )
        }
    }

    crate::bindings::export!(TransferMatchesQuote with_types_in crate::bindings);
}

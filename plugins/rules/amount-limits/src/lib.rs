//! A scheme rule: limits on the amount of one transaction, by currency and scenario.
//!
//! | Module | Holds |
//! |---|---|
//! | [`settings`] | what an operator writes, and what is wrong with it |
//! | [`decimal`] | exact decimal numbers, compared with money of any scale |
//! | [`judgement`] | the verdict on one amount |
//!
//! The README tells plugin authors how such a rule is made, tested and handed over.

pub mod decimal;
pub mod judgement;
pub mod settings;

/// Bindings generated from `world.wit`.
#[allow(missing_docs)]
pub mod bindings {
    wit_bindgen::generate!({
        world: "rialto:amount-limits/amount-limits",
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

    use crate::bindings::exports::rialto::rules::{
        quote_request_check, rule, transfer_prepare_check,
    };
    use crate::judgement::{CODES, judge};
    use crate::settings::Settings;
    use rialto_sdk::bindings::rialto::host::configuration;
    use rialto_sdk::bindings::rialto::rules::types::Verdict;

    struct AmountLimits;

    /// The settings of this instance. They were validated before the release became current. If they are still
    /// not valid, the rule fails, and the step's `on-failure` decides.
    fn settings() -> Settings {
        Settings::read(&configuration::settings())
            .unwrap_or_else(|problems| panic!("the settings cannot be used: {problems:?}"))
    }

    impl rule::Guest for AmountLimits {
        fn describe() -> rule::Description {
            rule::Description {
                name: env!("CARGO_PKG_NAME").to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                summary: "Refuses a quote or a transfer whose amount is outside the limits of its currency and scenario.".to_owned(),
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

    impl quote_request_check::Guest for AmountLimits {
        fn check(_subject: String, input: quote_request_check::Input) -> Verdict {
            let request = input.request;
            let scenario = request.transaction_type.scenario;
            judge(&settings(), &request.amount, Some(scenario))
        }
    }

    impl transfer_prepare_check::Guest for AmountLimits {
        fn check(_subject: String, input: transfer_prepare_check::Input) -> Verdict {
            // A transfer has no scenario; its quote has.
            let agreed = input.agreement.as_ref();
            let scenario = agreed.map(|agreement| agreement.request.transaction_type.scenario);
            judge(&settings(), &input.transfer.amount, scenario)
        }
    }

    crate::bindings::export!(AmountLimits with_types_in crate::bindings);
}

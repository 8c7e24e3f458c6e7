//! A rule as its settings' type and one function for each step (feature `rule`).
//!
//! ```text
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! #[serde(rename_all = "camelCase", deny_unknown_fields)]
//! struct Settings {
//!     /// The largest amount in whole minor units.
//!     maximum: u64,
//! }
//!
//! fn judge(settings: &Settings, input: &transfer_prepare::Input) -> Verdict { … }
//!
//! rialto_sdk::rule! {
//!     summary: "Refuses transfers above a largest amount.",
//!     codes: ["5200"],
//!     settings: Settings,
//!     transfer_prepare: judge,
//! }
//! ```
//!
//! The macro writes the component's exports: what the rule says of itself (its name and version are those of the crate,
//! the schema of its settings that of their type), the judgement of settings, and each step's `check`. The functions
//! themselves are plain Rust, and are tested natively.

use serde::de::DeserializeOwned;

pub use crate::bindings::rialto::common::types::Money;
pub use crate::bindings::rialto::rules::types::{
    Agreement, QuoteRequest, QuoteResponse, Transfer, Verdict, Violation,
};
pub use crate::counters::{Counted, Counter, Dimension, Sum, Window};
pub use crate::settings::{Problem, Problems};
pub use schemars;

/// The bindings by which a rule is exported.
#[doc(hidden)]
pub mod exported {
    /// What a rule says of itself.
    #[allow(missing_docs)]
    pub mod rule_itself {
        wit_bindgen::generate!({
            inline: "package rialto:sdk-rule-itself@0.1.0;
                world rule-itself {
                    import rialto:host/configuration@0.1.0;
                    import rialto:host/logging@0.1.0;
                    export rialto:rules/rule@0.1.0;
                }",
            path: ["../../wit/common", "../../wit/host", "../../wit/rules"],
            with: {
                "rialto:host/configuration@0.1.0": crate::bindings::rialto::host::configuration,
                "rialto:host/logging@0.1.0": crate::bindings::rialto::host::logging,
            },
            generate_all,
            pub_export_macro: true,
            export_macro_name: "export_rule_itself",
        });
    }

    /// The bindings of a step: its module, the world that exports it, and the name of the export's macro.
    macro_rules! step {
        ($module:ident, $world:literal, $export:literal) => {
            /// The bindings of a step.
            #[allow(missing_docs)]
            pub mod $module {
                wit_bindgen::generate!({
                    inline: $world,
                    path: ["../../wit/common", "../../wit/host", "../../wit/rules"],
                    with: {
                        "rialto:common/types@0.1.0": crate::bindings::rialto::common::types,
                        "rialto:rules/types@0.1.0": crate::bindings::rialto::rules::types,
                    },
                    generate_all,
                    pub_export_macro: true,
                    export_macro_name: $export,
                });
            }
        };
    }

    step!(
        quote_request,
        "package rialto:sdk-quote-request@0.1.0;
            world exports-quote-request { export rialto:rules/quote-request-check@0.1.0; }",
        "export_quote_request"
    );
    step!(
        quote_response,
        "package rialto:sdk-quote-response@0.1.0;
            world exports-quote-response { export rialto:rules/quote-response-check@0.1.0; }",
        "export_quote_response"
    );
    step!(
        transfer_prepare,
        "package rialto:sdk-transfer-prepare@0.1.0;
            world exports-transfer-prepare { export rialto:rules/transfer-prepare-check@0.1.0; }",
        "export_transfer_prepare"
    );
    step!(
        transfer_fulfil,
        "package rialto:sdk-transfer-fulfil@0.1.0;
            world exports-transfer-fulfil { export rialto:rules/transfer-fulfil-check@0.1.0; }",
        "export_transfer_fulfil"
    );

    /// The bindings of a step with counters.
    #[allow(missing_docs)]
    pub mod transfer_prepare_counted {
        wit_bindgen::generate!({
            inline: "package rialto:sdk-transfer-prepare-counted@0.1.0;
                world exports-transfer-prepare-counted {
                    export rialto:rules/counting@0.2.0;
                    export rialto:rules/transfer-prepare-check@0.2.0;
                }",
            path: ["../../wit/common", "../../wit/host", "../../wit/rules", "../../wit/rules-0.2.0"],
            with: {
                "rialto:common/types@0.1.0": crate::bindings::rialto::common::types,
                "rialto:rules/types@0.1.0": crate::bindings::rialto::rules::types,
                "rialto:rules/types@0.2.0": crate::counting_bindings::rialto::rules0_2_0::types,
            },
            generate_all,
            pub_export_macro: true,
            export_macro_name: "export_transfer_prepare_counted",
        });

        pub use exports::rialto::rules0_2_0::{counting, transfer_prepare_check};
    }
}

/// The input of `quote-request-check`.
pub mod quote_request {
    pub use super::exported::quote_request::exports::rialto::rules::quote_request_check::Input;
}

/// The input of `quote-response-check`.
pub mod quote_response {
    pub use super::exported::quote_response::exports::rialto::rules::quote_response_check::Input;
}

/// The input of `transfer-prepare-check`.
pub mod transfer_prepare {
    pub use super::exported::transfer_prepare::exports::rialto::rules::transfer_prepare_check::Input;
}

/// The input of `transfer-prepare-check` with counters.
pub mod transfer_prepare_counted {
    pub use super::exported::transfer_prepare_counted::transfer_prepare_check::Input;
}

/// The input of `transfer-fulfil-check`.
pub mod transfer_fulfil {
    pub use super::exported::transfer_fulfil::exports::rialto::rules::transfer_fulfil_check::Input;
}

/// A refusal with one reason. The FSP gets both: a code that the rule declares, and 1 to 128 characters.
#[must_use]
pub fn refuse(code: &str, message: impl Into<String>) -> Verdict {
    Verdict::Refuse(vec![Violation {
        code: code.to_owned(),
        message: message.into(),
    }])
}

/// Mark that the rule takes a branch: `rialto coverage` says how often each was taken. The label has at most 64 bytes. It
/// is kept with the receipt, so it must name nobody. Natively, as in tests, nothing is marked.
pub fn branch(label: &str) {
    #[cfg(target_arch = "wasm32")]
    crate::bindings::rialto::host::trace::branch(label);
    #[cfg(not(target_arch = "wasm32"))]
    let _ = label;
}

/// The schema of a rule's settings, with what else the rule says of itself there.
#[doc(hidden)]
pub struct Schema(serde_json::Value);

#[doc(hidden)]
impl Schema {
    /// That of a type of settings.
    #[must_use]
    pub fn of<S: schemars::JsonSchema>() -> Self {
        Self(schemars::schema_for!(S).to_value())
    }

    /// With the labels of the rule's branches.
    #[must_use]
    pub fn branches(self, labels: &[&str]) -> Self {
        self.with(BRANCHES, labels.into())
    }

    /// With the most fuel of a verdict.
    #[must_use]
    pub fn fuel(self, most: u64) -> Self {
        self.with(FUEL, most.into())
    }

    fn with(mut self, name: &str, value: serde_json::Value) -> Self {
        if let Some(members) = self.0.as_object_mut() {
            members.insert(name.to_owned(), value);
        }
        self
    }

    /// As text.
    #[must_use]
    pub fn text(&self) -> String {
        self.0.to_string()
    }
}

/// The member of a settings' schema that lists the rule's branches.
pub const BRANCHES: &str = "x-rialto-branches";
/// The member of a settings' schema with the most fuel that a verdict of the rule needs.
pub const FUEL: &str = "x-rialto-fuel";

/// The whole minor units of an amount.
#[must_use]
pub fn minor_units(money: &Money) -> u128 {
    u128::from(money.minor_units.high) << 64 | u128::from(money.minor_units.low)
}

/// Settings from their JSON.
///
/// # Errors
/// The first thing that does not fit their type, with its place, or all that `further` adds.
pub fn settings<S: DeserializeOwned>(
    text: &str,
    further: impl FnOnce(&S, &mut Problems),
) -> Result<S, Vec<Problem>> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = serde_path_to_error::deserialize(&mut reader);
    let settings: S = read.map_err(|error| {
        let pointer = pointer(error.path());
        // The position is one of the host's JSON, which nobody has written.
        let message = error.into_inner().to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        vec![Problem {
            pointer,
            message: message.to_owned(),
        }]
    })?;
    let mut problems = Problems::default();
    further(&settings, &mut problems);
    problems.or(settings)
}

/// What a rule validates whose settings' type says all.
#[doc(hidden)]
pub fn nothing_further<S>(_: &S, _: &mut Problems) {}

/// A place as JSON pointer.
fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let mut pointer = String::new();
    for segment in path {
        pointer = match segment {
            Segment::Seq { index } => crate::settings::join(&pointer, &index.to_string()),
            Segment::Map { key } => crate::settings::join(&pointer, key),
            Segment::Enum { variant } => crate::settings::join(&pointer, variant),
            Segment::Unknown => pointer,
        };
    }
    pointer
}

/// The JSON Schema (2020-12) of a type of settings.
#[must_use]
pub fn schema<S: schemars::JsonSchema>() -> String {
    schemars::schema_for!(S).to_value().to_string()
}

/// The settings of this instance. The host has had them judged before.
///
/// # Panics
/// When they do not fit all the same. The rule fails then, and the step's `on-failure` decides.
#[doc(hidden)]
#[must_use]
pub fn own_settings<S: DeserializeOwned>() -> S {
    let text = crate::bindings::rialto::host::configuration::settings();
    settings(&text, nothing_further)
        .unwrap_or_else(|problems| panic!("the settings cannot be used: {problems:?}"))
}

/// Exports a rule; see [`mod@crate::rule`].
///
/// `branches: ["label", …]`, after the codes, names what `rule::branch` marks, so that a report knows what was never taken.
/// `fuel: 60_000`, after that, is the most fuel that a verdict needs: tests fail beyond it, and a host refuses a lower limit.
///
/// `validate: path` names a function `fn(&Settings, &mut Problems)` for what the type of the settings does not say.
///
/// `counters: path`, after the settings, names a function `fn(&Settings) -> Vec<Counter>`. The rule then has the one step
/// `transfer_prepare_counted`, whose input has the values of these counters ([`counters::value`](crate::counters::value)).
#[macro_export]
macro_rules! rule {
    (
        summary: $summary:expr,
        codes: [$($code:expr),* $(,)?],
        $(branches: $branches:expr,)?
        $(fuel: $fuel:expr,)?
        settings: $settings:ty,
        validate: $validate:path,
        counters: $counters:path,
        transfer_prepare_counted: $counted:path,
        $($step:ident: $judge:path),* $(,)?
    ) => {
        $crate::rule! {
            @itself
            summary: $summary,
            codes: [$($code),*],
            $(branches: $branches,)?
            $(fuel: $fuel,)?
            settings: $settings,
            validate: |settings: &$settings, problems: &mut $crate::rule::Problems| {
                $validate(settings, problems);
                if problems.0.is_empty() {
                    $crate::counters::validate(&$counters(settings), problems);
                }
            },
            steps: {
                $crate::counted_rule!(Component, $settings, $counters, $counted);
                $($crate::rule_at_step!($step, Component, $settings, $judge);)*
            }
        }
    };
    (
        summary: $summary:expr,
        codes: [$($code:expr),* $(,)?],
        $(branches: $branches:expr,)?
        $(fuel: $fuel:expr,)?
        settings: $settings:ty,
        validate: $validate:path,
        $($step:ident: $judge:path),+ $(,)?
    ) => {
        $crate::rule! {
            @itself
            summary: $summary,
            codes: [$($code),*],
            $(branches: $branches,)?
            $(fuel: $fuel,)?
            settings: $settings,
            validate: $validate,
            steps: { $($crate::rule_at_step!($step, Component, $settings, $judge);)+ }
        }
    };
    (
        @itself
        summary: $summary:expr,
        codes: [$($code:expr),* $(,)?],
        $(branches: $branches:expr,)?
        $(fuel: $fuel:expr,)?
        settings: $settings:ty,
        validate: $validate:expr,
        steps: { $($steps:tt)* }
    ) => {
        const _: () = {
            use $crate::rule::exported::rule_itself::exports::rialto::rules::rule as itself;

            struct Component;

            impl itself::Guest for Component {
                fn describe() -> itself::Description {
                    itself::Description {
                        name: env!("CARGO_PKG_NAME").to_owned(),
                        version: env!("CARGO_PKG_VERSION").to_owned(),
                        summary: ($summary).to_owned(),
                        codes: vec![$(($code).to_owned()),*],
                        settings_schema: $crate::rule::Schema::of::<$settings>()
                            $(.branches(&$branches))?
                            $(.fuel($fuel))?
                            .text(),
                    }
                }

                fn validate_settings(text: String) -> Result<(), Vec<itself::SettingsError>> {
                    let judged = $crate::rule::settings::<$settings>(&text, $validate);
                    let told = |problem: $crate::rule::Problem| itself::SettingsError {
                        pointer: problem.pointer,
                        message: problem.message,
                    };
                    match judged {
                        Ok(_) => Ok(()),
                        Err(problems) => Err(problems.into_iter().map(told).collect()),
                    }
                }
            }

            $crate::rule::exported::rule_itself::export_rule_itself!(
                Component with_types_in $crate::rule::exported::rule_itself
            );
            $($steps)*
        };
    };
    (
        summary: $summary:expr,
        codes: [$($code:expr),* $(,)?],
        $(branches: $branches:expr,)?
        $(fuel: $fuel:expr,)?
        settings: $settings:ty,
        counters: $counters:path,
        transfer_prepare_counted: $counted:path,
        $($step:ident: $judge:path),* $(,)?
    ) => {
        $crate::rule! {
            summary: $summary,
            codes: [$($code),*],
            $(branches: $branches,)?
            $(fuel: $fuel,)?
            settings: $settings,
            validate: $crate::rule::nothing_further,
            counters: $counters,
            transfer_prepare_counted: $counted,
            $($step: $judge),*
        }
    };
    (
        summary: $summary:expr,
        codes: [$($code:expr),* $(,)?],
        $(branches: $branches:expr,)?
        $(fuel: $fuel:expr,)?
        settings: $settings:ty,
        $($step:ident: $judge:path),+ $(,)?
    ) => {
        $crate::rule! {
            summary: $summary,
            codes: [$($code),*],
            $(branches: $branches,)?
            $(fuel: $fuel,)?
            settings: $settings,
            validate: $crate::rule::nothing_further,
            $($step: $judge),+
        }
    };
}

/// One step of [`rule!`].
#[doc(hidden)]
#[macro_export]
macro_rules! rule_at_step {
    (quote_request, $component:ident, $settings:ty, $judge:path) => {
        $crate::rule_at_step!(
            $component, $settings, $judge, quote_request, quote_request_check, export_quote_request
        );
    };
    (quote_response, $component:ident, $settings:ty, $judge:path) => {
        $crate::rule_at_step!(
            $component, $settings, $judge, quote_response, quote_response_check, export_quote_response
        );
    };
    (transfer_prepare, $component:ident, $settings:ty, $judge:path) => {
        $crate::rule_at_step!(
            $component, $settings, $judge, transfer_prepare, transfer_prepare_check, export_transfer_prepare
        );
    };
    (transfer_fulfil, $component:ident, $settings:ty, $judge:path) => {
        $crate::rule_at_step!(
            $component, $settings, $judge, transfer_fulfil, transfer_fulfil_check, export_transfer_fulfil
        );
    };
    ($component:ident, $settings:ty, $judge:path, $step:ident, $interface:ident, $export:ident) => {
        impl $crate::rule::exported::$step::exports::rialto::rules::$interface::Guest for $component {
            fn check(_subject: String, input: $crate::rule::$step::Input) -> $crate::rule::Verdict {
                let settings: $settings = $crate::rule::own_settings();
                $judge(&settings, &input)
            }
        }

        $crate::rule::exported::$step::$export!(
            $component with_types_in $crate::rule::exported::$step
        );
    };
}

/// The step with counters of [`rule!`].
#[doc(hidden)]
#[macro_export]
macro_rules! counted_rule {
    ($component:ident, $settings:ty, $counters:path, $judge:path) => {
        impl $crate::rule::exported::transfer_prepare_counted::counting::Guest for $component {
            fn counters(text: String) -> Vec<$crate::counters::Counter> {
                // The host asks about settings that the rule has accepted.
                match $crate::rule::settings::<$settings>(&text, $crate::rule::nothing_further) {
                    Ok(settings) => $crate::counters::distinct($counters(&settings)),
                    Err(_) => Vec::new(),
                }
            }
        }

        impl $crate::rule::exported::transfer_prepare_counted::transfer_prepare_check::Guest for $component {
            fn check(
                _subject: String,
                input: $crate::rule::transfer_prepare_counted::Input,
            ) -> $crate::rule::Verdict {
                let settings: $settings = $crate::rule::own_settings();
                $judge(&settings, &input)
            }
        }

        $crate::rule::exported::transfer_prepare_counted::export_transfer_prepare_counted!(
            $component with_types_in $crate::rule::exported::transfer_prepare_counted
        );
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Settings {
        /// The largest amount.
        maximum: u64,
        #[serde(default)]
        currencies: Vec<String>,
    }

    fn problems(text: &str) -> Vec<(String, String)> {
        let judged = settings::<Settings>(text, |settings, problems| {
            if settings.maximum == 0 {
                problems.note("/maximum", "must not be 0");
            }
        });
        let problems = judged.err().unwrap_or_default().into_iter();
        problems.map(|one| (one.pointer, one.message)).collect()
    }

    #[test]
    fn settings_that_do_not_fit_are_told_with_their_place() {
        assert!(problems(r#"{ "maximum": 5, "currencies": ["USD"] }"#).is_empty());
        for (text, place, words) in [
            (
                r#"{ "maximum": 5, "currencies": ["USD", 1] }"#,
                "/currencies/1",
                "string",
            ),
            (r#"{ "maximum": "5" }"#, "/maximum", "u64"),
            (r#"{ "maximum": 0 }"#, "/maximum", "must not be 0"),
            ("{}", "", "maximum"),
            (
                r#"{ "maximum": 1, "minimum": 1 }"#,
                "/minimum",
                "unknown field",
            ),
            ("[", "", "EOF"),
        ] {
            let found = problems(text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert_eq!(found[0].0, place, "{text}: {found:?}");
            assert!(found[0].1.contains(words), "{text}: {found:?}");
        }
    }

    #[test]
    fn schema_has_the_words_of_the_type() {
        let schema: serde_json::Value = serde_json::from_str(&schema::<Settings>()).unwrap();
        let maximum = &schema["properties"]["maximum"];
        assert_eq!(maximum["description"], "The largest amount.");
        assert_eq!(schema["required"], serde_json::json!(["maximum"]));
        assert_eq!(schema["additionalProperties"], false);
    }

    #[test]
    fn amounts_are_whole_minor_units() {
        let money = Money {
            currency: "USD".to_owned(),
            scale: 2,
            minor_units: crate::bindings::rialto::common::types::U128 { high: 1, low: 2 },
        };
        assert_eq!(minor_units(&money), (1 << 64) + 2);
    }
}

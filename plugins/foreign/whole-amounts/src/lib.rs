//! A third-party rule: amounts of the currencies in its settings have no decimals.
//!
//! It uses plain Rust: a hash set with random keys, and standard error. So the component imports WASI, which
//! must give it no access: the same input costs the same and gets the same verdict.

use std::collections::HashSet;

// Generated from `world.wit` by cargo-component, where it builds.
mod bindings;

use bindings::exports::rialto::rules::{rule, transfer_prepare_check};
use bindings::rialto::host::configuration;
use bindings::rialto::rules::types::{Verdict, Violation};

/// FSPIOP's "Generic validation error".
const CODE: &str = "3100";

struct Component;

/// The currencies of the settings.
fn currencies(settings: &str) -> Result<HashSet<String>, rule::SettingsError> {
    let wrong = |message: &str| rule::SettingsError {
        pointer: "/currencies".to_owned(),
        message: message.to_owned(),
    };
    let settings: serde_json::Value =
        serde_json::from_str(settings).map_err(|_| wrong("The settings are not JSON."))?;
    let listed = settings["currencies"].as_array();
    let listed = listed.ok_or_else(|| wrong("This must be a list of currencies."))?;
    let texts = listed.iter().map(|one| one.as_str().map(str::to_owned));
    texts
        .collect::<Option<_>>()
        .ok_or_else(|| wrong("A currency must be a text."))
}

impl rule::Guest for Component {
    fn describe() -> rule::Description {
        rule::Description {
            name: env!("CARGO_PKG_NAME").to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            summary: "Amounts of some currencies have no decimals.".to_owned(),
            codes: vec![CODE.to_owned()],
            settings_schema: r#"{"type":"object","required":["currencies"]}"#.to_owned(),
        }
    }

    fn validate_settings(settings: String) -> Result<(), Vec<rule::SettingsError>> {
        currencies(&settings).map(drop).map_err(|error| vec![error])
    }
}

impl transfer_prepare_check::Guest for Component {
    fn check(subject: String, input: transfer_prepare_check::Input) -> Verdict {
        let currencies = currencies(&configuration::settings()).unwrap_or_default();
        let amount = &input.transfer.amount;
        let (high, low) = (amount.minor_units.high, amount.minor_units.low);
        let units = u128::from(high) << 64 | u128::from(low);
        let whole = 10_u128.pow(u32::from(amount.scale));
        if !currencies.contains(&amount.currency) || units % whole == 0 {
            return Verdict::Allow;
        }
        eprintln!("{subject} has decimals");
        Verdict::Refuse(vec![Violation {
            code: CODE.to_owned(),
            message: format!("amounts in {} have no decimals", amount.currency),
        }])
    }
}

bindings::export!(Component with_types_in bindings);

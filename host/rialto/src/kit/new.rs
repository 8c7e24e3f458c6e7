//! Makes a repository for a plugin of one's own, which builds without anything else of Rialto.

use std::path::Path;

use anyhow::bail;
use rialto_manifest::values::Name;
use serde_json::Value;

use super::case::FOLDER;
use super::embedded::{LOCK, template, version_of, write, write_contracts, write_sdk};

pub mod context;
mod counted;
mod language;

pub use context::context;
pub use counted::counted;
pub use language::Language;

/// The packages of contracts that a rule's bindings need.
const CONTRACTS: &[&str] = &["common", "host", "rules"];
/// Those that the SDK needs, which has rules with counters too.
const CONTRACTS_OF_SDK: &[&str] = &["common", "host", "rules", "rules-0.2.0"];

/// A step: its interface, the name of its module in the SDK, and the amount in its input.
const STEPS: [(&str, &str, &str); 4] = [
    ("quote-request-check", "quote_request", "request.amount"),
    (
        "quote-response-check",
        "quote_response",
        "agreement.response.transfer_amount",
    ),
    (
        "transfer-prepare-check",
        "transfer_prepare",
        "transfer.amount",
    ),
    (
        "transfer-fulfil-check",
        "transfer_fulfil",
        "transfer.amount",
    ),
];

/// The step whose rules may have counters.
pub const COUNTED_STEP: &str = "transfer-prepare-check";

/// The ends of the names of a step and of the contracts' world for its rules.
const ENDS: (&str, &str) = ("-check", "-rule");

/// The cases: name, the amount in minor units, a sentence, what is expected.
const CASES: [(&str, u64, &str, &str); 2] = [
    (
        "allows-the-largest-amount",
        10_000,
        "the largest amount itself is allowed",
        "\"allow\"",
    ),
    (
        "refuses-more",
        10_001,
        "one minor unit more is refused",
        "{ \"refuse\": [\"4200\"] }",
    ),
];

/// Write the repository of a rule for a step into a folder that does not exist yet.
///
/// # Errors
/// When there is no such step, or a file cannot be written.
pub fn rule(folder: &Path, name: &Name, step: &str, language: Language) -> anyhow::Result<()> {
    let Some((interface, module, amount)) = STEPS.into_iter().find(|known| known.0 == step) else {
        let known = STEPS.map(|(interface, ..)| interface);
        bail!(
            "there is no step `{step}`: name one of {}",
            known.join(", ")
        );
    };
    let schemars = version_of("schemars")?;
    let (amount, export) = (language.members(amount), language.export(interface));
    let world = interface.trim_end_matches(ENDS.0).to_owned() + ENDS.1;
    let words = [
        ("{name}", name.as_str()),
        ("{interface}", interface),
        ("{step}", module),
        ("{amount}", &amount),
        ("{export}", &export),
        ("{world}", &world),
        ("{schemars}", &schemars),
        ("{version}", env!("CARGO_PKG_VERSION")),
    ];
    for (file, from) in language.files() {
        let text = template(&format!("{}/{from}", language.folder()))?;
        write(&folder.join(file), filled(text, &words).as_bytes())?;
    }
    write_cases(&folder.join(FOLDER), interface)?;
    let contracts = match language {
        Language::Rust => CONTRACTS_OF_SDK,
        Language::Javascript | Language::Python => CONTRACTS,
    };
    write_contracts(&folder.join(language.contracts()), contracts)?;
    if language == Language::Rust {
        write(&folder.join("Cargo.lock"), LOCK.as_bytes())?;
        write_sdk(&folder.join("vendor/rialto-sdk"))?;
    }
    Ok(())
}

/// Write the cases of a step, which are the same in all languages.
fn write_cases(folder: &Path, interface: &str) -> anyhow::Result<()> {
    for (case, minor_units, about, expect) in CASES {
        let input = input(interface, minor_units)?;
        let text = filled(
            template("rule/case.json.in")?,
            &[
                ("{about}", about),
                ("{interface}", interface),
                ("{input}", &input),
                ("{expect}", expect),
            ],
        );
        let mut text = serde_json::to_string_pretty(&serde_json::from_str::<Value>(&text)?)?;
        text.push('\n');
        write(&folder.join(format!("{case}.json")), text.as_bytes())?;
    }
    Ok(())
}

/// The input of a step with an amount in minor units.
fn input(interface: &str, minor_units: u64) -> anyhow::Result<String> {
    let input = template(&format!("rule/inputs/{interface}.json.in"))?;
    Ok(filled(input, &[("{amount}", &minor_units.to_string())]))
}

fn filled(text: &str, words: &[(&str, &str)]) -> String {
    let mut text = text.to_owned();
    for (mark, word) in words {
        text = text.replace(mark, word);
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;
    use crate::kit::case::{Case, files};

    fn make(folder: &Path, step: &str, language: Language) -> anyhow::Result<()> {
        rule(folder, &"my-rule".parse().unwrap(), step, language)
    }

    #[test]
    fn repository_has_cases_for_each_step_and_language() {
        let folder = tempfile::tempdir().unwrap();
        for (&language, (interface, ..)) in Language::value_variants()
            .iter()
            .flat_map(|language| STEPS.map(|step| (language, step)))
        {
            let own = folder.path().join(format!("{language:?}-{interface}"));
            make(&own, interface, language).unwrap();
            let cases = files(&own.join("my-rule.wasm"), &[]).unwrap();
            assert_eq!(cases.len(), CASES.len());
            for file in cases {
                let case = Case::read(&file).unwrap();
                assert_eq!(case.step, interface);
                assert!(case.expect.is_some());
            }
            let contracts = own.join(language.contracts()).join("rules/rules.wit");
            assert!(contracts.is_file(), "{}", contracts.display());
            // Every mark is filled in.
            for (file, _) in language.files() {
                let text = std::fs::read_to_string(own.join(file)).unwrap();
                for mark in ["{name}", "{interface}", "{step}", "{amount}", "{export}"] {
                    assert!(!text.contains(mark), "{file}: {text}");
                }
            }
            // Nothing is overwritten.
            assert!(make(&own, interface, language).is_err());
        }
        let unknown = make(&folder.path().join("x"), "other", Language::Rust);
        assert!(
            unknown
                .unwrap_err()
                .to_string()
                .contains("transfer-fulfil-check")
        );
    }

    #[test]
    fn judgement_reads_the_amount_of_its_step() {
        let folder = tempfile::tempdir().unwrap();
        for (language, words) in [
            (
                Language::Rust,
                [
                    "input: &quote_response::Input",
                    "&input.agreement.response.transfer_amount;",
                ],
            ),
            (
                Language::Javascript,
                [
                    "the step `quote-response-check`",
                    "= input.agreement.response.transferAmount;",
                ],
            ),
            (
                Language::Python,
                [
                    "the step `quote-response-check`",
                    "= input.agreement.response.transfer_amount\n",
                ],
            ),
        ] {
            let own = folder.path().join(format!("{language:?}"));
            make(&own, "quote-response-check", language).unwrap();
            let code = std::fs::read_to_string(own.join(language.judgement())).unwrap();
            for words in words {
                assert!(code.contains(words), "{words}: {code}");
            }
        }
        let exports = [
            (
                "Javascript/src/component.js",
                "export const quoteResponseCheck = {",
            ),
            (
                "Python/src/component.py",
                "class QuoteResponseCheck(exports.QuoteResponseCheck):",
            ),
            (
                "Javascript/wit/world.wit",
                "include rialto:rules/quote-response-rule@0.1.0;",
            ),
            (
                "Python/wit/world.wit",
                "include rialto:rules/quote-response-rule@0.1.0;",
            ),
        ];
        for (file, words) in exports {
            let text = std::fs::read_to_string(folder.path().join(file)).unwrap();
            assert!(text.contains(words), "{file}: {text}");
        }
    }
}

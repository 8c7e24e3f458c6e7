//! Makes a repository for a rule of one's own, which builds without anything else of Rialto.

use std::path::Path;

use anyhow::bail;
use rialto_manifest::values::Name;
use serde_json::Value;

use super::case::FOLDER;
use super::embedded::{LOCK, template, version_of, write, write_contracts, write_sdk};

/// The packages of contracts that a rule's bindings need.
const CONTRACTS: [&str; 3] = ["common", "host", "rules"];

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
pub fn rule(folder: &Path, name: &Name, step: &str) -> anyhow::Result<()> {
    let Some((interface, module, amount)) = STEPS.into_iter().find(|known| known.0 == step) else {
        let known = STEPS.map(|(interface, ..)| interface);
        bail!(
            "there is no step `{step}`: name one of {}",
            known.join(", ")
        );
    };
    let schemars = version_of("schemars")?;
    let words = [
        ("{name}", name.as_str()),
        ("{interface}", interface),
        ("{step}", module),
        ("{amount}", amount),
        ("{schemars}", &schemars),
        ("{version}", env!("CARGO_PKG_VERSION")),
    ];
    for (file, from) in [
        ("Cargo.toml", "Cargo.toml.in"),
        ("src/lib.rs", "lib.rs.in"),
        ("README.md", "README.md.in"),
        ("binding.toml", "binding.toml.in"),
        (".gitignore", "gitignore.in"),
        (".github/workflows/test.yml", "ci.yml.in"),
    ] {
        let text = filled(template(from)?, &words);
        write(&folder.join(file), text.as_bytes())?;
    }
    let input = template(&format!("inputs/{interface}.json.in"))?;
    for (case, minor_units, about, expect) in CASES {
        let input = filled(input, &[("{amount}", &minor_units.to_string())]);
        let text = filled(
            template("case.json.in")?,
            &[
                ("{about}", about),
                ("{interface}", interface),
                ("{input}", &input),
                ("{expect}", expect),
            ],
        );
        let mut text = serde_json::to_string_pretty(&serde_json::from_str::<Value>(&text)?)?;
        text.push('\n');
        let file = folder.join(FOLDER).join(format!("{case}.json"));
        write(&file, text.as_bytes())?;
    }
    write(&folder.join("Cargo.lock"), LOCK.as_bytes())?;
    write_contracts(&folder.join("wit"), &CONTRACTS)?;
    write_sdk(&folder.join("vendor/rialto-sdk"))
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
    use super::*;
    use crate::kit::case::{Case, files};

    #[test]
    fn repository_has_cases_for_each_step() {
        let folder = tempfile::tempdir().unwrap();
        for (interface, module, amount) in STEPS {
            let own = folder.path().join(interface);
            rule(&own, &"my-rule".parse().unwrap(), interface).unwrap();
            let code = std::fs::read_to_string(own.join("src/lib.rs")).unwrap();
            assert!(code.contains(&format!("input: &{module}::Input")), "{code}");
            assert!(code.contains(&format!("&input.{amount};")), "{code}");
            assert!(!code.contains("{step}"), "{code}");
            let cases = files(&own.join("my-rule.wasm"), &[]).unwrap();
            assert_eq!(cases.len(), CASES.len());
            for file in cases {
                let case = Case::read(&file).unwrap();
                assert_eq!(case.step, interface);
                assert!(case.expect.is_some());
            }
            // Nothing is overwritten.
            assert!(rule(&own, &"my-rule".parse().unwrap(), interface).is_err());
        }
        let unknown = rule(&folder.path().join("x"), &"x".parse().unwrap(), "other");
        assert!(
            unknown
                .unwrap_err()
                .to_string()
                .contains("transfer-fulfil-check")
        );
    }
}

//! Makes a repository for a rule with counters, in Rust.

use std::path::Path;

use rialto_manifest::values::Name;
use serde_json::Value;

use super::{CONTRACTS_OF_SDK, COUNTED_STEP, filled, input};
use crate::kit::case::FOLDER;
use crate::kit::embedded::{LOCK, template, version_of, write, write_contracts, write_sdk};

/// The files of the repository, each with its template. Some are those of rules without counters.
const FILES: [(&str, &str); 6] = [
    ("README.md", "counted/README.md.in"),
    ("binding.toml", "counted/binding.toml.in"),
    (".gitignore", "rule/gitignore.in"),
    (".github/workflows/test.yml", "rule/ci.yml.in"),
    ("Cargo.toml", "rule/Cargo.toml.in"),
    ("src/lib.rs", "counted/lib.rs.in"),
];

/// A golden case.
struct Case {
    name: &'static str,
    about: &'static str,
    /// What was counted before.
    count: u64,
    /// Its sum, in minor units.
    before: u64,
    /// The amount, in minor units.
    amount: u64,
    expect: &'static str,
}

const REFUSED: &str = "{ \"refuse\": [\"4200\"] }";

/// The cases.
const CASES: [Case; 3] = [
    Case {
        name: "allows-up-to-both-limits",
        about: "the third one reaches both limits, and exceeds none",
        count: 2,
        before: 6_000,
        amount: 4_000,
        expect: "\"allow\"",
    },
    Case {
        name: "refuses-too-many",
        about: "three were counted before",
        count: 3,
        before: 300,
        amount: 1,
        expect: REFUSED,
    },
    Case {
        name: "refuses-too-much",
        about: "one minor unit more than the largest sum is refused",
        count: 1,
        before: 9_000,
        amount: 1_001,
        expect: REFUSED,
    },
];

/// Write the repository of a rule with counters into a folder that does not exist yet.
///
/// # Errors
/// When a file cannot be written.
pub fn counted(folder: &Path, name: &Name) -> anyhow::Result<()> {
    let schemars = version_of("schemars")?;
    let words = [
        ("{name}", name.as_str()),
        ("{interface}", COUNTED_STEP),
        ("{schemars}", &schemars),
        ("{version}", env!("CARGO_PKG_VERSION")),
    ];
    for (file, from) in FILES {
        let text = filled(template(from)?, &words);
        write(&folder.join(file), text.as_bytes())?;
    }
    for case in &CASES {
        let text = case.text()?;
        let file = folder.join(FOLDER).join(format!("{}.json", case.name));
        write(&file, text.as_bytes())?;
    }
    write_contracts(&folder.join("wit"), CONTRACTS_OF_SDK)?;
    write(&folder.join("Cargo.lock"), LOCK.as_bytes())?;
    write_sdk(&folder.join("vendor/rialto-sdk"))
}

impl Case {
    /// The case as a file: the input of the step, with the values of the counters.
    fn text(&self) -> anyhow::Result<String> {
        let counts = filled(
            template("counted/counts.json.in")?,
            &[
                ("{count}", &self.count.to_string()),
                ("{before}", &self.before.to_string()),
            ],
        );
        let mut input: Value = serde_json::from_str(&input(COUNTED_STEP, self.amount)?)?;
        input["counts"] = serde_json::from_str(&counts)?;
        let text = filled(
            template("counted/case.json.in")?,
            &[
                ("{about}", self.about),
                ("{interface}", COUNTED_STEP),
                ("{input}", &input.to_string()),
                ("{expect}", self.expect),
            ],
        );
        let mut text = serde_json::to_string_pretty(&serde_json::from_str::<Value>(&text)?)?;
        text.push('\n');
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::case::{Case as Read, files};

    #[test]
    fn repository_has_cases_with_the_values_of_its_counter() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("limits");
        counted(&own, &"limits".parse().unwrap()).unwrap();
        let cases = files(&own.join("limits.wasm"), &[]).unwrap();
        assert_eq!(cases.len(), CASES.len());
        for file in cases {
            let case = Read::read(&file).unwrap();
            assert_eq!(case.step, COUNTED_STEP);
            assert_eq!(case.input["counts"][0]["counter"]["window"]["day"], 0);
            assert!(case.expect.is_some());
        }
        for (file, _) in FILES {
            let text = std::fs::read_to_string(own.join(file)).unwrap();
            for mark in ["{name}", "{interface}", "{schemars}", "{version}"] {
                assert!(!text.contains(mark), "{file}: {text}");
            }
        }
        assert!(own.join("wit/rules-0.2.0/rules.wit").is_file());
        // Nothing is overwritten.
        assert!(counted(&own, &"limits".parse().unwrap()).is_err());
    }
}

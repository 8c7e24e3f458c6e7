//! The languages of new repositories: their files, their names for the contracts, and how each builds its component.

use rialto_manifest::values::Name;

/// A language in which a rule is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Language {
    /// Compiled with cargo, on the SDK
    #[default]
    Rust,
    /// On SpiderMonkey, with componentize-js
    Javascript,
    /// On CPython, with componentize-py
    Python,
}

/// Files of a repository, each with its template in the language's folder.
type Files = &'static [(&'static str, &'static str)];

/// The files of all languages.
const COMMON: Files = &[
    ("README.md", "README.md.in"),
    ("binding.toml", "binding.toml.in"),
    (".gitignore", "gitignore.in"),
    (".github/workflows/test.yml", "ci.yml.in"),
];
const RUST: Files = &[("Cargo.toml", "Cargo.toml.in"), ("src/lib.rs", "lib.rs.in")];
const JAVASCRIPT: Files = &[
    ("package.json", "package.json.in"),
    ("package-lock.json", "package-lock.json.in"),
    ("build.js", "build.js.in"),
    ("src/component.js", "component.js.in"),
    ("src/judgement.js", "judgement.js.in"),
    ("test/judgement.test.js", "judgement.test.js.in"),
    ("wit/world.wit", "world.wit.in"),
];
const PYTHON: Files = &[
    ("requirements.txt", "requirements.txt.in"),
    ("build.py", "build.py.in"),
    ("src/component.py", "component.py.in"),
    ("src/judgement.py", "judgement.py.in"),
    ("src/test_judgement.py", "test_judgement.py.in"),
    ("wit/world.wit", "world.wit.in"),
];

impl Language {
    /// The folder of its templates.
    pub(super) fn folder(self) -> &'static str {
        match self {
            Self::Rust => "rule",
            Self::Javascript => "javascript",
            Self::Python => "python",
        }
    }

    /// The files that are filled in.
    pub(super) fn files(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let own = match self {
            Self::Rust => RUST,
            Self::Javascript => JAVASCRIPT,
            Self::Python => PYTHON,
        };
        COMMON.iter().chain(own).copied()
    }

    /// The folder of the contracts. Tools of other languages find dependencies of a world in `deps` beside it.
    pub(super) fn contracts(self) -> &'static str {
        match self {
            Self::Rust => "wit",
            Self::Javascript | Self::Python => "wit/deps",
        }
    }

    /// The name by which a step is exported, from its name in the contracts.
    pub(super) fn export(self, interface: &str) -> String {
        match self {
            Self::Rust => interface.replace('-', "_"),
            Self::Javascript => joined(interface, '-', false),
            Self::Python => joined(interface, '-', true),
        }
    }

    /// A path of members, from its form in Rust.
    pub(super) fn members(self, path: &str) -> String {
        match self {
            Self::Rust | Self::Python => path.to_owned(),
            Self::Javascript => joined(path, '_', false),
        }
    }

    /// The file with the judgement.
    #[must_use]
    pub fn judgement(self) -> &'static str {
        match self {
            Self::Rust => "src/lib.rs",
            Self::Javascript => "src/judgement.js",
            Self::Python => "src/judgement.py",
        }
    }

    /// The commands that make the component and have it judge its cases, in the repository's folder.
    #[must_use]
    pub fn commands(self, name: &Name) -> Vec<String> {
        let builds: &[&str] = match self {
            Self::Rust => &["rialto plugin build"],
            Self::Javascript => &["npm ci --ignore-scripts", "npm run build"],
            Self::Python => &[
                "python3 -m venv .venv",
                ".venv/bin/pip install --requirement requirements.txt",
                ".venv/bin/python build.py",
            ],
        };
        let builds = builds.iter().map(|&command| command.to_owned());
        builds
            .chain([format!("rialto plugin test {name}.wasm")])
            .collect()
    }
}

/// Words without their separators. Each word but the first begins with a capital; with `all`, the first one does too.
fn joined(words: &str, separator: char, all: bool) -> String {
    let mut begins = all;
    let mut joined = String::new();
    for letter in words.chars() {
        if letter == separator {
            begins = true;
        } else if begins {
            joined.extend(letter.to_uppercase());
            begins = false;
        } else {
            joined.push(letter);
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_contracts_are_those_of_each_language() {
        for (language, export, members) in [
            (Language::Rust, "one_two_check", "agreement.fee_amount"),
            (Language::Javascript, "oneTwoCheck", "agreement.feeAmount"),
            (Language::Python, "OneTwoCheck", "agreement.fee_amount"),
        ] {
            assert_eq!(language.export("one-two-check"), export);
            assert_eq!(language.members("agreement.fee_amount"), members);
        }
    }
}

//! `rialto plugin …`: a plugin's file on its author's machine, and a rule of a running host.

mod bind;
mod check;
mod new;
mod swap;
mod test;
mod try_input;

pub(super) use try_input::{read, stored};

use std::path::Path;

use anyhow::Context as _;
use rialto_components::Limits;
use rialto_components::problem::Problem;
use rialto_manifest::scheme::RuleLimits;
use rialto_manifest::values::{Duration, Size};

use crate::kit::binding::{self, FILE as BINDING};
use crate::kit::file::{ComponentFile, RuleFile};
use crate::out;

/// The exit code for a plugin with problems.
const UNFIT: u8 = 2;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Plugin {
    /// Make a repository for a rule or a context of your own, with tests and the contracts
    New(new::New),
    /// Build a plugin's crate with cargo, and wrap it as a component, NAME.wasm in its folder
    Build(new::Build),
    /// Say all that a host would say of a component's file
    Check(check::Check),
    /// Have a rule judge one input, without a host
    Try(try_input::Try),
    /// Have a rule judge its golden cases, and inputs at random
    Test(test::Test),
    /// Put a rule into a scheme's folder: copy its component, add its lines to scheme.toml, and pin it
    Bind(bind::Bind),
    /// Replace the component of one rule of a running host, in a new release with that change alone
    Swap(swap::Swap),
}

impl Plugin {
    pub fn run(self) -> anyhow::Result<u8> {
        match self {
            Self::New(new) => new.run(),
            Self::Build(build) => build.run(),
            Self::Check(check) => check.run(),
            Self::Try(input) => input.run(),
            Self::Test(test) => test.run(),
            Self::Bind(bind) => bind.run(),
            Self::Swap(swap) => swap.run(),
        }
    }
}

/// The limits of a rule, as scheme.toml may give them. What is not named is that of `binding.toml` beside the component.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(super) struct RuleLimit {
    /// The most fuel of one call.
    #[arg(long, value_name = "UNITS")]
    fuel: Option<u64>,
    /// The most memory of one instance, such as `4 MiB`.
    #[arg(long, value_name = "SIZE")]
    memory: Option<Size>,
    /// The most processor time of one call, such as `1 s`.
    #[arg(long, value_name = "TIME")]
    deadline: Option<Duration>,
}

impl RuleLimit {
    /// These limits; what is not named is that of a binding, or as in a scheme that says nothing.
    ///
    /// # Errors
    /// When the binding cannot be read.
    fn limits(self, binding: &Path) -> anyhow::Result<Limits> {
        let usual = match asked(binding)? {
            None => RuleLimits::default(),
            Some(wanted) => capped(wanted, binding),
        };
        let memory = self.memory.unwrap_or(usual.memory);
        Ok(Limits {
            memory_bytes: crate::limits::bytes(memory),
            deadline_ms: self.deadline.unwrap_or(usual.deadline).millis(),
            fuel: Some(self.fuel.unwrap_or(usual.fuel)),
            instances: u32::MAX,
        })
    }

    /// Opens a rule's file, with the binding beside it. If it cannot be used, prints why; then there is none.
    pub(super) fn rule(self, path: &Path) -> anyhow::Result<Option<RuleFile>> {
        self.bound(path, &path.with_file_name(BINDING))
    }

    /// Opens a rule's file, with this binding. If it cannot be used, prints why; then there is none.
    fn bound(self, path: &Path, binding: &Path) -> anyhow::Result<Option<RuleFile>> {
        let file = match ComponentFile::open(path, self.limits(binding)?)? {
            Ok(file) => file,
            Err(problem) => {
                show(&[*problem]);
                return Ok(None);
            }
        };
        if !file.is_rule() {
            out::note(format_args!(
                "{} is no rule: it does not export rialto:rules/rule",
                path.display()
            ));
            return Ok(None);
        }
        match file.into_rule() {
            Ok(rule) => Ok(Some(rule)),
            Err(problems) => {
                show(&problems);
                Ok(None)
            }
        }
    }
}

/// A binding's lines, if there is such a file.
///
/// # Errors
/// When it cannot be read, or is not TOML.
fn lines_of(binding: &Path) -> anyhow::Result<Option<toml::Table>> {
    if !binding.exists() {
        return Ok(None);
    }
    let reading = || format!("reading {}", binding.display());
    let text = std::fs::read_to_string(binding).with_context(reading)?;
    Ok(Some(text.parse().with_context(reading)?))
}

/// The limits that a binding asks for, if it asks for any. It binds one rule alone.
///
/// # Errors
/// When it cannot be read, or has limits that no rule has.
fn asked(binding: &Path) -> anyhow::Result<Option<RuleLimits>> {
    let lines = lines_of(binding)?.unwrap_or_default();
    let limits = binding::limits(&lines);
    limits.with_context(|| format!("the limits in {}", binding.display()))
}

/// The limits that a binding asks for, at most those that a host gives without a word of its operator: the file may be
/// somebody else's.
fn capped(wanted: RuleLimits, binding: &Path) -> RuleLimits {
    let limits = binding::capped(&wanted);
    if limits != wanted {
        out::note(format_args!(
            "{} asks for more than a host gives by default: {}, {} and {} fuel are used; name others by --memory, --deadline and --fuel",
            binding.display(),
            limits.memory,
            limits.deadline,
            limits.fuel
        ));
    }
    limits
}

/// Prints problems to standard error.
fn show(problems: &[Problem]) {
    for problem in problems {
        out::note(problem);
    }
}

/// Bytes in a unit that is easily read.
fn size(bytes: usize) -> String {
    indicatif::BinaryBytes(bytes as u64).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_named_then_the_bindings_then_the_usual_ones() {
        let folder = tempfile::tempdir().unwrap();
        let binding = folder.path().join(BINDING);
        let usual = RuleLimit::default().limits(&binding).unwrap();
        assert_eq!(usual.fuel, Some(RuleLimits::default().fuel));
        let lines = "[rules.a]\ncomponent = \"components/a.wasm\"\nlimits = { memory = \"32 MiB\", fuel = 7 }\n";
        std::fs::write(&binding, lines).unwrap();
        let limits = RuleLimit {
            fuel: Some(8),
            ..RuleLimit::default()
        };
        let limits = limits.limits(&binding).unwrap();
        assert_eq!((limits.memory_bytes, limits.fuel), (32 << 20, Some(8)));
        assert_eq!(limits.deadline_ms, usual.deadline_ms);
        std::fs::write(&binding, lines.replace("fuel", "wine")).unwrap();
        assert!(RuleLimit::default().limits(&binding).is_err());
    }
}

//! The lines that bind a rule, `binding.toml`: what they ask for, and what they may not have.

use anyhow::{Context as _, bail};
use rialto_manifest::operator::Ceilings;
use rialto_manifest::scheme::RuleLimits;
use toml::Table;

/// The file beside a rule's component with the lines that bind it.
pub const FILE: &str = "binding.toml";

/// The limits that the lines ask for, if they ask for any. They bind one rule alone.
///
/// # Errors
/// When they have limits that no rule has.
pub fn limits(lines: &Table) -> anyhow::Result<Option<RuleLimits>> {
    let rules = lines.get("rules").and_then(toml::Value::as_table);
    let limits = rules.and_then(|rules| rules.values().next()?.get("limits"));
    let limits = limits.map(|limits| limits.clone().try_into()).transpose();
    Ok(limits?)
}

/// Limits, at most those that a host gives without a word of its operator.
#[must_use]
pub fn capped(wanted: &RuleLimits) -> RuleLimits {
    let most = Ceilings::default();
    RuleLimits {
        memory: wanted.memory.min(most.memory),
        deadline: wanted.deadline.min(most.deadline),
        fuel: wanted.fuel.min(most.fuel),
    }
}

/// Check that lines bind this rule and do no more: they may come from somebody else.
///
/// # Errors
/// With what else they have.
pub fn binds_alone(lines: &str, name: &str) -> anyhow::Result<()> {
    let lines: Table = lines.parse().context("reading the lines for scheme.toml")?;
    let refuse = |what: &str| {
        bail!("the lines for scheme.toml bind the rule {name} alone, and these have {what}")
    };
    for (table, value) in &lines {
        match (table.as_str(), value) {
            ("rules", toml::Value::Table(rules)) => {
                if let Some(other) = rules.keys().find(|rule| *rule != name) {
                    return refuse(&format!("[rules.{other}]"));
                }
            }
            ("steps", toml::Value::Table(steps)) => {
                let bindings = steps
                    .values()
                    .flat_map(|step| step.as_array().into_iter().flatten());
                let rules =
                    bindings.map(|binding| binding.get("rule").and_then(toml::Value::as_str));
                if rules.into_iter().any(|rule| rule != Some(name)) {
                    return refuse("a step with another rule");
                }
            }
            (other, _) => return refuse(&format!("`{other}`")),
        }
    }
    Ok(())
}

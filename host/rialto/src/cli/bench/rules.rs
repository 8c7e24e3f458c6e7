//! Rules of a benchmark's copy of the scheme: as many as are asked for, in the place of its own.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use toml::{Table, Value};

/// The rule that is bound again and again.
const RULE: &str = "amount-limits";
/// The step at which all of them are checked, once for each payment.
const STEP: &str = "transfer-prepare-check";

/// Replaces the rules of the scheme in this folder by so many of one kind, each under a name of its own.
pub(super) fn bind(folder: &Path, number: usize) -> anyhow::Result<()> {
    rewrite(folder, |scheme| bound(scheme, number))
}

/// Changes the scheme in this folder, and pins its components anew.
pub(super) fn rewrite(
    folder: &Path,
    change: impl FnOnce(Table) -> anyhow::Result<Table>,
) -> anyhow::Result<()> {
    let document = folder.join("scheme.toml");
    let scheme = fs::read_to_string(&document)?.parse()?;
    fs::write(&document, toml::to_string(&change(scheme)?)?)?;
    // The copy's lock is a link to that of the scheme, which stays as it is.
    let lock = folder.join(rialto_manifest::lock::FILE_NAME);
    if fs::symlink_metadata(&lock).is_ok() {
        fs::remove_file(&lock)?;
    }
    rialto_manifest::lock(folder).map_err(|problems| anyhow!("\n{problems}"))?;
    Ok(())
}

/// The scheme with so many rules.
fn bound(mut scheme: Table, number: usize) -> anyhow::Result<Table> {
    let missing = || format!("the scheme binds no rule `{RULE}` at a step");
    let rule = scheme.get("rules").and_then(|rules| rules.get(RULE));
    let rule = rule.with_context(missing)?.clone();
    let steps = scheme.get("steps").and_then(Value::as_table);
    let mut bindings = steps.into_iter().flat_map(Table::values);
    let settings = bindings.find_map(|step| settings_of(step, RULE));
    let settings = settings.with_context(missing)?.clone();
    let (mut rules, mut bindings) = (Table::new(), Vec::new());
    for n in 1..=number {
        let name = format!("{RULE}-{n}");
        rules.insert(name.clone(), rule.clone());
        let mut binding = Table::new();
        binding.insert("rule".into(), name.into());
        binding.insert("settings".into(), settings.clone());
        bindings.push(Value::Table(binding));
    }
    scheme.remove("rules");
    scheme.remove("steps");
    if number > 0 {
        scheme.insert("rules".into(), Value::Table(rules));
        let mut steps = Table::new();
        steps.insert(STEP.into(), Value::Array(bindings));
        scheme.insert("steps".into(), Value::Table(steps));
    }
    Ok(scheme)
}

/// The settings of a rule at a step, if the step binds it.
fn settings_of<'a>(step: &'a Value, rule: &str) -> Option<&'a Value> {
    let bindings = step.as_array()?.iter();
    let mut of_rule =
        bindings.filter(|binding| binding.get("rule").and_then(Value::as_str) == Some(rule));
    of_rule.find_map(|binding| binding.get("settings"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEME: &str = r#"
[rules.matches]
component = "matches.wasm"
[rules.amount-limits]
component = "limits.wasm"
[[steps.quote-request-check]]
rule = "matches"
[[steps.quote-request-check]]
rule = "amount-limits"
settings = { otherwise = "refuse" }
"#;

    #[test]
    fn rules_of_a_scheme_are_replaced_by_as_many_as_asked_for() {
        let many = bound(SCHEME.parse().unwrap(), 10).unwrap();
        assert_eq!(many["rules"].as_table().unwrap().len(), 10);
        let bindings = many["steps"][STEP].as_array().unwrap();
        assert_eq!(bindings.len(), 10);
        assert_eq!(bindings[9]["rule"].as_str(), Some("amount-limits-10"));
        assert_eq!(
            bindings[9]["settings"]["otherwise"].as_str(),
            Some("refuse")
        );
        let written: Table = toml::to_string(&many).unwrap().parse().unwrap();
        assert_eq!(written, many);
    }

    #[test]
    fn no_rules_leave_no_step() {
        let none = bound(SCHEME.parse().unwrap(), 0).unwrap();
        assert!(!none.contains_key("rules") && !none.contains_key("steps"));
    }

    #[test]
    fn scheme_without_the_rule_is_refused() {
        assert!(bound(Table::new(), 1).is_err());
    }
}

//! By which messages a refusal at a step is told, as the contract of the step says it.

use super::embedded::contract;

/// The package of the steps.
const RULES: &str = "rules/rules.wit";
/// The line before the messages.
const TOLD: &str = "A refusal is told by:";

/// The messages of a refusal at a step, each with whom it goes to. None for a step of a later contract.
#[must_use]
pub fn told(step: &str) -> Vec<&'static str> {
    contract(RULES).map_or_else(Vec::new, |text| messages(text, step))
}

/// The items of the list in the comment before an interface.
fn messages<'t>(text: &'t str, interface: &str) -> Vec<&'t str> {
    let mut comment = Vec::new();
    for line in text.lines() {
        if let Some(words) = line.strip_prefix("///") {
            comment.push(words.trim());
            continue;
        }
        let name = line.strip_prefix("interface ");
        if name.and_then(|rest| rest.strip_suffix(" {")) == Some(interface) {
            let listed = comment.iter().skip_while(|words| **words != TOLD).skip(1);
            let items = listed.map_while(|words| words.strip_prefix("- "));
            return items.collect();
        }
        comment.clear();
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_of_the_contracts_says_who_is_told() {
        let steps = contract(RULES).unwrap().lines();
        let steps = steps.filter_map(|line| line.strip_prefix("interface ")?.strip_suffix(" {"));
        let steps: Vec<_> = steps.filter(|name| name.ends_with("-check")).collect();
        assert!(steps.len() >= 4, "{steps:?}");
        for step in steps {
            assert!(!told(step).is_empty(), "{step}");
        }
        assert!(told("types").is_empty() && told("no-such-check").is_empty());
    }
}

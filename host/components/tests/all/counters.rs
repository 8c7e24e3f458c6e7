//! Rules that need counters: contexts that do not give them, bounds, and stored inputs without them.

use rialto_components::rules::Outcome;
use rialto_components::{Failing, StepSpec, Unjudgeable};
use serde_json::{Value, json};

use crate::world::{PREPARE, Ready, asker, at, hostile, problems, release, rule, transfer};

const RULE: &str = "velocity-limits";

/// The rule with limits in windows of these lengths, in seconds.
fn limits(seconds: impl Iterator<Item = u64>) -> StepSpec {
    let limits = seconds.map(|seconds| {
        json!({ "per": ["payerFsp"], "window": { "rollingSeconds": seconds }, "transfers": 1 })
    });
    let settings = json!({ "limits": limits.collect::<Vec<_>>() });
    at(PREPARE, RULE, &settings.to_string(), Failing::Refuse)
}

/// An input with this counter's value.
fn counted(seconds: u64, transfers: u64) -> String {
    let mut input: Value = serde_json::from_str(&transfer(100)).unwrap();
    let money = input["transfer"]["amount"].clone();
    input["counts"] = json!([{
        "counter": { "by": ["payer-fsp"], "window": { "rolling": seconds } },
        "sum": { "transfers": transfers, "amount": money },
    }]);
    input.to_string()
}

fn spec(steps: Vec<StepSpec>) -> rialto_components::ReleaseSpec {
    let components = vec![rule("hostile-rule"), rule(RULE)];
    let mut spec = release(components, steps).rules_alone();
    spec.codes.push("5200".to_owned());
    spec
}

#[test]
fn rule_that_needs_counters_is_refused_by_a_context_without_them() {
    let steps = vec![limits(1..=1)];
    let mut spec = release(vec![asker(), rule(RULE)], steps);
    spec.codes.push("5200".to_owned());
    let found = problems(&spec);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].code, "needs-more");
    assert_eq!(
        found[0].what,
        "`velocity-limits` needs counts in the input, which `asker` does not give"
    );
}

#[test]
fn step_has_a_bound_of_counters() {
    let steps = (0..4).map(|n| limits(16 * n + 1..=16 * n + 16));
    let all: Vec<StepSpec> = steps.collect();
    let ready = Ready::new(&spec(all.clone()));
    let counters = ready.steps[PREPARE][3].counters_as_json();
    assert_eq!(counters.len(), 16);
    assert_eq!(
        counters[0],
        json!({ "by": ["payer-fsp"], "window": { "rolling": 49 } })
    );
    // The same ones again need no room; one more does.
    let with = |more| all.iter().cloned().chain([more]).collect();
    Ready::new(&spec(with(limits(1..=1))));
    let found = problems(&spec(with(limits(65..=65))));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].code, "bad-counters");
    assert!(found[0].what.contains("65 counters"), "{}", found[0].what);
}

#[test]
fn stored_inputs_are_judged_if_they_have_the_counters() {
    let ready = Ready::new(&spec(vec![
        hostile("allow", Failing::Refuse),
        limits(60..=60),
    ]));
    let ask = |nth: usize, input: &str| {
        let bound = &ready.steps[PREPARE][nth];
        let asked = ready.members[bound.member].judge_stored(bound, "T1", input);
        asked.map(|judged| judged.outcome.unwrap())
    };
    // A rule of the older version leaves out what it does not know.
    assert_eq!(ask(0, &counted(60, 0)), Ok(Outcome::Allow));
    assert_eq!(ask(1, &counted(60, 0)), Ok(Outcome::Allow));
    assert!(ask(1, &counted(60, 1)).unwrap().refuses());
    for (input, what) in [
        (transfer(100), "without counters"),
        (counted(61, 0), "with another counter"),
    ] {
        match ask(1, &input) {
            Err(Unjudgeable::Uncounted { rule, counter }) => {
                assert_eq!(rule, RULE, "{what}");
                assert!(counter.contains(r#"{"rolling":60}"#), "{what}: {counter}");
            }
            other => panic!("{what}: {other:?}"),
        }
    }
    // A whole step is judged by rules of both versions.
    let input: Value = serde_json::from_str(&counted(60, 1)).unwrap();
    let judged = ready.judge_step((PREPARE, 0), "T1", &input).unwrap();
    assert_eq!(judged.len(), 2);
    assert!(judged[1].refuses());
}

#[test]
fn random_inputs_have_a_value_of_each_counter() {
    let ready = Ready::new(&spec(vec![limits(1..=3)]));
    struct Ones;
    impl rialto_components::arbitrary::Choices for Ones {
        fn number(&mut self) -> u64 {
            1
        }
    }
    let input = ready.arbitrary_input(PREPARE, &mut Ones).unwrap();
    assert_eq!(input["counts"].as_array().unwrap().len(), 3);
    assert!(ready.judge_step((PREPARE, 0), "T1", &input).is_ok());
    // Those that are there stay as they are.
    let given: Value = serde_json::from_str(&counted(2, 7)).unwrap();
    let completed = ready.with_counters(PREPARE, &given, &mut Ones);
    assert_eq!(completed["counts"].as_array().unwrap().len(), 3);
    assert_eq!(completed["counts"][0], given["counts"][0]);
}

//! Whole tables: their settings and their verdicts.

use super::{to_fulfil, to_prepare};
use crate::input::Record;
use crate::judgement::{Judged, judge};
use crate::settings::{Code, ROWS_MAX, Settings, validate};
use rialto_sdk::rule::{self, Verdict};
use serde_json::{Value, json};

fn problems(settings: &Value) -> Vec<(String, String)> {
    let judged = rule::settings::<Settings>(&settings.to_string(), validate);
    let problems = judged.err().unwrap_or_default().into_iter();
    problems.map(|one| (one.pointer, one.message)).collect()
}

/// A table of these rows, which allows otherwise.
fn table(rows: &Value) -> Value {
    json!({ "step": "transfer-prepare-check", "rows": rows, "otherwise": { "then": "allow" } })
}

/// `allow`, `CODE MESSAGE` of a refusal, or the reason of a failure.
fn judged(settings: &Value, has_agreement: bool) -> String {
    let input = to_prepare(has_agreement);
    told(settings, Record::TransferPrepareInput(&input))
}

fn told(settings: &Value, input: Record<'_>) -> String {
    let settings = rule::settings::<Settings>(&settings.to_string(), validate).unwrap();
    match judge(&settings, input) {
        Judged::Verdict(Verdict::Allow) => "allow".to_owned(),
        Judged::Verdict(Verdict::Refuse(violations)) => {
            assert_eq!(violations.len(), 1);
            assert!((1..=128).contains(&violations[0].message.chars().count()));
            format!("{} {}", violations[0].code, violations[0].message)
        }
        Judged::Failure(reason) => format!("failure: {reason}"),
    }
}

const FAILS: &str = "input.agreement.request.amount.scale > 0";

#[test]
fn first_matching_row_decides() {
    let refuse = |when: &str, code: &str| json!({ "when": when, "then": "refuse", "code": code, "message": "no" });
    let large = refuse("amount(input.transfer.amount) > 100", "4200");
    let friend = json!({ "when": "input.transfer.payerFsp == \"payerfsp\"", "then": "allow" });
    let never = refuse("false", "5400");
    let always = refuse("true", "3100");
    for (rows, expected) in [
        (json!([]), "allow"),
        (json!([large]), "4200 no"),
        (json!([never, large, always]), "4200 no"),
        (json!([never, always, large]), "3100 no"),
        (json!([friend, large]), "allow"),
        (json!([never]), "allow"),
        // Rows after the one that decides are not asked.
        (
            json!([large, { "when": FAILS, "then": "allow" }]),
            "4200 no",
        ),
    ] {
        assert_eq!(judged(&table(&rows), false), expected, "{rows}");
    }
    let mut settings = table(&json!([never]));
    settings["otherwise"] = json!({ "then": "refuse", "code": "5100", "message": "none matches" });
    settings["hitPolicy"] = json!("first");
    assert_eq!(judged(&settings, false), "5100 none matches");
}

#[test]
fn row_that_cannot_be_decided_never_allows() {
    let rows = json!([
        { "when": "false", "then": "allow" },
        { "name": "fine scale", "when": FAILS, "then": "allow" },
        { "when": "true", "then": "allow" },
    ]);
    let mut settings = table(&rows);
    let words = "row 2 (fine scale) cannot be decided: agreement is absent";
    assert_eq!(judged(&settings, true), "allow");
    assert_eq!(judged(&settings, false), format!("3100 {words}"));
    settings["onError"] = json!({ "code": "5100" });
    assert_eq!(judged(&settings, false), format!("5100 {words}"));
    settings["onError"] = json!({ "then": "fail" });
    assert_eq!(judged(&settings, false), format!("failure: {words}"));
    settings["rows"][1].as_object_mut().unwrap().remove("name");
    let words = "row 2 cannot be decided: agreement is absent";
    assert_eq!(judged(&settings, false), format!("failure: {words}"));
}

#[test]
fn message_of_longest_name_is_cut_off() {
    let name = "é".repeat(64);
    let comparison =
        "amount(input.agreement.response.payeeReceiveAmount) < amount(input.transfer.amount)";
    let settings = table(&json!([{ "name": name, "when": comparison, "then": "allow" }]));
    let told = judged(&settings, true);
    assert!(told.starts_with("3100 row 1 (é"), "{told}");
}

#[test]
fn table_at_another_step_never_allows() {
    let settings = table(&json!([]));
    let input = to_fulfil(None);
    assert_eq!(
        told(&settings, Record::TransferFulfilInput(&input)),
        "3100 the decision table is for transfer-prepare-check, not for transfer-fulfil-check"
    );
}

#[test]
fn every_problem_is_noted_with_its_place() {
    let long = "x".repeat(129);
    let mut settings = table(&json!([
        { "when": "true", "then": "allow" },
        { "name": "night", "when": "input.now > 1 && input.amount > 1", "then": "allow" },
        { "name": "", "when": "input.now > ", "then": "refuse" },
        { "when": "true", "then": "allow", "code": "3100" },
        { "when": "true", "then": "refuse", "code": "3100", "message": "" },
    ]));
    settings["otherwise"] = json!({ "then": "refuse", "code": "4200", "message": long });
    let expected = [
        (
            "/rows/1/when",
            "In row 2 (night), at character 24: There is no `amount` here: use now, transfer, agreement.",
        ),
        (
            "/rows/2/when",
            "In row 3 (), at character 13: This is no expression: mismatched input '<EOF>' expecting expression.",
        ),
        ("/rows/2/name", "The name must have 1 to 64 characters."),
        ("/rows/2", "`refuse` needs a `code`, as in \"3100\"."),
        (
            "/rows/2",
            "`refuse` needs a `message`: a sentence for the FSP.",
        ),
        (
            "/rows/3",
            "`allow` has no `code` and no `message`: remove them, or use `refuse`.",
        ),
        (
            "/rows/4/message",
            "The message has 0 characters: it must have 1 to 128.",
        ),
        (
            "/otherwise/message",
            "The message has 129 characters: it must have 1 to 128.",
        ),
    ];
    let expected = expected.map(|(place, message)| (place.to_owned(), message.to_owned()));
    assert_eq!(problems(&settings), expected);
}

#[test]
fn sizes_are_bounded() {
    let row = json!({ "when": "false", "then": "allow" });
    assert_eq!(problems(&table(&json!(vec![&row; ROWS_MAX]))), []);
    let found = problems(&table(&json!(vec![&row; ROWS_MAX + 1])));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, "/rows");
    let found = problems(&table(
        &json!([{ "when": " ".repeat(1025), "then": "allow" }]),
    ));
    assert!(found[0].1.contains("1025 characters"), "{found:?}");
}

#[test]
fn settings_of_another_type_are_a_problem() {
    let good = table(&json!([{ "when": "true", "then": "allow" }]));
    for (pointer, value, place, words) in [
        ("/step", json!("discovery"), "/step", "discovery"),
        ("/rows/0/then", json!("deny"), "/rows/0/then", "deny"),
        (
            "/rows/0/code",
            json!("2001"),
            "/rows/0/code",
            "`3100`, `4100`",
        ),
        ("/rows/0/when", json!(true), "/rows/0/when", "string"),
        ("/rows/0/if", json!("true"), "/rows/0/if", "unknown field"),
        ("/otherwise", json!("allow"), "/otherwise", "struct"),
        ("/hitPolicy", json!("unique"), "/hitPolicy", "first"),
        (
            "/onError",
            json!({ "then": "allow" }),
            "/onError/then",
            "allow",
        ),
        (
            "/onError",
            json!({ "code": "1000" }),
            "/onError/code",
            "1000",
        ),
    ] {
        let mut settings = good.clone();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        settings.pointer_mut(parent).unwrap()[name] = value;
        let found = problems(&settings);
        assert_eq!(found.len(), 1, "{settings}: {found:?}");
        assert_eq!(found[0].0, place, "{found:?}");
        assert!(found[0].1.contains(words), "{found:?}");
    }
    for member in ["step", "rows", "otherwise"] {
        let mut settings = good.clone();
        settings.as_object_mut().unwrap().remove(member);
        assert!(problems(&settings)[0].1.contains(member), "{member}");
    }
}

#[test]
fn codes_are_their_digits() {
    for digits in [
        "3100", "4100", "4200", "4300", "4400", "5100", "5200", "5300", "5400",
    ] {
        let code: Code = serde_json::from_value(json!(digits)).unwrap();
        assert_eq!(code.digits(), digits);
    }
}

#[test]
fn examples_of_the_readme_are_valid() {
    let readme = include_str!("../../README.md");
    let blocks: Vec<_> = readme.split("```json\n").skip(1).collect();
    assert_eq!(blocks.len(), 3);
    for block in blocks {
        let settings = serde_json::from_str(block.split_once("```").unwrap().0).unwrap();
        assert_eq!(problems(&settings), [], "{settings}");
    }
}

#[test]
fn schema_documents_every_member() {
    let schema: Value = serde_json::from_str(&rule::schema::<Settings>()).unwrap();
    assert_eq!(schema["required"], json!(["step", "rows", "otherwise"]));
    let definitions = schema["$defs"].as_object().unwrap();
    let records = definitions.values().chain([&schema]);
    let members = records.filter_map(|record| record["properties"].as_object());
    let mut count = 0;
    for (name, member) in members.flatten() {
        assert!(member["description"].is_string(), "{name}");
        count += 1;
    }
    assert_eq!(count, 15);
}

//! `rialto plugin`: rules on their authors' machines, without a host.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fs;
use std::path::{Path, PathBuf};

use rialto_simulator::fsp::Step;
use rialto_tests::handbook::root;
use rialto_tests::scenes::refused;
use rialto_tests::{CliOutput, TestScheme, World, author, binaries};
use serde_json::{Value, json};

fn rialto(folder: &Path, arguments: &[&str]) -> CliOutput {
    let program = binaries::rialto().unwrap();
    CliOutput::of(program, |command| {
        command.current_dir(folder).args(arguments);
    })
    .unwrap()
}

/// A component that was built with all others.
fn component(name: &str) -> PathBuf {
    root().join("target/plugins").join(format!("{name}.wasm"))
}

fn write(folder: &Path, name: &str, value: &Value) -> String {
    let path = folder.join(name);
    fs::write(&path, value.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

fn case(step: &str, settings: &Value, expect: &Value) -> Value {
    json!({
        "step": step,
        "settings": settings,
        "input": {
            "now": 1,
            "transfer": {
                "transfer-id": "t", "payer-fsp": "a", "payee-fsp": "b",
                "amount": { "currency": "USD", "scale": 2, "minor-units": { "high": 0, "low": 5 } },
                "condition": "c", "expiration": 2,
            },
            "agreement": null,
        },
        "expect": expect,
    })
}

#[test]
fn ready_rules_say_what_their_cases_expect() {
    let rules = root().join("plugins/rules");
    let mut tested = 0;
    for entry in fs::read_dir(rules).unwrap() {
        let folder = entry.unwrap().path();
        let cases = folder.join("cases");
        if !cases.is_dir() {
            continue;
        }
        let name = folder.file_name().unwrap().to_str().unwrap();
        let file = component(name);
        let arguments = [
            "plugin",
            "test",
            file.to_str().unwrap(),
            cases.to_str().unwrap(),
        ];
        let said = rialto(
            &folder,
            &[&arguments[..], &["--boundaries", "--fuzz", "1"]].concat(),
        );
        assert_eq!(said.code, 0, "{name}: {said}");
        assert!(
            said.stdout.contains(" settings at boundaries, "),
            "{name}: {said}"
        );
        tested += 1;
    }
    assert!(tested >= 4, "{tested} rules have cases");
}

#[test]
fn cases_that_fail_are_told_and_blessed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let file = component("hostile-rule");
    let file = file.to_str().unwrap();
    let cases = folder.join("cases");
    fs::create_dir(&cases).unwrap();
    let step = "transfer-prepare-check";
    let wrong = write(
        &cases,
        "wrong.json",
        &case(
            step,
            &json!({ "do": "allow" }),
            &json!({ "refuse": ["4200"] }),
        ),
    );
    write(
        &cases,
        "traps.json",
        &case(step, &json!({ "do": "trap" }), &json!("allow")),
    );
    write(
        &cases,
        "no-step.json",
        &case("no-such-check", &json!({ "do": "allow" }), &json!("allow")),
    );
    fs::write(cases.join("nonsense.json"), "{").unwrap();
    let test = |more: &[&str]| {
        let arguments = ["plugin", "test", file, cases.to_str().unwrap()];
        rialto(folder, &[&arguments[..], more].concat())
    };
    let said = test(&[]);
    assert_eq!(said.code, 1, "{said}");
    for words in [
        "FAIL wrong",
        "expected: refuse 4200",
        "FAIL traps",
        "a rule must not fail",
        "FAIL no-step",
        "does not serve this step",
        "FAIL nonsense",
        "0 of 4 cases as expected",
    ] {
        assert!(said.stdout.contains(words), "{words}\n{said}");
    }
    test(&["--bless"]);
    let blessed: Value = serde_json::from_slice(&fs::read(&wrong).unwrap()).unwrap();
    assert_eq!(blessed["expect"], "allow");
    let said = rialto(folder, &["plugin", "test", file, &wrong]);
    assert_eq!(said.code, 0, "{said}");
}

#[test]
fn inputs_at_random_find_a_rule_that_fails_and_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let limits = json!([{ "currency": "USD", "scenario": "*", "maximum": "10" }]);
    let settings = json!({ "otherwise": "refuse", "limits": limits });
    let file = write(
        folder,
        "a.json",
        &case("transfer-prepare-check", &settings, &json!("allow")),
    );
    let rule = component("amount-limits");
    let test = |more: &[&str]| {
        let arguments = ["plugin", "test", rule.to_str().unwrap(), &file, "--json"];
        let said = rialto(folder, &[&arguments[..], more].concat());
        let lines = said.stdout.lines();
        let lines: Vec<Value> = lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        (said.code, lines)
    };
    let (code, lines) = test(&[]);
    assert_eq!(code, 0, "{lines:?}");
    // As much fuel as the golden case needs: other inputs need more.
    let fuel = lines[0]["fuel"].to_string();
    let (code, lines) = test(&["--fuel", &fuel, "--fuzz", "60", "--seed", "7"]);
    assert_eq!(code, 1, "{lines:?}");
    let found = &lines[1];
    assert_eq!(
        (&found["passes"], &found["seed"]),
        (&json!(false), &json!(7)),
        "{found}"
    );
    let kept = found["case"].as_str().unwrap();
    let kept = fs::read(folder.join(kept)).unwrap();
    let kept: Value = serde_json::from_slice(&kept).unwrap();
    assert!(kept["about"].as_str().unwrap().contains("fuel"), "{kept}");
}

#[test]
fn what_a_host_would_refuse_is_refused_without_a_host() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let check = |file: &Path, more: &[&str]| {
        let arguments = ["plugin", "check", file.to_str().unwrap()];
        rialto(folder, &[&arguments[..], more].concat())
    };
    let limits = component("amount-limits");
    let said = check(&limits, &["--json"]).success().unwrap();
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(
        (&said["kind"], &said["name"]),
        (&json!("rule"), &json!("amount-limits"))
    );
    assert_eq!(
        said["steps"],
        json!(["quote-request-check", "transfer-prepare-check"])
    );
    let bad = write(folder, "bad.json", &json!({ "otherwise": "perhaps" }));
    let said = check(&limits, &["--settings", &bad]);
    assert_eq!(said.code, 2, "{said}");
    assert!(said.stderr.contains("/otherwise"), "{said}");
    let context = check(&component("quoting"), &[]).success().unwrap();
    assert!(context.contains("a context"), "{context}");
    let nothing = folder.join("nothing.wasm");
    fs::write(&nothing, "nothing").unwrap();
    let said = check(&nothing, &[]);
    assert_eq!(said.code, 2, "{said}");
    assert!(
        said.stderr.contains("it is no WebAssembly at all"),
        "{said}"
    );
    // A context is no rule, and too little memory is named.
    let quoting = component("quoting");
    let said = rialto(folder, &["plugin", "test", quoting.to_str().unwrap()]);
    assert_eq!(said.code, 2, "{said}");
    let limits = limits.to_str().unwrap();
    let said = rialto(folder, &["plugin", "check", limits, "--memory", "64 KiB"]);
    assert_eq!(said.code, 2, "{said}");
    assert!(
        said.stderr.contains("bytes of memory and may have"),
        "{said}"
    );
}

#[tokio::test]
async fn stored_input_is_tried_by_a_file_and_a_swap_is_planned() {
    let world = World::demo().await.unwrap();
    let outcome = world.pay("10001", "USD").await;
    refused(&outcome, Step::Quote, "4200").unwrap();
    let quote = outcome.quote_id;
    let folder = tempfile::tempdir().unwrap();
    let limits = component("amount-limits");
    let limits = limits.to_str().unwrap();
    let scheme = world.scheme.path().to_str().unwrap();
    let limit = |maximum: &str| {
        let limits = json!([{ "currency": "USD", "scenario": "*", "maximum": maximum }]);
        json!({ "otherwise": "refuse", "limits": limits })
    };
    for (maximum, outcome) in [("10000", "refuse"), ("10001", "allow")] {
        let settings = write(folder.path(), "settings.json", &limit(maximum));
        let arguments = [
            "plugin",
            "try",
            limits,
            "--receipt",
            &quote,
            "--step",
            "quote-request-check",
            "--settings",
            &settings,
            "--at",
            scheme,
            "--json",
        ];
        let said = rialto(folder.path(), &arguments).success().unwrap();
        let said: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(said["verdict"]["outcome"], outcome, "{said}");
        assert!(said["fuel"].as_u64().unwrap() > 1_000, "{said}");
    }
    let changed = rialto_tests::offers::another_build(&world.scheme, "amount-limits", "changed");
    let changed = changed.unwrap();
    let plan = [
        "plugin",
        "swap",
        "amount-limits",
        changed.to_str().unwrap(),
        "--plan",
    ];
    let said = world.host.cli(&plan).unwrap().success().unwrap();
    assert!(said.contains("release 2 would change"), "{said}");
    assert!(said.contains("rule amount-limits: component"), "{said}");
    let releases = world
        .host
        .cli(&["release", "list"])
        .unwrap()
        .success()
        .unwrap();
    assert_eq!(releases.matches("sha256:").count(), 1, "{releases}");
}

#[test]
fn rule_is_bound_to_a_scheme_once_and_replaced_then() {
    let scheme = TestScheme::demo().unwrap();
    let folder = scheme.path().to_str().unwrap();
    let settings = write(scheme.path(), "s.json", &json!({ "do": "allow" }));
    let hostile = component("hostile-rule");
    let bind = |more: &[&str]| {
        let arguments = ["plugin", "bind", hostile.to_str().unwrap(), folder];
        rialto(scheme.path(), &[&arguments[..], more].concat())
    };
    let said = bind(&["--settings", &settings]).success().unwrap();
    assert!(said.contains("binds it"), "{said}");
    let document = fs::read_to_string(scheme.path().join("scheme.toml")).unwrap();
    let said = bind(&[]).success().unwrap();
    assert!(!said.contains("binds it"), "{said}");
    assert_eq!(
        fs::read_to_string(scheme.path().join("scheme.toml")).unwrap(),
        document
    );
    let said = rialto(scheme.path(), &["check", folder]).success().unwrap();
    assert!(said.contains("hostile-rule"), "{said}");
}

#[test]
fn bindings_that_do_more_than_bind_the_rule_are_refused() {
    let scheme = TestScheme::demo().unwrap();
    let folder = scheme.path().to_str().unwrap();
    let hostile = component("hostile-rule");
    let before = fs::read_to_string(scheme.path().join("scheme.toml")).unwrap();
    let rule = "[rules.hostile-rule]\ncomponent = \"components/hostile-rule.wasm\"\n";
    let bind = |lines: &str, more: &[&str]| {
        let binding = scheme.path().join("lines.toml");
        fs::write(&binding, lines).unwrap();
        let binding = binding.to_str().unwrap();
        let arguments = [
            "plugin",
            "bind",
            hostile.to_str().unwrap(),
            folder,
            "--binding",
            binding,
        ];
        rialto(scheme.path(), &[&arguments[..], more].concat())
    };
    let participant = "[[participants]]\nid = \"mine\"\nname = \"Mine\"\ncallback-base-url = \"http://127.0.0.1:9\"\n";
    for (lines, words) in [
        (format!("{rule}{participant}"), "`participants`"),
        (
            format!("{rule}[rules.other]\ncomponent = \"x.wasm\"\n"),
            "[rules.other]",
        ),
        (
            format!("{rule}[[steps.transfer-prepare-check]]\nrule = \"amount-limits\"\n"),
            "another rule",
        ),
        (
            rule.replace("hostile-rule.wasm", "amount-limits.wasm"),
            "is the component of `amount-limits` too",
        ),
        (
            rule.replace("components/hostile-rule.wasm", "../hostile-rule.wasm"),
            "component",
        ),
        (
            "[[steps.transfer-prepare-check]]\nrule = \"hostile-rule\"\n".to_owned(),
            "hostile-rule",
        ),
    ] {
        let said = bind(&lines, &[]);
        assert_ne!(said.code, 0, "{lines}: {said}");
        assert!(said.stderr.contains(words), "{lines}: {said}");
        let now = fs::read_to_string(scheme.path().join("scheme.toml")).unwrap();
        assert_eq!(now, before, "{lines}");
        assert!(
            !scheme.path().join("components/hostile-rule.wasm").exists(),
            "{lines}"
        );
    }
    let step = "[[steps.transfer-prepare-check]]\nrule = \"hostile-rule\"\nsettings = { do = \"allow\" }\n";
    let said = bind(&format!("{rule}{step}"), &[]);
    assert_eq!(said.code, 0, "{said}");
    // What has no effect is no success.
    let said = bind(&format!("{rule}{step}"), &[]);
    assert_ne!(said.code, 0, "{said}");
    assert!(
        said.stderr.contains("has the rule hostile-rule already"),
        "{said}"
    );
}

#[test]
fn rule_with_counters_is_built_and_tested_as_it_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let step = ["plugin", "new", "daily-limits", "--step"];
    let new = |more: &[&str]| rialto(folder.path(), &[&step[..], more].concat());
    // Only one step counts, and only in one language.
    let said = new(&["quote-request-check", "--counted"]);
    assert!(
        said.code != 0 && said.stderr.contains("transfer-prepare-check"),
        "{said}"
    );
    let said = new(&[
        "transfer-prepare-check",
        "--counted",
        "--language",
        "python",
    ]);
    assert!(said.code != 0 && said.stderr.contains("in Rust"), "{said}");
    let said = new(&["transfer-prepare-check", "--counted"]);
    let said = said.success().unwrap();
    let own = folder.path().join("daily-limits");
    for command in [
        "  rialto plugin build\n",
        "  rialto plugin test daily-limits.wasm\n",
    ] {
        assert!(said.contains(command), "{command}: {said}");
    }
    let tested = author::run("cargo", &own, &["test"]);
    let tested = tested.unwrap().success().unwrap();
    assert!(tested.contains("test result: ok."), "{tested}");
    let program = binaries::rialto().unwrap();
    let built = author::run(program, &own, &["plugin", "build"]);
    built.unwrap().success().unwrap();
    let test = ["plugin", "test", "daily-limits.wasm"];
    let more = ["--boundaries", "--fuzz", "1"];
    let said = rialto(&own, &[&test[..], &more].concat());
    let said = said.success().unwrap();
    assert!(said.contains("3 of 3 cases as expected"), "{said}");
    let settings = json!({ "currency": "USD", "transfers": 3, "sum": 10000 });
    let settings = write(folder.path(), "settings.json", &settings);
    let check = [
        "plugin",
        "check",
        "daily-limits.wasm",
        "--settings",
        &settings,
    ];
    let said = rialto(&own, &check).success().unwrap();
    assert!(
        said.contains("they need the counter payer-fsp in day 0"),
        "{said}"
    );
    // A case that lacks the counter is no case of the rule.
    let file = own.join("cases/refuses-too-many.json");
    let mut case: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    case["input"]["counts"] = json!([]);
    fs::write(&file, case.to_string()).unwrap();
    let said = rialto(&own, &test);
    assert!(
        said.code == 1 && said.stdout.contains("needs the counter"),
        "{said}"
    );
}

#[test]
fn contracts_are_written_for_any_language() {
    let folder = tempfile::tempdir().unwrap();
    rialto(folder.path(), &["wit", "contracts"])
        .success()
        .unwrap();
    let ours = fs::read(root().join("wit/rules/rules.wit")).unwrap();
    let written = fs::read(folder.path().join("contracts/rules/rules.wit")).unwrap();
    assert_eq!(written, ours);
    // Nothing is overwritten.
    assert_ne!(rialto(folder.path(), &["wit", "contracts"]).code, 0);
}

#[test]
fn components_of_earlier_versions_are_taken_and_judge_the_same() {
    let versions = root().join("tests/e2e/old-worlds");
    let (mut taken, mut all) = (0, 0);
    let mut of_versions = Vec::new();
    for version in fs::read_dir(versions).unwrap() {
        let version = version.unwrap().path();
        if !version.is_dir() {
            continue;
        }
        of_versions.push(version.file_name().unwrap().to_owned());
        for entry in fs::read_dir(&version).unwrap() {
            let file = entry.unwrap().path();
            if file.extension().is_none_or(|end| end != "wasm") {
                continue;
            }
            all += 1;
            let (component, cases) = (file.to_str().unwrap(), file.with_extension(""));
            if cases.is_dir() {
                let cases = ["plugin", "test", component, cases.to_str().unwrap()];
                let said = rialto(&version, &cases).success().unwrap();
                assert!(said.contains("2 of 2 cases as expected"), "{said}");
            } else {
                let said = rialto(&version, &["plugin", "check", component]);
                let said = said.success().unwrap();
                assert!(said.starts_with("a context"), "{said}");
            }
            taken += 1;
        }
    }
    println!("{taken} of {all} components of earlier versions are taken");
    of_versions.sort();
    assert_eq!(of_versions, ["0.1.0", "0.2.0"]);
    assert!(all >= 9, "{all} components of earlier versions");
}

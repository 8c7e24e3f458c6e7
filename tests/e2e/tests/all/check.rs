//! `rialto check`: the wiring of a good scheme, and what is said about each kind of mistake.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use rialto_tests::text::without_digests;
use rialto_tests::{CliOutput, RunningHost, TestScheme};

fn check(scheme: &TestScheme) -> CliOutput {
    scheme.rialto(&["check"]).unwrap()
}

/// The output about the demonstration scheme after this edit of its scheme.toml.
fn refusal(edit: impl FnOnce(&TestScheme)) -> String {
    let scheme = TestScheme::demo().unwrap();
    edit(&scheme);
    let output = check(&scheme);
    assert_eq!(output.code, 2, "{output}");
    assert_eq!(output.stdout, "", "a refusal is no result");
    let text = without_digests(&output.stderr);
    // Ports are drawn anew for each test.
    assert!(
        !text.contains("127.0.0.1"),
        "the message depends on the run: {text}"
    );
    text
}

/// Remove a part of scheme.toml: from this text up to the next one.
fn remove(scheme: &TestScheme, from: &str, up_to: &str) {
    scheme
        .edit_with(|text| {
            let start = text
                .find(from)
                .unwrap_or_else(|| panic!("no `{from}` in {text}"));
            let end = text[start..]
                .find(up_to)
                .map_or(text.len(), |length| start + length);
            format!("{}{}", &text[..start], &text[end..])
        })
        .unwrap();
}

#[test]
fn a_good_scheme_has_its_wiring_printed() {
    let output = check(&TestScheme::demo().unwrap());
    assert_eq!(output.code, 0, "{output}");
    let text = without_digests(&output.stdout);
    let widest = text
        .lines()
        .max_by_key(|line| line.chars().count())
        .unwrap();
    assert!(widest.chars().count() <= 120, "{widest}");
    // Ports are drawn anew for each test.
    let address = "127.0.0.1:";
    let mut parts = text.split(address);
    let mut plain = parts.next().unwrap().to_owned();
    for part in parts {
        let port = part.trim_start_matches(|c: char| c.is_ascii_digit());
        let mark = if port.len() < part.len() {
            "[port]"
        } else {
            ""
        };
        plain += &format!("{address}{mark}{port}");
    }
    insta::assert_snapshot!(plain);
}

#[test]
fn a_missing_grant_is_named_with_its_import() {
    let text = refusal(|scheme| {
        let grants = "host = [\"storage\", \"configuration\", \"clock\", \"random\", \"crypto\", \"auditing\", \"judging\", \"logging\"]";
        scheme
            .edit(
                grants,
                "host = [\"storage\", \"configuration\", \"clock\", \"crypto\", \"auditing\", \"judging\", \"logging\"]",
            )
            .unwrap();
    });
    insta::assert_snapshot!(text);
}

#[test]
fn a_step_that_no_component_asks_is_refused() {
    let text = refusal(|scheme| {
        scheme
            .edit("steps.quote-request-check", "steps.quote-request-chek")
            .unwrap();
    });
    insta::assert_snapshot!(text);
}

#[test]
fn rule_cannot_be_bound_to_an_unserved_step() {
    let text = refusal(|scheme| {
        let binding = "[[steps.quote-response-check]]\nrule = \"transfer-matches-quote\"\n\n";
        let before = "[[steps.transfer-prepare-check]]\nrule = \"amount-limits\"";
        scheme.edit(before, &format!("{binding}{before}")).unwrap();
    });
    insta::assert_snapshot!(text);
}

#[test]
fn a_missing_context_is_noticed_by_who_needs_it() {
    let text = refusal(|scheme| {
        remove(scheme, "[contexts.scheduling]", "# Rules, and the steps");
        scheme.lock().unwrap();
    });
    insta::assert_snapshot!(text);
}

#[test]
fn a_context_that_answers_requests_needs_a_listener() {
    let text = refusal(|scheme| scheme.edit("listener = \"fsps\"\n", "").unwrap());
    insta::assert_snapshot!(text);
}

#[test]
fn a_participant_without_a_callback_address_is_refused() {
    let text = refusal(|scheme| {
        remove(scheme, "callback-base-url", "\n");
    });
    insta::assert_snapshot!(text);
}

#[test]
fn bad_rule_settings_are_shown_with_their_place() {
    let text = refusal(|scheme| {
        scheme
            .edit("otherwise = \"refuse\"", "otherwise = \"refused\"")
            .unwrap();
    });
    insta::assert_snapshot!(text);
}

#[test]
fn bad_context_settings_are_shown_with_their_place() {
    let text = refusal(|scheme| {
        for (context, settings) in [
            (
                "fsp-interop-api",
                "deliveryDedlineMs = 1\nrequestDeadlineMs = \"soon\"",
            ),
            ("account-lookup", "takeover = \"perhaps\""),
            ("notifications-and-alerts", "attemptsMax = 101"),
            ("quoting", "shortestLifetimeMs = 10\nlongestLifetimeMs = 9"),
            ("transfers", "longestLifetimeMs = 0"),
            ("scheduling", "lead = 1"),
            // It has none.
            ("auditing", "lead = 1"),
        ] {
            scheme.set(context, settings).unwrap();
        }
    });
    insta::assert_snapshot!(text);
}

#[test]
fn a_code_that_a_rule_may_return_must_be_declared() {
    let text = refusal(|scheme| {
        remove(
            scheme,
            "[[errors]]\ncode = \"4200\"",
            "[[errors]]\ncode = \"4300\"",
        );
    });
    insta::assert_snapshot!(text);
}

#[test]
fn misspelt_key_is_shown_with_the_right_one() {
    let text = refusal(|scheme| scheme.edit("hub = \"Hub\"", "hubb = \"Hub\"").unwrap());
    insta::assert_snapshot!(text);
}

#[test]
fn component_changed_after_pinning_is_refused() {
    let text = refusal(|scheme| {
        let path = scheme.component("amount-limits");
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.push(0);
        std::fs::write(&path, bytes).unwrap();
    });
    // Where the lines break depends on the folder's name.
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || c == '│')
        .collect();
    let words = words
        .join(" ")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let what = "`sha256:[digest]` is not the digest of `components/amount-limits.wasm`";
    assert!(words.contains(what), "{text}");
    assert!(
        words.contains("If the new file is meant, run `rialto lock"),
        "{text}"
    );
}

#[test]
fn refusal_is_json_on_request() {
    let scheme = TestScheme::demo().unwrap();
    let of = || {
        let output = scheme.rialto(&["check", "--json"]).unwrap();
        let said: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
        (output.code, said)
    };
    let (code, said) = of();
    assert_eq!((code, &said["fits"]), (0, &true.into()), "{said}");
    let wrong = "otherwise = \"refused\"";
    scheme.edit("otherwise = \"refuse\"", wrong).unwrap();
    let (code, said) = of();
    assert_eq!((code, &said["fits"]), (2, &false.into()), "{said}");
    let text = std::fs::read_to_string(scheme.path().join("scheme.toml")).unwrap();
    let lines = text.lines().enumerate();
    let lines = lines.filter(|(_, line)| *line == wrong).map(|(n, _)| n + 1);
    let lines: Vec<usize> = lines.collect();
    let problems = said["problems"].as_array().unwrap();
    let told: Vec<u64> = problems
        .iter()
        .map(|p| p["line"].as_u64().unwrap())
        .collect();
    assert_eq!(
        told,
        lines.iter().map(|&n| n as u64).collect::<Vec<_>>(),
        "{said}"
    );
    assert!(
        problems
            .iter()
            .all(|p| p["code"] == "bad-settings" && p["file"] == "scheme.toml")
    );
    // A document that cannot be read at all.
    scheme.edit("name = \"demo\"", "name = demo").unwrap();
    let (code, said) = of();
    assert_eq!((code, &said["problems"][0]["code"]), (2, &"syntax".into()));
}

/// The problems of the demonstration scheme after this edit: one line each, with its file.
fn problems(edit: impl FnOnce(&TestScheme)) -> Vec<String> {
    let scheme = TestScheme::demo().unwrap();
    edit(&scheme);
    // As JSON: what people get is broken into lines.
    let output = scheme.rialto(&["check", "--json"]).unwrap();
    assert_eq!(output.code, 2, "{output}");
    let said: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    let all = said["problems"].as_array().unwrap().iter();
    let text =
        |problem: &serde_json::Value, member: &str| problem[member].as_str().unwrap().to_owned();
    all.map(|problem| format!("{}: {}", text(problem, "file"), text(problem, "message")))
        .collect()
}

/// A check of a scheme that has no secret yet makes none, and one that misses a secret makes no other in its place.
#[test]
fn check_makes_no_master_key() {
    let scheme = TestScheme::demo().unwrap();
    let path = scheme.path().join("rialto.toml");
    let text = fs::read_to_string(&path).unwrap();
    let keys = "\n[certificates]\nprovider = \"software\"\nreference = \"secrets/authority.reference\"\n\
                authority = \"tls/authority.pem\"\n";
    fs::write(&path, format!("{text}{keys}")).unwrap();
    check(&scheme).success().unwrap();
    let secrets = scheme.path().join("secrets");
    assert!(!secrets.join("master.key").exists());
    fs::create_dir_all(&secrets).unwrap();
    fs::set_permissions(&secrets, Permissions::from_mode(0o700)).unwrap();
    fs::write(secrets.join("authority.reference"), "of a lost key\n").unwrap();
    let refused = check(&scheme);
    assert_eq!(refused.code, 2, "{refused}");
    assert!(refused.stderr.contains("master.key"), "{refused}");
    assert!(!secrets.join("master.key").exists());
}

#[test]
fn the_verdict_is_the_first_and_the_last_line() {
    let good = check(&TestScheme::demo().unwrap()).success().unwrap();
    let lines: Vec<&str> = good.lines().collect();
    assert!(lines[0].starts_with("scheme demo: "), "{good}");
    assert!(lines[0].contains(" components fit together"), "{good}");
    assert_eq!(lines.first(), lines.last());
    let scheme = TestScheme::demo().unwrap();
    scheme.edit("hub = \"Hub\"", "hubb = \"Hub\"").unwrap();
    let bad = check(&scheme);
    let lines: Vec<&str> = bad.stderr.lines().collect();
    assert_eq!(lines[0], "the scheme does not fit: 1 problem", "{bad}");
    assert_eq!(lines.first(), lines.last(), "{bad}");
}

#[test]
fn rule_twice_at_a_step_needs_different_settings() {
    let (step, rule) = ("transfer-prepare-check", "amount-limits");
    let limit = |maximum: &str| {
        format!(
            "settings = {{ otherwise = \"refuse\", limits = [ {{ currency = \"USD\", scenario = \"*\", minimum = \"0.01\", maximum = \"{maximum}\" }} ] }}"
        )
    };
    let told = problems(|scheme| {
        for _ in 0..2 {
            scheme.add_step(step, rule, &limit("500")).unwrap();
        }
    });
    let words = "scheme.toml: rule `amount-limits` is bound to the step `transfer-prepare-check` twice, with the same settings";
    assert_eq!(told, [words]);
    let scheme = TestScheme::demo().unwrap();
    scheme.add_step(step, rule, &limit("500")).unwrap();
    let differ = check(&scheme);
    assert_eq!(differ.code, 0, "{differ}");
}

#[test]
fn missing_key_file_is_named_with_its_setting() {
    let keys = "[signatures]\nhub-key = \"keys/hub.pem\"\n\n[store]";
    let told = problems(|scheme| scheme.replace("rialto.toml", "[store]", keys).unwrap());
    assert_eq!(told.len(), 1, "{told:?}");
    let start = "rialto.toml: `hub-key` in [signatures] of rialto.toml: there is no file ";
    assert!(told[0].starts_with(start), "{told:?}");
    assert!(
        told[0].contains("keys/hub.pem: put the key there"),
        "{told:?}"
    );
}

#[test]
fn grpc_entry_that_matches_nothing_is_refused() {
    let listener = "[listeners.grpc]\naddress = \"127.0.0.1:0\"\n\
                    serve = [\"scheduling/create-schedule-remainder\", \"quoting/*\"]\n\
                    events = [\"nobody/has-this\"]\n\n[store]";
    let told = problems(|scheme| scheme.replace("rialto.toml", "[store]", listener).unwrap());
    let words = [
        "rialto.toml: `scheduling/create-schedule-remainder` matches nothing that a component of the scheme exports, did you mean `scheduling/create-schedule-reminder`?",
        "rialto.toml: `nobody/has-this` matches nothing that a component of the scheme exports",
    ];
    assert_eq!(told, words);
}

#[test]
fn file_without_webassembly_is_refused_as_such() {
    let text = refusal(|scheme| {
        std::fs::write(scheme.component("amount-limits"), "not a component").unwrap();
        scheme.lock().unwrap();
    });
    insta::assert_snapshot!(text);
}

#[test]
fn missing_folder_is_named_once_by_every_command() {
    for command in ["check", "bench", "simulate", "serve", "lock"] {
        let output = CliOutput::of(rialto_tests::binaries::rialto().unwrap(), |c| {
            c.args([command, "not/there"]);
        });
        let output = output.unwrap();
        assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{output}");
        let said = output.stderr.matches("not/there: there is no such folder");
        assert_eq!(said.count(), 1, "{command}: {output}");
    }
}

/// Compiling is the main cost of a check. It uses a host's compiled components, and leaves its own for the
/// host.
#[test]
fn a_check_uses_the_compiled_components_of_the_store() {
    let scheme = TestScheme::demo().unwrap();
    let mut host = RunningHost::start(&scheme).unwrap();
    host.kill().unwrap();
    let folder = scheme.state().join("compiled");
    let compiled = || -> BTreeSet<PathBuf> {
        let files = std::fs::read_dir(&folder).unwrap();
        files.map(|file| file.unwrap().path()).collect()
    };
    let before = compiled();
    // A file is named after the component's digest. Those of other tests' hosts may be there too.
    let lock = std::fs::read_to_string(scheme.path().join("scheme.lock")).unwrap();
    let rule = lock
        .lines()
        .find(|line| line.starts_with("rules."))
        .unwrap();
    let digest = rule.split("sha256:").nth(1).unwrap().trim_matches('"');
    let of_rule = |path: &&PathBuf| path.to_string_lossy().contains(digest);
    let file = before.iter().find(of_rule).unwrap();
    std::fs::remove_file(file).unwrap();
    assert_eq!(check(&scheme).code, 0);
    assert_eq!(compiled(), before, "compiled once more, and kept");
}

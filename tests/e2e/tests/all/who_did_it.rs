//! Releases and activations with operator, time and note; comparison of two releases; and a change without
//! effect is no failure.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use rialto_tests::{RunningHost, TestScheme};
use serde_json::Value;

use crate::second_person::{PEOPLE, apply, by, releases};

/// The activations of a release, each with operator, reason, release before, and success.
fn activations(release: &Value) -> Vec<(String, String, u64, bool)> {
    let text =
        |activation: &Value, member: &str| activation[member].as_str().unwrap_or("").to_owned();
    let all = release["activations"].as_array().unwrap().iter();
    all.map(|activation| {
        assert!(
            activation["at"].as_u64().unwrap() > 1_600_000_000_000,
            "{activation}"
        );
        (
            text(activation, "person"),
            text(activation, "note"),
            activation["before"].as_u64().unwrap(),
            activation["done"].as_bool().unwrap(),
        )
    })
    .collect()
}

fn said(host: &RunningHost, command: &[&str]) -> String {
    by(host, "ben", command).success().unwrap()
}

#[test]
fn releases_and_activations_show_who_when_and_why() {
    let scheme = TestScheme::demo().unwrap();
    let with = format!("{PEOPLE}[store]");
    scheme.replace("rialto.toml", "[store]", &with).unwrap();
    let mut host = RunningHost::start(&scheme).unwrap();
    let lower = scheme.twin().unwrap();
    lower
        .edit("maximum = \"10000\"", "maximum = \"500\"")
        .unwrap();
    apply(&host, "dora", &lower, "lower limits")
        .success()
        .unwrap();
    let folder = lower.path().to_str().unwrap();

    // Once more changes nothing, says so, and is well.
    let again = apply(&host, "dora", &lower, "once more");
    assert_eq!(again.code, 0, "{again}");
    let words = "nothing changed: release 2 is already current";
    assert!(again.stdout.contains(words), "{again}");
    let again = by(&host, "dora", &["release", "apply", folder, "--json"]);
    let again: Value = serde_json::from_str(&again.success().unwrap()).unwrap();
    assert_eq!(
        (&again["number"], &again["unchanged"]),
        (&2.into(), &true.into())
    );
    let planned = said(&host, &["release", "list"]);
    assert!(!planned.contains("once more"), "{planned}");
    let planned = by(&host, "dora", &["release", "plan", folder])
        .success()
        .unwrap();
    assert_eq!(planned, "nothing would change: release 2 is current\n");

    let back = ["release", "rollback", "1", "--note", "too low"];
    by(&host, "anna", &back).success().unwrap();
    let same = by(&host, "anna", &back);
    assert!(
        same.stdout.contains("release 1 is already current"),
        "{same}"
    );
    assert_eq!(same.code, 0, "{same}");

    // The records survive the host.
    for restarted in [false, true] {
        if restarted {
            host.restart().unwrap();
        }
        let all = releases(&host);
        let [first, second] = all.as_slice() else {
            panic!("two releases: {all:?}");
        };
        let times = activations(first);
        assert_eq!(times.len(), 2, "{times:?}");
        assert!(times[0].0.starts_with("start by user "), "{times:?}");
        assert_eq!((times[0].2, times[0].3), (0, true));
        assert_eq!(times[1], ("anna".into(), "too low".into(), 2, true));
        assert_eq!(
            activations(second),
            [("dora".into(), "lower limits".into(), 1, true)]
        );
        let list = said(&host, &["release", "list"]);
        for words in [
            "current in the place of 1, by dora: lower limits",
            "current in the place of 2, by anna: too low",
        ] {
            assert!(list.contains(words), "{words}: {list}");
        }
    }

    let shown = said(&host, &["release", "show", "2"]);
    for words in [
        "release 2 was current\n",
        "by dora\n",
        "note       lower limits\n",
        "activation ",
        "rule       amount-limits ",
        "context    transfers ",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let text = said(&host, &["release", "show", "2", "--text"]);
    let written = std::fs::read_to_string(lower.path().join("scheme.toml")).unwrap();
    assert_eq!(text, written);
    let shown: Value =
        serde_json::from_str(&said(&host, &["release", "show", "1", "--json"])).unwrap();
    assert_eq!(
        (&shown["number"], &shown["current"]),
        (&1.into(), &true.into())
    );
    assert!(shown["document"]["text"].is_string(), "{shown}");

    let there = said(&host, &["release", "diff", "1", "2"]);
    assert!(there.starts_with("from release 1 to 2:\n"), "{there}");
    assert!(
        there.contains("settings.limits[0].maximum = \"10000\" → \"500\""),
        "{there}"
    );
    let back = said(&host, &["release", "diff", "2", "1"]);
    assert!(
        back.contains("settings.limits[0].maximum = \"500\" → \"10000\""),
        "{back}"
    );
    let none = said(&host, &["release", "diff", "2", "2"]);
    assert_eq!(none, "nothing differs between release 2 and 2\n");
    for command in [
        ["release", "show", "9"].as_slice(),
        &["release", "diff", "1", "9"],
    ] {
        let unknown = by(&host, "ben", command);
        assert_eq!(unknown.code, 1, "{unknown}");
        assert!(
            unknown.stderr.contains("there is no release 9"),
            "{unknown}"
        );
    }

    let kept = said(&host, &["audit", "--about", "release 1"]);
    let rollbacks: Vec<&str> = kept.lines().collect();
    assert_eq!(rollbacks.len(), 2, "{kept}");
    assert!(
        rollbacks[0].contains(" anna release-rollback release 1 “too low”: done"),
        "{kept}"
    );
    assert!(rollbacks[1].contains("nothing has changed"), "{kept}");
    let nothing = by(&host, "ben", &["audit", "--about", "release 77"]);
    assert!(nothing.stderr.contains("has no such entry"), "{nothing}");
}

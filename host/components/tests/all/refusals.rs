//! The refusals of a release's components, each with its exact words.

#![allow(
    clippy::unwrap_used,
    reason = "a failed unwrap in a test is a failed test"
)]

use std::sync::Arc;

use crate::world::{Ready, asker, at, built, hostile, problems, release, rule, rule_of, wide};
use rialto_components::problem::{Bound, Location, Part, Problem};
use rialto_components::{ComponentSpec, Digest, Failing, Role};

/// What a problem says to people.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Said {
    about: String,
    what: String,
    help: String,
}

impl PartialEq<Said> for Problem {
    fn eq(&self, said: &Said) -> bool {
        (&self.about, &self.what, &self.help) == (&said.about, &said.what, &said.help)
    }
}

fn problem(about: &str, what: &str, help: &str) -> Said {
    Said {
        about: about.into(),
        what: what.into(),
        help: help.into(),
    }
}

/// A context of these bytes, granted everything that there is.
fn context_of(bytes: impl Into<Arc<[u8]>>) -> ComponentSpec {
    let bytes = bytes.into();
    ComponentSpec {
        digest: Digest::of(&bytes),
        bytes,
        listener: None,
        ..asker()
    }
}

fn context_in_text(text: &str) -> ComponentSpec {
    context_of(wat::parse_str(text).unwrap())
}

fn alone(component: ComponentSpec) -> Vec<Problem> {
    problems(&release(vec![component], Vec::new()))
}

const NO_COMPONENT: &str = "is no component that this host can run: ";

fn no_component(bytes: impl Into<Arc<[u8]>>) -> (String, String) {
    let found = alone(context_of(bytes));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].about, "asker");
    let reason = found[0].what.strip_prefix(NO_COMPONENT);
    let reason = reason.unwrap_or_else(|| panic!("{}", found[0].what));
    assert!(!reason.is_empty() && !reason.contains('\n'), "{reason:?}");
    (reason.to_owned(), found[0].help.clone())
}

#[test]
fn each_grant_has_its_twin_the_same_component_without_it() {
    let _ready = Ready::new(&release(vec![asker()], Vec::new()));
    type Take = fn(&mut ComponentSpec);
    let cases: [(Take, &str, &str, &str); 4] = [
        (
            |c| c.grants.host = vec!["judging".into(), "logging".into()],
            "rialto:host/storage@0.1.0",
            "host",
            "storage",
        ),
        (
            |c| c.grants.calls.clear(),
            "rialto:hostile-context/echo@0.1.0",
            "calls",
            "hostile-context/echo",
        ),
        (
            |c| c.grants.publishes.clear(),
            "rialto:hostile-context/happened@0.1.0",
            "publishes",
            "hostile-context/happened",
        ),
        (
            |c| c.grants.rules = vec![crate::world::QUOTE.into()],
            "rialto:rules/transfer-prepare-check@0.1.0",
            "rules",
            "transfer-prepare-check",
        ),
    ];
    for (take_away, interface, list, grant) in cases {
        let mut context = asker();
        take_away(&mut context);
        let expected = problem(
            "asker",
            &format!("imports {interface} and is not granted it"),
            &format!(
                "add \"{grant}\" to its `grants.{list}`, or use a component without this import"
            ),
        );
        let found = alone(context);
        assert_eq!(found, [expected]);
        assert_eq!(found[0].code, "not-granted");
        assert_eq!(found[0].location, Location::Grants("asker".into(), list));
    }
}

#[test]
fn a_rule_without_its_grants_is_refused() {
    let mut hungry = rule("hostile-rule");
    hungry.grants.host.clear();
    let steps = vec![hostile("allow", Failing::Refuse)];
    let expected = ["configuration", "logging"].map(|surface| {
        problem(
            "hostile-rule",
            &format!("imports rialto:host/{surface}@0.1.0 and is not granted it"),
            &format!(
                "add \"{surface}\" to its `grants.host`, or use a component without this import"
            ),
        )
    });
    assert_eq!(problems(&release(vec![asker(), hungry], steps)), expected);
}

#[test]
fn a_rule_sees_only_its_input_and_settings() {
    let disguised = ComponentSpec {
        role: Role::Rule,
        listener: None,
        ..asker()
    };
    let purely = "a verdict depends on the rule's input and settings alone: only `configuration`, `logging` and `trace` can be had";
    let sees = "a rule sees its input and its settings; it imports `configuration`, `logging` and `trace` at most";
    let imports = |interface: &str, help: &str| {
        problem("asker", &format!("is a rule and imports {interface}"), help)
    };
    let mut expected = vec![
        imports("rialto:host/judging@0.1.0", purely),
        imports("rialto:host/storage@0.1.0", purely),
        imports("rialto:hostile-context/echo@0.1.0", sees),
        imports("rialto:hostile-context/happened@0.1.0", sees),
        imports("rialto:rules/quote-request-check@0.1.0", sees),
        imports("rialto:rules/transfer-prepare-check@0.1.0", sees),
        problem(
            "asker",
            "is no rule: it does not export rialto:rules/rule",
            "build it against one of the worlds of wit/rules",
        ),
    ];
    expected.sort();
    assert_eq!(alone(disguised), expected);
}

#[test]
fn other_files_are_refused_with_what_they_are() {
    let core = wat::parse_str("(module)").unwrap();
    let (_, help) = no_component(core);
    assert_eq!(
        help,
        "it is a core module: wrap it into a component, for example with cargo-component"
    );
    for other in [
        &b"this is text"[..],
        b"",
        b"\x7fELF\x02\x01\x01\0",
        &[0xff; 64],
    ] {
        let (reason, _) = no_component(other);
        assert_eq!(reason, "it is no WebAssembly at all", "{other:?}");
    }
}

#[test]
fn a_component_cut_anywhere_is_refused() {
    let whole = built("hostile-rule");
    // Not 8: the eight bytes of the preamble are a component that has nothing.
    let lengths = [1, 4, 7, 9, 100, 1_000, whole.len() / 2, whole.len() - 1];
    for length in lengths {
        no_component(&whole[..length]);
    }
}

#[test]
fn a_changed_component_does_not_match_its_pin() {
    let pinned = rule("hostile-rule");
    let mut bytes = pinned.bytes.to_vec();
    bytes[5_000] ^= 1;
    let changed = ComponentSpec {
        bytes: bytes.into(),
        ..pinned.clone()
    };
    let actual = Digest::of(&changed.bytes);
    let expected = problem(
        "hostile-rule",
        &format!("its bytes have the digest {actual}, not {}", pinned.digest),
        "the file was changed after it was pinned; run `rialto lock` if it should have been",
    );
    let steps = vec![hostile("allow", Failing::Refuse)];
    assert_eq!(
        problems(&release(vec![asker(), changed], steps)),
        [expected]
    );
}

#[test]
fn what_the_host_does_not_have_cannot_be_imported() {
    let files = r#"(component
        (import "rialto:host/files@0.1.0" (instance (export "read" (func)))))"#;
    let expected = problem(
        "asker",
        "imports rialto:host/files@0.1.0, which this host does not have",
        "the surfaces are audit-log, auditing, caller, certificates, clock, configuration, crypto, http, judging, keys, logging, random, scheduling, secrets, storage, tls, trace",
    );
    assert_eq!(alone(context_in_text(files)), [expected]);
    let bare = r#"(component (import "do-it" (func)))"#;
    let expected = problem(
        "asker",
        "imports `do-it`, which is no interface",
        "components import interfaces such as `rialto:host/storage`",
    );
    assert_eq!(alone(context_in_text(bare)), [expected]);
}

/// A context that reads a secret.
fn reader() -> ComponentSpec {
    let mut reader = context_of(built("secret-reader"));
    reader.grants.host = vec!["logging".into(), "secrets".into()];
    reader.listener = Some("orders".into());
    reader
}

#[test]
fn reader_of_secrets_needs_its_grant_and_one_keeper() {
    let mut without = reader();
    without.grants.host.pop();
    let expected = problem(
        "asker",
        "imports rialto:host/secrets@0.1.0 and is not granted it",
        "add \"secrets\" to its `grants.host`, or use a component without this import",
    );
    assert_eq!(alone(without), [expected]);
    let expected = problem(
        "asker",
        "imports rialto:host/secrets@0.1.0, and nobody exports rialto:host/secrets-handler@0.1.0",
        "add the context that keeps secrets to the scheme",
    );
    assert_eq!(alone(reader()), [expected]);
    // Its answer is no secret.
    let keeper = |name: &str| ComponentSpec {
        name: name.into(),
        ..context_in_text(
            r#"(component
                (core module $m
                    (memory (export "memory") 1)
                    (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 0)
                    (func (export "f") (param i32 i32) (result i32) i32.const 0))
                (core instance $i (instantiate $m))
                (func $f (param "name" string) (result bool)
                    (canon lift (core func $i "f") (memory $i "memory") (realloc (func $i "realloc"))))
                (instance $h (export "read-secret" (func $f)))
                (export "rialto:host/secrets-handler@0.1.0" (instance $h)))"#,
        )
    };
    let expected = problem(
        "asker",
        "imports rialto:host/secrets@0.1.0, which does not fit rialto:host/secrets-handler@0.1.0",
        "build both against the same wit/",
    );
    let with_one = release(vec![reader(), keeper("keeper")], Vec::new());
    assert_eq!(problems(&with_one), [expected]);
    let expected = problem(
        "asker",
        "imports rialto:host/secrets@0.1.0, and several components export rialto:host/secrets-handler@0.1.0",
        "leave the others out of the scheme",
    );
    let with_two = release(vec![reader(), keeper("one"), keeper("two")], Vec::new());
    assert_eq!(problems(&with_two), [expected]);
}

/// A keeper of secrets that is told of their owner by a value of this type.
fn keeper_by(owner: &str) -> ComponentSpec {
    let values = r#"(record (field "current" string) (field "previous" (option string)))"#;
    let read = |values: &str| {
        format!(r#"(param "owner" {owner}) (param "name" string) (result (option {values}))"#)
    };
    let core = match owner {
        "string" => "i32 i32 i32 i32",
        _ => "i32 i32 i32",
    };
    let (inner, named, outer) = (read("$in"), read("$out"), read("$values"));
    let text = format!(
        r#"(component
            (core module $m
                (memory (export "memory") 1)
                (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 64)
                (func (export "f") (param {core}) (result i32) i32.const 0))
            (core instance $i (instantiate $m))
            (type $values {values})
            (func $f {outer}
                (canon lift (core func $i "f") (memory $i "memory") (realloc (func $i "realloc"))))
            (component $handler
                (type $values {values})
                (import "values" (type $in (eq $values)))
                (import "read" (func $f {inner}))
                (export $out "secret-values" (type $in))
                (export "read-secret" (func $f) (func {named})))
            (instance $h (instantiate $handler
                (with "values" (type $values)) (with "read" (func $f))))
            (export "rialto:host/secrets-handler@0.1.0" (instance $h)))"#
    );
    ComponentSpec {
        name: "keeper".into(),
        ..context_in_text(&text)
    }
}

#[test]
fn whose_a_secret_is_is_told_by_name() {
    let with = |owner: &str| release(vec![reader(), keeper_by(owner)], Vec::new());
    let _ready = Ready::new(&with("string"));
    for owner in ["u32", "char"] {
        let expected = problem(
            "asker",
            "imports rialto:host/secrets@0.1.0, which does not fit rialto:host/secrets-handler@0.1.0",
            "build both against the same wit/",
        );
        assert_eq!(problems(&with(owner)), [expected], "{owner}");
    }
}

#[test]
fn a_surface_with_a_wrong_type_is_refused() {
    let other = r#"(component
        (import "rialto:host/storage@0.1.0" (instance (export "get" (func (param "x" u32))))))"#;
    let found = alone(context_in_text(other));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].what.starts_with("cannot be linked: "),
        "{}",
        found[0]
    );
}

#[test]
fn a_component_that_fails_at_its_start_is_refused() {
    let starting = |body: &str| {
        let text = format!(
            "(component (core module $m (func $f {body}) (start $f)) (core instance (instantiate $m)))"
        );
        let mut context = context_in_text(&text);
        context.limits.deadline_ms = 100;
        alone(context)
    };
    let traps = problem(
        "asker",
        "fails when it is started: trapped: it reached code that it calls unreachable (a panic, in most languages)",
        "",
    );
    assert_eq!(starting("unreachable"), [traps]);
    let loops = problem(
        "asker",
        "fails when it is started: ran past its deadline of 100 ms",
        "",
    );
    assert_eq!(starting("(loop $l (br $l))"), [loops]);
}

/// A context that exports the calls of one package and makes those of another.
fn caller(name: &str, calls: &str) -> ComponentSpec {
    let text = format!(
        r#"(component
            (import "test:{calls}/ask@0.1.0" (instance (export "ask" (func (result u32)))))
            (core module $m (func (export "ask") (result i32) (i32.const 1)))
            (core instance $i (instantiate $m))
            (func $ask (result u32) (canon lift (core func $i "ask")))
            (instance $own (export "ask" (func $ask)))
            (export "test:{name}/ask@0.1.0" (instance $own)))"#
    );
    let mut context = context_in_text(&text);
    context.name = name.into();
    context.grants.calls = vec![format!("{calls}/ask")];
    context
}

#[test]
fn components_that_call_each_other_in_a_circle_are_refused() {
    let help = "let one of them publish an event instead of calling";
    let circle =
        |about: &str, way: &str| problem(about, &format!("calls itself in a circle: {way}"), help);
    let components = vec![caller("c", "a"), caller("a", "b"), caller("b", "c")];
    assert_eq!(
        problems(&release(components, Vec::new())),
        [circle("c", "c → a → b → c")]
    );
    let components = vec![caller("a", "a"), caller("b", "a")];
    assert_eq!(
        problems(&release(components, Vec::new())),
        [circle("a", "a → a")]
    );
}

#[test]
fn a_rule_must_fit_its_step_and_its_settings() {
    let spec = |steps| {
        release(
            vec![asker(), rule("hostile-rule"), rule("amount-limits")],
            steps,
        )
    };
    let refuse = Failing::Refuse;
    let unasked = at("transfer-fulfil-check", "hostile-rule", "{}", refuse);
    let expected = problem(
        "step transfer-fulfil-check",
        "is asked by no context",
        "the contexts of this scheme ask quote-request-check, transfer-prepare-check",
    );
    assert_eq!(problems(&spec(vec![unasked])), [expected]);
    let nobody = at(crate::world::PREPARE, "nobody", "{}", refuse);
    let expected = problem(
        "step transfer-prepare-check, rule nobody",
        "there is no such rule",
        "add it under [rules]",
    );
    assert_eq!(problems(&spec(vec![nobody])), [expected]);
    let found = problems(&spec(vec![hostile("dance", refuse)]));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        found[0].about,
        "step transfer-prepare-check, rule hostile-rule"
    );
    let bound = Bound {
        step: crate::world::PREPARE.into(),
        number: 0,
        rule: "hostile-rule".into(),
    };
    let location = Location::Bound(bound, Part::Settings("/do".into()));
    assert_eq!(
        (found[0].code, &found[0].location),
        ("bad-settings", &location)
    );
    assert!(
        found[0]
            .what
            .starts_with("settings/do: This must be one of allow, refuse, trap, "),
        "{}",
        found[0]
    );
}

#[test]
fn a_rules_undeclared_codes_are_refused_beforehand() {
    let mut spec = release(
        vec![asker(), rule("hostile-rule")],
        vec![hostile("allow", Failing::Refuse)],
    );
    spec.codes.clear();
    let about = "step transfer-prepare-check, rule hostile-rule";
    let undeclared = |code: &str, does: &str| {
        problem(
            about,
            &format!("{does} {code}, which the scheme does not declare"),
            &format!("add [[errors]] with code = \"{code}\" to scheme.toml"),
        )
    };
    let expected = [
        undeclared("2001", "has the failure code"),
        undeclared("3100", "may return"),
    ];
    assert_eq!(problems(&spec), expected);
}

#[test]
fn all_problems_are_told_at_once() {
    let mut context = asker();
    context.grants.host.clear();
    context.listener = None;
    let mut hungry = rule_of("hungry", built("hostile-rule"), wide());
    hungry.grants.host.clear();
    let found = problems(&release(vec![context, hungry], Vec::new()));
    let about: Vec<&str> = found.iter().map(|p| p.about.as_str()).collect();
    assert_eq!(
        about,
        ["asker", "asker", "asker", "asker", "hungry", "hungry"],
        "{found:?}"
    );
}

//! Finds the position in scheme.toml of each problem of a release.

use std::collections::BTreeSet;

use rialto_components::problem::{Bound, Location, Part, Problem};
use rialto_components::{Release, Role};
use rialto_grpc::Calls;
use rialto_manifest::diagnostics::{Code, Diagnostics, Problem as Shown};
use rialto_manifest::scheme::SettingChange;
use rialto_manifest::shape::nearest;
use rialto_manifest::{Scheme, source::Source};

/// A release's problems, each with its position in the scheme's document.
pub fn located(scheme: &Scheme, problems: &[Problem]) -> Diagnostics {
    let shown = problems.iter().map(|problem| {
        let Problem {
            about, what, code, ..
        } = problem;
        Shown {
            source_text: scheme.source().clone(),
            span: Some(scheme.span(&path(scheme, &problem.location))),
            code: Code::Found(code),
            message: format!("{about}: {what}{}", meant(scheme, problem)),
            help: problem.help.clone(),
        }
    });
    // A rule whose settings change by date is asked for each of its times, and says the same of what stays.
    let mut all: Vec<Shown> = Vec::new();
    for one in shown {
        let is_same = |other: &Shown| other.span == one.span && other.message == one.message;
        if !all.iter().any(is_same) {
            all.push(one);
        }
    }
    Diagnostics::of(all)
}

/// The step that was probably meant instead of an unknown one.
fn meant(scheme: &Scheme, problem: &Problem) -> String {
    let Location::Bound(bound, Part::Step) = &problem.location else {
        return String::new();
    };
    let contexts = scheme.contexts.values();
    let steps = contexts.flat_map(|context| context.grants.rules.iter().map(|step| step.as_str()));
    let near = nearest(&bound.step, steps).filter(|near| *near != &*bound.step);
    near.map_or_else(String::new, |near| format!(", did you mean `{near}`?"))
}

/// A problem of the scheme as a whole.
pub fn of_all(code: &'static str, message: String) -> Diagnostics {
    of_file(rialto_manifest::scheme::FILE_NAME, code, message)
}

/// A problem of the operator's document as a whole.
pub fn of_operator(code: &'static str, message: String) -> Diagnostics {
    of_file(rialto_manifest::operator::FILE_NAME, code, message)
}

fn of_file(name: &str, code: &'static str, message: String) -> Diagnostics {
    Diagnostics::of(vec![Shown {
        source_text: Source::new(name, ""),
        span: None,
        code: Code::Found(code),
        message,
        help: String::new(),
    }])
}

/// The calls that are offered to gRPC clients and that no component of the release exports, each with its position
/// in the operator's document.
pub fn offered_in_vain(document: &str, release: &Release, calls: &Calls) -> Option<Diagnostics> {
    let source = Source::new(rialto_manifest::operator::FILE_NAME, document);
    let contexts = release.members.iter();
    let contexts = contexts.filter(|member| member.role == Role::Context);
    let exports = contexts.flat_map(|member| &member.shape.exports);
    let exports = exports.filter(|i| !i.name.is_host() && !i.name.is_rules());
    let names: BTreeSet<String> = exports.map(|interface| interface.name.short()).collect();
    let in_vain = calls.unserved.iter().filter(|unserved| !unserved.exported);
    let problems = in_vain.map(|unserved| {
        let entry = &unserved.interface;
        let written = format!("\"{entry}\"");
        let near = nearest(entry, names.iter().map(String::as_str));
        let near = near.filter(|near| near != entry);
        let near = near.map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
        Shown {
            source_text: source.clone(),
            span: document.find(&written).map(|at| at..at + written.len()),
            code: Code::Found("offered-in-vain"),
            message: format!("`{entry}` matches nothing that a component of the scheme exports{near}"),
            help: "Calls are offered with `serve`, events with `events`; the lines `calls` and `publishes` of `rialto check` have their names. Take the entry out until a component has it.".to_owned(),
        }
    });
    let problems: Vec<Shown> = problems.collect();
    (!problems.is_empty()).then(|| Diagnostics::of(problems))
}

/// The path of a location in the document: its keys, with slashes between them.
fn path(scheme: &Scheme, location: &Location) -> String {
    let component = |name: &str| {
        if scheme.contexts.contains_key(name) {
            format!("contexts/{name}")
        } else {
            format!("rules/{name}")
        }
    };
    match location {
        Location::Component(name) => component(name),
        Location::File(name) => component(name) + "/component",
        Location::Grants(name, list) => format!("{}/grants/{list}", component(name)),
        Location::Listener(name) => component(name) + "/listener",
        Location::Settings(name, pointer) => component(name) + "/settings" + &keys(pointer),
        Location::Key(_, signer, key) => Scheme::key_path(*signer, *key),
        Location::Bound(bound, part) => {
            let (nth, changes) = written(scheme, bound);
            let binding = format!("steps/{}/{nth}", bound.step);
            match part {
                Part::Step => binding,
                Part::Rule => binding + "/rule",
                Part::FailureCode => binding + "/failure-code",
                Part::Settings(pointer) => binding + &setting(&changes, pointer),
                Part::Shadow => binding + "/shadow/rule",
                Part::Canary => binding + "/canary/rule",
                Part::CanarySettings(pointer) => binding + "/canary/settings" + &keys(pointer),
                Part::ShadowSettings(pointer) => binding + "/shadow/settings" + &keys(pointer),
            }
        }
    }
}

/// The index of the binding in the document that a bound rule is of, and the changes that it has in this time.
fn written(scheme: &Scheme, bound: &Bound) -> (usize, Vec<(usize, SettingChange)>) {
    let bindings = scheme.steps.get(&*bound.step).into_iter().flatten();
    let intervals = bindings.enumerate().flat_map(|(nth, binding)| {
        let intervals = binding.intervals().into_iter();
        intervals.map(move |interval| {
            let changes = interval.changes.into_iter();
            let changes = changes.map(|at| (at, binding.changes[at].clone()));
            (nth, changes.collect())
        })
    });
    let mut intervals = intervals.skip(bound.number);
    intervals.next().unwrap_or((bound.number, Vec::new()))
}

/// The path of a setting in its binding: the change that gives its value, or the settings.
fn setting(changes: &[(usize, SettingChange)], pointer: &str) -> String {
    let mut changes = changes.iter();
    let change = changes.find(|(_, change)| change.setting.is_around(pointer));
    let inside = change.and_then(|(at, change)| {
        let rest = pointer.strip_prefix(change.setting.as_str())?;
        Some(format!("/changes/{at}/value{}", keys(rest)))
    });
    inside.unwrap_or_else(|| format!("/settings{}", keys(pointer)))
}

/// The keys of a JSON pointer, each behind a slash.
fn keys(pointer: &str) -> String {
    let keys = pointer.split('/').skip(1);
    let keys = keys.map(|key| key.replace("~1", "/").replace("~0", "~"));
    keys.map(|key| format!("/{key}")).collect()
}

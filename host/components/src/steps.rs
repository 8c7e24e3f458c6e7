//! Steps and their versions: what a context asks, what a rule of another version takes of it, and the counters that rules
//! need for it.
//!
//! A rule serves a step if its input has no members that the context does not give. The host leaves out the members that
//! the rule does not know. A rule that was built with an older version of the contracts so judges beside newer ones.
//!
//! A rule that takes the member `counts` says by its interface `counting` which counters it needs. The context asks for
//! the counters of all rules by an interface that is named after the step: `x-counters` for `x-check`. The host does not
//! look into counters. They are values that it compares.

use std::borrow::Cow;

use rialto_engine::Name;
use serde_json::Value;
use wasmtime::component::Val;
use wasmtime::component::types::Type;

use crate::introspect::{Function, Interface, Shape, version};
use crate::names::{CHECK_FUNCTION, COUNTERS_FUNCTION, COUNTING_INTERFACE};
use crate::release::BoundRule;
use crate::values::{Json, TypeMismatch};

/// The most counters of one rule.
pub const COUNTERS_OF_RULE_MAX: usize = 16;
/// The most counters of one step.
pub const COUNTERS_OF_STEP_MAX: usize = 64;
/// The newest version of the contracts of steps that this host knows.
pub(crate) const NEWEST: &str = "0.2.0";
/// The member of an input with the values of counters.
pub(crate) const COUNTS: &str = "counts";
/// The member of such a value that says which counter it is of.
pub(crate) const COUNTER: &str = "counter";

/// Why a rule cannot judge a stored input.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unjudgeable {
    /// The input is not of the step's type.
    #[error(transparent)]
    Misfit(#[from] TypeMismatch),
    /// The input does not have a counter that the rule needs.
    #[error("{rule} needs the counter {counter}, which was not counted for this input")]
    Uncounted {
        /// The rule, by its name in the scheme.
        rule: String,
        /// The counter as JSON.
        counter: String,
    },
}

/// The members of a step's input; none if it is no record.
pub(crate) fn members(check: &Function) -> Vec<(String, Type)> {
    match check.params.get(1) {
        Some((_, Type::Record(record))) => record
            .fields()
            .map(|field| (field.name.to_owned(), field.ty))
            .collect(),
        _ => Vec::new(),
    }
}

/// Whether a rule's answer can be asked with a context's question, and what it needs that the context does not give.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It can.
    Serves,
    /// The context does not give these members.
    Needs(Vec<String>),
    /// The types differ.
    Differs,
}

impl Fit {
    /// How a rule's function fits the function that a context calls.
    pub fn of(answer: &Function, question: &Function) -> Self {
        if answer.fits(question) {
            return Self::Serves;
        }
        let (taken, given) = (members(answer), members(question));
        let same_subject = answer.params.first() == question.params.first();
        let same_count = answer.params.len() == 2 && question.params.len() == 2;
        if taken.is_empty() || !same_subject || !same_count || answer.results != question.results {
            return Self::Differs;
        }
        let mut needed = Vec::new();
        for (name, ty) in taken {
            match given.iter().find(|(other, _)| *other == name) {
                None => needed.push(name),
                Some((_, other)) if *other == ty => {}
                Some(_) => return Self::Differs,
            }
        }
        if needed.is_empty() {
            Self::Serves
        } else {
            Self::Needs(needed)
        }
    }
}

/// The question of a step, as a component asks it.
pub(crate) fn question<'s>(shape: &'s Shape, step: &str) -> Option<&'s Interface> {
    let mut imports = shape.imports.iter();
    imports.find(|one| {
        one.name.is_rules() && one.name.interface == step && one.function(CHECK_FUNCTION).is_some()
    })
}

/// The newest question of a step among those of several components. One that asks about drafts alone may ask an older one.
pub(crate) fn newest_question<'s>(
    shapes: impl Iterator<Item = &'s Shape>,
    step: &str,
) -> Option<&'s Interface> {
    let questions = shapes.filter_map(|shape| question(shape, step));
    questions.max_by_key(|one| version(&one.name.version))
}

/// The version of a step that a rule serves: the newest that fits the question, or else the newest.
pub(crate) fn served<'s>(
    shape: &'s Shape,
    step: &str,
    question: Option<&Interface>,
) -> Option<&'s Interface> {
    let exports = shape.exports.iter().filter(|one| {
        one.name.is_rules() && one.name.interface == step && one.function(CHECK_FUNCTION).is_some()
    });
    exports.max_by_key(|one| {
        let functions = question.and_then(|question| {
            Some((
                one.function(CHECK_FUNCTION)?,
                question.function(CHECK_FUNCTION)?,
            ))
        });
        let serves =
            functions.is_none_or(|(answer, question)| Fit::of(answer, question) == Fit::Serves);
        let is_known = !is_of_the_future(&one.name.version, question);
        (is_known && serves, version(&one.name.version))
    })
}

/// Whether a version of a step is one that neither the context that asks nor this host knows: what it means is not known.
pub(crate) fn is_of_the_future(version_of_rule: &str, question: Option<&Interface>) -> bool {
    series(version_of_rule) > series(newest_known(question))
}

/// The newest version that the context that asks, or this host, knows.
pub(crate) fn newest_known(question: Option<&Interface>) -> &str {
    let asked = question.map(|question| &*question.name.version);
    let newer = asked.filter(|asked| series(asked) > series(NEWEST));
    newer.unwrap_or(NEWEST)
}

/// The numbers of a version that its compatible successors share (Semantic Versioning 2.0.0).
fn series(text: &str) -> Vec<u64> {
    let mut numbers = version(text);
    let shared = if numbers.first() == Some(&0) { 2 } else { 1 };
    numbers.truncate(shared);
    numbers
}

/// The interface by which a component asks for the counters of a step.
pub(crate) fn asks_counters<'s>(shape: &'s Shape, step: &str) -> Option<&'s Function> {
    let mut imports = shape.imports.iter();
    let found = imports.find(|one| one.name.counters_of().as_deref() == Some(step))?;
    found.function(COUNTERS_FUNCTION)
}

/// The function by which a rule says its counters.
pub(crate) fn says_counters(shape: &Shape) -> Option<(&Interface, &Function)> {
    let exports = shape.exports.iter();
    let mut counting =
        exports.filter(|one| one.name.is_rules() && one.name.interface == COUNTING_INTERFACE);
    counting.find_map(|one| Some((one, one.function(COUNTERS_FUNCTION)?)))
}

/// Add counters that are not there yet.
pub(crate) fn unite<'c>(all: &mut Vec<Val>, more: impl IntoIterator<Item = &'c Val>) {
    for counter in more {
        if !all.contains(counter) {
            all.push(counter.clone());
        }
    }
}

/// Whether a question's input has these members alone, in this order. Without any, it is no record.
fn takes_all(members: &[Name], params: &[Val]) -> bool {
    let [_, Val::Record(given)] = params else {
        return true;
    };
    let names = given.iter().map(|(name, _)| &**name);
    members.is_empty() || members.iter().map(|name| &**name).eq(names)
}

/// The parameters of a question with these members of its input alone; all if there are none.
fn taken<'p>(members: &[Name], params: &'p [Val]) -> Cow<'p, [Val]> {
    let [subject, Val::Record(given)] = params else {
        return Cow::Borrowed(params);
    };
    if takes_all(members, params) {
        return Cow::Borrowed(params);
    }
    let taken = members.iter().filter_map(|name| {
        let mut given = given.iter();
        given.find(|(other, _)| **other == **name).cloned()
    });
    Cow::Owned(vec![subject.clone(), Val::Record(taken.collect())])
}

impl BoundRule {
    /// The counters of this rule, of its candidates and of its last good release.
    pub(crate) fn all_counters(&self) -> impl Iterator<Item = &Val> {
        let shadow = self.shadow.iter().map(|shadow| &shadow.bound);
        let canary = self.canary.iter().map(|canary| &canary.bound);
        let last_good = self.last_good().into_iter().map(|earlier| earlier.bound);
        let beside = shadow.chain(canary).chain(last_good);
        let beside = beside.flat_map(|bound| bound.counters.iter());
        self.counters.iter().chain(beside)
    }

    /// The counters that the rule needs, as JSON.
    #[must_use]
    pub fn counters_as_json(&self) -> Vec<Value> {
        let counters = self.counters.iter();
        // Only plain values cross between components, and all of these can be encoded.
        let encoded = counters.map(|counter| serde_json::to_value(Json(counter)));
        encoded.map(Result::unwrap_or_default).collect()
    }

    /// Whether a question has all members of the input that the rule takes.
    pub(crate) fn is_given_all(&self, params: &[Val]) -> bool {
        let [_, Val::Record(given)] = params else {
            return true;
        };
        let mut members = self.members.iter();
        members.all(|name| given.iter().any(|(other, _)| **other == **name))
    }

    /// Whether the rule takes all members of a question's input, as they are.
    pub(crate) fn takes_all(&self, params: &[Val]) -> bool {
        takes_all(&self.members, params)
    }

    /// The parameters of a question as the rule takes them: without the members of the input that it does not know.
    pub(crate) fn takes<'p>(&self, params: &'p [Val]) -> Cow<'p, [Val]> {
        taken(&self.members, params)
    }

    /// A stored input as the rule can read it: one from before there were counters has none.
    pub(crate) fn reads<'i>(&self, input: &'i Value) -> Result<Cow<'i, Value>, Unjudgeable> {
        let takes_counts = self.members.iter().any(|name| &**name == COUNTS);
        if !takes_counts {
            return Ok(Cow::Borrowed(input));
        }
        let counts = input.get(COUNTS).and_then(Value::as_array);
        let has = |counter: &Value| {
            let mut counts = counts.into_iter().flatten();
            counts.any(|one| one.get(COUNTER) == Some(counter))
        };
        let missing = self.counters_as_json().into_iter().find(|one| !has(one));
        if let Some(counter) = missing {
            return Err(Unjudgeable::Uncounted {
                rule: self.identity.name.to_string(),
                counter: counter.to_string(),
            });
        }
        let mut input = Cow::Borrowed(input);
        if input.get(COUNTS).is_none()
            && input.is_object()
            && let Value::Object(members) = input.to_mut()
        {
            members.insert(COUNTS.to_owned(), Value::Array(Vec::new()));
        }
        Ok(input)
    }
}

/// The question of each step that the contexts of a release ask.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The full name of its interface.
    pub interface: Name,
    /// The function.
    pub check: Function,
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasmtime::component::Component;
    use wasmtime::{Config, Engine};

    /// The shape of a component that imports a step with an input of these members, in the text format.
    fn asks(version: &str, members: &str) -> Shape {
        let text = format!(
            r#"(component
                (type $input (record {members}))
                (type $step (instance
                    (alias outer 1 $input (type $i))
                    (export "input" (type $in (eq $i)))
                    (export "check" (func (param "subject" string) (param "input" $in) (result bool)))))
                (import "rialto:rules/a-check@{version}" (instance (type $step))))"#
        );
        let engine = Engine::new(&Config::new()).unwrap();
        let component = Component::new(&engine, wat::parse_str(&text).unwrap()).unwrap();
        Shape::of(&component, &engine)
    }

    fn check(shape: &Shape) -> &Function {
        let interface = question(shape, "a-check").unwrap();
        interface.function(CHECK_FUNCTION).unwrap()
    }

    #[test]
    fn rule_serves_if_its_members_are_given() {
        let now = r#"(field "now" u64)"#;
        let both = r#"(field "now" u64) (field "counts" u32)"#;
        let other = r#"(field "now" u32)"#;
        let [now, both, other] = [now, both, other].map(|members| asks("0.1.0", members));
        let fit = |answer, question| Fit::of(check(answer), check(question));
        assert_eq!(fit(&now, &now), Fit::Serves);
        assert_eq!(fit(&now, &both), Fit::Serves);
        assert_eq!(fit(&both, &now), Fit::Needs(vec!["counts".to_owned()]));
        assert_eq!(fit(&other, &both), Fit::Differs);
    }

    #[test]
    fn newest_version_that_fits_is_served() {
        let imports = |members: &str, version: &str| asks(version, members).imports.remove(0);
        let now = r#"(field "now" u64)"#;
        let both = r#"(field "now" u64) (field "counts" u32)"#;
        let rule = Shape {
            exports: vec![
                imports(both, "0.10.0"),
                imports(now, "0.1.0"),
                imports(now, "0.9.0"),
            ],
            ..Shape::default()
        };
        let by = |version: &str, members: &str| imports(members, version);
        let served_by = |question: Option<&Interface>| {
            let found = served(&rule, "a-check", question);
            found.map(|one| one.name.version.clone()).unwrap()
        };
        assert_eq!(served_by(Some(&by("0.9.0", now))), "0.9.0");
        assert_eq!(served_by(Some(&by("0.10.0", both))), "0.10.0");
        // What was made later than the question is not taken, although it has its members.
        assert_eq!(served_by(Some(&by("0.1.0", now))), "0.1.0");
        assert_eq!(served_by(None), "0.1.0");
        assert!(served(&rule, "b-check", None).is_none());
    }

    #[test]
    fn compatible_versions_are_not_of_the_future() {
        let imports = asks("1.4.2", r#"(field "now" u64)"#).imports;
        for (version, expected) in [
            ("1.4.2", false),
            ("1.9.0", false),
            ("0.7.0", false),
            ("2.0.0", true),
        ] {
            assert_eq!(
                is_of_the_future(version, imports.first()),
                expected,
                "{version}"
            );
        }
        for (version, expected) in [
            ("0.1.0", false),
            ("0.2.9", false),
            ("0.3.0", true),
            ("1.0.0", true),
        ] {
            assert_eq!(is_of_the_future(version, None), expected, "{version}");
        }
    }

    #[test]
    fn newest_version_is_that_of_the_contracts() {
        let contracts = concat!(env!("CARGO_MANIFEST_DIR"), "/../../wit");
        let packages = std::fs::read_dir(contracts).unwrap().filter_map(|entry| {
            let text = std::fs::read_to_string(entry.unwrap().path().join("rules.wit")).ok()?;
            let line = text.lines().find(|line| line.starts_with("package "))?;
            let (_, found) = line.trim_end_matches(';').split_once('@')?;
            Some(version(found))
        });
        assert_eq!(packages.max(), Some(version(NEWEST)));
    }

    #[test]
    fn members_that_a_rule_does_not_know_are_left_out() {
        let given = [
            Val::String("subject".to_owned()),
            Val::Record(vec![
                ("now".to_owned(), Val::U64(1)),
                ("counts".to_owned(), Val::List(Vec::new())),
            ]),
        ];
        let all: [Name; 2] = ["now".into(), "counts".into()];
        assert!(matches!(taken(&all, &given), Cow::Borrowed(_)));
        assert!(matches!(taken(&[], &given), Cow::Borrowed(_)));
        let left = taken(&all[..1], &given);
        let now = Val::Record(vec![("now".to_owned(), Val::U64(1))]);
        assert_eq!(left[..], [given[0].clone(), now]);
        // A rule that has them in another order gets them in its own.
        let Val::Record(members) = &taken(&[all[1].clone(), all[0].clone()], &given)[1] else {
            panic!("the input is a record");
        };
        assert_eq!(members[0].0, "counts");
    }

    #[test]
    fn counters_are_united_without_repeats_in_their_order() {
        let mut all = Vec::new();
        unite(&mut all, &[Val::U64(2), Val::U64(1), Val::U64(2)]);
        unite(&mut all, &[Val::U64(3), Val::U64(1)]);
        assert_eq!(all, [Val::U64(2), Val::U64(1), Val::U64(3)]);
    }
}

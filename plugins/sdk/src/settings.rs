//! Checks of settings that find every problem with its place.
//!
//! A component with settings checks them before a release becomes current, and returns each problem. A context,
//! whose settings are parsed by [`crate::scheme::settings`], calls [`judge`]. A rule, whose settings are
//! richer, reads them member by member.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A problem of settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// A JSON pointer into the settings; empty for the whole.
    pub pointer: String,
    /// A sentence: the problem and what to do.
    pub message: String,
}

/// The problems found so far.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// Adds a problem.
    pub fn note(&mut self, pointer: &str, message: impl Into<String>) {
        self.0.push(Problem {
            pointer: pointer.to_owned(),
            message: message.into(),
        });
    }

    /// The value, if there are no problems.
    ///
    /// # Errors
    /// The problems.
    pub fn or<T>(self, value: T) -> Result<T, Vec<Problem>> {
        if self.0.is_empty() {
            Ok(value)
        } else {
            Err(self.0)
        }
    }
}

/// Checks settings of type `T`, whose members are all optional. Returns each member that does not fit, or, if
/// all do, the problems that `further` adds.
///
/// # Errors
/// The problems.
pub fn judge<T: DeserializeOwned>(
    text: &str,
    further: impl FnOnce(&T, &mut Problems),
) -> Result<(), Vec<Problem>> {
    let mut problems = Problems::default();
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(members)) => {
            // One by one: a parser stops at the first problem, without its place.
            for (name, value) in &members {
                let alone = Map::from_iter([(name.clone(), value.clone())]);
                if let Err(error) = serde_json::from_value::<T>(Value::Object(alone)) {
                    problems.note(&join("", name), plain(&error.to_string()));
                }
            }
            if problems.0.is_empty() {
                match serde_json::from_value(Value::Object(members)) {
                    Ok(settings) => further(&settings, &mut problems),
                    Err(error) => problems.note("", plain(&error.to_string())),
                }
            }
        }
        Ok(_) => problems.note("", "settings must be an object"),
        Err(error) => problems.note("", error.to_string()),
    }
    problems.or(())
}

/// A parser's message without names of types: `invalid type: string "soon", expected u64` becomes `must be a
/// whole number from 0 on, not the text "soon"`. Other messages do not change.
fn plain(error: &str) -> String {
    let types = ["invalid type: ", "invalid value: "];
    let said = types.iter().find_map(|start| error.strip_prefix(start));
    let Some((found, expected)) = said.and_then(|said| said.rsplit_once(", expected ")) else {
        return error.to_owned();
    };
    format!("must be {}, not {}", wanted(expected), had(found))
}

/// The words for the type that a parser expects.
fn wanted(expected: &str) -> &str {
    match expected {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number from 0 on",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a string" | "a borrowed string" => "a text",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "a table",
        of if of.starts_with("struct ") => "a table",
        of => of,
    }
}

/// The words for the value that a parser found.
fn had(found: &str) -> String {
    let quoted = |kind: &str| {
        let value = found.strip_prefix(kind)?.strip_prefix(" `")?;
        value.strip_suffix('`')
    };
    let number = quoted("integer").or_else(|| quoted("floating point"));
    if let Some(number) = number {
        return format!("the number {number}");
    }
    if let Some(text) = found.strip_prefix("string ") {
        return format!("the text {text}");
    }
    match (quoted("boolean"), found) {
        (Some(value), _) => value.to_owned(),
        (None, "sequence") => "a list".to_owned(),
        (None, "map") => "a table".to_owned(),
        (None, "null" | "unit value") => "nothing".to_owned(),
        (None, other) => other.to_owned(),
    }
}

/// Implements the export `settings-handler` for a component whose settings have a method `judge(&self, &mut
/// Problems)`, or, after `by`, by a function of settings and problems. `$handler` is the export's module of the
/// component's bindings.
#[macro_export]
macro_rules! judges_settings {
    ($handler:ident, $component:ty, by $judge:expr) => {
        impl $handler::Guest for $component {
            fn validate_settings(settings: String) -> Result<(), Vec<$handler::SettingsError>> {
                let judged = $crate::settings::judge(&settings, $judge);
                let told = |problem: $crate::settings::Problem| $handler::SettingsError {
                    pointer: problem.pointer,
                    message: problem.message,
                };
                judged.map_err(|problems| problems.into_iter().map(told).collect())
            }
        }
    };
    ($handler:ident, $component:ty, $settings:ty) => {
        $crate::judges_settings!($handler, $component, by<$settings>::judge);
    };
}

/// Implements the export `configuration-schema` for a component with a `settings.schema.json` (a path relative to the
/// caller's file) and no secrets. `$handler` is the export's module of the component's bindings. Count the version up with
/// each change of the schema.
#[macro_export]
macro_rules! describes_settings {
    ($handler:ident, $component:ty, version $version:literal, $schema:literal) => {
        impl $handler::Guest for $component {
            fn describe() -> $handler::Description {
                $handler::Description {
                    version: $version,
                    settings_schema: include_str!($schema).to_owned(),
                    secrets: Vec::new(),
                }
            }
        }
    };
}

/// The members of a JSON object, whose keys must be known.
#[derive(Debug)]
pub struct Members<'a> {
    pointer: String,
    members: &'a Map<String, Value>,
}

impl<'a> Members<'a> {
    /// The members of `value`, which stands at `pointer`. A key that is not `known` is a problem.
    #[must_use]
    pub fn of(
        value: &'a Value,
        pointer: &str,
        known: &[&str],
        problems: &mut Problems,
    ) -> Option<Self> {
        let Some(members) = value.as_object() else {
            problems.note(
                pointer,
                format!("This must be an object with {}.", any_of(known)),
            );
            return None;
        };
        for key in members.keys().filter(|key| !known.contains(&key.as_str())) {
            problems.note(
                &join(pointer, key),
                format!("There is no setting `{key}` here: use {}.", any_of(known)),
            );
        }
        Some(Self {
            pointer: pointer.to_owned(),
            members,
        })
    }

    /// The pointer to a member.
    #[must_use]
    pub fn pointer_to(&self, name: &str) -> String {
        join(&self.pointer, name)
    }

    /// A member, if it is there and not null.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        self.members.get(name).filter(|value| !value.is_null())
    }

    /// A text. Another type is a problem.
    pub fn text(&self, name: &str, problems: &mut Problems) -> Option<&'a str> {
        let value = self.get(name)?;
        if value.as_str().is_none() {
            let message = format!("`{name}` must be a text, in quotation marks.");
            problems.note(&self.pointer_to(name), message);
        }
        value.as_str()
    }

    /// A required text.
    pub fn required_text(&self, name: &str, problems: &mut Problems) -> Option<&'a str> {
        if self.get(name).is_none() {
            problems.note(
                &self.pointer_to(name),
                format!("`{name}` is missing: add it."),
            );
        }
        self.text(name, problems)
    }

    /// True or false, `default` when it is not there. Another type is a problem.
    pub fn flag(&self, name: &str, default: bool, problems: &mut Problems) -> bool {
        let Some(value) = self.get(name) else {
            return default;
        };
        value.as_bool().unwrap_or_else(|| {
            let message = format!("`{name}` must be true or false.");
            problems.note(&self.pointer_to(name), message);
            default
        })
    }
}

/// `` `a`, `b` or `c` ``.
#[must_use]
pub fn any_of(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => "nothing".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
    }
}

/// The JSON pointer (RFC 6901) to a member or an element.
#[must_use]
pub fn join(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems_of(text: &str) -> Vec<(String, String)> {
        let value: Value = serde_json::from_str(text).unwrap();
        let mut problems = Problems::default();
        if let Some(members) = Members::of(&value, "", &["name", "strict"], &mut problems) {
            members.required_text("name", &mut problems);
            members.flag("strict", false, &mut problems);
        }
        problems
            .0
            .into_iter()
            .map(|problem| (problem.pointer, problem.message))
            .collect()
    }

    #[derive(serde::Deserialize)]
    #[serde(default, deny_unknown_fields, rename_all = "camelCase")]
    struct Times {
        first_ms: u64,
        second_ms: u64,
    }

    impl Default for Times {
        fn default() -> Self {
            Self {
                first_ms: 1,
                second_ms: 2,
            }
        }
    }

    fn judged(text: &str) -> Vec<(String, String)> {
        let in_order = |times: &Times, problems: &mut Problems| {
            if times.first_ms > times.second_ms {
                problems.note("/firstMs", "comes after the second");
            }
        };
        let problems = judge::<Times>(text, in_order).err().unwrap_or_default();
        let told = problems.into_iter().map(|p| (p.pointer, p.message));
        told.collect()
    }

    #[test]
    fn every_member_that_does_not_fit_its_type_is_named() {
        let expected = [
            (
                "/firstMs",
                "must be a whole number from 0 on, not the text \"soon\"",
            ),
            (
                "/thirdMs",
                "unknown field `thirdMs`, expected `firstMs` or `secondMs`",
            ),
        ];
        assert_eq!(
            judged(r#"{"firstMs":"soon","secondMs":9,"thirdMs":1}"#),
            expected.map(|(pointer, message)| (pointer.to_owned(), message.to_owned()))
        );
        assert_eq!(judged("[]")[0].1, "settings must be an object");
        assert_eq!(judged("{").len(), 1);
    }

    #[test]
    fn parser_errors_are_put_in_plain_words() {
        let of = |text: &str| judged(text)[0].1.clone();
        let whole = "must be a whole number from 0 on, not";
        assert_eq!(of(r#"{"firstMs":-1}"#), format!("{whole} the number -1"));
        assert_eq!(of(r#"{"firstMs":1.5}"#), format!("{whole} the number 1.5"));
        assert_eq!(of(r#"{"firstMs":true}"#), format!("{whole} true"));
        assert_eq!(of(r#"{"firstMs":[1]}"#), format!("{whole} a list"));
        assert_eq!(of(r#"{"firstMs":{}}"#), format!("{whole} a table"));
        assert_eq!(of(r#"{"firstMs":null}"#), format!("{whole} nothing"));
        // A text that looks like the parser's own words is still only a text.
        assert_eq!(
            of(r#"{"firstMs":"a, expected b"}"#),
            format!("{whole} the text \"a, expected b\"")
        );
        let other = "unknown variant `perhaps`, expected `refuse` or `allow`";
        assert_eq!(plain(other), other);
        assert_eq!(wanted("a boolean"), "true or false");
    }

    #[test]
    fn members_that_fit_are_judged_together() {
        assert_eq!(judged("{}"), []);
        assert_eq!(judged(r#"{"firstMs":2}"#), []);
        assert_eq!(
            judged(r#"{"firstMs":3}"#),
            [("/firstMs".to_owned(), "comes after the second".to_owned())]
        );
    }

    #[test]
    fn good_settings_have_no_problem() {
        assert_eq!(problems_of(r#"{"name":"a","strict":true}"#), []);
        assert_eq!(problems_of(r#"{"name":"a","strict":null}"#), []);
    }

    #[test]
    fn every_problem_is_named_by_its_place() {
        let expected = [
            (
                "/a~1b~0",
                "There is no setting `a/b~` here: use `name` or `strict`.",
            ),
            ("/name", "`name` must be a text, in quotation marks."),
            ("/strict", "`strict` must be true or false."),
        ]
        .map(|(pointer, message)| (pointer.to_owned(), message.to_owned()));
        assert_eq!(
            problems_of(r#"{"a/b~":1,"name":1,"strict":"yes"}"#),
            expected
        );
        assert_eq!(problems_of("{}")[0].1, "`name` is missing: add it.");
        assert_eq!(
            problems_of("[]"),
            [(
                String::new(),
                "This must be an object with `name` or `strict`.".to_owned()
            )]
        );
    }
}

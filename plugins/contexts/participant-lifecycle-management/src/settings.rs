//! The component's settings: which requests need a second person, and how endpoints are tried.

use crate::requests::Kind;
use rialto_sdk::settings::Problems;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The key of `approval` for all other kinds.
const DEFAULT: &str = "default";
/// The longest path.
const PATH_CHARACTERS_MAX: usize = 256;

/// How requests are approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Approval {
    /// One operator makes it, another one approves it.
    TwoOperators,
    /// Automatically, for sandboxes.
    Automatic,
}

/// Settings of the scheme's manifest for this component.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Settings {
    /// By kind of request; `default` for all others.
    pub approval: BTreeMap<String, Approval>,
    /// The path below an endpoint that is requested before the endpoint is used; empty: no request.
    pub endpoint_health_path: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            approval: BTreeMap::new(),
            endpoint_health_path: "/health".to_owned(),
        }
    }
}

impl Settings {
    /// Notes the problems of settings that could be parsed.
    pub fn judge(&self, problems: &mut Problems) {
        for kind in self.approval.keys() {
            let known = kind == DEFAULT || Kind::ALL.iter().any(|known| known.name() == kind);
            if !known {
                let names: Vec<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
                problems.note(
                    &format!("/approval/{kind}"),
                    format!(
                        "there is no such kind of request: use {}, or default for all others",
                        names.join(", ")
                    ),
                );
            }
        }
        let path = &self.endpoint_health_path;
        let fits = path.starts_with('/')
            && path.len() <= PATH_CHARACTERS_MAX
            && path.bytes().all(|byte| byte.is_ascii_graphic())
            && !path.contains(['?', '#']);
        if !(fits || path.is_empty()) {
            problems.note(
                "/endpointHealthPath",
                "it must be empty, or a path such as /health without query and fragment",
            );
        }
    }

    /// The kinds of requests with automatic approval.
    #[must_use]
    pub fn automatic(&self) -> Vec<&'static str> {
        let kinds = Kind::ALL.into_iter();
        let alone = kinds.filter(|kind| self.approval_of(*kind) == Approval::Automatic);
        alone.map(Kind::name).collect()
    }

    /// How requests of this kind are approved.
    #[must_use]
    pub fn approval_of(&self, kind: Kind) -> Approval {
        let named = self.approval.get(kind.name());
        let named = named.or_else(|| self.approval.get(DEFAULT));
        named.copied().unwrap_or(Approval::TwoOperators)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        let judged = rialto_sdk::settings::judge(text, Settings::judge);
        let problems = judged.err().unwrap_or_default();
        problems
            .into_iter()
            .map(|problem| problem.pointer)
            .collect()
    }

    #[test]
    fn settings_that_cannot_be_meant_are_refused() {
        for good in [
            "{}",
            r#"{"approval":{"default":"two-operators","funds":"automatic"}}"#,
            r#"{"endpointHealthPath":""}"#,
            r#"{"endpointHealthPath":"/alive"}"#,
        ] {
            assert_eq!(problems(good), Vec::<String>::new(), "{good}");
        }
        assert_eq!(
            problems(r#"{"approval":{"fund":"automatic"},"endpointHealthPath":"alive"}"#),
            ["/approval/fund", "/endpointHealthPath"]
        );
        assert_eq!(problems(r#"{"approval":{"funds":"one"}}"#), ["/approval"]);
    }

    #[test]
    fn a_kind_that_is_not_named_follows_the_default() {
        let settings = |text| serde_json::from_str::<Settings>(text).unwrap();
        let none = settings("{}");
        assert_eq!(none.approval_of(Kind::Funds), Approval::TwoOperators);
        let some = settings(r#"{"approval":{"default":"automatic","funds":"two-operators"}}"#);
        assert_eq!(some.approval_of(Kind::Funds), Approval::TwoOperators);
        assert_eq!(some.approval_of(Kind::State), Approval::Automatic);
        assert_eq!(some.automatic().len(), Kind::ALL.len() - 1);
        assert!(none.automatic().is_empty());
    }

    #[test]
    fn schema_describes_the_settings() {
        let schema = include_str!("../settings.schema.json");
        rialto_json_schema::settings::describes::<Settings>(schema);
        let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
        let kinds = &schema["properties"]["approval"]["propertyNames"]["enum"];
        let names = Kind::ALL.iter().map(|kind| kind.name());
        assert!(
            kinds
                .as_array()
                .unwrap()
                .iter()
                .eq([DEFAULT].into_iter().chain(names))
        );
    }
}

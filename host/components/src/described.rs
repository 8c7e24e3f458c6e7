//! What components say of their configuration, and the configuration of a whole release. The component that keeps it is
//! told in the last step of an activation.

use serde_json::Value;

pub use crate::bindings::exports::rialto::host::configuration_handler::{
    ComponentConfiguration, NeededSecret,
};
use crate::release::{BoundRule, Member, Release};
use crate::spec::Role;

/// The schema of a component that does not describe its settings.
const ANY_OBJECT: &str = r#"{"type":"object"}"#;
/// The version of a component that does not describe its settings.
const NOT_DESCRIBED: u32 = 0;
/// Most characters of a secret's name.
const SECRET_NAME_MAX: usize = 64;
/// Most secrets of a component.
const SECRETS_MAX: usize = 64;

/// What a component says of its configuration.
#[derive(Clone, Debug)]
pub struct ConfigurationDescription {
    /// From 1 on.
    pub version: u32,
    /// JSON Schema of its settings.
    pub settings_schema: String,
    /// Names and descriptions.
    pub secrets: Vec<(String, String)>,
}

impl ConfigurationDescription {
    /// What is wrong with the description; none if it can be used.
    pub(crate) fn judge(&self) -> Option<String> {
        if self.version == 0 {
            return Some("its version is 0; versions begin with 1".to_owned());
        }
        match serde_json::from_str(&self.settings_schema) {
            Ok(Value::Object(_) | Value::Bool(_)) => {}
            Ok(_) => return Some("its schema is no JSON Schema: that is an object".to_owned()),
            Err(error) => return Some(format!("its schema is not JSON: {error}")),
        }
        if self.secrets.len() > SECRETS_MAX {
            return Some(format!("it needs more than {SECRETS_MAX} secrets"));
        }
        for (at, (name, _)) in self.secrets.iter().enumerate() {
            if !is_name(name) {
                return Some(format!(
                    "it needs the secret {name:?}: a name has 1 to {SECRET_NAME_MAX} lower-case letters, digits and hyphens"
                ));
            }
            if self.secrets[..at].iter().any(|(other, _)| other == name) {
                return Some(format!("it needs the secret {name:?} twice"));
            }
        }
        None
    }
}

fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=SECRET_NAME_MAX).contains(&name.len()) && name.bytes().all(fits)
}

/// The configuration of all components of a release, in the order of their names.
pub(crate) fn configurations(release: &Release) -> Vec<ComponentConfiguration> {
    let contexts = release.members.iter();
    let contexts = contexts.filter(|member| member.role == Role::Context);
    let mut all: Vec<ComponentConfiguration> = contexts.map(of_context).collect();
    for (step, bound) in &release.steps {
        for (at, rule) in bound.iter().enumerate() {
            let same = |other: &&BoundRule| other.member == rule.member;
            let earlier = bound[..at].iter().filter(same).count();
            let name = &release.members[rule.member].identity.name;
            let name = match earlier {
                0 => format!("rule/{name}/{step}"),
                earlier => format!("rule/{name}/{step}/{}", earlier + 1),
            };
            all.push(of_rule(name, &release.members[rule.member], rule));
        }
    }
    all.sort_by(|a, b| a.component.cmp(&b.component));
    all
}

fn of_context(member: &Member) -> ComponentConfiguration {
    let described = member.configuration.as_ref();
    let secrets = described.map_or(&[][..], |said| &said.secrets);
    ComponentConfiguration {
        component: member.identity.name.to_string(),
        version: described.map_or(NOT_DESCRIBED, |said| said.version),
        settings_schema: described
            .map_or(ANY_OBJECT, |said| &said.settings_schema)
            .to_owned(),
        settings: member.identity.settings.to_string(),
        secrets: secrets
            .iter()
            .map(|(name, description)| NeededSecret {
                name: name.clone(),
                description: description.clone(),
            })
            .collect(),
    }
}

fn of_rule(component: String, member: &Member, rule: &BoundRule) -> ComponentConfiguration {
    let described = member.description.as_ref();
    ComponentConfiguration {
        component,
        version: NOT_DESCRIBED,
        settings_schema: described
            .map_or(ANY_OBJECT, |said| &said.settings_schema)
            .to_owned(),
        settings: rule.identity.settings.to_string(),
        secrets: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn description_that_cannot_be_used_is_refused_with_its_reason() {
        let of = |version, schema: &str, secrets: &[&str]| {
            let described = ConfigurationDescription {
                version,
                settings_schema: schema.to_owned(),
                secrets: secrets
                    .iter()
                    .map(|name| ((*name).to_owned(), "d".to_owned()))
                    .collect(),
            };
            described.judge().unwrap_or_default()
        };
        assert_eq!(of(1, "{}", &["api-key", "other"]), "");
        for (said, about) in [
            (of(0, "{}", &[]), "version is 0"),
            (of(1, "{", &[]), "not JSON"),
            (of(1, "[]", &[]), "no JSON Schema"),
            (of(1, "{}", &["Key"]), "\"Key\""),
            (of(1, "{}", &[""]), "1 to 64"),
            (of(1, "{}", &["a", "a"]), "twice"),
        ] {
            assert!(said.contains(about), "{said}");
        }
    }
}

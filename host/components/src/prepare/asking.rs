//! What a component says of itself before its release becomes current: its description, and whether its settings are right.

use std::sync::Arc;

use super::failures::of_memory;
use crate::described::ConfigurationDescription;
use crate::instance::Instance;
use crate::problem::{Location, Problem};
use crate::release::{Member, RuleDescription};
use crate::spec::Role;

/// Instantiate a component once and ask it to describe itself. Returns a problem if that fails.
pub(super) fn look_inside(member: &mut Member) -> Option<Problem> {
    match ask_itself(member) {
        Ok(asked) => {
            (member.description, member.openapi, member.configuration) = asked;
            let wrong = member.configuration.as_ref()?.judge()?;
            Some(Problem::new(
                "bad-description",
                Location::Component(member.identity.name.to_string()),
                format!("describes its configuration, and the description cannot be used: {wrong}"),
                "",
            ))
        }
        Err(error) => {
            let why = member.explain(&error).reason;
            Some(Problem::new(
                "fails-to-start",
                Location::Component(member.identity.name.to_string()),
                format!("fails when it is started: {why}"),
                of_memory(&why),
            ))
        }
    }
}

type SelfDescription = (
    Option<RuleDescription>,
    Option<Arc<str>>,
    Option<ConfigurationDescription>,
);

fn ask_itself(member: &Member) -> wasmtime::Result<SelfDescription> {
    let mut made = member.instantiate(&member.identity)?;
    made.call(|instance| itself(member, instance))
}

fn itself(member: &Member, instance: &mut Instance) -> wasmtime::Result<SelfDescription> {
    let openapi = match member.handlers.http {
        None => None,
        Some(_) => {
            let handler = member.http(instance)?;
            Some(handler.call_openapi(&mut instance.store)?.into())
        }
    };
    let description = match &member.handlers.rule {
        None => None,
        Some(indices) => {
            let rule = indices.load(&mut instance.store, &instance.instance)?;
            let said = rule.call_describe(&mut instance.store)?;
            Some(RuleDescription {
                name: said.name,
                version: said.version,
                summary: said.summary,
                codes: said.codes,
                settings_schema: said.settings_schema,
            })
        }
    };
    let configuration = match &member.handlers.described {
        None => None,
        Some(indices) => {
            let handler = indices.load(&mut instance.store, &instance.instance)?;
            let said = handler.call_describe(&mut instance.store)?;
            let secrets = said.secrets.into_iter();
            Some(ConfigurationDescription {
                version: said.version,
                settings_schema: said.settings_schema,
                secrets: secrets.map(|one| (one.name, one.description)).collect(),
            })
        }
    };
    Ok((description, openapi, configuration))
}

/// The problems that a component finds in its own settings. A rule has settings only at its steps; [`bind`](super::binding::bind)
/// checks these.
pub(super) fn judge_own_settings(member: &Member) -> Vec<Problem> {
    let problem = |code: &'static str, pointer: &str, what: String, help: &str| {
        let name = member.identity.name.to_string();
        Problem::new(
            code,
            Location::Settings(name, pointer.to_owned()),
            what,
            help,
        )
    };
    let Some(indices) = &member.handlers.settings else {
        let has_any = member.role == Role::Context && &*member.identity.settings != "{}";
        let unread = has_any.then(|| {
            let export = "it does not export rialto:host/settings-handler@0.1.0";
            problem(
                "needless-settings",
                "",
                format!("has settings, and takes none: {export}"),
                "remove its `settings` from scheme.toml",
            )
        });
        return unread.into_iter().collect();
    };
    let judged = member.instantiate(&member.identity).and_then(|mut made| {
        made.call(|instance| {
            let handler = indices.load(&mut instance.store, &instance.instance)?;
            handler.call_validate_settings(&mut instance.store, &member.identity.settings)
        })
    });
    match judged {
        Ok(judged) => {
            let errors = judged.err().unwrap_or_default().into_iter();
            let problems = errors.map(|e| {
                let what = format!("settings{}: {}", e.pointer, e.message);
                let help = "change it in the component's `settings` of scheme.toml";
                problem("bad-settings", &e.pointer, what, help)
            });
            problems.collect()
        }
        Err(error) => {
            let why = member.explain(&error).reason;
            let what = format!("fails when it judges its settings: {why}");
            vec![problem("fails-to-judge", "", what, of_memory(&why))]
        }
    }
}

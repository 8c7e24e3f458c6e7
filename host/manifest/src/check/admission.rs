//! Checks that an operator's document allows everything that a scheme's document asks for. A grant needs both.

use std::fmt::Display;

use super::{list, unknown};
use crate::diagnostics::{Code, Diagnostics};
use crate::document::Document;
use crate::operator::{Ceilings, GRPC, OPERATORS, Operator, OperatorFile, Surface};
use crate::scheme::{Context, Rule, Scheme, SchemeFile};
use crate::values::Name;

/// The most contexts that a message lists with their instances.
const INSTANCES_TOLD: usize = 5;

/// Check a scheme against an operator's document.
///
/// # Errors
/// With every problem that was found.
pub fn admit(operator: &Operator, scheme: &Scheme) -> Result<(), Diagnostics> {
    let mut problems = Diagnostics::default();
    admission(operator, scheme, &mut problems);
    problems.or(Some(()))
}

pub(crate) fn admission(operator: &Operator, scheme: &Scheme, problems: &mut Diagnostics) {
    let mut check = Check {
        rules: operator.document(),
        scheme: scheme.document(),
        problems,
    };
    for (name, context) in &scheme.contexts {
        check.context(name, context);
    }
    for (name, rule) in &scheme.rules {
        check.rule(name, rule);
    }
    check.instances_in_all();
}

struct Check<'a> {
    /// The operator's document.
    rules: &'a Document<OperatorFile>,
    scheme: &'a Document<SchemeFile>,
    problems: &'a mut Diagnostics,
}

impl Check<'_> {
    fn problem(&mut self, path: &str, code: Code, message: String, help: impl Into<String>) {
        self.scheme
            .problem(self.problems, path, code, message, help);
    }

    fn context(&mut self, name: &Name, context: &Context) {
        let path = format!("contexts/{name}");
        if let Some(listener) = &context.listener {
            self.listener(&path, listener);
            self.certificates(name, listener);
            self.tokens(name, listener);
        }
        let grants = &context.grants;
        self.surfaces(&path, grants.host.iter().copied());
        for (n, origin) in grants.outbound.iter().enumerate() {
            let allowed = &self.rules.value.grants.outbound;
            let covered = allowed.iter().any(|pattern| pattern.covers_pattern(origin));
            if !covered && !self.rules.is_doubtful("grants/outbound") {
                self.problem(
                    &format!("{path}/grants/outbound/{n}"),
                    Code::NotGranted,
                    format!("the operator does not allow requests to `{origin}`"),
                    "Add the origin to `grants.outbound` in rialto.toml, or leave it out here.",
                );
            }
        }
        let limits = &context.limits;
        let ceilings = self.ceilings();
        self.limit(&path, "memory", limits.memory, ceilings.memory);
        self.limit(&path, "deadline", limits.deadline, ceilings.deadline);
        self.limit(&path, "instances", limits.instances, ceilings.instances);
        if let Some(fuel) = limits.fuel {
            self.limit(&path, "fuel", fuel, ceilings.fuel);
        }
    }

    fn rule(&mut self, name: &Name, rule: &Rule) {
        let path = format!("rules/{name}");
        self.surfaces(
            &path,
            rule.grants.host.iter().map(|&surface| surface.into()),
        );
        let limits = &rule.limits;
        let ceilings = self.ceilings();
        self.limit(&path, "memory", limits.memory, ceilings.memory);
        self.limit(&path, "deadline", limits.deadline, ceilings.deadline);
        self.limit(&path, "fuel", limits.fuel, ceilings.fuel);
    }

    /// Checks the sum of all contexts' instances. With more instances than the host has room for, turns would fail.
    fn instances_in_all(&mut self) {
        let contexts = &self.scheme.value.contexts;
        let each = contexts.iter().map(|(name, context)| {
            let instances = context.limits.instances;
            (u64::from(instances), name)
        });
        let mut each: Vec<(u64, &Name)> = each.collect();
        let sum: u64 = each.iter().map(|(instances, _)| instances).sum();
        let ceiling = self.rules.value.ceilings.instances_in_all;
        if sum <= ceiling.into() || self.rules.is_repaired("ceilings/instances-in-all") {
            return;
        }
        each.sort_by_key(|(instances, name)| (std::cmp::Reverse(*instances), name.as_str()));
        let count = each.len();
        let largest: Vec<String> = each
            .iter()
            .take(INSTANCES_TOLD)
            .map(|(instances, name)| format!("{instances} of `{name}`"))
            .collect();
        let largest = largest.join(", ");
        self.problem(
            "contexts",
            Code::CeilingExceeded,
            format!(
                "{count} contexts may have {sum} instances in use together ({largest}{}), above the operator's ceiling of {ceiling}",
                if count > INSTANCES_TOLD { ", …" } else { "" }
            ),
            "Lower `limits.instances` of some here, or raise `ceilings.instances-in-all` in rialto.toml.",
        );
    }

    fn ceilings(&self) -> Ceilings {
        self.rules.value.ceilings.clone()
    }

    fn listener(&mut self, path: &str, listener: &Name) {
        if listener.as_str() == GRPC {
            self.problem(
                &format!("{path}/listener"),
                Code::BadValue,
                format!("the listener `{GRPC}` serves calls, and no HTTP"),
                "What it exports is served there when rialto.toml says so; name another listener for its HTTP API, or none.",
            );
        }
        let listeners = &self.rules.value.listeners;
        if !listeners.contains_key(listener) && !self.rules.is_dropped(listener.as_str()) {
            let known = || listeners.keys().map(Name::as_str);
            self.problem(
                &format!("{path}/listener"),
                Code::UnknownName,
                unknown("listener", listener.as_str(), known()),
                format!("The listeners in rialto.toml: {}.", list(known())),
            );
        }
    }

    /// Checks that participants can show certificates where they reach a context.
    fn certificates(&mut self, context: &Name, listener: &Name) {
        let fsps = self.scheme.value.authentication.fsps;
        if listener.as_str() == OPERATORS || !fsps.needs_certificate() {
            return;
        }
        let Some(found) = self.rules.value.listeners.get(listener) else {
            return;
        };
        let knows_clients = found
            .tls
            .as_ref()
            .is_some_and(|tls| tls.client_ca.is_some() || !tls.participants.is_empty());
        if knows_clients || self.rules.is_doubtful(&format!("listeners/{listener}/tls")) {
            return;
        }
        self.problem(
            "authentication/fsps",
            Code::NotGranted,
            format!(
                "`{}` needs client certificates, and the listener `{listener}` of the context `{context}` has no authority for them",
                fsps.name()
            ),
            format!("Give `listeners.{listener}.tls` a `client-ca` in rialto.toml."),
        );
    }

    /// Checks that nobody reads the tokens of participants on their way to a context.
    fn tokens(&mut self, context: &Name, listener: &Name) {
        let fsps = self.scheme.value.authentication.fsps;
        if listener.as_str() == OPERATORS || !fsps.needs_token() {
            return;
        }
        let Some(found) = self.rules.value.listeners.get(listener) else {
            return;
        };
        let path = format!("listeners/{listener}");
        let is_doubtful = ["tls", "plaintext-tokens"]
            .iter()
            .any(|key| self.rules.is_doubtful(&format!("{path}/{key}")));
        if found.tls.is_some() || found.plaintext_tokens == Some(true) || is_doubtful {
            return;
        }
        self.problem(
            "authentication/fsps",
            Code::NotGranted,
            format!(
                "`{}` needs access tokens, and the listener `{listener}` of the context `{context}` has no TLS: whoever reads a connection could use its tokens",
                fsps.name()
            ),
            format!("Give `listeners.{listener}` a `tls` in rialto.toml, or say `plaintext-tokens = true` there if a proxy before it has TLS."),
        );
    }

    fn surfaces(&mut self, path: &str, surfaces: impl Iterator<Item = Surface>) {
        for (n, surface) in surfaces.enumerate() {
            let granted = self.rules.value.grants.host.contains(&surface);
            if !granted && !self.rules.is_doubtful("grants/host") {
                self.problem(
                    &format!("{path}/grants/host/{n}"),
                    Code::NotGranted,
                    format!("the operator does not grant `{}`", surface.name()),
                    "Add it to `grants.host` in rialto.toml, or leave it out here.",
                );
            }
            let without = self.rules.value.keys.providers.is_empty();
            if surface == Surface::Keys && without && !self.rules.is_doubtful("keys") {
                self.problem(
                    &format!("{path}/grants/host/{n}"),
                    Code::NotGranted,
                    "the operator's document has no provider of keys".to_owned(),
                    "Add `[keys]` with a `master-key` and a provider to rialto.toml, or leave `keys` out here.",
                );
            }
        }
    }

    fn limit<T: PartialOrd + Display>(&mut self, path: &str, key: &str, limit: T, ceiling: T) {
        if limit <= ceiling || self.rules.is_repaired(&format!("ceilings/{key}")) {
            return;
        }
        let path = format!("{path}/limits/{key}");
        let which = if self.scheme.is_written(&path) {
            ""
        } else {
            " (the default)"
        };
        self.problem(
            &path,
            Code::CeilingExceeded,
            format!("`{key}` is {limit}{which}, above the operator's ceiling of {ceiling}"),
            format!("Lower it here, or raise `ceilings.{key}` in rialto.toml."),
        );
    }
}

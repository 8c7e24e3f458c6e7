//! What a component's imports are linked to.

use wasmtime::component::types::Type;

use super::{READ, READ_SECRET, Target, Wirer, secrets_handler};
use crate::introspect::{Function, Interface};
use crate::names::{CHECK_FUNCTION, COUNTERS_FUNCTION, InterfaceName, grant_covers};
use crate::problem::Location;
use crate::spec::{ComponentSpec, Role};
use crate::surfaces::{RULE_SURFACES, SECRETS, SURFACES};
use crate::wasi::{self, Needs};

impl Wirer<'_> {
    pub(super) fn target(
        &mut self,
        component: &ComponentSpec,
        import: &Interface,
    ) -> Option<Target> {
        if import.name.is_wasi() {
            return self.wasi(component, import);
        }
        if import.name.is_host() {
            return self.surface(component, import);
        }
        if component.role == Role::Rule {
            self.problem("rule-imports", Location::Component(component.name.to_string()), format!("is a rule and imports {}", import.name),
                "a rule sees its input and its settings; it imports `configuration`, `logging` and `trace` at most".into(),
            );
            return None;
        }
        if let Some(bad) = import.functions.iter().find(|f| !f.is_plain()) {
            self.problem("not-plain", Location::Component(component.name.to_string()), format!(
                    "imports {}, whose function `{}` is async or takes resources, streams or futures",
                    import.name, bad.name
                ),
                "between components only plain values cross".into(),
            );
            return None;
        }
        if let Some(step) = import.name.counters_of() {
            return self.counters(component, import, &step);
        }
        if import.name.is_rules() {
            return self.step(component, import);
        }
        if import.is_event() {
            self.event(component, import)
        } else if import.is_call() {
            self.call(component, import)
        } else {
            self.problem(
                "mixed-interface",
                Location::Component(component.name.to_string()),
                format!(
                    "imports {}, which has functions with and without a result",
                    import.name
                ),
                "an interface is either of events (no results) or of calls (results)".into(),
            );
            None
        }
    }

    /// WASI gives nothing, except clock and randomness of its turn to a context. A context needs the same grants
    /// for these as for the host's surfaces.
    fn wasi(&mut self, component: &ComponentSpec, import: &Interface) -> Option<Target> {
        match wasi::needs(&import.name) {
            Needs::Nothing => Some(Target::Wasi),
            Needs::Grant(_) if component.role == Role::Rule => Some(Target::Wasi),
            Needs::Grant(surface) if component.grants.host.iter().any(|g| g == surface) => {
                Some(Target::Wasi)
            }
            Needs::Grant(surface) => {
                self.not_granted(component, &import.name, "host", surface);
                None
            }
            Needs::Refused => {
                self.problem("no-such-import", Location::Component(component.name.to_string()), format!("imports {}, which this host does not have", import.name),
                    "of WASI there are cli, clocks, filesystem, io and random, in their versions 0.2; a context sends requests with `rialto:host/http`".into(),
                );
                None
            }
        }
    }

    fn surface(&mut self, component: &ComponentSpec, import: &Interface) -> Option<Target> {
        let surface = import.name.interface.as_str();
        if !SURFACES.contains(&surface) {
            self.problem(
                "no-such-import",
                Location::Component(component.name.to_string()),
                format!("imports {}, which this host does not have", import.name),
                format!("the surfaces are {}", SURFACES.join(", ")),
            );
            return None;
        }
        if component.role == Role::Rule && !RULE_SURFACES.contains(&surface) {
            self.problem("rule-imports", Location::Component(component.name.to_string()), format!("is a rule and imports {}", import.name),
                "a verdict depends on the rule's input and settings alone: only `configuration`, `logging` and `trace` can be had".into(),
            );
            return None;
        }
        if !component.grants.host.iter().any(|grant| grant == surface) {
            self.not_granted(component, &import.name, "host", surface);
            return None;
        }
        if surface == SECRETS {
            return self.secrets(component, import);
        }
        Some(Target::Surface)
    }

    /// The component that keeps secrets for others.
    fn secrets(&mut self, component: &ComponentSpec, import: &Interface) -> Option<Target> {
        let location = Location::Component(component.name.to_string());
        let name = &import.name;
        let handler = secrets_handler(name);
        let provider = match self.exporters(&handler)[..] {
            [provider] => provider,
            [] => {
                let what = format!("imports {name}, and nobody exports {handler}");
                let help = "add the context that keeps secrets to the scheme";
                self.problem("no-provider", location, what, help.into());
                return None;
            }
            _ => {
                let what = format!("imports {name}, and several components export {handler}");
                let help = "leave the others out of the scheme";
                self.problem("several-providers", location, what, help.into());
                return None;
            }
        };
        let mut exports = self.shapes[provider].exports.iter();
        let answers = exports.find(|export| export.name == handler);
        let answers = answers.and_then(|export| export.function(READ_SECRET));
        let fits = answers.is_some_and(|answers| {
            matches!(&import.functions[..], [read] if read.name == READ && read.results == answers.results
                && matches!((&read.params[..], &answers.params[..]), ([(_, name)], [(_, owner @ Type::String), (_, other)]) if name == owner && name == other))
        });
        if !fits {
            let what = format!("imports {name}, which does not fit {handler}");
            let help = "build both against the same wit/";
            self.problem("types-differ", location, what, help.into());
            return None;
        }
        Some(Target::Secrets(provider))
    }

    fn not_granted(
        &mut self,
        component: &ComponentSpec,
        interface: &InterfaceName,
        list: &'static str,
        grant: &str,
    ) {
        self.problem(
            "not-granted",
            Location::Grants(component.name.to_string(), list),
            format!("imports {interface} and is not granted it"),
            format!(
                "add \"{grant}\" to its `grants.{list}`, or use a component without this import"
            ),
        );
    }

    fn granted(
        &mut self,
        component: &ComponentSpec,
        import: &Interface,
        list: &'static str,
    ) -> bool {
        let grants = match list {
            "calls" => &component.grants.calls,
            "publishes" => &component.grants.publishes,
            _ => &component.grants.rules,
        };
        let short = match list {
            "rules" => import.name.interface.clone(),
            _ => import.name.short(),
        };
        let granted = grants.iter().any(|grant| grant_covers(grant, &short));
        if !granted {
            self.not_granted(component, &import.name, list, &short);
        }
        granted
    }

    fn step(&mut self, component: &ComponentSpec, import: &Interface) -> Option<Target> {
        let has_check = import.functions.len() == 1
            && import.functions[0].name == CHECK_FUNCTION
            && import.functions[0].params.len() == 2
            && import.functions[0].results.len() == 1;
        if !has_check {
            self.problem(
                "no-step",
                Location::Component(component.name.to_string()),
                format!("imports {}, which is no step", import.name),
                "a step has one function: check: func(subject: string, input: …) -> verdict".into(),
            );
            return None;
        }
        self.granted(component, import, "rules")
            .then_some(Target::Step)
    }

    /// The counters of a step. Who may ask a step may ask for its counters.
    fn counters(
        &mut self,
        component: &ComponentSpec,
        import: &Interface,
        step: &str,
    ) -> Option<Target> {
        let asks = matches!(&import.functions[..], [one] if one.name == COUNTERS_FUNCTION
            && one.params.is_empty() && matches!(&one.results[..], [Type::List(_)]));
        if !asks {
            self.problem(
                "no-step",
                Location::Component(component.name.to_string()),
                format!("imports {}, which does not ask for counters", import.name),
                "such an interface has one function: counters: func() -> list<…>".into(),
            );
            return None;
        }
        let granted = component.grants.rules.iter();
        if !granted.clone().any(|grant| grant_covers(grant, step)) {
            self.not_granted(component, &import.name, "rules", step);
            return None;
        }
        Some(Target::Counters(step.into()))
    }

    fn event(&mut self, component: &ComponentSpec, import: &Interface) -> Option<Target> {
        if !self.granted(component, import, "publishes") {
            return None;
        }
        let subscribers = self.exporters(&import.name);
        if subscribers.is_empty() {
            let what = format!("publishes {}, which nobody consumes", import.name);
            let help = self.nearest(&import.name);
            self.problem(
                "no-subscriber",
                Location::Component(component.name.to_string()),
                what,
                help,
            );
            return None;
        }
        for &subscriber in &subscribers {
            self.same_types(component, import, subscriber);
        }
        Some(Target::Subscribers(subscribers))
    }

    fn call(&mut self, component: &ComponentSpec, import: &Interface) -> Option<Target> {
        if !self.granted(component, import, "calls") {
            return None;
        }
        match self.exporters(&import.name)[..] {
            [] => {
                let what = format!("imports {}, which nobody exports", import.name);
                let help = self.nearest(&import.name);
                self.problem(
                    "no-provider",
                    Location::Component(component.name.to_string()),
                    what,
                    help,
                );
                None
            }
            [provider] => {
                self.same_types(component, import, provider);
                Some(Target::Provider(provider))
            }
            ref several => {
                let names: Vec<&str> = several
                    .iter()
                    .map(|&at| &*self.spec.components[at].name)
                    .collect();
                self.problem(
                    "several-providers",
                    Location::Component(component.name.to_string()),
                    format!(
                        "imports {}, which {} export",
                        import.name,
                        names.join(" and ")
                    ),
                    "a call interface has one provider: leave the others out of the scheme".into(),
                );
                None
            }
        }
    }

    /// Contexts that export an interface.
    fn exporters(&self, name: &InterfaceName) -> Vec<usize> {
        let found = self.exporters.get(&name.to_string());
        found.cloned().unwrap_or_default()
    }

    /// A hint for an interface that no component exports: perhaps one exports another version.
    fn nearest(&self, name: &InterfaceName) -> String {
        let same = |export: &&Interface| {
            export.name.package == name.package && export.name.interface == name.interface
        };
        let other = self
            .shapes
            .iter()
            .zip(&self.spec.components)
            .find_map(|(shape, c)| Some((c, shape.exports.iter().find(same)?)));
        match other {
            Some((c, export)) => format!("`{}` exports {}: another version", c.name, export.name),
            None => "add the context that exports it to the scheme".into(),
        }
    }

    fn same_types(&mut self, component: &ComponentSpec, import: &Interface, exporter: usize) {
        let name = import.name.to_string();
        let exporter_name = self.spec.components[exporter].name.clone();
        let mut exports = self.shapes[exporter].exports.iter();
        let Some(export) = exports.find(|e| e.name.to_string() == name) else {
            return;
        };
        for function in &import.functions {
            let what = match export.function(&function.name) {
                Some(other) if other.fits(function) => continue,
                Some(other) => differing(function, other),
                None => format!("`{}` is not there", function.name),
            };
            self.problem("types-differ", Location::Component(component.name.to_string()), format!("imports {name}, and what `{exporter_name}` exports under this name differs: {what}"),
                "build both against the same wit/".into(),
            );
        }
    }
}

/// The first difference between two functions of one name.
pub(super) fn differing(wanted: &Function, found: &Function) -> String {
    for ((name, ty), (other_name, other)) in wanted.params.iter().zip(&found.params) {
        if name != other_name || ty != other {
            return format!(
                "`{}` takes {name}: {}, not {other_name}: {}",
                wanted.name,
                shorten(&crate::values::describe(ty)),
                shorten(&crate::values::describe(other))
            );
        }
    }
    format!(
        "`{}` is {}, not {}",
        wanted.name,
        shorten(&wanted.signature()),
        shorten(&found.signature())
    )
}

fn shorten(text: &str) -> String {
    const CHARS_MAX: usize = 160;
    let mut short: String = text.chars().take(CHARS_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

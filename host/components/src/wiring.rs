//! The wiring of a release: which import of which component is linked to what. It is computed from the
//! components' own types and their grants, before anything runs. Components that do not fit are refused.

mod circles;
mod imports;
mod steps;

use std::collections::HashMap;

use rialto_engine::Name;

use crate::introspect::{Interface, Shape};
use crate::names::{InterfaceName, RULE_INTERFACE};
pub use crate::problem::{Bound, Location, Part, Problem};
use crate::spec::{ComponentSpec, ReleaseSpec, Role};

/// The function of the surface `secrets`.
pub const READ: &str = "read";
/// The function that answers it.
pub const READ_SECRET: &str = "read-secret";

/// The interface of the component that keeps secrets for others.
#[must_use]
pub fn secrets_handler(surface: &InterfaceName) -> InterfaceName {
    InterfaceName {
        interface: "secrets-handler".to_owned(),
        ..surface.clone()
    }
}

/// What an import is linked to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A surface of the host.
    Surface,
    /// The surface `secrets`: calls to the component with this index, with the name of the one that imports.
    Secrets(usize),
    /// WASI: see [`crate::wasi`].
    Wasi,
    /// Calls to the component with this index.
    Provider(usize),
    /// Events to the components with these indexes.
    Subscribers(Vec<usize>),
    /// The rules that the release binds to this step.
    Step,
    /// The counters that these rules need: the step.
    Counters(Name),
}

/// One import of one component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The index of the component that imports.
    pub importer: usize,
    /// The interface.
    pub interface: InterfaceName,
    /// What it is linked to.
    pub target: Target,
}

/// The wiring of a release.
#[derive(Clone, Debug, Default)]
pub struct Wiring {
    /// In the order of components and of their imports.
    pub links: Vec<Link>,
    /// Exported events that no component of the release publishes. That is allowed, and reported.
    pub unheard: Vec<(usize, InterfaceName)>,
}

struct Wirer<'a> {
    spec: &'a ReleaseSpec,
    shapes: &'a [Shape],
    /// The components that export an interface, by its full name.
    exporters: HashMap<String, Vec<usize>>,
    problems: Vec<Problem>,
    wiring: Wiring,
}

/// Link the imports of all components.
///
/// # Errors
/// All problems at once.
pub fn wire(spec: &ReleaseSpec, shapes: &[Shape]) -> Result<Wiring, Vec<Problem>> {
    let mut exporters: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, shape) in shapes.iter().enumerate() {
        for export in &shape.exports {
            exporters
                .entry(export.name.to_string())
                .or_default()
                .push(at);
        }
    }
    let mut wirer = Wirer {
        spec,
        shapes,
        exporters,
        problems: Vec::new(),
        wiring: Wiring::default(),
    };
    for at in 0..shapes.len() {
        wirer.component(at);
    }
    wirer.steps();
    wirer.cycles();
    wirer.unheard();
    if wirer.problems.is_empty() {
        Ok(wirer.wiring)
    } else {
        wirer.problems.sort();
        Err(wirer.problems)
    }
}

impl Wirer<'_> {
    fn problem(&mut self, code: &'static str, location: Location, what: String, help: String) {
        self.problems.push(Problem::new(code, location, what, help));
    }

    fn component(&mut self, at: usize) {
        let component = &self.spec.components[at];
        let shape = &self.shapes[at];
        for name in &shape.strange_imports {
            self.problem(
                "strange-import",
                Location::Component(component.name.to_string()),
                format!("imports `{name}`, which is no interface"),
                "components import interfaces such as `rialto:host/storage`".into(),
            );
        }
        for import in &shape.imports {
            let target = self.target(component, import);
            if let Some(target) = target {
                self.wiring.links.push(Link {
                    importer: at,
                    interface: import.name.clone(),
                    target,
                });
            }
        }
        match component.role {
            Role::Context => self.context(component, shape),
            Role::Rule => self.rule(component, shape),
        }
    }

    fn context(&mut self, component: &ComponentSpec, shape: &Shape) {
        let pairs = [
            ("http", "http-report-handler", "sends requests"),
            ("scheduling", "reminder-handler", "sets reminders"),
        ];
        for (surface, handler, does) in pairs {
            if shape.imports_host(surface) && !shape.exports_host(handler) {
                self.problem(
                    "no-handler",
                    Location::Component(component.name.to_string()),
                    format!("{does} and does not export rialto:host/{handler}"),
                    format!("add `export rialto:host/{handler}@0.1.0;` to its world"),
                );
            }
        }
        match (shape.exports_host("http-handler"), &component.listener) {
            (true, None) => self.problem(
                "no-listener",
                Location::Component(component.name.to_string()),
                "serves HTTP and has no listener".into(),
                "name one of rialto.toml's listeners with `listener = \"…\"`".into(),
            ),
            (false, Some(listener)) => self.problem(
                "no-http",
                Location::Listener(component.name.to_string()),
                format!("has the listener `{listener}` and serves no HTTP"),
                "leave `listener` out, or export rialto:host/http-handler@0.1.0".into(),
            ),
            _ => {}
        }
    }

    fn rule(&mut self, component: &ComponentSpec, shape: &Shape) {
        let is_rule = |i: &&Interface| i.name.is_rules() && i.name.interface == RULE_INTERFACE;
        if !shape.exports.iter().any(|i| is_rule(&i)) {
            self.problem(
                "no-rule",
                Location::Component(component.name.to_string()),
                "is no rule: it does not export rialto:rules/rule".into(),
                "build it against one of the worlds of wit/rules".into(),
            );
        }
    }

    /// Find exported events that no component publishes.
    fn unheard(&mut self) {
        for (at, shape) in self.shapes.iter().enumerate() {
            let events = shape.exports.iter().filter(|e| {
                !e.name.is_host() && !e.name.is_rules() && !e.name.is_wasi() && e.is_event()
            });
            for event in events {
                let mut imports = self.shapes.iter().flat_map(|shape| &shape.imports);
                if !imports.any(|import| import.name == event.name) {
                    self.wiring.unheard.push((at, event.name.clone()));
                }
            }
        }
    }
}

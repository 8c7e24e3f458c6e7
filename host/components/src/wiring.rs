//! The wiring of a release: which import of which component is linked to what. It is computed from the
//! components' own types and their grants, before anything runs. Components that do not fit are refused.

use std::collections::{BTreeMap, HashMap, VecDeque};

use rialto_engine::Name;
use wasmtime::component::types::Type;

use crate::introspect::{Function, Interface, Shape};
use crate::names::{
    CHECK_FUNCTION, COUNTERS_FUNCTION, InterfaceName, RULE_INTERFACE, grant_covers,
};
pub use crate::problem::{Bound, Location, Part, Problem};
use crate::spec::{ComponentSpec, ReleaseSpec, Role};
use crate::steps::{
    COUNTS, Fit, asks_counters, is_of_the_future, members, newest_known, says_counters, served,
};
use crate::surfaces::{RULE_SURFACES, SECRETS, SURFACES};
use crate::wasi::{self, Needs};

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

impl<'a> Wirer<'a> {
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

    fn target(&mut self, component: &ComponentSpec, import: &Interface) -> Option<Target> {
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
                && matches!((&read.params[..], &answers.params[..]), ([(_, name)], [(_, owner), (_, other)]) if name == owner && name == other))
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

    /// Check that each bound rule exports its step, and that a component asks each step.
    fn steps(&mut self) {
        let mut asked: BTreeMap<String, Asker<'a>> = BTreeMap::new();
        for (component, shape) in self.spec.components.iter().zip(self.shapes) {
            for import in shape.imports.iter().filter(|i| i.name.is_rules()) {
                if let Some(check) = import.function(CHECK_FUNCTION) {
                    let counters = asks_counters(shape, &import.name.interface);
                    let asker = Asker {
                        component,
                        question: import,
                        check,
                        counters,
                    };
                    // The newest question decides which rules fit.
                    let known = asked.get(&import.name.interface);
                    if known.is_none_or(|known| known.question.is_older_than(import)) {
                        asked.insert(import.name.interface.clone(), asker);
                    }
                }
            }
        }
        for (at, bound) in self.spec.steps.iter().enumerate() {
            let binding = || self.spec.bound(at);
            let asked_by = asked.get(&*bound.step);
            if asked_by.is_none() && !self.spec.has_rules_alone {
                let known: Vec<&str> = asked.keys().map(String::as_str).collect();
                let help = format!("the contexts of this scheme ask {}", known.join(", "));
                self.problem(
                    "step-unasked",
                    Location::Bound(binding(), Part::Step),
                    "is asked by no context".into(),
                    help,
                );
                continue;
            }
            let shadow = bound.shadow.as_ref();
            let candidate = shadow.map(|shadow| (&shadow.rule, Part::Shadow));
            let canary = bound.canary.as_ref();
            let candidate = candidate.or_else(|| canary.map(|canary| (&canary.rule, Part::Canary)));
            for (rule, part) in [Some((&bound.rule, Part::Rule)), candidate]
                .into_iter()
                .flatten()
            {
                self.rule_at_step(at, (rule, part), asked_by.copied());
            }
        }
    }

    /// Check that a rule that is bound to a step exports it, with the types with which it is asked.
    fn rule_at_step(
        &mut self,
        at: usize,
        (rule, part): (&Name, Part),
        asked_by: Option<Asker<'_>>,
    ) {
        let bound = &self.spec.steps[at];
        let location = || Location::Bound(self.spec.bound(at), part.clone());
        let mut rules = self.spec.components.iter().zip(self.shapes);
        let found = rules.find(|(c, _)| c.role == Role::Rule && c.name == *rule);
        let Some((_, shape)) = found else {
            let what = "there is no such rule".to_owned();
            let help = "add it under [rules]".into();
            return self.problem("rule-unknown", location(), what, help);
        };
        let question = asked_by.map(|asker| asker.question);
        let export = served(shape, &bound.step, question);
        let answer = export.and_then(|e| Some((&e.name.version, e.function(CHECK_FUNCTION)?)));
        let Some((version, answer)) = answer else {
            return self.problem(
                "rule-elsewhere",
                location(),
                "does not serve this step".to_owned(),
                format!("a rule for it exports rialto:rules/{}", bound.step),
            );
        };
        if is_of_the_future(version, question) {
            let known = newest_known(question);
            let what = format!(
                "`{rule}` is built for {version} of the contracts, and {known} is the newest that is known"
            );
            let help = "build it against the contracts of this host: `rialto wit` writes them";
            return self.problem("of-the-future", location(), what, help.into());
        }
        let Some(asker) = asked_by else {
            return;
        };
        let (name, check) = (&asker.component.name, asker.check);
        match Fit::of(answer, check) {
            Fit::Serves => {}
            Fit::Needs(needed) => {
                let what = format!(
                    "`{rule}` needs {} in the input, which `{name}` does not give",
                    needed.join(", ")
                );
                let help = format!("use a newer `{name}`, or an older version of the rule");
                return self.problem("needs-more", location(), what, help);
            }
            Fit::Differs => {
                let what = format!(
                    "`{name}` asks otherwise than `{rule}` answers: {}",
                    differing(check, answer)
                );
                let help = "build both against the same wit/".into();
                return self.problem("types-differ", location(), what, help);
            }
        }
        let takes_counts = members(answer).iter().any(|(name, _)| name == COUNTS);
        let Some((_, says)) = says_counters(shape).filter(|_| takes_counts) else {
            return;
        };
        let fits = asker.counters.map(|asks| asks.results == says.results);
        if fits != Some(true) {
            let what = match fits {
                None => format!("`{rule}` needs counters, and `{name}` does not ask for them"),
                _ => format!("`{rule}` has other counters than `{name}` keeps"),
            };
            let help = "build both against the same wit/".into();
            self.problem("no-counters", location(), what, help);
        }
    }

    /// Refuse components that call each other in a circle. Each call keeps an instance until it ends, so under load
    /// all instances would wait for one another.
    fn cycles(&mut self) {
        let mut calls = vec![Vec::new(); self.shapes.len()];
        for link in &self.wiring.links {
            if let Target::Provider(provider) | Target::Secrets(provider) = link.target {
                calls[link.importer].push(provider);
            }
        }
        for (at, component) in self.spec.components.iter().enumerate() {
            let Some(circle) = circle(&calls, at) else {
                continue;
            };
            // A circle is reported once, by its first component.
            if circle.iter().any(|&other| other < at) {
                continue;
            }
            let mut names: Vec<&str> = circle
                .iter()
                .map(|&other| &*self.spec.components[other].name)
                .collect();
            names.push(&component.name);
            self.problem(
                "circle",
                Location::Component(component.name.to_string()),
                format!("calls itself in a circle: {}", names.join(" → ")),
                "let one of them publish an event instead of calling".into(),
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

/// The component that asks a step, and how.
#[derive(Clone, Copy)]
struct Asker<'a> {
    component: &'a ComponentSpec,
    question: &'a Interface,
    check: &'a Function,
    /// How it asks for the step's counters, if it does.
    counters: Option<&'a Function>,
}

/// The shortest circle of calls from a component back to itself.
fn circle(calls: &[Vec<usize>], start: usize) -> Option<Vec<usize>> {
    let mut came_from: Vec<Option<usize>> = vec![None; calls.len()];
    let mut waiting = VecDeque::from([start]);
    while let Some(at) = waiting.pop_front() {
        if calls[at].contains(&start) {
            let mut way = vec![at];
            while let Some(before) = way.last().and_then(|&last| came_from[last]) {
                way.push(before);
            }
            way.reverse();
            return Some(way);
        }
        for &next in &calls[at] {
            if next != start && came_from[next].is_none() {
                came_from[next] = Some(at);
                waiting.push_back(next);
            }
        }
    }
    None
}

/// The first difference between two functions of one name.
fn differing(wanted: &Function, found: &Function) -> String {
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

//! The wiring of a release, as people look at it: its components, what they call and publish, and the rules at each step.

use rialto_components::wiring::{Link, Target};
use rialto_components::{Digest, Member, Release, Role};
use serde::{Deserialize, Serialize};

/// The wiring of a release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownWiring {
    /// The release.
    pub release: u64,
    /// Its contexts, by name.
    pub contexts: Vec<WiredComponent>,
    /// Its rules, by name.
    pub rules: Vec<WiredComponent>,
    /// What contexts call, publish and ask, and of whom.
    pub links: Vec<WiredLink>,
    /// The rules at each step, in the order in which they are asked; by step.
    pub steps: Vec<WiredStep>,
    /// Events that a context takes and none of this release publishes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unheard: Vec<UnheardEvent>,
}

/// A component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WiredComponent {
    /// Its name in the scheme.
    pub name: String,
    /// The digest of its bytes.
    pub digest: Digest,
    /// The listener on which it serves HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listener: Option<String>,
    /// The host's surfaces that it uses.
    pub host: Vec<String>,
    /// A rule's own version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// The kind of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkKind {
    /// Calls, which are answered.
    Call,
    /// Events, which are delivered.
    Event,
    /// Secrets, which the other component keeps.
    Secrets,
    /// The rules of a step are asked.
    Step,
    /// The counters that the rules of a step need.
    Counters,
}

/// A link between two components, or of a component to a step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WiredLink {
    /// The component that calls, publishes or asks.
    pub from: String,
    /// The component that is called or told, or the step.
    pub to: String,
    /// The kind.
    pub kind: LinkKind,
    /// The interface.
    pub interface: String,
}

/// A step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WiredStep {
    /// Its name.
    pub step: String,
    /// Its rules, in the order in which they are asked.
    pub rules: Vec<WiredRule>,
}

/// A rule at a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WiredRule {
    /// Its name in the scheme.
    pub rule: String,
    /// From when on it is asked; milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_from: Option<u64>,
    /// From when on it is not asked any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_until: Option<u64>,
    /// The candidate that decides about some requests in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary: Option<String>,
    /// The candidate that judges in its shadow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shadow: Option<String>,
}

/// An event that nobody publishes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnheardEvent {
    /// The component that takes it.
    pub component: String,
    /// The event's interface.
    pub interface: String,
}

impl ShownWiring {
    /// The wiring of a release.
    #[must_use]
    pub fn of(release: &Release) -> Self {
        let name = |at: usize| release.members.get(at).map_or_else(String::new, named);
        let with_role = |role: Role| {
            let members = release.members.iter().enumerate();
            let members = members.filter(|(_, member)| member.role == role);
            let mut all: Vec<_> = members
                .map(|(at, member)| component(release, at, member))
                .collect();
            all.sort_by(|a, b| a.name.cmp(&b.name));
            all
        };
        let links = release.wiring.links.iter();
        let mut links: Vec<_> = links.flat_map(|link| wired(link, &name)).collect();
        links.sort_unstable();
        links.dedup();
        let mut steps: Vec<_> = release
            .steps
            .iter()
            .map(|(step, rules)| {
                let candidate =
                    |bound: &rialto_components::release::BoundRule| bound.identity.name.to_string();
                let rules = rules.iter().map(|bound| WiredRule {
                    rule: bound.identity.name.to_string(),
                    effective_from: bound.effective.from,
                    effective_until: bound.effective.until,
                    canary: bound.canary.as_ref().map(|canary| candidate(&canary.bound)),
                    shadow: bound.shadow.as_ref().map(|shadow| candidate(&shadow.bound)),
                });
                WiredStep {
                    step: step.to_string(),
                    rules: rules.collect(),
                }
            })
            .collect();
        steps.sort_by(|a, b| a.step.cmp(&b.step));
        let unheard = release.wiring.unheard.iter();
        let unheard = unheard.map(|(at, interface)| UnheardEvent {
            component: name(*at),
            interface: interface.short(),
        });
        Self {
            release: release.number,
            contexts: with_role(Role::Context),
            rules: with_role(Role::Rule),
            links,
            steps,
            unheard: unheard.collect(),
        }
    }
}

fn named(member: &Member) -> String {
    member.identity.name.to_string()
}

fn component(release: &Release, at: usize, member: &Member) -> WiredComponent {
    let surfaces = release.wiring.links.iter().filter(|link| {
        link.importer == at && matches!(link.target, Target::Surface | Target::Secrets(_))
    });
    let mut host: Vec<String> = surfaces
        .map(|link| link.interface.interface.clone())
        .collect();
    host.sort_unstable();
    host.dedup();
    WiredComponent {
        name: named(member),
        digest: member.digest,
        listener: member.listener.as_ref().map(ToString::to_string),
        host,
        version: member.description.as_ref().map(|said| said.version.clone()),
    }
}

/// The links of one import. What the host itself provides is none.
fn wired(link: &Link, name: &impl Fn(usize) -> String) -> Vec<WiredLink> {
    let to = |to: String, kind: LinkKind| WiredLink {
        from: name(link.importer),
        to,
        kind,
        interface: link.interface.short(),
    };
    match &link.target {
        Target::Surface | Target::Wasi => Vec::new(),
        Target::Secrets(at) => vec![to(name(*at), LinkKind::Secrets)],
        Target::Provider(at) => vec![to(name(*at), LinkKind::Call)],
        Target::Subscribers(all) => {
            let all = all.iter().map(|at| to(name(*at), LinkKind::Event));
            all.collect()
        }
        Target::Step => vec![to(link.interface.interface.clone(), LinkKind::Step)],
        Target::Counters(step) => vec![to(step.to_string(), LinkKind::Counters)],
    }
}

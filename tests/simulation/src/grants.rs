//! The scheme's grants to components, from its text, and their use by turns.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use rialto_engine::history::{Kind, Record, Step};
use rialto_engine::network::OutboundRequest;
use serde::Deserialize;

use crate::problem::{AUTHORITY, Problem};

/// What one component was granted.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Granted {
    host: Vec<String>,
    calls: Vec<String>,
    publishes: Vec<String>,
    rules: Vec<String>,
}

/// See the module's documentation.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    contexts: BTreeMap<String, Granted>,
    destinations: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Scheme {
    contexts: BTreeMap<String, Context>,
    participants: Vec<Participant>,
}

#[derive(Deserialize)]
struct Context {
    #[serde(default)]
    grants: Granted,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Participant {
    callback_base_url: String,
}

impl Grants {
    /// Those of this scheme.toml.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(scheme: &str) -> Result<Self> {
        let scheme: Scheme = toml::from_str(scheme).context("reading what scheme.toml grants")?;
        let contexts = scheme.contexts.into_iter();
        let participants = scheme.participants.into_iter();
        Ok(Self {
            contexts: contexts.map(|(name, c)| (name, c.grants)).collect(),
            destinations: participants.map(|p| p.callback_base_url).collect(),
        })
    }

    /// An action of a turn without a grant.
    pub fn turn(&self, record: &Record) -> Vec<Problem> {
        if record.kind == Kind::Activation {
            return Vec::new(); // of all components that want one; no single one's authority
        }
        // A turn is its component's and that of those which it called.
        let mut acting = vec![&*record.component];
        for step in &record.steps {
            if let Step::Called { component, .. } = step {
                acting.push(component);
            }
        }
        let may = |list: fn(&Granted) -> &Vec<String>, name: &dyn Fn(&str) -> bool| {
            let granted = acting.iter().filter_map(|name| self.contexts.get(*name));
            granted.flat_map(list).any(|grant| name(grant))
        };
        let mut problems = Vec::new();
        for step in &record.steps {
            let allowed = match step {
                Step::Called { function, .. } => may(|g| &g.calls, &|grant| grant == &**function),
                Step::Published { event, .. } => may(|g| &g.publishes, &|grant| {
                    let (package, name) = grant.split_once('/').unwrap_or((grant, ""));
                    acting.contains(&package) && (name == "*" || name == &**event)
                }),
                Step::Judged { step, .. } => may(|g| &g.rules, &|grant| grant == &**step),
                Step::Sent { .. } => may(|g| &g.host, &|grant| grant == "http"),
                Step::Reminded { .. } => may(|g| &g.host, &|grant| grant == "scheduling"),
                Step::Wrote { document } => {
                    let owner = document.split('/').next().unwrap_or_default();
                    acting.contains(&owner) && may(|g| &g.host, &|grant| grant == "storage")
                }
                Step::Answered { .. }
                | Step::Reported { .. }
                | Step::Replied { .. }
                | Step::Sealed { .. }
                | Step::Message(_) => true,
            };
            if !allowed {
                let what = format!("{} {}: {step:?}", record.component, record.function);
                problems.push(Problem::new(AUTHORITY, what));
            }
        }
        problems
    }

    /// A request to a destination that is not a participant, or from a component without the grant.
    pub fn request(&self, request: &OutboundRequest) -> Option<Problem> {
        let component = self.contexts.get(&*request.component);
        let may_send = component.is_some_and(|granted| granted.host.iter().any(|h| h == "http"));
        let mut all = self.destinations.iter();
        let known = all.any(|base| {
            let path = request.url.strip_prefix(base.as_str());
            path.is_some_and(|path| path.starts_with('/'))
        });
        (!may_send || !known).then(|| {
            let what = format!(
                "{} sends {} {}",
                request.component, request.method, request.url
            );
            Problem::new(AUTHORITY, what)
        })
    }
}

//! The events of a release: their names and members, for who selects some of them.

use std::collections::BTreeMap;

use wasmtime::component::types::Type;

use crate::external_calls::label;
use crate::introspect::Function;
use crate::release::Release;
use crate::wiring::Target;

/// An event that a component of a release publishes, or that a client may tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventShape {
    /// Context and event: `transfers/transfer-prepared`.
    pub name: String,
    /// Its members.
    pub members: Vec<String>,
}

impl Release {
    /// All events, by name.
    #[must_use]
    pub fn events(&self) -> Vec<EventShape> {
        let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let published = self.wiring.links.iter();
        let published = published.filter(|link| matches!(link.target, Target::Subscribers(_)));
        let published = published.map(|link| {
            let imports = &self.members[link.importer].shape.imports;
            (imports, &link.interface)
        });
        let told = self.wiring.unheard.iter();
        let told = told.map(|(at, name)| (&self.members[*at].shape.exports, name));
        for (interfaces, name) in published.chain(told) {
            let interface = interfaces.iter().find(|i| i.name == *name);
            for function in interface.into_iter().flat_map(|i| &i.functions) {
                let label = label(&name.to_string(), &function.name);
                found.insert(label, members(function));
            }
        }
        let events = found.into_iter();
        let events = events.map(|(name, members)| EventShape { name, members });
        events.collect()
    }
}

/// The members of an event's only argument if that is a record, else the names of its arguments.
fn members(function: &Function) -> Vec<String> {
    match function.params.as_slice() {
        [(_, Type::Record(record))] => record.fields().map(|f| f.name.to_owned()).collect(),
        all => all.iter().map(|(name, _)| name.clone()).collect(),
    }
}

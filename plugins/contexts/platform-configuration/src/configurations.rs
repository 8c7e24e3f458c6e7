//! Configurations: a schema with its version, and current values.

use rialto_json_schema::{Schema, differences, with_defaults};
use rialto_sdk::documents::Collection;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bindings::rialto::platform_configuration::configuration_values_changed::Event;
use crate::contexts::Source;
use crate::world::World;

/// Configurations; see [`crate::contexts::id`].
pub const CONFIGURATIONS: Collection<Configuration> = Collection::new("configurations");
/// The most changed values that an event names.
const CHANGED_MAX: usize = 100;

/// The configuration of a context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Configuration {
    /// The context.
    pub context: String,
    /// The schema's version; 0 if its component has none.
    pub version: u32,
    /// The JSON Schema of the values.
    pub schema: Value,
    /// What was set. Everything else has the default of the schema.
    pub set: Value,
    /// Who publishes it.
    pub source: Source,
    /// The release that has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<u64>,
    /// When this version was published first: UTC, milliseconds since 1970.
    pub published_at: u64,
    /// When schema or values have changed last: UTC, milliseconds since 1970.
    pub changed_at: u64,
}

impl Configuration {
    /// The current values: what was set, and the defaults of the schema.
    #[must_use]
    pub fn values(&self) -> Value {
        // A release may have a schema that is not judged here. Then there are no defaults.
        Schema::of(self.schema.clone()).map_or_else(
            |_| self.set.clone(),
            |schema| with_defaults(&schema, self.set.clone()),
        )
    }

    /// What operators and programs are shown.
    #[must_use]
    pub fn view(self) -> View {
        View {
            values: self.values(),
            bounded_context_id: self.context,
            version: self.version,
            schema: self.schema,
            source: self.source,
            release: self.release,
            published_at: self.published_at,
            changed_at: self.changed_at,
        }
    }
}

/// A configuration as it is shown.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct View {
    bounded_context_id: String,
    version: u32,
    schema: Value,
    values: Value,
    source: Source,
    #[serde(skip_serializing_if = "Option::is_none")]
    release: Option<u64>,
    published_at: u64,
    changed_at: u64,
}

/// Publish which values differ from those before, if any do. The first values of a context are no change.
pub fn tell(world: &mut impl World, before: &Configuration, after: &Configuration) {
    let changed = differences(&before.values(), &after.values(), CHANGED_MAX);
    if changed.is_empty() {
        return;
    }
    world.values_changed(&Event {
        context: after.context.clone(),
        version: after.version,
        changed,
        release: after.release,
        at: after.changed_at,
    });
}

//! The configurations of a release's components. The host publishes them when the release becomes current.

use rialto_json_schema::Schema;
use rialto_sdk::documents::Range;
use serde_json::{Value, json};

use crate::bindings::exports::rialto::host::configuration_handler::ComponentConfiguration;
use crate::configurations::{CONFIGURATIONS, Configuration, tell};
use crate::contexts::{Source, id};
use crate::world::World;

/// The most documents that are read at once.
const AT_ONCE: u32 = 200;

/// Keep the configurations of a release, and tell which values have changed. Those of components that it does not have are
/// removed.
pub fn publish(world: &mut impl World, release: u64, all: &[ComponentConfiguration]) {
    remove_others(world, all);
    for these in all {
        let id = id(&these.component, Source::Release);
        let before = CONFIGURATIONS.within(world).get_for_update(&id);
        let after = configuration(world, release, these, before.as_ref());
        CONFIGURATIONS.within(world).put(&id, &after);
        if let Some(before) = before {
            tell(world, &before, &after);
        }
    }
}

fn configuration(
    world: &mut impl World,
    release: u64,
    these: &ComponentConfiguration,
    before: Option<&Configuration>,
) -> Configuration {
    let context = these.component.clone();
    let (schema, set) = (read(&these.settings_schema), read(&these.settings));
    let is_same_version =
        |before: &&Configuration| before.version == these.version && before.schema == schema;
    let same_version = before.filter(is_same_version);
    let same = same_version.filter(|before| before.set == set);
    if same_version.is_none()
        && let Err(problems) = Schema::of(schema.clone())
    {
        // It is the component that judges its settings. Here its schema is only shown.
        let first = problems
            .first()
            .map(|one| format!("{} {}", one.pointer, one.message));
        world.warn(&format!(
            "the schema of the settings of {context} is shown without defaults: {}",
            first.unwrap_or_default()
        ));
    }
    let now = world.now();
    Configuration {
        context,
        version: these.version,
        schema,
        set,
        source: Source::Release,
        release: Some(release),
        published_at: same_version.map_or(now, |before| before.published_at),
        changed_at: same.map_or(now, |before| before.changed_at),
    }
}

/// The host has checked that these are objects.
fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| json!({}))
}

fn remove_others(world: &mut impl World, all: &[ComponentConfiguration]) {
    let mut cursor = None;
    loop {
        let page = CONFIGURATIONS
            .within(world)
            .scan(&Range::All, cursor.as_deref(), AT_ONCE);
        for (id, document) in page.documents {
            let is_there = all.iter().any(|these| these.component == document.context);
            if document.source == Source::Release && !is_there {
                CONFIGURATIONS.within(world).delete(&id);
            }
        }
        cursor = page.cursor;
        if cursor.is_none() {
            return;
        }
    }
}

//! The configurations that programs outside publish, each its own.
//!
//! | A version | Is |
//! |---|---|
//! | higher than the one before | taken; without `values` the current ones stay, if they fit |
//! | the same, with the same schema | taken with its `values`, or does nothing |
//! | the same, with another schema | refused |
//! | lower | refused |

use rialto_json_schema::{Problem as Misfit, Schema};
use rialto_sdk::operators::{Caller, Kind, Problem};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::configurations::{CONFIGURATIONS, Configuration, tell};
use crate::contexts::{Source, id};
use crate::world::World;

/// What a program publishes.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Published {
    /// The context; the caller if it is not said.
    pub bounded_context_id: Option<String>,
    /// From 1 on.
    pub version: u32,
    /// The JSON Schema.
    pub schema: Value,
    /// The current values.
    pub values: Option<Value>,
}

/// A program publishes configurations in its own name alone, and never in that of a component.
///
/// # Errors
/// When it may not.
pub fn may(world: &mut impl World, caller: &Caller, context: &str) -> Result<(), Problem> {
    let of_release = id(context, Source::Release);
    if CONFIGURATIONS.within(world).get(&of_release).is_some() {
        let detail = format!(
            "`{context}` is a component of the release: its configuration changes by a release"
        );
        return Err(Problem::new(Kind::ContextOfRelease, detail));
    }
    if caller.name != context {
        let detail = format!(
            "the configuration of `{context}` is published by the operator `{context}` alone, and the caller is `{}`",
            caller.name
        );
        return Err(Problem::new(Kind::ContextForeign, detail));
    }
    Ok(())
}

/// Publish a configuration. Returns it, and whether it is the program's first.
///
/// # Errors
/// When the program may not, the version is older or its schema differs, or schema or values are wrong.
pub fn publish(
    world: &mut impl World,
    caller: &Caller,
    context: &str,
    published: Published,
) -> Result<(Configuration, bool), Problem> {
    may(world, caller, context)?;
    let id = id(context, Source::Program);
    let before = CONFIGURATIONS.within(world).get_for_update(&id);
    if let Some(before) = &before {
        check_version(before, &published)?;
    }
    let schema = Schema::of(published.schema).map_err(|problems| {
        let detail = "`schema` is no JSON Schema of 2020-12 that can be judged here";
        Problem::new(Kind::SchemaInvalid, detail).with("problems", told(problems))
    })?;
    let is_given = published.values.is_some();
    let current = before.as_ref().map(|before| before.set.clone());
    let set = published.values.or(current).unwrap_or_else(|| json!({}));
    schema.judge(&set).map_err(|problems| {
        let detail = if is_given {
            "`values` do not fit the schema"
        } else {
            "the current values do not fit the schema: give `values`"
        };
        Problem::new(Kind::ValuesMisfit, detail).with("problems", told(problems))
    })?;
    let now = world.now();
    let same_version = before
        .as_ref()
        .filter(|before| before.version == published.version);
    let same = same_version.filter(|before| before.set == set);
    let after = Configuration {
        context: context.to_owned(),
        version: published.version,
        schema: schema.document().clone(),
        set,
        source: Source::Program,
        release: None,
        published_at: same_version.map_or(now, |before| before.published_at),
        changed_at: same.map_or(now, |before| before.changed_at),
    };
    CONFIGURATIONS.within(world).put(&id, &after);
    if let Some(before) = &before {
        tell(world, before, &after);
    }
    Ok((after, before.is_none()))
}

fn check_version(before: &Configuration, published: &Published) -> Result<(), Problem> {
    let (was, is) = (before.version, published.version);
    if is < was {
        let detail = format!("version {is} is older than the current one, {was}");
        return Err(Problem::new(Kind::VersionOutdated, detail).with("version", was));
    }
    if is == was && before.schema != published.schema {
        let detail = format!(
            "version {is} was published with another schema: publish a changed one with a higher version"
        );
        return Err(Problem::new(Kind::VersionUsed, detail).with("version", was));
    }
    Ok(())
}

fn told(problems: Vec<Misfit>) -> Value {
    let told = |one: Misfit| json!({ "pointer": one.pointer, "message": one.message });
    problems.into_iter().map(told).collect()
}

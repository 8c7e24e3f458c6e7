//! Which secrets each context needs: names and descriptions, never values.

use rialto_sdk::documents::{Collection, Range};
use rialto_sdk::operators::{Caller, Kind, Problem};
use serde::{Deserialize, Serialize};

use crate::bindings::exports::rialto::host::configuration_handler::ComponentConfiguration;
use crate::contexts::{Source, id};
use crate::programs::may;
use crate::secrets;
use crate::world::World;

/// Lists of needed secrets; see [`crate::contexts::id`].
pub const NEEDS: Collection<Needs> = Collection::new("needed-secrets");
/// The most secrets of a context.
const SECRETS_MAX: usize = 64;
/// The most documents that are read at once.
const AT_ONCE: u32 = 200;

/// The secrets that a context needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Needs {
    /// The context.
    pub context: String,
    /// The version of the list.
    pub version: u32,
    /// In the order in which they were published.
    pub secrets: Vec<Needed>,
    /// Who publishes the list.
    pub source: Source,
    /// The release that has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<u64>,
    /// When this version was published: UTC, milliseconds since 1970.
    pub published_at: u64,
}

/// A secret that a context needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Needed {
    /// Its name.
    pub name: String,
    /// One line for people.
    pub description: String,
}

impl Needs {
    /// Whether it has a secret of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.secrets.iter().any(|needed| needed.name == name)
    }
}

/// What a program publishes.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Published {
    /// The context; the caller if it is not said.
    pub bounded_context_id: Option<String>,
    /// From 1 on.
    pub version: u32,
    /// The secrets.
    pub secrets: Vec<Needed>,
}

/// A program publishes which secrets it needs. Secrets that it no longer needs are removed. Returns the list, and whether
/// it is the program's first.
///
/// # Errors
/// When the program may not, or the version is older, or has another list.
pub fn publish(
    world: &mut impl World,
    caller: &Caller,
    context: &str,
    published: Published,
) -> Result<(Needs, bool), Problem> {
    may(world, caller, context)?;
    check(&published.secrets)?;
    let id = id(context, Source::Program);
    let before = NEEDS.within(world).get_for_update(&id);
    let (is, secrets) = (published.version, published.secrets);
    if let Some(before) = &before {
        let was = before.version;
        if is < was {
            let detail = format!("version {is} is older than the current one, {was}");
            return Err(Problem::new(Kind::VersionOutdated, detail).with("version", was));
        }
        if is == was && before.secrets != secrets {
            let detail = format!(
                "version {is} was published with another list: publish a changed one with a higher version"
            );
            return Err(Problem::new(Kind::VersionUsed, detail).with("version", was));
        }
        if is == was {
            return Ok((before.clone(), false));
        }
    }
    let after = Needs {
        context: context.to_owned(),
        version: is,
        secrets,
        source: Source::Program,
        release: None,
        published_at: world.now(),
    };
    for gone in before.iter().flat_map(|before| &before.secrets) {
        if !after.has(&gone.name) {
            secrets::remove(world, context, Source::Program, &gone.name);
        }
    }
    NEEDS.within(world).put(&id, &after);
    Ok((after, before.is_none()))
}

fn check(secrets: &[Needed]) -> Result<(), Problem> {
    if secrets.len() > SECRETS_MAX {
        let detail = format!("a context may need {SECRETS_MAX} secrets");
        return Err(Problem::new(Kind::TooMany, detail).with("most", SECRETS_MAX));
    }
    let is_twice = |at: usize| secrets[..at].iter().any(|one| one.name == secrets[at].name);
    if let Some(twice) = (0..secrets.len()).find(|at| is_twice(*at)) {
        let detail = format!("the secret `{}` is there twice", secrets[twice].name);
        return Err(Problem::new(Kind::Malformed, detail));
    }
    Ok(())
}

/// Keep the lists of a release's components. Values that were set stay, for a release that needs them again.
pub fn publish_release(world: &mut impl World, release: u64, all: &[ComponentConfiguration]) {
    let needy = |context: &str| {
        let these = all.iter().find(|these| these.component == context);
        these.filter(|these| !these.secrets.is_empty())
    };
    let mut cursor = None;
    loop {
        let page = NEEDS
            .within(world)
            .scan(&Range::All, cursor.as_deref(), AT_ONCE);
        for (id, document) in page.documents {
            if document.source == Source::Release && needy(&document.context).is_none() {
                NEEDS.within(world).delete(&id);
            }
        }
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
    }
    for these in all.iter().filter(|these| !these.secrets.is_empty()) {
        let id = id(&these.component, Source::Release);
        let before = NEEDS.within(world).get_for_update(&id);
        let secrets = these.secrets.iter().map(|secret| Needed {
            name: secret.name.clone(),
            description: secret.description.clone(),
        });
        let secrets: Vec<Needed> = secrets.collect();
        let same =
            before.filter(|before| before.version == these.version && before.secrets == secrets);
        let after = Needs {
            context: these.component.clone(),
            version: these.version,
            secrets,
            source: Source::Release,
            release: Some(release),
            published_at: same.map_or_else(|| world.now(), |before| before.published_at),
        };
        NEEDS.within(world).put(&id, &after);
    }
}

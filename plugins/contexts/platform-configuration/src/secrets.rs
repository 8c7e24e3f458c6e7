//! Values of secrets. One operator sets a value, another one decides. Values are encrypted in every document, and the only
//! one who is told them is their owner.
//!
//! | A secret | Then |
//! |---|---|
//! | is set by an `admin` | the new value waits, and lapses after some days; its maker may set another one meanwhile |
//! | is approved by a `checker` | the new value is current; the one before is valid for some minutes more |
//! | is rejected | the new value is forgotten |

use rialto_sdk::auditing::Audited;
use rialto_sdk::documents::Collection;
use rialto_sdk::operators::{Caller, Kind, Problem};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::bindings::rialto::platform_configuration::secrets_values_changed::Event;
use crate::contexts::{Source, find, id};
use crate::needs::{NEEDS, Needs};
use crate::sealing::{Sealed, open, seal};
use crate::world::World;

/// Secrets that were set; see [`key`].
const SECRETS: Collection<Secret> = Collection::new("secrets");
/// New values that wait, by the same key.
const WAITING: Collection<Waiting> = Collection::new("secret-changes");
/// The longest reason, in characters.
const REASON_CHARS_MAX: usize = 256;

/// A secret that was set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Secret {
    current: Sealed,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    previous: Option<Previous>,
    /// Who asked for the current value.
    pub set_by: String,
    /// Who approved it.
    pub approved_by: String,
    /// When: UTC, milliseconds since 1970.
    pub set_at: u64,
}

/// The value before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Previous {
    sealed: Sealed,
    /// UTC, milliseconds since 1970.
    valid_until: u64,
}

/// A new value that waits for a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Waiting {
    id: String,
    sealed: Sealed,
    reason: String,
    maker: String,
    created_at: u64,
    lapses_at: u64,
}

/// A new value that waits, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitingView {
    id: String,
    reason: String,
    maker: String,
    created_at: u64,
    lapses_at: u64,
}

/// A secret as it is shown: never its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretView {
    name: String,
    description: String,
    is_set: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    set_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approved_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    set_at: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<WaitingView>,
}

/// The values of a secret, for its owner.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Values {
    name: String,
    value: String,
    set_at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<PreviousValue>,
}

/// The value before, which is still valid.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PreviousValue {
    value: String,
    valid_until: u64,
}

/// A decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Decision {
    /// Yes.
    Approve,
    /// No.
    Reject,
}

/// The id of a secret's documents.
fn key(context: &str, source: Source, name: &str) -> String {
    format!("{}/{name}", id(context, source))
}

/// What is authenticated with each value, so that the ciphertext of one secret is none of another one.
fn associated(context: &str, source: Source, name: &str) -> String {
    format!("secret {}", key(context, source, name))
}

/// Remove a secret with all its values.
pub fn remove(world: &mut impl World, context: &str, source: Source, name: &str) {
    let key = key(context, source, name);
    SECRETS.within(world).delete(&key);
    WAITING.within(world).delete(&key);
}

/// How the secrets of a context stand.
pub fn views(world: &mut impl World, needs: &Needs) -> Vec<SecretView> {
    let now = world.now();
    let view = |needed: &crate::needs::Needed| {
        let key = key(&needs.context, needs.source, &needed.name);
        let secret = SECRETS.within(world).get(&key);
        let waiting = WAITING.within(world).get(&key);
        let waiting = waiting.filter(|waiting| now < waiting.lapses_at);
        SecretView {
            name: needed.name.clone(),
            description: needed.description.clone(),
            is_set: secret.is_some(),
            set_by: secret.as_ref().map(|secret| secret.set_by.clone()),
            approved_by: secret.as_ref().map(|secret| secret.approved_by.clone()),
            set_at: secret.map(|secret| secret.set_at),
            waiting: waiting.map(Waiting::view),
        }
    };
    needs.secrets.iter().map(view).collect()
}

impl Waiting {
    fn view(self) -> WaitingView {
        WaitingView {
            id: self.id,
            reason: self.reason,
            maker: self.maker,
            created_at: self.created_at,
            lapses_at: self.lapses_at,
        }
    }
}

/// The list of a context that needs a secret of this name.
fn needing(world: &mut impl World, context: &str, name: &str) -> Result<Needs, Problem> {
    let found = find(world, &NEEDS, context).filter(|needs| needs.has(name));
    found.ok_or_else(|| {
        let detail = format!(
            "`{context}` needs no secret `{name}`: GET /config/secrets/ lists which contexts need which"
        );
        Problem::new(Kind::SecretUnknown, detail)
    })
}

/// A new value that another operator is to approve.
#[derive(Deserialize)]
pub struct Wanted {
    /// The value.
    pub value: String,
    /// Why.
    pub reason: String,
}

/// Set a secret: it waits for another operator. A value that the same operator has set before and that waits is replaced.
///
/// # Errors
/// When nobody needs such a secret, another operator's value waits, or it cannot be encrypted.
pub fn set(
    world: &mut impl World,
    caller: &Caller,
    (context, name): (&str, &str),
    wanted: Wanted,
) -> Result<WaitingView, Problem> {
    let length = wanted.reason.chars().count();
    if !(1..=REASON_CHARS_MAX).contains(&length) || wanted.reason.chars().any(char::is_control) {
        let detail =
            format!("`reason` must have 1 to {REASON_CHARS_MAX} characters, no control characters");
        return Err(Problem::new(Kind::Malformed, detail));
    }
    // Lines are allowed: a secret may be a key in PEM.
    if wanted
        .value
        .contains(|c: char| c.is_control() && !"\n\r\t".contains(c))
    {
        let detail = "`value` must have no control characters but tabs and line ends; encode others, for example as Base64";
        return Err(Problem::new(Kind::Malformed, detail));
    }
    let source = needing(world, context, name)?.source;
    let key = key(context, source, name);
    let now = world.now();
    let before = WAITING.within(world).get_for_update(&key);
    if let Some(other) = before.filter(|other| now < other.lapses_at && other.maker != caller.name)
    {
        let detail = format!(
            "a value that `{}` has set waits for a decision: decide it first",
            other.maker
        );
        return Err(Problem::new(Kind::DuplicateRequest, detail).with("pendingRequest", other.id));
    }
    let sealed = seal(world, &associated(context, source, name), &wanted.value)?;
    let waiting = Waiting {
        id: world.uuid(),
        sealed,
        reason: wanted.reason,
        maker: caller.name.clone(),
        created_at: now,
        lapses_at: now + world.settings().waits(),
    };
    WAITING.within(world).put(&key, &waiting);
    // The host writes no entry of this request, because its hash would tell who guesses the value that he is right.
    let about = format!("secret:{context}/{name}");
    let details = json!({ "request": waiting.id });
    world.audit(&Audited::done("secret.asked", about, details));
    Ok(waiting.view())
}

/// Decide a new value. An approved one is current from now on.
///
/// # Errors
/// When no such value waits, or the caller has set it.
pub fn decide(
    world: &mut impl World,
    caller: &Caller,
    (context, name): (&str, &str),
    id: &str,
    decision: Decision,
) -> Result<SecretView, Problem> {
    let needs = needing(world, context, name)?;
    let key = key(context, needs.source, name);
    let now = world.now();
    let waiting = WAITING.within(world).get_for_update(&key);
    let waiting = waiting.filter(|waiting| waiting.id == id && now < waiting.lapses_at);
    let waiting = waiting.ok_or_else(|| {
        let detail = format!(
            "no value {id} of the secret `{name}` waits: it was decided, replaced by its maker, or has waited too long. GET /config/secrets/{context} shows what waits"
        );
        Problem::new(Kind::RequestUnknown, detail)
    })?;
    if waiting.maker == caller.name {
        let detail = "nobody decides what they asked for themselves";
        return Err(Problem::new(Kind::MakerIsChecker, detail));
    }
    WAITING.within(world).delete(&key);
    if decision == Decision::Approve {
        let before = SECRETS.within(world).get_for_update(&key);
        let valid_until = now + world.settings().overlap();
        let secret = Secret {
            current: waiting.sealed,
            previous: before.map(|before| Previous {
                sealed: before.current,
                valid_until,
            }),
            set_by: waiting.maker.clone(),
            approved_by: caller.name.clone(),
            set_at: now,
        };
        SECRETS.within(world).put(&key, &secret);
        world.secrets_changed(&Event {
            context: context.to_owned(),
            names: vec![name.to_owned()],
            maker: waiting.maker,
            checker: caller.name.clone(),
            at: now,
        });
    }
    let mut views = views(world, &needs).into_iter();
    let view = views.find(|view| view.name == name);
    view.ok_or_else(|| Problem::new(Kind::Internal, "the secret is not there"))
}

/// The values of a secret of a component.
#[derive(Debug, PartialEq, Eq)]
pub struct Told {
    /// The current one.
    pub current: String,
    /// The one before, while it is valid.
    pub previous: Option<String>,
}

/// The values of a secret, for the component that needs it; none if it does not, or nobody has set it.
///
/// # Panics
/// When a value cannot be decrypted now: the turn fails and is tried again.
pub fn of_component(world: &mut impl World, context: &str, name: &str) -> Option<Told> {
    let needs = NEEDS.within(world).get(&id(context, Source::Release))?;
    let needs = Needs {
        secrets: needs
            .secrets
            .into_iter()
            .filter(|one| one.name == name)
            .collect(),
        ..needs
    };
    let values = values(world, &needs)
        .unwrap_or_else(|problem| panic!("the secret `{name}` of {context}: {}", problem.detail));
    let values = values.into_iter().next()?;
    Some(Told {
        current: values.value,
        previous: values.previous.map(|before| before.value),
    })
}

/// The values of all secrets that were set, for their owner: the current one, and the one before while it is valid. Those
/// that are no longer valid are removed.
///
/// # Errors
/// When one cannot be decrypted.
pub fn values(world: &mut impl World, needs: &Needs) -> Result<Vec<Values>, Problem> {
    let now = world.now();
    let mut values = Vec::new();
    for needed in &needs.secrets {
        let key = key(&needs.context, needs.source, &needed.name);
        let associated = associated(&needs.context, needs.source, &needed.name);
        let Some(mut secret) = SECRETS.within(world).get(&key) else {
            continue;
        };
        if secret
            .previous
            .as_ref()
            .is_some_and(|before| before.valid_until <= now)
        {
            secret.previous = None;
            SECRETS.within(world).put(&key, &secret);
        }
        let previous = match &secret.previous {
            None => None,
            Some(before) => Some(PreviousValue {
                value: open(world, &associated, &before.sealed)?,
                valid_until: before.valid_until,
            }),
        };
        values.push(Values {
            name: needed.name.clone(),
            value: open(world, &associated, &secret.current)?,
            set_at: secret.set_at,
            previous,
        });
    }
    Ok(values)
}

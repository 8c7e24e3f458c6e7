//! Applications: one operator asks for each, another one approves it.
//!
//! | State | Tokens | Next |
//! |---|---|---|
//! | `PENDING` | none | `ACTIVE` or `REJECTED`, by another operator; `REVOKED` |
//! | `ACTIVE` | are issued and valid | `REVOKED`, by any operator |
//! | `REJECTED`, `REVOKED` | none | none |

use rialto_sdk::documents::Collection;
use serde::{Deserialize, Serialize};

use crate::bindings::exports::rialto::security_authn::register_application::Request;
use crate::bindings::rialto::security_authn::types::{ApplicationError, ApplicationState};
use crate::world::World;

/// Applications, by id.
pub const APPLICATIONS: Collection<Application> = Collection::new("applications");
/// Bytes of a secret.
const SECRET_BYTES: u32 = 32;
/// The longest label, in characters.
const LABEL_CHARS_MAX: usize = 64;

/// The state of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum State {
    /// It waits for a decision.
    Pending,
    /// It gets tokens.
    Active,
    /// It never got tokens.
    Rejected,
    /// It gets no more tokens.
    Revoked,
}

impl From<State> for ApplicationState {
    fn from(state: State) -> Self {
        match state {
            State::Pending => Self::Pending,
            State::Active => Self::Active,
            State::Rejected => Self::Rejected,
            State::Revoked => Self::Revoked,
        }
    }
}

/// An application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Application {
    /// A UUID.
    pub id: String,
    /// In whose name it acts.
    pub name: String,
    /// For people.
    pub label: String,
    /// SHA-256 of id and secret, in hexadecimal digits. The secret has 256 random bits, so that its hash needs no
    /// slow function.
    pub secret_hash: String,
    /// Its state.
    pub state: State,
    /// Tokens with another generation are no longer valid.
    pub generation: u64,
    /// Who asked for it.
    pub maker: String,
    /// When: UTC, milliseconds since 1970.
    pub created_at: u64,
    /// Who decided last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// When: UTC, milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<u64>,
}

/// A new application and its secret, which is told once.
#[derive(Debug)]
pub struct Registered {
    /// The application.
    pub application: Application,
    /// Hexadecimal digits.
    pub secret: String,
}

/// The hash that is kept of a secret.
pub fn hash(world: &mut impl World, id: &str, secret: &str) -> String {
    let hashed = world.sha256(format!("{id}:{secret}").as_bytes());
    hashed.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Keep an application that waits for a decision.
///
/// # Errors
/// When a text is malformed.
pub fn register(world: &mut impl World, request: Request) -> Result<Registered, ApplicationError> {
    let is_plain = |text: &str| {
        (1..=LABEL_CHARS_MAX).contains(&text.chars().count()) && !text.chars().any(char::is_control)
    };
    for (member, text) in [
        ("name", &request.name),
        ("label", &request.label),
        ("maker", &request.maker),
    ] {
        if !is_plain(text) {
            let why = format!(
                "`{member}` must have 1 to {LABEL_CHARS_MAX} characters, no control characters"
            );
            return Err(ApplicationError::Malformed(why));
        }
    }
    let (id, secret) = (world.uuid(), world.random(SECRET_BYTES));
    let application = Application {
        secret_hash: hash(world, &id, &secret),
        id,
        name: request.name,
        label: request.label,
        state: State::Pending,
        generation: 1,
        maker: request.maker,
        created_at: world.now(),
        decided_by: None,
        decided_at: None,
    };
    APPLICATIONS
        .within(world)
        .put(&application.id, &application);
    Ok(Registered {
        application,
        secret,
    })
}

/// Approve or reject an application.
///
/// # Errors
/// When there is none of this id, it was decided, or the checker asked for it.
pub fn decide(
    world: &mut impl World,
    id: &str,
    checker: &str,
    approved: bool,
) -> Result<Application, ApplicationError> {
    let mut application = taken(world, id)?;
    if application.state != State::Pending {
        return Err(ApplicationError::InState(application.state.into()));
    }
    if application.maker == checker {
        return Err(ApplicationError::MakerIsChecker);
    }
    application.state = if approved {
        State::Active
    } else {
        State::Rejected
    };
    Ok(decided(world, application, checker))
}

/// Revoke an application: no token of it is valid any more.
///
/// # Errors
/// When there is none of this id, or it gets no tokens anyway.
pub fn revoke(
    world: &mut impl World,
    id: &str,
    operator: &str,
) -> Result<Application, ApplicationError> {
    let mut application = taken(world, id)?;
    if !matches!(application.state, State::Pending | State::Active) {
        return Err(ApplicationError::InState(application.state.into()));
    }
    application.state = State::Revoked;
    application.generation += 1;
    Ok(decided(world, application, operator))
}

fn taken(world: &mut impl World, id: &str) -> Result<Application, ApplicationError> {
    if !is_id(id) {
        return Err(ApplicationError::Unknown);
    }
    let found = APPLICATIONS.within(world).get_for_update(id);
    found.ok_or(ApplicationError::Unknown)
}

fn decided(world: &mut impl World, mut application: Application, by: &str) -> Application {
    application.decided_by = Some(by.to_owned());
    application.decided_at = Some(world.now());
    APPLICATIONS
        .within(world)
        .put(&application.id, &application);
    application
}

/// The application of this id.
pub fn find(world: &mut impl World, id: &str) -> Option<Application> {
    if !is_id(id) {
        return None;
    }
    APPLICATIONS.within(world).get(id)
}

/// The application of this id, if it gets tokens.
pub fn active(world: &mut impl World, id: &str) -> Option<Application> {
    let application = find(world, id)?;
    (application.state == State::Active).then_some(application)
}

/// Whether a text can be the id of an application: a UUID in lower case.
#[must_use]
pub fn is_id(text: &str) -> bool {
    let is_right = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
    };
    text.len() == 36 && text.bytes().enumerate().all(is_right)
}

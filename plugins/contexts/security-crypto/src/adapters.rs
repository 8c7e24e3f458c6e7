//! Which provider makes new keys (`/crypto-adapter-set`). One operator asks, another one decides.

use rialto_sdk::documents::{Collection, Range};
use rialto_sdk::operators::{Caller, Kind, Problem};
use serde::{Deserialize, Serialize};

use crate::bindings::rialto::security_crypto::adapter_chosen::Event;
use crate::words::Algorithm;
use crate::world::World;

/// The provider of new keys, in the one document `current`.
const CURRENT: Collection<Current> = Collection::new("adapter");
/// The id of that document.
const ONE: &str = "current";
/// Requests, by id.
pub const REQUESTS: Collection<Request> = Collection::new("adapter-requests");
/// The request that waits for a decision, in the one document `current`. Stores of earlier releases do not have it.
const WAITING: Collection<Waiting> = Collection::new("adapter-waiting");
/// Requests that operators are shown.
const SHOWN_MAX: u32 = 1_000;

/// The provider of new keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Current {
    /// Its name in the operator's document.
    pub provider: String,
    /// The request that made it so.
    pub request: String,
    /// Since when: UTC, milliseconds since 1970.
    pub since: u64,
}

/// How a request stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum State {
    /// It waits for a decision.
    Pending,
    /// It was approved.
    Approved,
    /// It was rejected.
    Rejected,
}

/// A request for another provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Request {
    /// A UUID.
    pub id: String,
    /// The wanted provider.
    pub provider: String,
    /// How it stands.
    pub state: State,
    /// Who asked.
    pub maker: String,
    /// When: UTC, milliseconds since 1970.
    pub created_at: u64,
    /// Who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checker: Option<String>,
    /// When: UTC, milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<u64>,
}

/// Which request waits: there is one at most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Waiting {
    /// Its id; none if no request waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request: Option<String>,
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

/// A provider, as operators see it.
#[derive(Debug, Serialize)]
pub struct ProviderView {
    name: String,
    kind: String,
    algorithms: Vec<Algorithm>,
}

/// What operators see.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct View {
    /// The provider of new keys; none if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<u64>,
    providers: Vec<ProviderView>,
    /// The request that waits, and decided ones in the order of their ids: [`SHOWN_MAX`] in all.
    requests: Vec<Request>,
}

/// The name of the provider that makes new keys: the one that was set, else the first by name.
///
/// # Errors
/// When the host has no provider, or no longer the one that was set.
pub fn current(world: &mut impl World) -> Result<String, Problem> {
    let providers = world.providers();
    let wanted = CURRENT
        .within(world)
        .get(ONE)
        .map(|current| current.provider);
    let found = match &wanted {
        Some(wanted) => providers.iter().find(|provider| provider.name == *wanted),
        None => providers.first(),
    };
    found.map(|provider| provider.name.clone()).ok_or_else(|| {
        let detail = match wanted {
            Some(wanted) => {
                format!("the host no longer has the provider `{wanted}`: set another one")
            }
            None => "the host has no provider of keys: add one to [keys] of rialto.toml".to_owned(),
        };
        Problem::new(Kind::ProviderUnknown, detail)
    })
}

/// Tell other contexts which provider was set, if one was. A context may be newer than the decision, so they are told again
/// with each release.
pub fn tell(world: &mut impl World) {
    if let Some(current) = CURRENT.within(world).get(ONE) {
        world.chosen(&Event {
            provider: current.provider,
            at: current.since,
        });
    }
}

/// The providers and the requests.
#[must_use]
pub fn view(world: &mut impl World) -> View {
    let providers = world.providers().into_iter().map(|provider| ProviderView {
        name: provider.name,
        kind: provider.kind,
        algorithms: provider
            .algorithms
            .into_iter()
            .map(Algorithm::from)
            .collect(),
    });
    let providers = providers.collect();
    let waiting = WAITING.within(world).get(ONE);
    let waiting = waiting_request(world, waiting);
    let page = REQUESTS.within(world).scan(&Range::All, None, SHOWN_MAX);
    let others = page.documents.into_iter().map(|(_, request)| request);
    let others = others.filter(|request| request.state != State::Pending);
    let requests = waiting.into_iter().chain(others).take(SHOWN_MAX as usize);
    View {
        provider: current(world).ok(),
        since: CURRENT.within(world).get(ONE).map(|current| current.since),
        providers,
        requests: requests.collect(),
    }
}

/// The request that waits for a decision, if there is one. `known` is the document that says so.
fn waiting_request(world: &mut impl World, known: Option<Waiting>) -> Option<Request> {
    let id = match known {
        Some(waiting) => waiting.request?,
        None => return waiting_of_before(world),
    };
    let request = REQUESTS.within(world).get(&id);
    request.filter(|request| request.state == State::Pending)
}

/// The same in a store of an earlier release, which has no document that says so: of all requests, however many.
fn waiting_of_before(world: &mut impl World) -> Option<Request> {
    let mut cursor: Option<String> = None;
    loop {
        let page = REQUESTS
            .within(world)
            .scan(&Range::All, cursor.as_deref(), SHOWN_MAX);
        let mut requests = page.documents.into_iter().map(|(_, request)| request);
        let waiting = requests.find(|request| request.state == State::Pending);
        if waiting.is_some() || page.cursor.is_none() {
            return waiting;
        }
        cursor = page.cursor;
    }
}

fn set_waiting(world: &mut impl World, request: Option<String>) {
    WAITING.within(world).put(ONE, &Waiting { request });
}

/// Ask for another provider of new keys.
///
/// # Errors
/// When the host has no such provider, it makes new keys already, or a request waits.
pub fn ask(world: &mut impl World, caller: &Caller, provider: String) -> Result<Request, Problem> {
    known(world, &provider)?;
    if current(world).ok().as_deref() == Some(&provider) {
        let detail = format!("`{provider}` makes new keys already");
        return Err(Problem::new(Kind::NothingChanges, detail));
    }
    // For update: of two operators who ask at the same time, one is refused.
    let waiting = WAITING.within(world).get_for_update(ONE);
    if let Some(Request { id, .. }) = waiting_request(world, waiting) {
        let detail = format!("the request {id} waits for a decision: decide it first");
        return Err(Problem::new(Kind::DuplicateRequest, detail).with("pendingRequest", id));
    }
    let request = Request {
        id: world.uuid(),
        provider,
        state: State::Pending,
        maker: caller.name.clone(),
        created_at: world.now(),
        checker: None,
        decided_at: None,
    };
    REQUESTS.within(world).put(&request.id, &request);
    set_waiting(world, Some(request.id.clone()));
    Ok(request)
}

/// Decide a request.
///
/// # Errors
/// When there is no such request, it was decided, the caller asked for it, or the provider is gone.
pub fn decide(
    world: &mut impl World,
    caller: &Caller,
    id: &str,
    decision: Decision,
) -> Result<Request, Problem> {
    let found = REQUESTS.within(world).get_for_update(id);
    let mut request = found
        .ok_or_else(|| Problem::new(Kind::RequestUnknown, format!("there is no request {id}")))?;
    if request.state != State::Pending {
        return Err(Problem::new(
            Kind::AlreadyDecided,
            format!("the request {id} was decided"),
        ));
    }
    if request.maker == caller.name {
        let detail = "nobody decides what they asked for themselves";
        return Err(Problem::new(Kind::MakerIsChecker, detail));
    }
    let now = world.now();
    if decision == Decision::Approve {
        known(world, &request.provider)?;
        let current = Current {
            provider: request.provider.clone(),
            request: request.id.clone(),
            since: now,
        };
        CURRENT.within(world).put(ONE, &current);
        tell(world);
    }
    request.state = match decision {
        Decision::Approve => State::Approved,
        Decision::Reject => State::Rejected,
    };
    request.checker = Some(caller.name.clone());
    request.decided_at = Some(now);
    REQUESTS.within(world).put(id, &request);
    set_waiting(world, None);
    Ok(request)
}

fn known(world: &mut impl World, name: &str) -> Result<(), Problem> {
    let there = world
        .providers()
        .iter()
        .any(|provider| provider.name == name);
    there.then_some(()).ok_or_else(|| {
        let detail = format!("the host has no provider `{name}`: see GET /crypto-adapter-set");
        Problem::new(Kind::ProviderUnknown, detail)
    })
}

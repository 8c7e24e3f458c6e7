//! Participants and requests for operators.

use super::found;
use crate::activation;
use crate::bindings::exports::rialto::host::http_handler::Request as HttpRequest;
use crate::history::{CHANGES, Change, id};
use crate::kinds::endpoints::{self, Endpoint};
use crate::kinds::limit::Limit;
use crate::kinds::{Asked, cover};
use crate::participants::{Account, Participant, State, Type};
use crate::requests::{Kind, OPEN, REQUESTS, Request, open_id};
use crate::world::World;
use rialto_sdk::documents::Range;
use rialto_sdk::operators::{Amount, Answer, Kind as ProblemKind, Problem, parameter, version};
use serde::Serialize;
use serde_json::{Value, json};

/// Changes that are shown with a participant: the last ones.
const CHANGES_SHOWN: u64 = 20;
/// Open requests that are shown with a participant.
const OPEN_SHOWN: u32 = 100;

/// A participant in a list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    id: String,
    name: String,
    r#type: Type,
    state: State,
    /// The release that added it, while that release is not completely added: until then it may not transact.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits_for: Option<u64>,
    version: u64,
    endpoints: Vec<Endpoint>,
    /// None if it may send from everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    source_addresses: Option<Vec<String>>,
    accounts: Vec<ShownAccount>,
    created_at: u64,
    updated_at: u64,
    /// The request to add it, while that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownAccount {
    account_id: String,
    currency: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<Limit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    threshold: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cover: Option<Value>,
    ledger_accounts: Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Info {
    #[serde(flatten)]
    summary: Summary,
    /// The last changes, newest first.
    changes: Vec<Change>,
    open_requests: Vec<String>,
}

/// One participant. The tag is for `If-Match` only: it does not cover the whole body.
pub fn participant(world: &mut dyn World, request: &HttpRequest) -> Result<Answer, Problem> {
    let participant = found(world, request)?;
    let earliest = participant.changes.saturating_sub(CHANGES_SHOWN);
    let numbers = (earliest..participant.changes).rev();
    let changes =
        numbers.filter_map(|n| CHANGES.within(world).get(&id(&participant.participant, n)));
    let changes = changes.collect();
    let range = Range::Prefix(format!("{}/", participant.participant));
    let open = OPEN.within(world).scan(&range, None, OPEN_SHOWN).documents;
    let info = Info {
        summary: summary(world, &participant),
        changes,
        open_requests: open.into_iter().map(|(_, open)| open.request).collect(),
    };
    Ok(Answer::json(200, &info).with("etag", participant.tag()))
}

/// A participant as lists have it.
pub fn summary<S: rialto_sdk::documents::Store + ?Sized>(
    store: &mut S,
    participant: &Participant,
) -> Summary {
    let request = (participant.state == State::PendApproval).then(|| {
        let open = open_id(&participant.participant, Kind::Participant, "");
        let open = OPEN.within(store).get(&open)?;
        REQUESTS.within(store).get(&open.request)
    });
    Summary {
        id: participant.participant.clone(),
        name: participant.name.clone(),
        r#type: participant.participant_type,
        state: participant.state,
        waits_for: activation::waits_for(store, participant),
        version: participant.version,
        endpoints: endpoints::of(participant),
        source_addresses: participant.source_addresses.clone(),
        accounts: participant.accounts.iter().map(account).collect(),
        created_at: participant.created_at,
        updated_at: participant.updated_at,
        request: request.flatten().map(|request| shown(&request)),
    }
}

fn account(account: &Account) -> ShownAccount {
    let cover = account.cover.as_ref().map(|cover| {
        let amount = Amount::from(&cover.amount);
        json!({ "amount": amount, "request": cover.request, "since": cover.since })
    });
    ShownAccount {
        account_id: account.currency.clone(),
        currency: account.currency.clone(),
        name: account.name.clone(),
        status: if account.enabled {
            "ENABLED"
        } else {
            "DISABLED"
        },
        limit: account.net_debit_cap.as_ref().map(Limit::of),
        threshold: account.liquidity_threshold.as_ref().map(Amount::from),
        cover,
        ledger_accounts: json!({
            "liquidity": account.liquidity_account,
            "position": account.position_account,
            "liquidityCover": account.liquidity_cover_account,
            "settlement": account.settlement_account,
        }),
    }
}

/// One request.
pub fn request(world: &mut dyn World, request: &HttpRequest) -> Result<Answer, Problem> {
    let id = parameter(&request.path_parameters, "requestId").unwrap_or_default();
    let Some(found) = REQUESTS.within(world).get(id) else {
        let detail = format!("there is no request {id}");
        return Err(Problem::new(ProblemKind::RequestUnknown, detail));
    };
    let shown = with_estimate(world, &found);
    let answer = Answer::json(200, &shown);
    if shown.get("estimate").is_some() {
        // It changes with the liquidity, which the version does not cover.
        return Ok(answer.with("etag", found.tag()));
    }
    Ok(version::answer_tagged(
        &request.headers,
        found.tag(),
        || answer,
    ))
}

/// A request as stored.
pub fn shown(request: &Request) -> Value {
    json!(request)
}

/// A percentage becomes an amount at the approval. Until then, the amount that it would be now is shown.
pub fn with_estimate(world: &mut dyn World, request: &Request) -> Value {
    let mut value = shown(request);
    if let Asked::LiquidityCover(asked) = &request.asked
        && let Some(estimate) = estimate(world, request, asked)
    {
        value["estimate"] = json!(estimate);
    }
    value
}

fn estimate(world: &mut dyn World, request: &Request, asked: &cover::Cover) -> Option<Amount> {
    asked.percentage.as_ref()?;
    if request.decided_at.is_some() {
        return None;
    }
    let total = asked.total(world, &request.participant).ok()?;
    Some(Amount::from(&total))
}

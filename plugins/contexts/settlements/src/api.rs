//! The operations on settlement for operators, over HTTP, with the roles that they need.

use crate::batches::{BATCHES, Batch};
use crate::bindings::exports::rialto::host::http_handler::Request;
use crate::operations::{self, Asked, known_batch, known_settlement};
use crate::settings::Settings;
use crate::settlement::{SETTLEMENTS, Settlement};
use crate::views;
use crate::world::World;
use rialto_sdk::operators::idempotency::{Sent, once};
use rialto_sdk::operators::paging::Items;
use rialto_sdk::operators::{Answer, Caller, Kind, Paging, Problem, Role, parameter, version};
use serde::Deserialize;
use serde_json::{Value, json};

/// Answer a request that fits the document.
pub fn answer<W: World>(
    world: &mut W,
    settings: &Settings,
    caller: &Caller,
    request: &Request,
) -> Answer {
    let answered = match request.method.as_str() {
        "GET" => caller
            .needs(Role::Reader)
            .and_then(|()| look(world, settings, request)),
        _ => change(world, settings, caller, request),
    };
    answered.unwrap_or_else(|problem| problem.answer())
}

fn look(world: &mut impl World, settings: &Settings, request: &Request) -> Result<Answer, Problem> {
    let query = request.query_parameters.as_slice();
    match request.operation_id.as_str() {
        "listSettlementModels" => Ok(Answer::json(200, &models(settings))),
        "listSettlementBatches" => list_batches(world, query),
        "getSettlementBatch" => {
            let batch = known_batch(world, id(request))?;
            let told = views::batch(world, &batch, &Paging::of(query)?)?;
            // Its contents change without the batch document, so it has no version.
            Ok(Answer::json(200, &told).with("etag", version::tag(batch.version)))
        }
        "listSettlements" => list_settlements(world, query),
        "getSettlement" => {
            let settlement = known_settlement(world, id(request))?;
            Ok(version::answer(
                &request.headers,
                settlement.version,
                || Answer::json(200, &views::settlement(&settlement)),
            ))
        }
        "getSettlementMatrix" => {
            let settlement = known_settlement(world, id(request))?;
            let rows = views::matrix(world, &settlement, &Paging::of(query)?)?;
            Ok(Answer::json(200, &rows))
        }
        other => unknown(other),
    }
}

fn change<W: World>(
    world: &mut W,
    settings: &Settings,
    caller: &Caller,
    request: &Request,
) -> Result<Answer, Problem> {
    caller.needs(match request.operation_id.as_str() {
        "completeSettlement" | "abortSettlement" => Role::Checker,
        _ => Role::Maker,
    })?;
    let body = body(request)?;
    let sent = Sent {
        caller,
        method: &request.method,
        path: &request.path,
        headers: &request.headers,
        body: request.body.as_deref(),
        now: world.now(),
    };
    let asked = Asked {
        caller,
        headers: &request.headers,
        reason: &body.reason,
    };
    once(world, &sent, |world| match request.operation_id.as_str() {
        "closeSettlementBatch" => {
            let batch = operations::close_batch(world, id(request), &asked)?;
            Ok(Answer::json(200, &batch).with("etag", version::tag(batch.version)))
        }
        "createSettlement" => {
            let settlement = operations::settle(world, settings, &body.batches, &asked)?;
            let path = format!("/settlements/{}", settlement.id);
            Ok(told(world, &settlement, 201)?.with("location", path))
        }
        "completeSettlement" => {
            let settlement = operations::complete(world, settings, id(request), &asked)?;
            told(world, &settlement, 200)
        }
        "abortSettlement" => {
            let settlement = operations::abort(world, settings, id(request), &asked)?;
            told(world, &settlement, 200)
        }
        other => unknown(other),
    })
}

/// A settlement with the beginning of its matrix; status 202 while it is working.
fn told(world: &mut impl World, settlement: &Settlement, status: u16) -> Result<Answer, Problem> {
    let mut told = views::settlement(settlement);
    told["matrix"] = json!(views::matrix(world, settlement, &Paging::of(&[])?)?);
    let status = if settlement.state.is_working() {
        202
    } else {
        status
    };
    Ok(Answer::json(status, &told).with("etag", version::tag(settlement.version)))
}

fn models(settings: &Settings) -> Value {
    json!({
        "settlementModel": settings.settlement_model,
        "models": settings.models(),
        "rules": settings.rules,
    })
}

fn list_batches(world: &mut impl World, query: &[(String, String)]) -> Result<Answer, Problem> {
    let wanted =
        |name: &str, value: &str| parameter(query, name).is_none_or(|wanted| wanted == value);
    let time = |name: &str| parameter(query, name).and_then(|text| text.parse::<u64>().ok());
    let (from, to) = (time("from"), time("to"));
    let participant = parameter(query, "participant").map(str::to_owned);
    let keep = |world: &mut _, _: &str, batch: Batch| {
        let state = json!(batch.state);
        let fits = wanted("state", state.as_str().unwrap_or_default())
            && wanted("model", &batch.model)
            && wanted("currency", &batch.currency)
            && from.is_none_or(|from| from <= batch.opened_at)
            && to.is_none_or(|to| batch.opened_at < to);
        let is_member = |participant: &String| {
            let id = crate::batches::member_id(&batch.id, participant);
            crate::batches::MEMBERS.within(world).get(&id).is_some()
        };
        (fits && participant.as_ref().is_none_or(is_member)).then_some(batch)
    };
    let batches: Items<Batch> = Paging::of(query)?.fill(world, &BATCHES, "", keep)?;
    Ok(Answer::json(200, &batches))
}

fn list_settlements(world: &mut impl World, query: &[(String, String)]) -> Result<Answer, Problem> {
    let keep = |_: &mut _, _: &str, settlement: Settlement| {
        let state = json!(settlement.state);
        let fits =
            |name: &str, value: &str| parameter(query, name).is_none_or(|wanted| wanted == value);
        let keeps =
            fits("state", state.as_str().unwrap_or_default()) && fits("model", &settlement.model);
        keeps.then(|| views::settlement(&settlement))
    };
    let settlements: Items<Value> = Paging::of(query)?.fill(world, &SETTLEMENTS, "", keep)?;
    Ok(Answer::json(200, &settlements))
}

/// The body of all changes. The OpenAPI document has validated its form.
#[derive(Debug, Deserialize)]
struct Body {
    #[serde(default)]
    batches: Vec<String>,
    reason: String,
}

fn body(request: &Request) -> Result<Body, Problem> {
    let text = request.body.as_deref().unwrap_or_default();
    serde_json::from_str(text)
        .map_err(|error| Problem::new(Kind::Malformed, format!("body: {error}")))
}

fn id(request: &Request) -> &str {
    parameter(&request.path_parameters, "id").unwrap_or_default()
}

fn unknown(operation: &str) -> Result<Answer, Problem> {
    Err(Problem::new(
        Kind::NotFound,
        format!("there is no operation {operation:?}"),
    ))
}

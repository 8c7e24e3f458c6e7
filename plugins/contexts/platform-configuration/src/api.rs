//! The operations over HTTP. The host has validated each request by `openapi.yaml`.
//!
//! | Who | May |
//! |---|---|
//! | `reader`, `context` | see schemas and current values, and which secrets are needed and set |
//! | `context` | publish the schema, the values and the needed secrets of the caller, and read its secrets |
//! | `admin` | set a secret |
//! | `checker` | decide a secret that another operator has set |

use rialto_sdk::auditing::Audited;
use rialto_sdk::operators::{
    Answer, Caller, Kind, Paging, Problem, Role as Needed, header, parameter,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use serde_json::json;

use crate::bindings::exports::rialto::host::http_handler::Request;
use crate::configurations::CONFIGURATIONS;
use crate::contexts::{Source, find, id, is_shown};
use crate::needs::{self, NEEDS, Needs};
use crate::programs::{self, Published};
use crate::secrets::{self, Decision, SecretView};
use crate::world::World;

/// The header that has an assertion of the caller.
const ASSERTION: &str = "x-client-assertion";

/// Answer a request.
pub fn answer<W: World>(world: &mut W, caller: &Caller, request: &Request) -> Answer {
    let answered = match request.operation_id.as_str() {
        "listConfigurationSchemas" | "getConfigurationSchema" => look(world, caller, request),
        "publishConfigurationSchema" | "publishConfigurationSchemaOf" => {
            publish(world, caller, request)
        }
        "listNeededSecrets" | "getNeededSecrets" => look_at_secrets(world, caller, request),
        "publishNeededSecrets" => publish_needs(world, caller, request),
        "setSecret" | "decideSecret" => change_secret(world, caller, request),
        "readSecretValues" => read_secrets(world, caller, request),
        _ => Err(Problem::new(Kind::NotFound, "there is no such operation")),
    };
    answered.unwrap_or_else(|problem| problem.answer())
}

fn look(world: &mut impl World, caller: &Caller, request: &Request) -> Result<Answer, Problem> {
    caller.needs_one_of(&[Needed::Reader, Needed::Context])?;
    let Some(context) = parameter(&request.path_parameters, "boundedContextId") else {
        let paging = Paging::of(&request.query_parameters)?;
        let page = paging.fill(world, &CONFIGURATIONS, "", |world, _, found| {
            is_shown(world, &CONFIGURATIONS, &found.context, found.source).then(|| found.view())
        })?;
        return Ok(Answer::json(200, &page));
    };
    let found = find(world, &CONFIGURATIONS, context).ok_or_else(|| unknown(context))?;
    Ok(Answer::json(200, &found.view()))
}

fn publish(world: &mut impl World, caller: &Caller, request: &Request) -> Result<Answer, Problem> {
    caller.needs(Needed::Context)?;
    let published: Published = body(request)?;
    let context = of_whom(caller, request, published.bounded_context_id.as_deref())?;
    let (configuration, is_new) = programs::publish(world, caller, &context, published)?;
    let path = format!("/config/schemas/{context}");
    let status = if is_new { 201 } else { 200 };
    Ok(Answer::json(status, &configuration.view()).with("location", path))
}

/// Which secrets a context needs, and how they stand.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NeedsView {
    bounded_context_id: String,
    version: u32,
    source: Source,
    #[serde(skip_serializing_if = "Option::is_none")]
    release: Option<u64>,
    published_at: u64,
    secrets: Vec<SecretView>,
}

fn view(world: &mut impl World, needs: Needs) -> NeedsView {
    NeedsView {
        secrets: secrets::views(world, &needs),
        bounded_context_id: needs.context,
        version: needs.version,
        source: needs.source,
        release: needs.release,
        published_at: needs.published_at,
    }
}

fn look_at_secrets<W: World>(
    world: &mut W,
    caller: &Caller,
    request: &Request,
) -> Result<Answer, Problem> {
    caller.needs_one_of(&[Needed::Reader, Needed::Context])?;
    let Some(context) = parameter(&request.path_parameters, "boundedContextId") else {
        let paging = Paging::of(&request.query_parameters)?;
        let page = paging.fill(world, &NEEDS, "", |world: &mut W, _, found| {
            let is_shown = is_shown(world, &NEEDS, &found.context, found.source);
            is_shown.then(|| view(world, found))
        })?;
        return Ok(Answer::json(200, &page));
    };
    let found = find(world, &NEEDS, context).ok_or_else(|| needless(context))?;
    Ok(Answer::json(200, &view(world, found)))
}

fn publish_needs(
    world: &mut impl World,
    caller: &Caller,
    request: &Request,
) -> Result<Answer, Problem> {
    caller.needs(Needed::Context)?;
    let published: needs::Published = body(request)?;
    let context = of_whom(caller, request, published.bounded_context_id.as_deref())?;
    let (needs, is_new) = needs::publish(world, caller, &context, published)?;
    let path = format!("/config/secrets/{context}");
    let status = if is_new { 201 } else { 200 };
    Ok(Answer::json(status, &view(world, needs)).with("location", path))
}

#[derive(Deserialize)]
struct Decided {
    id: String,
    decision: Decision,
}

/// Neither answer has the value.
fn change_secret(
    world: &mut impl World,
    caller: &Caller,
    request: &Request,
) -> Result<Answer, Problem> {
    let of_path = |name| parameter(&request.path_parameters, name).unwrap_or_default();
    let secret = (of_path("boundedContextId"), of_path("name"));
    if request.operation_id == "setSecret" {
        caller.needs(Needed::Admin)?;
        let waiting = secrets::set(world, caller, secret, body(request)?)?;
        return Ok(Answer::json(202, &waiting).with("cache-control", "no-store"));
    }
    caller.needs(Needed::Checker)?;
    let Decided { id, decision } = body(request)?;
    let decided = secrets::decide(world, caller, secret, &id, decision)?;
    Ok(Answer::json(200, &decided).with("cache-control", "no-store"))
}

/// All secrets of a context that were set.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SecretValues {
    bounded_context_id: String,
    version: u32,
    secrets: Vec<secrets::Values>,
}

/// The owner alone is told: an operator of the context's name, who has signed with the context's registered key.
fn read_secrets(
    world: &mut impl World,
    caller: &Caller,
    request: &Request,
) -> Result<Answer, Problem> {
    caller.needs(Needed::Context)?;
    let context = parameter(&request.path_parameters, "boundedContextId").unwrap_or_default();
    if caller.name != context {
        let detail = format!(
            "the secrets of `{context}` are told to `{context}` alone, and the caller is `{}`",
            caller.name
        );
        return Err(Problem::new(Kind::ContextForeign, detail));
    }
    let Some(assertion) = header(&request.headers, ASSERTION) else {
        let detail = format!(
            "send an assertion that is signed with the registered key of `context/{context}` in the header `{ASSERTION}`"
        );
        return Err(Problem::new(Kind::SignatureRefused, detail));
    };
    let refused = |why: String| Problem::new(Kind::SignatureRefused, why);
    let subject = world.verify_assertion(assertion).map_err(refused)?;
    if subject != format!("context/{context}") {
        return Err(refused(format!(
            "the key is of `{subject}`, not of `context/{context}`"
        )));
    }
    let of_program = NEEDS.within(world).get(&id(context, Source::Program));
    let needs = of_program.ok_or_else(|| needless(context))?;
    let values = SecretValues {
        bounded_context_id: context.to_owned(),
        version: needs.version,
        secrets: secrets::values(world, &needs)?,
    };
    let about = format!("secrets:{context}");
    world.audit(&Audited::done("secrets.read", about, json!({})));
    Ok(Answer::json(200, &values).with("cache-control", "no-store"))
}

fn needless(context: &str) -> Problem {
    let detail = format!(
        "nobody has published secrets that `{context}` needs: GET /config/secrets/ lists all. A program publishes its own with POST /config/secrets/, as the operator `{context}` with the role `context`"
    );
    Problem::new(Kind::ContextUnknown, detail)
}

/// The context of the path, of the body, or else the caller.
fn of_whom(caller: &Caller, request: &Request, said: Option<&str>) -> Result<String, Problem> {
    let of_path = parameter(&request.path_parameters, "boundedContextId");
    if let (Some(of_path), Some(said)) = (of_path, said)
        && of_path != said
    {
        let detail = format!("the path names `{of_path}`, and the body `{said}`");
        return Err(Problem::new(Kind::Malformed, detail));
    }
    Ok(of_path.or(said).unwrap_or(&caller.name).to_owned())
}

fn unknown(context: &str) -> Problem {
    let detail = format!(
        "nobody has published a configuration of `{context}`: GET /config/schemas/ lists all. A program publishes its own with POST /config/schemas/{context}, as the operator `{context}` with the role `context`"
    );
    Problem::new(Kind::ContextUnknown, detail)
}

/// The reader's message names members and never shows their values.
fn body<T: DeserializeOwned>(request: &Request) -> Result<T, Problem> {
    let body = request.body.as_deref().unwrap_or_default();
    serde_json::from_str(body).map_err(|error| {
        let detail = format!(
            "the body is not of the form of this operation, at column {}",
            error.column()
        );
        Problem::new(Kind::Malformed, detail)
    })
}

//! The operations over HTTP, with the roles that they need. The host has validated each request by `openapi.yaml`.
//!
//! | Who | May |
//! |---|---|
//! | `reader` | see definitions, keys, providers and FIDO credentials |
//! | `admin` | define keys, make them, load them, hand them out, change their states; have TLS files read again |
//! | `maker`, `checker` | ask for another provider, and decide that; either revokes a FIDO credential |
//! | `context` | use its own keys; hashes, verifying, random numbers; FIDO2 of its own users |

use rialto_sdk::documents::Collection;
use rialto_sdk::operators::idempotency::{Sent, once};
use rialto_sdk::operators::{Answer, Caller, Kind, Paging, Problem, Role, parameter};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::adapters;
use crate::bindings::exports::rialto::host::http_handler::Request;
use crate::definitions::{self, DEFINITIONS};
use crate::destroying::{Told, told};
use crate::fido::{self, credentials};
use crate::keys::{self, KEYS};
use crate::making;
use crate::termination;
use crate::using;
use crate::words::Family;
use crate::world::World;

/// Answer a request.
pub fn answer<W: World>(world: &mut W, caller: &Caller, request: &Request) -> Answer {
    let answered = match (request.method.as_str(), roles(request)) {
        ("GET", _) => look(world, caller, request),
        (_, []) => used(world, caller, request),
        (_, roles) => changed(world, caller, roles, request),
    };
    answered.unwrap_or_else(|problem| problem.answer())
}

fn look(world: &mut impl World, caller: &Caller, request: &Request) -> Result<Answer, Problem> {
    caller.needs(Role::Reader)?;
    let id = id(request);
    match request.operation_id.as_str() {
        "listKeyDefinitions" => list(world, request, &DEFINITIONS, |_, definition| definition),
        "getKeyDefinition" => Ok(Answer::json(200, &definitions::known(world, id)?)),
        "listKeys" => list(world, request, &KEYS, told),
        "getKey" => {
            let key = keys::known(world, id)?;
            Ok(Answer::json(200, &told(world, key)))
        }
        "getCryptoAdapter" => Ok(Answer::json(200, &adapters::view(world))),
        "getTls" => Ok(Answer::json(200, &termination::view(world))),
        "listFidoCredentials" => {
            let page = credentials::list(world, &request.query_parameters)?;
            Ok(Answer::json(200, &page))
        }
        "getFidoCredential" => Ok(Answer::json(200, &credentials::get(world, id)?)),
        other => unknown(other),
    }
}

fn list<W: World, T: DeserializeOwned, V: Serialize>(
    world: &mut W,
    request: &Request,
    collection: &Collection<T>,
    told: impl Fn(&mut W, T) -> V,
) -> Result<Answer, Problem> {
    let paging = Paging::of(&request.query_parameters)?;
    let told = |world: &mut W, _: &str, document| Some(told(world, document));
    let page = paging.fill(world, collection, "", told)?;
    Ok(Answer::json(200, &page))
}

/// The roles of which an operation that changes something needs one; none for those of programs.
fn roles(request: &Request) -> &'static [Role] {
    match request.operation_id.as_str() {
        "defineKey" | "generateAesKey" | "generateEccKey" | "generatePem" | "loadKey"
        | "changeKeyState" | "readTlsAgain" => &[Role::Admin],
        "setCryptoAdapter" => &[Role::Maker],
        "decideCryptoAdapter" => &[Role::Checker],
        // To stop somebody must be quick: either role will do.
        "revokeFidoCredential" => &[Role::Maker, Role::Checker],
        _ => &[],
    }
}

fn changed<W: World>(
    world: &mut W,
    caller: &Caller,
    roles: &[Role],
    request: &Request,
) -> Result<Answer, Problem> {
    caller.needs_one_of(roles)?;
    let sent = Sent {
        caller,
        method: &request.method,
        path: &request.path,
        headers: &request.headers,
        body: request.body.as_deref(),
        now: world.now(),
    };
    if handed_out(request).is_some() {
        // The answer has a private key, though encrypted, so it is not kept. A repeat makes another pair.
        return change(world, caller, request);
    }
    once(world, &sent, |world| change(world, caller, request))
}

fn change(world: &mut impl World, caller: &Caller, request: &Request) -> Result<Answer, Problem> {
    match request.operation_id.as_str() {
        "defineKey" => {
            let made = definitions::define(world, caller, body(request)?)?;
            let path = format!("/kms-key-definition/{}", made.id);
            Ok(Answer::json(201, &made).with("location", path))
        }
        "generateAesKey" => generated(world, caller, request, &[Family::Secret]),
        "generateEccKey" => generated(world, caller, request, &[Family::Curve]),
        "generatePem" => match handed_out(request) {
            Some((asked, receiver)) => {
                let algorithm = serde_json::from_value(asked["algorithm"].clone());
                let algorithm = algorithm.map_err(|_| {
                    let detail = "a key pair for a `receiver` needs `algorithm`";
                    Problem::new(Kind::Malformed, detail)
                })?;
                let made = making::hand_out(world, algorithm, &receiver)?;
                Ok(Answer::json(201, &made))
            }
            None => generated(world, caller, request, &[Family::Rsa, Family::Curve]),
        },
        "loadKey" => {
            let asked: Value = body(request)?;
            let member = |name| text(&asked, name).unwrap_or_default();
            let (definition, unwraps) = (member("definition"), member("unwrappingKey"));
            let loaded = making::load(world, caller, definition, unwraps, member("wrapped"))?;
            Ok(made(told(world, loaded)))
        }
        "changeKeyState" => {
            let asked: Value = body(request)?;
            let state = serde_json::from_value(asked["state"].clone());
            let state = state.map_err(|error| malformed(&error))?;
            let changed = keys::change(world, caller, id(request), state)?;
            Ok(Answer::json(200, &told(world, changed)))
        }
        "readTlsAgain" => Ok(Answer::json(200, &termination::read_again(world))),
        "setCryptoAdapter" => {
            let asked: Value = body(request)?;
            let provider = text(&asked, "provider").unwrap_or_default().to_owned();
            let asked = adapters::ask(world, caller, provider)?;
            Ok(Answer::json(202, &asked))
        }
        "decideCryptoAdapter" => {
            let asked: Value = body(request)?;
            let decision = serde_json::from_value(asked["decision"].clone());
            let decision = decision.map_err(|error| malformed(&error))?;
            let decided = adapters::decide(world, caller, id(request), decision)?;
            Ok(Answer::json(200, &decided))
        }
        "revokeFidoCredential" => {
            let revoked = credentials::revoke(world, caller, id(request))?;
            Ok(Answer::json(200, &revoked))
        }
        other => unknown(other),
    }
}

/// The receiver of a request for a key pair that is handed out, with the request's body.
fn handed_out(request: &Request) -> Option<(Value, String)> {
    if request.operation_id != "generatePem" {
        return None;
    }
    let asked: Value = body(request).ok()?;
    let receiver = text(&asked, "receiver")?.to_owned();
    Some((asked, receiver))
}

fn generated(
    world: &mut impl World,
    caller: &Caller,
    request: &Request,
    families: &[Family],
) -> Result<Answer, Problem> {
    let asked: Value = body(request)?;
    let definition = text(&asked, "definition").ok_or_else(|| {
        Problem::new(Kind::Malformed, "`definition` says which key is to be made")
    })?;
    let key = making::generate(world, caller, definition, families)?;
    Ok(made(told(world, key)))
}

fn made(key: Told) -> Answer {
    let path = format!("/kms-keys/{}", key.id());
    Answer::json(201, &key).with("location", path)
}

/// What programs do. No answer may be kept on its way. All but FIDO2 stores nothing.
fn used(world: &mut impl World, caller: &Caller, request: &Request) -> Result<Answer, Problem> {
    caller.needs(Role::Context)?;
    let answer = match request.operation_id.as_str() {
        "generateRandomNumber" => {
            let asked: Value = body(request)?;
            let count = asked["bytes"]
                .as_u64()
                .and_then(|count| u32::try_from(count).ok());
            using::random(world, caller, count.unwrap_or(0))?
        }
        "generateHash" => using::hash(world, caller, &body(request)?)?,
        "generateSignature" => using::sign(world, caller, &body(request)?)?,
        "verifySignature" => using::verify(world, caller, &body(request)?)?,
        "encrypt" => json!(using::encrypt(world, caller, &body(request)?)?),
        "decrypt" => json!(using::decrypt(world, caller, &body(request)?)?),
        "translatePin" => using::translate(world, caller, &body(request)?)?,
        "verifyToken" => {
            let asked: Value = body(request)?;
            using::verify_token(world, caller, text(&asked, "token").unwrap_or_default())?
        }
        "fidoRegister" => return fido::http::register(world, caller, body(request)?),
        "fidoAuthenticate" => return fido::http::authenticate(world, caller, body(request)?),
        "fidoAuthorize" => return fido::http::authorize(world, caller, body(request)?),
        other => return unknown(other),
    };
    Ok(Answer::json(200, &answer).with("cache-control", "no-store"))
}

fn id(request: &Request) -> &str {
    parameter(&request.path_parameters, "id").unwrap_or_default()
}

fn text<'a>(body: &'a Value, member: &str) -> Option<&'a str> {
    body.get(member).and_then(Value::as_str)
}

fn body<T: DeserializeOwned>(request: &Request) -> Result<T, Problem> {
    let body = request.body.as_deref().unwrap_or("{}");
    serde_json::from_str(body).map_err(|error| malformed(&error))
}

/// The reader's message names members and never shows their values.
fn malformed(error: &serde_json::Error) -> Problem {
    let detail = format!(
        "the body is not of the form of this operation, at column {}",
        error.column()
    );
    Problem::new(Kind::Malformed, detail)
}

fn unknown(operation: &str) -> Result<Answer, Problem> {
    Err(Problem::new(
        Kind::NotFound,
        format!("there is no operation `{operation}`"),
    ))
}

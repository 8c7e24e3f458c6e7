//! The control API: how another process drives an FSP.
//!
//! | Method and path | Meaning |
//! |---|---|
//! | `POST /_control/payments` | pays; a [`PaymentRequest`] in, a [`super::PaymentOutcome`] out when it is finished |
//! | `POST /_control/associate` | announces parties to the switch; an [`AssociationOrder`] in |
//! | `GET /_control/messages` | the recording, one JSON object a line |
//! | `DELETE /_control/messages` | forgets the recording |
//! | `PUT /_control/recording` | `{"on": true}` or `{"on": false}` |
//! | `PUT /_control/behaviour` | a new [`Behaviour`](crate::Behaviour) |
//! | `PUT /_control/hub` | `{"url": "http://…"}`: where the switch is |
//! | `GET /_control/state` | the FSP's id, parties, behaviour and counts |

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Response, StatusCode};
use http_body_util::Full;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::server::json_response;
use super::{Inner, PaymentRequest};
use crate::ids::PartyId;

/// The prefix of the control API's paths.
pub const CONTROL_PREFIX: &str = "/_control/";

/// Which parties to announce to the switch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct AssociationOrder {
    /// The parties; all that the settings name if empty.
    pub parties: Vec<PartyId>,
    /// The currency that the association is for, if it is for one.
    pub currency: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Recording {
    on: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hub {
    url: String,
}

type Answer = Result<Response<Full<Bytes>>, Infallible>;

/// Answers a request of the control API. `path` has no prefix.
pub(super) async fn answer(fsp: &Arc<Inner>, method: &Method, path: &str, body: &Bytes) -> Answer {
    match (method.as_str(), path) {
        ("POST", "payments") => match parsed::<PaymentRequest>(body) {
            Ok(request) => written(&fsp.pay(&request).await),
            Err(text) => refused(StatusCode::BAD_REQUEST, &text),
        },
        ("POST", "associate") => match parsed::<AssociationOrder>(body) {
            Ok(order) => associate(fsp, &order).await,
            Err(text) => refused(StatusCode::BAD_REQUEST, &text),
        },
        ("GET", "messages") => {
            let mut lines = Vec::new();
            for message in fsp.recorder.messages() {
                if serde_json::to_writer(&mut lines, &message).is_ok() {
                    lines.push(b'\n');
                }
            }
            json_response(StatusCode::OK, lines)
        }
        ("DELETE", "messages") => {
            fsp.recorder.clear();
            json_response(StatusCode::NO_CONTENT, "")
        }
        ("PUT", "recording") => match parsed::<Recording>(body) {
            Ok(recording) => {
                fsp.recorder.switch(recording.on);
                json_response(StatusCode::NO_CONTENT, "")
            }
            Err(text) => refused(StatusCode::BAD_REQUEST, &text),
        },
        ("PUT", "behaviour") => match parsed(body) {
            Ok(behaviour) => {
                *fsp.behaviour.write() = Arc::new(behaviour);
                json_response(StatusCode::NO_CONTENT, "")
            }
            Err(text) => refused(StatusCode::BAD_REQUEST, &text),
        },
        ("PUT", "hub") => {
            let hub = parsed::<Hub>(body)
                .and_then(|hub| hub.url.parse().map_err(|error| format!("{error}")));
            match hub {
                Ok(hub) => {
                    *fsp.hub.write() = Some(Arc::new(hub));
                    json_response(StatusCode::NO_CONTENT, "")
                }
                Err(text) => refused(StatusCode::BAD_REQUEST, &text),
            }
        }
        ("GET", "state") => written(&state(fsp)),
        _ => refused(
            StatusCode::NOT_FOUND,
            &format!("no {method} /_control/{path} here"),
        ),
    }
}

/// Announces parties one after the other; stops at the first failure.
async fn associate(fsp: &Arc<Inner>, order: &AssociationOrder) -> Answer {
    let parties = if order.parties.is_empty() {
        &fsp.settings.parties
    } else {
        &order.parties
    };
    for (done, party) in parties.iter().enumerate() {
        if let Err(failure) = fsp.associate(party, order.currency.as_deref()).await {
            return written(&json!({ "associated": done, "party": party, "failure": failure }));
        }
    }
    written(&json!({ "associated": parties.len() }))
}

fn state(fsp: &Inner) -> serde_json::Value {
    let mut parties: Vec<String> = fsp.parties.read().iter().cloned().collect();
    parties.sort();
    json!({
        "id": fsp.settings.id,
        "hub": fsp.hub.read().as_ref().map(|hub| hub.to_string()),
        "parties": parties,
        "behaviour": *fsp.behaviour(),
        "recording": fsp.recorder.is_on(),
        "received": fsp.counts.read(),
    })
}

/// Reads a body; none at all stands for an empty object.
fn parsed<T: DeserializeOwned>(body: &Bytes) -> Result<T, String> {
    let body: &[u8] = if body.is_empty() { b"{}" } else { body };
    serde_json::from_slice(body).map_err(|error| error.to_string())
}

fn written(value: &impl Serialize) -> Answer {
    match serde_json::to_vec(value) {
        Ok(body) => json_response(StatusCode::OK, body),
        Err(error) => refused(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

fn refused(status: StatusCode, text: &str) -> Answer {
    json_response(status, json!({ "error": text }).to_string())
}

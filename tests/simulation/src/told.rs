//! Messages to FSPs, in a form for comparison.

use std::fmt;

use rialto_engine::Trace;
use rialto_engine::network::OutboundRequest;
use serde_json::Value;

use crate::saying::Message;
use crate::time::date_time;

/// The hub's own id.
const HUB: &str = "Hub";

/// The contents of one message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Told {
    /// Another FSP's message, byte for byte: its number.
    Forward(u64),
    /// The hub says the state.
    State {
        /// PUT or PATCH.
        method: &'static str,
        /// FSPIOP's word.
        state: &'static str,
        /// The fulfilment, if it is said.
        fulfilment: Option<String>,
        /// When the transfer was completed, in milliseconds since 1970, if it is said.
        completed: Option<u64>,
    },
    /// The hub says that the transfer is aborted, why and when.
    Aborted {
        /// PUT or PATCH.
        method: &'static str,
        /// FSPIOP's code.
        code: String,
        /// In milliseconds since 1970.
        at: u64,
    },
    /// The hub's PUT …/error.
    Error {
        /// FSPIOP's code.
        code: String,
    },
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forward(number) => write!(f, "message {number} as it was said"),
            Self::State {
                method,
                state,
                fulfilment,
                completed,
            } => {
                write!(f, "{method} {state}")?;
                if let Some(fulfilment) = fulfilment {
                    write!(f, ", fulfilment {fulfilment}")?;
                }
                match completed {
                    Some(at) => write!(f, ", completed {}", date_time(*at)),
                    None => Ok(()),
                }
            }
            Self::Aborted { method, code, at } => {
                let at = date_time(*at);
                write!(f, "{method} ABORTED because of {code}, completed {at}")
            }
            Self::Error { code } => write!(f, "PUT error {code}"),
        }
    }
}

/// An expected message to an FSP.
#[derive(Clone, Debug)]
pub struct Notice {
    /// The message that is the cause.
    pub cause: u64,
    /// The transfer.
    pub about: String,
    /// The FSP.
    pub to: String,
    /// What.
    pub told: Told,
    /// The hub's substitute if this cannot be delivered.
    pub instead: Option<Told>,
    /// Whether no transfer existed yet that could store its outcome.
    pub is_unrecorded: bool,
}

/// Which message of an FSP caused this request: its trace says so.
pub fn cause(request: &OutboundRequest) -> u64 {
    let trace = Trace::parse(&request.traceparent).unwrap_or_default();
    u64::try_from(trace.id).unwrap_or_default()
}

/// The request as a [`Told`], as text; or its problem.
pub fn of_request(request: &OutboundRequest, path: &str, to: &str, messages: &[Message]) -> String {
    let source = header(request, "fspiop-source");
    if header(request, "fspiop-destination") != to {
        return format!("a message for {:?}", header(request, "fspiop-destination"));
    }
    let body = request.body.as_deref().unwrap_or_default();
    if source != HUB {
        let number = cause(request);
        let place = usize::try_from(number).unwrap_or_default().checked_sub(1);
        let Some(said) = place.and_then(|place| messages.get(place)) else {
            return format!("a message of {source} that nobody said");
        };
        let same = said.fsp() == source
            && (said.method, said.path.as_str(), said.body.as_str())
                == (request.method.as_str(), path, body)
            && said.headers()["date"].as_bytes() == header(request, "date").as_bytes();
        return if same {
            Told::Forward(number).to_string()
        } else {
            format!("message {number} changed: {} {path} {body}", request.method)
        };
    }
    of_hub(&request.method, path, body)
        .unwrap_or_else(|| format!("{} {path} {body}", request.method))
}

fn header<'a>(request: &'a OutboundRequest, name: &str) -> &'a str {
    let found = request.headers.iter().find(|(n, _)| n == name);
    found.map_or("", |(_, value)| value.as_str())
}

/// The contents of a message of the hub; none if the hub may not send it.
fn of_hub(method: &str, path: &str, body: &str) -> Option<String> {
    let body: Value = serde_json::from_str(body).ok()?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if path.ends_with("/error") {
        let error = &body["errorInformation"];
        let code = text(&error["errorCode"])?;
        let described = error["errorDescription"]
            .as_str()
            .is_some_and(|d| !d.is_empty());
        return (method == "PUT" && described).then(|| Told::Error { code }.to_string());
    }
    let state = text(&body["transferState"])?;
    if state == "ABORTED" {
        let completed = body["completedTimestamp"].as_str()?;
        let extension = &body["extensionList"]["extension"][0];
        let cause = extension["value"].as_str()?;
        let (code, _) = cause.split_once(':')?;
        let is_cause = extension["key"] == "cause" && body["fulfilment"].is_null();
        let said = format!("{method} ABORTED because of {code}, completed {completed}");
        return is_cause.then_some(said);
    }
    let mut said = format!("{method} {state}");
    for (name, label) in [
        ("fulfilment", "fulfilment"),
        ("completedTimestamp", "completed"),
    ] {
        if let Some(value) = text(&body[name]) {
            said.push_str(&format!(", {label} {value}"));
        }
    }
    Some(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_reads_as_what_must_be_said() {
        let error = r#"{"errorInformation":{"errorCode":"3303","errorDescription":"x"}}"#;
        let code = "3303".to_owned();
        assert_eq!(
            of_hub("PUT", "/transfers/t/error", error),
            Some(Told::Error { code: code.clone() }.to_string())
        );
        let aborted = r#"{"completedTimestamp":"1970-01-01T00:00:00.001Z","transferState":"ABORTED","extensionList":{"extension":[{"key":"cause","value":"3303: x"}]}}"#;
        for method in ["PUT", "PATCH"] {
            let code = code.clone();
            assert_eq!(
                of_hub(method, "/transfers/t", aborted),
                Some(
                    Told::Aborted {
                        method,
                        code,
                        at: 1
                    }
                    .to_string()
                )
            );
        }
        let without =
            r#"{"completedTimestamp":"1970-01-01T00:00:00.001Z","transferState":"ABORTED"}"#;
        assert_eq!(of_hub("PUT", "/transfers/t", without), None);
        let put = r#"{"fulfilment":"f","completedTimestamp":"1970-01-01T00:00:00.001Z","transferState":"COMMITTED"}"#;
        let state = Told::State {
            method: "PUT",
            state: "COMMITTED",
            fulfilment: Some("f".into()),
            completed: Some(1),
        };
        assert_eq!(of_hub("PUT", "/transfers/t", put), Some(state.to_string()));
        assert_eq!(of_hub("PUT", "/transfers/t", "{}"), None);
    }
}

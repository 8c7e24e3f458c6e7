//! What an FSP sends, and that the host takes it or refuses it at once.

use anyhow::{Context as _, Result, ensure};
use http::Method;
use rialto_simulator::client::Answer;
use rialto_simulator::fsp::RawRequest;
use rialto_simulator::jws::Signer;
use rialto_simulator::{Direction, Recorded};
use serde_json::{Value, json};

use crate::compare::{TEXT, same};
use crate::stage::Stage;

/// A message of an FSP in the making. It begins with the headers that a sound one has.
pub struct Ask<'a> {
    stage: &'a Stage,
    fsp: &'a str,
    method: Method,
    path: String,
    request: RawRequest<'a>,
}

impl<'a> Ask<'a> {
    /// A message of this FSP with the headers of a sound one.
    pub(crate) fn new(stage: &'a Stage, fsp: &'a str, method: Method, path: &str) -> Self {
        Self {
            stage,
            fsp,
            request: stage.world.fsp(fsp).raw(method.clone(), path),
            method,
            path: path.to_owned(),
        }
    }

    /// Set a header in place of the one that is there.
    #[must_use]
    pub fn header(self, name: &str, value: &str) -> Self {
        let request = self.request.header(name, value);
        Self { request, ..self }
    }

    /// Add a line of a header to those that are there.
    #[must_use]
    pub fn and_header(self, name: &str, value: &str) -> Self {
        let request = self.request.and_header(name, value);
        Self { request, ..self }
    }

    /// Leave a header out.
    #[must_use]
    pub fn without(self, name: &str) -> Self {
        let request = self.request.without(name);
        Self { request, ..self }
    }

    /// Say whom it is for.
    #[must_use]
    pub fn to(self, destination: &str) -> Self {
        let request = self.request.to(destination);
        Self { request, ..self }
    }

    /// Give it this JSON, with spaces and line ends that no computer would write.
    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.body(format!(" {body:#}\r\n").into_bytes())
    }

    /// Sets this body, valid or not.
    #[must_use]
    pub fn body(self, body: Vec<u8>) -> Self {
        let request = self.request.body(body);
        Self { request, ..self }
    }

    /// Signs it in its current form. Later changes break the signature.
    #[must_use]
    pub fn signed(self, signer: &Signer) -> Self {
        let request = self.request.signed_by(signer);
        Self { request, ..self }
    }

    /// Sends it to another path. The signature does not change.
    #[must_use]
    pub fn onto(self, path: &str) -> Self {
        let request = self.request.onto(path);
        let path = path.to_owned();
        Self {
            request,
            path,
            ..self
        }
    }

    /// Sends it and expects the host to accept it; a refusal may follow by a callback. Returns the message as
    /// sent.
    ///
    /// # Errors
    /// When the host does not take it.
    pub async fn accepted(self) -> Result<Recorded> {
        let Self {
            stage,
            fsp,
            method,
            path,
            request,
        } = self;
        let answer = request.send().await?;
        let expected = if method == Method::PUT { 200 } else { 202 };
        ensure!(
            answer.status.as_u16() == expected && answer.body.is_empty(),
            "{method} {path}: expected {expected} without a body, got {}: {}",
            answer.status,
            String::from_utf8_lossy(&answer.body)
        );
        media_type(&answer, &path, false)?;
        stage.took(&method, &path);
        let sent = stage.world.fsp(fsp).recorder().messages();
        let sent = sent.into_iter().rev().find(|message| {
            message.direction == Direction::Out && message.method == method && message.path == path
        });
        sent.with_context(|| format!("{method} {path} is not in the recording of {fsp}"))
    }

    /// Send it; the host refuses it at once with this status and error code. Gives the answer.
    ///
    /// # Errors
    /// When the host answers otherwise.
    pub async fn refused(self, status: u16, code: &str) -> Result<Answer> {
        let (method, path) = (self.method, self.path);
        let takes_json = self.request.value_of("accept").is_none_or(lists_json);
        let answer = self.request.send().await?;
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let found = (
            answer.status.as_u16(),
            &body["errorInformation"]["errorCode"],
        );
        ensure!(
            found == (status, &json!(code)),
            "{method} {path}: expected {status} {code}, got {} {body}",
            answer.status
        );
        media_type(&answer, &path, takes_json)?;
        self.stage.told_code(code);
        self.stage.tally().refused += 1;
        let description = &body["errorInformation"]["errorDescription"];
        same(description, &json!(TEXT), "the description of an error")?;
        Ok(answer)
    }
}

/// The media type of error bodies in the published document.
const JSON: &str = "application/json";

/// Whether an `Accept` takes JSON without a version.
fn lists_json(accept: &str) -> bool {
    let ranges = accept.split(',').map(|item| item.split(';').next());
    let mut ranges = ranges.map(|range| range.unwrap_or_default().trim());
    accept.is_empty() || ranges.any(|range| [JSON, "application/*", "*/*"].contains(&range))
}

/// The answer to a message about a resource is of that resource's media type, or in JSON if that is
/// what its sender takes of a refusal.
fn media_type(answer: &Answer, path: &str, is_json: bool) -> Result<()> {
    let resource = path.split(['/', '?']).nth(1).unwrap_or_default();
    let expected = match resource {
        "participants" | "parties" | "quotes" | "transfers" if !is_json => {
            format!("application/vnd.interoperability.{resource}+json;version=1.")
        }
        _ => JSON.to_owned(),
    };
    let found = answer.headers.get("content-type");
    let found = found.and_then(|value| value.to_str().ok());
    ensure!(
        found.is_some_and(|found| found.starts_with(&expected)),
        "{path} is answered with the type {found:?}, not {expected}"
    );
    Ok(())
}

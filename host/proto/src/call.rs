//! Converts one call: a request's bytes to the function's arguments, and the function's result to an answer's bytes or
//! a refusal. Values are in the JSON of [`codec`](crate::codec).
//!
//! A refusal has the form of Google's APIs: a code, a name, and a `google.rpc.Status` with a `google.rpc.ErrorInfo` and
//! the function's own typed error. A malformed request gets a `google.rpc.BadRequest` that names the field.

use serde_json::{Map, Value};

use crate::codec::wire::{put_counted, put_key, put_varint};
use crate::codec::{Codec, TypeMismatch, misfit};
use crate::model::{Form, Method};
use crate::status::{self, Code};

/// The prefix of a message's name in an `Any`.
const TYPE_URL: &str = "type.googleapis.com/";
/// The word for an error that has no cases.
const REFUSED: &str = "refused";

/// A refusal, sent instead of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// `grpc-status`
    pub code: Code,
    /// `grpc-message`
    pub message: String,
    /// `grpc-status-details-bin`
    pub details: Vec<u8>,
}

impl Codec {
    /// The arguments of a call, in the order of the function's parameters.
    ///
    /// # Errors
    /// As [`Codec::decode`].
    pub fn arguments(&self, method: &Method, bytes: &[u8]) -> Result<Vec<Value>, TypeMismatch> {
        let mut value = self.decode(&method.input, bytes)?;
        if self.message(&method.input)?.form != Form::Wrapper {
            return Ok(vec![value]);
        }
        let parameters = method.parameters.iter();
        let arguments = parameters.map(|name| value.get_mut(name).map_or(Value::Null, Value::take));
        Ok(arguments.collect())
    }

    /// The answer to a call, or the refusal, from the function's result.
    ///
    /// # Errors
    /// When the result does not fit the method's contract: the component has another contract.
    pub fn answer(
        &self,
        method: &Method,
        given: &Value,
    ) -> Result<Result<Vec<u8>, Refusal>, TypeMismatch> {
        let Some(error) = &method.error else {
            return self.wrapped(&method.output, "result", given).map(Ok);
        };
        if let Some(ok) = given.get("ok") {
            return self.wrapped(&method.output, "result", ok).map(Ok);
        }
        let err = given
            .get("err")
            .ok_or_else(|| misfit("is neither `ok` nor `err`"))?;
        let own = self.wrapped(error, "error", err)?;
        let case = match err {
            Value::String(case) => case.as_str(),
            Value::Object(object) if object.len() == 1 => {
                object.keys().next().map_or(REFUSED, String::as_str)
            }
            _ => REFUSED,
        };
        let info = error_info(&status::reason(case), domain(method));
        let details = [("google.rpc.ErrorInfo", &info), (error.as_str(), &own)];
        Ok(Err(refusal(status::code(case), case.to_owned(), &details)))
    }

    fn wrapped(&self, name: &str, field: &str, value: &Value) -> Result<Vec<u8>, TypeMismatch> {
        if self.message(name)?.form != Form::Wrapper {
            return self.encode(name, value);
        }
        let object = Map::from_iter([(field.to_owned(), value.clone())]);
        self.encode(name, &Value::Object(object))
    }
}

impl From<&TypeMismatch> for Refusal {
    fn from(misfit: &TypeMismatch) -> Self {
        // BadRequest { field_violations: [{ field, description }] }
        let mut violation = Vec::new();
        put_counted(&mut violation, 1, misfit.at.as_bytes());
        put_counted(&mut violation, 2, misfit.message.as_bytes());
        let mut bad = Vec::new();
        put_counted(&mut bad, 1, &violation);
        let details = [("google.rpc.BadRequest", &bad)];
        refusal(Code::InvalidArgument, misfit.to_string(), &details)
    }
}

/// The WIT package, without its version.
fn domain(method: &Method) -> &str {
    let interface = method.interface.split('/').next();
    interface.unwrap_or(&method.interface)
}

/// ErrorInfo { reason, domain }
fn error_info(reason: &str, domain: &str) -> Vec<u8> {
    let mut info = Vec::new();
    put_counted(&mut info, 1, reason.as_bytes());
    put_counted(&mut info, 2, domain.as_bytes());
    info
}

/// `grpc-status-details-bin` for a refusal that may be retried after so many seconds.
#[must_use]
pub fn try_again(code: i32, message: &str, seconds: u32) -> Vec<u8> {
    // RetryInfo { retry_delay: Duration { seconds } }
    let mut delay = Vec::new();
    put_key(&mut delay, 1, 0);
    put_varint(&mut delay, seconds.into());
    let mut info = Vec::new();
    put_counted(&mut info, 1, &delay);
    status_bytes(code, message, &[("google.rpc.RetryInfo", &info)])
}

fn refusal(code: Code, message: String, details: &[(&str, &Vec<u8>)]) -> Refusal {
    Refusal {
        details: status_bytes(code as i32, &message, details),
        code,
        message,
    }
}

/// Status { code, message, details: [Any { type_url, value }] }
fn status_bytes(code: i32, message: &str, details: &[(&str, &Vec<u8>)]) -> Vec<u8> {
    let mut status = Vec::new();
    put_key(&mut status, 1, 0);
    put_varint(&mut status, u64::from(code.unsigned_abs()));
    put_counted(&mut status, 2, message.as_bytes());
    for (name, bytes) in details {
        let mut any = Vec::new();
        put_counted(&mut any, 1, format!("{TYPE_URL}{name}").as_bytes());
        put_counted(&mut any, 2, bytes);
        put_counted(&mut status, 3, &any);
    }
    status
}

//! What google's clients read of a status: the messages of google.rpc, written down from their public
//! definitions.

use prost::Message;
use prost_types::Any;
use tonic::Status;

/// google.rpc.Status
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

/// google.rpc.ErrorInfo
#[derive(Clone, PartialEq, Message)]
pub struct ErrorInfo {
    /// Why, in one word.
    #[prost(string, tag = "1")]
    pub reason: String,
    /// Whose word.
    #[prost(string, tag = "2")]
    pub domain: String,
}

/// google.rpc.BadRequest.FieldViolation
#[derive(Clone, PartialEq, Message)]
pub struct FieldViolation {
    /// Where.
    #[prost(string, tag = "1")]
    pub field: String,
    /// What.
    #[prost(string, tag = "2")]
    pub description: String,
}

/// google.rpc.BadRequest
#[derive(Clone, PartialEq, Message)]
struct BadRequest {
    #[prost(message, repeated, tag = "1")]
    field_violations: Vec<FieldViolation>,
}

/// google.rpc.RetryInfo
#[derive(Clone, PartialEq, Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<prost_types::Duration>,
}

/// The details of a status.
#[derive(Clone, Debug, PartialEq)]
pub struct Details {
    details: Vec<Any>,
}

impl Details {
    /// Read them.
    ///
    /// # Panics
    /// When they are no `google.rpc.Status` with the status's own code and message.
    #[must_use]
    pub fn of(status: &Status) -> Self {
        if status.details().is_empty() {
            return Self {
                details: Vec::new(),
            };
        }
        let read = RpcStatus::decode(status.details()).expect("details are a google.rpc.Status");
        assert_eq!(read.code, status.code() as i32, "both say the same code");
        assert_eq!(read.message, status.message(), "both say the same message");
        Self {
            details: read.details,
        }
    }

    /// A detail by its message's full name.
    ///
    /// # Panics
    /// When its bytes are no such message.
    #[must_use]
    pub fn find<M: Message + Default>(&self, name: &str) -> Option<M> {
        let url = format!("type.googleapis.com/{name}");
        let found = self.details.iter().find(|any| any.type_url == url)?;
        Some(M::decode(found.value.as_slice()).expect("a detail is what it says that it is"))
    }

    /// Why, in one word.
    #[must_use]
    pub fn error_info(&self) -> Option<ErrorInfo> {
        self.find("google.rpc.ErrorInfo")
    }

    /// The problem of the request.
    #[must_use]
    pub fn violations(&self) -> Vec<FieldViolation> {
        let bad: Option<BadRequest> = self.find("google.rpc.BadRequest");
        bad.map(|bad| bad.field_violations).unwrap_or_default()
    }

    /// After how many seconds the same call may be made again.
    #[must_use]
    pub fn retry_seconds(&self) -> Option<i64> {
        let info: Option<RetryInfo> = self.find("google.rpc.RetryInfo");
        Some(info?.retry_delay?.seconds)
    }
}

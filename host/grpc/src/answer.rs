//! The statuses of calls that the component does not answer. A component's own refusal has the status of its name
//! ([`rialto_proto::status`]).

use bytes::Bytes;
use http::Response;
use rialto_engine::Failure;
use rialto_proto::Refusal;
use rialto_proto::call::try_again;
use tonic::body::Body;
use tonic::{Code, Status};

use crate::authorization::Denied;

/// The seconds after which a client may retry.
const RETRY_AFTER_SECONDS: u32 = 1;

/// The refusal of a component, or of a message.
pub fn refused(refusal: Refusal) -> Status {
    let code = Code::from(refusal.code as i32);
    Status::with_details(code, refusal.message, refusal.details.into())
}

/// The call had no effect, and the client may retry it.
pub fn unavailable(message: &str) -> Status {
    let code = Code::Unavailable;
    let details = try_again(code as i32, message, RETRY_AFTER_SECONDS);
    Status::with_details(code, message, Bytes::from(details))
}

/// The answer to a call that no host has answered. `may_repeat` says that nothing was done, so the client may call again.
#[must_use]
pub fn unanswered(message: &str, may_repeat: bool) -> Response<Body> {
    let status = if may_repeat {
        unavailable(message)
    } else {
        Status::unknown(message)
    };
    status.into_http()
}

/// The host is overloaded.
pub fn busy() -> Status {
    unavailable("the host has more work than it can take; nothing was done, try again")
}

/// The disk is nearly full.
pub fn full() -> Status {
    unavailable(
        "the host has too little disk space to begin anything; nothing was done, try again later",
    )
}

/// Another release became current during the call.
pub fn gone() -> Status {
    unavailable("another release has become current meanwhile; nothing was done, try again")
}

/// The client's time is over.
pub fn late() -> Status {
    Status::deadline_exceeded(
        "the time is over; the call may yet take effect, so make it again with the same ids",
    )
}

/// The request's message did not arrive in time.
pub fn unasked() -> Status {
    Status::deadline_exceeded("the time is over, and the question has not arrived")
}

/// The status of a failed turn.
pub fn failed(failure: &Failure) -> Status {
    match failure {
        Failure::Contention(_)
        | Failure::Refused
        | Failure::Shutdown
        | Failure::Away(_)
        | Failure::NotReady(_) => busy(),
        Failure::Expired => Status::deadline_exceeded("the time is over; nothing was done"),
        Failure::Store(_) => Status::unknown(
            "the host could not make sure that the call is kept; it may or may not have taken effect: \
             ask how things stand before you make it again",
        ),
        Failure::Handler { .. } => broken(),
    }
}

/// A component failed. Only operators see the reason; the trace leads to it.
pub fn broken() -> Status {
    Status::internal(
        "the call could not be handled and changed nothing; the operators find it by its trace",
    )
}

/// The client is not authorized.
pub fn denied(denied: Denied) -> Status {
    match denied {
        Denied::Unknown(what) => Status::unauthenticated(what),
        Denied::Lacks(what) => Status::permission_denied(what),
    }
}

/// The gRPC name of a status.
pub fn word(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_may_repeat_only_what_surely_did_not_happen() {
        let handler = Failure::Handler {
            component: "ledger".into(),
            reason: "inner words".into(),
        };
        for (failure, code, retry) in [
            (Failure::Contention(64), Code::Unavailable, true),
            (Failure::Shutdown, Code::Unavailable, true),
            (Failure::Expired, Code::DeadlineExceeded, false),
            (Failure::Store("disk".into()), Code::Unknown, false),
            (handler, Code::Internal, false),
        ] {
            let status = failed(&failure);
            assert_eq!(status.code(), code, "{failure}");
            assert_eq!(!status.details().is_empty(), retry, "{failure}");
            assert!(!status.message().contains("inner words"));
            assert!(!status.message().contains("disk"));
        }
        assert_eq!(
            denied(Denied::Unknown("w".into())).code(),
            Code::Unauthenticated
        );
        assert_eq!(
            denied(Denied::Lacks("w".into())).code(),
            Code::PermissionDenied
        );
    }

    #[test]
    fn each_status_has_its_own_word() {
        let words: std::collections::BTreeSet<_> = (0..=16).map(|n| word(Code::from(n))).collect();
        assert_eq!(words.len(), 17);
    }
}

//! The types of `http-handler`, under short names, for the edge.

pub use crate::bindings::exports::rialto::host::http_handler::{
    Caller, Request, RequestHead, Response, Violation, ViolationKind,
};

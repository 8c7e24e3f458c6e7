//! HTTP as the edge hands it to components: the types of `http-handler`, under short names.

pub use crate::bindings::exports::rialto::host::http_handler::{
    Caller, Request, RequestHead, Response, Violation, ViolationKind,
};

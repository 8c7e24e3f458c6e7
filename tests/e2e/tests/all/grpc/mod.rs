//! gRPC from outside, by clients that a standard tool made from the written files: every interface of the
//! catalogue's section E, who may call, statuses, deadlines, TLS, and effects of a new release.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod authn;
mod deadlines;
mod events;
mod fido;
mod raw;
mod refusals;
mod releases;
mod section_e;
mod served;
mod slow;
pub mod support;
mod tls;

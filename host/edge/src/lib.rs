//! HTTP in and out. Inbound: routes and validators are made from the components' own OpenAPI
//! documents, and what fits becomes a turn. Outbound: requests that are on disk are delivered with
//! retries. Only the operators' own API, in `rialto`, is served elsewhere.

pub mod api;
pub mod body;
mod documents;
pub mod exporter;
pub mod json;
pub mod openapi;
pub mod outbound;
mod page;
pub mod peers;
pub mod server;
pub mod service;
mod spans;
pub mod validate;

pub use api::Api;
pub use body::Memory;
pub use exporter::Exporter;
pub use outbound::{BreakerPolicy, Outbound, OutboundLimits, Standing};
pub use server::{Listener, ServerLimits};
pub use service::{Service, ServiceLimits};

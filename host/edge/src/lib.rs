//! HTTP, inbound and outbound.
//!
//! Inbound: requests are validated against the components' OpenAPI documents ([`rialto_openapi`]) and become
//! turns. Outbound: requests that are on disk are delivered with retries. The operators' own API is in the
//! crate `rialto`.

mod answer_tracking;
pub mod api;
pub mod authentication;
pub mod authorization;
pub mod body;
pub mod collector;
pub mod confirmation;
pub mod contained;
mod credentials;
pub mod denied;
mod documents;
pub mod exporter;
pub mod following;
mod found;
pub mod outbound;
pub mod pace;
mod page;
pub mod peers;
pub mod refusals;
pub mod revocations;
pub mod server;
pub mod service;
pub mod sources;
pub mod spans;
pub mod tokens;
mod violation;

pub use answer_tracking::AnswerGuard;
pub use api::{Api, Served};
pub use authentication::Authentication;
pub use body::{Memory, MemoryPermit};
pub use collector::Collector;
pub use exporter::Exporter;
pub use found::FoundApis;
pub use outbound::{
    BreakerPolicy, DestinationStatus, MaySend, NotSigned, Outbound, OutboundLimits, OwnSigner,
};
pub use pace::{Pace, Paced};
pub use peers::PeerAddress;
pub use refusals::{Refusals, Refused};
pub use revocations::Revocations;
pub use server::{Accepting, Admitted, Listener, ServerLimits};
pub use service::{Credential, Service, ServiceLimits};
pub use sources::Sources;
pub use tokens::Tokens;

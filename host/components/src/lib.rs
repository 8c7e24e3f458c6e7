//! Components, rules and releases: wasmtime behind WIT contracts.
//!
//! This is the only crate that uses wasmtime. It loads components, checks that a release's components fit each
//! other and their grants, and runs turns in them. It knows no bounded context: the imports and exports of a
//! component say what it is.
//!
//! Start reading at [`runtime::Runtime`] (a [`rialto_engine::Handler`]), then [`release`] and
//! [`link`].

mod activation;
pub mod arbitrary;
pub mod asking;
pub mod audit_log;
pub mod authority;
pub mod bindings;
pub mod cache;
pub mod canaries;
pub mod config;
pub mod counting;
mod deadline;
pub mod denials;
pub mod described;
pub mod digest;
mod drills;
pub mod earlier;
pub mod external_calls;
pub mod failures;
pub mod guest;
pub mod headers;
pub mod http;
pub mod instance;
pub mod introspect;
pub mod judges;
pub mod last_good;
pub mod link;
mod messages;
pub mod names;
pub mod next_release;
mod prepare;
pub mod problem;
pub mod published;
pub mod quarantine;
pub mod release;
mod remembered;
pub mod rules;
pub mod runtime;
pub mod spec;
mod spread;
pub mod steps;
pub mod stored;
pub mod surfaces;
pub mod suspensions;
pub mod tls;
mod turns;
pub mod values;
pub mod verdict_counts;
pub mod wasi;
pub mod what_if;
pub mod wiring;

pub use activation::{Activation, ComponentPrivileges, Privilege};
pub use described::{ComponentConfiguration, ConfigurationDescription, NeededSecret};
pub use digest::Digest;
pub use drills::{Drilled, DrilledFailure};
pub use failures::{Failings, FailureKind};
pub use release::{Member, Release};
pub use runtime::Runtime;
pub use spec::{
    CanarySpec, CanaryTerms, ComponentSpec, Effective, Failing, Grants, Isolation, Limits,
    QuarantineTerms, ReleaseSpec, Role, ShadowSpec, SignerSpec, StepSpec,
};
pub use spread::spread;
pub use steps::Unjudgeable;
pub use stored::StoredVerdict;
pub use surfaces::RULE_SURFACES;
pub use suspensions::Suspensions;

//! The host surfaces that components import: each file implements one interface of `wit/host`
//! over the turn that the component serves.

mod audit_log;
pub(crate) mod auditing;
mod caller;
mod certificates;
mod clock;
mod configuration;
mod crypto;
mod http;
mod judging;
mod keys;
mod logging;
mod random;
mod scheduling;
mod storage;
mod tls;
mod trace;

use rialto_engine::Interrupt;
use wasmtime::component::{HasSelf, Linker};

use crate::bindings::rialto::host;
use crate::guest::Guest;

/// Surfaces that a manifest can grant, by interface.
pub const SURFACES: [&str; 17] = [
    "audit-log",
    "auditing",
    "caller",
    "certificates",
    "clock",
    "configuration",
    "crypto",
    "http",
    "judging",
    "keys",
    "logging",
    "random",
    "scheduling",
    SECRETS,
    "storage",
    "tls",
    "trace",
];

/// The surface that another component provides: see [`crate::wiring::Target::Secrets`].
pub const SECRETS: &str = "secrets";

/// Surfaces that a rule can have. With these a verdict depends only on its input and settings.
pub const RULE_SURFACES: [&str; 3] = ["configuration", "logging", "trace"];

/// Link one surface.
///
/// # Errors
/// When there is no such surface.
pub fn link(linker: &mut Linker<Guest>, surface: &str) -> wasmtime::Result<()> {
    type HostData = HasSelf<Guest>;
    // An answer may be remembered (see `remembered`) if it used nothing but storage and configuration.
    match surface {
        "audit-log" => host::audit_log::add_to_linker::<_, HostData>(linker, Guest::acts),
        "auditing" => host::auditing::add_to_linker::<_, HostData>(linker, Guest::acts),
        "caller" => host::caller::add_to_linker::<_, HostData>(linker, Guest::acts),
        "certificates" => host::certificates::add_to_linker::<_, HostData>(linker, Guest::acts),
        "clock" => host::clock::add_to_linker::<_, HostData>(linker, Guest::acts),
        "configuration" => host::configuration::add_to_linker::<_, HostData>(linker, |guest| guest),
        "crypto" => host::crypto::add_to_linker::<_, HostData>(linker, Guest::acts),
        "http" => host::http::add_to_linker::<_, HostData>(linker, Guest::acts),
        "judging" => host::judging::add_to_linker::<_, HostData>(linker, Guest::acts),
        "keys" => host::keys::add_to_linker::<_, HostData>(linker, Guest::acts),
        "logging" => host::logging::add_to_linker::<_, HostData>(linker, Guest::acts),
        "random" => host::random::add_to_linker::<_, HostData>(linker, Guest::acts),
        "scheduling" => host::scheduling::add_to_linker::<_, HostData>(linker, Guest::acts),
        "storage" => storage::link(linker),
        "tls" => host::tls::add_to_linker::<_, HostData>(linker, Guest::acts),
        "trace" => host::trace::add_to_linker::<_, HostData>(linker, Guest::acts),
        other => Err(wasmtime::format_err!("the host has no surface `{other}`")),
    }
}

/// End the component's run when its turn is interrupted.
fn interrupt<T>(result: Result<T, Interrupt>) -> wasmtime::Result<T> {
    result.map_err(wasmtime::Error::from)
}

//! Log lines on standard error, as text for people or JSON for programs.

use std::io::IsTerminal as _;

use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

use crate::tap::{FOREIGN_TARGET, LogTap};

/// A library that logs each attempt to connect, while the host says once why there is no connection. A filter that names it
/// comes after this one, and holds.
const QUIET: &str = "async_nats=off";

/// The form of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
    /// Text on a terminal, JSON elsewhere.
    Auto,
}

/// Why the filter is invalid.
#[derive(Debug, thiserror::Error)]
#[error("{filter:?} is no log filter such as `info,rialto_engine=debug`")]
pub struct BadFilter {
    filter: String,
    #[source]
    source: tracing_subscriber::filter::ParseError,
}

/// Start logging. Returns a tap that gives the lines to others. If something in the process logs already, nothing is
/// started, and no line arrives at the tap.
///
/// # Errors
/// When the filter is invalid.
pub fn start(filter: &str, format: Format) -> Result<LogTap, BadFilter> {
    let parsed = EnvFilter::try_new(format!("{QUIET},{filter}")).map_err(|source| BadFilter {
        filter: filter.to_owned(),
        source,
    })?;
    let is_terminal = std::io::stderr().is_terminal();
    let json = match format {
        Format::Json => true,
        Format::Text => false,
        Format::Auto => !is_terminal,
    };
    let tap = LogTap::default();
    let registry = tracing_subscriber::registry()
        .with(parsed)
        .with(tap.clone());
    // Whoever reads the log may go away: to say that it cannot be written would panic, where it is written.
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .log_internal_errors(false);
    let own = filter_fn(|metadata| metadata.target() != FOREIGN_TARGET);
    let _ = if json {
        let layer = layer.json().flatten_event(true);
        registry.with(layer.with_filter(own)).try_init()
    } else {
        let layer = layer.with_ansi(is_terminal);
        registry.with(layer.with_filter(own)).try_init()
    };
    Ok(tap)
}

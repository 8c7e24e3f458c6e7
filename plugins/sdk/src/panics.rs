//! The panic hook: it logs the message of a panic as an error before the trap, and the host reports it as the
//! reason of the failed call. Without it only the trap would be visible.

use crate::logging::{Level, log};
use std::panic::PanicHookInfo;

/// Runs once per instance, before its first call; the bindings call it.
#[used]
// SAFETY: the section holds pointers to functions without arguments and results, as this is one.
#[unsafe(link_section = ".init_array")]
static INSTALL: extern "C" fn() = install;

extern "C" fn install() {
    std::panic::set_hook(Box::new(tell));
}

fn tell(panic: &PanicHookInfo<'_>) {
    let message = panic.payload_as_str().unwrap_or("without a message");
    let place = panic
        .location()
        .map(|place| format!(" ({}:{})", place.file(), place.line()));
    let place = place.unwrap_or_default();
    log(Level::Error, &format!("panicked: {message}{place}"));
}

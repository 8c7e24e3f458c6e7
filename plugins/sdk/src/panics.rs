//! A panic says why before it traps: its message goes to the host's log as an error, and the host
//! gives it as the reason of the call that failed. Without this a trap is all that is seen.

use crate::logging::{Level, log};
use std::panic::PanicHookInfo;

/// Run once by each instance, before its first call: the bindings see to that.
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

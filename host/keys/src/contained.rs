//! Calls of a provider of keys whose panic ends the call, and neither its thread nor the process.
//!
//! Nothing of a call is shared, so nothing is inconsistent after its panic. The panic's message may have a part of a
//! key, so that the log has the place in the code alone.

use rialto_fatal::{Panic, contained_secretly};

use crate::error::KeyError;

/// Call a provider; `whom` names it for people.
///
/// # Errors
/// As `call`, and [`KeyError::ProviderAway`] after a panic.
pub fn contained<T>(whom: &str, call: impl FnOnce() -> Result<T, KeyError>) -> Result<T, KeyError> {
    contained_secretly(call).unwrap_or_else(|panic| Err(panicked(whom, &panic)))
}

/// Log the panic of a call of a provider. Returns the outcome of the call.
#[must_use]
pub fn panicked(whom: &str, panic: &Panic) -> KeyError {
    tracing::error!(
        provider = whom,
        %panic,
        "the host panicked in a call of a provider of keys: the call failed, others go on. Report this as a fault of the host"
    );
    KeyError::ProviderAway(format!("the host failed in a call of {whom}: see its log"))
}

//! `configuration`: what the release says to this component.

use crate::bindings::rialto::host::configuration::Host;
use crate::guest::Guest;

impl Host for Guest {
    fn settings(&mut self) -> wasmtime::Result<String> {
        Ok(self.identity.settings.to_string())
    }

    fn scheme(&mut self) -> wasmtime::Result<String> {
        Ok(self.identity.scheme.to_string())
    }
}

//! `clock`: the turn's instant.

use crate::bindings::rialto::host::clock::Host;
use crate::guest::Guest;

impl Host for Guest {
    fn now(&mut self) -> wasmtime::Result<u64> {
        Ok(self.turn()?.now().0)
    }
}

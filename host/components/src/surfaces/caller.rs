//! `caller`: who has made the call that a component answers.

use crate::bindings::rialto::host::caller::{Host, Source};
use crate::guest::{Guest, Source as Known};

impl Host for Guest {
    fn current(&mut self) -> wasmtime::Result<Option<Source>> {
        self.turn_ref()?;
        let known = self
            .active
            .as_ref()
            .and_then(|active| active.caller.as_ref());
        Ok(known.map(|known| match known {
            Known::Component(name) => Source::Component(name.to_string()),
            Known::Client(name) => Source::Client(name.to_string()),
        }))
    }
}

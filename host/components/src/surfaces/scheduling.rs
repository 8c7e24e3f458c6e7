//! `scheduling`: reminders of the component.

use rialto_engine::Timestamp;

use super::interrupt;
use crate::bindings::rialto::host::scheduling::Host;
use crate::guest::Guest;

impl Host for Guest {
    fn set_reminder(&mut self, id: String, due: u64, payload: String) -> wasmtime::Result<()> {
        let component = self.identity.name.clone();
        interrupt(
            self.turn()?
                .set_reminder(&component, &id, Timestamp(due), payload),
        )
    }

    fn cancel_reminder(&mut self, id: String) -> wasmtime::Result<bool> {
        let component = self.identity.name.clone();
        interrupt(self.turn()?.cancel_reminder(&component, &id))
    }
}

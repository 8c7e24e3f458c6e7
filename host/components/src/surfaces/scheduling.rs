//! `scheduling`: reminders of the component.

use rialto_engine as engine;
use rialto_engine::Timestamp;

use super::interrupt;
use crate::bindings::rialto::host::scheduling::{Earlier, Host, PendingDelivery};
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

    fn waits_for(&mut self, subject: String, due: u64) -> wasmtime::Result<Option<Earlier>> {
        let earlier = self.turn()?.waits_for(&subject, Timestamp(due));
        Ok(earlier.map(Earlier::from))
    }
}

impl From<engine::Earlier> for Earlier {
    fn from(earlier: engine::Earlier) -> Self {
        let pending = |id, component: engine::Name| PendingDelivery {
            id,
            component: component.to_string(),
        };
        match earlier {
            engine::Earlier::Turn => Self::RunningTurn,
            engine::Earlier::Delivery { id, component } => Self::Delivery(pending(id, component)),
            engine::Earlier::DeadLetter { id, component } => {
                Self::DeadLetter(pending(id, component))
            }
        }
    }
}

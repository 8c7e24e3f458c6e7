//! The sweep: transfers that are reserved past their expiry and of which nobody will be reminded. Each is
//! reported and gets its reminder again, due at once; what the reminder then does is the timeout's matter, so
//! that a fulfilment that came in time and still waits is not overtaken.

use crate::index::{self, Entry, Span};
use crate::surroundings::Surroundings;
use crate::transfer::State;
use rialto_sdk::documents::Store;
use rialto_sdk::logging::Level;
use rialto_sdk::operators::paging::Items;
use rialto_sdk::operators::{Paging, Problem};

/// Sweep a part of the order of time: answers the transfers that were put right, and where to go on.
///
/// # Errors
/// When the cursor is not of this list.
pub fn sweep<W: Surroundings + Store>(
    world: &mut W,
    paging: &Paging,
    span: Span,
) -> Result<Items<String>, Problem> {
    let now = world.now();
    index::page(world, paging, span, |world, id, entry: Entry| {
        if now < entry.expires {
            return None;
        }
        let is_stuck = world
            .read_transfer(id)
            .is_some_and(|transfer| transfer.state == State::Prepared);
        if !is_stuck {
            return None;
        }
        let was_waiting = world.delete_reminder(id);
        world.create_reminder(id, entry.expires);
        if was_waiting {
            return None;
        }
        let line = format!("transfer {id} was reserved past its expiry without a reminder");
        world.log(Level::Error, &line);
        Some(id.to_owned())
    })
}

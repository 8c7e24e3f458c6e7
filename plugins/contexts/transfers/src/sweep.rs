//! The sweep: transfers that are reserved past their expiry. Each is reported, and nothing is done to it: its
//! timeout may wait for a fulfilment that came in time, and what would end it must not overtake that.

use crate::index::{self, Entry, Span};
use crate::surroundings::Surroundings;
use crate::transfer::State;
use rialto_sdk::documents::Store;
use rialto_sdk::logging::Level;
use rialto_sdk::operators::paging::Items;
use rialto_sdk::operators::{Paging, Problem};

/// Sweep a part of the order of time: answers the transfers that were found, and where to go on.
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
        let is_reserved = world
            .read_transfer(id)
            .is_some_and(|transfer| transfer.state == State::Prepared);
        if !is_reserved {
            return None;
        }
        world.log(
            Level::Error,
            &format!("transfer {id} is reserved past its expiry"),
        );
        Some(id.to_owned())
    })
}

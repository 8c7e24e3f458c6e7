//! The sweep finds transfers that are reserved past their expiry, and reports each. A transfer whose timeout
//! waits for a message that arrived in time stays unchanged, because its end must not overtake that message.
//! Any other transfer has lost its reminder, or the reminder is late. The sweep sets a reminder that is due at
//! once and replaces an existing one; the reminder ends the transfer.

use crate::bindings::rialto::scheduling::get_earlier_work::EarlierWork;
use crate::endings::{earlier, in_words};
use crate::index::{self, Span};
use crate::surroundings::Surroundings;
use crate::transfer::State;
use crate::views;
use rialto_sdk::documents::Store;
use rialto_sdk::logging::Level;
use rialto_sdk::operators::paging::Items;
use rialto_sdk::operators::{Paging, Problem};
use serde::Serialize;
use serde_json::Value;

/// The most transfers that a request finds. Each reminder has all transfers before it in the same request as
/// subjects, and a turn has at most eight subjects.
const FOUND_MAX: u32 = 5;

/// A transfer that is reserved past its expiry.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Found {
    /// The transfer.
    pub transfer_id: String,
    /// Whether the sweep set a reminder for it.
    pub reminded: bool,
    /// What its timeout waits for, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<Value>,
}

/// Sweeps a time span. Returns the transfers found, and the cursor.
///
/// # Errors
/// When the cursor is not of this list.
pub fn sweep<W: Surroundings + Store>(
    world: &mut W,
    paging: Paging,
    span: Span,
) -> Result<Items<Found>, Problem> {
    let now = world.now();
    let paging = Paging {
        limit: paging.limit.min(FOUND_MAX),
        ..paging
    };
    index::page(world, &paging, span, |world, _, entry| {
        if now < entry.expires {
            return None;
        }
        put_right(world, &entry.transfer_id, now)
    })
}

fn put_right(world: &mut impl Surroundings, id: &str, now: u64) -> Option<Found> {
    let transfer = world.read_transfer(id);
    // The entry was written with the transfer, so the expiry is the same.
    let transfer = transfer.filter(|transfer| transfer.state == State::Prepared)?;
    let found = format!("transfer {id} is reserved past its expiry");
    let earlier = earlier(world, &transfer, now);
    let (reminded, done) = match &earlier {
        // A running turn ends before the next sweep.
        Some(EarlierWork::Running) => (
            false,
            "work that arrived before its expiry still runs".to_owned(),
        ),
        Some(earlier) => (false, format!("it waits for {}", in_words(earlier))),
        None => {
            world.be_about(id);
            world.create_reminder(id, transfer.expiration);
            (
                true,
                "it waits for nothing; its timeout is triggered now".to_owned(),
            )
        }
    };
    world.log(Level::Error, &format!("{found}: {done}"));
    Some(Found {
        transfer_id: id.to_owned(),
        reminded,
        waits_for: earlier.as_ref().map(views::waits_for),
    })
}

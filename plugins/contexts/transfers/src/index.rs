//! Which transfers there are, by the time at which they came: for operators, and for the sweep.
//!
//! A transfer's id is drawn by its payer FSP, so its documents lie in no order of time. Each transfer that is
//! kept has one small document more, written in the turn that takes it up and never again: that is what
//! listing costs a payment. Whoever looks reads a part of the order, a bounded number of entries at a time.

use crate::transfer::Transfer;
use rialto_sdk::documents::{Collection, Range, Store};
use rialto_sdk::operators::paging::Items;
use rialto_sdk::operators::{Kind, Paging, Problem};
use serde::{Deserialize, Serialize};

/// Entries by time and transfer.
pub const BY_TIME: Collection<Entry> = Collection::new("by-time");

/// Entries of one scan.
const STEP: u32 = 100;

/// A document of the collection `by-time`: what most searches ask for, so that they need not read transfers
/// that do not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Who pays.
    pub payer: String,
    /// Who is paid.
    pub payee: String,
    /// When the transfer expires: UTC, milliseconds since 1970.
    pub expires: u64,
}

/// A part of the order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// From this instant on.
    pub from: u64,
    /// Before this instant.
    pub to: u64,
    /// How many entries a request looks at.
    pub looked_at_max: u32,
}

/// The entry of a transfer that came at an instant.
#[must_use]
pub fn entry(transfer: &Transfer, at: u64) -> (String, Entry) {
    let entry = Entry {
        payer: transfer.payer_fsp.clone(),
        payee: transfer.payee_fsp.clone(),
        expires: transfer.expiration,
    };
    (format!("{at:013}/{}", transfer.transfer_id), entry)
}

/// Fill a page with what `keep` makes of the entries of a part of the order, oldest first. `keep` is given
/// the transfer's id. A page may be short and have a cursor: then little of what was looked at was kept.
///
/// # Errors
/// When the cursor is not of this list.
pub fn page<S: Store, I>(
    store: &mut S,
    paging: &Paging,
    span: Span,
    mut keep: impl FnMut(&mut S, &str, Entry) -> Option<I>,
) -> Result<Items<I>, Problem> {
    let end = format!("{:013}", span.to);
    let mut from = match &paging.cursor {
        None => format!("{:013}", span.from),
        Some(cursor) if cursor.contains('/') => format!("{cursor}\0"),
        Some(_) => {
            let detail = "`cursor` is not one of this list: take `nextCursor` of the page before";
            return Err(Problem::new(Kind::Malformed, detail));
        }
    };
    let wanted = usize::try_from(paging.limit).unwrap_or(usize::MAX);
    let (mut items, mut looked_at) = (Vec::new(), 0);
    // A range that ends before it begins has nothing in it.
    while from < end && looked_at < span.looked_at_max {
        let step = STEP.min(span.looked_at_max - looked_at);
        let range = Range::Between((from.clone(), end.clone()));
        let page = BY_TIME.within(store).scan(&range, None, step);
        let is_last = page.cursor.is_none();
        for (id, entry) in page.documents {
            looked_at += 1;
            let transfer = id.split_once('/').map_or("", |(_, transfer)| transfer);
            items.extend(keep(store, transfer, entry));
            from = format!("{id}\0");
            if items.len() == wanted {
                return Ok(Items {
                    items,
                    next_cursor: Some(id),
                });
            }
        }
        if is_last {
            return Ok(Items {
                items,
                next_cursor: None,
            });
        }
    }
    let next_cursor = from.strip_suffix('\0').map(str::to_owned);
    Ok(Items { items, next_cursor })
}

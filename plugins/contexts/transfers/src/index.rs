//! The index of transfers by arrival time, for operators and for the sweep.
//!
//! The payer FSP chooses a transfer's id, so transfer documents have no order of time. An index document lists
//! the transfers of one payer FSP that arrive within a hundredth of a second. The turn that takes a transfer
//! writes it; that is the cost of the index. Under load several payments share a document. The index adds no
//! conflicts: turns that reserve funds of one payer conflict in the ledger anyway.
//!
//! A query reads a bounded number of transfers, and nothing of the last second ([`Span::of`]), because that
//! would conflict with payments.

use crate::transfer::Transfer;
use rialto_sdk::documents::{Collection, Range, Store};
use rialto_sdk::operators::paging::Items;
use rialto_sdk::operators::{Kind, Paging, Problem};
use serde::{Deserialize, Serialize};

/// Index documents, by the beginning of their time slice and the payer FSP.
pub const BY_TIME: Collection<Slice> =
    Collection::new("by-time").with_elements_named_by(&["transferId"]);

/// How long a slice is, in milliseconds.
const SLICE_MS: u64 = 10;
/// The most transfers of a document; each further one has its own. One turn judges up to 200 documents for an
/// archive: so it can read all of their transfers.
const IN_ONE_MAX: usize = 16;
/// Documents of one scan.
const STEP: u32 = 100;
/// The youngest age that a query reads, in milliseconds: payments write younger entries.
pub const LIVE_MS: u64 = 1000;

/// A document of the collection `by-time`: transfers of a payer FSP that arrived within a time slice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Slice {
    /// Who pays.
    pub payer: String,
    /// The payee FSP, in a document of an earlier release: such a document has one transfer, named in its id.
    /// Otherwise empty, so that an earlier release finds no transfer by it after a rollback.
    pub payee: String,
    /// When that transfer expires; else 0.
    pub expires: u64,
    /// The transfers, in the order of their arrival.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transfers: Vec<Entry>,
}

/// The values of the common filters, so that a search need not read other transfers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    /// The transfer.
    pub transfer_id: String,
    /// When it arrived: UTC, milliseconds since 1970.
    pub at: u64,
    /// Who is paid.
    pub payee: String,
    /// When the transfer expires: UTC, milliseconds since 1970.
    pub expires: u64,
}

impl Slice {
    /// The transfers of the document with this id.
    #[must_use]
    pub fn entries(&self, id: &str) -> Vec<Entry> {
        let (at, transfer_id) = id.split_once('/').unwrap_or_default();
        let alone = (!self.payee.is_empty()).then(|| Entry {
            transfer_id: transfer_id.to_owned(),
            at: at.parse().unwrap_or_default(),
            payee: self.payee.clone(),
            expires: self.expires,
        });
        alone.into_iter().chain(self.transfers.clone()).collect()
    }
}

/// A time span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// From this instant on.
    from: u64,
    /// Before this instant.
    to: u64,
    /// The most transfers that a request reads.
    looked_at_max: u32,
}

impl Span {
    /// The span that ends at `to`, at most a second ago, and begins at `from`, or `back` milliseconds before
    /// its end.
    #[must_use]
    pub fn of(
        (from, to): (Option<u64>, Option<u64>),
        (back, now): (u64, u64),
        looked_at_max: u32,
    ) -> Self {
        let latest = now.saturating_sub(LIVE_MS);
        let to = to.map_or(latest, |to| to.min(latest));
        Self {
            from: from.unwrap_or_else(|| to.saturating_sub(back)),
            to,
            looked_at_max,
        }
    }
}

/// Where a page begins: a document, and the number of its transfers that earlier pages read.
struct Place {
    id: String,
    done: usize,
}

impl Place {
    fn read(cursor: &str) -> Result<Self, Problem> {
        let parts = cursor.rsplit_once(':');
        let read = parts.and_then(|(id, done)| {
            let done = done.parse().ok()?;
            id.contains('/').then(|| Self {
                id: id.to_owned(),
                done,
            })
        });
        read.ok_or_else(|| {
            let detail =
                "`cursor` does not belong to this list: use `nextCursor` of the previous page";
            Problem::new(Kind::Malformed, detail)
        })
    }
}

/// Adds a transfer that arrived at an instant.
pub fn note(store: &mut impl Store, transfer: &Transfer, at: u64) {
    let mut id = format!("{:013}/{}", at - at % SLICE_MS, transfer.payer_fsp);
    let fresh = || Slice {
        payer: transfer.payer_fsp.clone(),
        payee: String::new(),
        expires: 0,
        transfers: Vec::new(),
    };
    let there = BY_TIME.within(store).get_for_update(&id);
    let mut slice = there.unwrap_or_else(fresh);
    if slice.transfers.len() >= IN_ONE_MAX {
        id = format!("{id}/{}", transfer.transfer_id);
        slice = fresh();
    }
    slice.transfers.push(Entry {
        transfer_id: transfer.transfer_id.clone(),
        at,
        payee: transfer.payee_fsp.clone(),
        expires: transfer.expiration,
    });
    BY_TIME.within(store).put(&id, &slice);
}

/// Fills a page with the results of `keep` for the transfers of a span, the oldest slices first. `keep` gets
/// the payer FSP and the entry. A short page may have a cursor: then `keep` dropped many entries.
///
/// # Errors
/// When the cursor is not of this list.
pub fn page<S: Store, I>(
    store: &mut S,
    paging: &Paging,
    span: Span,
    mut keep: impl FnMut(&mut S, &str, &Entry) -> Option<I>,
) -> Result<Items<I>, Problem> {
    let place = paging.cursor.as_deref().map(Place::read).transpose()?;
    let end = format!("{:013}", span.to);
    let mut from = place.as_ref().map_or_else(
        || format!("{:013}", span.from - span.from % SLICE_MS),
        |place| place.id.clone(),
    );
    let wanted = usize::try_from(paging.limit).unwrap_or(usize::MAX);
    let (mut items, mut looked_at) = (Vec::new(), 0);
    // A span that ends before it begins is empty.
    while from < end {
        let range = Range::Between((from, end.clone()));
        let page = BY_TIME.within(store).scan(&range, None, STEP);
        let Some((last, _)) = page.documents.last() else {
            break;
        };
        from = format!("{last}\0");
        for (id, slice) in page.documents {
            let done = place.as_ref().filter(|place| place.id == id);
            let done = done.map_or(0, |place| place.done);
            for (at, entry) in slice.entries(&id).iter().enumerate().skip(done) {
                if !(span.from..span.to).contains(&entry.at) {
                    continue;
                }
                if items.len() == wanted || looked_at == span.looked_at_max {
                    return Ok(Items {
                        items,
                        next_cursor: Some(format!("{id}:{at}")),
                    });
                }
                looked_at += 1;
                items.extend(keep(store, &slice.payer, entry));
            }
        }
        if page.cursor.is_none() {
            break;
        }
    }
    Ok(Items {
        items,
        next_cursor: None,
    })
}

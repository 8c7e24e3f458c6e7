//! Which transfers there are, by the time at which they came: for operators, and for the sweep.
//!
//! A transfer's id is drawn by its payer FSP, so its documents lie in no order of time. So transfers of one
//! payer FSP that come within a hundredth of a second are in one small document more, written in the turns that
//! take them up: that is what listing costs a payment. Under load several payments share it. It keeps no two
//! turns apart that the ledger does not: those that reserve funds of one payer come one after the other anyway.
//! Whoever looks reads a part of the order, a bounded number of transfers at a time, and nothing of the last
//! second ([`Span::of`]): it would be in the way of payments.

use crate::transfer::Transfer;
use rialto_sdk::documents::{Collection, Range, Store};
use rialto_sdk::operators::paging::Items;
use rialto_sdk::operators::{Kind, Paging, Problem};
use serde::{Deserialize, Serialize};

/// Slices of time, by their beginnings and payer FSPs.
pub const BY_TIME: Collection<Slice> =
    Collection::new("by-time").with_elements_named_by(&["transferId"]);

/// How long a slice is, in milliseconds.
const SLICE_MS: u64 = 10;
/// Transfers of one document; those beyond have each its own. Of 200 documents, which are judged in one turn when
/// they may go to an archive, all transfers can be looked at in it, at any rate.
const IN_ONE_MAX: usize = 16;
/// Documents of one scan.
const STEP: u32 = 100;
/// How long ago is looked at, at the latest, in milliseconds: payments write what is younger.
pub const LIVE_MS: u64 = 1000;

/// A document of the collection `by-time`: transfers of a payer FSP that came within a slice of time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Slice {
    /// Who pays.
    pub payer: String,
    /// Who is paid, where the document is of one transfer alone, named in its id: as a release before this one
    /// has written it. Else empty: such a release, rolled back to, finds no transfer by it.
    pub payee: String,
    /// When that transfer expires; else 0.
    pub expires: u64,
    /// The transfers, in the order in which they were taken up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transfers: Vec<Entry>,
}

/// What most searches ask for, so that they need not read transfers that do not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    /// The transfer.
    pub transfer_id: String,
    /// When it came: UTC, milliseconds since 1970.
    pub at: u64,
    /// Who is paid.
    pub payee: String,
    /// When the transfer expires: UTC, milliseconds since 1970.
    pub expires: u64,
}

impl Slice {
    /// Its transfers, where the document has this id.
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

/// A part of the order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// From this instant on.
    from: u64,
    /// Before this instant.
    to: u64,
    /// How many transfers a request looks at.
    looked_at_max: u32,
}

impl Span {
    /// What came before `to`, but for the last second, and from `from` on, or `back` milliseconds before.
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

/// Where a page begins: a document, and how many of its transfers were looked at before.
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
            let detail = "`cursor` is not one of this list: take `nextCursor` of the page before";
            Problem::new(Kind::Malformed, detail)
        })
    }
}

/// Note that a transfer came at an instant.
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

/// Fill a page with what `keep` makes of the transfers of a part of the order, the oldest slices first. `keep`
/// is given who pays and the entry. A page may be short and have a cursor: then little of what was looked at was
/// kept.
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
    // A range that ends before it begins has nothing in it.
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

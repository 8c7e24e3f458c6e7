//! Accounts' histories: that pages and tails list each entry once, and say the sums before it.
//!
//! An entry waits until it is listed for both of its accounts, a listing until its entry was read;
//! a page waits for its entries. What a page says and what the one before sums to meet at the
//! boundary of the two.

use std::collections::HashMap;

use crate::decimal;
use crate::documents::{PAGE, Page};

use super::accounts::Accounts;
use super::report::{Check, Report};

/// Debits and credits.
type Sums = (i128, i128);

/// A page of an account; the tail has the number that it would have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    pub account: u32,
    pub number: u64,
}

enum Half {
    Posted { sums: Sums, at: u64 },
    Listed(Place),
}

struct Open {
    sums: Sums,
    waits: usize,
    instants: (u64, u64),
    says: (u64, u64),
}

#[derive(Default)]
struct Boundary {
    before: Option<Sums>,
    after: Option<Sums>,
}

/// See the module's documentation.
#[derive(Default)]
pub(super) struct Histories {
    halves: HashMap<(String, u32), Half>,
    pages: HashMap<Place, Open>,
    boundaries: HashMap<Place, Boundary>,
    wrong: Vec<(Place, String)>,
}

impl Histories {
    /// An entry was read; an account of it.
    pub fn posted(&mut self, id: &str, account: u32, sums: Sums, at: u64) {
        let key = (id.to_owned(), account);
        match self.halves.remove(&key) {
            Some(Half::Listed(place)) => self.add(place, sums, at),
            _ => {
                self.halves.insert(key, Half::Posted { sums, at });
            }
        }
    }

    /// A page was read.
    pub fn page(&mut self, place: Place, page: &Page) {
        let ids: Vec<&str> = page.ids().collect();
        let before = (page.debit_before.0, page.credit_before.0);
        let open = Open {
            sums: before,
            waits: ids.len(),
            instants: (u64::MAX, 0),
            says: (page.earliest, page.latest),
        };
        self.pages.insert(place, open);
        self.boundary(place, |boundary| boundary.after = Some(before));
        for id in ids {
            let key = (id.to_owned(), place.account);
            match self.halves.remove(&key) {
                Some(Half::Posted { sums, at }) => self.add(place, sums, at),
                Some(Half::Listed(other)) => {
                    let text = format!("lists the entry {id}, as page {} does", other.number);
                    self.wrong.push((place, text));
                    self.halves.insert(key, Half::Listed(other));
                }
                None => {
                    self.halves.insert(key, Half::Listed(place));
                }
            }
        }
    }

    fn add(&mut self, place: Place, sums: Sums, at: u64) {
        let Some(open) = self.pages.get_mut(&place) else {
            return;
        };
        open.sums.0 += sums.0;
        open.sums.1 += sums.1;
        open.instants = (open.instants.0.min(at), open.instants.1.max(at));
        open.waits -= 1;
        if open.waits > 0 {
            return;
        }
        if open.instants != open.says {
            let text = format!(
                "says it is of {:?}, it is of {:?}",
                open.says, open.instants
            );
            self.wrong.push((place, text));
        }
        let sums = open.sums;
        self.pages.remove(&place);
        let next = Place {
            number: place.number + 1,
            ..place
        };
        self.boundary(next, |boundary| boundary.before = Some(sums));
    }

    fn boundary(&mut self, place: Place, set: impl FnOnce(&mut Boundary)) {
        let boundary = self.boundaries.entry(place).or_default();
        set(boundary);
        if let Boundary {
            before: Some(before),
            after: Some(after),
        } = boundary
            && before == after
        {
            self.boundaries.remove(&place);
        }
    }

    /// What must hold once everything was read.
    pub fn end(mut self, accounts: &Accounts, report: &mut Report) {
        for (account, of) in accounts.iter() {
            report.looked_at(Check::Histories);
            let number = of.tail.count / PAGE;
            let listed = of.tail.page.ids().count() as u64;
            if listed != of.tail.count % PAGE {
                let text = format!(
                    "the tail of {} lists {listed} of its {} entries",
                    of.id, of.tail.count
                );
                report.breach(Check::Histories, text);
            }
            let mut end = Place { account, number };
            if listed > 0 {
                self.page(end, &of.tail.page);
                end.number += 1;
            }
            let sums = (of.debit_balance.0, of.credit_balance.0);
            self.boundary(end, |boundary| boundary.after = Some(sums));
        }
        self.unlisted(accounts, report);
        let of = |place: &Place| &accounts.get(place.account).id;
        for (place, text) in &self.wrong {
            let text = format!("page {} of {} {text}", place.number, of(place));
            report.breach(Check::Histories, text);
        }
        let mut left: Vec<_> = self.boundaries.into_iter().collect();
        left.sort_by_key(|(place, _)| *place);
        for (place, boundary) in left {
            let scale = accounts.get(place.account).scale;
            let sums = |sums: Option<Sums>| match sums {
                None => "nothing".to_owned(),
                Some((debits, credits)) => {
                    format!("{} and {}", decimal(debits, scale), decimal(credits, scale))
                }
            };
            let text = format!(
                "before page {} of {}, entries sum to {} (debits and credits), the page says {}",
                place.number,
                of(&place),
                sums(boundary.before),
                sums(boundary.after)
            );
            report.breach(Check::Histories, text);
        }
    }

    /// Entries that no page lists: those from before an account kept a history, which its first page
    /// counts; and listings of what is no entry.
    fn unlisted(&mut self, accounts: &Accounts, report: &mut Report) {
        let mut before: HashMap<u32, Sums> = HashMap::new();
        for ((_, account), half) in &self.halves {
            if let Half::Posted { sums, .. } = half {
                let all = before.entry(*account).or_default();
                *all = (all.0 + sums.0, all.1 + sums.1);
            }
        }
        let mut told = Vec::new();
        for ((id, account), half) in &self.halves {
            let name = &accounts.get(*account).id;
            match half {
                Half::Listed(place) => {
                    let number = place.number;
                    told.push(format!(
                        "page {number} of {name} lists {id}, which is no entry of it"
                    ));
                }
                Half::Posted { .. } => {
                    let first = Place {
                        account: *account,
                        number: 0,
                    };
                    let says = self.boundaries.get(&first).and_then(|b| b.after);
                    if says != before.get(account).copied() {
                        told.push(format!("the entry {id} is on no page of {name}"));
                    }
                }
            }
        }
        told.sort();
        for text in told {
            report.breach(Check::Histories, text);
        }
        for (account, _) in accounts.iter() {
            let sums = before.get(&account).copied().unwrap_or_default();
            let first = Place { account, number: 0 };
            self.boundary(first, |boundary| boundary.before = Some(sums));
        }
    }
}

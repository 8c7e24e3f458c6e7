//! Checks the accounts' histories: pages and tails list each entry once, with the right sums before it.
//!
//! Documents arrive in any order. An entry waits until both of its accounts list it. A listing waits for its entry. A
//! page waits for its entries. At the boundary of two pages, the sums of one must equal those that the next one has.
//!
//! If entries are in archives, three things must hold instead:
//! - The numbers of missing pages and entries equal those of the account's opening balance.
//! - If two adjacent pages exist with all their entries, their sums agree.
//! - Over a gap, sums do not decrease, and the remaining entries of a page fit between them.
//!
//! Entries from before an account had a history are listed on no page. Page 0 counts them, so some of them may be in
//! archives while page 0 exists and counts more.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::decimal;
use crate::documents::{PAGE, Page};

use super::accounts::Accounts;
use super::report::{Check, Report};

/// Debits and credits.
type Sums = (i128, i128);

/// A page of an account; the tail has the number that it would have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct PageKey {
    pub account: u32,
    pub number: u64,
}

impl PageKey {
    fn next(self) -> Self {
        Self {
            number: self.number + 1,
            ..self
        }
    }
}

enum Half {
    Posted { sums: Sums, at: u64 },
    Listed(PageKey),
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
    pages: HashMap<PageKey, Open>,
    boundaries: HashMap<PageKey, Boundary>,
    /// How many pages of each account were read; a tail is none.
    read: HashMap<u32, u64>,
    /// Pages of which no entry was read before them; see [`Histories::page`].
    later: Vec<PageKey>,
    /// How many entries of each account are not there whose page lists no other.
    missing: HashMap<u32, u64>,
    wrong: Vec<(PageKey, String)>,
}

impl Histories {
    /// An entry was read; an account of it.
    pub fn posted(&mut self, id: &str, account: u32, sums: Sums, at: u64) {
        let key = (id.to_owned(), account);
        match self.halves.remove(&key) {
            Some(Half::Listed(page_key)) => self.add(page_key, sums, at),
            _ => {
                self.halves.insert(key, Half::Posted { sums, at });
            }
        }
    }

    /// A page was read. A page's entries lie before it, mostly. Where none of them does, and the account
    /// has entries in archives, all of them may be there; their listings would wait for nothing. So such a
    /// page is read again at the end.
    pub fn page(&mut self, page_key: PageKey, page: &Page, is_in_archives: bool) {
        *self.read.entry(page_key.account).or_default() += 1;
        if is_in_archives && !self.has_entry_of(page_key, page) {
            self.later.push(page_key);
        } else {
            self.list(page_key, page);
        }
    }

    /// The pages that are to be read again once all entries were read.
    pub fn later(&mut self) -> Vec<PageKey> {
        std::mem::take(&mut self.later)
    }

    /// A page was read again.
    pub fn again(&mut self, page_key: PageKey, page: &Page) {
        if self.has_entry_of(page_key, page) {
            self.list(page_key, page);
            return;
        }
        *self.missing.entry(page_key.account).or_default() += page.ids().count() as u64;
        self.open(page_key, page);
    }

    /// A page waits for its entries.
    fn open(&mut self, page_key: PageKey, page: &Page) {
        let before = (page.debit_before.0, page.credit_before.0);
        let open = Open {
            sums: before,
            waits: page.ids().count(),
            instants: (u64::MAX, 0),
            says: (page.earliest, page.latest),
        };
        self.pages.insert(page_key, open);
        self.boundary(page_key, |boundary| boundary.after = Some(before));
    }

    /// Whether an entry that waits is on the page.
    fn has_entry_of(&self, page_key: PageKey, page: &Page) -> bool {
        page.ids().any(|id| {
            let half = self.halves.get(&(id.to_owned(), page_key.account));
            matches!(half, Some(Half::Posted { .. }))
        })
    }

    /// A page or a tail lists entries.
    fn list(&mut self, page_key: PageKey, page: &Page) {
        self.open(page_key, page);
        for id in page.ids() {
            let key = (id.to_owned(), page_key.account);
            match self.halves.remove(&key) {
                Some(Half::Posted { sums, at }) => self.add(page_key, sums, at),
                Some(Half::Listed(other)) => {
                    let text = format!("lists the entry {id}, as page {} does", other.number);
                    self.wrong.push((page_key, text));
                    self.halves.insert(key, Half::Listed(other));
                }
                None => {
                    self.halves.insert(key, Half::Listed(page_key));
                }
            }
        }
    }

    fn add(&mut self, page_key: PageKey, sums: Sums, at: u64) {
        let Some(open) = self.pages.get_mut(&page_key) else {
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
            self.wrong.push((page_key, text));
        }
        let sums = open.sums;
        self.pages.remove(&page_key);
        self.boundary(page_key.next(), |boundary| boundary.before = Some(sums));
    }

    fn boundary(&mut self, page_key: PageKey, set: impl FnOnce(&mut Boundary)) {
        let boundary = self.boundaries.entry(page_key).or_default();
        set(boundary);
        if let Boundary {
            before: Some(before),
            after: Some(after),
        } = boundary
            && before == after
        {
            self.boundaries.remove(&page_key);
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
            let mut end = PageKey { account, number };
            if listed > 0 {
                self.list(end, &of.tail.page);
                end.number += 1;
            }
            let sums = (of.debit_balance.0, of.credit_balance.0);
            self.boundary(end, |boundary| boundary.after = Some(sums));
        }
        let before = self.on_no_page();
        let earlier = self.archived(&before, accounts, report);
        self.unlisted(&before, &earlier, accounts, report);
        let least = self.left_of_pages(accounts);
        for (page_key, text) in &self.wrong {
            let of = &accounts.get(page_key.account).id;
            let text = format!("page {} of {of} {text}", page_key.number);
            report.breach(Check::Histories, text);
        }
        meet(self.boundaries, &least, &earlier, accounts, report);
    }

    /// What entries that no page lists sum to, by account.
    fn on_no_page(&self) -> HashMap<u32, Sums> {
        let mut before: HashMap<u32, Sums> = HashMap::new();
        for ((_, account), half) in &self.halves {
            if let Half::Posted { sums, .. } = half {
                let all = before.entry(*account).or_default();
                *all = (all.0 + sums.0, all.1 + sums.1);
            }
        }
        before
    }

    /// As many entries and pages are missing as are in archives. Forgets the listings of the missing
    /// entries. Returns the accounts of which entries are in archives that no page would list: those from
    /// before the account kept a history.
    fn archived(
        &mut self,
        before: &HashMap<u32, Sums>,
        accounts: &Accounts,
        report: &mut Report,
    ) -> HashSet<u32> {
        let mut listed = std::mem::take(&mut self.missing);
        self.halves.retain(|(_, account), half| {
            let is_missing = matches!(half, Half::Listed(_));
            let is_counted = is_missing && accounts.get(*account).archived.is_some();
            if is_counted {
                *listed.entry(*account).or_default() += 1;
            }
            !is_counted
        });
        let mut earlier = HashSet::new();
        for (account, of) in accounts.iter() {
            let Some(archived) = &of.archived else {
                continue;
            };
            let read = self.read.get(&account).copied().unwrap_or(0);
            let pages = (of.tail.count / PAGE).saturating_sub(read);
            report.same(Check::Histories, &pages, &archived.pages, || {
                let (id, counted) = (&of.id, archived.pages);
                format!(
                    "{pages} pages of {id} are not there, its opening balance stands for {counted}"
                )
            });
            let listed = listed.get(&account).copied().unwrap_or(0);
            let missing = listed + PAGE * pages;
            let first = PageKey { account, number: 0 };
            let says = self.boundaries.get(&first).and_then(|b| b.after);
            let left = before.get(&account).copied().unwrap_or_default();
            if missing < archived.entries && says.is_some_and(|says| is_more(says, left)) {
                report.looked_at(Check::Histories);
                earlier.insert(account);
                continue;
            }
            report.same(Check::Histories, &missing, &archived.entries, || {
                let (id, counted) = (&of.id, archived.entries);
                format!(
                    "{missing} entries of {id} are not there ({listed} that are listed, the others on missing \
                     pages), its opening balance stands for {counted}"
                )
            });
        }
        earlier
    }

    /// Entries that no page lists: those from before an account kept a history, which its first page
    /// counts; and listings of what is no entry.
    fn unlisted(
        &mut self,
        before: &HashMap<u32, Sums>,
        earlier: &HashSet<u32>,
        accounts: &Accounts,
        report: &mut Report,
    ) {
        let mut told = Vec::new();
        for ((id, account), half) in &self.halves {
            let name = &accounts.get(*account).id;
            match half {
                Half::Listed(page_key) => {
                    let number = page_key.number;
                    told.push(format!(
                        "page {number} of {name} lists {id}, which is no entry of it"
                    ));
                }
                Half::Posted { .. } => {
                    let first = PageKey {
                        account: *account,
                        number: 0,
                    };
                    let says = self.boundaries.get(&first).and_then(|b| b.after);
                    if says != before.get(account).copied() && !earlier.contains(account) {
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
            let first = PageKey { account, number: 0 };
            self.boundary(first, |boundary| boundary.before = Some(sums));
        }
    }

    /// What sums are at least behind pages of which entries are in archives, by the page behind. What is
    /// left of such a page is of the instants that it says.
    fn left_of_pages(&mut self, accounts: &Accounts) -> BTreeMap<PageKey, Sums> {
        let mut least = BTreeMap::new();
        let mut wrong = Vec::new();
        for (page_key, open) in &self.pages {
            if accounts.get(page_key.account).archived.is_none() {
                continue;
            }
            least.insert(page_key.next(), open.sums);
            let is_any = open.instants.0 <= open.instants.1;
            if is_any && (open.instants.0 < open.says.0 || open.instants.1 > open.says.1) {
                let text = format!(
                    "says it is of {:?}, what is left of it is of {:?}",
                    open.says, open.instants
                );
                wrong.push((*page_key, text));
            }
        }
        wrong.sort();
        self.wrong.extend(wrong);
        least
    }
}

/// Whether neither sum is less than the other's.
fn is_at_least(sums: Sums, other: Sums) -> bool {
    sums.0 >= other.0 && sums.1 >= other.1
}

/// Whether there must be entries between the two.
fn is_more(sums: Sums, other: Sums) -> bool {
    sums != other && is_at_least(sums, other)
}

/// Tell where what a page says does not meet what is before it. Where entries before it are in archives,
/// it says no less than what is left of them.
fn meet(
    boundaries: HashMap<PageKey, Boundary>,
    least: &BTreeMap<PageKey, Sums>,
    earlier: &HashSet<u32>,
    accounts: &Accounts,
    report: &mut Report,
) {
    let mut left: BTreeMap<PageKey, Boundary> = boundaries.into_iter().collect();
    for page_key in least.keys() {
        left.entry(*page_key).or_default();
    }
    // The account, and what its sums are at least so far.
    let mut floor: (u32, Sums) = (0, (0, 0));
    for (page_key, boundary) in left {
        let of = accounts.get(page_key.account);
        let (mut sums, mut says) = (boundary.before, "sum to");
        if of.archived.is_some() {
            if floor.0 != page_key.account {
                floor = (page_key.account, (0, 0));
            }
            if let Some(known) = sums.or_else(|| least.get(&page_key).copied()) {
                floor.1 = known;
            }
            let Some(after) = boundary.after else {
                continue; // The page is not there, and is counted.
            };
            let before = std::mem::replace(&mut floor.1, after);
            let begins_earlier = page_key.number == 0 && earlier.contains(&page_key.account);
            if sums.is_none() || begins_earlier {
                if is_at_least(after, before) {
                    continue;
                }
                (sums, says) = (Some(before), "that are left sum to at least");
            }
        }
        let shown = |sums: Option<Sums>| match sums {
            None => "nothing".to_owned(),
            Some((debits, credits)) => {
                let (debits, credits) = (decimal(debits, of.scale), decimal(credits, of.scale));
                format!("{debits} and {credits}")
            }
        };
        let text = format!(
            "before page {} of {}, entries {says} {} (debits and credits), the page says {}",
            page_key.number,
            of.id,
            shown(sums),
            shown(boundary.after)
        );
        report.breach(Check::Histories, text);
    }
}

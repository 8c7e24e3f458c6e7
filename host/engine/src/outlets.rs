//! Requests to the outside that wait for their end: how many are in memory, for each destination and
//! in all, and which ones wait on disk for room.
//!
//! A destination that is dead or slow collects requests. Up to its bound they are in memory, with
//! the network; those beyond are known here by their ids alone and are read back when earlier ones
//! have ended. A destination has at most as much of the memory as is left for all others: the first
//! dead one a half, two of them a third each. So however many are dead, there is room for those that are
//! not; nothing that is on disk is dropped, and no request from a client is refused for it.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering;

use crate::ids::Name;
use crate::limits::Limits;
use crate::network::OutboundRequest;
use crate::sync::{AtomicUsize, Mutex};

/// Requests that are read back at a time. Each causes a commit, and each commit reads more back.
const READ_BACK_MAX: usize = 64;
/// Requests in memory that every destination may have, whatever the others have.
const EACH_LEAST: usize = 4;
/// The pause before a store that could not be read is asked again, in microseconds.
const READ_AGAIN_US: u64 = 1_000_000;

/// See the module's documentation.
pub(crate) struct Outlets {
    by_destination: Mutex<Destinations>,
    in_memory: AtomicUsize,
    on_disk: AtomicUsize,
    all_max: usize,
    each_max: usize,
}

#[derive(Default)]
struct Destinations {
    all: HashMap<Name, Outlet>,
    /// Those with requests on disk, in the order in which they are looked at.
    turns: VecDeque<Name>,
    /// The store could not be read; not before this instant again.
    read_again_us: u64,
}

/// One destination.
#[derive(Default)]
struct Outlet {
    in_memory: usize,
    /// Ids in the order in which they came.
    on_disk: VecDeque<u64>,
}

impl Outlets {
    pub fn new(limits: &Limits) -> Self {
        Self {
            by_destination: Mutex::default(),
            in_memory: AtomicUsize::new(0),
            on_disk: AtomicUsize::new(0),
            all_max: limits.requests_waiting_max,
            each_max: limits.requests_waiting_per_destination_max,
        }
    }

    /// Whether a request goes to the network now. Else its turn comes with `read_back`.
    pub fn admit(&self, request: &OutboundRequest) -> bool {
        let mut all = self.by_destination.lock();
        let all = &mut *all;
        let name: Name = destination(&request.url).into();
        let outlet = all.all.entry(name.clone()).or_default();
        // Who came first goes first.
        let now = self.has_room(outlet) && outlet.on_disk.is_empty();
        if now {
            outlet.in_memory += 1;
            self.in_memory.fetch_add(1, Ordering::Relaxed);
        } else {
            outlet.on_disk.push_back(request.id);
            self.on_disk.fetch_add(1, Ordering::Relaxed);
            if outlet.on_disk.len() == 1 {
                all.turns.push_back(name);
            }
        }
        self.assert_turns(all);
        now
    }

    /// Insist that destinations have turns just as long as requests to them wait on disk.
    fn assert_turns(&self, all: &Destinations) {
        let (turns, on_disk) = (all.turns.len(), self.on_disk());
        assert!(
            turns <= on_disk && (turns == 0) == (on_disk == 0),
            "{turns} destinations have a turn and {on_disk} requests wait on disk"
        );
    }

    fn has_room(&self, outlet: &Outlet) -> bool {
        let left = self.all_max.saturating_sub(self.in_memory());
        outlet.in_memory < self.each_max.min(left.max(EACH_LEAST))
    }

    /// A request that was in memory has ended.
    pub fn ended(&self, request: &OutboundRequest) {
        let mut all = self.by_destination.lock();
        let destination = destination(&request.url);
        let Some(outlet) = all.all.get_mut(destination) else {
            return;
        };
        assert!(
            outlet.in_memory > 0,
            "a request to {destination} has ended and none was in memory"
        );
        outlet.in_memory -= 1;
        let before = self.in_memory.fetch_sub(1, Ordering::Relaxed);
        assert!(
            before > outlet.in_memory,
            "a request to {destination} has ended: {before} were in memory, and {} to it still are",
            outlet.in_memory
        );
        if outlet.in_memory == 0 && outlet.on_disk.is_empty() {
            all.all.remove(destination);
        }
    }

    /// Some requests on disk for which there is room now: their ids and destinations, one of each
    /// destination after the other. They count as in memory.
    pub fn read_back(&self, now_us: u64) -> Vec<(u64, Name)> {
        let mut taken = Vec::new();
        if self.on_disk() == 0 {
            return taken;
        }
        let mut all = self.by_destination.lock();
        let all = &mut *all;
        if now_us < all.read_again_us {
            return taken;
        }
        all.read_again_us = 0;
        // So many destinations in a row had no room.
        let mut passed = 0;
        while taken.len() < READ_BACK_MAX && passed < all.turns.len() {
            let Some(name) = all.turns.pop_front() else {
                break;
            };
            let outlet = all.all.get_mut(&name);
            let outlet = outlet.expect("a destination with requests on disk is known");
            if self.has_room(outlet)
                && let Some(id) = outlet.on_disk.pop_front()
            {
                outlet.in_memory += 1;
                self.in_memory.fetch_add(1, Ordering::Relaxed);
                self.on_disk.fetch_sub(1, Ordering::Relaxed);
                taken.push((id, name.clone()));
                passed = 0;
            } else {
                passed += 1;
            }
            if !outlet.on_disk.is_empty() {
                all.turns.push_back(name);
            }
        }
        self.assert_turns(all);
        taken
    }

    /// The store could not be read: these wait on disk as before.
    pub fn put_back(&self, taken: Vec<(u64, Name)>, now_us: u64) {
        let mut all = self.by_destination.lock();
        let all = &mut *all;
        all.read_again_us = now_us.saturating_add(READ_AGAIN_US);
        let before = self.in_memory.fetch_sub(taken.len(), Ordering::Relaxed);
        assert!(
            before >= taken.len(),
            "{} requests are put back, and {before} were in memory",
            taken.len()
        );
        self.on_disk.fetch_add(taken.len(), Ordering::Relaxed);
        for (id, name) in taken.into_iter().rev() {
            let outlet = all.all.entry(name.clone()).or_default();
            assert!(
                outlet.in_memory > 0,
                "request {id} to {name} is put back, and none to it was in memory"
            );
            outlet.in_memory -= 1;
            outlet.on_disk.push_front(id);
            if outlet.on_disk.len() == 1 {
                all.turns.push_back(name);
            }
        }
        self.assert_turns(all);
    }

    /// When requests on disk are to be read again after the store could not be, on the monotonic clock.
    pub fn read_again_us(&self) -> Option<u64> {
        let waits = self.on_disk() > 0;
        let at = waits.then(|| self.by_destination.lock().read_again_us);
        at.filter(|at| *at > 0)
    }

    /// How many requests wait on disk, by destination (host and port), where any do.
    pub fn on_disk_by_destination(&self) -> HashMap<Name, usize> {
        let all = self.by_destination.lock();
        let all = all.all.iter();
        let waiting = all.filter(|(_, outlet)| !outlet.on_disk.is_empty());
        waiting
            .map(|(destination, outlet)| (destination.clone(), outlet.on_disk.len()))
            .collect()
    }

    /// Requests in memory, to all destinations.
    pub fn in_memory(&self) -> usize {
        self.in_memory.load(Ordering::Relaxed)
    }

    /// Requests that wait on disk for room in memory.
    pub fn on_disk(&self) -> usize {
        self.on_disk.load(Ordering::Relaxed)
    }
}

/// Host and port of an absolute URL.
pub(crate) fn destination(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_is_host_and_port() {
        for url in [
            "http://fsp:80",
            "http://fsp:80/",
            "https://fsp:80/a/b?c",
            "http://fsp:80?x",
        ] {
            assert_eq!(destination(url), "fsp:80", "{url}");
        }
    }
}

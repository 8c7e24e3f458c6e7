//! The queues of outbound requests that have not ended, one for each destination.
//!
//! A destination that is dead or slow collects requests. Up to a bound they are in memory, and the network
//! has them. Beyond the bound the queue has only their ids: the requests wait on disk and are read back
//! when earlier ones have ended.
//!
//! A queue's bound is the memory that is left for all other queues: one dead destination gets a half, two
//! get a third each. So destinations that work always have memory. No request on disk is dropped, and no
//! client's request is refused because of a dead destination.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering;

use crate::ids::Name;
use crate::limits::Limits;
use crate::network::OutboundRequest;
use crate::sync::{AtomicUsize, Mutex};

/// How many requests are read back at a time. Each causes a commit, and each commit reads more back.
const READ_BACK_MAX: usize = 64;
/// Requests in memory that each destination may always have.
const EACH_LEAST: usize = 4;
/// The pause after a failed read of the store, in microseconds.
const READ_AGAIN_US: u64 = 1_000_000;

/// The queues of all destinations.
pub(crate) struct OutboundQueues {
    by_destination: Mutex<Destinations>,
    in_memory: AtomicUsize,
    on_disk: AtomicUsize,
    all_max: usize,
    each_max: usize,
}

#[derive(Default)]
struct Destinations {
    all: HashMap<Name, OutboundQueue>,
    /// Destinations with requests on disk, in the order in which they are served next (round robin).
    rotation: VecDeque<Name>,
    /// When the store may be read again after a failed read, on the monotonic clock; 0 for at once.
    read_again_us: u64,
}

/// The requests to one destination.
#[derive(Default)]
struct OutboundQueue {
    in_memory: usize,
    /// Ids in the order in which they came.
    on_disk: VecDeque<u64>,
}

impl OutboundQueues {
    pub fn new(limits: &Limits) -> Self {
        Self {
            by_destination: Mutex::default(),
            in_memory: AtomicUsize::new(0),
            on_disk: AtomicUsize::new(0),
            all_max: limits.requests_waiting_max,
            each_max: limits.requests_waiting_per_destination_max,
        }
    }

    /// Admission: whether a request goes to the network now. Otherwise `read_back` returns it later.
    pub fn admit(&self, request: &OutboundRequest) -> bool {
        let mut all = self.by_destination.lock();
        let all = &mut *all;
        let name: Name = destination(&request.url).into();
        let queue = all.all.entry(name.clone()).or_default();
        // First come, first served.
        let now = self.has_room(queue) && queue.on_disk.is_empty();
        if now {
            queue.in_memory += 1;
            self.in_memory.fetch_add(1, Ordering::Relaxed);
        } else {
            queue.on_disk.push_back(request.id);
            self.on_disk.fetch_add(1, Ordering::Relaxed);
            if queue.on_disk.len() == 1 {
                all.rotation.push_back(name);
            }
        }
        self.assert_rotation(all);
        now
    }

    /// Assert that the rotation has exactly the destinations with requests on disk.
    fn assert_rotation(&self, all: &Destinations) {
        let (rotation, on_disk) = (all.rotation.len(), self.on_disk());
        assert!(
            rotation <= on_disk && (rotation == 0) == (on_disk == 0),
            "{rotation} destinations are in the rotation and {on_disk} requests wait on disk"
        );
    }

    fn has_room(&self, queue: &OutboundQueue) -> bool {
        let left = self.all_max.saturating_sub(self.in_memory());
        queue.in_memory < self.each_max.min(left.max(EACH_LEAST))
    }

    /// Note that a request which was in memory has ended.
    pub fn ended(&self, request: &OutboundRequest) {
        let mut all = self.by_destination.lock();
        let destination = destination(&request.url);
        let Some(queue) = all.all.get_mut(destination) else {
            return;
        };
        assert!(
            queue.in_memory > 0,
            "a request to {destination} has ended and none was in memory"
        );
        queue.in_memory -= 1;
        let before = self.in_memory.fetch_sub(1, Ordering::Relaxed);
        assert!(
            before > queue.in_memory,
            "a request to {destination} has ended: {before} were in memory, and {} to it still are",
            queue.in_memory
        );
        if queue.in_memory == 0 && queue.on_disk.is_empty() {
            all.all.remove(destination);
        }
    }

    /// Take requests from disk for which there is memory now, round robin over the destinations. Returns
    /// their ids and destinations. They count as in memory from now on.
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
        // How many destinations in a row had no room.
        let mut passed = 0;
        while taken.len() < READ_BACK_MAX && passed < all.rotation.len() {
            let Some(name) = all.rotation.pop_front() else {
                break;
            };
            let queue = all.all.get_mut(&name);
            let queue = queue.expect("a destination with requests on disk is known");
            if self.has_room(queue)
                && let Some(id) = queue.on_disk.pop_front()
            {
                queue.in_memory += 1;
                self.in_memory.fetch_add(1, Ordering::Relaxed);
                self.on_disk.fetch_sub(1, Ordering::Relaxed);
                taken.push((id, name.clone()));
                passed = 0;
            } else {
                passed += 1;
            }
            if !queue.on_disk.is_empty() {
                all.rotation.push_back(name);
            }
        }
        self.assert_rotation(all);
        taken
    }

    /// Return requests to their queues because the store could not be read.
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
            let queue = all.all.entry(name.clone()).or_default();
            assert!(
                queue.in_memory > 0,
                "request {id} to {name} is put back, and none to it was in memory"
            );
            queue.in_memory -= 1;
            queue.on_disk.push_front(id);
            if queue.on_disk.len() == 1 {
                all.rotation.push_back(name);
            }
        }
        self.assert_rotation(all);
    }

    /// When the store is to be read again after a failed read, on the monotonic clock.
    pub fn read_again_us(&self) -> Option<u64> {
        let waits = self.on_disk() > 0;
        let at = waits.then(|| self.by_destination.lock().read_again_us);
        at.filter(|at| *at > 0)
    }

    /// How many requests wait on disk, by destination (host and port). Destinations without any are left out.
    pub fn on_disk_by_destination(&self) -> HashMap<Name, usize> {
        let all = self.by_destination.lock();
        let all = all.all.iter();
        let waiting = all.filter(|(_, queue)| !queue.on_disk.is_empty());
        waiting
            .map(|(destination, queue)| (destination.clone(), queue.on_disk.len()))
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

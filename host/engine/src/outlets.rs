//! Requests to the outside that wait for their end: how many are in memory, for each destination and
//! in all, and which ones wait on disk for room.
//!
//! A destination that is dead or slow collects requests. Up to its bound they are in memory, with
//! the network; those beyond are known here by their ids alone and are read back when earlier ones
//! have ended. So a dead destination takes its own part of the memory and no more, and nothing that
//! is on disk is dropped. When all destinations together reach the bound of all, the engine takes no
//! new requests from clients ([`crate::Engine::submit`]).

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::ids::Name;
use crate::network::OutboundRequest;

/// Requests that are read back at a time. Each causes a commit, and each commit reads more back.
const READ_BACK_MAX: usize = 64;

/// See the module's documentation.
#[derive(Default)]
pub(crate) struct Outlets {
    by_destination: Mutex<HashMap<Name, Outlet>>,
    in_memory: AtomicUsize,
    on_disk: AtomicUsize,
}

/// One destination.
#[derive(Default)]
struct Outlet {
    in_memory: usize,
    /// Ids in the order in which they came.
    on_disk: VecDeque<u64>,
}

impl Outlets {
    /// Whether a request goes to the network now. Else its turn comes with `read_back`.
    pub fn admit(&self, request: &OutboundRequest, each_max: usize) -> bool {
        let mut all = self.by_destination.lock();
        let outlet = all.entry(destination(&request.url).into()).or_default();
        // Who came first goes first.
        let now = outlet.in_memory < each_max && outlet.on_disk.is_empty();
        if now {
            outlet.in_memory += 1;
            self.in_memory.fetch_add(1, Ordering::Relaxed);
        } else {
            outlet.on_disk.push_back(request.id);
            self.on_disk.fetch_add(1, Ordering::Relaxed);
        }
        now
    }

    /// A request that was in memory has ended.
    pub fn ended(&self, request: &OutboundRequest) {
        let mut all = self.by_destination.lock();
        let destination = destination(&request.url);
        let Some(outlet) = all.get_mut(destination) else {
            return;
        };
        outlet.in_memory = outlet.in_memory.saturating_sub(1);
        self.in_memory.fetch_sub(1, Ordering::Relaxed);
        if outlet.in_memory == 0 && outlet.on_disk.is_empty() {
            all.remove(destination);
        }
    }

    /// The ids of some requests on disk for which there is room now. They count as in memory.
    pub fn read_back(&self, each_max: usize) -> Vec<u64> {
        let mut ids = Vec::new();
        if self.on_disk() == 0 {
            return ids;
        }
        for outlet in self.by_destination.lock().values_mut() {
            while ids.len() < READ_BACK_MAX && outlet.in_memory < each_max {
                let Some(id) = outlet.on_disk.pop_front() else {
                    break;
                };
                outlet.in_memory += 1;
                ids.push(id);
            }
        }
        self.in_memory.fetch_add(ids.len(), Ordering::Relaxed);
        self.on_disk.fetch_sub(ids.len(), Ordering::Relaxed);
        ids
    }

    /// How many requests wait on disk, by destination (host and port), where any do.
    pub fn on_disk_by_destination(&self) -> HashMap<Name, usize> {
        let all = self.by_destination.lock();
        let waiting = all.iter().filter(|(_, outlet)| !outlet.on_disk.is_empty());
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
fn destination(url: &str) -> &str {
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

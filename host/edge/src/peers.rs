//! How many connections each peer has, so that one cannot take them all.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::Mutex;

/// Bits of an IPv6 address that tell one customer's network from another's. Whoever has one address
/// of it has them all.
const NETWORK: u128 = !0 << 64;

/// Connections by the peers' addresses.
#[derive(Clone, Debug)]
pub struct Peers {
    counts: Arc<Mutex<HashMap<IpAddr, usize>>>,
    each_max: usize,
}

/// One connection of a peer. It counts until it is dropped.
#[derive(Debug)]
pub struct Peer {
    address: IpAddr,
    peers: Peers,
}

impl Peers {
    /// A bound on each peer's connections.
    #[must_use]
    pub fn new(each_max: usize) -> Self {
        Self {
            counts: Arc::default(),
            each_max,
        }
    }

    /// Count a connection from this address; none if there are as many as there may be.
    #[must_use]
    pub fn admit(&self, address: IpAddr) -> Option<Peer> {
        let address = network(address);
        let mut counts = self.counts.lock();
        let count = counts.entry(address).or_default();
        if *count >= self.each_max {
            drop(counts);
            tracing::debug!(%address, "a peer has as many connections as it may have");
            return None;
        }
        *count += 1;
        if *count == self.each_max {
            let bound = self.each_max;
            tracing::warn!(%address, bound, "a peer now has as many connections as it may have (`http.connections-per-peer-max`); more are closed at once");
        }
        Some(Peer {
            address,
            peers: self.clone(),
        })
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let mut counts = self.peers.counts.lock();
        if let Some(count) = counts.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.address);
            }
        }
    }
}

/// The address that stands for a peer.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & NETWORK).into(),
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_peer_has_so_many_connections_and_others_have_theirs() {
        let peers = Peers::new(2);
        let first = peers.admit(address("192.0.2.1")).unwrap();
        let _second = peers.admit(address("::ffff:192.0.2.1")).unwrap();
        assert!(peers.admit(address("192.0.2.1")).is_none());
        assert!(peers.admit(address("192.0.2.2")).is_some());
        drop(first);
        assert!(peers.admit(address("192.0.2.1")).is_some());
    }

    #[test]
    fn a_network_of_ipv6_is_one_peer() {
        let peers = Peers::new(1);
        let held = peers.admit(address("2001:db8::1")).unwrap();
        assert!(peers.admit(address("2001:db8::2:3")).is_none());
        assert!(peers.admit(address("2001:db8:0:1::1")).is_some());
        drop(held);
        assert!(peers.counts.lock().is_empty());
    }
}

//! Shares of each peer (address) of something bounded: connections, and bytes in memory. One peer cannot take
//! everything.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use http::Extensions;
use parking_lot::Mutex;
use rialto_engine::Name;
use rialto_engine::fatal::Critical;

/// The bits of an IPv6 address that identify a customer's network. All addresses of it count as one peer.
const NETWORK: u128 = !0 << 64;

/// The address of a request's sender. The listener adds it to each request as an extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PeerAddress(pub IpAddr);

impl PeerAddress {
    /// The address of a request's sender; the unspecified address if no listener has accepted the request.
    #[must_use]
    pub fn of(extensions: &Extensions) -> Self {
        let nobody = Self(Ipv4Addr::UNSPECIFIED.into());
        extensions.get().copied().unwrap_or(nobody)
    }

    /// Its name among all clients.
    #[must_use]
    pub fn client(self) -> Client {
        Client(format!("address {}", self.0).into())
    }
}

/// The shares of all peers, with a maximum for each.
#[derive(Clone, Debug)]
pub struct Shares {
    counts: Arc<Mutex<HashMap<IpAddr, usize>>>,
    each_max: usize,
}

/// A part of a peer's share, until this is dropped.
#[derive(Debug)]
pub struct Share {
    address: IpAddr,
    count: usize,
    shares: Shares,
}

impl Shares {
    /// Shares with this maximum for each peer.
    #[must_use]
    pub fn new(each_max: usize) -> Self {
        Self {
            counts: Arc::default(),
            each_max,
        }
    }

    /// Take `count` more for the peer at this address. None if that is more than its maximum.
    #[must_use]
    pub fn take(&self, address: IpAddr, count: usize) -> Option<Share> {
        let address = network(address);
        let mut counts = self.counts.lock();
        let has = counts.get(&address).copied().unwrap_or_default();
        let will = has
            .checked_add(count)
            .filter(|will| *will <= self.each_max)?;
        counts.insert(address, will);
        Some(Share {
            address,
            count,
            shares: self.clone(),
        })
    }

    fn has(&self, address: IpAddr) -> usize {
        let counts = self.counts.lock();
        counts.get(&network(address)).copied().unwrap_or_default()
    }
}

impl Peer {
    /// The peer's name among all clients.
    #[must_use]
    pub fn client(&self) -> Client {
        PeerAddress(self.address()).client()
    }
}

/// The client of a request's connection. The listener adds it to each request, for [`crate::Service`].
#[derive(Clone, Debug)]
pub struct Client(pub Name);

impl Share {
    /// Add another share of the same peer to this one.
    ///
    /// # Panics
    /// When it is another peer's.
    pub fn merge(&mut self, mut more: Self) {
        assert_eq!(self.address, more.address, "shares of one peer are merged");
        self.count += std::mem::take(&mut more.count);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        // The shares of all peers depend on this count.
        let _critical = Critical::begin();
        let mut counts = self.shares.counts.lock();
        let has = counts.get(&self.address).copied().unwrap_or_default();
        let Some(left) = has.checked_sub(self.count) else {
            panic!("{} gives back {} and has {has}", self.address, self.count);
        };
        if left == 0 {
            counts.remove(&self.address);
        } else {
            counts.insert(self.address, left);
        }
    }
}

/// Connections by the peers' addresses.
#[derive(Clone, Debug)]
pub struct Peers(Shares);

/// Counts one connection of a peer until it is dropped.
#[derive(Debug)]
pub struct Peer(Share);

impl Peers {
    /// A bound on each peer's connections.
    #[must_use]
    pub fn new(each_max: usize) -> Self {
        Self(Shares::new(each_max))
    }

    /// Count a connection from this address. None if the peer has its maximum.
    #[must_use]
    pub fn admit(&self, address: IpAddr) -> Option<Peer> {
        let Some(share) = self.0.take(address, 1) else {
            tracing::debug!(%address, "a connection was closed: its address has the maximum number of connections");
            return None;
        };
        let bound = self.0.each_max;
        if self.0.has(address) == bound {
            tracing::warn!(%address, bound, "an address has the maximum number of connections now (`http.connections-per-peer-max`); the host closes further ones at once");
        }
        Some(Peer(share))
    }
}

impl Peer {
    /// The address that stands for the peer.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.0.address
    }
}

/// The peer of an address: for IPv6 its network.
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
        assert!(peers.0.counts.lock().is_empty());
    }

    #[test]
    fn a_share_is_given_back_once_and_whole() {
        let shares = Shares::new(10);
        let (one, other) = (address("192.0.2.1"), address("192.0.2.2"));
        let mut share = shares.take(one, 6).unwrap();
        assert!(shares.take(one, 5).is_none());
        assert!(shares.take(one, usize::MAX).is_none());
        share.merge(shares.take(one, 4).unwrap());
        assert!(shares.take(one, 1).is_none());
        assert!(shares.take(other, 10).is_some());
        drop(share);
        assert!(shares.counts.lock().is_empty());
    }
}

//! The addresses of destinations that are named. A participant's own name server says where its name leads, so it could
//! lead to a service beside the host. Names that lead to private addresses are therefore refused, unless the operator
//! allows the range. The connection goes to the address that was looked at: the name is not resolved again.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::vec;

use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use ipnet::IpNet;
use tower_service::Service;

/// Ranges that are not public: of this machine, of this network, of private networks, and of special uses.
const PRIVATE: [&str; 18] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "::/128",
    "::1/128",
    "100::/64",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
];
/// IPv6 addresses of this range lead to the IPv4 address in their last 32 bits (RFC 6052).
const NAT64: u128 = 0x0064_ff9b << 96;

/// Resolves names by the system, and refuses private addresses that are not allowed.
#[derive(Clone)]
pub(super) struct Resolver {
    system: GaiResolver,
    ranges: Arc<Ranges>,
}

struct Ranges {
    private: Vec<IpNet>,
    allowed: Vec<IpNet>,
}

impl Resolver {
    /// A resolver that lets names lead to these private ranges too.
    pub fn new(allowed: Vec<IpNet>) -> Self {
        let private = PRIVATE.iter();
        let private = private.map(|range| {
            range
                .parse()
                .expect("each range is one, and a test reads them")
        });
        Self {
            system: GaiResolver::new(),
            ranges: Arc::new(Ranges {
                private: private.collect(),
                allowed,
            }),
        }
    }
}

impl Ranges {
    fn may_lead_to(&self, address: IpAddr) -> bool {
        let address = canonical(address);
        let within = |ranges: &[IpNet]| ranges.iter().any(|range| range.contains(&address));
        !within(&self.private) || within(&self.allowed)
    }
}

/// The IPv4 address that an IPv6 address stands for, or else the address itself.
fn canonical(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(six) if six.to_bits() >> 32 == NAT64 >> 32 => {
            let [.., a, b, c, d] = Ipv6Addr::octets(&six);
            Ipv4Addr::new(a, b, c, d).into()
        }
        other => other,
    }
}

impl Service<Name> for Resolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.system.poll_ready(context)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let ranges = self.ranges.clone();
        let text = name.as_str().to_owned();
        let resolving = self.system.call(name);
        Box::pin(async move {
            let found: Vec<SocketAddr> = resolving.await?.collect();
            let allowed = |address: &SocketAddr| ranges.may_lead_to(address.ip());
            let addresses: Vec<SocketAddr> = found.iter().copied().filter(allowed).collect();
            match (found.first(), addresses.is_empty()) {
                (Some(private), true) => Err(io::Error::new(
                    io::ErrorKind::PermissionDenied,
                    format!(
                        "`{text}` leads to the private address {}; the operator can allow its range by `outbound.private-ranges`",
                        private.ip()
                    ),
                )),
                _ => Ok(addresses.into_iter()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    fn ranges(allowed: &[&str]) -> Arc<Ranges> {
        Resolver::new(allowed.iter().map(|range| range.parse().unwrap()).collect()).ranges
    }

    #[test]
    fn private_addresses_are_refused_in_every_spelling() {
        let ranges = ranges(&[]);
        for address in [
            "127.0.0.1",
            "0.0.0.0",
            "10.1.2.3",
            "172.31.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:10.0.0.1",
            "64:ff9b::127.0.0.1",
            "fd00::1",
            "fe80::1",
            "ff02::1",
        ] {
            assert!(!ranges.may_lead_to(address.parse().unwrap()), "{address}");
        }
        for address in [
            "192.0.2.1",
            "8.8.8.8",
            "172.32.0.1",
            "2001:db8::1",
            "64:ff9b::8.8.8.8",
        ] {
            assert!(ranges.may_lead_to(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn an_allowed_range_is_no_more_than_that() {
        let ranges = ranges(&["10.1.0.0/16", "::1/128"]);
        for (address, may) in [
            ("10.1.2.3", true),
            ("::ffff:10.1.2.3", true),
            ("10.2.0.1", false),
            ("::1", true),
            ("127.0.0.1", false),
        ] {
            assert_eq!(
                ranges.may_lead_to(address.parse().unwrap()),
                may,
                "{address}"
            );
        }
    }

    #[tokio::test]
    async fn a_name_of_this_machine_is_refused_with_the_reason() {
        let name: Name = "localhost".parse().unwrap();
        let mut resolver = Resolver::new(Vec::new());
        let refused = resolver.call(name.clone()).await.unwrap_err().to_string();
        assert!(
            refused.contains("`localhost` leads to the private address"),
            "{refused}"
        );
        let allowed = ["127.0.0.0/8", "::1/128"].map(|range| range.parse().unwrap());
        let mut resolver = Resolver::new(allowed.to_vec());
        assert!(resolver.call(name).await.unwrap().count() > 0);
    }
}

//! Ranges of IP addresses in the notation of CIDR (RFC 4632, RFC 4291).

use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;

/// Bits of an IPv6 address before the IPv4 address that it maps.
const MAPPED_BITS: u8 = 96;

/// A range of addresses: all that have the first bits of one. An IPv4-mapped address is one of IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range(IpNet);

/// A text that is no range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no range of IP addresses")]
pub struct BadRange(String);

/// The ranges from which a client may send.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges(Vec<Range>);

impl FromStr for Range {
    type Err = BadRange;

    fn from_str(text: &str) -> Result<Self, BadRange> {
        read(text).ok_or_else(|| BadRange(text.to_owned()))
    }
}

/// Addresses are read as the standard library does: without leading zeros, which some take for octal digits.
fn read(text: &str) -> Option<Range> {
    let (first, bits) = text.split_once('/')?;
    let first: IpAddr = first.parse().ok()?;
    if !bits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut bits: u8 = bits.parse().ok()?;
    let canonical = first.to_canonical();
    if first.is_ipv6() && canonical.is_ipv4() {
        bits = bits.checked_sub(MAPPED_BITS)?;
    }
    IpNet::new(canonical, bits).ok().map(Range)
}

impl Range {
    /// Whether an address is in it.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

impl Ranges {
    /// The ranges of these texts. Without any, they contain no address.
    ///
    /// # Errors
    /// The first text that is no range.
    pub fn new<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Self, BadRange> {
        let ranges = texts.into_iter().map(str::parse);
        Ok(Self(ranges.collect::<Result<_, _>>()?))
    }

    /// Whether one of them contains an address.
    #[must_use]
    pub fn contain(&self, address: IpAddr) -> bool {
        self.0.iter().any(|range| range.contains(address))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    #[test]
    fn an_address_is_in_a_range_or_not() {
        for (range, inside, outside) in [
            ("192.0.2.0/24", "192.0.2.255", "192.0.3.0"),
            ("192.0.2.7/32", "192.0.2.7", "192.0.2.6"),
            ("192.0.2.128/25", "192.0.2.128", "192.0.2.127"),
            ("0.0.0.0/0", "255.255.255.255", "::"),
            ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"),
            ("2001:db8::1/128", "2001:db8::1", "2001:db8::2"),
            ("::/0", "ffff::", "192.0.2.1"),
            // What is mapped is IPv4, on both sides.
            ("192.0.2.0/24", "::ffff:192.0.2.1", "::ffff:192.0.3.1"),
            ("::ffff:192.0.2.0/120", "192.0.2.1", "::192.0.2.1"),
            ("::/0", "::1", "::ffff:192.0.2.1"),
        ] {
            let parsed: Range = range.parse().unwrap();
            let is_in = |address: &str| parsed.contains(address.parse().unwrap());
            assert!(is_in(inside), "{range} contains {inside}");
            assert!(!is_in(outside), "{range} does not contain {outside}");
        }
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for bad in [
            "",
            "192.0.2.0",
            "192.0.2.0/",
            "192.0.2.0/33",
            "192.0.2.0/+8",
            "192.0.2.0/-1",
            "192.0.2.0/256",
            "192.0.2/24",
            "192.0.02.0/24",
            " 192.0.2.0/24",
            "2001:db8::/129",
            "::ffff:192.0.2.0/95",
            "fe80::1%eth0/64",
            "host.example/24",
        ] {
            assert_eq!(bad.parse::<Range>(), Err(BadRange(bad.to_owned())));
        }
        assert!(Ranges::new(["192.0.2.0/24", "x"]).is_err());
    }

    #[test]
    fn no_ranges_contain_nothing() {
        let none = Ranges::new([]).unwrap();
        assert!(!none.contain("127.0.0.1".parse().unwrap()));
        let two = Ranges::new(["192.0.2.0/24", "2001:db8::/32"]).unwrap();
        assert!(two.contain("192.0.2.1".parse().unwrap()));
        assert!(two.contain("2001:db8::1".parse().unwrap()));
    }
}

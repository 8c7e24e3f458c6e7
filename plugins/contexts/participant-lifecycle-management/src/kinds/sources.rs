//! The addresses from which a participant may send. The host asks for them, and judges each request.

use super::{Change, is_in, nothing_changes};
use crate::participants::Participant;
use crate::world::{Event, World};
use rialto_sdk::operators::{Kind, Problem};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bits of an IPv6 address before the IPv4 address that it maps.
const MAPPED_BITS: u32 = 96;

/// The requested addresses: the complete list of ranges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourcesUpdate {
    /// Ranges in CIDR notation; none for no limit.
    pub source_addresses: Option<Vec<String>>,
}

impl SourcesUpdate {
    /// The ranges as they are stored: in one notation, in order.
    fn ranges(&self) -> Result<Option<Vec<String>>, Problem> {
        let Some(given) = &self.source_addresses else {
            return Ok(None);
        };
        let mut ranges = Vec::with_capacity(given.len());
        for text in given {
            let invalid = |what: &str| {
                let detail = format!("the range `{text}` {what}");
                Problem::new(Kind::SourceAddressInvalid, detail)
            };
            let range = canonical(text).map_err(invalid)?;
            if ranges.contains(&range) {
                return Err(invalid("is in the list twice"));
            }
            ranges.push(range);
        }
        ranges.sort_unstable();
        Ok(Some(ranges))
    }
}

/// The one notation of a range; an error is what is wrong with it. A range of IPv4-mapped addresses is one of IPv4.
fn canonical(text: &str) -> Result<String, &'static str> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits)),
        None => (text, None),
    };
    let Ok(address) = address.parse::<IpAddr>() else {
        return Err("does not begin with an IP address");
    };
    let bits_max = match address {
        IpAddr::V4(_) => Ipv4Addr::BITS,
        IpAddr::V6(_) => Ipv6Addr::BITS,
    };
    let bits = match bits {
        None => bits_max,
        Some(bits) => length(bits, bits_max).ok_or("has no valid prefix length")?,
    };
    let is_first = match address {
        IpAddr::V4(address) => address.to_bits().checked_shl(bits).unwrap_or(0) == 0,
        IpAddr::V6(address) => address.to_bits().checked_shl(bits).unwrap_or(0) == 0,
    };
    if !is_first {
        return Err(
            "has an address with bits after its prefix: give the first address of the range",
        );
    }
    Ok(match address.to_canonical() {
        // No shorter prefix: the bits before a mapped address are not all zero.
        mapped @ IpAddr::V4(_) if address.is_ipv6() => format!("{mapped}/{}", bits - MAPPED_BITS),
        address => format!("{address}/{bits}"),
    })
}

/// A prefix length. Only digits without a leading zero: a parser would also take a sign.
fn length(text: &str, bits_max: u32) -> Option<u32> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit())
        && (text.len() == 1 || !text.starts_with('0'));
    let bits = text.parse().ok().filter(|bits| *bits <= bits_max);
    bits.filter(|_| is_plain)
}

impl Change for SourcesUpdate {
    fn based_on(&self, participant: &Participant) -> Value {
        json!(participant.source_addresses)
    }

    fn judge(&self, world: &mut dyn World, participant: &Participant) -> Result<(), Problem> {
        is_in(participant)?;
        let ranges = self.ranges()?;
        if ranges.is_some() && !world.scheme().proves_senders() {
            let detail = "participants of this scheme do not prove who they are (`authentication.fsps` is \
                          \"none\"), so a limit of their addresses would protect nothing";
            return Err(Problem::new(Kind::SendersUnproven, detail));
        }
        if ranges == participant.source_addresses {
            return Err(nothing_changes());
        }
        Ok(())
    }

    fn make(
        &self,
        _: &mut dyn World,
        participant: &mut Participant,
        _: &str,
    ) -> Result<Vec<Event>, Problem> {
        participant.source_addresses = self.ranges()?;
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_one_notation() {
        for (given, kept) in [
            ("192.0.2.0/24", "192.0.2.0/24"),
            ("192.0.2.7", "192.0.2.7/32"),
            ("0.0.0.0/0", "0.0.0.0/0"),
            ("2001:DB8:0::/32", "2001:db8::/32"),
            ("2001:db8::1", "2001:db8::1/128"),
            ("::/0", "::/0"),
            ("::ffff:192.0.2.0/120", "192.0.2.0/24"),
            ("::ffff:0:0/96", "0.0.0.0/0"),
            ("::ffff:192.0.2.7", "192.0.2.7/32"),
        ] {
            assert_eq!(canonical(given).as_deref(), Ok(kept), "{given}");
        }
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for bad in [
            "",
            "/",
            "/8",
            "192.0.2.1/24",
            "192.0.2.0/33",
            "192.0.2.0/",
            "192.0.2.0/+8",
            "192.0.2.0/-0",
            "192.0.2.0/08",
            "192.0.2.0/4294967296",
            "192.0.2.0/24/24",
            "192.0.2/24",
            "192.0.02.0/24",
            "0x7f.0.0.1/32",
            "192.0.2.0-192.0.2.9",
            " 192.0.2.0/24",
            "192.0.2.0/ 24",
            "2001:db8::/129",
            "2001:db8::1/64",
            "fe80::1%eth0",
            "[::1]/128",
            "::ffff:0:0/95",
            "::ffff:0:0/80",
            "host.example",
            "ä",
        ] {
            assert!(canonical(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn ranges_are_kept_in_order_and_once() {
        let of = |ranges: &[&str]| {
            let ranges = ranges.iter().map(|range| (*range).to_owned());
            let update = SourcesUpdate {
                source_addresses: Some(ranges.collect()),
            };
            update.ranges()
        };
        let kept = of(&["198.51.100.0/24", "192.0.2.7"]).unwrap().unwrap();
        assert_eq!(kept, ["192.0.2.7/32", "198.51.100.0/24"]);
        assert!(of(&["192.0.2.7", "::ffff:192.0.2.7/128"]).is_err());
    }
}

//! Ranges of IP addresses.

use std::fmt;
use std::str::FromStr;

use ipnet::IpNet;

use super::{Invalid, text_value};

/// A range of IP addresses, written `10.0.0.0/8` (CIDR).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IpRange(IpNet);

text_value!(
    IpRange,
    "ip-range",
    "a range of IP addresses",
    "10.0.0.0/8",
    r"^[0-9A-Fa-f.:]+/(0|[1-9][0-9]{0,2})$"
);

impl IpRange {
    /// The range.
    #[must_use]
    pub const fn network(self) -> IpNet {
        self.0
    }
}

impl fmt::Display for IpRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for IpRange {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let network: IpNet = text.parse().map_err(|_| {
            Invalid::new("write an address and the bits that all have in common: `10.0.0.0/8`")
        })?;
        if network.trunc() != network {
            return Err(Invalid::new(
                "the address has bits that the range does not fix; write its first address",
            ));
        }
        Ok(Self(network))
    }
}

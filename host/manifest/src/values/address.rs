//! Addresses on which the host listens.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use super::{Invalid, text_value};

/// An IP address and a port, written `127.0.0.1:4001` or `[::1]:4001`; port 0 lets the system choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListenAddress(SocketAddr);

text_value!(
    ListenAddress,
    "listen-address",
    "an address",
    "127.0.0.1:4001",
    r"^([0-9.]+|\[[0-9a-fA-F:.%]+\]):[0-9]+$"
);

impl ListenAddress {
    /// As the standard library writes it.
    #[must_use]
    pub const fn socket(self) -> SocketAddr {
        self.0
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl FromStr for ListenAddress {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        text.parse().map(Self).map_err(|_| {
            Invalid::new("write an IP address and a port, as in `127.0.0.1:4001` or `[::1]:4001`")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_an_ip_address_and_a_port() {
        for good in ["127.0.0.1:4001", "0.0.0.0:0", "[::1]:4001"] {
            assert_eq!(good.parse::<ListenAddress>().unwrap().to_string(), good);
        }
        for bad in [
            "localhost:4001",
            "127.0.0.1",
            ":4001",
            "127.0.0.1:65536",
            "::1:4001",
        ] {
            assert!(bad.parse::<ListenAddress>().is_err(), "{bad}");
        }
    }
}

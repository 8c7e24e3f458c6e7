//! Free ports, each given once in this process.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// The range to choose from: below the ports that systems give to outgoing connections, or the
/// host's own could take one between the choice and its use.
const FIRST: u16 = 12_000;
const COUNT: u16 = 18_000;
/// Ports between the first ones of two processes with neighbouring ids.
const STRIDE: u32 = 97;

static NEXT: AtomicU16 = AtomicU16::new(0);

/// A free port of this machine.
///
/// # Errors
/// When all are taken.
pub fn free() -> std::io::Result<u16> {
    // Test programs that run side by side begin at different places.
    let start = std::process::id().wrapping_mul(STRIDE) % u32::from(COUNT);
    for _ in 0..COUNT {
        let step = u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
        let place = (start + step) % u32::from(COUNT);
        let port = FIRST + u16::try_from(place).unwrap_or_default();
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    let why = format!("no port from {FIRST} to {} is free", FIRST + COUNT);
    Err(std::io::Error::other(why))
}

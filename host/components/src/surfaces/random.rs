//! `random`: randomness from the engine's source.

use std::fmt::Write as _;

use crate::bindings::rialto::host::random::Host;
use crate::guest::Guest;

/// Bytes that one call may ask for.
const BYTES_MAX: u32 = 4_096;

impl Host for Guest {
    fn bytes(&mut self, count: u32) -> wasmtime::Result<String> {
        if count > BYTES_MAX {
            return Err(wasmtime::format_err!(
                "`random.bytes` gives at most {BYTES_MAX} bytes, not {count}"
            ));
        }
        let mut bytes = [0; BYTES_MAX as usize];
        let bytes = &mut bytes[..count as usize];
        self.turn()?.random(bytes);
        Ok(hex(bytes))
    }

    fn uuid(&mut self) -> wasmtime::Result<String> {
        let mut bytes = [0; 16];
        self.turn()?.random(&mut bytes);
        // Version 4, variant 1 (RFC 9562, section 5.4).
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let digits = hex(&bytes);
        let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &digits[part]);
        Ok(parts.join("-"))
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

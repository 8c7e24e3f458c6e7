//! `random`: randomness from the engine's source.

use data_encoding::HEXLOWER;

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
        Ok(HEXLOWER.encode(bytes))
    }

    fn uuid(&mut self) -> wasmtime::Result<String> {
        let mut bytes = [0; 16];
        self.turn()?.random(&mut bytes);
        Ok(uuid::Builder::from_random_bytes(bytes)
            .into_uuid()
            .to_string())
    }
}

//! `wasi:random`: the engine's randomness; for a rule, bytes that depend only on its input.

use sha2::{Digest as _, Sha256};
use wasmtime_wasi::p2::bindings::random::{insecure, insecure_seed, random};

use super::Source;
use crate::guest::Guest;

/// Bytes that one call may ask for.
const BYTES_MAX: u64 = 4_096;

/// The seed of a stream of bytes.
pub(crate) type Seed = [u8; 32];

/// Pseudorandom bytes of a seed: SHA-256 of the seed and a counter.
pub(super) struct Stream {
    seed: Seed,
    counter: u64,
    left: Vec<u8>,
}

impl Stream {
    pub(super) fn new(seed: Seed) -> Self {
        Self {
            seed,
            counter: 0,
            left: Vec::new(),
        }
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            if self.left.is_empty() {
                let mut hash = Sha256::new();
                hash.update(self.seed);
                hash.update(self.counter.to_le_bytes());
                self.left.extend_from_slice(&hash.finalize());
                self.counter += 1;
            }
            *byte = self.left.pop().unwrap_or_default();
        }
    }
}

impl Guest {
    /// Cryptographic randomness. A context has none outside of a turn.
    fn wasi_random(&mut self, bytes: &mut [u8]) -> wasmtime::Result<()> {
        let wasi = self.wasi();
        match wasi.source {
            Source::Input(_) => wasi.bytes.fill(bytes),
            Source::Turn => self.turn()?.random(bytes),
        }
        Ok(())
    }

    /// Randomness for hash tables and the like. Runtimes need it also outside of a turn.
    fn wasi_insecure(&mut self, bytes: &mut [u8]) -> wasmtime::Result<()> {
        if self.active.is_some() {
            return self.wasi_random(bytes);
        }
        self.wasi().bytes.fill(bytes);
        Ok(())
    }
}

fn room(len: u64) -> wasmtime::Result<Vec<u8>> {
    if len > BYTES_MAX {
        return Err(wasmtime::format_err!(
            "`wasi:random` gives at most {BYTES_MAX} bytes at a time, not {len}"
        ));
    }
    Ok(vec![0; usize::try_from(len).unwrap_or_default()])
}

impl random::Host for Guest {
    fn get_random_bytes(&mut self, len: u64) -> wasmtime::Result<Vec<u8>> {
        let mut bytes = room(len)?;
        self.wasi_random(&mut bytes)?;
        Ok(bytes)
    }

    fn get_random_u64(&mut self) -> wasmtime::Result<u64> {
        let mut bytes = [0; 8];
        self.wasi_random(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }
}

impl insecure::Host for Guest {
    fn get_insecure_random_bytes(&mut self, len: u64) -> wasmtime::Result<Vec<u8>> {
        let mut bytes = room(len)?;
        self.wasi_insecure(&mut bytes)?;
        Ok(bytes)
    }

    fn get_insecure_random_u64(&mut self) -> wasmtime::Result<u64> {
        let mut bytes = [0; 8];
        self.wasi_insecure(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }
}

impl insecure_seed::Host for Guest {
    fn insecure_seed(&mut self) -> wasmtime::Result<(u64, u64)> {
        let mut bytes = [0; 16];
        self.wasi_insecure(&mut bytes)?;
        let (low, high) = bytes.split_at(8);
        let number = |half: &[u8]| half.iter().rev().fold(0, |sum, b| sum << 8 | u64::from(*b));
        Ok((number(low), number(high)))
    }
}

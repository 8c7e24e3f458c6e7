//! The unit of CPU time: one RSA-2048 signature.
//!
//! Machines differ by a factor of two from day to day, and a figure in signatures differs less. The unit is a
//! signature by OpenSSL 3.0, as `openssl speed rsa2048` measures it. The benchmark makes signatures by AWS-LC,
//! which is here already, and converts with [`OPENSSL_FACTOR`].

use std::fs;
use std::io;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{RSA_PKCS1_SHA256, RsaKeyPair};

/// The CPU time of a signature by OpenSSL 3.0.22, divided by that of one by AWS-LC (`aws-lc-rs` 1.19): 241 µs
/// by 240 µs, measured within minutes on one processor with AVX-512, where both have their fastest code.
const OPENSSL_FACTOR: f64 = 1.0;
/// Rounds; the fastest counts.
const ROUNDS: u32 = 20;
/// Signatures of a round.
const SIGNATURES: u32 = 25;
/// The first number is the thread's CPU time in nanoseconds.
const SCHEDSTAT: &str = "/proc/thread-self/schedstat";

/// Signatures cannot be timed.
#[derive(Debug, thiserror::Error)]
pub enum UnitError {
    /// No key could be drawn.
    #[error("no RSA key could be drawn")]
    Key,
    /// It does not sign.
    #[error("an RSA key does not sign")]
    Signing,
    /// Linux does not tell the CPU time.
    #[error("the CPU time of a thread cannot be read from {SCHEDSTAT}")]
    Clock(#[source] io::Error),
}

/// Times signatures.
#[derive(Debug)]
pub struct Signer(RsaKeyPair);

impl Signer {
    /// With a new key.
    ///
    /// # Errors
    /// When none can be drawn.
    pub fn new() -> Result<Self, UnitError> {
        let key = RsaKeyPair::generate(KeySize::Rsa2048);
        key.map(Self).map_err(|_| UnitError::Key)
    }

    /// The CPU time of one signature by AWS-LC on this thread, in microseconds.
    ///
    /// # Errors
    /// When it cannot be measured.
    pub fn sign_us(&self) -> Result<f64, UnitError> {
        let mut fastest = f64::INFINITY;
        for _ in 0..ROUNDS {
            let before = thread_cpu_ns()?;
            for _ in 0..SIGNATURES {
                self.sign()?;
            }
            let took_us = (thread_cpu_ns()? - before) / 1e3;
            fastest = fastest.min(took_us / f64::from(SIGNATURES));
        }
        Ok(fastest)
    }

    fn sign(&self) -> Result<(), UnitError> {
        let mut signature = vec![0; self.0.public_modulus_len()];
        let (random, message) = (SystemRandom::new(), [0; 64]);
        self.0
            .sign(&RSA_PKCS1_SHA256, &random, &message, &mut signature)
            .map_err(|_| UnitError::Signing)?;
        std::hint::black_box(signature);
        Ok(())
    }
}

/// CPU time in milliseconds as a number of signatures by OpenSSL, where one by AWS-LC takes `sign_us`.
#[must_use]
pub fn in_signatures(cpu_ms: f64, sign_us: f64) -> f64 {
    cpu_ms * 1e3 / (sign_us * OPENSSL_FACTOR)
}

fn thread_cpu_ns() -> Result<f64, UnitError> {
    let text = fs::read_to_string(SCHEDSTAT).map_err(UnitError::Clock)?;
    let first = text.split(' ').next().and_then(|ns| ns.parse().ok());
    first.ok_or_else(|| UnitError::Clock(io::ErrorKind::InvalidData.into()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    #[test]
    fn a_signature_takes_some_time() {
        let sign_us = Signer::new().unwrap().sign_us().unwrap();
        assert!(sign_us > 0.0, "{sign_us}");
        let signatures = in_signatures(10.0 * sign_us / 1e3, sign_us);
        assert!((signatures - 10.0).abs() < 1e-9, "{signatures}");
    }
}

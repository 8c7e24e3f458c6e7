//! The unit of CPU time: one RSA-2048 signature.
//!
//! Machines differ by a factor of two from day to day, and a figure in signatures differs less. The unit is a
//! signature by OpenSSL 3.0, as `openssl speed rsa2048` measures it. The benchmark makes signatures by AWS-LC,
//! which is here already, and converts with [`OPENSSL_FACTOR`].

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustix::time::{ClockId, clock_gettime};

/// The CPU time of a signature by OpenSSL 3.0.22, divided by that of one by AWS-LC (`aws-lc-rs` 1.19). Measured in
/// turn on one processor with AVX-512: 241 and 247 µs by 232, 234 and 241 µs. That is not told apart from 1.
const OPENSSL_FACTOR: f64 = 1.0;
/// Rounds; the fastest counts.
const ROUNDS: u32 = 20;
/// Signatures of a round.
const SIGNATURES: u32 = 25;

/// Signatures cannot be timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// No key could be drawn.
    #[error("no RSA key could be drawn")]
    Key,
    /// It does not sign.
    #[error("an RSA key does not sign")]
    Signing,
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
            let before_us = thread_cpu_us();
            for _ in 0..SIGNATURES {
                self.sign()?;
            }
            let took_us = thread_cpu_us() - before_us;
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

/// The CPU time of this thread, in microseconds.
fn thread_cpu_us() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    (time.tv_sec as f64) * 1e6 + (time.tv_nsec as f64) / 1e3
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

//! The unit of CPU time: one RSA-2048 signature.
//!
//! Machines differ by a factor of two from day to day, and a figure in signatures does not. The unit is a
//! signature by OpenSSL 3.0, as `openssl speed rsa2048` measures it. The benchmark makes signatures by AWS-LC,
//! which the host has, and converts with [`OPENSSL_FACTOR`].

use std::fs;

use anyhow::Context as _;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{RSA_PKCS1_SHA256, RsaKeyPair};

/// The CPU time of a signature by OpenSSL 3.0.22, divided by that of one by AWS-LC (`aws-lc-rs` 1.19). Measured
/// on one machine with AVX-512, where both have their fastest code.
const OPENSSL_FACTOR: f64 = 1.0;
/// Rounds; the fastest counts.
const ROUNDS: u32 = 20;
/// Signatures of a round.
const SIGNATURES: u32 = 25;

/// A key to sign with.
pub(super) struct Signer(RsaKeyPair);

impl Signer {
    /// Draw a key.
    pub fn new() -> anyhow::Result<Self> {
        let key = RsaKeyPair::generate(KeySize::Rsa2048);
        Ok(Self(key.context("drawing an RSA key")?))
    }

    /// The CPU time of one signature by AWS-LC on this thread, in microseconds.
    pub fn sign_us(&self) -> anyhow::Result<f64> {
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

    fn sign(&self) -> anyhow::Result<()> {
        let mut signature = vec![0; self.0.public_modulus_len()];
        let message = [0; 64];
        let random = SystemRandom::new();
        self.0
            .sign(&RSA_PKCS1_SHA256, &random, &message, &mut signature)
            .context("signing")?;
        std::hint::black_box(signature);
        Ok(())
    }
}

/// CPU time in milliseconds as a number of signatures by OpenSSL.
pub(super) fn in_signatures(cpu_ms: f64, sign_us: f64) -> f64 {
    cpu_ms * 1e3 / (sign_us * OPENSSL_FACTOR)
}

/// The CPU time of this thread in nanoseconds.
fn thread_cpu_ns() -> anyhow::Result<f64> {
    let file = "/proc/thread-self/schedstat";
    let text = fs::read_to_string(file).with_context(|| format!("reading {file}"))?;
    let first = text.split(' ').next().and_then(|ns| ns.parse().ok());
    first.with_context(|| format!("{file} does not begin with a number"))
}

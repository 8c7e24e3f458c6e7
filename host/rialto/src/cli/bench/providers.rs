//! `rialto bench keys`: how fast each provider of keys signs.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rialto_keys::{Algorithm, Attributes, KeyError, Keys, Purpose};
use rialto_manifest::Operator;
use serde_json::{Value, json};

use super::super::show;
use crate::out;

/// The owner of the benchmark's keys.
const OWNER: &str = "benchmark";
/// What is signed: as long as a token without its signature.
const MESSAGE: [u8; 400] = [7; 400];
/// Signatures before one looks at the clock.
const AT_ONCE: u32 = 10;

/// Measure the providers of keys: signatures a second on one core, by provider and algorithm.
#[derive(Debug, clap::Args)]
pub(super) struct KeySpeed {
    /// The folder with rialto.toml, which names the providers.
    #[arg(long, value_name = "DIR", env = "RIALTO_SCHEME", default_value = ".")]
    scheme: PathBuf,
    /// Seconds for each algorithm.
    #[arg(long, default_value_t = 1)]
    seconds: u64,
    /// Print JSON, one object a line.
    #[arg(long)]
    json: bool,
}

impl KeySpeed {
    pub fn run(&self) -> anyhow::Result<u8> {
        let document = self.scheme.join(rialto_manifest::operator::FILE_NAME);
        let text = std::fs::read_to_string(&document)
            .with_context(|| format!("reading {}", document.display()))?;
        let operator = match Operator::parse(&text) {
            Ok(operator) => operator,
            Err(problems) => {
                show(&problems);
                return Ok(2);
            }
        };
        let keys = crate::keys::open_outside_turns(&operator, Path::new(&self.scheme))?;
        let providers = keys.providers();
        if providers.is_empty() {
            out::note("rialto.toml names no provider of keys: add [keys]");
            return Ok(2);
        }
        if !self.json {
            out::line(format_args!(
                "{:<16} {:<8} {:>14} {:>14}",
                "provider", "", "signatures/s", "verified/s"
            ))?;
        }
        for provider in providers {
            for algorithm in provider.algorithms {
                if matches!(algorithm.purpose(), Purpose::Sign | Purpose::Mac) {
                    self.show(&measured(&keys, &provider.name, algorithm, self.seconds)?)?;
                }
            }
        }
        Ok(0)
    }

    fn show(&self, figures: &Value) -> anyhow::Result<()> {
        if self.json {
            return Ok(out::line(figures)?);
        }
        let text = |member: &str| figures[member].as_str().unwrap_or_default();
        let number = |member: &str| figures[member].as_f64().unwrap_or_default();
        Ok(out::line(format_args!(
            "{:<16} {:<8} {:>14.0} {:>14.0}",
            text("provider"),
            text("algorithm"),
            number("signatures_per_second"),
            number("verified_per_second")
        ))?)
    }
}

fn measured(
    keys: &Keys,
    provider: &str,
    algorithm: Algorithm,
    seconds: u64,
) -> anyhow::Result<Value> {
    let attributes = Attributes {
        label: OWNER.to_owned(),
        purpose: algorithm.purpose(),
        algorithm,
        not_after: None,
    };
    let key = keys.generate(OWNER, provider, &attributes)?.reference;
    let figures = speeds(keys, &key, Duration::from_secs(seconds.max(1)));
    // A token keeps keys until they are destroyed.
    keys.destroy(OWNER, &key)?;
    let (signed, verified) = figures?;
    let name = match algorithm {
        Algorithm::Es256 => "ES256",
        Algorithm::Es384 => "ES384",
        Algorithm::Rs256 => "RS256",
        _ => "HS256",
    };
    Ok(json!({
        "provider": provider,
        "algorithm": name,
        "signatures_per_second": signed,
        "verified_per_second": verified,
    }))
}

/// Signatures, and verified signatures, a second.
fn speeds(keys: &Keys, key: &str, lasts: Duration) -> Result<(f64, f64), KeyError> {
    let signature = keys.sign(OWNER, key, 0, &MESSAGE)?;
    let signed = per_second(lasts, || keys.sign(OWNER, key, 0, &MESSAGE).map(drop))?;
    let verified = per_second(lasts, || {
        keys.verify(OWNER, key, &MESSAGE, &signature).map(drop)
    })?;
    Ok((signed, verified))
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn per_second<E>(lasts: Duration, mut work: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    let (began, mut done) = (Instant::now(), 0_u64);
    while began.elapsed() < lasts {
        for _ in 0..AT_ONCE {
            work()?;
        }
        done += u64::from(AT_ONCE);
    }
    Ok(done as f64 / began.elapsed().as_secs_f64())
}

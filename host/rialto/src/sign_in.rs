//! The provider that operators sign in with, as `rialto.toml` names it.

use std::path::Path;

use anyhow::Context as _;
use parking_lot::Mutex;
use rialto_engine::{Entropy, Timestamp};
use rialto_manifest::Operator;
use rialto_manifest::sign_in::{ClientSecret, SignIn as Wanted};
use rialto_manifest::values::UrlScheme;
use rialto_sign_in::{Configuration, Provider, SecretSource};

/// The path below the operators' address to which the provider sends browsers back.
pub const CALLBACK: &str = "/sign-in/callback";
/// How many entries there may be in an hour of what strangers can cause.
const ENTRIES_PER_HOUR: u32 = 20;
/// An hour, in milliseconds.
const HOUR: u64 = 3_600_000;

/// The provider, and what the host needs for its browsers.
pub struct SignIn {
    /// The provider.
    pub provider: Provider,
    /// The origin at which browsers reach the operators' listener.
    pub address: String,
    /// Whether browsers reach it by TLS.
    pub is_secure: bool,
    /// How long a session lasts, in milliseconds.
    pub session_ms: u64,
    /// Bounds the entries in the audit log of sign-ins that the provider refused, or that proved nothing. Anybody can cause
    /// them.
    pub unproven: Bounded,
    /// Bounds the entries of people whom the provider knows, and who are no operators.
    pub unknown: Bounded,
    /// Bounds the lines about sign-ins in the log.
    pub logged: Bounded,
}

impl SignIn {
    /// Read the secret and the authority's certificates. The provider may be away.
    ///
    /// # Errors
    /// When they cannot be used.
    pub fn open(
        operator: &Operator,
        scheme: &Path,
        entropy: &dyn Entropy,
    ) -> anyhow::Result<Option<Self>> {
        let Some(wanted) = &operator.sign_in else {
            return Ok(None);
        };
        let mut key = [0; 32];
        entropy.fill(&mut key);
        let provider = Provider::open(configuration(wanted, scheme), &key);
        let origin = wanted.address.origin();
        Ok(Some(Self {
            provider: provider.context("[sign-in] of rialto.toml")?,
            address: origin.to_string(),
            is_secure: origin.scheme == UrlScheme::Https,
            session_ms: wanted.session.millis(),
            unproven: Bounded::default(),
            unknown: Bounded::default(),
            logged: Bounded::default(),
        }))
    }
}

/// Look whether the secret and the authority's certificates can be read. The provider is not asked.
///
/// # Errors
/// When they cannot be used.
pub fn check(operator: &Operator, scheme: &Path) -> anyhow::Result<()> {
    let Some(wanted) = &operator.sign_in else {
        return Ok(());
    };
    let opened = Provider::open(configuration(wanted, scheme), &[0; 32]);
    opened.map(drop).context("[sign-in] of rialto.toml")
}

fn configuration(wanted: &Wanted, scheme: &Path) -> Configuration {
    let authorities = wanted.authorities.as_ref();
    Configuration {
        issuer: wanted.issuer.to_string(),
        client_id: wanted.client_id.clone(),
        client_secret: wanted
            .client_secret
            .as_ref()
            .and_then(|secret| source(secret, scheme)),
        redirect_uri: format!("{}{CALLBACK}", wanted.address.origin()),
        ca: authorities.map(|path| path.from_folder(scheme)),
        scopes: wanted.scopes.clone(),
    }
}

/// Where the secret is. The check of the document lets none through that says nothing.
fn source(secret: &ClientSecret, scheme: &Path) -> Option<SecretSource> {
    let file = secret.file.as_ref();
    let file = file.map(|path| SecretSource::File(path.from_folder(scheme)));
    file.or_else(|| secret.variable.clone().map(SecretSource::Variable))
}

/// Bounds how often something is written down that strangers can cause.
#[derive(Default)]
pub struct Bounded(Mutex<Hour>);

#[derive(Default)]
struct Hour {
    began: Timestamp,
    written: u32,
    left_out: u64,
}

impl Bounded {
    /// Whether one more may be written down now. If so, returns how many were left out before it.
    pub fn next(&self, now: Timestamp) -> Option<u64> {
        let mut hour = self.0.lock();
        if now.0.saturating_sub(hour.began.0) >= HOUR {
            (hour.began, hour.written) = (now, 0);
        }
        if hour.written >= ENTRIES_PER_HOUR {
            hour.left_out += 1;
            return None;
        }
        hour.written += 1;
        Some(std::mem::take(&mut hour.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_an_hour_are_bounded_and_the_others_counted() {
        let (bounded, now) = (Bounded::default(), Timestamp(1_700_000_000_000));
        for _ in 0..ENTRIES_PER_HOUR {
            assert_eq!(bounded.next(now), Some(0));
        }
        assert_eq!(bounded.next(now + 1), None);
        assert_eq!(bounded.next(now + (HOUR - 1)), None);
        assert_eq!(bounded.next(now + HOUR), Some(2));
        assert_eq!(bounded.next(now + HOUR), Some(0));
    }
}

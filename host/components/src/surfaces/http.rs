//! `http`: outbound requests, to origins that the manifest grants.

use rialto_engine::Timestamp;
use rialto_engine::network::{self, DeliveryPolicy, OwnSignature};
use rialto_engine::turn::Send;

use super::interrupt;
use crate::bindings::rialto::host::http::{Host, OutboundRequest, WhileAway};
use crate::guest::Guest;
use crate::headers::sendable;

/// Attempts that a policy may ask for.
const ATTEMPTS_MAX: u32 = 100;

impl Host for Guest {
    fn send(&mut self, request: OutboundRequest) -> wasmtime::Result<u64> {
        self.stage(request, None)
    }

    fn is_granted(&mut self, url: String) -> wasmtime::Result<bool> {
        Ok(origin_is_granted(&self.identity.outbound, &url))
    }
}

impl Guest {
    /// Stage a request, which the host signs if that is wanted.
    pub(super) fn stage(
        &mut self,
        request: OutboundRequest,
        signature: Option<OwnSignature>,
    ) -> wasmtime::Result<u64> {
        let identity = self.identity.clone();
        let policy = &request.policy;
        if !(1..=ATTEMPTS_MAX).contains(&policy.attempts_max) {
            return Err(wasmtime::format_err!(
                "`attempts-max` is 1 to {ATTEMPTS_MAX}, not {}",
                policy.attempts_max
            ));
        }
        // The report tells the component, as for a destination that cannot be reached.
        let attempts_max = if origin_is_granted(&identity.outbound, &request.url) {
            policy.attempts_max
        } else {
            let (component, url) = (&identity.name, origin(&request.url).unwrap_or("this URL"));
            tracing::warn!(%component, "a request to {url} is not sent: its origin is not granted under `outbound`");
            DeliveryPolicy::NOT_ALLOWED
        };
        let send = Send {
            method: request.method,
            url: request.url,
            headers: sendable(request.headers),
            body: request.body,
            signature,
            policy: DeliveryPolicy {
                attempts_max,
                attempt_timeout_ms: policy.attempt_timeout_ms.max(1),
                deadline: Timestamp(policy.deadline),
                backoff_initial_ms: policy.backoff_initial_ms,
                backoff_max_ms: policy.backoff_max_ms,
                while_away: match policy.while_away {
                    WhileAway::Wait => network::WhileAway::Wait,
                    WhileAway::GiveUp => network::WhileAway::GiveUp,
                },
            },
            correlation: request.correlation,
        };
        let component = identity.name.clone();
        interrupt(self.turn()?.send(&component, send))
    }
}

/// `http://host:port` of an absolute URL without a user in it.
fn origin(url: &str) -> Option<&str> {
    let rest = url
        .strip_prefix("http://")
        .or_else(|| url.strip_prefix("https://"))?;
    let scheme = url.len() - rest.len();
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = &rest[..end];
    let plain = !authority.is_empty()
        && authority
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-._:[]".contains(&b));
    plain.then(|| &url[..scheme + end])
}

/// Whether a URL's origin is among the granted ones; `:*` stands for any port.
pub(crate) fn origin_is_granted(granted: &[String], url: &str) -> bool {
    let Some(origin) = origin(url) else {
        return false;
    };
    granted.iter().any(|grant| match grant.strip_suffix(":*") {
        Some(host) => origin.strip_prefix(host).is_some_and(|port| {
            port.is_empty()
                || port
                    .strip_prefix(':')
                    .is_some_and(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()))
        }),
        None => grant == origin,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_granted_origins_pass() {
        let granted = [
            "http://127.0.0.1:*".to_owned(),
            "https://fsp.example".to_owned(),
        ];
        for url in [
            "http://127.0.0.1:80/x",
            "http://127.0.0.1",
            "https://fsp.example/a?b",
        ] {
            assert!(origin_is_granted(&granted, url), "{url}");
        }
        for url in [
            "http://127.0.0.1.evil.example/",
            "http://127.0.0.1:80@evil.example/",
            "http://127.0.0.1:x/",
            "https://fsp.example:444/",
            "https://fsp.example.evil/",
            "ftp://127.0.0.1:80/",
            "//127.0.0.1",
            "",
        ] {
            assert!(!origin_is_granted(&granted, url), "{url}");
        }
    }
}

//! The component's settings: how to retry messages.

use crate::bindings::exports::rialto::fsp_interop_api::notify_requested::Worth;
use rialto_sdk::bindings::rialto::host::http::{DeliveryPolicy, WhileAway};
use rialto_sdk::deliveries::Kept;
use rialto_sdk::settings::Problems;
use serde::Deserialize;

/// Settings of the scheme's manifest for this component.
///
/// A message is tried again, with growing pauses, while attempts are left and it has not expired. Each message
/// has its own expiry.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Settings {
    /// The most attempts, 1 to 100.
    pub attempts_max: u32,
    /// How long one attempt may take, in milliseconds.
    pub attempt_timeout_ms: u32,
    /// The pause after the first failed attempt, in milliseconds; it doubles after each more.
    pub backoff_initial_ms: u32,
    /// The longest pause, in milliseconds.
    pub backoff_max_ms: u32,
    /// Which reports are kept by participant.
    pub reports_kept: Kept,
    /// A URL that gets notices to operators as JSON; none: notices are only stored.
    pub operators_webhook: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            attempts_max: 20,
            attempt_timeout_ms: 5_000,
            backoff_initial_ms: 250,
            backoff_max_ms: 10_000,
            reports_kept: Kept::Troubled,
            operators_webhook: None,
        }
    }
}

impl Settings {
    /// Notes the problems of settings that could be parsed.
    pub fn judge(&self, problems: &mut Problems) {
        if !(1..=100).contains(&self.attempts_max) {
            let message = format!("it is {}; it must be 1 to 100", self.attempts_max);
            problems.note("/attemptsMax", message);
        }
        let is_url = |url: &String| url.starts_with("http://") || url.starts_with("https://");
        if !self.operators_webhook.as_ref().is_none_or(is_url) {
            let message = "it must be a URL such as http://127.0.0.1:9000/notices";
            problems.note("/operatorsWebhook", message);
        }
        if self.attempt_timeout_ms == 0 {
            problems.note(
                "/attemptTimeoutMs",
                "it must be more than 0: otherwise no attempt could succeed",
            );
        }
        if self.backoff_initial_ms > self.backoff_max_ms {
            let message = format!(
                "it is {}; it must not be more than backoffMaxMs, which is {}",
                self.backoff_initial_ms, self.backoff_max_ms
            );
            problems.note("/backoffInitialMs", message);
        }
    }

    /// The host's policy for a message with this expiry that leaves at `now` (milliseconds since 1970).
    #[must_use]
    pub const fn policy(&self, worth: Worth, now: u64, while_away: WhileAway) -> DeliveryPolicy {
        let deadline = match worth {
            Worth::Until(instant) => instant,
            Worth::Lasting(millis) => now.saturating_add(millis),
        };
        DeliveryPolicy {
            attempts_max: self.attempts_max,
            attempt_timeout_ms: self.attempt_timeout_ms,
            deadline,
            backoff_initial_ms: self.backoff_initial_ms,
            backoff_max_ms: self.backoff_max_ms,
            while_away,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::settings::judge;

    #[test]
    fn answers_have_full_time_and_requests_until_expiration() {
        let deadline = |worth, now| {
            let policy = Settings::default().policy(worth, now, WhileAway::Wait);
            policy.deadline
        };
        for left in [0, 60_000] {
            assert_eq!(deadline(Worth::Lasting(30_000), left), left + 30_000);
            assert_eq!(deadline(Worth::Until(7), left), 7);
        }
        assert_eq!(deadline(Worth::Lasting(u64::MAX), 1), u64::MAX);
    }

    #[test]
    fn settings_are_judged_before_they_are_used() {
        assert_eq!(judge("{}", Settings::judge), Ok(()));
        let bad =
            r#"{"attemptsMax":101,"attemptTimeoutMs":0,"backoffInitialMs":2,"backoffMaxMs":1}"#;
        let problems = judge(bad, Settings::judge).unwrap_err();
        let places: Vec<&str> = problems.iter().map(|p| p.pointer.as_str()).collect();
        assert_eq!(
            places,
            ["/attemptsMax", "/attemptTimeoutMs", "/backoffInitialMs"]
        );
    }

    #[test]
    fn schema_describes_the_settings() {
        let schema = include_str!("../settings.schema.json");
        rialto_json_schema::settings::describes::<Settings>(schema);
    }
}

//! The component's settings: who issues tokens, for whom, and how long they last.

use rialto_sdk::settings::Problems;
use serde::Deserialize;

/// The shortest and the longest lifetime of a token, in seconds.
const LIFETIME: std::ops::RangeInclusive<u64> = 60..=LIFETIME_SECONDS_MAX;
/// The longest lifetime of a token, in seconds: a day.
pub const LIFETIME_SECONDS_MAX: u64 = 86_400;
/// Days for which a key signs.
const SIGNING_DAYS: std::ops::RangeInclusive<u64> = 1..=366;

/// Settings of the scheme's manifest for this component.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Settings {
    /// The `iss` of tokens: the https URL at which applications find the documents of this API (RFC 8414).
    pub issuer: String,
    /// The `aud` of tokens; the issuer unless it is set.
    pub audience: Option<String>,
    /// How long a token is valid, in seconds.
    pub token_lifetime_seconds: u64,
    /// For how many days a key signs tokens. Then a new one is made.
    pub signing_key_days: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            issuer: "https://hub.invalid".to_owned(),
            audience: None,
            token_lifetime_seconds: 3_600,
            signing_key_days: 30,
        }
    }
}

impl Settings {
    /// The `aud` of tokens.
    #[must_use]
    pub fn audience(&self) -> &str {
        self.audience.as_deref().unwrap_or(&self.issuer)
    }

    /// Notes the problems of settings that could be parsed.
    pub fn judge(&self, problems: &mut Problems) {
        let issuer = &self.issuer;
        let host = issuer.strip_prefix("https://").unwrap_or_default();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
        if host.is_empty() || !host.bytes().all(is_plain) {
            let message = "it must be an https URL without a path, such as https://hub.example";
            problems.note("/issuer", message);
        }
        let audience = self.audience();
        if !(1..=255).contains(&audience.len()) || audience.chars().any(char::is_control) {
            problems.note("/audience", "it must have 1 to 255 characters");
        }
        if !LIFETIME.contains(&self.token_lifetime_seconds) {
            let (least, most) = (LIFETIME.start(), LIFETIME.end());
            let message = format!(
                "it is {}; it must be {least} to {most}",
                self.token_lifetime_seconds
            );
            problems.note("/tokenLifetimeSeconds", message);
        }
        if !SIGNING_DAYS.contains(&self.signing_key_days) {
            let (least, most) = (SIGNING_DAYS.start(), SIGNING_DAYS.end());
            let message = format!(
                "it is {}; it must be {least} to {most}",
                self.signing_key_days
            );
            problems.note("/signingKeyDays", message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::settings::judge;

    #[test]
    fn settings_are_judged_before_they_are_used() {
        assert_eq!(judge("{}", Settings::judge), Ok(()));
        let good = r#"{"issuer":"https://hub.example:8443","audience":"switch"}"#;
        assert_eq!(judge(good, Settings::judge), Ok(()));
        for issuer in [
            "",
            "http://hub",
            "https://",
            "https://hub/",
            "https://hub/a",
            "https://hub?a",
            "https://h b",
        ] {
            let bad = format!(r#"{{"issuer":"{issuer}"}}"#);
            assert_eq!(
                judge(&bad, Settings::judge).unwrap_err()[0].pointer,
                "/issuer"
            );
        }
        let bad = r#"{"audience":"","tokenLifetimeSeconds":59,"signingKeyDays":0}"#;
        let problems = judge(bad, Settings::judge).unwrap_err();
        let places: Vec<&str> = problems.iter().map(|p| p.pointer.as_str()).collect();
        assert_eq!(
            places,
            ["/audience", "/tokenLifetimeSeconds", "/signingKeyDays"]
        );
    }

    #[test]
    fn schema_describes_the_settings() {
        let schema = include_str!("../settings.schema.json");
        rialto_json_schema::settings::describes::<Settings>(schema);
    }
}

//! The component's settings.

use rialto_sdk::settings::Problems;
use serde::Deserialize;

/// Settings of the scheme's manifest for this component.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Settings {
    /// How long a query for a party waits for the answer of the party's FSP, in milliseconds.
    pub party_query_timeout_ms: u64,
    /// Whether an FSP may associate a party of another FSP.
    pub takeover: Takeover,
}

/// Whether an FSP may associate a party of another FSP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Takeover {
    /// No: the other FSP has to end its association first.
    Refuse,
    /// Yes: the scheme has its own ways to see that the party wants it.
    Allow,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            party_query_timeout_ms: 30_000,
            takeover: Takeover::Refuse,
        }
    }
}

impl Settings {
    /// Notes the problems of settings that could be parsed.
    pub fn judge(&self, problems: &mut Problems) {
        if self.party_query_timeout_ms == 0 {
            let why =
                "it must be more than 0: otherwise no FSP could answer a query for a party in time";
            problems.note("/partyQueryTimeoutMs", why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::settings::judge;

    #[test]
    fn settings_are_judged_before_they_are_used() {
        let good = r#"{"partyQueryTimeoutMs":1,"takeover":"allow"}"#;
        assert_eq!(judge(good, Settings::judge), Ok(()));
        let bad = r#"{"partyQueryTimeoutMs":0}"#;
        let problems = judge(bad, Settings::judge).unwrap_err();
        assert_eq!(problems[0].pointer, "/partyQueryTimeoutMs");
        let bad = r#"{"takeover":"maybe"}"#;
        let problems = judge(bad, Settings::judge).unwrap_err();
        assert_eq!(problems[0].pointer, "/takeover");
    }

    #[test]
    fn schema_describes_the_settings() {
        let schema = include_str!("../settings.schema.json");
        rialto_json_schema::settings::describes::<Settings>(schema);
    }
}

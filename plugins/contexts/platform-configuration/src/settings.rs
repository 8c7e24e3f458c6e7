//! The component's settings: how long changes of secrets wait, and how long a replaced secret is valid.

use rialto_sdk::settings::Problems;
use serde::Deserialize;

/// Minutes for which a replaced secret may stay valid: up to 30 days.
const OVERLAP_MINUTES: std::ops::RangeInclusive<u64> = 0..=43_200;
/// Days for which a change may wait.
const WAIT_DAYS: std::ops::RangeInclusive<u64> = 1..=90;
/// A minute, in milliseconds.
const MINUTE: u64 = 60_000;
/// A day, in milliseconds.
const DAY: u64 = 86_400_000;

/// Settings of the scheme's manifest for this component.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Settings {
    /// For how many minutes a secret is still told after another one has replaced it.
    pub overlap_minutes: u64,
    /// For how many days a new secret waits for a decision. Then it lapses.
    pub change_wait_days: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            overlap_minutes: 60,
            change_wait_days: 7,
        }
    }
}

impl Settings {
    /// How long a replaced secret is told, in milliseconds.
    #[must_use]
    pub const fn overlap(&self) -> u64 {
        self.overlap_minutes * MINUTE
    }

    /// How long a new secret waits, in milliseconds.
    #[must_use]
    pub const fn waits(&self) -> u64 {
        self.change_wait_days * DAY
    }

    /// Notes the problems of settings that could be parsed.
    pub fn judge(&self, problems: &mut Problems) {
        for (pointer, value, range) in [
            ("/overlapMinutes", self.overlap_minutes, OVERLAP_MINUTES),
            ("/changeWaitDays", self.change_wait_days, WAIT_DAYS),
        ] {
            if !range.contains(&value) {
                let (least, most) = (range.start(), range.end());
                let message = format!("it is {value}; it must be {least} to {most}");
                problems.note(pointer, message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::settings::judge;

    #[test]
    fn times_are_bounded() {
        assert_eq!(judge("{}", Settings::judge), Ok(()));
        let wrong = r#"{"overlapMinutes":43201,"changeWaitDays":0}"#;
        let problems = judge(wrong, Settings::judge).unwrap_err();
        let places: Vec<&str> = problems.iter().map(|p| p.pointer.as_str()).collect();
        assert_eq!(places, ["/overlapMinutes", "/changeWaitDays"]);
    }

    #[test]
    fn schema_describes_the_settings() {
        let schema = include_str!("../settings.schema.json");
        rialto_json_schema::settings::describes::<Settings>(schema);
    }
}

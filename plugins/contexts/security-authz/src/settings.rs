//! The component's settings: how long changes of authorization wait and are kept.

use rialto_sdk::settings::Problems;
use serde::Deserialize;

/// Days for which a change may wait.
const WAIT_DAYS: std::ops::RangeInclusive<u64> = 1..=90;
/// Days for which a finished change may be kept.
const KEPT_DAYS: std::ops::RangeInclusive<u64> = 1..=3_660;
/// A day, in milliseconds.
const DAY: u64 = 86_400_000;

/// Settings of the scheme's manifest for this component.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Settings {
    /// For how many days a change waits for a decision. Then it lapses.
    pub change_wait_days: u64,
    /// For how many days a finished change is kept. Then it is removed.
    pub change_kept_days: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            change_wait_days: 7,
            change_kept_days: 400,
        }
    }
}

impl Settings {
    /// How long a change waits, in milliseconds.
    #[must_use]
    pub const fn waits(&self) -> u64 {
        self.change_wait_days * DAY
    }

    /// How long a finished change is kept, in milliseconds.
    #[must_use]
    pub const fn keeps(&self) -> u64 {
        self.change_kept_days * DAY
    }

    /// Notes the problems of settings that could be parsed.
    pub fn judge(&self, problems: &mut Problems) {
        for (pointer, days, range) in [
            ("/changeWaitDays", self.change_wait_days, WAIT_DAYS),
            ("/changeKeptDays", self.change_kept_days, KEPT_DAYS),
        ] {
            if !range.contains(&days) {
                let (least, most) = (range.start(), range.end());
                problems.note(
                    pointer,
                    format!("it is {days}; it must be {least} to {most}"),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::settings::judge;

    #[test]
    fn days_are_bounded() {
        assert_eq!(judge("{}", Settings::judge), Ok(()));
        let most = r#"{"changeWaitDays":90,"changeKeptDays":3660}"#;
        assert_eq!(judge(most, Settings::judge), Ok(()));
        for wrong in [
            r#"{"changeWaitDays":0,"changeKeptDays":0}"#,
            r#"{"changeWaitDays":91,"changeKeptDays":3661}"#,
        ] {
            let problems = judge(wrong, Settings::judge).unwrap_err();
            let places: Vec<&str> = problems.iter().map(|p| p.pointer.as_str()).collect();
            assert_eq!(places, ["/changeWaitDays", "/changeKeptDays"]);
        }
    }

    #[test]
    fn schema_describes_the_settings() {
        let schema = include_str!("../settings.schema.json");
        rialto_json_schema::settings::describes::<Settings>(schema);
    }
}

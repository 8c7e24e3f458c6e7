//! The component's settings: bounds of reminders.

use std::ops::RangeInclusive;

use rialto_sdk::settings::Problems;
use serde::Deserialize;

const REMINDERS_MAX: RangeInclusive<u64> = 1..=1_000_000;
const KEEP_HOURS: RangeInclusive<u64> = 1..=720;
const CALLBACK_TIMEOUT_MS: RangeInclusive<u64> = 100..=60_000;
/// An hour, in milliseconds.
const HOUR: u64 = 3_600_000;

/// Settings of the scheme's manifest for this component.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Settings {
    /// How many reminders one client may have, those that have ended and are still kept included.
    pub reminders_max: u64,
    /// For how many hours a reminder that has ended is kept. Until then its id is not free.
    pub keep_hours: u64,
    /// How long one attempt of an HTTP callback may take, in milliseconds.
    pub callback_timeout_ms: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            reminders_max: 10_000,
            keep_hours: 24,
            callback_timeout_ms: 10_000,
        }
    }
}

impl Settings {
    /// How long a reminder that has ended is kept, in milliseconds.
    #[must_use]
    pub const fn keeps(&self) -> u64 {
        self.keep_hours * HOUR
    }

    /// Notes the problems of settings that could be parsed.
    pub fn judge(&self, problems: &mut Problems) {
        for (pointer, number, range) in [
            ("/remindersMax", self.reminders_max, REMINDERS_MAX),
            ("/keepHours", self.keep_hours, KEEP_HOURS),
            (
                "/callbackTimeoutMs",
                self.callback_timeout_ms,
                CALLBACK_TIMEOUT_MS,
            ),
        ] {
            if !range.contains(&number) {
                let (least, most) = (range.start(), range.end());
                problems.note(
                    pointer,
                    format!("it is {number}; it must be {least} to {most}"),
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
    fn numbers_are_bounded() {
        assert_eq!(judge("{}", Settings::judge), Ok(()));
        for wrong in [
            r#"{"remindersMax":0,"keepHours":0,"callbackTimeoutMs":99}"#,
            r#"{"remindersMax":1000001,"keepHours":721,"callbackTimeoutMs":60001}"#,
        ] {
            let problems = judge(wrong, Settings::judge).unwrap_err();
            let places: Vec<&str> = problems.iter().map(|p| p.pointer.as_str()).collect();
            assert_eq!(
                places,
                ["/remindersMax", "/keepHours", "/callbackTimeoutMs"]
            );
        }
    }

    #[test]
    fn schema_describes_the_settings() {
        let schema = include_str!("../settings.schema.json");
        rialto_json_schema::settings::describes::<Settings>(schema);
    }
}

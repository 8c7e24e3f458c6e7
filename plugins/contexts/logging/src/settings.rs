//! The component's settings: how long and how many entries are kept, and whether they are signed and encrypted.

use rialto_sdk::settings::Problems;
use serde::Deserialize;

/// Days for which an entry may be kept.
const KEEP_DAYS: std::ops::RangeInclusive<u64> = 1..=365;
/// Entries that may be kept.
const ENTRIES_MAX: std::ops::RangeInclusive<u64> = 1_000..=100_000_000;
/// A day, in milliseconds.
const DAY: u64 = 86_400_000;

/// Settings of the scheme's manifest for this component.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Settings {
    /// For how many days an entry is kept. Then it is removed.
    pub keep_days: u64,
    /// How many entries are kept. Beyond it the oldest are removed, an hour's at a time.
    pub entries_max: u64,
    /// Whether new entries are signed, so that a change of one is noticed.
    pub signed: bool,
    /// Whether the messages of new entries are encrypted in the store.
    pub encrypted: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            keep_days: 30,
            entries_max: 1_000_000,
            signed: false,
            encrypted: false,
        }
    }
}

impl Settings {
    /// How long an entry is kept, in milliseconds.
    #[must_use]
    pub const fn keeps(&self) -> u64 {
        self.keep_days * DAY
    }

    /// Notes the problems of settings that could be parsed.
    pub fn judge(&self, problems: &mut Problems) {
        for (pointer, number, range) in [
            ("/keepDays", self.keep_days, KEEP_DAYS),
            ("/entriesMax", self.entries_max, ENTRIES_MAX),
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
        let most = r#"{"keepDays":365,"entriesMax":100000000}"#;
        assert_eq!(judge(most, Settings::judge), Ok(()));
        for wrong in [
            r#"{"keepDays":0,"entriesMax":999}"#,
            r#"{"keepDays":366,"entriesMax":100000001}"#,
        ] {
            let problems = judge(wrong, Settings::judge).unwrap_err();
            let places: Vec<&str> = problems.iter().map(|p| p.pointer.as_str()).collect();
            assert_eq!(places, ["/keepDays", "/entriesMax"]);
        }
    }

    #[test]
    fn schema_describes_the_settings() {
        let schema = include_str!("../settings.schema.json");
        rialto_json_schema::settings::describes::<Settings>(schema);
    }
}

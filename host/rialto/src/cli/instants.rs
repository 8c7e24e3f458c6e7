//! Instants in arguments.

use rialto_manifest::values::{Duration, Period};

/// Now; milliseconds since 1970.
pub(super) fn now() -> u64 {
    let now = jiff::Timestamp::now().as_millisecond();
    u64::try_from(now).unwrap_or_default()
}

/// Parses an instant, or a duration before now. Returns milliseconds since 1970.
///
/// # Errors
/// What to write instead.
pub(super) fn past(text: &str) -> Result<u64, String> {
    let span = text.strip_suffix("ago").unwrap_or(text).trim();
    let ago = span.parse().map(Duration::millis).ok();
    let ago = ago.or_else(|| span.parse().map(Period::millis).ok());
    if let Some(ago) = ago {
        return Ok(now().saturating_sub(ago));
    }
    let instant: Result<jiff::Timestamp, _> = text.parse();
    let instant = instant.map_err(|error| {
        format!(
            "write an instant such as 2026-01-31T09:00:00Z, or a duration before now such as `2 h` or `7 days` ({error})"
        )
    })?;
    u64::try_from(instant.as_millisecond()).map_err(|_| "the instant is before 1970".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_and_durations_before_now_are_read() {
        assert_eq!(past("1970-01-01T00:00:01.5Z"), Ok(1_500));
        assert_eq!(past("1970-01-01T01:00:00+01:00"), Ok(0));
        for (text, ago) in [
            ("1h", 3_600_000),
            ("1 h ago", 3_600_000),
            ("2 days", 172_800_000),
            ("0 s", 0),
        ] {
            let before = now();
            let read = past(text).unwrap();
            assert!((before - ago..=now() - ago).contains(&read), "{text}");
        }
        for bad in [
            "",
            "ago",
            "yesterday",
            "2026-01-31",
            "5",
            "1960-01-01T00:00:00Z",
        ] {
            assert!(past(bad).is_err(), "{bad}");
        }
    }
}

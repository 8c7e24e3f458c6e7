//! The clock, and time as FSPIOP writes it. The only file that reads the machine's clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use http::HeaderValue;
use parking_lot::Mutex;

/// The monotonic clock.
#[allow(
    clippy::disallowed_methods,
    reason = "the one place of this crate that reads the machine's monotonic clock"
)]
pub fn now() -> Instant {
    Instant::now()
}

/// The wall clock: microseconds since 1970, UTC.
#[allow(
    clippy::disallowed_methods,
    reason = "the one place of this crate that reads the machine's wall clock"
)]
pub fn wall_us() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// A duration in milliseconds, for people and reports.
pub fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// The instant that lies `ahead` of now, as an FSPIOP `DateTime`.
pub fn datetime_in(ahead: Duration) -> String {
    let ahead_ms = u64::try_from(ahead.as_millis()).unwrap_or(u64::MAX);
    datetime((wall_us() / 1000).saturating_add(ahead_ms))
}

/// Milliseconds since 1970 as an FSPIOP `DateTime`: three digits of milliseconds, `Z`. Instants
/// beyond the year 9999 become the last one that the format can say.
pub fn datetime(epoch_ms: u64) -> String {
    let epoch_ms = i64::try_from(epoch_ms).unwrap_or(i64::MAX);
    let timestamp = jiff::Timestamp::from_millisecond(epoch_ms).unwrap_or(jiff::Timestamp::MAX);
    timestamp.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

/// The same instant as the seventeen digits of an ILP version 4 packet.
pub fn datetime_digits(datetime: &str) -> String {
    datetime.chars().filter(char::is_ascii_digit).collect()
}

/// The `Date` header's value. It changes once a second, so it is written once a second.
#[derive(Debug, Default)]
pub struct DateHeader {
    last: Mutex<Option<(u64, HeaderValue)>>,
}

impl DateHeader {
    /// Now, as an IMF-fixdate.
    pub fn value(&self) -> HeaderValue {
        let second = wall_us() / 1_000_000;
        let mut last = self.last.lock();
        match &*last {
            Some((written, value)) if *written == second => value.clone(),
            _ => {
                let text = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(second));
                let value = HeaderValue::try_from(text)
                    .expect("an IMF-fixdate consists of visible ASCII characters and spaces");
                *last = Some((second, value.clone()));
                value
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datetimes_have_three_digits_of_milliseconds() {
        assert_eq!(datetime(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(datetime(1_893_553_445_678), "2030-01-02T03:04:05.678Z");
        assert_eq!(datetime(1_893_553_445_070), "2030-01-02T03:04:05.070Z");
        assert_eq!(
            datetime_digits("2030-01-02T03:04:05.678Z"),
            "20300102030405678"
        );
    }

    #[test]
    fn an_instant_beyond_the_calendar_does_not_panic() {
        assert!(datetime(u64::MAX).starts_with("9999-12-3"));
    }

    #[test]
    fn the_date_header_reads_as_an_http_date() {
        let value = DateHeader::default().value();
        let text = value.to_str().expect("ASCII");
        assert!(httpdate::parse_http_date(text).is_ok(), "{text}");
    }
}

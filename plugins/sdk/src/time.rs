//! Instants: FSPIOP's DateTime and HTTP's date to and from milliseconds since 1970 (UTC).

use std::fmt;

const MS_PER_DAY: i64 = 86_400_000;
const DAY_NAMES: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTH_NAMES: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// A text is no FSPIOP DateTime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateTimeError;

impl fmt::Display for DateTimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a date and time like 2016-05-24T08:38:08.699-04:00")
    }
}

impl std::error::Error for DateTimeError {}

/// Read FSPIOP's DateTime, `yyyy-MM-ddTHH:mm:ss.SSS` with `Z` or an offset.
///
/// Milliseconds since 1970; an instant before 1970 becomes 0, because the scheme only asks whether
/// an instant is past.
///
/// # Errors
/// When the text has another form, or names a day that does not exist.
pub fn parse_date_time(text: &str) -> Result<u64, DateTimeError> {
    let bytes = text.as_bytes();
    if bytes.len() < 24 {
        return Err(DateTimeError);
    }
    let (local, zone) = bytes.split_at(23);
    for (at, separator) in [
        (4, b'-'),
        (7, b'-'),
        (10, b'T'),
        (13, b':'),
        (16, b':'),
        (19, b'.'),
    ] {
        if local[at] != separator {
            return Err(DateTimeError);
        }
    }
    let year = number(&local[0..4], 1000, 9999)?;
    let month = number(&local[5..7], 1, 12)?;
    let day = number(&local[8..10], 1, days_of_month(year, month))?;
    let hour = number(&local[11..13], 0, 23)?;
    let minute = number(&local[14..16], 0, 59)?;
    let second = number(&local[17..19], 0, 59)?;
    let millisecond = number(&local[20..23], 0, 999)?;
    let offset_minutes = match zone {
        [b'Z'] => 0,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let minutes = number(&[*h1, *h2], 0, 19)? * 60 + number(&[*m1, *m2], 0, 59)?;
            if *sign == b'+' { minutes } else { -minutes }
        }
        _ => return Err(DateTimeError),
    };
    let minutes = hour * 60 + minute - offset_minutes;
    let ms = days_from_civil(year, month, day) * MS_PER_DAY
        + minutes * 60_000
        + second * 1000
        + millisecond;
    Ok(u64::try_from(ms).unwrap_or(0))
}

fn number(digits: &[u8], min: i64, max: i64) -> Result<i64, DateTimeError> {
    let mut value = 0;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return Err(DateTimeError);
        }
        value = value * 10 + i64::from(digit - b'0');
    }
    if (min..=max).contains(&value) {
        Ok(value)
    } else {
        Err(DateTimeError)
    }
}

fn days_of_month(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// FSPIOP's DateTime of an instant, in UTC: `2016-05-24T08:38:08.699Z`.
#[must_use]
pub fn format_date_time(ms: u64) -> String {
    let at = Civil::of(ms);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        at.year, at.month, at.day, at.hour, at.minute, at.second, at.millisecond
    )
}

/// HTTP's IMF-fixdate of an instant: `Tue, 15 Nov 1994 08:12:31 GMT`.
#[must_use]
pub fn format_http_date(ms: u64) -> String {
    let at = Civil::of(ms);
    format!(
        "{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
        DAY_NAMES[at.day_of_week],
        at.day,
        MONTH_NAMES[at.month - 1],
        at.year,
        at.hour,
        at.minute,
        at.second
    )
}

/// Read HTTP's IMF-fixdate; none for any other text, the two obsolete forms included.
#[must_use]
pub fn parse_http_date(text: &str) -> Option<u64> {
    let part = |range: std::ops::Range<usize>| text.get(range);
    let digits = |range, max| number(part(range)?.as_bytes(), 0, max).ok();
    let month = MONTH_NAMES
        .iter()
        .position(|name| part(8..11) == Some(*name))?;
    let days = days_from_civil(digits(12..16, 9999)?, month as i64 + 1, digits(5..7, 31)?);
    let minutes = digits(17..19, 23)? * 60 + digits(20..22, 59)?;
    let ms = days * MS_PER_DAY + minutes * 60_000 + digits(23..25, 59)? * 1000;
    let ms = u64::try_from(ms).ok()?;
    // The day of the week, the separators, and that the month has such a day.
    (format_http_date(ms) == text).then_some(ms)
}

/// The last millisecond of the year 9999, the last instant that both texts can say.
const LAST_MS: u64 = 253_402_300_799_999;

struct Civil {
    year: i64,
    /// 1 to 12.
    month: usize,
    day: i64,
    hour: u64,
    minute: u64,
    second: u64,
    millisecond: u64,
    /// 0 for a Thursday, as 1 January 1970 was.
    day_of_week: usize,
}

impl Civil {
    fn of(ms: u64) -> Self {
        let ms = ms.min(LAST_MS);
        let (days, rest) = (ms / 86_400_000, ms % 86_400_000);
        // At most 2,932,896 days: exact in every integer type used here.
        let (year, month, day) = civil_from_days(days as i64);
        Self {
            year,
            month: month as usize,
            day,
            hour: rest / 3_600_000,
            minute: rest / 60_000 % 60,
            second: rest / 1000 % 60,
            millisecond: rest % 1000,
            day_of_week: (days % 7) as usize,
        }
    }
}

/// Days since 1970-01-01 of a Gregorian date (Howard Hinnant's `days_from_civil`).
#[must_use]
pub fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Year, month (1 to 12) and day of the month of a number of days since 1970-01-01, in the Gregorian calendar.
#[must_use]
pub const fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + (month <= 2) as i64;
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_specification_are_read() {
        assert_eq!(
            parse_date_time("2016-05-24T08:38:08.699-04:00"),
            Ok(1_464_093_488_699)
        );
        assert_eq!(
            parse_date_time("2016-05-24T12:38:08.699Z"),
            Ok(1_464_093_488_699)
        );
        assert_eq!(parse_date_time("1970-01-01T00:00:00.000Z"), Ok(0));
        assert_eq!(parse_date_time("1969-12-31T23:59:59.999Z"), Ok(0));
        assert_eq!(
            parse_date_time("2000-02-29T00:00:00.000+19:59"),
            Ok(951_782_400_000 - 71_940_000)
        );
    }

    #[test]
    fn what_the_pattern_forbids_is_refused() {
        for text in [
            "",
            "2016-05-24",
            "2016-05-24T08:38:08Z",
            "2016-05-24T08:38:08.69Z",
            "2016-05-24T08:38:08.6999Z",
            "2016-05-24T08:38:08.699",
            "2016-05-24t08:38:08.699Z",
            "2016-05-24 08:38:08.699Z",
            "2016-02-30T08:38:08.699Z",
            "2015-02-29T08:38:08.699Z",
            "1900-02-29T08:38:08.699Z",
            "2016-13-01T08:38:08.699Z",
            "2016-00-01T08:38:08.699Z",
            "2016-05-24T24:00:00.000Z",
            "2016-05-24T08:38:60.699Z",
            "0999-05-24T08:38:08.699Z",
            "2016-05-24T08:38:08.699+20:00",
            "2016-05-24T08:38:08.699-04:60",
            "2016-05-24T08:38:08.699-0400",
            "2016-05-24T08:38:08.699z",
            "+016-05-24T08:38:08.699Z",
            "２016-05-24T08:38:08.699Z",
        ] {
            assert_eq!(parse_date_time(text), Err(DateTimeError), "{text}");
        }
    }

    #[test]
    fn writing_and_reading_an_instant_gives_the_same_instant() {
        let mut seed = 3_u64;
        for _ in 0..50_000 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963);
            let ms = (seed >> 10) % (LAST_MS + 1);
            assert_eq!(parse_date_time(&format_date_time(ms)), Ok(ms));
        }
        assert_eq!(format_date_time(u64::MAX), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn an_http_date_reads_back_and_other_texts_do_not() {
        for ms in [0, 784_887_151_000, 951_782_400_000, LAST_MS / 1000 * 1000] {
            assert_eq!(parse_http_date(&format_http_date(ms)), Some(ms));
        }
        for text in [
            "",
            "Mon, 15 Nov 1994 08:12:31 GMT",
            "Tue, 15 Nov 1994 08:12:31 UTC",
            "Tue, 15 Nov 1994 08:12:31",
            "Tue, 31 Nov 1994 08:12:31 GMT",
            "Tue, 15 nov 1994 08:12:31 GMT",
            "Tue, 15 Nov 1994 08:12:60 GMT",
            "Tuesday, 15-Nov-94 08:12:31 GMT",
            "Tue Nov 15 08:12:31 1994",
            "Tue, 15 Nov 1994 08:12:31 GMT ",
            "Wed, 31 Dec 1969 23:59:59 GMT",
            "Tüe, 15 Nov 1994 08:12:31 GM",
        ] {
            assert_eq!(parse_http_date(text), None, "{text}");
        }
    }

    #[test]
    fn http_dates_name_the_right_day_of_the_week() {
        assert_eq!(
            format_http_date(784_887_151_000),
            "Tue, 15 Nov 1994 08:12:31 GMT"
        );
        assert_eq!(format_http_date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(
            format_http_date(951_782_400_000),
            "Tue, 29 Feb 2000 00:00:00 GMT"
        );
    }
}

//! Instants: judged by the API definition's pattern and by other crates for dates.

use std::sync::LazyLock;
use std::time::{Duration, UNIX_EPOCH};

use regex::Regex;
use rialto_sdk::time::{format_date_time, format_http_date, parse_date_time, parse_http_date};

/// The API definition's pattern of a DateTime.
static DATE_TIME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^(?:[1-9][0-9]{3}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)|(?:[1-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:[2468][048]|[13579][26])00)-02-29)T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:(\.[0-9]{3}))(?:Z|[+-][01][0-9]:[0-5][0-9])$",
    )
    .expect("a pattern")
});
/// IMF-fixdate, of whatever day.
static FIXDATE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT$")
        .expect("a pattern")
});
const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
/// The last millisecond of the year 9999.
const LAST_MS: u64 = 253_402_300_799_999;

/// The bytes are a date, if they are text; the first eight are an instant too.
pub fn judge(bytes: &[u8]) {
    if let Some(eight) = bytes.first_chunk::<8>() {
        let ms = u64::from_le_bytes(*eight);
        written(ms);
        written(ms % (LAST_MS + 1));
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        of_bodies(text);
        of_headers(text);
    }
}

fn written(ms: u64) {
    let known = ms.min(LAST_MS);
    assert_eq!(parse_date_time(&format_date_time(ms)), Ok(known));
    let at = UNIX_EPOCH + Duration::from_millis(known);
    let text = format_http_date(ms);
    assert_eq!(text, httpdate::fmt_http_date(at));
    assert_eq!(parse_http_date(&text), Some(known / 1000 * 1000));
}

fn of_bodies(text: &str) {
    let read = parse_date_time(text);
    assert_eq!(read.is_ok(), DATE_TIME.is_match(text), "{text:?}: {read:?}");
    if let Ok(ms) = read {
        is_what_it_says(text, ms);
    }
}

/// The instant is what the text says, in the words of another crate. Before 1970 there is no instant.
fn is_what_it_says(text: &str, ms: u64) {
    let (local, zone) = text.split_at(23);
    if ms == 0 {
        assert!(&local[..4] <= "1970", "{text:?} is no instant");
        return;
    }
    let minutes: i64 = match zone.split_at(1) {
        (_, "") => 0,
        (sign, of) => {
            let (hours, minutes) = of.split_once(':').expect("the pattern has one");
            let number = |text: &str| text.parse::<i64>().expect("the pattern has digits");
            let minutes = number(hours) * 60 + number(minutes);
            if sign == "+" { minutes } else { -minutes }
        }
    };
    let there = ms.checked_add_signed(minutes * 60_000);
    let there = Duration::from_millis(there.expect("an instant of a year of four digits"));
    let said = httpdate::fmt_http_date(UNIX_EPOCH + there);
    // `Tue, 15 Nov 1994 08:12:31 GMT`
    let month = MONTHS.find(&said[8..11]).map(|at| at / 3 + 1);
    let month = month.expect("a month of twelve");
    let (year, day, time) = (&said[12..16], &said[5..7], &said[17..25]);
    let said = format!(
        "{year}-{month:02}-{day}T{time}.{:03}",
        there.subsec_millis()
    );
    assert_eq!(local, said);
}

fn of_headers(text: &str) {
    let (ours, theirs) = (parse_http_date(text), httpdate::parse_http_date(text));
    if let Some(ms) = ours {
        let at = UNIX_EPOCH + Duration::from_millis(ms);
        assert_eq!(theirs.as_ref().ok(), Some(&at), "{text:?}");
        assert_eq!(format_http_date(ms), text);
    } else {
        // The two forms of long ago are taken from nobody who signs.
        let is_one = theirs.is_ok() && FIXDATE.is_match(text);
        assert!(!is_one, "{text:?} is refused");
    }
}

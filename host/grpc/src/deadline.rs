//! Parses the client's timeout, `grpc-timeout`.

use std::time::Duration;

use http::HeaderMap;

/// The header.
const TIMEOUT: &str = "grpc-timeout";
/// The most digits that the protocol allows.
const DIGITS_MAX: usize = 8;

/// A timeout that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`grpc-timeout` is at most 8 digits and one of H, M, S, m, u and n, as in `500m`")]
pub struct BadTimeout;

/// The client's timeout; none without the header.
///
/// # Errors
/// When the header is malformed.
pub fn of(headers: &HeaderMap) -> Result<Option<Duration>, BadTimeout> {
    let Some(value) = headers.get(TIMEOUT) else {
        return Ok(None);
    };
    let text = value.to_str().map_err(|_| BadTimeout)?;
    let (digits, unit) = text
        .split_at_checked(text.len().saturating_sub(1))
        .ok_or(BadTimeout)?;
    let plain =
        (1..=DIGITS_MAX).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    let number: u64 = digits.parse().ok().filter(|_| plain).ok_or(BadTimeout)?;
    Ok(Some(match unit {
        "H" => Duration::from_secs(number * 3600),
        "M" => Duration::from_secs(number * 60),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return Err(BadTimeout),
    }))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn read(text: &[u8]) -> Result<Option<Duration>, BadTimeout> {
        let value = HeaderValue::from_bytes(text).expect("it may be in a header");
        of(&HeaderMap::from_iter([(
            http::HeaderName::from_static(TIMEOUT),
            value,
        )]))
    }

    #[test]
    fn timeouts_are_read_in_each_unit() {
        assert_eq!(of(&HeaderMap::new()), Ok(None));
        for (text, expected) in [
            ("1H", Duration::from_secs(3600)),
            ("2M", Duration::from_secs(120)),
            ("3S", Duration::from_secs(3)),
            ("500m", Duration::from_millis(500)),
            ("7u", Duration::from_micros(7)),
            ("99999999n", Duration::from_nanos(99_999_999)),
            ("0S", Duration::ZERO),
            ("99999999H", Duration::from_secs(99_999_999 * 3600)),
        ] {
            assert_eq!(read(text.as_bytes()), Ok(Some(expected)), "{text}");
        }
        for bad in [
            "",
            "S",
            "1",
            "1s",
            "-1S",
            "+1S",
            "1.5S",
            "123456789S",
            "1 S",
            "\u{e4}",
        ] {
            assert_eq!(read(bad.as_bytes()), Err(BadTimeout), "{bad}");
        }
    }
}

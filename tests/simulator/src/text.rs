//! Text as it stands inside JSON and inside paths.

use std::borrow::Cow;
use std::fmt::{self, Display, Write};

/// Writes a text as a JSON string, quotes included, without building a JSON tree.
#[derive(Clone, Copy, Debug)]
pub struct JsonText<'a>(pub &'a str);

impl Display for JsonText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
        f.write_char('"')?;
        if self.0.bytes().all(plain) {
            f.write_str(self.0)?;
        } else {
            for character in self.0.chars() {
                match character {
                    '"' => f.write_str("\\\"")?,
                    '\\' => f.write_str("\\\\")?,
                    c if (c as u32) < 0x20 => write!(f, "\\u{:04x}", c as u32)?,
                    c => f.write_char(c)?,
                }
            }
        }
        f.write_char('"')
    }
}

/// Percent-encodes what may not stand in a path segment (RFC 3986, `pchar`).
pub fn path_segment(text: &str) -> Cow<'_, str> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte);
    if text.bytes().all(allowed) {
        return Cow::Borrowed(text);
    }
    let mut encoded = String::with_capacity(text.len() + 8);
    for byte in text.bytes() {
        if allowed(byte) {
            encoded.push(byte as char);
        } else {
            let _ = write!(encoded, "%{byte:02X}"); // writing to a String cannot fail
        }
    }
    Cow::Owned(encoded)
}

/// Undoes percent-encoding. A stray `%`, or octets that are not UTF-8, leave the text as it is:
/// the caller compares texts and will find that this one is none of its own.
pub fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            octets.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| byte.and_then(|byte| (byte as char).to_digit(16));
        let (Some(high), Some(low)) = (digit(rest.next()), digit(rest.next())) else {
            return Cow::Borrowed(text);
        };
        octets.push((high * 16 + low) as u8); // two hexadecimal digits fit an octet
    }
    match String::from_utf8(octets) {
        Ok(decoded) => Cow::Owned(decoded),
        Err(_) => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_text_reads_back_as_it_was() {
        for text in ["", "plain", "a \"b\" \\ c", "line\nbreak\u{1}", "Zoë €"] {
            let written = JsonText(text).to_string();
            let read: String = serde_json::from_str(&written).expect("valid JSON");
            assert_eq!(read, text);
        }
    }

    #[test]
    fn path_segments_read_back_as_they_were() {
        for text in ["27713803912", "+27 71", "a/b?c", "me@example.com", "Zoë"] {
            let encoded = path_segment(text);
            assert!(!encoded.contains('/') && !encoded.contains('?') && !encoded.contains(' '));
            assert_eq!(decoded(&encoded), text);
        }
        assert_eq!(path_segment("+27"), "+27");
        assert_eq!(decoded("%2B27"), "+27");
    }

    #[test]
    fn broken_percent_encoding_is_left_alone() {
        for text in ["100%", "%zz", "%e2%28", "%4"] {
            assert_eq!(decoded(text), text);
        }
    }
}

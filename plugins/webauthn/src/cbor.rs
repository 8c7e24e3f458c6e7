//! Reading CBOR (RFC 8949) that strangers have sent.

use ciborium::Value;
use ciborium::de::from_reader_with_recursion_limit;

/// Levels of lists and maps in each other; CTAP2's canonical form allows four.
const LEVELS_MAX: usize = 8;

/// The members of a map.
pub type Map = Vec<(Value, Value)>;

/// The first item of these bytes, and the bytes behind it.
///
/// # Errors
/// When the bytes do not begin with a whole item.
pub fn first(bytes: &[u8]) -> Result<(Value, &[u8]), &'static str> {
    let mut rest = bytes;
    let item = from_reader_with_recursion_limit(&mut rest, LEVELS_MAX);
    let item = item.map_err(|_| "is not CBOR, or is cut off, or is nested too deeply")?;
    Ok((item, rest))
}

/// The first item, a map, and the bytes behind it.
///
/// # Errors
/// When the bytes do not begin with a whole map.
pub fn first_map(bytes: &[u8]) -> Result<(Map, &[u8]), &'static str> {
    match first(bytes)? {
        (Value::Map(map), rest) => Ok((map, rest)),
        _ => Err("is no CBOR map"),
    }
}

/// The value of a key.
///
/// # Errors
/// When the map has the key twice: two readers could see two values.
pub fn member<'a>(map: &'a Map, key: &Value) -> Result<Option<&'a Value>, &'static str> {
    let mut found = map.iter().filter(|(given, _)| given == key);
    match (found.next(), found.next()) {
        (_, Some(_)) => Err("has a key twice"),
        (first, None) => Ok(first.map(|(_, value)| value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn item_is_read_and_the_rest_is_left() {
        let (map, rest) = first_map(&[0xa1, 0x01, 0x02, 0xff, 0x00]).unwrap();
        assert_eq!(rest, [0xff, 0x00]);
        assert_eq!(member(&map, &1.into()), Ok(Some(&2.into())));
        assert_eq!(member(&map, &2.into()), Ok(None));
    }

    #[test]
    fn input_of_a_stranger_is_refused_and_reserves_no_memory() {
        for bad in [
            &[][..],
            &[0xa1, 0x01],
            &[0x01],
            &[0xff],
            // Bytes and a map whose lengths are near 2^64.
            &[0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            &[0xbb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            // Lists in lists.
            &[0x81; 4096],
            // An endless text.
            &[0x7f; 64],
        ] {
            assert!(first_map(bad).is_err(), "{bad:?}");
        }
        let (map, _) = first_map(&[0xa2, 0x01, 0x02, 0x01, 0x03]).unwrap();
        assert_eq!(member(&map, &1.into()), Err("has a key twice"));
    }
}

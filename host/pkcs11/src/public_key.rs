//! Public keys of a token's pairs as SubjectPublicKeyInfo (RFC 5280), from their attributes.

/// `CKA_EC_PARAMS` of P-256: its object identifier, DER.
pub(crate) const P256: &[u8] = &[0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
/// `CKA_EC_PARAMS` of P-384: its object identifier, DER.
pub(crate) const P384: &[u8] = &[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22];
/// `id-ecPublicKey`, DER.
const EC: &[u8] = &[0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
/// `rsaEncryption` with no parameters, DER.
const RSA: &[u8] = &[
    0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00,
];

const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const SEQUENCE: u8 = 0x30;

/// A key on a curve. `point` is `CKA_EC_POINT`: an uncompressed point, which tokens write with an OCTET STRING
/// around it, or without.
pub(crate) fn of_curve(parameters: &[u8], point: &[u8]) -> Option<Vec<u8>> {
    let bytes = if parameters == P256 { 65 } else { 97 };
    let bare = match point.len().checked_sub(bytes)? {
        0 => point,
        2 if point.starts_with(&[OCTET_STRING, u8::try_from(bytes).ok()?]) => &point[2..],
        _ => return None,
    };
    (bare.first() == Some(&4)).then(|| {
        let algorithm = element(SEQUENCE, &[EC, parameters].concat());
        info(&algorithm, bare)
    })
}

/// An RSA key.
pub(crate) fn of_rsa(modulus: &[u8], exponent: &[u8]) -> Vec<u8> {
    let numbers = [integer(modulus), integer(exponent)].concat();
    info(&element(SEQUENCE, RSA), &element(SEQUENCE, &numbers))
}

fn info(algorithm: &[u8], key: &[u8]) -> Vec<u8> {
    let bits = element(BIT_STRING, &[&[0], key].concat());
    element(SEQUENCE, &[algorithm, &bits].concat())
}

/// A positive number.
fn integer(bytes: &[u8]) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let digits = &bytes[zeros..];
    match digits.first() {
        Some(first) if *first < 0x80 => element(INTEGER, digits),
        _ => element(INTEGER, &[&[0], digits].concat()),
    }
}

fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let zeros = length.iter().take_while(|byte| **byte == 0).count();
    let digits = &length[zeros..];
    let mut all = vec![tag];
    match digits {
        [] => all.push(0),
        [short] if *short < 0x80 => all.push(*short),
        // At most eight digits.
        _ => {
            all.push(0x80 | u8::try_from(digits.len()).unwrap_or(0));
            all.extend_from_slice(digits);
        }
    }
    all.extend_from_slice(content);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_taken_with_and_without_their_wrapping() {
        let point = [&[4][..], &[1; 64]].concat();
        let wrapped = [&[OCTET_STRING, 65][..], &point].concat();
        let info = of_curve(P256, &point).unwrap();
        assert_eq!(of_curve(P256, &wrapped), Some(info.clone()));
        assert_eq!(info.len(), 91);
        assert_eq!(info[..4], [0x30, 0x59, 0x30, 0x13]);
        assert_eq!(of_curve(P384, &point), None);
        assert_eq!(of_curve(P256, &point[1..]), None);
        assert_eq!(of_curve(P256, &[2; 65]), None);
    }

    #[test]
    fn lengths_and_numbers_are_those_of_der() {
        assert_eq!(integer(&[0, 0, 1, 0, 1]), [2, 3, 1, 0, 1]);
        assert_eq!(integer(&[0x80]), [2, 2, 0, 0x80]);
        assert_eq!(element(4, &[0; 200])[..3], [4, 0x81, 200]);
        assert_eq!(element(4, &[0; 300])[..4], [4, 0x82, 1, 44]);
    }
}

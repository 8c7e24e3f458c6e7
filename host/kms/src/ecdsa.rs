//! Signatures of ECDSA: the service writes them as DER (RFC 3279), and this host as two numbers of a fixed length.

const INTEGER: u8 = 0x02;
const SEQUENCE: u8 = 0x30;

/// The two numbers of a signature, one after the other, each of so many bytes. None if it is no DER.
pub(crate) fn fixed(der: &[u8], number_bytes: usize) -> Option<Vec<u8>> {
    let (content, rest) = element(SEQUENCE, der)?;
    let (r, others) = element(INTEGER, content)?;
    let (s, nothing) = element(INTEGER, others)?;
    if !rest.is_empty() || !nothing.is_empty() {
        return None;
    }
    let mut whole = vec![0; 2 * number_bytes];
    let (first, second) = whole.split_at_mut(number_bytes);
    put(r, first)?;
    put(s, second)?;
    Some(whole)
}

/// The content of an element with a short length, and what is behind it. Signatures on P-384 have at most 104 bytes.
fn element(tag: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let [found, length, rest @ ..] = bytes else {
        return None;
    };
    if *found != tag || *length >= 0x80 {
        return None;
    }
    rest.split_at_checked((*length).into())
}

/// Write a positive number in its shortest form to the end of a place.
fn put(number: &[u8], place: &mut [u8]) -> Option<()> {
    let digits = match number {
        [] => return None,
        [0, rest @ ..] if rest.first().is_some_and(|first| *first >= 0x80) => rest,
        [first, ..] if *first == 0 || *first >= 0x80 => return None,
        digits => digits,
    };
    let at = place.len().checked_sub(digits.len())?;
    place[at..].copy_from_slice(digits);
    Some(())
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::signature::{
        ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_ASN1_SIGNING,
        ECDSA_P384_SHA384_FIXED, EcdsaKeyPair, KeyPair as _, UnparsedPublicKey,
    };

    use super::*;

    /// The library signs in one form and verifies in the other.
    #[test]
    fn converted_signatures_verify() {
        for (signing, verifying, bytes) in [
            (
                &ECDSA_P256_SHA256_ASN1_SIGNING,
                &ECDSA_P256_SHA256_FIXED,
                32,
            ),
            (
                &ECDSA_P384_SHA384_ASN1_SIGNING,
                &ECDSA_P384_SHA384_FIXED,
                48,
            ),
        ] {
            let pair = EcdsaKeyPair::generate(signing).unwrap();
            let public = UnparsedPublicKey::new(verifying, pair.public_key().as_ref());
            // Enough for numbers that begin with zeros.
            for number in 0..600_u32 {
                let message = number.to_be_bytes();
                let der = pair.sign(&SystemRandom::new(), &message).unwrap();
                let fixed = fixed(der.as_ref(), bytes).unwrap();
                assert_eq!(fixed.len(), 2 * bytes);
                assert!(public.verify(&message, &fixed).is_ok(), "{number}");
                for length in 0..der.as_ref().len() {
                    assert_eq!(super::fixed(&der.as_ref()[..length], bytes), None);
                }
            }
        }
    }

    #[test]
    fn other_forms_are_refused() {
        assert_eq!(
            fixed(&[0x30, 6, 2, 1, 1, 2, 1, 2], 2),
            Some(vec![0, 1, 0, 2])
        );
        assert_eq!(
            fixed(&[0x30, 8, 2, 2, 0, 0x80, 2, 2, 0x7f, 0], 2),
            Some(vec![0, 0x80, 0x7f, 0])
        );
        for bad in [
            &[][..],
            &[0x30, 6, 2, 1, 1, 2, 1, 2, 0],
            &[0x30, 7, 2, 1, 1, 2, 1, 2, 0],
            &[0x31, 6, 2, 1, 1, 2, 1, 2],
            &[0x30, 6, 3, 1, 1, 2, 1, 2],
            // Zero, negative, not the shortest form, too long, no number, a long form of the length.
            &[0x30, 6, 2, 1, 0, 2, 1, 2],
            &[0x30, 6, 2, 1, 0x80, 2, 1, 2],
            &[0x30, 7, 2, 2, 0, 1, 2, 1, 2],
            &[0x30, 8, 2, 3, 1, 0, 0, 2, 1, 2],
            &[0x30, 5, 2, 0, 2, 1, 2],
            &[0x30, 0x81, 6, 2, 1, 1, 2, 1, 2],
        ] {
            assert_eq!(fixed(bad, 2), None, "{bad:?}");
        }
    }
}

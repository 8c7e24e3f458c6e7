//! What a client certificate proves, and for how long, over a handshake in memory.

use std::fs;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use data_encoding::BASE64;
use rialto_tls::Unproven;
use rialto_tls::listener::refused_certificate;
use sha2::{Digest as _, Sha256};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;

use crate::place::{PATIENCE, Place};

#[tokio::test]
async fn certificate_expires_on_an_open_connection() {
    let place = Place::new();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let issued = place.issue("fsp", Some(now.as_secs() + 3));
    let certificate = place.connected(issued).await;
    assert_eq!(&*certificate.identity().unwrap().name, "fsp");
    let latest = Instant::now() + PATIENCE;
    while certificate.identity().is_ok() {
        assert!(Instant::now() < latest, "it does not expire");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(certificate.identity(), Err(Unproven::Expired));
}

/// A stranger can send any number of certificates: the listener follows a few.
#[tokio::test]
async fn a_chain_that_is_too_long_is_refused() {
    let place = Place::new();
    for authorities in [0, 1, 3] {
        let (chain, key) = place.chain(authorities);
        let certificate = place.shown(&chain, &key).await.unwrap();
        assert_eq!(&*certificate.identity().unwrap().name, "fsp");
    }
    for authorities in [8, 40] {
        let (chain, key) = place.chain(authorities);
        let refused = place.shown(&chain, &key).await.err().unwrap();
        let told = refused_certificate(&refused);
        assert!(told.is_some(), "{authorities}: {refused}");
    }
    // Without the authorities between, nothing is proven.
    let (chain, key) = place.chain(2);
    let refused = place.shown(&chain[..1], &key).await.err().unwrap();
    assert!(refused_certificate(&refused).is_some(), "{refused}");
}

#[tokio::test]
async fn thumbprint_is_the_hash_of_the_clients_own_certificate() {
    let place = Place::new();
    let issued = place.issue("fsp", None);
    let own = CertificateDer::from_pem_slice(issued.0.as_bytes()).unwrap();
    let expected: [u8; 32] = Sha256::digest(&own).into();
    let certificate = place.connected(issued).await;
    assert_eq!(certificate.thumbprint(), Some(&expected));
    let other = place.connected(place.issue("fsp", None)).await;
    assert_ne!(other.thumbprint(), Some(&expected));
}

/// The order of the curve P-256 (SEC 2, 2.4.2).
const ORDER: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
];

/// A DER value of up to 65,535 bytes.
fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap().to_be_bytes();
    let mut value = match length {
        [0, short @ 0..0x80] => vec![tag, short],
        [0, long] => vec![tag, 0x81, long],
        [high, low] => vec![tag, 0x82, high, low],
    };
    value.extend(content);
    value
}

/// A positive DER integer.
fn integer(number: &[u8]) -> Vec<u8> {
    let first = number.iter().position(|byte| *byte != 0).unwrap();
    let mut digits = number[first..].to_vec();
    if digits[0] >= 0x80 {
        digits.insert(0, 0);
    }
    der(2, &digits)
}

/// The other number for which an ECDSA signature is valid: the order less this one.
fn other_form(number: &[u8]) -> Vec<u8> {
    let first = number.iter().position(|byte| *byte != 0).unwrap();
    let digits = &number[first..];
    let mut padded = vec![0; ORDER.len() - digits.len()];
    padded.extend(digits);
    let mut borrow = 0;
    let mut result = vec![0; ORDER.len()];
    for at in (0..ORDER.len()).rev() {
        let difference = i16::from(ORDER[at]) - i16::from(padded[at]) - borrow;
        borrow = i16::from(difference < 0);
        result[at] = u8::try_from(difference.rem_euclid(256)).unwrap();
    }
    result
}

/// The same certificate with the other form of its issuer's signature. Its owner can write that without the issuer's key.
fn rewritten(certificate: &str) -> String {
    let (_, pem) = x509_parser::pem::parse_x509_pem(certificate.as_bytes()).unwrap();
    let parsed = pem.parse_x509().unwrap();
    let signature = &parsed.signature_value.data;
    // SEQUENCE, INTEGER r, INTEGER s; each is shorter than 128 bytes.
    let r_end = 4 + usize::from(signature[3]);
    let (r, s) = (&signature[4..r_end], &signature[r_end + 2..]);
    let signature = der(0x30, &[integer(r), integer(&other_form(s))].concat());
    let signed = parsed.tbs_certificate.as_ref();
    let algorithm = der(
        0x30,
        &der(6, parsed.signature_algorithm.algorithm.as_bytes()),
    );
    let bits = der(3, &[&[0], &*signature].concat());
    let whole = der(0x30, &[signed, &algorithm, &bits].concat());
    let text = BASE64.encode(&whole);
    format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
}

#[tokio::test]
async fn serial_number_stays_when_an_owner_writes_the_signature_in_another_form() {
    let place = Place::new();
    let (certificate, key) = place.issue("fsp", None);
    let changed = rewritten(&certificate);
    let usual = place.connected((certificate, key.clone())).await;
    let changed = place.connected((changed, key)).await;
    assert_eq!(changed.identity().unwrap(), usual.identity().unwrap());
    assert_ne!(changed.thumbprint(), usual.thumbprint());
}

#[tokio::test]
async fn names_that_are_none_prove_nothing() {
    let place = Place::new();
    for name in ["", "two words", "fsp\u{e9}", "fsp\n"] {
        let certificate = place.connected(place.issue(name, None)).await;
        assert_eq!(certificate.identity(), Err(Unproven::Nameless), "{name:?}");
    }
}

#[test]
fn unusable_files_are_refused_with_the_reason() {
    let place = Place::new();
    let refused = |place: &Place| match place.listener() {
        Err(error) => error.to_string(),
        Ok(_) => panic!("the files are used"),
    };
    let good = fs::read_to_string(place.path().join("hub.pem")).unwrap();
    let (other, _) = place.issue("hub", None);
    for (name, text, mode, reason) in [
        ("hub.pem", "", 0o644, "holds no certificate"),
        (
            "hub.pem",
            "-----BEGIN CERTIFICATE-----\nAA\n",
            0o644,
            "does not hold certificate",
        ),
        (
            "hub.pem",
            other.as_str(),
            0o644,
            "cannot be used with the key",
        ),
        ("ca.pem", "", 0o644, "holds no certificate"),
    ] {
        let path = place.path().join(name);
        let before = fs::read_to_string(&path).unwrap();
        place.write(name, text, mode);
        let said = refused(&place);
        assert!(said.contains(reason), "{name}: {said}");
        place.write(name, &before, mode);
    }
    let key = fs::read_to_string(place.path().join("hub.key")).unwrap();
    place.write("hub.key", &key, 0o640);
    assert!(refused(&place).contains("open to others (mode 640)"));
    place.write("hub.key", &key, 0o600);
    place.write("hub.pem", &good, 0o644);
    assert!(place.listener().is_ok());
}

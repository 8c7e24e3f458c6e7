//! Making keys and using them for what they are for, and for nothing else.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::*;
use rialto_keys::pin::Format;
use rialto_keys::{Algorithm, Attributes, HOST, Hash, KeyError, PinSide, Purpose, TLS, hash};
use rialto_signatures::pem;

use crate::support::{NOW, OWNER, PROVIDER, attributes, keys, reference};

const SIGNING: [Algorithm; 4] = [
    Algorithm::Es256,
    Algorithm::Es384,
    Algorithm::Rs256,
    Algorithm::Hs256,
];

#[test]
fn signature_is_verified_by_its_key_alone() {
    let keys = keys();
    for algorithm in SIGNING {
        let made = keys
            .generate(OWNER, PROVIDER, &attributes(algorithm))
            .unwrap();
        let key = &made.reference;
        let signature = keys.sign(OWNER, key, NOW, b"message").unwrap();
        assert_eq!(keys.verify(OWNER, key, b"message", &signature), Ok(true));
        assert_eq!(keys.verify(OWNER, key, b"massage", &signature), Ok(false));
        assert_eq!(
            keys.verify(OWNER, key, b"message", &signature[1..]),
            Ok(false)
        );
        assert_eq!(keys.verify(OWNER, key, b"message", b""), Ok(false));
        let other = reference(&keys, algorithm);
        assert_eq!(
            keys.verify(OWNER, &other, b"message", &signature),
            Ok(false)
        );
        let Some(public) = made.public_key else {
            assert_eq!(algorithm, Algorithm::Hs256);
            continue;
        };
        let verified = keys.verify_with(&public, algorithm, b"message", &signature);
        assert_eq!(verified, Ok(true));
        let verified = keys.verify_with(&public, algorithm, b"massage", &signature);
        assert_eq!(verified, Ok(false));
    }
}

#[test]
fn published_signature_is_verified() {
    // RFC 7515, appendix A.3: the key as SubjectPublicKeyInfo of P-256.
    let mut der = URL_SAFE_NO_PAD
        .decode("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE")
        .unwrap();
    for part in [
        "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    ] {
        der.extend(URL_SAFE_NO_PAD.decode(part).unwrap());
    }
    let message = b"eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    let signature = URL_SAFE_NO_PAD
        .decode("DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q")
        .unwrap();
    let public = pem::write("PUBLIC KEY", &der);
    let keys = keys();
    let verified = keys.verify_with(&public, Algorithm::Es256, message, &signature);
    assert_eq!(verified, Ok(true));
    let other = keys.verify_with(&public, Algorithm::Rs256, message, &signature);
    assert!(matches!(other, Err(KeyError::BadInput(_))));
}

#[test]
fn key_in_software_lies_in_its_reference() {
    let keys = keys();
    let key = reference(&keys, Algorithm::Hs256);
    let anothers = keys.destroy("another", &key);
    assert!(matches!(anothers, Err(KeyError::NoKey(_))));
    assert_eq!(keys.destroy(OWNER, &key), Ok(()));
    assert!(keys.sign(OWNER, &key, NOW, b"m").is_ok());
}

#[test]
fn key_is_used_for_its_purpose_alone() {
    let keys = keys();
    for algorithm in Algorithm::ALL {
        let key = reference(&keys, algorithm);
        let signs = keys.sign(OWNER, &key, NOW, b"m");
        let encrypts = keys.encrypt(OWNER, &key, NOW, b"m", b"");
        let decrypts = keys.decrypt(OWNER, &key, &[0; 40], b"");
        let wrong = KeyError::WrongPurpose;
        let purpose = algorithm.purpose();
        assert_eq!(
            signs.err(),
            (!matches!(purpose, Purpose::Sign | Purpose::Mac)).then_some(wrong.clone())
        );
        let encrypting = purpose == Purpose::Encrypt;
        assert_eq!(encrypts.err(), (!encrypting).then_some(wrong.clone()));
        let expected = if encrypting {
            KeyError::NotOpened
        } else {
            wrong
        };
        assert_eq!(decrypts, Err(expected));
        let attributes = Attributes {
            purpose: if encrypting {
                Purpose::Mac
            } else {
                Purpose::Encrypt
            },
            ..attributes(algorithm)
        };
        let made = keys.generate(OWNER, PROVIDER, &attributes);
        assert!(
            matches!(made, Err(KeyError::Unsupported(_))),
            "{algorithm:?}"
        );
    }
}

#[test]
fn key_of_another_component_is_refused() {
    let keys = keys();
    let key = reference(&keys, Algorithm::Es256);
    let refused = Err(KeyError::NoKey("it is another component's"));
    // Also when it lies open.
    keys.sign(OWNER, &key, NOW, b"m").unwrap();
    assert_eq!(keys.sign("another", &key, NOW, b"m"), refused);
    let verified = keys.verify("another", &key, b"m", b"");
    assert_eq!(verified, Err(KeyError::NoKey("it is another component's")));
}

#[test]
fn key_past_its_end_verifies_and_signs_no_more() {
    let keys = keys();
    let ending = Attributes {
        not_after: Some(NOW),
        ..attributes(Algorithm::Es256)
    };
    let key = keys.generate(OWNER, PROVIDER, &ending).unwrap().reference;
    let signature = keys.sign(OWNER, &key, NOW, b"m").unwrap();
    assert_eq!(
        keys.sign(OWNER, &key, NOW + 1, b"m"),
        Err(KeyError::Expired)
    );
    assert_eq!(keys.verify(OWNER, &key, b"m", &signature), Ok(true));
    let ending = Attributes {
        not_after: Some(NOW),
        ..attributes(Algorithm::A256Gcm)
    };
    let key = keys.generate(OWNER, PROVIDER, &ending).unwrap().reference;
    let sealed = keys.encrypt(OWNER, &key, NOW, b"m", b"").unwrap();
    assert_eq!(
        keys.encrypt(OWNER, &key, NOW + 1, b"m", b""),
        Err(KeyError::Expired)
    );
    assert_eq!(keys.decrypt(OWNER, &key, &sealed, b"").unwrap(), b"m");
}

#[test]
fn zone_key_past_its_end_enciphers_no_more() {
    let keys = keys();
    let zone = |not_after| {
        let attributes = Attributes {
            not_after,
            ..attributes(Algorithm::PinTdes)
        };
        keys.generate(OWNER, PROVIDER, &attributes)
            .unwrap()
            .reference
    };
    let (ending, lasting) = (zone(Some(NOW)), zone(None));
    let side = |zone| PinSide {
        zone,
        format: Format::Iso0,
    };
    let block = [0; 8];
    let translate = |from, to, now| {
        let translated =
            keys.translate_pin(OWNER, now, side(from), side(to), "4111111111111111", &block);
        translated.unwrap_err()
    };
    assert_eq!(translate(&lasting, &ending, NOW + 1), KeyError::Expired);
    // What it has enciphered can still be translated to another zone.
    assert_eq!(translate(&ending, &lasting, NOW + 1), KeyError::NotOpened);
}

#[test]
fn unusable_attributes_are_refused() {
    let keys = keys();
    for label in ["", "a\nb", &"x".repeat(65)] {
        let attributes = Attributes {
            label: label.to_owned(),
            ..attributes(Algorithm::Hs256)
        };
        let made = keys.generate(OWNER, PROVIDER, &attributes);
        assert!(matches!(made, Err(KeyError::BadInput(_))), "{label:?}");
    }
    let made = keys.generate(OWNER, "elsewhere", &attributes(Algorithm::Hs256));
    assert_eq!(made, Err(KeyError::NoProvider));
}

#[test]
fn neither_reference_nor_debug_shows_the_key() {
    let keys = keys();
    let key = reference(&keys, Algorithm::Es256);
    for hidden in ["a key", "security", "es256"] {
        let bytes = URL_SAFE_NO_PAD.decode(&key).unwrap();
        let found = bytes
            .windows(hidden.len())
            .any(|part| part == hidden.as_bytes());
        assert!(!found && !key.contains(hidden), "{hidden}");
    }
    assert_eq!(format!("{keys:?}"), r#"Keys(["local"])"#);
}

#[test]
fn too_long_messages_are_refused() {
    let keys = keys();
    let long = vec![0; 1024 * 1024 + 1];
    let key = reference(&keys, Algorithm::A256Gcm);
    let refused = |error| matches!(error, Err(KeyError::BadInput(_)));
    assert!(refused(keys.encrypt(OWNER, &key, NOW, &long, b"")));
    assert!(refused(keys.encrypt(OWNER, &key, NOW, &long[2..], b"ab")));
    assert!(refused(hash(Hash::Sha256, &long)));
    let whole = keys.encrypt(OWNER, &key, NOW, &long[1..], b"").unwrap();
    assert_eq!(keys.decrypt(OWNER, &key, &whole, b"").unwrap(), &long[1..]);
}

#[test]
fn hashes_are_those_of_the_standard() {
    // FIPS 180-4's example "abc".
    let hex = |of: Hash| {
        let hashed = hash(of, b"abc").unwrap();
        hashed
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    assert_eq!(
        hex(Hash::Sha256),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
    assert!(hex(Hash::Sha384).starts_with("cb00753f45a35e8bb5a03d699ac65007272c32ab0eded163"));
    assert!(hex(Hash::Sha512).starts_with("ddaf35a193617abacc417349ae204131"));
}

proptest! {
    #[test]
    fn decryption_returns_what_was_encrypted(
        plaintext in prop::collection::vec(any::<u8>(), 0..200),
        associated in prop::collection::vec(any::<u8>(), 0..50),
        bit in any::<prop::sample::Index>(),
    ) {
        let keys = keys();
        let key = reference(&keys, Algorithm::A256Gcm);
        let mut sealed = keys.encrypt(OWNER, &key, NOW, &plaintext, &associated).unwrap();
        let opened = keys.decrypt(OWNER, &key, &sealed, &associated);
        prop_assert_eq!(opened, Ok(plaintext));
        let mut other = associated.clone();
        other.push(0);
        let opened = keys.decrypt(OWNER, &key, &sealed, &other);
        prop_assert_eq!(opened, Err(KeyError::NotOpened));
        let bit = bit.index(sealed.len() * 8);
        sealed[bit / 8] ^= 1 << (bit % 8);
        let opened = keys.decrypt(OWNER, &key, &sealed, &associated);
        prop_assert_eq!(opened, Err(KeyError::NotOpened));
    }
}

#[test]
fn private_key_of_tls_is_for_tls_alone() {
    let keys = keys();
    let made = keys.make_tls(PROVIDER, "TLS of a listener").unwrap();
    let public = pem::public_key(&made.public_key.unwrap());
    assert_eq!(keys.public_key(TLS, &made.reference), Ok(public));
    for owner in [OWNER, HOST] {
        let signed = keys.sign(owner, &made.reference, NOW, b"m");
        assert!(matches!(signed, Err(KeyError::NoKey(_))), "{signed:?}");
        let public = keys.public_key(owner, &made.reference);
        assert!(matches!(public, Err(KeyError::NoKey(_))), "{public:?}");
    }
    assert!(keys.clone().with_own(&made.reference).is_err());
    // And the other way round.
    let own = keys.make_own(PROVIDER, Algorithm::Es256).unwrap();
    let authority = keys.make_authority(PROVIDER).unwrap();
    for other in [own, authority] {
        let signed = keys.sign(TLS, &other.reference, NOW, b"m");
        assert!(matches!(signed, Err(KeyError::NoKey(_))), "{signed:?}");
    }
    let secret = reference(&keys, Algorithm::Hs256);
    assert_eq!(keys.public_key(OWNER, &secret), Ok(None));
}

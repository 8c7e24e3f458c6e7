//! Loading keys that somebody else wrapped, as a person with standard tools would.

use aws_lc_rs::key_wrap::{AES_256, AesKek, KeyWrapPadded as _};
use aws_lc_rs::rsa::{OAEP_SHA256_MGF1SHA256, OaepPublicEncryptingKey, PublicEncryptingKey};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use rialto_keys::{Algorithm, KeyError, Keys};
use rialto_signatures::pem;

use crate::support::{NOW, OWNER, PROVIDER, attributes, keys};

const KEK: [u8; 32] = [3; 32];

fn padded(kek: &[u8; 32], content: &[u8]) -> Vec<u8> {
    let kek = AesKek::new(&AES_256, kek).unwrap();
    let mut output = vec![0; content.len() + 15];
    kek.wrap_with_padding(content, &mut output)
        .unwrap()
        .to_vec()
}

/// As `CKM_RSA_AES_KEY_WRAP` and the import of cloud key stores do.
fn wrapped(public_key: &str, content: &[u8]) -> Vec<u8> {
    let key = PublicEncryptingKey::from_der(&pem::public_key(public_key).unwrap()).unwrap();
    let key = OaepPublicEncryptingKey::new(key).unwrap();
    let mut output = vec![0; key.ciphertext_size()];
    let around = key
        .encrypt(&OAEP_SHA256_MGF1SHA256, &KEK, &mut output, None)
        .unwrap();
    [&*around, &padded(&KEK, content)].concat()
}

fn unwrapping(keys: &Keys) -> (String, String) {
    let made = keys
        .generate(OWNER, PROVIDER, &attributes(Algorithm::RsaOaep256Kwp))
        .unwrap();
    (made.reference, made.public_key.unwrap())
}

#[test]
fn wrapped_keys_of_each_kind_are_loaded_and_used() {
    let keys = keys();
    let (unwraps, public) = unwrapping(&keys);
    let load = |algorithm, content: &[u8]| {
        let loading = attributes(algorithm);
        keys.load(
            OWNER,
            PROVIDER,
            &loading,
            &unwraps,
            &wrapped(&public, content),
        )
    };
    // RFC 4231, case 2 has a short key; the code of a padded one is the same.
    let mut secret = b"Jefe".to_vec();
    secret.resize(32, 0);
    let mac = load(Algorithm::Hs256, &secret).unwrap();
    let code = keys
        .sign(OWNER, &mac.reference, NOW, b"what do ya want for nothing?")
        .unwrap();
    assert_eq!(code[..4], [0x5b, 0xdc, 0xc1, 0x46]);
    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
    let document = pair.to_pkcs8v1().unwrap();
    let loaded = load(Algorithm::Es256, document.as_ref()).unwrap();
    let signature = keys.sign(OWNER, &loaded.reference, NOW, b"m").unwrap();
    let public_key = loaded.public_key.unwrap();
    let verified = keys.verify_with(&public_key, Algorithm::Es256, b"m", &signature);
    assert_eq!(verified, Ok(true));
    // A loaded key unwraps the next one.
    let kek = load(Algorithm::A256Kwp, &KEK).unwrap();
    let next = padded(&KEK, &secret);
    let loading = attributes(Algorithm::Hs256);
    let again = keys
        .load(OWNER, PROVIDER, &loading, &kek.reference, &next)
        .unwrap();
    let same = keys.verify(
        OWNER,
        &again.reference,
        b"what do ya want for nothing?",
        &code,
    );
    assert_eq!(same, Ok(true));
}

#[test]
fn what_is_no_such_key_is_not_loaded() {
    let keys = keys();
    let (unwraps, public) = unwrapping(&keys);
    let load = |algorithm, wrapped: &[u8]| {
        let loaded = keys.load(OWNER, PROVIDER, &attributes(algorithm), &unwraps, wrapped);
        loaded.unwrap_err()
    };
    for (algorithm, content) in [
        (Algorithm::Hs256, &[1; 31][..]),
        (Algorithm::A256Gcm, &[1; 33]),
        (Algorithm::Es256, b"no document"),
        (Algorithm::Rs256, b"no document"),
        (Algorithm::PinTdes, &[1; 8]),
        (Algorithm::PinAes, &[1; 20]),
    ] {
        let error = load(algorithm, &wrapped(&public, content));
        assert!(
            matches!(error, KeyError::BadInput(_)),
            "{algorithm:?}: {error}"
        );
    }
    let good = wrapped(&public, &[1; 32]);
    for broken in [&good[..383], &good[..good.len() - 1], &[]] {
        assert_eq!(load(Algorithm::Hs256, broken), KeyError::NotOpened);
    }
    for at in [0, 383, 384, good.len() - 1] {
        let mut changed = good.clone();
        changed[at] ^= 1;
        assert_eq!(
            load(Algorithm::Hs256, &changed),
            KeyError::NotOpened,
            "byte {at}"
        );
    }
    assert!(matches!(
        load(Algorithm::Hs256, &vec![0; 20_000]),
        KeyError::BadInput(_)
    ));
}

#[test]
fn only_unwrapping_keys_unwrap() {
    let keys = keys();
    let signs = keys
        .generate(OWNER, PROVIDER, &attributes(Algorithm::Es256))
        .unwrap();
    let loading = attributes(Algorithm::Hs256);
    let loaded = keys.load(OWNER, PROVIDER, &loading, &signs.reference, &[0; 40]);
    assert_eq!(loaded, Err(KeyError::WrongPurpose));
}

//! Keys that the token generates: what they do, and what they refuse.

use cryptoki::object::{Attribute, AttributeType};
use rialto_keys::{Algorithm, KeyError, Purpose};

use crate::world::{HSM, LOCAL, NOW, OWNER, Onlooker, World, attributes, keys, made, open};

/// What every SoftHSM supports.
const SUPPORTED: [Algorithm; 5] = [
    Algorithm::Es256,
    Algorithm::Es384,
    Algorithm::Rs256,
    Algorithm::Hs256,
    Algorithm::A256Gcm,
];

pub fn token_supports_what_its_mechanisms_say(world: &World) {
    let token = open(world.softhsm());
    let keys = keys(&token);
    assert!(keys.providers()[0].algorithms.is_empty());
    let algorithms = token.check().unwrap().algorithms;
    assert_eq!(keys.providers()[0].algorithms, algorithms);
    assert!(SUPPORTED.iter().all(|one| algorithms.contains(one)));
    for algorithm in Algorithm::ALL {
        let outcome = keys.generate(OWNER, HSM, &attributes(algorithm));
        if algorithms.contains(&algorithm) {
            let is_pair = outcome.unwrap().public_key.is_some();
            let wants_pair = !matches!(
                algorithm,
                Algorithm::Hs256 | Algorithm::A256Gcm | Algorithm::A256Kwp
            );
            assert_eq!(is_pair, wants_pair, "{algorithm:?}");
        } else {
            let refused = matches!(outcome, Err(KeyError::Unsupported(_)));
            assert!(refused, "{algorithm:?}");
        }
    }
}

pub fn signature_is_verified_with_the_public_key_alone(world: &World) {
    let keys = keys(&open(world.softhsm()));
    for algorithm in [
        Algorithm::Es256,
        Algorithm::Es384,
        Algorithm::Rs256,
        Algorithm::Hs256,
    ] {
        let (key, other) = (made(&keys, HSM, algorithm), made(&keys, HSM, algorithm));
        let signature = keys.sign(OWNER, &key.reference, NOW, b"message").unwrap();
        let verifies = |of: &str, message: &[u8], signature: &[u8]| {
            keys.verify(OWNER, of, message, signature).unwrap()
        };
        assert!(verifies(&key.reference, b"message", &signature));
        assert!(!verifies(&key.reference, b"massage", &signature));
        assert!(!verifies(&key.reference, b"message", &signature[1..]));
        assert!(!verifies(&key.reference, b"message", b""));
        assert!(!verifies(&other.reference, b"message", &signature));
        // The longest message.
        let long = vec![7; 1024 * 1024];
        let signature_of_long = keys.sign(OWNER, &key.reference, NOW, &long).unwrap();
        assert!(verifies(&key.reference, &long, &signature_of_long));
        let software = made(&keys, LOCAL, algorithm);
        let of_software = keys
            .sign(OWNER, &software.reference, NOW, b"message")
            .unwrap();
        assert_eq!(of_software.len(), signature.len(), "{algorithm:?}");
        let (Some(public), Some(of_other)) = (key.public_key, software.public_key) else {
            assert_eq!(algorithm, Algorithm::Hs256);
            continue;
        };
        let verified = keys.verify_with(&public, algorithm, b"message", &signature);
        assert_eq!(verified, Ok(true), "{algorithm:?}");
        let verified = keys.verify_with(&of_other, algorithm, b"message", &signature);
        assert_eq!(verified, Ok(false), "{algorithm:?}");
        assert!(!verifies(&key.reference, b"message", &of_software));
    }
}

pub fn key_is_used_for_its_purpose_alone(world: &World) {
    let keys = keys(&open(world.softhsm()));
    for algorithm in SUPPORTED {
        let key = made(&keys, HSM, algorithm).reference;
        let purpose = algorithm.purpose();
        let wrong = KeyError::WrongPurpose;
        let signs = matches!(purpose, Purpose::Sign | Purpose::Mac);
        let signed = keys.sign(OWNER, &key, NOW, b"m").err();
        assert_eq!(signed, (!signs).then_some(wrong.clone()));
        let verified = keys.verify(OWNER, &key, b"m", b"s").err();
        assert_eq!(verified, (!signs).then_some(wrong.clone()));
        let encrypts = purpose == Purpose::Encrypt;
        let encrypted = keys.encrypt(OWNER, &key, NOW, b"m", b"").err();
        assert_eq!(encrypted, (!encrypts).then_some(wrong.clone()));
        let expected = if encrypts {
            KeyError::NotOpened
        } else {
            wrong.clone()
        };
        assert_eq!(keys.decrypt(OWNER, &key, &[0; 40], b""), Err(expected));
        let loaded = keys.load(OWNER, HSM, &attributes(Algorithm::Hs256), &key, &[0; 40]);
        assert_eq!(loaded, Err(wrong));
        let anothers = KeyError::NoKey("it is another component's");
        assert_eq!(keys.sign("another", &key, NOW, b"m"), Err(anothers));
    }
}

pub fn encrypted_bytes_open_with_their_key_alone(world: &World) {
    let keys = keys(&open(world.softhsm()));
    let key = made(&keys, HSM, Algorithm::A256Gcm).reference;
    let other = made(&keys, HSM, Algorithm::A256Gcm).reference;
    for length in [0, 1, 15, 16, 17, 1000, 1024 * 1024 - 3] {
        let plaintext = vec![5; length];
        let sealed = keys.encrypt(OWNER, &key, NOW, &plaintext, b"aad").unwrap();
        assert_eq!(sealed.len(), 12 + length + 16);
        assert_eq!(keys.decrypt(OWNER, &key, &sealed, b"aad"), Ok(plaintext));
        let not_opened = Err(KeyError::NotOpened);
        assert_eq!(keys.decrypt(OWNER, &key, &sealed, b"add"), not_opened);
        assert_eq!(keys.decrypt(OWNER, &other, &sealed, b"aad"), not_opened);
        let end = sealed.len() - 1;
        assert_eq!(
            keys.decrypt(OWNER, &key, &sealed[..end], b"aad"),
            not_opened
        );
        for at in [0, 11, 12, end - 15, end] {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            let opened = keys.decrypt(OWNER, &key, &changed, b"aad");
            assert_eq!(opened, not_opened, "{length} bytes, byte {at}");
        }
    }
    let again = |keys: &rialto_keys::Keys| keys.encrypt(OWNER, &key, NOW, b"m", b"").unwrap();
    assert_ne!(again(&keys), again(&keys));
}

pub fn nonce_may_be_the_token_s(world: &World) {
    let keys = keys(&open(world.failing()));
    let key = made(&keys, HSM, Algorithm::A256Gcm).reference;
    world.control("own-nonce", "");
    let sealed = keys.encrypt(OWNER, &key, NOW, b"plain", b"a").unwrap();
    assert_eq!(sealed[..12], [0x5a; 12]);
    world.release("own-nonce");
    let opened = keys.decrypt(OWNER, &key, &sealed, b"a");
    assert_eq!(opened, Ok(b"plain".to_vec()));
}

pub fn keys_cannot_be_extracted_or_used_otherwise(world: &World) {
    let configuration = world.softhsm();
    let keys = keys(&open(configuration.clone()));
    let onlooker = Onlooker::new(&{
        made(&keys, HSM, Algorithm::Es256);
        configuration
    });
    for algorithm in [Algorithm::Rs256, Algorithm::Hs256, Algorithm::A256Gcm] {
        made(&keys, HSM, algorithm);
    }
    let session = onlooker.session();
    let all = onlooker.keys();
    assert_eq!(all.len(), 4);
    let mut ids = Vec::new();
    for object in all {
        let read = |wanted: &[AttributeType]| session.get_attributes(object, wanted).unwrap();
        let common = read(&[
            AttributeType::Token,
            AttributeType::Private,
            AttributeType::Sensitive,
            AttributeType::Extractable,
            AttributeType::NeverExtractable,
            AttributeType::Modifiable,
        ]);
        assert_eq!(
            common,
            [
                Attribute::Token(true),
                Attribute::Private(true),
                Attribute::Sensitive(true),
                Attribute::Extractable(false),
                Attribute::NeverExtractable(true),
                Attribute::Modifiable(false),
            ]
        );
        // The token tells no secret.
        let secret = read(&[AttributeType::Value, AttributeType::PrivateExponent]);
        assert!(secret.is_empty(), "{secret:?}");
        let [Attribute::Label(label), Attribute::Id(id)] =
            &read(&[AttributeType::Label, AttributeType::Id])[..]
        else {
            panic!("a label and an id");
        };
        assert_eq!(id.len(), 16);
        ids.push(id.clone());
        let encrypts = label == b"a key of A256Gcm";
        let uses = read(&[
            AttributeType::Sign,
            AttributeType::Decrypt,
            AttributeType::Unwrap,
            AttributeType::Derive,
        ]);
        assert_eq!(
            uses,
            [
                Attribute::Sign(!encrypts),
                Attribute::Decrypt(encrypts),
                Attribute::Unwrap(false),
                Attribute::Derive(false),
            ]
        );
        let both = read(&[
            AttributeType::Verify,
            AttributeType::Encrypt,
            AttributeType::Wrap,
        ]);
        if !both.is_empty() {
            assert_eq!(
                both,
                [
                    Attribute::Verify(!encrypts),
                    Attribute::Encrypt(encrypts),
                    Attribute::Wrap(false),
                ]
            );
        }
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4);
}

pub fn pin_zones_are_refused(world: &World) {
    let keys = keys(&open(world.softhsm()));
    for algorithm in [Algorithm::PinTdes, Algorithm::PinAes] {
        let refused = keys.generate(OWNER, HSM, &attributes(algorithm));
        let Err(KeyError::Unsupported(why)) = refused else {
            panic!("{refused:?}");
        };
        assert!(why.contains("`software`"), "{why}");
    }
}

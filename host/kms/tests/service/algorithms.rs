//! Keys that the service generates: what they do, and what they refuse.

use rialto_keys::{Algorithm, KeyError, Purpose};

use crate::world::{CLOUD, LOCAL, NOW, OWNER, World, attributes, made, within_turns};

const SUPPORTED: [Algorithm; 5] = [
    Algorithm::Es256,
    Algorithm::Es384,
    Algorithm::Rs256,
    Algorithm::Hs256,
    Algorithm::A256Gcm,
];
const MIB: usize = 1024 * 1024;

#[test]
fn other_algorithms_are_refused() {
    let world = World::new();
    let keys = world.keys();
    assert_eq!(keys.providers()[0].algorithms, SUPPORTED);
    for algorithm in Algorithm::ALL {
        let outcome = keys.generate(OWNER, CLOUD, &attributes(algorithm));
        if SUPPORTED.contains(&algorithm) {
            let is_pair = outcome.unwrap().public_key.is_some();
            assert_eq!(is_pair, algorithm.purpose() == Purpose::Sign);
        } else {
            let refused = matches!(outcome, Err(KeyError::Unsupported(_)));
            assert!(refused, "{algorithm:?}");
        }
    }
}

#[test]
fn wrapped_keys_are_not_loaded() {
    let world = World::new();
    let kms = world.open();
    let of = attributes(Algorithm::Hs256);
    let unwraps = rialto_keys::Unwrapping {
        attributes: &attributes(Algorithm::A256Kwp),
        material: &[],
    };
    let loaded = rialto_keys::Provider::load(&*kms, &of, unwraps, &[0; 40]);
    assert!(matches!(loaded, Err(KeyError::Unsupported(_))));
}

#[test]
fn signature_is_verified_with_the_public_key_alone() {
    let world = World::new();
    let keys = world.keys();
    for algorithm in [Algorithm::Es256, Algorithm::Es384, Algorithm::Rs256] {
        let (key, other) = (made(&keys, CLOUD, algorithm), made(&keys, CLOUD, algorithm));
        let signature = keys.sign(OWNER, &key.reference, NOW, b"message").unwrap();
        let verifies = |of: &str, message: &[u8], signature: &[u8]| {
            keys.verify(OWNER, of, message, signature).unwrap()
        };
        assert!(verifies(&key.reference, b"message", &signature));
        assert!(!verifies(&key.reference, b"massage", &signature));
        assert!(!verifies(&key.reference, b"message", &signature[1..]));
        assert!(!verifies(&key.reference, b"message", b""));
        assert!(!verifies(&other.reference, b"message", &signature));
        // The shortest and the longest message.
        for message in [vec![], vec![7; MIB]] {
            let signature = keys.sign(OWNER, &key.reference, NOW, &message).unwrap();
            assert!(verifies(&key.reference, &message, &signature));
        }
        let software = made(&keys, LOCAL, algorithm);
        let of_software = keys
            .sign(OWNER, &software.reference, NOW, b"message")
            .unwrap();
        assert_eq!(of_software.len(), signature.len(), "{algorithm:?}");
        assert!(!verifies(&key.reference, b"message", &of_software));
        let with = |public: &Option<String>| {
            let public = public.as_ref().unwrap();
            keys.verify_with(public, algorithm, b"message", &signature)
        };
        assert_eq!(with(&key.public_key), Ok(true), "{algorithm:?}");
        assert_eq!(with(&software.public_key), Ok(false), "{algorithm:?}");
    }
    // The service has verified nothing.
    assert_eq!(world.proxy.count("Verify"), 0);
}

#[test]
fn code_is_verified_by_its_key_alone() {
    let world = World::new();
    let keys = world.keys();
    let key = made(&keys, CLOUD, Algorithm::Hs256).reference;
    let other = made(&keys, CLOUD, Algorithm::Hs256).reference;
    for length in [1, 400, 4096] {
        let message = vec![7; length];
        let code = keys.sign(OWNER, &key, NOW, &message).unwrap();
        assert_eq!(code.len(), 32);
        let verifies =
            |of: &str, message: &[u8], code: &[u8]| keys.verify(OWNER, of, message, code).unwrap();
        assert!(verifies(&key, &message, &code));
        assert!(!verifies(&other, &message, &code));
        assert!(!verifies(&key, b"massage", &code));
        assert!(!verifies(&key, &message, &code[1..]));
        let mut changed = code.clone();
        changed[31] ^= 1;
        assert!(!verifies(&key, &message, &changed));
    }
    for length in [0, 4097, MIB] {
        let message = vec![7; length];
        for outcome in [
            keys.sign(OWNER, &key, NOW, &message).err(),
            keys.verify(OWNER, &key, &message, &[0; 32]).err(),
        ] {
            let Some(KeyError::BadInput(why)) = outcome else {
                panic!("{length} bytes: {outcome:?}");
            };
            assert!(why.contains("1 to 4096"), "{why}");
        }
    }
}

#[test]
fn key_is_used_for_its_purpose_alone() {
    let world = World::new();
    let keys = world.keys();
    for algorithm in SUPPORTED {
        let key = made(&keys, CLOUD, algorithm).reference;
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
        let loaded = keys.load(OWNER, CLOUD, &attributes(Algorithm::Hs256), &key, &[0; 40]);
        assert_eq!(loaded, Err(wrong));
        let anothers = KeyError::NoKey("it is another component's");
        assert_eq!(keys.sign("another", &key, NOW, b"m"), Err(anothers));
    }
}

#[test]
fn encrypted_bytes_open_with_their_key_alone() {
    let world = World::new();
    let keys = world.keys();
    let key = made(&keys, CLOUD, Algorithm::A256Gcm).reference;
    let other = made(&keys, CLOUD, Algorithm::A256Gcm).reference;
    for length in [0, 1, 16, 1000, MIB - 3] {
        let plaintext = vec![5; length];
        let sealed = keys.encrypt(OWNER, &key, NOW, &plaintext, b"aad").unwrap();
        assert_eq!(keys.decrypt(OWNER, &key, &sealed, b"aad"), Ok(plaintext));
        let not_opened = Err(KeyError::NotOpened);
        assert_eq!(keys.decrypt(OWNER, &key, &sealed, b"add"), not_opened);
        assert_eq!(keys.decrypt(OWNER, &other, &sealed, b"aad"), not_opened);
        let end = sealed.len() - 1;
        assert_eq!(
            keys.decrypt(OWNER, &key, &sealed[..end], b"aad"),
            not_opened
        );
        // Nonce, form, length, wrapped data key, ciphertext or tag.
        for at in [0, 11, 12, 13, 14, 15 + 36, 15 + 60, end - 15, end] {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            let opened = keys.decrypt(OWNER, &key, &changed, b"aad");
            assert_eq!(opened, not_opened, "{length} bytes, byte {at}");
        }
    }
    let again = || keys.encrypt(OWNER, &key, NOW, b"m", b"").unwrap();
    assert_ne!(again(), again());
    let software = made(&keys, LOCAL, Algorithm::A256Gcm).reference;
    let of_software = keys.encrypt(OWNER, &software, NOW, b"m", b"").unwrap();
    let opened = keys.decrypt(OWNER, &key, &of_software, b"");
    assert_eq!(opened, Err(KeyError::NotOpened));
}

#[test]
fn turns_do_not_call_the_service() {
    let world = World::new();
    let kms = world.open();
    let key = made(&crate::world::keys(&kms), CLOUD, Algorithm::Es256).reference;
    let within = within_turns(&kms);
    let refused = within.sign(OWNER, &key, NOW, b"m");
    assert!(matches!(refused, Err(KeyError::Unsupported(_))));
    assert_eq!(world.proxy.count("Sign"), 0);
}

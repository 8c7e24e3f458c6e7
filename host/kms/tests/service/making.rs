//! Making keys once, and destroying them.

use std::time::Duration;

use rialto_keys::{Algorithm, KeyError};
use rialto_kms::Configuration;
use serde_json::Value;

use crate::messages::{answer, error};
use crate::proxy::Mode;
use crate::world::{CLOUD, LONG, NOW, OWNER, World, attributes, away, keys, made, open, until};

fn body(request: &crate::messages::Message) -> Value {
    serde_json::from_slice(&request.body).unwrap()
}

#[test]
fn new_key_has_its_label_and_a_tag() {
    let world = World::new();
    let keys = world.keys();
    for (algorithm, spec, usage) in [
        (Algorithm::Es256, "ECC_NIST_P256", "SIGN_VERIFY"),
        (Algorithm::Es384, "ECC_NIST_P384", "SIGN_VERIFY"),
        (Algorithm::Rs256, "RSA_3072", "SIGN_VERIFY"),
        (Algorithm::Hs256, "HMAC_256", "GENERATE_VERIFY_MAC"),
        (Algorithm::A256Gcm, "SYMMETRIC_DEFAULT", "ENCRYPT_DECRYPT"),
    ] {
        made(&keys, CLOUD, algorithm);
        let request = body(world.proxy.seen("CreateKey").last().unwrap());
        assert_eq!(request["Description"], attributes(algorithm).label);
        assert_eq!(request["KeySpec"], spec);
        assert_eq!(request["KeyUsage"], usage);
        assert_eq!(request["Tags"][0]["TagKey"], "rialto");
        let tag = request["Tags"][0]["TagValue"].as_str().unwrap();
        assert_eq!(tag.len(), 32, "{tag}");
    }
}

#[test]
fn destroyed_key_is_gone() {
    let world = World::new();
    let keys = world.keys();
    let gone = |outcome: Result<Vec<u8>, KeyError>| {
        assert!(matches!(outcome, Err(KeyError::NoKey(_))), "{outcome:?}");
    };
    let pair = made(&keys, CLOUD, Algorithm::Es256).reference;
    let signature = keys.sign(OWNER, &pair, NOW, b"m").unwrap();
    let code = made(&keys, CLOUD, Algorithm::Hs256).reference;
    let secret = made(&keys, CLOUD, Algorithm::A256Gcm).reference;
    let sealed = keys.encrypt(OWNER, &secret, NOW, b"m", b"").unwrap();
    for key in [&pair, &code, &secret] {
        keys.destroy(OWNER, key).unwrap();
        let request = body(world.proxy.seen("ScheduleKeyDeletion").last().unwrap());
        assert_eq!(request["PendingWindowInDays"], 7);
        // A key that is gone is no error.
        keys.destroy(OWNER, key).unwrap();
    }
    gone(keys.sign(OWNER, &pair, NOW, b"m"));
    gone(keys.sign(OWNER, &code, NOW, b"m"));
    gone(keys.encrypt(OWNER, &secret, NOW, b"m", b""));
    gone(keys.decrypt(OWNER, &secret, &sealed, b""));
    let verified = keys.verify(OWNER, &code, b"m", &[0; 32]);
    assert!(matches!(verified, Err(KeyError::NoKey(_))));
    // The public key is with the reference.
    assert_eq!(keys.verify(OWNER, &pair, b"m", &signature), Ok(true));
}

#[test]
fn key_of_another_state_is_not_destroyed() {
    let world = World::new();
    let keys = world.keys();
    let key = made(&keys, CLOUD, Algorithm::Es256).reference;
    // The service refuses for another reason than a deletion that is scheduled.
    let state = || error(400, "KMSInvalidStateException");
    world.proxy.give("ScheduleKeyDeletion", state());
    let refused = keys.destroy(OWNER, &key);
    assert!(matches!(refused, Err(KeyError::NoKey(_))), "{refused:?}");
    keys.sign(OWNER, &key, NOW, b"m").unwrap();
}

#[test]
fn unclear_generation_is_not_repeated() {
    let world = World::new();
    let keys = world.keys();
    let refused = || keys.generate(OWNER, CLOUD, &attributes(Algorithm::Es256));
    world.proxy.set(Mode::LoseAnswers);
    away(refused());
    assert_eq!(world.proxy.count("CreateKey"), 1);
    world.proxy.set(Mode::Forward);
    for name in ["KMSInternalException", "DependencyTimeoutException"] {
        world.proxy.give("CreateKey", error(500, name));
        away(refused());
    }
    world.proxy.give("CreateKey", answer(200, "{}"));
    away(refused());
    assert_eq!(world.proxy.count("CreateKey"), 4);
    // It surely did not happen.
    world
        .proxy
        .give("CreateKey", error(400, "ThrottlingException"));
    refused().unwrap();
    assert_eq!(world.proxy.count("CreateKey"), 6);
}

#[test]
fn late_key_is_destroyed() {
    let world = World::new();
    let kms = open(Configuration {
        timeout: Duration::from_millis(50),
        ..world.configuration()
    });
    let keys = keys(&kms);
    for algorithm in [Algorithm::Es256, Algorithm::Hs256] {
        let before = world.proxy.count("ScheduleKeyDeletion");
        world.proxy.set(Mode::HoldAnswers);
        let why = away(keys.generate(OWNER, CLOUD, &attributes(algorithm)));
        assert!(why.contains("50 ms"), "{why}");
        assert_eq!(kms.busy(), 1);
        world.proxy.set(Mode::Forward);
        until(|| kms.busy() == 0);
        assert_eq!(world.proxy.count("ScheduleKeyDeletion"), before + 1);
    }
}

#[test]
fn pair_without_a_public_key_is_destroyed() {
    let world = World::new();
    let keys = world.keys();
    for bad in [
        error(400, "AccessDeniedException"),
        answer(400, ""),
        error(400, "NotFoundException"),
    ] {
        let before = world.proxy.count("ScheduleKeyDeletion");
        world.proxy.give("GetPublicKey", bad);
        let refused = keys.generate(OWNER, CLOUD, &attributes(Algorithm::Es256));
        assert!(refused.is_err());
        assert_eq!(world.proxy.count("ScheduleKeyDeletion"), before + 1);
    }
}

#[test]
fn key_of_another_region_is_not_opened() {
    let world = World::new();
    let key = made(&world.keys(), CLOUD, Algorithm::Es256).reference;
    let elsewhere = keys(&open(Configuration {
        region: "eu-west-1".to_owned(),
        timeout: LONG,
        ..world.configuration()
    }));
    let refused = elsewhere.sign(OWNER, &key, NOW, b"m");
    let expected = KeyError::NoKey("it is in another region of AWS KMS");
    assert_eq!(refused, Err(expected));
}

//! Answers that the service does not give: nothing of them is believed, and the next call works.

use rialto_keys::{Algorithm, KeyError};

use crate::messages::{answer, error};
use crate::world::{CLOUD, NOW, OWNER, World, attributes, away, keys, made};

/// A call of the provider.
type Call<'a> = &'a dyn Fn() -> Result<(), KeyError>;

/// Answers that are of no use to any operation.
fn garbage() -> Vec<Vec<u8>> {
    vec![
        answer(200, ""),
        answer(200, "{}"),
        answer(200, "null"),
        answer(200, "[1"),
        answer(200, &"[".repeat(30_000)),
        answer(200, &format!("{{\"a\":\"{}\"}}", "a".repeat(40_000))),
        answer(204, ""),
        answer(302, ""),
        answer(400, ""),
        answer(400, "<html>"),
        answer(400, r#"{"__type":3}"#),
        answer(400, r#"{"__type":"a b\nc"}"#),
        answer(404, "{}"),
    ]
}

/// What is no answer at all. As connections break, it is tried again.
fn no_answers() -> Vec<Vec<u8>> {
    let head = "HTTP/1.1 200 OK\r\n";
    vec![
        b"nonsense\r\n\r\n".to_vec(),
        b"HTTP/1.1 999999 X\r\n\r\n".to_vec(),
        format!("{head}A: {}\r\n\r\n", "a".repeat(40_000)).into_bytes(),
        format!("{head}Content-Length: -1\r\n\r\n").into_bytes(),
        format!("{head}Transfer-Encoding: chunked\r\n\r\nxyz\r\n").into_bytes(),
        vec![0xff; 100],
    ]
}

#[test]
fn garbage_is_no_answer_to_any_operation() {
    let world = World::new();
    let kms = world.open();
    let keys = keys(&kms);
    let pair = made(&keys, CLOUD, Algorithm::Es256).reference;
    let code = made(&keys, CLOUD, Algorithm::Hs256).reference;
    let secret = made(&keys, CLOUD, Algorithm::A256Gcm).reference;
    let mac = keys.sign(OWNER, &code, NOW, b"m").unwrap();
    let sealed = keys.encrypt(OWNER, &secret, NOW, b"m", b"").unwrap();
    let calls: [(&str, Call<'_>); 6] = [
        ("Sign", &|| keys.sign(OWNER, &pair, NOW, b"m").map(drop)),
        ("GenerateMac", &|| {
            keys.sign(OWNER, &code, NOW, b"m").map(drop)
        }),
        ("VerifyMac", &|| {
            keys.verify(OWNER, &code, b"m", &mac).map(drop)
        }),
        ("GenerateDataKey", &|| {
            keys.encrypt(OWNER, &secret, NOW, b"m", b"").map(drop)
        }),
        ("Decrypt", &|| {
            keys.decrypt(OWNER, &secret, &sealed, b"").map(drop)
        }),
        ("ListKeys", &|| kms.check().map(drop)),
    ];
    for garbage in garbage() {
        for (operation, call) in calls {
            world.proxy.give(operation, garbage.clone());
            let why = away(call());
            assert!(why.len() < 200, "{operation}: {why}");
        }
    }
    for (operation, call) in calls {
        call().unwrap_or_else(|error| panic!("{operation}: {error}"));
    }
}

#[test]
fn what_is_no_answer_is_a_lost_connection() {
    let world = World::new();
    let keys = world.keys();
    let key = made(&keys, CLOUD, Algorithm::Es256).reference;
    for no_answer in no_answers() {
        world.proxy.give("Sign", no_answer.clone());
        keys.sign(OWNER, &key, NOW, b"m").unwrap();
        world.proxy.give("CreateKey", no_answer);
        away(keys.generate(OWNER, CLOUD, &attributes(Algorithm::Es256)));
    }
}

#[test]
fn wrong_signatures_and_codes_are_not_passed_on() {
    let world = World::new();
    let keys = world.keys();
    for algorithm in [Algorithm::Es256, Algorithm::Rs256, Algorithm::Hs256] {
        let key = made(&keys, CLOUD, algorithm).reference;
        let (operation, member) = match algorithm {
            Algorithm::Hs256 => ("GenerateMac", "Mac"),
            _ => ("Sign", "Signature"),
        };
        for value in ["", "AAAA", "MAYCAQECAQI=", "!", &"A".repeat(20_000)] {
            let body = format!(r#"{{"KeyId":"a","{member}":"{value}"}}"#);
            world.proxy.give(operation, answer(200, &body));
            away(keys.sign(OWNER, &key, NOW, b"m"));
        }
    }
}

#[test]
fn unusable_data_keys_encrypt_nothing() {
    let world = World::new();
    let keys = world.keys();
    let key = made(&keys, CLOUD, Algorithm::A256Gcm).reference;
    let (right, short) = ("A".repeat(43) + "=", "A".repeat(40));
    for (id, plaintext, wrapped) in [
        (
            "arn:aws:kms:eu-central-1:1:key/other",
            right.as_str(),
            "AAAA",
        ),
        ("", &right, "AAAA"),
    ] {
        let body =
            format!(r#"{{"KeyId":"{id}","Plaintext":"{plaintext}","CiphertextBlob":"{wrapped}"}}"#);
        world.proxy.give("GenerateDataKey", answer(200, &body));
        away(keys.encrypt(OWNER, &key, NOW, b"m", b""));
    }
    // Of the right key, whose name is in the request.
    let seen = world.proxy.seen("GenerateDataKey");
    let request: serde_json::Value = serde_json::from_slice(&seen[0].body).unwrap();
    let id = request["KeyId"].as_str().unwrap();
    for (plaintext, wrapped) in [(short.as_str(), "AAAA"), ("", "AAAA"), (&right, "")] {
        let body =
            format!(r#"{{"KeyId":"{id}","Plaintext":"{plaintext}","CiphertextBlob":"{wrapped}"}}"#);
        world.proxy.give("GenerateDataKey", answer(200, &body));
        away(keys.encrypt(OWNER, &key, NOW, b"m", b""));
    }
    let sealed = keys.encrypt(OWNER, &key, NOW, b"m", b"").unwrap();
    // Another data key does not open it.
    let body = format!(r#"{{"KeyId":"{id}","Plaintext":"{right}"}}"#);
    world.proxy.give("Decrypt", answer(200, &body));
    let opened = keys.decrypt(OWNER, &key, &sealed, b"");
    assert_eq!(opened, Err(KeyError::NotOpened));
    let refused = error(400, "InvalidCiphertextException");
    world.proxy.give("Decrypt", refused);
    let opened = keys.decrypt(OWNER, &key, &sealed, b"");
    assert_eq!(opened, Err(KeyError::NotOpened));
}

#[test]
fn unusable_new_keys_are_refused() {
    let world = World::new();
    let keys = world.keys();
    let metadata = |arn: &str, spec: &str| {
        let body = format!(
            r#"{{"KeyMetadata":{{"Arn":"{arn}","KeyState":"Enabled","KeySpec":"{spec}"}}}}"#
        );
        answer(200, &body)
    };
    for bad in [
        metadata("", "ECC_NIST_P256"),
        metadata("arn:aws:kms:eu-west-1:1:key/a", "ECC_NIST_P256"),
        metadata("arn:aws:s3:eu-central-1:1:key/a", "ECC_NIST_P256"),
        metadata("arn:aws:kms:eu-central-1:1:key/a", "RSA_2048"),
    ] {
        world.proxy.give("CreateKey", bad);
        away(keys.generate(OWNER, CLOUD, &attributes(Algorithm::Es256)));
    }
    // A public key of another curve, or of another key.
    let other = made(&keys, CLOUD, Algorithm::Es384);
    let pem = other.public_key.unwrap();
    let base64: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    let body = format!(r#"{{"KeyId":"arn:aws:kms:eu-central-1:1:key/a","PublicKey":"{base64}"}}"#);
    for algorithm in [Algorithm::Es256, Algorithm::Es384] {
        world.proxy.give("GetPublicKey", answer(200, &body));
        away(keys.generate(OWNER, CLOUD, &attributes(algorithm)));
    }
}

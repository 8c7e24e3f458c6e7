//! What is refused by the specification's steps. A response that is read and refused uses its challenge up.

use serde_json::{Value, json};

use super::*;
use crate::bindings::exports::rialto::security_crypto::fido::{Owner, OwnerKind};
use crate::bindings::rialto::host::keys::KeyError;
use crate::fido::{FidoError, begin_authentication, finish_authorization};
use rialto_webauthn::authenticator::{Authenticator, PRESENT, VERIFIED};
use rialto_webauthn::options::base64url;

/// A change of an authenticator, and what it is refused for.
type Change = (&'static str, fn(&mut Authenticator));
/// A change of client data.
type ChangeOfData = fn(&mut Value);

/// Bytes of a member of a response.
pub fn bytes(text: &Value) -> Vec<u8> {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    URL_SAFE_NO_PAD.decode(text.as_str().unwrap()).unwrap()
}

/// Changes the client data of a response.
fn with_client_data(credential: &mut Value, change: impl FnOnce(&mut Value)) {
    let place = &mut credential["response"]["clientDataJSON"];
    let mut data: Value = serde_json::from_slice(&bytes(place)).unwrap();
    change(&mut data);
    *place = json!(base64url(data.to_string().as_bytes()));
}

#[test]
fn registration_that_fails_a_step_is_refused_and_uses_its_challenge_up() {
    let changes: &[Change] = &[
        ("origin", |device| {
            device.origin = "https://evil.example".to_owned()
        }),
        ("relying party", |device| {
            device.party = "evil.example".to_owned()
        }),
        ("touched", |device| device.flags = VERIFIED),
        ("verified the user", |device| device.flags = PRESENT),
        ("backups", |device| device.flags |= 0x10),
        // alg: -8 (EdDSA).
        ("algorithm -8", |device| device.cose[4] = 0x27),
        ("point of the curve", |device| device.cose[20] ^= 1),
    ];
    for (why, change) in changes {
        let mut world = world();
        let mut device = authenticator(1);
        change(&mut device);
        let body = answered(&mut world, "/fido-register", &user("alice"), |options| {
            device.create(options)
        });
        let (status, problem) = ask(&mut world, "/fido-register", &body);
        assert!(
            problem["detail"].as_str().unwrap().contains(why),
            "{why}: {problem}"
        );
        assert_eq!(refusal((status, problem)), refused(422, "fido-refused"));
        assert_eq!(
            refusal(ask(&mut world, "/fido-register", &body)),
            refused(409, "challenge-used")
        );
        let begun = ask(&mut world, "/fido-authenticate", &named("alice"));
        assert_eq!(refusal(begun), refused(404, "user-unknown"), "{why}");
    }
}

#[test]
fn authorization_that_fails_a_step_is_refused_and_uses_its_challenge_up() {
    let changes: &[Change] = &[
        ("origin", |device| {
            device.origin = "https://bank.example".to_owned()
        }),
        ("relying party", |device| {
            device.party = "evil.example".to_owned()
        }),
        ("touched", |device| device.flags = VERIFIED),
        ("verified the user", |device| device.flags = PRESENT),
        ("backups", |device| device.flags |= 0x08),
        ("backups", |device| device.flags |= 0x10),
        ("another user", |device| device.handle = json!("AAAA")),
        ("none of this user's", |device| device.id = vec![9; 16]),
        ("signature", |device| {
            let mut other = authenticator(2);
            other.id = device.id.clone();
            other.handle = device.handle.clone();
            *device = other;
        }),
    ];
    for (why, change) in changes {
        let mut world = world();
        let mut device = authenticator(1);
        register(&mut world, "alice", &mut device);
        change(&mut device);
        let body = answered(&mut world, "/fido-authorize", &payment("1"), |options| {
            device.get(options)
        });
        let (status, problem) = ask(&mut world, "/fido-authorize", &body);
        assert!(
            problem["detail"].as_str().unwrap().contains(why),
            "{why}: {problem}"
        );
        assert_eq!(refusal((status, problem)), refused(422, "fido-refused"));
        let again = ask(&mut world, "/fido-authorize", &body);
        assert_eq!(refusal(again), refused(409, "challenge-used"), "{why}");
        assert_eq!(world.alerts, [""; 0]);
    }
}

#[test]
fn client_data_of_another_operation_challenge_or_frame_is_refused() {
    let changes: [(&str, ChangeOfData); 4] = [
        ("`type`", |data| {
            let is_create = data["type"] == "webauthn.create";
            data["type"] = json!(if is_create {
                "webauthn.get"
            } else {
                "webauthn.create"
            });
        }),
        ("another challenge", |data| {
            data["challenge"] = json!("AAAA")
        }),
        ("frame", |data| data["crossOrigin"] = json!(true)),
        ("frame", |data| data["topOrigin"] = json!(ORIGIN)),
    ];
    for (why, change) in changes {
        let mut world = world();
        let mut device = authenticator(1);
        register(&mut world, "alice", &mut device);
        let another = answered(&mut world, "/fido-register", &user("alice"), |options| {
            authenticator(2).create(options)
        });
        let used = answered(
            &mut world,
            "/fido-authenticate",
            &named("alice"),
            |options| device.get(options),
        );
        for (path, mut body) in [("/fido-register", another), ("/fido-authenticate", used)] {
            with_client_data(&mut body["credential"], change);
            let (status, problem) = ask(&mut world, path, &body);
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.contains(why), "{path} {why}: {problem}");
            assert_eq!(refusal((status, problem)), refused(422, "fido-refused"));
        }
    }
}

#[test]
fn error_of_the_host_is_not_blamed_on_the_authenticator() {
    let mut world = world();
    let mut device = authenticator(1);
    register(&mut world, "alice", &mut device);
    let away = || Some(KeyError::ProviderAway("slow".to_owned()));
    let registration = answered(&mut world, "/fido-register", &user("alice"), |options| {
        authenticator(2).create(options)
    });
    let payment = answered(&mut world, "/fido-authorize", &payment("1"), |options| {
        device.get(options)
    });
    for (path, body) in [
        ("/fido-register", registration),
        ("/fido-authorize", payment),
    ] {
        world.alerts.clear();
        world.fails = away();
        let (status, said) = ask(&mut world, path, &body);
        let detail = said["detail"].as_str().unwrap();
        assert!(
            detail.contains("the host could not verify"),
            "{path}: {said}"
        );
        assert_eq!(refusal((status, said)), refused(422, "fido-refused"));
        assert!(world.alerts[0].contains("slow"), "{:?}", world.alerts);
    }
}

#[test]
fn attestation_none_has_no_statement() {
    let mut world = world();
    let mut body = answered(&mut world, "/fido-register", &user("alice"), |options| {
        authenticator(1).create(options)
    });
    let place = &mut body["credential"]["response"]["attestationObject"];
    let object = bytes(place);
    // {"attStmt": {}} becomes {"attStmt": {"a": 1}}; the rest stays.
    let name = b"attStmt";
    let at = object
        .windows(name.len())
        .position(|part| part == name)
        .unwrap()
        + name.len();
    assert_eq!(object[at], 0xa0);
    let changed = [&object[..at], &[0xa1, 0x61, b'a', 0x01], &object[at + 1..]].concat();
    *place = json!(base64url(&changed));
    let (status, problem) = ask(&mut world, "/fido-register", &body);
    assert!(
        problem["detail"].as_str().unwrap().contains("statement"),
        "{problem}"
    );
    assert_eq!(refusal((status, problem)), refused(422, "fido-refused"));
}

#[test]
fn credential_is_of_one_user_of_one_owner() {
    let mut world = world();
    let mut alice = authenticator(1);
    register(&mut world, "alice", &mut alice);
    let mut carol = authenticator(2);
    register(&mut world, "carol", &mut carol);
    // Another user's credential, with and without that user's handle.
    for handle in [alice.handle.clone(), carol.handle.clone(), Value::Null] {
        alice.handle = handle;
        let body = answered(
            &mut world,
            "/fido-authenticate",
            &named("carol"),
            |options| alice.get(options),
        );
        let answer = ask(&mut world, "/fido-authenticate", &body);
        assert_eq!(refusal(answer), refused(422, "fido-refused"));
    }
    // A credential that is known is registered for nobody else.
    let body = answered(&mut world, "/fido-register", &user("carol"), |options| {
        alice.create(options)
    });
    let answer = ask(&mut world, "/fido-register", &body);
    assert_eq!(refusal(answer), refused(409, "credential-known"));
    // Another program finds neither the user nor the challenge; a participant of the same name neither.
    let (_, begun) = ask(&mut world, "/fido-authenticate", &named("alice"));
    let other = ask_as(&mut world, "shop", "/fido-authenticate", &named("alice"));
    assert_eq!(refusal(other), refused(404, "user-unknown"));
    let finish = json!({ "id": begun["id"], "credential": alice.get(&begun["publicKey"]) });
    let other = ask_as(&mut world, "shop", "/fido-authenticate", &finish);
    assert_eq!(refusal(other), refused(404, "challenge-unknown"));
    let participant = Owner {
        kind: OwnerKind::Participant,
        name: "wallet".to_owned(),
    };
    let found = begin_authentication(&mut world, &participant, "alice");
    assert_eq!(found, Err(FidoError::UnknownUser));
    // And for another purpose it is unknown.
    let mut finish = finish;
    finish["transaction"] = payment("1")["transaction"].clone();
    let other = ask(&mut world, "/fido-authorize", &finish);
    assert_eq!(refusal(other), refused(404, "challenge-unknown"));
}

#[test]
fn challenge_expires() {
    let mut world = world();
    let body = answered(&mut world, "/fido-register", &user("alice"), |options| {
        authenticator(1).create(options)
    });
    world.now = 301_000;
    let answer = ask(&mut world, "/fido-register", &body);
    assert_eq!(refusal(answer), refused(409, "challenge-expired"));
    world.now = 300_999;
    assert_eq!(ask(&mut world, "/fido-register", &body).0, 200);
}

#[test]
fn challenge_stands_for_its_transaction_alone() {
    let mut world = world();
    let mut device = authenticator(1);
    register(&mut world, "alice", &mut device);
    let changes: [fn(&mut Value); 4] = [
        |asked| asked["transferId"] = json!("another"),
        |asked| asked["amount"]["amount"] = json!("100.51"),
        |asked| asked["payee"] = json!("Mallory"),
        |_| {},
    ];
    for (index, change) in changes.iter().enumerate() {
        let mut body = answered(
            &mut world,
            "/fido-authorize",
            &payment("100.5"),
            |options| device.get(options),
        );
        body["transaction"] = payment("100.5")["transaction"].clone();
        change(&mut body["transaction"]);
        let (status, problem) = ask(&mut world, "/fido-authorize", &body);
        if index == 3 {
            assert_eq!(status, 200, "{problem}");
            // A repeat that expects another one is refused too.
            body["transaction"]["amount"]["amount"] = json!("1");
            let answer = ask(&mut world, "/fido-authorize", &body);
            assert_eq!(refusal(answer), refused(422, "fido-refused"));
            body["transaction"]["amount"]["amount"] = json!("100.5");
            assert_eq!(ask(&mut world, "/fido-authorize", &body).0, 200);
        } else {
            assert_eq!(refusal((status, problem)), refused(422, "fido-refused"));
        }
    }
    // The challenge of one transaction is not that of another.
    let (_, one) = ask(&mut world, "/fido-authorize", &payment("1"));
    let (_, two) = ask(&mut world, "/fido-authorize", &payment("1000"));
    let body = json!({
        "id": two["id"],
        "credential": device.get(&one["publicKey"]),
        "transaction": payment("1000")["transaction"],
    });
    let answer = ask(&mut world, "/fido-authorize", &body);
    assert_eq!(refusal(answer), refused(422, "fido-refused"));
}

#[test]
fn finish_without_the_transaction_is_refused_and_changes_nothing() {
    let mut world = world();
    let mut device = authenticator(1);
    register(&mut world, "alice", &mut device);
    let mut body = answered(&mut world, "/fido-authorize", &payment("1"), |options| {
        device.get(options)
    });
    let transaction = body["transaction"].take();
    let before = kept(&mut world);
    let said = ask(&mut world, "/fido-authorize", &body);
    assert_eq!(refusal(said), refused(400, "malformed"));
    // A component that leaves it out is refused too.
    let owner = Owner {
        kind: OwnerKind::Program,
        name: "wallet".to_owned(),
    };
    let (id, credential) = (body["id"].as_str().unwrap(), body["credential"].to_string());
    let said = finish_authorization(&mut world, &owner, id, &credential, None);
    assert!(matches!(said, Err(FidoError::Malformed(_))), "{said:?}");
    assert_eq!(kept(&mut world), before);
    body["transaction"] = transaction;
    assert_eq!(ask(&mut world, "/fido-authorize", &body).0, 200);
}

#[test]
fn malformed_transaction_begins_nothing() {
    let mut world = world();
    register(&mut world, "alice", &mut authenticator(1));
    let before = kept(&mut world);
    for amount in ["0", "-1", "1.005", "1e3", ""] {
        let answer = ask(&mut world, "/fido-authorize", &payment(amount));
        assert_eq!(refusal(answer), refused(400, "malformed"), "{amount}");
    }
    for (place, value) in [
        ("/transaction/amount/currency", "EUR"),
        ("/transaction/payee", ""),
        ("/transaction/payee", "a\nb"),
        ("/transaction/transferId", "a/b"),
        ("/user/id", "a/b"),
    ] {
        let mut body = payment("1");
        *body.pointer_mut(place).unwrap() = json!(value);
        let answer = ask(&mut world, "/fido-authorize", &body);
        assert_eq!(
            refusal(answer),
            refused(400, "malformed"),
            "{place} {value}"
        );
    }
    assert_eq!(kept(&mut world), before);
}

//! What cannot be read: it is refused, and changes nothing.

use serde_json::{Value, json};

use super::refusals::bytes;
use super::*;
use crate::bindings::exports::rialto::security_crypto::fido::{Owner, OwnerKind, User};
use crate::fido::{FidoError, begin_registration, finish_registration};
use rialto_webauthn::authenticator::Authenticator;
use rialto_webauthn::options::base64url;
use rialto_webauthn::response;

/// Responses that cannot be read, made of a good one.
fn unreadable(credential: &Value, members: &[&str]) -> Vec<Value> {
    let mut all = vec![json!({}), json!("text"), Value::Null, json!([credential])];
    for name in ["id", "rawId", "type", "response"] {
        let mut changed = credential.clone();
        changed.as_object_mut().unwrap().remove(name);
        all.push(changed);
        let mut changed = credential.clone();
        changed[name] = json!("A");
        all.push(changed);
    }
    // The id of another credential.
    let mut changed = credential.clone();
    changed["id"] = json!("AAAA");
    changed["rawId"] = json!("AAAA");
    if members.contains(&"attestationObject") {
        all.push(changed);
    }
    for name in members {
        let good = bytes(&credential["response"][name]);
        let mut with = |value: Value| {
            let mut changed = credential.clone();
            changed["response"][name] = value;
            all.push(changed);
        };
        for text in ["", "=", "A", "AA==", "+/+/", "é", "AAAA"] {
            with(json!(text));
        }
        with(json!(7));
        with(Value::Null);
        for end in (0..good.len()).step_by(7) {
            with(json!(base64url(&good[..end])));
        }
        with(json!(base64url(&[&good[..], &[0]].concat())));
        with(json!(base64url(&[0x9f; 3_000])));
        with(json!(base64url(&[
            0x5b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff
        ])));
        with(json!("A".repeat(response::RESPONSE_MAX)));
    }
    all
}

#[test]
fn response_that_cannot_be_read_changes_nothing() {
    let mut world = world();
    let mut device = authenticator(1);
    let body = answered(&mut world, "/fido-register", &user("alice"), |options| {
        device.create(options)
    });
    let before = kept(&mut world);
    let members = ["clientDataJSON", "attestationObject"];
    for credential in unreadable(&body["credential"], &members) {
        let sent = json!({ "id": body["id"], "credential": credential });
        let answer = ask(&mut world, "/fido-register", &sent);
        assert_eq!(refusal(answer), refused(400, "malformed"), "{sent}");
    }
    assert_eq!(kept(&mut world), before);
    assert_eq!(ask(&mut world, "/fido-register", &body).0, 200);

    let body = answered(
        &mut world,
        "/fido-authenticate",
        &named("alice"),
        |options| device.get(options),
    );
    let before = kept(&mut world);
    let members = ["clientDataJSON", "authenticatorData", "signature"];
    for credential in unreadable(&body["credential"], &members) {
        let sent = json!({ "id": body["id"], "credential": credential });
        let answer = ask(&mut world, "/fido-authenticate", &sent);
        assert_eq!(refusal(answer), refused(400, "malformed"), "{sent}");
    }
    assert_eq!(kept(&mut world), before);
    assert_eq!(ask(&mut world, "/fido-authenticate", &body).0, 200);
}

#[test]
fn public_key_that_is_not_cose_changes_nothing() {
    let changes: [fn(&mut Authenticator); 5] = [
        |device| device.cose.truncate(40),
        |device| device.cose = vec![0x01],
        // Another curve, another type of key, and a coordinate of 31 bytes.
        |device| device.cose[6] = 0x02,
        |device| device.cose[2] = 0x01,
        |device| {
            device.cose[9] = 0x1f;
            device.cose.remove(10);
        },
    ];
    for change in changes {
        let mut world = world();
        let mut device = authenticator(1);
        change(&mut device);
        let body = answered(&mut world, "/fido-register", &user("alice"), |options| {
            device.create(options)
        });
        let before = kept(&mut world);
        let answer = ask(&mut world, "/fido-register", &body);
        assert_eq!(refusal(answer), refused(400, "malformed"));
        assert_eq!(kept(&mut world), before);
    }
}

#[test]
fn names_that_a_component_sends_are_judged_too() {
    let mut world = world();
    let owner = |name: &str| Owner {
        kind: OwnerKind::Participant,
        name: name.to_owned(),
    };
    let user = |id: &str, name: &str| User {
        id: id.to_owned(),
        name: name.to_owned(),
        display_name: "Alice".to_owned(),
    };
    for (owner, user) in [
        (owner(""), user("alice", "a")),
        (owner(&"a".repeat(129)), user("alice", "a")),
        (owner(&"é".repeat(65)), user("alice", "a")),
        (owner("payerfsp"), user("", "a")),
        (owner("payerfsp"), user("a/b", "a")),
        (owner("payerfsp"), user(&"a".repeat(65), "a")),
        (owner("payerfsp"), user("alice", "")),
        (owner("payerfsp"), user("alice", "a\u{7}")),
    ] {
        let begun = begin_registration(&mut world, &owner, &user);
        assert!(matches!(begun, Err(FidoError::Malformed(_))), "{begun:?}");
    }
    assert_eq!(kept(&mut world), []);
    let nothing = finish_registration(&mut world, &owner("payerfsp"), "x", "not json");
    assert!(
        matches!(nothing, Err(FidoError::Malformed(_))),
        "{nothing:?}"
    );
}

#[test]
fn challenge_of_an_impossible_id_is_unknown() {
    let mut world = world();
    let credential = answered(&mut world, "/fido-register", &user("alice"), |options| {
        authenticator(1).create(options)
    });
    let credential = credential["credential"].to_string();
    let owner = Owner {
        kind: OwnerKind::Program,
        name: "wallet".to_owned(),
    };
    for id in ["", "x", "a\nb", &"a".repeat(300), &"\u{7}".repeat(36)] {
        let finished = finish_registration(&mut world, &owner, id, &credential);
        assert_eq!(finished, Err(FidoError::UnknownChallenge), "{id:?}");
    }
}

#[test]
fn every_changed_byte_of_a_response_is_refused() {
    let mut world = world();
    let mut device = authenticator(1);
    register(&mut world, "alice", &mut device);
    let body = answered(&mut world, "/fido-authorize", &payment("1"), |options| {
        device.get(options)
    });
    let before = world.store.clone();
    let mut tried = 0;
    for member in ["clientDataJSON", "authenticatorData", "signature"] {
        let good = bytes(&body["credential"]["response"][member]);
        for (index, byte) in good.iter().enumerate() {
            let mut changed = good.clone();
            changed[index] = byte ^ (1 << (index % 8));
            let mut body = body.clone();
            body["credential"]["response"][member] = json!(base64url(&changed));
            let (status, answer) = ask(&mut world, "/fido-authorize", &body);
            assert!(
                matches!(status, 400 | 409 | 422),
                "{member} {index}: {status} {answer}"
            );
            world.store = before.clone();
            tried += 1;
        }
    }
    assert!(tried > 200, "{tried}");
    assert_eq!(ask(&mut world, "/fido-authorize", &body).0, 200);
}

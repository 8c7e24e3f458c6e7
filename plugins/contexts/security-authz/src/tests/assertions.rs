//! Programs that prove who they are.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::fake::{Fake, NOW};
use crate::bindings::exports::rialto::security_authz::verify_signature::Signed;
use crate::signatures;

const SECONDS: u64 = NOW / 1_000;

/// A registered key, with its id.
fn registered(subject: &str) -> (Fake, String) {
    let mut fake = Fake::new();
    let ends = NOW + 1_000_000;
    let change = json!({ "publicKey": {
        "subject": subject, "algorithm": "ES256", "publicKey": "PEM1", "notAfter": ends,
    } });
    let (status, said) = fake.change(&change.to_string());
    assert_eq!(status, 200, "{said}");
    let id = said["id"].as_str().unwrap().to_owned();
    (fake, id)
}

fn claims(name: &str) -> Value {
    json!({ "iss": name, "sub": name, "aud": "scheme", "jti": "j", "exp": SECONDS + 60 })
}

fn signed(header: &Value, claims: &Value, by: &str) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signature = URL_SAFE_NO_PAD.encode(format!("signed by {by}"));
    [part(header), part(claims), signature].join(".")
}

fn ask(fake: &mut Fake, assertion: &str, privilege: Option<&str>) -> Value {
    let mut body = json!({ "assertion": assertion });
    if let Some(name) = privilege {
        body["privilege"] = json!({ "component": "settlements", "name": name });
    }
    let (status, said) = fake.ask(
        "switch",
        &["context"],
        "authenticateByKey",
        &body.to_string(),
    );
    assert_eq!(status, 200);
    said
}

#[test]
fn assertion_is_accepted_once() {
    let (mut fake, key) = registered("context/switch");
    let header = json!({ "alg": "ES256", "kid": key });
    let mut claims = claims("switch");
    let assertion = signed(&header, &claims, "PEM1");
    let said = ask(&mut fake, &assertion, None);
    let ends = (SECONDS + 60) * 1_000;
    let expected = json!({
        "authenticated": true, "authorized": true, "subject": "context/switch", "expiresAt": ends,
    });
    assert_eq!(said, expected);
    let again = ask(&mut fake, &assertion, None);
    assert_eq!(
        again,
        json!({
            "authenticated": false, "authorized": false, "reason": "the assertion was used before",
        })
    );
    let [audited] = &fake.audited[..] else {
        panic!("{:?}", fake.audited)
    };
    assert_eq!(audited.about, "context/switch");
    assert!(audited.note.contains("used before"), "{audited:?}");
    claims["jti"] = json!("other");
    let said = ask(&mut fake, &signed(&header, &claims, "PEM1"), Some("settle"));
    assert_eq!(
        (&said["authenticated"], &said["authorized"]),
        (&json!(true), &json!(false))
    );
}

#[test]
fn used_assertions_are_forgotten_after_their_end() {
    let (mut fake, key) = registered("context/switch");
    let header = json!({ "alg": "ES256", "kid": key });
    assert_eq!(
        ask(&mut fake, &signed(&header, &claims("switch"), "PEM1"), None)["authenticated"],
        true
    );
    fake.later = 100_000;
    let later = json!({ "iss": "switch", "sub": "switch", "aud": ["x", "scheme"], "jti": "k", "exp": SECONDS + 200 });
    assert_eq!(
        ask(&mut fake, &signed(&header, &later, "PEM1"), None)["authenticated"],
        true
    );
    let one = ask(&mut fake, &signed(&header, &later, "PEM1"), None);
    assert_eq!(one["reason"], "the assertion was used before");
    let one = ask(&mut fake, &signed(&header, &claims("switch"), "PEM1"), None);
    assert_eq!(one["reason"], "the assertion has expired");
    let kept = fake.store.0.keys();
    let kept = kept.filter(|(collection, _)| collection == "used-assertions");
    assert_eq!(kept.count(), 1);
}

#[test]
fn roles_of_a_program_are_those_that_it_was_given() {
    let (mut fake, key) = registered("application/app");
    let header = json!({ "alg": "ES256", "kid": key });
    for change in [
        r#"{"rolePrivileges":{"role":"client","grant":["settlements/list"]}}"#,
        r#"{"roleAssignment":{"subject":"application/app","add":["maker"]}}"#,
    ] {
        assert_eq!(fake.change(change).0, 200);
    }
    for (jti, privilege, may) in [
        ("a", "list", true),
        ("b", "settle", true),
        ("c", "fly", false),
    ] {
        let mut claims = claims("app");
        claims["jti"] = json!(jti);
        let said = ask(
            &mut fake,
            &signed(&header, &claims, "PEM1"),
            Some(privilege),
        );
        assert_eq!(said["authorized"], may, "{privilege}: {said}");
        assert_eq!(
            (&said["participant"], &said["roles"]),
            (&json!("green"), &json!(["client", "maker"]))
        );
    }
    for (token, privilege, proven, may) in [
        ("valid", "list", true, true),
        ("valid", "stop", true, true),
        ("valid", "fly", true, false),
        ("other", "list", false, false),
    ] {
        let body = json!({ "token": token, "privilege": { "component": "settlements", "name": privilege } });
        let (_, said) = fake.ask("switch", &["context"], "authorizeToken", &body.to_string());
        assert_eq!(
            (&said["authenticated"], &said["authorized"]),
            (&json!(proven), &json!(may)),
            "{said}"
        );
    }
}

#[test]
fn other_assertions_are_refused_with_their_reasons() {
    let (mut fake, key) = registered("application/app");
    let header = json!({ "alg": "ES256", "kid": key });
    let changed = |member: &str, value: Value| {
        let mut claims = claims("app");
        claims[member] = value;
        claims
    };
    let long = "j".repeat(129);
    for (header, claims, by, reason) in [
        (
            json!({ "alg": "none", "kid": key }),
            claims("app"),
            "PEM1",
            "the assertion is no JSON",
        ),
        (
            json!({ "alg": "HS256", "kid": key }),
            claims("app"),
            "PEM1",
            "the assertion is no JSON",
        ),
        (
            json!({ "alg": "RS256", "kid": key }),
            claims("app"),
            "PEM1",
            "the key is of another algorithm",
        ),
        (
            json!({ "alg": "ES256", "kid": key, "crit": ["x"] }),
            claims("app"),
            "PEM1",
            "the assertion needs extensions",
        ),
        (
            json!({ "alg": "ES256", "kid": "x" }),
            claims("app"),
            "PEM1",
            "no such key",
        ),
        (
            header.clone(),
            claims("app"),
            "PEM2",
            "the signature is not",
        ),
        (header.clone(), claims("other"), "PEM1", "`iss` and `sub`"),
        (
            header.clone(),
            changed("iss", json!("x")),
            "PEM1",
            "`iss` and `sub`",
        ),
        (
            header.clone(),
            changed("aud", json!("x")),
            "PEM1",
            "`aud` must",
        ),
        (
            header.clone(),
            changed("aud", json!(["x"])),
            "PEM1",
            "`aud` must",
        ),
        (
            header.clone(),
            changed("exp", json!(SECONDS - 30)),
            "PEM1",
            "the assertion has expired",
        ),
        (
            header.clone(),
            changed("exp", json!(SECONDS + 331)),
            "PEM1",
            "the assertion lasts longer",
        ),
        (
            header.clone(),
            changed("exp", json!(u64::MAX)),
            "PEM1",
            "the assertion lasts longer",
        ),
        (
            header.clone(),
            changed("nbf", json!(SECONDS + 31)),
            "PEM1",
            "the assertion is not valid yet",
        ),
        (
            header.clone(),
            changed("nbf", json!(u64::MAX)),
            "PEM1",
            "the assertion is not valid yet",
        ),
        (
            header.clone(),
            changed("jti", json!("")),
            "PEM1",
            "`jti` must",
        ),
        (
            header.clone(),
            changed("jti", json!(long)),
            "PEM1",
            "`jti` must",
        ),
        (
            header.clone(),
            json!({ "iss": "app" }),
            "PEM1",
            "the assertion is no JSON",
        ),
    ] {
        let said = ask(&mut fake, &signed(&header, &claims, by), None);
        assert_eq!(said["authenticated"], false, "{reason}");
        let found = said["reason"].as_str().unwrap();
        assert!(found.starts_with(reason), "{found} instead of {reason}");
    }
    for text in ["", "a", "a.b", "a.b.c", &"a.".repeat(3_000)] {
        assert_eq!(ask(&mut fake, text, None)["authenticated"], false);
    }
    // None of them was spent.
    let good = signed(&header, &claims("app"), "PEM1");
    fake.revoked.push("app");
    assert_eq!(
        ask(&mut fake, &good, None)["reason"],
        "the application is not active"
    );
    fake.revoked.clear();
    assert_eq!(ask(&mut fake, &good, None)["authenticated"], true);
    let mut claims = claims("app");
    claims["jti"] = json!("k");
    let next = signed(&header, &claims, "PEM1");
    assert_eq!(
        fake.ask("anna", &["maker"], &format!("revokePublicKey {key}"), "")
            .0,
        200
    );
    assert_eq!(ask(&mut fake, &next, None)["reason"], "the key was revoked");
    let told = fake.events.last().unwrap();
    assert_eq!(
        told.summary,
        format!("application/app loses the public key {key}")
    );
    assert_eq!(told.about, "key/application/app");
    // One operator was enough.
    assert_eq!(
        (told.maker.as_str(), told.checker.as_str()),
        ("anna", "anna")
    );
    let before = fake.events.len();
    assert_eq!(
        fake.ask("anna", &["maker"], &format!("revokePublicKey {key}"), "")
            .0,
        409
    );
    assert_eq!(fake.events.len(), before);
}

#[test]
fn times_of_an_assertion_may_have_a_fraction() {
    let (mut fake, key) = registered("context/switch");
    let header = json!({ "alg": "ES256", "kid": key });
    let with = |jti: &str, exp: &str, nbf: &str| {
        let claims = format!(
            r#"{{"iss":"switch","sub":"switch","aud":"scheme","jti":"{jti}","exp":{exp},"nbf":{nbf}}}"#
        );
        let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let header = part(&header.to_string());
        [header, part(&claims), part("signed by PEM1")].join(".")
    };
    for (jti, exp, ends) in [
        ("a", "1000060.5", NOW + 60_500),
        ("b", "1.0000605e6", NOW + 60_500),
        ("c", "1000060.0", NOW + 60_000),
    ] {
        let assertion = with(jti, exp, "999999.25");
        let said = ask(&mut fake, &assertion, None);
        assert_eq!(said["expiresAt"], ends, "{exp}: {said}");
        let again = ask(&mut fake, &assertion, None);
        assert_eq!(again["reason"], "the assertion was used before");
    }
    for (exp, nbf, reason) in [
        ("999969.999", "0", "the assertion has expired"),
        ("1000060", "1000030.001", "the assertion is not valid yet"),
        ("1000330.001", "0", "the assertion lasts longer"),
        ("-1.5", "0", "the assertion is no JSON"),
        ("1e300", "0", "the assertion is no JSON"),
        ("\"1000060\"", "0", "the assertion is no JSON"),
    ] {
        let said = ask(&mut fake, &with("d", exp, nbf), None);
        let found = said["reason"].as_str().unwrap();
        assert!(found.starts_with(reason), "{exp}: {found}");
    }
    let said = ask(&mut fake, &with("d", "1000330.0", "1000030.0"), None);
    assert_eq!(said["authenticated"], true, "{said}");
}

#[test]
fn key_proves_nothing_after_its_end() {
    let (mut fake, key) = registered("context/switch");
    let header = json!({ "alg": "ES256", "kid": key });
    fake.later = 1_000_001;
    let claims = json!({ "iss": "switch", "sub": "switch", "aud": "scheme", "jti": "k", "exp": SECONDS + 1_100 });
    assert_eq!(
        ask(&mut fake, &signed(&header, &claims, "PEM1"), None)["reason"],
        "the key has reached its end"
    );
}

#[test]
fn texts_are_of_whose_key_has_signed_them() {
    let (mut fake, key) = registered("context/switch");
    let signed = |id: &str, algorithm: &str, by: &str| Signed {
        key_id: id.to_owned(),
        algorithm: algorithm.to_owned(),
        message: b"text".to_vec(),
        signature: format!("signed by {by}").into_bytes(),
    };
    let good = signed(&key, "ES256", "PEM1");
    let verified = signatures::verify(&mut fake, &good);
    assert_eq!(verified.as_deref(), Ok("context/switch"));
    // As often as it is asked for.
    assert_eq!(signatures::verify(&mut fake, &good), verified);
    for (bad, reason) in [
        (signed("other", "ES256", "PEM1"), "no such key"),
        (signed("", "ES256", "PEM1"), "no such key"),
        (signed(&key, "RS256", "PEM1"), "another algorithm"),
        (signed(&key, "none", "PEM1"), "another algorithm"),
        (signed(&key, "ES256", "PEM2"), "not of this key"),
    ] {
        let refused = signatures::verify(&mut fake, &bad).unwrap_err();
        assert!(refused.contains(reason), "{refused}");
    }
    fake.later = 1_000_001;
    let late = signatures::verify(&mut fake, &good).unwrap_err();
    assert!(late.contains("reached its end"), "{late}");
}

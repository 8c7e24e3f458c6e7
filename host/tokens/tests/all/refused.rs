//! Tokens that are refused: forged, changed, of others, or out of their time.

use aws_lc_rs::hmac;
use aws_lc_rs::rsa::{KeyPair as RsaKeyPair, KeySize};
use aws_lc_rs::signature::RSA_PKCS1_SHA256;
use proptest::prelude::*;
use rialto_tokens::{BadRules, Client, Invalid, Rules, Thumbprint};
use serde_json::{Value, json};

use crate::issuer::{AUDIENCE, ISSUER, Issuer, KEY, NOW, encoded, header, pem};
use crate::{judged, verifier};

fn header_with(name: &str, value: Value) -> Value {
    let mut header = header();
    header[name] = value;
    header
}

#[test]
fn right_tokens_are_taken() {
    let issuer = Issuer::new();
    let claims = judged(&issuer, &issuer.token(&issuer.claims())).unwrap();
    assert_eq!((&*claims.client, &*claims.name), ("c-1", "alpha"));
    assert_eq!((claims.generation, claims.certificate), (3, None));
    for others in [
        &[("aud", json!([AUDIENCE]))][..],
        &[("aud", json!(["other", AUDIENCE]))],
        &[("nbf", Value::Null)],
        &[("iat", json!(NOW + 5)), ("nbf", json!(NOW + 5))],
        &[("exp", json!(NOW + 1))],
        &[("scope", json!({"a": [1, 2.5, null]}))],
    ] {
        let token = issuer.token(&issuer.claims_with(others));
        judged(&issuer, &token).unwrap_or_else(|error| panic!("{others:?}: {error}"));
    }
    for kind in ["AT+JWT", "application/at+jwt", "Application/At+Jwt"] {
        let token = issuer.token_with(&header_with("typ", json!(kind)), &issuer.claims());
        judged(&issuer, &token).unwrap();
    }
}

#[test]
fn other_algorithms_are_refused() {
    let issuer = Issuer::new();
    for algorithm in [
        "none", "None", "HS256", "RS256", "ES384", "es256", "EdDSA", "",
    ] {
        let token = issuer.token_with(&header_with("alg", json!(algorithm)), &issuer.claims());
        assert_eq!(
            judged(&issuer, &token),
            Err(Invalid::Algorithm),
            "{algorithm}"
        );
    }
    for algorithm in [Value::Null, json!(["ES256"]), json!(256)] {
        let token = issuer.token_with(&header_with("alg", algorithm), &issuer.claims());
        assert_eq!(judged(&issuer, &token), Err(Invalid::Algorithm));
    }
    // Without a signature, as `none` has it.
    let none = header_with("alg", json!("none")).to_string();
    let claims = issuer.claims().to_string();
    let message = format!(
        "{}.{}",
        encoded(none.as_bytes()),
        encoded(claims.as_bytes())
    );
    for token in [format!("{message}."), message.clone()] {
        assert!(judged(&issuer, &token).is_err());
    }
}

#[test]
fn public_key_is_no_secret_of_a_code() {
    let issuer = Issuer::new();
    for algorithm in ["HS256", "ES256"] {
        let header = header_with("alg", json!(algorithm)).to_string();
        let claims = issuer.claims().to_string();
        let message = format!(
            "{}.{}",
            encoded(header.as_bytes()),
            encoded(claims.as_bytes())
        );
        let key = hmac::Key::new(hmac::HMAC_SHA256, issuer.pem().as_bytes());
        let code = hmac::sign(&key, message.as_bytes());
        let twice = [code.as_ref(), code.as_ref()].concat();
        for signature in [code.as_ref(), &twice] {
            assert!(judged(&issuer, &format!("{message}.{}", encoded(signature))).is_err());
        }
    }
}

#[test]
fn rsa_signatures_are_refused() {
    let issuer = Issuer::new();
    let pair = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
    for algorithm in ["RS256", "ES256"] {
        let header = header_with("alg", json!(algorithm)).to_string();
        let claims = issuer.claims().to_string();
        let message = format!(
            "{}.{}",
            encoded(header.as_bytes()),
            encoded(claims.as_bytes())
        );
        let mut signature = vec![0; pair.public_modulus_len()];
        let random = aws_lc_rs::rand::SystemRandom::new();
        pair.sign(
            &RSA_PKCS1_SHA256,
            &random,
            message.as_bytes(),
            &mut signature,
        )
        .unwrap();
        assert!(judged(&issuer, &format!("{message}.{}", encoded(&signature))).is_err());
    }
}

#[test]
fn header_brings_no_key() {
    let (issuer, forger) = (Issuer::new(), Issuer::new());
    let key = json!({ "kty": "EC", "crv": "P-256", "x": "AA", "y": "AA" });
    for (name, value) in [
        ("jwk", key),
        ("jku", json!("https://forger.example/keys")),
        ("x5u", json!("https://forger.example/cert")),
        ("x5c", json!(["MII"])),
        ("crit", json!(["exp"])),
        ("b64", json!(false)),
        ("zip", json!("DEF")),
    ] {
        let header = header_with(name, value);
        for signer in [&issuer, &forger] {
            let token = signer.token_with(&header, &issuer.claims());
            assert!(judged(&issuer, &token).is_err(), "{name}");
        }
    }
}

#[test]
fn keys_of_others_sign_nothing() {
    let (issuer, forger) = (Issuer::new(), Issuer::new());
    let token = forger.token(&issuer.claims());
    assert_eq!(judged(&issuer, &token), Err(Invalid::Signature));
    let token = issuer.token_with(&header_with("kid", json!("key-2")), &issuer.claims());
    assert_eq!(judged(&issuer, &token), Err(Invalid::UnknownKey));
    for kid in [json!(""), json!(1), Value::Null] {
        let token = issuer.token_with(&header_with("kid", kid), &issuer.claims());
        assert!(matches!(
            judged(&issuer, &token),
            Err(Invalid::Malformed(_))
        ));
    }
    for kind in [json!("jwt"), json!("JWT"), json!(""), Value::Null] {
        let token = issuer.token_with(&header_with("typ", kind), &issuer.claims());
        assert_eq!(judged(&issuer, &token), Err(Invalid::Type));
    }
    // Without rules nobody's tokens are valid.
    let token = issuer.token(&issuer.claims());
    let without = rialto_tokens::Verifier::default().verify(&token, NOW);
    assert_eq!(without.unwrap_err(), Invalid::UnknownKey);
}

#[test]
fn each_claim_is_checked() {
    let issuer = Issuer::new();
    let outcome = |name: &str, value: Value| {
        judged(
            &issuer,
            &issuer.token(&issuer.claims_with(&[(name, value)])),
        )
        .unwrap_err()
    };
    for name in [
        "iss",
        "sub",
        "aud",
        "client_id",
        "jti",
        "iat",
        "exp",
        "generation",
    ] {
        for value in [Value::Null, json!(""), json!(true), json!({}), json!([])] {
            let outcome = outcome(name, value.clone());
            assert!(matches!(outcome, Invalid::Malformed(_)), "{name} {value}");
        }
    }
    for other in ["https://switch.example/", "HTTPS://switch.example", "x"] {
        assert_eq!(outcome("iss", json!(other)), Invalid::Issuer);
    }
    for other in [
        json!("other"),
        json!(["other"]),
        json!("demo2"),
        json!("Demo"),
    ] {
        assert_eq!(outcome("aud", other), Invalid::Audience);
    }
    for other in [
        json!([AUDIENCE, 1]),
        json!([AUDIENCE, ""]),
        json!({AUDIENCE: 1}),
    ] {
        assert!(matches!(outcome("aud", other), Invalid::Malformed(_)));
    }
    for expired in [0, NOW - 1, NOW] {
        assert_eq!(outcome("exp", json!(expired)), Invalid::Expired);
    }
    for far in [NOW + 6, u64::MAX] {
        assert_eq!(outcome("iat", json!(far)), Invalid::NotYetValid);
        assert_eq!(outcome("nbf", json!(far)), Invalid::NotYetValid);
    }
    for no_time in [json!(-1), json!(1.5), json!("1800000000"), json!([NOW])] {
        for name in ["iat", "nbf", "exp", "generation"] {
            let outcome = outcome(name, no_time.clone());
            assert!(matches!(outcome, Invalid::Malformed(_)), "{name} {no_time}");
        }
    }
    let cnf = |value: Value| outcome("cnf", value);
    for other in [
        json!({}),
        json!("x"),
        json!({"jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"}),
        json!({"x5t#S256": "short"}),
        json!({"x5t#S256": encoded(&[1; 31])}),
        json!({"x5t#S256": format!("{}=", encoded(&[1; 32]))}),
        json!({"x5t#S256": encoded(&[1; 32]), "jwk": {}}),
    ] {
        assert!(matches!(cnf(other), Invalid::Malformed(_)));
    }
}

#[test]
fn other_texts_are_no_tokens() {
    let issuer = Issuer::new();
    let right = issuer.token(&issuer.claims());
    let (message, signature) = right.rsplit_once('.').unwrap();
    let (head, claims) = message.split_once('.').unwrap();
    for text in [
        String::new(),
        ".".to_owned(),
        "..".to_owned(),
        message.to_owned(),
        format!("{right}."),
        format!("{right}.{signature}"),
        format!(".{right}"),
        format!(" {right}"),
        format!("{right}="),
        format!("{head}=.{claims}.{signature}"),
        format!("{head}.{claims}.{}", &signature[..85]),
        format!("{head}.{claims}.{signature}AA"),
        format!("{head}\n.{claims}.{signature}"),
        right.replace('.', ","),
    ] {
        assert!(judged(&issuer, &text).is_err(), "{text:?}");
    }
    // Bits of the last letter that stand for nothing.
    let last = signature.chars().last().unwrap();
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let place = letters.find(last).unwrap();
    assert_eq!(
        place % 16,
        0,
        "64 bytes leave four bits of the last letter unused"
    );
    for more in 1..16 {
        let other = letters.as_bytes()[place + more] as char;
        let changed = format!("{}{other}", &right[..right.len() - 1]);
        assert!(judged(&issuer, &changed).is_err());
    }
    let long = issuer.token(&issuer.claims_with(&[("scope", json!("x".repeat(4_096)))]));
    assert_eq!(judged(&issuer, &long), Err(Invalid::TooLong));
    // Members that stand twice.
    let claims = issuer.claims().to_string();
    let twice = claims.replacen('{', "{\"sub\":\"beta\",", 1);
    let token = issuer.token_of(header().to_string().as_bytes(), twice.as_bytes());
    assert!(matches!(
        judged(&issuer, &token),
        Err(Invalid::Malformed(_))
    ));
    let twice = header().to_string().replacen('{', "{\"alg\":\"none\",", 1);
    let token = issuer.token_of(twice.as_bytes(), claims.as_bytes());
    assert!(matches!(
        judged(&issuer, &token),
        Err(Invalid::Malformed(_))
    ));
}

#[test]
fn clients_state_and_certificate_are_checked() {
    let issuer = Issuer::new();
    let bound = json!({ "x5t#S256": encoded(&[7; 32]) });
    let bound = judged(
        &issuer,
        &issuer.token(&issuer.claims_with(&[("cnf", bound)])),
    )
    .unwrap();
    let free = judged(&issuer, &issuer.token(&issuer.claims())).unwrap();
    let client = |name: &str, generation| Client {
        name: name.into(),
        generation,
    };
    assert_eq!(free.check_client(Some(&client("alpha", 3))), Ok(()));
    assert_eq!(free.check_client(None), Err(Invalid::UnknownClient));
    for generation in [0, 2, 4, u64::MAX] {
        let outcome = free.check_client(Some(&client("alpha", generation)));
        assert_eq!(outcome, Err(Invalid::Revoked));
    }
    for name in ["beta", "Alpha", ""] {
        let outcome = free.check_client(Some(&client(name, 3)));
        assert_eq!(outcome, Err(Invalid::Name));
    }
    let (own, other) = (Thumbprint([7; 32]), Thumbprint([8; 32]));
    for must in [true, false] {
        assert_eq!(bound.check_certificate(Some(&own), must), Ok(()));
        for shown in [Some(&other), None] {
            let outcome = bound.check_certificate(shown, must);
            assert_eq!(outcome, Err(Invalid::OtherCertificate));
        }
    }
    assert_eq!(
        free.check_certificate(Some(&own), true),
        Err(Invalid::Unbound)
    );
    assert_eq!(free.check_certificate(None, true), Err(Invalid::Unbound));
    assert_eq!(free.check_certificate(None, false), Ok(()));
}

#[test]
fn unusable_rules_are_refused() {
    let issuer = Issuer::new();
    let rules = |keys: &[(&str, String)]| {
        let keys = keys.iter().map(|(id, pem)| (*id, pem));
        Rules::new(ISSUER, AUDIENCE, keys).err()
    };
    assert_eq!(rules(&[(KEY, issuer.pem())]), None);
    let twice = [(KEY, issuer.pem()), (KEY, Issuer::new().pem())];
    assert_eq!(rules(&twice), Some(BadRules::Twice(KEY.to_owned())));
    let bad = Some(BadRules::Key(KEY.to_owned()));
    let p384 = {
        use aws_lc_rs::encoding::{AsDer as _, PublicKeyX509Der};
        use aws_lc_rs::signature::{ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
        let pair = EcdsaKeyPair::generate(&ECDSA_P384_SHA384_FIXED_SIGNING).unwrap();
        let der: PublicKeyX509Der<'_> = pair.public_key().as_der().unwrap();
        pem(der.as_ref())
    };
    for text in [
        String::new(),
        p384,
        pem(&[4; 65]),
        issuer.pem().replace("PUBLIC", "PRIVATE"),
        format!("{}{}", issuer.pem(), issuer.pem()),
        issuer.pem()[..60].to_owned(),
    ] {
        assert_eq!(rules(&[(KEY, text.clone())]), bad, "{text}");
    }
    let empty = Rules::new("", AUDIENCE, [(KEY, issuer.pem())]).err();
    assert_eq!(empty, Some(BadRules::Empty));
}

#[test]
fn errors_have_no_part_of_the_token() {
    let issuer = Issuer::new();
    let right = issuer.token(&issuer.claims());
    let errors = [
        judged(&issuer, &right.replace('.', "!")).unwrap_err(),
        judged(&issuer, &Issuer::new().token(&issuer.claims())).unwrap_err(),
        judged(
            &issuer,
            &issuer.token(&issuer.claims_with(&[("exp", json!(1))])),
        )
        .unwrap_err(),
    ];
    let shown = format!("{errors:?} {:?}", verifier(&issuer));
    for part in right.split('.').chain(["alpha", "c-1", KEY]) {
        assert!(!shown.contains(part), "{shown}");
    }
    // RFC 6750, 3: an error_description has no quotation mark and no backslash.
    for error in errors {
        let fits = |c: char| (' '..='~').contains(&c) && c != '"' && c != '\\';
        assert!(error.to_string().chars().all(fits));
    }
}

#[test]
fn each_flipped_bit_is_refused() {
    let issuer = Issuer::new();
    let bound = json!({ "x5t#S256": encoded(&[7; 32]) });
    let right = issuer.token(&issuer.claims_with(&[("cnf", bound)]));
    let verifier = verifier(&issuer);
    verifier.verify(&right, NOW).unwrap();
    for byte in 0..right.len() {
        for bit in 0..8 {
            let mut changed = right.clone().into_bytes();
            changed[byte] ^= 1 << bit;
            // Of a header, other bytes than text reach nobody.
            let Ok(changed) = String::from_utf8(changed) else {
                continue;
            };
            assert!(
                verifier.verify(&changed, NOW).is_err(),
                "bit {bit} of byte {byte}"
            );
        }
    }
    verifier.verify(&right, NOW).unwrap();
}

proptest! {
    #[test]
    fn any_other_text_is_refused(at in 0_usize..600, cut in 0_usize..8, put in "[A-Za-z0-9_.=-]{0,8}") {
        let issuer = Issuer::new();
        let right = issuer.token(&issuer.claims());
        let at = at.min(right.len());
        let end = (at + cut).min(right.len());
        let changed = format!("{}{put}{}", &right[..at], &right[end..]);
        prop_assume!(changed != right);
        prop_assert!(judged(&issuer, &changed).is_err());
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC*", header in "\\PC{0,80}", claims in "\\PC{0,200}") {
        let issuer = Issuer::new();
        prop_assert!(judged(&issuer, &text).is_err());
        let signed = issuer.token_of(header.as_bytes(), claims.as_bytes());
        prop_assert!(judged(&issuer, &signed).is_err());
        let signed = issuer.token_of(self::header().to_string().as_bytes(), claims.as_bytes());
        prop_assert!(judged(&issuer, &signed).is_err());
    }
}

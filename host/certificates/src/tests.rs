//! Requests that openssl makes, attacks on them, and certificates from an authority whose key is elsewhere.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::time::Duration;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
    EcdsaSigningAlgorithm, RSA_PKCS1_SHA256, RsaKeyPair,
};
use rcgen::{
    CertificateParams, DnType, IsCa, KeyPair, PKCS_ECDSA_P384_SHA384, PKCS_ED25519,
    PublicKeyData as _,
};
use x509_parser::pem::parse_x509_pem;

use crate::*;

const DAY: u64 = 86_400;
const NOW: u64 = 1_800_000_000;
const LIFETIME: Duration = Duration::from_secs(90 * DAY);

fn subject(name: &str) -> Subject<'_> {
    Subject {
        name,
        serial: [0xff; 16],
        now: NOW,
    }
}

/// Signs as a provider of keys does.
fn sign(key: &KeyPair, algorithm: &'static EcdsaSigningAlgorithm, message: &[u8]) -> Vec<u8> {
    let pair = EcdsaKeyPair::from_pkcs8(algorithm, key.serialized_der()).unwrap();
    let signature = pair.sign(&SystemRandom::new(), message).unwrap();
    signature.as_ref().to_vec()
}

fn sign_p256(key: &KeyPair, message: &[u8]) -> Vec<u8> {
    sign(key, &ECDSA_P256_SHA256_FIXED_SIGNING, message)
}

/// An authority and its key.
fn authority() -> (Authority, KeyPair) {
    let key = KeyPair::generate().unwrap();
    let draft = Authority::begin(&key.public_key_pem(), &subject("an authority")).unwrap();
    let issued = draft.signed(&sign_p256(&key, draft.message())).unwrap();
    (Authority::read(&issued.certificate, LIFETIME).unwrap(), key)
}

/// A request of this name for an authority's certificate, which is more than anybody gets.
fn request(key: &KeyPair, name: &str) -> String {
    let mut params = CertificateParams::new(["another.example".to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.serialize_request(key).unwrap().pem().unwrap()
}

#[test]
fn certificate_has_the_approved_name_and_the_requests_key_alone() {
    let (authority, key) = authority();
    let own = KeyPair::generate().unwrap();
    let request = Request::read(&request(&own, "somebody else")).unwrap();
    assert_eq!(request.kind(), "P-256");
    let draft = authority.draft(&request, &subject("payerfsp")).unwrap();
    let issued = draft.signed(&sign_p256(&key, draft.message())).unwrap();
    assert_eq!(issued.serial, "7fffffffffffffffffffffffffffffff");
    assert_eq!(issued.not_after, NOW + 90 * DAY);
    let (_, pem) = parse_x509_pem(issued.certificate.as_bytes()).unwrap();
    let certificate = pem.parse_x509().unwrap();
    assert_eq!(certificate.subject().to_string(), "CN=payerfsp");
    assert_eq!(certificate.issuer().to_string(), "CN=an authority");
    assert_eq!(
        certificate.public_key().raw,
        own.subject_public_key_info().as_slice()
    );
    let basic = certificate.basic_constraints().unwrap().unwrap();
    assert!(!basic.value.ca);
    assert!(certificate.subject_alternative_name().unwrap().is_none());
    let usage = certificate.extended_key_usage().unwrap().unwrap().value;
    assert!(usage.client_auth && !usage.server_auth && !usage.any);
    let usage = certificate.key_usage().unwrap().unwrap().value;
    assert!(usage.digital_signature() && !usage.key_cert_sign());
    assert!(certificate.validity().not_before.timestamp() < NOW.cast_signed());
}

#[test]
fn authority_certifies_clients_and_no_authority() {
    let key = KeyPair::generate().unwrap();
    let draft = Authority::begin(&key.public_key_pem(), &subject("an authority")).unwrap();
    let issued = draft.signed(&sign_p256(&key, draft.message())).unwrap();
    let (_, pem) = parse_x509_pem(issued.certificate.as_bytes()).unwrap();
    let certificate = pem.parse_x509().unwrap();
    let basic = certificate.basic_constraints().unwrap().unwrap().value;
    assert_eq!((basic.ca, basic.path_len_constraint), (true, Some(0)));
    certificate.verify_signature(None).unwrap();
}

#[test]
fn keys_of_each_kind_get_certificates_from_authorities_of_each_kind() {
    let pairs = [
        KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384).unwrap(),
        rsa(2048),
    ];
    for own in &pairs {
        let request = Request::read(&request(own, "x")).unwrap();
        let (authority, key) = authority();
        let draft = authority.draft(&request, &subject("payerfsp")).unwrap();
        draft.signed(&sign_p256(&key, draft.message())).unwrap();
    }
    let p384 = &pairs[0];
    let draft = Authority::begin(&p384.public_key_pem(), &subject("P-384")).unwrap();
    let signature = sign(p384, &ECDSA_P384_SHA384_FIXED_SIGNING, draft.message());
    let issued = draft.signed(&signature).unwrap();
    Authority::read(&issued.certificate, LIFETIME).unwrap();
    let draft = Authority::begin(&pairs[1].public_key_pem(), &subject("RSA")).unwrap();
    let pair = RsaKeyPair::from_pkcs8(pairs[1].serialized_der()).unwrap();
    let mut signature = vec![0; pair.public_modulus_len()];
    let random = SystemRandom::new();
    pair.sign(&RSA_PKCS1_SHA256, &random, draft.message(), &mut signature)
        .unwrap();
    let issued = draft.signed(&signature).unwrap();
    Authority::read(&issued.certificate, LIFETIME).unwrap();
}

/// An RSA key of so many bits.
fn rsa(bits: usize) -> KeyPair {
    KeyPair::from_pem(&openssl(&["genrsa", &bits.to_string()], "")).unwrap()
}

/// What openssl prints.
fn openssl(arguments: &[&str], input: &str) -> String {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    let mut child = Command::new("openssl")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The outcome for a request that openssl makes with a key of its own.
fn outcome(key: &[&str]) -> Result<String, BadRequest> {
    let key = openssl(key, "");
    let request = openssl(
        &["req", "-new", "-key", "/dev/stdin", "-subj", "/CN=payerfsp"],
        &key,
    );
    Request::read(&request).map(|request| request.kind().to_owned())
}

#[test]
fn weak_and_unusual_keys_are_refused() {
    let curve = |name| ["ecparam", "-name", name, "-genkey", "-noout"];
    assert_eq!(outcome(&curve("prime256v1")).as_deref(), Ok("P-256"));
    assert_eq!(outcome(&curve("secp384r1")).as_deref(), Ok("P-384"));
    assert_eq!(outcome(&["genrsa", "2048"]).as_deref(), Ok("RSA 2048"));
    assert_eq!(outcome(&["genrsa", "1024"]), Err(BadRequest::RsaKey));
    assert_eq!(outcome(&["genrsa", "2047"]), Err(BadRequest::RsaKey));
    assert_eq!(outcome(&["genrsa", "4104"]), Err(BadRequest::RsaKey));
    assert_eq!(outcome(&["genrsa", "-3", "2048"]), Err(BadRequest::RsaKey));
    assert_eq!(outcome(&curve("secp521r1")), Err(BadRequest::Key));
    assert_eq!(outcome(&curve("secp256k1")), Err(BadRequest::Key));
    let ed25519 = KeyPair::generate_for(&PKCS_ED25519).unwrap();
    let outcome = Request::read(&request(&ed25519, "payerfsp"));
    assert_eq!(outcome.unwrap_err(), BadRequest::Key);
}

#[test]
fn request_that_its_key_has_not_signed_is_refused() {
    let (own, other) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let good = request(&own, "payerfsp");
    let (_, pem) = parse_x509_pem(good.as_bytes()).unwrap();
    let (_, others) = parse_x509_pem(request(&other, "payerfsp").as_bytes()).unwrap();
    let written = |der: &[u8]| {
        let text = data_encoding::BASE64.encode(der);
        format!("-----BEGIN CERTIFICATE REQUEST-----\n{text}\n-----END CERTIFICATE REQUEST-----\n")
    };
    let read = Request::read(&written(&pem.contents)).unwrap();
    // No byte can be changed so that it is a request for another key. What is not signed is the name of the algorithm.
    let mut accepted = 0;
    for place in 0..pem.contents.len() {
        let mut changed = pem.contents.clone();
        changed[place] ^= 1;
        if let Ok(changed) = Request::read(&written(&changed)) {
            assert_eq!(changed.fingerprint(), read.fingerprint(), "byte {place}");
            accepted += 1;
        }
    }
    assert!(accepted <= 2, "{accepted} bytes do not matter");
    // Another's key in place of its own.
    let find = |der: &[u8], part: &[u8]| der.windows(part.len()).position(|w| w == part).unwrap();
    let mut swapped = pem.contents.clone();
    let at = find(&swapped, own.der_bytes());
    swapped[at..at + own.der_bytes().len()].copy_from_slice(other.der_bytes());
    assert_ne!(others.contents, swapped);
    let outcome = Request::read(&written(&swapped));
    assert_eq!(outcome.unwrap_err(), BadRequest::Signature);
}

#[test]
fn what_is_no_request_is_refused() {
    let key = KeyPair::generate().unwrap();
    let good = request(&key, "payerfsp");
    let (authority, _) = authority();
    for bad in [
        String::new(),
        "nonsense".to_owned(),
        good.replace("CERTIFICATE REQUEST", "CERTIFICATE"),
        good.replace("CERTIFICATE REQUEST", "PRIVATE KEY"),
        key.serialize_pem(),
        key.public_key_pem(),
        good[..good.len() / 2].to_owned(),
        format!("{good}{good}"),
        format!("{good}{}", " x"),
        "-----BEGIN CERTIFICATE REQUEST-----\n\n-----END CERTIFICATE REQUEST-----\n".to_owned(),
        format!("{}{}", "\n".repeat(REQUEST_BYTES_MAX), good),
    ] {
        assert!(Request::read(&bad).is_err(), "{bad}");
    }
    let request = Request::read(&good).unwrap();
    for name in ["", "a\nb", "ä", &"x".repeat(65)] {
        let outcome = authority.draft(&request, &subject(name));
        assert_eq!(outcome.unwrap_err(), BadAuthority::Name, "{name}");
    }
}

#[test]
fn another_keys_signature_makes_no_certificate() {
    let (authority, _) = authority();
    let own = KeyPair::generate().unwrap();
    let request = Request::read(&request(&own, "x")).unwrap();
    let draft = authority.draft(&request, &subject("payerfsp")).unwrap();
    for signature in [sign_p256(&own, draft.message()), vec![0; 64], Vec::new()] {
        assert_eq!(draft.signed(&signature), Err(BadSignature));
    }
    // A client's certificate is no authority.
    let (authority, key) = self::authority();
    let draft = authority.draft(&request, &subject("payerfsp")).unwrap();
    let issued = draft.signed(&sign_p256(&key, draft.message())).unwrap();
    let outcome = Authority::read(&issued.certificate, LIFETIME);
    assert_eq!(outcome.unwrap_err(), BadAuthority::NoAuthority);
}

#[test]
fn certificates_end_with_their_authority() {
    let (authority, key) = authority();
    let own = KeyPair::generate().unwrap();
    let request = Request::read(&request(&own, "x")).unwrap();
    let at = |now| Subject {
        now,
        ..subject("payerfsp")
    };
    let end = NOW + 3_650 * DAY;
    let draft = authority.draft(&request, &at(end - DAY)).unwrap();
    let issued = draft.signed(&sign_p256(&key, draft.message())).unwrap();
    assert_eq!(issued.not_after, end);
    let outcome = authority.draft(&request, &at(end));
    assert_eq!(outcome.unwrap_err(), BadAuthority::Expired);
}

#[test]
fn own_request_has_its_names_uses_and_key() {
    let key = KeyPair::generate().unwrap();
    let names = ["hub.example", "*.hub.example", "192.0.2.1", "2001:db8::1"];
    let names = names.map(str::to_owned);
    let uses = Uses {
        server: true,
        client: false,
    };
    let order = OwnRequest::new(&key.subject_public_key_info(), &names, uses).unwrap();
    let text = order.signed(&sign_p256(&key, order.message())).unwrap();
    let said = openssl(&["req", "-noout", "-verify", "-text"], &text);
    for part in [
        "CN = hub.example",
        "DNS:hub.example, DNS:*.hub.example, IP Address:192.0.2.1, IP Address:2001:DB8:0:0:0:0:0:1",
        "Digital Signature",
        "TLS Web Server Authentication\n",
    ] {
        assert!(said.contains(part), "{said}");
    }
    let other = KeyPair::generate().unwrap();
    let signature = sign_p256(&other, order.message());
    assert_eq!(order.signed(&signature), Err(BadSignature));
    let cut = &sign_p256(&key, order.message())[1..];
    assert_eq!(order.signed(cut), Err(BadSignature));
    // A long name is no common name.
    let long = format!("{}.example", "a".repeat(60));
    let order = OwnRequest::new(&key.subject_public_key_info(), &[long], uses).unwrap();
    order.signed(&sign_p256(&key, order.message())).unwrap();
}

#[test]
fn names_that_are_none_are_in_no_request() {
    let long = "a".repeat(64);
    let longer = vec!["a"; 128].join(".");
    for name in [
        "",
        ".",
        "a..b",
        "a.",
        "two words",
        "-a",
        "a-",
        "a_b",
        "b\u{fc}cher",
        "*",
        "a.*.b",
        "*a.b",
        "1.2.3",
        "1.2.3.4.5",
        "256.1.1.1",
        "a\n",
        "a\0b",
        "https://a",
        "a:443",
        &long,
        &longer,
    ] {
        let refused = OwnRequest::check(&[name.to_owned()]);
        assert_eq!(refused, Err(BadName::Malformed(name.to_owned())), "{name}");
    }
    assert_eq!(OwnRequest::check(&[]), Err(BadName::Number));
    let many = vec!["a".to_owned(); NAMES_MAX + 1];
    assert_eq!(OwnRequest::check(&many), Err(BadName::Number));
    OwnRequest::check(&["localhost".to_owned(), "1a.example".to_owned()]).unwrap();
}

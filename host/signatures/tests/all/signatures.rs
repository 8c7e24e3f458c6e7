//! Signatures are compatible with another implementation's, and any change is refused.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::*;
use rialto_signatures::{
    Algorithm, Keyring, PrivateKey, PublicKey, PublicKeys, Signers, Verdict, jws,
};

const ALGORITHMS: [Algorithm; 4] = [
    Algorithm::Rs256,
    Algorithm::Rs384,
    Algorithm::Rs512,
    Algorithm::Es256,
];

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

fn text(name: &str) -> String {
    fs::read_to_string(vectors().join(name)).unwrap()
}

fn public(name: &str) -> Vec<PublicKey> {
    PublicKey::all_of_pem(&text(&format!("{name}.pub"))).unwrap()
}

fn private(name: &str) -> PrivateKey {
    PrivateKey::of_pem(&text(&format!("{name}.key"))).unwrap()
}

struct Vector {
    algorithm: Algorithm,
    key: String,
    header: String,
    signature: String,
}

fn signatures() -> Vec<Vector> {
    let of_line = |line: &str| {
        let parts: Vec<_> = line.split(' ').map(str::to_owned).collect();
        let [name, key, header, signature] = parts.try_into().unwrap();
        let algorithm = ALGORITHMS.into_iter().find(|a| a.name() == name).unwrap();
        Vector {
            algorithm,
            key,
            header,
            signature,
        }
    };
    text("signatures.txt").lines().map(of_line).collect()
}

#[test]
fn signatures_of_another_implementation_are_understood() {
    let payload = text("payload.json");
    let vectors = signatures();
    assert_eq!(vectors.len(), 4);
    for v in &vectors {
        let holds = |key: &str, algorithm, header: &str, payload: &str| {
            jws::verifies(
                &public(key),
                algorithm,
                header,
                payload.as_bytes(),
                &v.signature,
            )
        };
        assert!(holds(&v.key, v.algorithm, &v.header, &payload));
        assert!(!holds("rsa3072", v.algorithm, &v.header, &payload));
        assert!(!holds(
            &v.key,
            v.algorithm,
            &v.header,
            &format!("{payload} ")
        ));
        assert!(!holds(
            &v.key,
            v.algorithm,
            &format!("{}A", v.header),
            &payload
        ));
        for other in ALGORITHMS.into_iter().filter(|a| *a != v.algorithm) {
            assert!(!holds(&v.key, other, &v.header, &payload), "{other:?}");
        }
    }
}

#[test]
fn ours_are_as_theirs() {
    // PKCS #1 v1.5 has one signature for a message and a key.
    let members =
        r#"{"FSPIOP-URI":"/transfers/1","FSPIOP-HTTP-Method":"PUT","FSPIOP-Source":"payeefsp"}"#;
    let payload = text("payload.json");
    let signed = jws::sign(&private("rsa2048"), members, payload.as_bytes()).unwrap();
    let theirs = &signatures()[0];
    assert_eq!(signed.protected_header, theirs.header);
    assert_eq!(signed.signature, theirs.signature);
    // ECDSA has many: ours is one that holds.
    let signed = jws::sign(&private("p256"), members, payload.as_bytes()).unwrap();
    assert!(jws::verifies(
        &public("p256"),
        Algorithm::Es256,
        &signed.protected_header,
        payload.as_bytes(),
        &signed.signature
    ));
}

#[test]
fn a_header_that_names_its_algorithm_is_not_signed() {
    let sign = |members| jws::sign(&private("p256"), members, b"").map_err(|e| e.to_string());
    assert_eq!(
        sign(r#"{"alg":"none"}"#).unwrap_err(),
        "the members of the protected header name `alg`, which the key decides"
    );
    assert_eq!(
        sign("[]").unwrap_err(),
        "the members of the protected header are no JSON object"
    );
}

#[test]
fn keys_that_are_not_taken_say_what_to_do() {
    let refused = |name: &str| PublicKey::all_of_pem(&text(name)).unwrap_err().to_string();
    assert_eq!(
        refused("rsa1024.pub"),
        "an RSA key of 1024 bits; 2048 to 8192 are taken"
    );
    assert_eq!(
        refused("p384.pub"),
        "its bytes are no RSA key of at least 2048 bits and no key on the curve P-256"
    );
    assert_eq!(
        refused("certificate.pem"),
        "a block `CERTIFICATE` where `PUBLIC KEY` belongs; \
         `openssl x509 -in FILE -noout -pubkey` writes the public key of a certificate"
    );
    assert_eq!(
        refused("p256.key"),
        "a block `PRIVATE KEY` where `PUBLIC KEY` belongs; \
         `openssl pkey -in FILE -pubout` writes its public key"
    );
    let private = |text: &str| PrivateKey::of_pem(text).unwrap_err().to_string();
    assert_eq!(
        private(&text("p256.pub")),
        "a block `PUBLIC KEY` where `PRIVATE KEY` belongs"
    );
    let two = format!("{}{}", text("p256.key"), text("rsa2048.key"));
    assert_eq!(private(&two), "it has 2 blocks; a private key is one");
}

#[test]
fn a_private_key_does_not_show_itself() {
    assert_eq!(format!("{:?}", private("p256")), "PrivateKey(ES256)");
}

#[test]
fn keys_of_a_release_and_of_a_ring_count_together() {
    let ring = Arc::new(Keyring::default());
    let mut given = PublicKeys::default();
    given.add("payeefsp", public("rsa2048"));
    let signers = Signers::new(Arc::new(given), ring.clone());
    let payload = text("payload.json");
    let judge = |signer: &str, n: usize| {
        let v = &signatures()[n];
        signers.verify(
            signer,
            v.algorithm,
            &v.header,
            payload.as_bytes(),
            &v.signature,
        )
    };
    assert_eq!(judge("payeefsp", 0), Verdict::Valid);
    assert_eq!(judge("payeefsp", 3), Verdict::Invalid);
    assert_eq!(judge("payerfsp", 0), Verdict::NoKey);
    assert!(signers.has_key("payeefsp") && !signers.has_key("payerfsp"));
    assert!(!signers.has_own_key());
    assert_eq!(ring.sign("{}", b""), Ok(None));
    let mut more = PublicKeys::default();
    more.add("payeefsp", public("p256"));
    more.add("otherfsp", public("p256"));
    more.add("payerfsp", []);
    ring.set_public(more);
    let names = ["otherfsp", "payeefsp"].map(str::to_owned);
    assert_eq!(signers.names(), names.into());
    assert_eq!(judge("payeefsp", 0), Verdict::Valid);
    assert_eq!(judge("payeefsp", 3), Verdict::Valid);
    assert!(!signers.has_key("payerfsp"), "no keys are none");
    ring.set_own(private("p256"));
    assert!(signers.has_own_key());
    assert!(ring.sign("{}", b"").unwrap().is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// One octet of the payload, the header or the signature is another one: refused.
    #[test]
    fn any_changed_octet_is_refused(
        vector in 0..4_usize,
        part in 0..3_usize,
        at in any::<prop::sample::Index>(),
        with in 1..=255_u8,
    ) {
        let v = &signatures()[vector];
        let payload = text("payload.json");
        let mut parts = [
            payload.into_bytes(),
            v.header.clone().into_bytes(),
            v.signature.clone().into_bytes(),
        ];
        let place = at.index(parts[part].len());
        parts[part][place] ^= with;
        let [payload, header, signature] = parts;
        let header = String::from_utf8_lossy(&header);
        let signature = String::from_utf8_lossy(&signature);
        let keys = public(&v.key);
        prop_assert!(!jws::verifies(&keys, v.algorithm, &header, &payload, &signature));
    }

    /// As the bits of a signature are changed, not those of its text.
    #[test]
    fn any_changed_bit_of_a_signature_is_refused(
        vector in 0..4_usize,
        bit in any::<prop::sample::Index>(),
    ) {
        let v = &signatures()[vector];
        let mut signature = URL_SAFE_NO_PAD.decode(&v.signature).unwrap();
        let bit = bit.index(signature.len() * 8);
        signature[bit / 8] ^= 1 << (bit % 8);
        let signature = URL_SAFE_NO_PAD.encode(signature);
        let payload = text("payload.json");
        let keys = public(&v.key);
        prop_assert!(!jws::verifies(&keys, v.algorithm, &v.header, payload.as_bytes(), &signature));
    }

    /// Whatever is signed holds, and for nothing else.
    #[test]
    fn what_is_signed_holds(payload in ".*", other in ".*", rsa in any::<bool>()) {
        let name = if rsa { "rsa2048" } else { "p256" };
        let key = private(name);
        let signed = jws::sign(&key, r#"{"x":"y"}"#, payload.as_bytes()).unwrap();
        let holds = |payload: &str| {
            jws::verifies(
                &public(name),
                key.algorithm(),
                &signed.protected_header,
                payload.as_bytes(),
                &signed.signature,
            )
        };
        prop_assert!(holds(&payload));
        prop_assert_eq!(holds(&other), payload == other);
    }

    /// No text makes a reader of keys panic.
    #[test]
    fn any_text_is_keys_or_refused(text in "(-----(BEGIN|END) (PUBLIC|PRIVATE) KEY-----\n|[A-Za-z0-9+/=]{0,20}\n|.*){0,5}") {
        let _ = PublicKey::all_of_pem(&text);
        let _ = PrivateKey::of_pem(&text);
    }
}

//! Registrations of a participant that signs its messages.

use std::fs;

use http::{HeaderMap, Method};
use rialto_simulator::jws::{KeyKind, KeyPair, Signer};
use rialto_simulator::time::DateHeader;
use rialto_tests::TestScheme;
use serde_json::{Value, json};

use super::{ORIGIN, PARTY, Scene, headers, user};
use rialto_webauthn::authenticator::Authenticator;

const PATH: &str = "/app-fido-register";

/// A host that has a key of the payer FSP.
fn scene(payer: &KeyPair) -> Scene {
    let scheme = TestScheme::demo().unwrap();
    let keys = scheme.path().join("keys");
    fs::create_dir(&keys).unwrap();
    fs::write(keys.join("payerfsp.pem"), &payer.public).unwrap();
    let table = "[signatures]\nkeys = \"keys\"";
    scheme.add_host_settings(table).unwrap();
    Scene::of(scheme)
}

/// Headers of a message that the payer FSP has signed, with its `Date` under the signature or not.
fn signed(signer: &Signer, body: &Value, protects_date: bool) -> HeaderMap {
    let mut headers = headers("payerfsp");
    let body = body.to_string();
    let date = DateHeader::default().value();
    if protects_date {
        headers.insert("date", date);
        signer.sign(&Method::POST, PATH, &mut headers, body.as_bytes());
    } else {
        signer.sign(&Method::POST, PATH, &mut headers, body.as_bytes());
        headers.insert("date", date);
    }
    headers
}

#[tokio::test(flavor = "multi_thread")]
async fn registration_of_a_signer_is_signed_with_its_date() {
    let payer = KeyPair::generate(KeyKind::P256).unwrap();
    let signer = Signer::of_pem(&payer.private).unwrap();
    let scene = scene(&payer);
    let before = scene.kept().await;
    let words = |body: &Value| {
        let error = &body["errorInformation"];
        let text = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
        (text("errorCode"), text("errorDescription"))
    };
    // Unsigned, signed without its Date, and with a signature of another body.
    let another = json!({ "user": { "id": "bob", "name": "bob" } });
    for (headers, why) in [
        (headers("payerfsp"), "must sign"),
        (signed(&signer, &user(), false), "Date: must be protected"),
        (signed(&signer, &another, true), "does not fit any key"),
    ] {
        let (status, said) = scene.with_headers(headers, &user()).await;
        let (code, words) = words(&said);
        assert_eq!((status, code.as_str()), (400, "3105"), "{why}: {said}");
        assert!(words.contains(why), "{why}: {words}");
    }
    assert_eq!(scene.kept().await, before);
    // A valid signature begins, and another one finishes.
    let begin = signed(&signer, &user(), true);
    let (status, begun) = scene.with_headers(begin.clone(), &user()).await;
    assert_eq!(status, 201, "{begun}");
    // The same message is taken once.
    let (status, said) = scene.with_headers(begin, &user()).await;
    assert_eq!((status, words(&said).0.as_str()), (400, "3105"), "{said}");
    let mut device = Authenticator::new(1, PARTY, ORIGIN);
    let finish = json!({ "id": begun["id"], "credential": device.create(&begun["publicKey"]) });
    let (status, registered) = scene
        .with_headers(signed(&signer, &finish, true), &finish)
        .await;
    assert_eq!(
        (status, &registered["user"]),
        (200, &json!("alice")),
        "{registered}"
    );
}

//! Private keys of TLS in a token: made and certified by commands, used in handshakes, renewed while the host runs. The
//! token is SoftHSM behind a module that fails on request.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use rialto_simulator::client::HttpClient;
use rialto_simulator::pki::SchemePki;
use rialto_tests::scenes::committed;
use rialto_tests::waiting::until;
use rialto_tests::world::PAYER;
use rialto_tests::{TestScheme, World, WorldOptions};

use crate::cryptography::openssl;
use crate::key_tokens::FailingHsm;

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(30);
/// The certificate of all places, and the reference of its key.
const CERTIFICATE: &str = "tls/hub.pem";
const REFERENCE: &str = "tls/hub.reference";
/// The arguments of the command for it.
const ORDER: [&str; 6] = [
    "--listener",
    "fsps",
    "--name",
    "127.0.0.1",
    "--name",
    "localhost",
];

/// A scheme with TLS whose private key is to be in the token. There is neither key nor certificate yet.
fn scheme(hsm: &FailingHsm) -> (TestScheme, Arc<SchemePki>) {
    let scheme = hsm.scheme();
    let pki = scheme.secure().unwrap();
    let file = "key = \"tls/hub.key\"";
    let provider = format!("key-provider = {{ provider = \"hsm\", reference = \"{REFERENCE}\" }}");
    scheme.replace("rialto.toml", file, &provider).unwrap();
    for file in ["tls/hub.key", CERTIFICATE] {
        fs::remove_file(scheme.path().join(file)).unwrap();
    }
    (scheme, pki)
}

/// The request that `rialto tls-key` prints.
fn order(hsm: &FailingHsm, scheme: &TestScheme, more: &[&str]) -> String {
    let arguments = [&ORDER[..], more].concat();
    let output = hsm.rialto("tls-key", scheme.path(), &arguments);
    output.success().unwrap()
}

/// Have a request certified, and put the certificate into a file.
fn certify(scheme: &TestScheme, pki: &SchemePki, request: &str, file: &str) {
    let certificate = pki.authority.certify(request).unwrap();
    fs::write(scheme.path().join(file), certificate).unwrap();
}

/// What a client of its own asks the listener of participants; none if there is no connection.
async fn asks(client: &HttpClient, world: &World) -> Option<u16> {
    let uri = format!("{}/health", world.host.url("fsps").unwrap());
    let (uri, none) = (uri.parse().unwrap(), HeaderMap::new());
    let answer = client.send(Method::GET, uri, none, Bytes::new()).await;
    Some(answer.ok()?.status.as_u16())
}

/// A client without connections and sessions of before.
fn new_client(pki: &SchemePki) -> HttpClient {
    HttpClient::with_tls(SOON, pki.fsp(PAYER).unwrap().client().unwrap())
}

/// The certificate that the listener shows, as PEM.
fn shown(world: &World, folder: &Path) -> String {
    let address = world.host.url("fsps").unwrap();
    let address = address.strip_prefix("https://").unwrap();
    let asked = ["s_client", "-connect", address, "-CAfile", "tls/ca.pem"];
    let said = openssl(folder, &asked);
    let from = said.find("-----BEGIN").expect("a certificate");
    let end = "-----END CERTIFICATE-----\n";
    let to = said.find(end).unwrap() + end.len();
    said[from..to].to_owned()
}

/// Files that have a private key, in a folder and those in it.
fn private_keys(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(private_keys(&path));
        } else if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            let has_key = bytes.windows(11).any(|bytes| bytes == b"PRIVATE KEY");
            found.extend(has_key.then(|| path.display().to_string()));
        }
    }
    found
}

#[test]
fn host_needs_the_reference_and_the_certificate_of_its_key() {
    let hsm = FailingHsm::new();
    let (scheme, pki) = scheme(&hsm);
    let command = "tls-key";
    for output in [
        hsm.check(scheme.path()),
        hsm.rialto("serve", scheme.path(), &[]),
    ] {
        assert_ne!(output.code, 0, "{output}");
        let said = output.said();
        assert!(said.contains("--listener fsps --name HOST"), "{output}");
        assert!(said.contains(REFERENCE), "{output}");
    }
    // What makes nothing: names that are none, places without a key at a provider, and nothing to renew.
    for (arguments, reason) in [
        (
            &["--listener", "fsps", "--name", "two words"][..],
            "`two words`",
        ),
        (
            &["--listener", "operators", "--name", "a.example"],
            "has no certificate",
        ),
        (
            &["--destination", "https://a.example", "--name", "a.example"],
            "has no certificate",
        ),
        (
            &["--listener", "fsps", "--name", "a.example", "--renew"],
            "no key to renew",
        ),
    ] {
        let output = hsm.rialto(command, scheme.path(), arguments);
        assert_ne!(output.code, 0, "{output}");
        assert!(output.said().contains(reason), "{output}");
    }
    assert_eq!(hsm.counted("generated"), 0);
    // One key, however often it is asked for.
    let request = order(&hsm, &scheme, &[]);
    let again = order(&hsm, &scheme, &[]);
    assert_eq!(hsm.counted("generated"), 1);
    let reference = scheme.path().join(REFERENCE);
    let mode = fs::metadata(&reference).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for text in [&request, &again] {
        fs::write(scheme.path().join("tls/hub.csr"), text).unwrap();
        let asked = ["req", "-in", "tls/hub.csr", "-noout", "-verify", "-text"];
        let said = openssl(scheme.path(), &asked);
        for part in ["CN = 127.0.0.1", "IP Address:127.0.0.1, DNS:localhost"] {
            assert!(said.contains(part), "{said}");
        }
        // The listener and outbound requests have the same key.
        assert!(
            said.contains("TLS Web Server Authentication, TLS Web Client"),
            "{said}"
        );
    }
    let checked = || hsm.check(scheme.path());
    assert!(checked().said().contains(CERTIFICATE), "{}", checked());
    fs::write(scheme.path().join(CERTIFICATE), &pki.hub.certificate).unwrap();
    let output = checked();
    assert_eq!(output.code, 2, "{output}");
    assert!(
        output.said().contains("was issued for another key"),
        "{output}"
    );
    certify(&scheme, &pki, &request, CERTIFICATE);
    let output = checked();
    assert_eq!(output.code, 0, "{output}");
    // A key of something else is none of TLS.
    let kept = fs::read_to_string(&reference).unwrap();
    let hub = "hub-key-provider = { provider = \"hsm\", reference = \"tls/hub.reference\" }";
    let signatures = format!("\n[signatures]\n{hub}\n");
    scheme.add_host_settings(&signatures).unwrap();
    let output = checked();
    assert_eq!(output.code, 2, "{output}");
    assert!(
        output.said().contains("opens no key of the hub"),
        "{output}"
    );
    fs::write(&reference, kept.replace('A', "B")).unwrap();
    scheme.replace("rialto.toml", &signatures, "").unwrap();
    let output = checked();
    assert_eq!(output.code, 2, "{output}");
    assert!(
        output.said().contains("opens no private key of TLS"),
        "{output}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn handshakes_are_signed_by_a_token_and_fail_alone_while_it_is_away() {
    let hsm = FailingHsm::new();
    let (scheme, pki) = scheme(&hsm);
    certify(&scheme, &pki, &order(&hsm, &scheme, &[]), CERTIFICATE);
    let options = WorldOptions {
        pki: Some(pki.clone()),
        variables: hsm.variables(),
        ..WorldOptions::default()
    };
    let world = World::of(scheme, &options).await.unwrap();
    let folder = world.scheme.path();
    let file = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    // FSPs connect to the host, and the host shows them the same certificate.
    committed(&world.pay("12.5", "USD").await).unwrap();
    assert_eq!(shown(&world, folder), file(CERTIFICATE));
    let open = new_client(&pki);
    assert_eq!(asks(&open, &world).await, Some(200));
    hsm.ask_for("removed");
    assert_eq!(asks(&new_client(&pki), &world).await, None);
    assert_eq!(asks(&open, &world).await, Some(200));
    let log = world.host.log();
    assert!(log.contains("TLS handshakes fail"), "{log}");
    hsm.release("removed");
    until("handshakes work again", SOON, async || {
        let answer = asks(&new_client(&pki), &world).await;
        Ok((answer == Some(200))
            .then_some(())
            .ok_or(format!("{answer:?}")))
    })
    .await
    .unwrap();
    committed(&world.pay("1", "USD").await).unwrap();

    // Another key, while the host and its connections go on.
    let request = order(&hsm, &world.scheme, &["--renew"]);
    assert_eq!(hsm.counted("generated"), 2);
    certify(&world.scheme, &pki, &request, "tls/hub.pem.next");
    let next = file("tls/hub.pem.next");
    for name in [CERTIFICATE, REFERENCE] {
        let prepared = folder.join(format!("{name}.next"));
        fs::rename(prepared, folder.join(name)).unwrap();
    }
    until("the next certificate", SOON, async || {
        let shown = shown(&world, folder);
        Ok((shown == next).then_some(()).ok_or(shown))
    })
    .await
    .unwrap();
    assert_eq!(asks(&open, &world).await, Some(200));
    committed(&world.pay("2", "USD").await).unwrap();
    world.no_complaints().unwrap();
    assert_eq!(private_keys(folder), Vec::<String>::new());
    assert_eq!(private_keys(&world.scheme.state()), Vec::<String>::new());
}

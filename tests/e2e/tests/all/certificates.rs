//! Certificates that participants order through operators: a request by openssl, two operators, and a connection.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method};
use rialto_simulator::client::{BaseUrl, HttpClient};
use rialto_simulator::pki::SchemePki;
use rialto_simulator::tls::FspTls;
use rialto_tests::office::Office;
use rialto_tests::waiting::until;
use rialto_tests::world::{PAYEE, PAYER};
use rialto_tests::{CliOutput, TestScheme, World, WorldOptions, binaries};
use serde_json::{Value, json};

/// Longer than any answer takes.
const SOON: Duration = Duration::from_secs(15);
/// The operators, and the host's authority.
const TABLES: &str = "[operators.maya]\nroles = [\"reader\", \"maker\", \"checker\"]\n\n\
                      [operators.chris]\nroles = [\"reader\", \"maker\", \"checker\"]\n\n\
                      [certificates]\nprovider = \"software\"\nreference = \"secrets/authority.reference\"\n\
                      authority = \"tls/authority.pem\"\nlifetime = \"30 days\"\n";

async fn world() -> (World, Arc<SchemePki>, Office) {
    let scheme = TestScheme::demo().unwrap();
    let pki = scheme.secure().unwrap();
    scheme.add_host_settings(TABLES).unwrap();
    let options = WorldOptions {
        pki: Some(pki.clone()),
        ..WorldOptions::default()
    };
    let world = World::of(scheme, &options).await.unwrap();
    let office = Office::of(&world.scheme, &world.host, &["maya", "chris"]).unwrap();
    (world, pki, office)
}

fn openssl(folder: &Path, arguments: &[&str]) {
    let output = Command::new("openssl")
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
}

/// A request of this subject by openssl, with more that is asked for, and the private key.
pub fn requested(folder: &Path, subject: &str, more: &[&str]) -> (String, String) {
    let mut arguments = vec![
        "req",
        "-new",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-keyout",
        "own.key",
        "-out",
        "own.csr",
        "-subj",
        subject,
    ];
    arguments.extend(more);
    openssl(folder, &arguments);
    let read = |name| fs::read_to_string(folder.join(name)).unwrap();
    (read("own.csr"), read("own.key"))
}

/// The SHA-256 of the request's public key, as openssl and sha256sum see it.
pub fn fingerprint(folder: &Path) -> String {
    let pipe =
        "openssl req -in own.csr -noout -pubkey | openssl pkey -pubin -outform DER | sha256sum";
    let output = Command::new("sh")
        .args(["-c", pipe])
        .current_dir(folder)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().next().unwrap().to_owned()
}

fn orders(participant: &str) -> String {
    format!("/participants/{participant}/certificates")
}

fn order(request: &str) -> Value {
    json!({ "certificateRequest": request, "reason": "its first one" })
}

/// What a client with this certificate is answered when it asks for a party in this name; none without a connection.
async fn outcome(world: &World, tls: &FspTls, source: &str) -> Option<u16> {
    let http = HttpClient::with_tls(SOON, tls.client().unwrap());
    let hub: BaseUrl = world.host.url("fsps").unwrap().parse().unwrap();
    let mut headers = HeaderMap::new();
    let media = "application/vnd.interoperability.parties+json;version=1.1";
    for (name, value) in [
        ("accept", media),
        ("content-type", media),
        ("date", "Tue, 15 Nov 2044 08:12:31 GMT"),
        ("fspiop-source", source),
    ] {
        headers.insert(name, HeaderValue::from_str(value).unwrap());
    }
    let uri = hub.join("/parties/MSISDN/27710000000").unwrap();
    let answer = http.send(Method::GET, uri, headers, Bytes::new()).await;
    answer.ok().map(|answer| answer.status.as_u16())
}

#[tokio::test(flavor = "multi_thread")]
async fn ordered_certificate_speaks_for_its_participant_alone() {
    let (world, pki, office) = world().await;
    let folder = tempfile::tempdir().unwrap();
    // It asks to be another participant, and an authority.
    let more = ["-addext", "basicConstraints=critical,CA:TRUE"];
    let (_, key) = requested(folder.path(), &format!("/CN={PAYEE}"), &more);
    let path = orders(PAYER);
    let command = |words: &[&str]| world.host.cli(words).unwrap().success().unwrap();
    let file = folder.path().join("own.csr");
    let ask = ["participant", "order-certificate", PAYER];
    let why = ["--reason", "its first one", "--as", "maya"];
    let file = [file.to_str().unwrap()];
    let id = command(&[&ask[..], &file, &why].concat());
    let approval = format!("{path}/{}/approval", id.trim());
    // The checker sees by what to compare the key with the participant.
    let waiting = command(&["approve", "--as", "chris"]);
    let fingerprint = fingerprint(folder.path());
    assert!(
        waiting.contains(&format!("a P-256 key with the SHA-256 {fingerprint}")),
        "{waiting}"
    );
    let decision = json!({ "decision": "APPROVE" });
    let own = office.post("maya", &approval, &decision).await.unwrap();
    assert_eq!(own.problem(), "maker-is-checker", "{own:?}");
    assert_eq!(
        office.get("chris", &path).await.unwrap()["items"],
        json!([])
    );
    let said = office.post("chris", &approval, &decision).await.unwrap();
    assert_eq!(
        (said.status, &said.body["state"]),
        (200, &json!("APPROVED")),
        "{said:?}"
    );
    let again = office.post("chris", &approval, &decision).await.unwrap();
    assert_eq!(again.problem(), "already-decided", "{again:?}");
    let listed = office.get("chris", &path).await.unwrap();
    let issued = listed["items"][0]["certificate"].as_str().unwrap();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    // As openssl reads it.
    let file = folder.path().join("issued.pem");
    fs::write(&file, issued).unwrap();
    let authority = world.scheme.path().join("tls/authority.pem");
    let authority = authority.to_str().unwrap();
    openssl(
        folder.path(),
        &[
            "verify",
            "-purpose",
            "sslclient",
            "-CAfile",
            authority,
            "issued.pem",
        ],
    );
    let shown = Command::new("openssl")
        .args(["x509", "-noout", "-text", "-in"])
        .arg(&file)
        .output()
        .unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(
        shown.contains(&format!("Subject: CN = {PAYER}"))
            || shown.contains(&format!("Subject: CN={PAYER}")),
        "{shown}"
    );
    assert!(
        shown.contains("CA:FALSE") && !shown.contains(PAYEE),
        "{shown}"
    );
    // The operator has the listener trust the authority.
    let tls = FspTls {
        certificate: issued.to_owned(),
        key,
        ca: pki.authority.certificate(),
    };
    assert_eq!(outcome(&world, &tls, PAYER).await, None);
    let trusted = world.scheme.tls_file("ca.pem");
    let both = fs::read_to_string(&trusted).unwrap() + &fs::read_to_string(authority).unwrap();
    fs::write(&trusted, both).unwrap();
    until("the authority is trusted", SOON, async || {
        let outcome = outcome(&world, &tls, PAYER).await;
        Ok(if outcome == Some(202) {
            Ok(())
        } else {
            Err(format!("{outcome:?}"))
        })
    })
    .await
    .unwrap();
    assert_eq!(outcome(&world, &tls, PAYEE).await, Some(400));
    // A lost certificate is revoked by one operator; another one of the same participant goes on.
    let serial = listed["items"][0]["serial"].as_str().unwrap();
    let shown = command(&["participant", "certificates", PAYER, "--as", "chris"]);
    assert!(
        shown.contains(serial) && !shown.contains("REVOKED"),
        "{shown}"
    );
    let revoke = ["participant", "revoke-certificate", PAYER, serial];
    let why = ["--reason", "its key was stolen", "--as", "maya"];
    let said = command(&[&revoke[..], &why].concat());
    assert!(said.contains("is revoked"), "{said}");
    let shown = command(&["participant", "certificates", PAYER, "--as", "chris"]);
    assert!(shown.contains("by maya: its key was stolen"), "{shown}");
    until("the certificate is refused", SOON, async || {
        let outcome = outcome(&world, &tls, PAYER).await;
        Ok(if outcome == Some(401) {
            Ok(())
        } else {
            Err(format!("{outcome:?}"))
        })
    })
    .await
    .unwrap();
    let other = pki.fsp(PAYER).unwrap();
    assert_eq!(outcome(&world, &other, PAYER).await, Some(202));
    let log = world.host.log();
    assert!(!log.contains("PRIVATE KEY"), "{log}");
    world.host.nothing_failed().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_certificate_requests_change_nothing() {
    let (mut world, _, office) = world().await;
    let folder = tempfile::tempdir().unwrap();
    let (good, _) = requested(folder.path(), "/CN=x", &[]);
    let (other, _) = requested(folder.path(), "/CN=y", &[]);
    // The beginning of one, and the signature of another one.
    let (middle, whole) = (good.len() / 2, good.len());
    let mixed = format!(
        "{}{}",
        &good[..middle],
        &other[other.len() - (whole - middle)..]
    );
    openssl(
        folder.path(),
        &[
            "req", "-new", "-newkey", "rsa:1024", "-nodes", "-keyout", "w.key", "-out", "w.csr",
            "-subj", "/CN=x",
        ],
    );
    let weak = fs::read_to_string(folder.path().join("w.csr")).unwrap();
    for (request, problem) in [
        (mixed, "certificate-request-invalid"),
        (weak, "certificate-request-invalid"),
        ("nonsense".to_owned(), "certificate-request-invalid"),
        (format!("{good}{other}"), "certificate-request-invalid"),
        ("x".repeat(16_385), "malformed"),
        (String::new(), "malformed"),
    ] {
        let said = office
            .post("maya", &orders(PAYER), &order(&request))
            .await
            .unwrap();
        assert_eq!(said.problem(), problem, "{request}: {said:?}");
    }
    let waiting = office.get("chris", "/certificates/pending").await.unwrap();
    assert_eq!(waiting["items"], json!([]));
    // What `rialto check` says of the authority while its reference is there, and of one without.
    let check = |world: &World| {
        let rialto = binaries::rialto().unwrap();
        CliOutput::of(rialto, |c| {
            c.arg("check").arg(world.scheme.path());
        })
        .unwrap()
    };
    check(&world).success().unwrap();
    let reference = world.scheme.path().join("secrets/authority.reference");
    let kept = fs::read_to_string(&reference).unwrap();
    fs::write(&reference, "another\n").unwrap();
    let refused = check(&world);
    assert_eq!(refused.code, 2, "{refused}");
    assert!(
        refused.said().contains("opens no key of the host"),
        "{refused}"
    );
    fs::remove_file(&reference).unwrap();
    let refused = check(&world);
    assert_eq!(refused.code, 2, "{refused}");
    assert!(
        refused.said().contains("restore that from a backup"),
        "{refused}"
    );
    fs::write(&reference, kept).unwrap();
    // The authority is the same after a restart.
    let authority = world.scheme.path().join("tls/authority.pem");
    let before = fs::read_to_string(&authority).unwrap();
    world.host.kill().unwrap();
    world.host.restart().unwrap();
    assert_eq!(fs::read_to_string(&authority).unwrap(), before);
    let office = Office::of(&world.scheme, &world.host, &["maya", "chris"]).unwrap();
    let said = office
        .post("maya", &orders(PAYER), &order(&good))
        .await
        .unwrap();
    assert_eq!(said.status, 201, "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn host_without_an_authority_issues_nothing() {
    let scheme = TestScheme::demo().unwrap();
    scheme.add_operators(World::APPLICANTS).unwrap();
    let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    let office = Office::of(&world.scheme, &world.host, &["maya"]).unwrap();
    let said = office
        .post("maya", &orders(PAYER), &order("x"))
        .await
        .unwrap();
    assert_eq!(said.problem(), "authority-not-set", "{said:?}");
}

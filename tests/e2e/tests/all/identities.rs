//! Who a client is: certificates of participants, and what is refused without one or with a wrong one.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method};
use rialto_simulator::PaymentRequest;
use rialto_simulator::client::{Answer, BaseUrl, HttpClient, SendError};
use rialto_simulator::fsp::Step;
use rialto_simulator::pki::{Authority, Issued, SchemePki, Special, write_private};
use rialto_simulator::tls::FspTls;
use rialto_tests::offers::digest;
use rialto_tests::office::{OFFICE, Office};
use rialto_tests::scenes::committed;
use rialto_tests::waiting::until;
use rialto_tests::world::{PAYEE, PAYER};
use rialto_tests::{TestScheme, World, WorldOptions, audited, catalogue};
use serde_json::{Value, json};

/// Longer than any answer takes.
const SOON: Duration = Duration::from_secs(15);
/// How often the certificates are renewed under load.
const RENEWALS: usize = 3;

/// A client of the participants' listener.
struct Client {
    http: HttpClient,
    hub: BaseUrl,
}

impl Client {
    fn of(world: &World, tls: &FspTls) -> Self {
        Self {
            http: HttpClient::with_tls(SOON, tls.client().unwrap()),
            hub: world.host.url("fsps").unwrap().parse().unwrap(),
        }
    }

    /// Ask for a party in the name of a participant.
    async fn ask(&self, source: &str) -> Result<Answer, SendError> {
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
        let uri = self.hub.join("/parties/MSISDN/27710000000").unwrap();
        self.http
            .send(Method::GET, uri, headers, Bytes::new())
            .await
    }

    /// The status and the error code for a message in the name of a participant; none if there is no connection.
    async fn outcome(&self, source: &str) -> Option<(u16, String)> {
        let answer = self.ask(source).await.ok()?;
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let code = &body["errorInformation"]["errorCode"];
        Some((
            answer.status.as_u16(),
            code.as_str().unwrap_or_default().to_owned(),
        ))
    }
}

fn accepted() -> Option<(u16, String)> {
    Some((202, String::new()))
}

fn refused(status: u16, code: &str) -> Option<(u16, String)> {
    Some((status, code.to_owned()))
}

/// The TLS of a client without a certificate of its own: one that its server does not ask for.
fn nameless(pki: &SchemePki) -> HttpClient {
    let stranger = Authority::new("nobody").unwrap();
    let issued = stranger.issue("nobody").unwrap();
    let tls = FspTls {
        ca: pki.authority.certificate(),
        ..stranger.fsp(&issued)
    };
    HttpClient::with_tls(SOON, tls.client_without_certificate().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn payments_over_mutual_tls_are_committed() {
    let (world, _pki) = World::secure().await.unwrap();
    committed(&world.pay("12.5", "USD").await).unwrap();
    committed(&world.pay("3", "RWF").await).unwrap();
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    world.no_complaints().unwrap();
    let log = world.host.log();
    assert!(!log.contains("SANDBOX"), "{log}");
    assert!(!log.contains("PRIVATE KEY"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_participants_own_certificate_speaks_for_it() {
    let (world, pki) = World::secure().await.unwrap();
    let own = |issued: &Issued| pki.authority.fsp(issued);
    let payer = Client::of(&world, &pki.fsp(PAYER).unwrap());
    assert_eq!(payer.outcome(PAYER).await, accepted());
    // Another's name, and that of nobody.
    assert_eq!(payer.outcome(PAYEE).await, refused(400, "3100"));
    assert_eq!(payer.outcome("PAYERFSP").await, refused(400, "3100"));
    // Without a certificate: the API's own words, and the challenge that HTTP asks for.
    let without = Client {
        http: nameless(&pki),
        hub: world.host.url("fsps").unwrap().parse().unwrap(),
    };
    assert_eq!(without.outcome(PAYER).await, refused(401, "3102"));
    let answer = without.ask(PAYER).await.unwrap();
    assert!(
        answer.headers.contains_key("www-authenticate"),
        "{answer:?}"
    );
    // One that is certified, and no participant.
    let other = pki.authority.issue("otherfsp").unwrap();
    let other = Client::of(&world, &own(&other));
    assert_eq!(other.outcome("otherfsp").await, refused(400, "3200"));
    // Two names are none.
    let special = Special {
        second_name: Some(PAYEE.to_owned()),
        ..Special::default()
    };
    let two = pki.authority.issue_special(PAYER, &special).unwrap();
    let two = Client::of(&world, &own(&two));
    assert_eq!(two.outcome(PAYER).await, refused(401, "3102"));
    assert_eq!(two.outcome(PAYEE).await, refused(401, "3102"));
    // Expired, and from an authority of its own: there is no connection.
    let special = Special {
        expired: true,
        ..Special::default()
    };
    let expired = pki.authority.issue_special(PAYER, &special).unwrap();
    assert_eq!(
        Client::of(&world, &own(&expired)).outcome(PAYER).await,
        None
    );
    let stranger = Authority::new("an authority for tests").unwrap();
    let forged = FspTls {
        ca: pki.authority.certificate(),
        ..stranger.fsp(&stranger.issue(PAYER).unwrap())
    };
    assert_eq!(Client::of(&world, &forged).outcome(PAYER).await, None);
    // Documents and health are for everybody.
    let uri = without.hub.join("/health").unwrap();
    let health = without
        .http
        .send(Method::GET, uri, HeaderMap::new(), Bytes::new());
    assert_eq!(health.await.unwrap().status, 200);
    // Plaintext is answered by nothing.
    let plain = world.host.url("fsps").unwrap().replace("https", "http");
    let plain = Client {
        http: HttpClient::new(SOON),
        hub: plain.parse().unwrap(),
    };
    assert_eq!(plain.outcome(PAYER).await, None);
    // Nothing of all that has changed anything.
    committed(&world.pay("1", "USD").await).unwrap();
    world.host.nothing_failed().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn certificate_revoked_on_an_open_connection_ends_there() {
    let (world, pki) = World::secure().await.unwrap();
    let payer = Client::of(&world, &pki.fsp(PAYER).unwrap());
    let payee = Client::of(&world, &pki.fsp(PAYEE).unwrap());
    assert_eq!(payer.outcome(PAYER).await, accepted());
    assert_eq!(payee.outcome(PAYEE).await, accepted());
    let serial = pki.participants[PAYER].serial;
    world.scheme.revoke(&pki, &[serial]).unwrap();
    until("the certificate is revoked", SOON, async || {
        let outcome = payer.outcome(PAYER).await;
        Ok(if outcome == refused(401, "3102") {
            Ok(())
        } else {
            Err(format!("{outcome:?}"))
        })
    })
    .await
    .unwrap();
    assert_eq!(payee.outcome(PAYEE).await, accepted());
    // Nor can it connect again.
    let again = Client::of(&world, &pki.fsp(PAYER).unwrap());
    assert_eq!(again.outcome(PAYER).await, None);
    // With a new certificate it can, and the old one stays revoked.
    let new = pki.authority.issue(PAYER).unwrap();
    let new = Client::of(&world, &pki.authority.fsp(&new));
    assert_eq!(new.outcome(PAYER).await, accepted());
    // If the connection has been idle for too long meanwhile, there is no other one with the old certificate.
    let old = payer.outcome(PAYER).await;
    assert!(old.is_none() || old == refused(401, "3102"), "{old:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn certificate_is_renewed_without_a_lost_request() {
    let (world, pki) = World::secure().await.unwrap();
    let payer = Client::of(&world, &pki.fsp(PAYER).unwrap());
    assert_eq!(payer.outcome(PAYER).await, accepted());
    // A damaged one is not taken, and the old one stays.
    write_private(&world.scheme.tls_file("hub.pem"), "nonsense").unwrap();
    until("the damaged certificate is seen", SOON, async || {
        let log = world.host.log();
        Ok(if log.contains("cannot be used") {
            Ok(())
        } else {
            Err(log)
        })
    })
    .await
    .unwrap();
    let fresh = Client::of(&world, &pki.fsp(PAYER).unwrap());
    assert_eq!(fresh.outcome(PAYER).await, accepted());
    // A new one with a new key; both files change, one after the other.
    let hub = pki.authority.issue("hub").unwrap();
    write_private(&world.scheme.tls_file("hub.key"), &hub.key).unwrap();
    write_private(&world.scheme.tls_file("hub.pem"), &hub.certificate).unwrap();
    until("the new certificate is read", SOON, async || {
        let log = world.host.log();
        Ok(if log.contains("TLS files were read again") {
            Ok(())
        } else {
            Err(log)
        })
    })
    .await
    .unwrap();
    // The open connection goes on, and a new one meets the new certificate.
    assert_eq!(payer.outcome(PAYER).await, accepted());
    let again = Client::of(&world, &pki.fsp(PAYER).unwrap());
    assert_eq!(again.outcome(PAYER).await, accepted());
    committed(&world.pay("1", "USD").await).unwrap();

    // The audit log tells of each change, and has no word of the private key.
    let office = Office::of(&world.scheme, &world.host, &[]).unwrap();
    let new = digest(&world.scheme.tls_file("hub.pem")).unwrap();
    let new = new.replace("sha256:", "hub.pem with SHA-256 ");
    let key = digest(&world.scheme.tls_file("hub.key")).unwrap();
    let key = key.replace("sha256:", "");
    let query = json!({ "action": "tls-files", "about": "listener fsps" });
    until("the entries of the changes", SOON, async || {
        let entries = audited::entries(&office, query.clone()).await?;
        let reason = |entry: &Value| entry["details"]["reason"].to_string();
        let has = |outcome: &str, text: &str| {
            let mut of = entries.iter().filter(|entry| entry["outcome"] == outcome);
            of.any(|entry| reason(entry).contains(text))
        };
        assert!(!entries.iter().any(|entry| reason(entry).contains(&key)));
        let is_there = has("refused", "the previous files stay in use") && has("done", &new);
        Ok(is_there.then_some(()).ok_or(format!("{entries:#?}")))
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_are_renewed_under_load_and_every_payment_ends() {
    let (world, pki) = World::secure().await.unwrap();
    let request = PaymentRequest::new(world.party(PAYEE).clone(), "1", "USD");
    let stop = Arc::new(AtomicBool::new(false));
    let (payer, stopped) = (world.payer().clone(), stop.clone());
    let load = tokio::spawn(async move {
        let mut outcomes = Vec::new();
        while !stopped.load(Ordering::Relaxed) {
            outcomes.push(payer.pay(&request).await);
        }
        outcomes
    });
    for renewed in 1..=RENEWALS {
        let hub = pki.authority.issue("hub").unwrap();
        write_private(&world.scheme.tls_file("hub.key"), &hub.key).unwrap();
        write_private(&world.scheme.tls_file("hub.pem"), &hub.certificate).unwrap();
        until("the files are read", SOON, async || {
            let log = world.host.log();
            let both = [
                "a listener's TLS files were read",
                "TLS files of outbound requests were",
            ];
            let is_read = both.iter().all(|text| log.matches(text).count() >= renewed);
            Ok(is_read.then_some(()).ok_or(log))
        })
        .await
        .unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    let outcomes = load.await.unwrap();
    assert!(!outcomes.is_empty());
    for outcome in &outcomes {
        committed(outcome).unwrap();
    }
    world.host.nothing_failed().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn certificate_that_expires_soon_is_told_while_it_is_in_use() {
    let scheme = TestScheme::demo().unwrap();
    let pki = scheme.secure().unwrap();
    let soon = Special {
        days: Some(10),
        ..Special::default()
    };
    let hub = pki.authority.issue_special("hub", &soon).unwrap();
    write_private(&scheme.tls_file("hub.key"), &hub.key).unwrap();
    write_private(&scheme.tls_file("hub.pem"), &hub.certificate).unwrap();
    let options = WorldOptions {
        pki: Some(pki.clone()),
        ..WorldOptions::default()
    };
    let world = World::of(scheme, &options).await.unwrap();
    until("the warning", SOON, async || {
        let log = world.host.log();
        let of_hub = |line: &str| line.contains("expires soon") && line.contains("hub.pem");
        let days = |line: &str| line.contains("\"days\":9") || line.contains("days=9");
        let is_there = log.lines().any(|line| of_hub(line) && days(line));
        Ok(is_there.then_some(()).ok_or(log))
    })
    .await
    .unwrap();
    committed(&world.pay("1", "USD").await).unwrap();
    // Nobody is warned of those that are valid for years.
    let log = world.host.log();
    assert!(
        !log.lines()
            .any(|line| line.contains("expires soon") && line.contains("ca.pem"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn new_tls_files_are_taken_at_once_on_request() {
    let (world, pki) = World::secure().await.unwrap();
    let office = Office::of(&world.scheme, &world.host, &[]).unwrap();
    let payer = Client::of(&world, &pki.fsp(PAYER).unwrap());
    assert_eq!(payer.outcome(PAYER).await, accepted());
    let read_again = async || {
        let said = office.post(OFFICE, "/ssl-terminate", &json!({})).await;
        let said = said.unwrap();
        assert_eq!(said.status, 200, "{said:?}");
        let readings = said.body["readings"].as_array().unwrap().clone();
        let fsps = readings
            .iter()
            .find(|reading| reading["place"] == "listener fsps")
            .unwrap();
        fsps["isUsable"].as_bool().unwrap()
    };
    // A damaged file is told, and the one before stays.
    write_private(&world.scheme.tls_file("hub.pem"), "nonsense").unwrap();
    assert!(!read_again().await);
    let fresh = Client::of(&world, &pki.fsp(PAYER).unwrap());
    assert_eq!(fresh.outcome(PAYER).await, accepted());
    let hub = pki.authority.issue("hub").unwrap();
    write_private(&world.scheme.tls_file("hub.key"), &hub.key).unwrap();
    write_private(&world.scheme.tls_file("hub.pem"), &hub.certificate).unwrap();
    // A revocation holds from the answer on, also for a connection that is open.
    let serial = pki.participants[PAYER].serial;
    world.scheme.revoke(&pki, &[serial]).unwrap();
    assert!(read_again().await);
    assert_eq!(payer.outcome(PAYER).await, refused(401, "3102"));
    let shown = office.get(OFFICE, "/ssl-terminate").await.unwrap();
    let files = shown["files"].as_array().unwrap();
    for kind in ["certificate", "authority", "revocations"] {
        let is_it = |file: &&Value| file["place"] == "listener fsps" && file["kind"] == kind;
        let file = files.iter().find(is_it).unwrap();
        assert!(file["expiresAt"].is_u64(), "{file}");
        assert_ne!(file["state"], "EXPIRED", "{file}");
    }
    assert!(!shown.to_string().contains(".pem"), "no paths: {shown}");
    catalogue::seen("identities/tls", ["C-ssl-terminate"].into_iter()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn destination_with_its_own_authority_is_called_and_no_other_is_believed_there() {
    let scheme = TestScheme::demo().unwrap();
    let mut pki = Arc::into_inner(scheme.secure().unwrap()).unwrap();
    let own = Authority::new("the payee's own authority").unwrap();
    // The payee serves and calls with a certificate of its own authority.
    let (name, issued) = (PAYEE.to_owned(), own.issue(PAYEE).unwrap());
    pki.participants.insert(name, issued);
    let (pki, file) = (Arc::new(pki), scheme.tls_file("destination-ca.pem"));
    for file in [&file, &scheme.tls_file("payee-ca.pem")] {
        write_private(file, &own.certificate()).unwrap();
    }
    let port = scheme.callbacks()[PAYEE];
    let settings = format!(
        "[listeners.fsps.tls.participants.payeefsp]\nclient-ca = \"tls/payee-ca.pem\"\n\n\
         [[outbound.tls.destinations]]\norigin = \"https://127.0.0.1:{port}\"\nca = \"tls/destination-ca.pem\"\n\
         certificate = \"tls/hub.pem\"\nkey = \"tls/hub.key\"\n"
    );
    scheme.add_host_settings(&settings).unwrap();
    let options = WorldOptions {
        pki: Some(pki.clone()),
        callback_timeout: Duration::from_secs(5),
        ..WorldOptions::default()
    };
    let world = World::of(scheme, &options).await.unwrap();
    committed(&world.pay("1", "USD").await).unwrap();
    // The file is read again while the host runs. Whoever has only the usual authority's word is not called.
    write_private(&file, &pki.authority.certificate()).unwrap();
    until("the new authority is read", SOON, async || {
        let log = world.host.log();
        let is_read = log.contains("TLS files of outbound requests were read again");
        Ok(is_read.then_some(()).ok_or(log))
    })
    .await
    .unwrap();
    let failed = world.pay("1", "USD").await;
    assert!(!failed.is_committed(), "{failed:?}");
    assert_eq!(failed.failure.as_ref().unwrap().step, Step::Lookup);
    let deliveries = world.host.cli(&["deliveries", "--to", PAYEE]).unwrap();
    assert!(
        deliveries.stdout.contains("UnknownIssuer"),
        "{failed:?} {deliveries}"
    );
    write_private(&file, &own.certificate()).unwrap();
    until("payments again", SOON, async || {
        let outcome = world.pay("1", "USD").await;
        Ok(outcome
            .is_committed()
            .then_some(())
            .ok_or(format!("{outcome:?}")))
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn participants_own_authority_speaks_for_it_alone() {
    let scheme = TestScheme::demo().unwrap();
    let pki = scheme.secure().unwrap();
    let own = Authority::new("the payee's own authority").unwrap();
    write_private(&scheme.tls_file("payee-ca.pem"), &own.certificate()).unwrap();
    scheme
        .add_host_settings(
            "[listeners.fsps.tls.participants.payeefsp]\nclient-ca = \"tls/payee-ca.pem\"\n",
        )
        .unwrap();
    let options = WorldOptions {
        pki: Some(pki.clone()),
        ..WorldOptions::default()
    };
    let world = World::of(scheme, &options).await.unwrap();
    let with = |name: &str| FspTls {
        ca: pki.authority.certificate(),
        ..own.fsp(&own.issue(name).unwrap())
    };
    let payee = Client::of(&world, &with(PAYEE));
    assert_eq!(payee.outcome(PAYEE).await, accepted());
    let forged = Client::of(&world, &with(PAYER));
    assert_eq!(forged.outcome(PAYER).await, refused(401, "3102"));
    // The scheme's authority still speaks for all.
    let usual = Client::of(&world, &pki.fsp(PAYEE).unwrap());
    assert_eq!(usual.outcome(PAYEE).await, accepted());
}

#[tokio::test(flavor = "multi_thread")]
async fn callbacks_go_only_to_whom_the_authority_has_certified() {
    let scheme = TestScheme::demo().unwrap();
    let pki = scheme.secure().unwrap();
    let options = WorldOptions {
        pki: Some(pki.clone()),
        ..WorldOptions::default()
    };
    // Somebody else's server at the payee's address.
    let stranger = Authority::new("a stranger").unwrap();
    let mut participants = pki.participants.clone();
    let forged = stranger.issue(PAYEE).unwrap();
    participants.insert(PAYEE.to_owned(), forged);
    let world = World::of(scheme, &options).await.unwrap();
    world.fsp(PAYEE).stop().await;
    let port = world.scheme.callbacks()[PAYEE];
    let mut settings = rialto_simulator::FspSettings::new(
        PAYEE.parse().unwrap(),
        vec![world.party(PAYEE).clone()],
    );
    settings.listen = ([127, 0, 0, 1], port).into();
    settings.tls = Some(FspTls {
        ca: pki.authority.certificate(),
        ..stranger.fsp(&participants[PAYEE])
    });
    let thief = rialto_simulator::Fsp::start(settings).await.unwrap();
    let outcome = world.pay("1", "USD").await;
    assert!(!outcome.is_committed(), "{outcome:?}");
    assert_eq!(thief.received().lookups, 0);
    let destinations = world.host.cli(&["deliveries"]).unwrap().success().unwrap();
    assert!(destinations.contains("certificate"), "{destinations}");
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_reach_a_host_whose_operators_use_tls() {
    let scheme = TestScheme::demo().unwrap();
    let pki = Arc::new(SchemePki::new([PAYER, PAYEE]).unwrap());
    pki.write(&scheme.path().join("tls")).unwrap();
    scheme
        .add_host_settings(
            "[listeners.operators.tls]\ncertificate = \"tls/hub.pem\"\nkey = \"tls/hub.key\"\n",
        )
        .unwrap();
    let host = rialto_tests::RunningHost::start(&scheme).unwrap();
    assert!(host.url("operators").unwrap().starts_with("https://"));
    let list = host.cli(&["release", "list"]).unwrap().success().unwrap();
    assert!(list.contains("current"), "{list}");
    // The command line takes that certificate and no other: it would show its token to anybody else.
    let told = scheme.state().join("operators.pem");
    let other = pki.authority.issue("hub").unwrap();
    write_private(&told, &other.certificate).unwrap();
    let refused = host.cli(&["release", "list"]).unwrap();
    assert_ne!(refused.code, 0, "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_handshake_is_ended() {
    use tokio::io::AsyncReadExt as _;
    let scheme = TestScheme::demo().unwrap();
    scheme.secure().unwrap();
    let host = rialto_tests::RunningHost::start(&scheme).unwrap();
    let address = host.url("fsps").unwrap().trim_start_matches("https://");
    let mut silent = tokio::net::TcpStream::connect(address).await.unwrap();
    let mut byte = [0];
    let ended = tokio::time::timeout(4 * SOON, silent.read(&mut byte)).await;
    assert_eq!(ended.unwrap().unwrap(), 0, "the host closes the connection");
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_reach_no_component() {
    const SECRET: &str = "a-very-secret-token";
    let world = World::demo().await.unwrap();
    let hub: BaseUrl = world.host.url("fsps").unwrap().parse().unwrap();
    let party = world.party(PAYEE).to_string();
    let media = "application/vnd.interoperability.parties+json;version=1.1";
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("accept", media),
        ("content-type", media),
        ("date", "Tue, 15 Nov 2044 08:12:31 GMT"),
        ("fspiop-source", PAYER),
        ("authorization", &format!("Bearer {SECRET}")),
    ] {
        headers.insert(
            http::HeaderName::from_bytes(name.as_bytes()).unwrap(),
            HeaderValue::from_str(value).unwrap(),
        );
    }
    let uri = hub.join(&format!("/parties/{party}")).unwrap();
    let http = HttpClient::new(SOON);
    let answer = http.send(Method::GET, uri, headers, Bytes::new()).await;
    assert_eq!(answer.unwrap().status, 202);
    until("the payee FSP is asked", SOON, async || {
        let lookups = world.fsp(PAYEE).received().lookups;
        Ok(if lookups > 0 {
            Ok(())
        } else {
            Err("not yet".to_owned())
        })
    })
    .await
    .unwrap();
    let asked = format!("{:?}", world.fsp(PAYEE).recorder().messages());
    assert!(
        asked.contains("fspiop-source") && !asked.contains(SECRET),
        "{asked}"
    );
    let subject = format!("party:{party}");
    let story = world.host.cli(&["events", &subject, "--json"]).unwrap();
    let story = story.success().unwrap();
    assert!(story.contains("party-query-received"), "{story}");
    assert!(!story.contains(SECRET), "{story}");
    assert!(!world.host.log().contains(SECRET));
}

#[test]
fn scheme_becomes_a_sandbox_only_by_two_persons() {
    let scheme = TestScheme::demo().unwrap();
    scheme.secure().unwrap();
    let host = rialto_tests::RunningHost::start(&scheme).unwrap();
    host.approve_first_release().unwrap();
    let open = scheme.twin().unwrap();
    open.edit("fsps = \"mutual-tls\"", "fsps = \"none\"")
        .unwrap();
    let folder = open.path().to_str().unwrap();
    let waits = host.cli(&["release", "apply", folder, "--note", "open it"]);
    let waits = waits.unwrap();
    assert_eq!(waits.code, 3, "{waits}");
    assert!(waits.stdout.contains("prove who they are"), "{waits}");
    // Its maker cannot approve it.
    let own = host.cli(&["release", "approve", "2"]).unwrap();
    assert_ne!(own.code, 0, "{own}");
    let list = host.cli(&["release", "list", "--json"]).unwrap();
    let list: Value = serde_json::from_str(&list.success().unwrap()).unwrap();
    let current = list
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["current"] == true);
    assert_eq!(current.unwrap()["number"], 1, "{list}");
}

#[test]
fn component_that_ignores_identities_is_refused() {
    let scheme = TestScheme::demo().unwrap();
    let old = scheme.old_twin().unwrap();
    old.secure().unwrap();
    let refused = old.rialto(&["check"]).unwrap();
    assert_eq!(refused.code, 2, "{refused}");
    assert!(refused.said().contains("mutualTLS"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn expiries_are_told_without_names() {
    let scheme = TestScheme::demo().unwrap();
    let pki = scheme.secure().unwrap();
    let special = Special {
        expired: true,
        ..Special::default()
    };
    let expired = pki.authority.issue_special("hub", &special).unwrap();
    write_private(&scheme.tls_file("payeefsp-ca.pem"), &expired.certificate).unwrap();
    scheme
        .add_host_settings(
            "[listeners.fsps.tls.participants.payeefsp]\nclient-ca = \"tls/payeefsp-ca.pem\"\n",
        )
        .unwrap();
    let host = rialto_tests::RunningHost::start(&scheme).unwrap();
    let operators: BaseUrl = host.url("operators").unwrap().parse().unwrap();
    let http = HttpClient::new(SOON).with_answer_bytes_max(1 << 20);
    let uri = operators.join("/metrics").unwrap();
    let metrics = http.send(Method::GET, uri, HeaderMap::new(), Bytes::new());
    let metrics = String::from_utf8(metrics.await.unwrap().body.to_vec()).unwrap();
    let name = "rialto_certificate_expiry_timestamp_seconds";
    let of = |kind: &str| {
        let line = format!("{name}{{place=\"listener fsps\",kind=\"{kind}\"}} ");
        let found = metrics.lines().find_map(|text| text.strip_prefix(&line));
        let found = found.unwrap_or_else(|| panic!("{line}: {metrics}"));
        found.parse::<i64>().unwrap()
    };
    let now = std::time::SystemTime::now();
    let now = now.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    for kind in ["certificate", "authority", "revocations"] {
        assert!(of(kind) > now.cast_signed(), "{kind}");
    }
    assert!(of("authority-of-one") < now.cast_signed());
    assert!(!metrics.contains("payeefsp"), "{metrics}");
    let log = host.log();
    assert!(
        log.contains("has expired") && log.contains("payeefsp-ca.pem"),
        "{log}"
    );
}

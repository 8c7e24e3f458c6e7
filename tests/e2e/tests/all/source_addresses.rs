//! Limits of the addresses from which a participant may send, by two operators, for clients of each kind of proof.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method};
use rialto_simulator::client::{BaseUrl, HttpClient};
use rialto_simulator::fsp::Application;
use rialto_simulator::pki::SchemePki;
use rialto_tests::office::{OFFICE, Office};
use rialto_tests::waiting::until;
use rialto_tests::world::{PAYEE, PAYER};
use rialto_tests::{RunningHost, TestScheme, World, WorldOptions};
use serde_json::{Value, json};

/// Longer than any answer takes.
const SOON: Duration = Duration::from_secs(15);
/// The address that every client has unless it chooses another one.
const HOME: &str = "127.0.0.1";
/// Another address of this machine.
const ELSEWHERE: &str = "127.0.0.2";
/// The operators: who may ask and decide, and who is asked about refusals.
const PEOPLE: [&str; 2] = ["maya", "chris"];
const TABLES: &str = "[operators.maya]\nroles = [\"reader\", \"maker\", \"checker\"]\n\n\
                      [operators.chris]\nroles = [\"reader\", \"maker\", \"checker\"]\n";

/// A scheme in which everybody speaks TLS and proves itself by this.
fn secure(proof: &str) -> (TestScheme, Arc<SchemePki>) {
    let scheme = TestScheme::demo().unwrap();
    let pki = scheme.secure().unwrap();
    scheme.add_host_settings(TABLES).unwrap();
    if proof != "mutual-tls" {
        let proof = format!("fsps = \"{proof}\"");
        scheme
            .replace("scheme.toml", "fsps = \"mutual-tls\"", &proof)
            .unwrap();
    }
    (scheme, pki)
}

async fn world(proof: &str) -> (World, Arc<SchemePki>, Office) {
    let (scheme, pki) = secure(proof);
    let options = WorldOptions {
        pki: Some(pki.clone()),
        applications: proof != "mutual-tls",
        ..WorldOptions::default()
    };
    let world = World::of(scheme, &options).await.unwrap();
    let office = Office::of(&world.scheme, &world.host, &PEOPLE).unwrap();
    (world, pki, office)
}

/// A participant's client with connections from one address.
struct Client {
    http: HttpClient,
    hub: BaseUrl,
    source: &'static str,
    token: Option<String>,
}

impl Client {
    fn of(host: &RunningHost, pki: &SchemePki, source: &'static str, address: &str) -> Self {
        let tls = pki.fsp(source).unwrap().client().unwrap();
        let address: IpAddr = address.parse().unwrap();
        Self {
            http: HttpClient::from_address(SOON, tls, Some(address)),
            hub: host.url("fsps").unwrap().parse().unwrap(),
            source,
            token: None,
        }
    }

    /// The same with a new token of an application.
    async fn with_token(mut self, application: &Application) -> Self {
        let body = json!({ "id": application.id, "secret": application.secret });
        let (status, said) = self
            .send(Method::POST, "/app-basic-auth", "application/json", &body)
            .await;
        assert_eq!(status, 200, "{said}");
        self.token = Some(format!("Bearer {}", said["accessToken"].as_str().unwrap()));
        self
    }

    async fn send(&self, method: Method, path: &str, media: &str, body: &Value) -> (u16, Value) {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("accept", Some(media)),
            ("content-type", Some(media)),
            ("date", Some("Tue, 15 Nov 2044 08:12:31 GMT")),
            ("fspiop-source", Some(self.source)),
            // What a client says of its address does not count.
            ("x-forwarded-for", Some(ELSEWHERE)),
            ("forwarded", Some("for=127.0.0.2")),
            ("authorization", self.token.as_deref()),
        ] {
            if let Some(value) = value {
                headers.insert(name, HeaderValue::from_str(value).unwrap());
            }
        }
        let body = match body {
            Value::Null => Bytes::new(),
            body => Bytes::from(body.to_string()),
        };
        let uri = self.hub.join(path).unwrap();
        let answer = self.http.send(method, uri, headers, body).await.unwrap();
        let said = serde_json::from_slice(&answer.body).unwrap_or_default();
        (answer.status.as_u16(), said)
    }

    /// Ask for a party.
    async fn ask(&self) -> (u16, Value) {
        let media = "application/vnd.interoperability.parties+json;version=1.1";
        let path = "/parties/MSISDN/27710000000";
        self.send(Method::GET, path, media, &Value::Null).await
    }

    async fn status(&self) -> u16 {
        self.ask().await.0
    }

    /// Ask until the answer has this status.
    async fn until(&self, status: u16) {
        until(
            &format!("{} is answered {status}", self.source),
            SOON,
            async || {
                let (is, said) = self.ask().await;
                Ok(if is == status {
                    Ok(())
                } else {
                    Err(format!("{is}: {said}"))
                })
            },
        )
        .await
        .unwrap();
    }
}

/// The path of the requests about a participant.
fn updates(participant: &str) -> String {
    format!("/participants/{participant}/source-address-updates")
}

/// One operator asks for a limit; the path of its approval.
async fn ask(office: &Office, participant: &str, ranges: &Value) -> String {
    let path = updates(participant);
    let body = json!({ "sourceAddresses": ranges, "reason": "the firewall of Monday" });
    let said = office.post("maya", &path, &body).await.unwrap();
    assert_eq!(said.status, 201, "{said:?}");
    format!("{path}/{}/approval", said.body["id"].as_str().unwrap())
}

/// Another one approves it.
async fn approve(office: &Office, path: &str) {
    let decision = json!({ "decision": "APPROVE" });
    let said = office.post("chris", path, &decision).await.unwrap();
    assert_eq!(
        (said.status, &said.body["state"]),
        (200, &json!("APPROVED")),
        "{said:?}"
    );
}

async fn limit(office: &Office, participant: &str, ranges: &Value) {
    let path = ask(office, participant, ranges).await;
    approve(office, &path).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn certificate_is_of_use_from_the_allowed_addresses_alone() {
    let (mut world, pki, office) = world("mutual-tls").await;
    let home = Client::of(&world.host, &pki, PAYER, HOME);
    let elsewhere = Client::of(&world.host, &pki, PAYER, ELSEWHERE);
    let other = Client::of(&world.host, &pki, PAYEE, HOME);
    for client in [&home, &elsewhere, &other] {
        assert_eq!(client.status().await, 202);
    }
    let approval = ask(&office, PAYER, &json!(["127.0.0.2/31", "2001:db8::/32"])).await;
    let decision = json!({ "decision": "APPROVE" });
    let own = office.post("maya", &approval, &decision).await.unwrap();
    assert_eq!(own.problem(), "maker-is-checker", "{own:?}");
    assert_eq!(home.status().await, 202, "nobody has approved it");
    approve(&office, &approval).await;
    // The connection is open since before.
    home.until(403).await;
    let (_, said) = home.ask().await;
    let information = &said["errorInformation"];
    assert_eq!(information["errorCode"], "3000", "{said}");
    assert!(!said.to_string().contains("127.0.0"), "{said}");
    let fresh = Client::of(&world.host, &pki, PAYER, HOME);
    assert_eq!(fresh.status().await, 403);
    assert_eq!(elsewhere.status().await, 202);
    assert_eq!(other.status().await, 202);
    // Operators see it.
    let log = world.host.log();
    let line = log
        .lines()
        .find(|line| line.contains("may not send from this address"));
    let line = line.unwrap_or_else(|| panic!("{log}"));
    assert!(line.contains(PAYER) && line.contains(HOME), "{line}");
    let refused = world.host.cli(&["events", "--refused"]).unwrap();
    let refused = refused.success().unwrap();
    assert!(refused.contains("client address"), "{refused}");
    let metrics = office_metrics(&world).await;
    let counted = metrics
        .lines()
        .any(|line| line.starts_with("rialto_http_requests_total{") && line.contains("\"403\""));
    assert!(counted, "{metrics}");
    let shown = world.host.cli(&["participant", "show", PAYER]).unwrap();
    let shown = shown.success().unwrap();
    assert!(shown.contains("127.0.0.2/31"), "{shown}");
    // The limit is there from the first request after a restart.
    world.host.kill().unwrap();
    world.host.restart().unwrap();
    let office = Office::of(&world.scheme, &world.host, &PEOPLE).unwrap();
    let home = Client::of(&world.host, &pki, PAYER, HOME);
    assert_eq!(home.status().await, 403);
    assert_eq!(
        Client::of(&world.host, &pki, PAYEE, HOME).status().await,
        202
    );
    limit(&office, PAYER, &Value::Null).await;
    home.until(202).await;
    world.host.nothing_failed().await.unwrap();
}

/// The host's metrics.
async fn office_metrics(world: &World) -> String {
    let operators: BaseUrl = world.host.url("operators").unwrap().parse().unwrap();
    let http = HttpClient::new(SOON).with_answer_bytes_max(1 << 20);
    let uri = operators.join("/metrics").unwrap();
    let answer = http.send(Method::GET, uri, HeaderMap::new(), Bytes::new());
    String::from_utf8(answer.await.unwrap().body.to_vec()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn token_is_of_use_from_the_allowed_addresses_alone() {
    for proof in ["bearer", "mutual-tls+bearer"] {
        let (world, pki, office) = world(proof).await;
        let application = office.application("maya", "chris", PAYER).await.unwrap();
        let home = Client::of(&world.host, &pki, PAYER, HOME);
        let home = home.with_token(&application).await;
        let elsewhere = Client::of(&world.host, &pki, PAYER, ELSEWHERE);
        let elsewhere = elsewhere.with_token(&application).await;
        let other = office.application("maya", "chris", PAYEE).await.unwrap();
        let other = Client::of(&world.host, &pki, PAYEE, HOME)
            .with_token(&other)
            .await;
        for client in [&home, &elsewhere, &other] {
            assert_eq!(client.status().await, 202, "{proof}");
        }
        limit(&office, PAYER, &json!([ELSEWHERE])).await;
        home.until(403).await;
        assert_eq!(elsewhere.status().await, 202, "{proof}");
        assert_eq!(other.status().await, 202, "{proof}");
        limit(&office, PAYER, &json!([HOME])).await;
        home.until(202).await;
        elsewhere.until(403).await;
        limit(&office, PAYER, &Value::Null).await;
        elsewhere.until(202).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_limits_of_addresses_change_nothing() {
    let (world, pki, office) = world("mutual-tls").await;
    let home = Client::of(&world.host, &pki, PAYER, HOME);
    for (ranges, problem) in [
        (json!(["127.0.0.1/8"]), "source-address-invalid"),
        (json!(["127.0.0.0/33"]), "source-address-invalid"),
        (json!(["localhost"]), "source-address-invalid"),
        (json!([HOME, HOME]), "source-address-invalid"),
        (json!([]), "malformed"),
        (json!(HOME), "malformed"),
        (json!([1]), "malformed"),
        (json!(vec![HOME; 65]), "malformed"),
        (json!(["1".repeat(65)]), "malformed"),
        (Value::Null, "nothing-changes"),
    ] {
        let body = json!({ "sourceAddresses": ranges, "reason": "a test" });
        let said = office.post("maya", &updates(PAYER), &body).await.unwrap();
        assert_eq!(said.problem(), problem, "{ranges}: {said:?}");
    }
    let missing = json!({ "reason": "a test" });
    let said = office
        .post("maya", &updates(PAYER), &missing)
        .await
        .unwrap();
    assert_eq!(said.problem(), "malformed", "{said:?}");
    let body = json!({ "sourceAddresses": [HOME], "reason": "a test" });
    let said = office
        .post("maya", &updates("nobody"), &body)
        .await
        .unwrap();
    assert_eq!(said.problem(), "participant-unknown", "{said:?}");
    let waiting = office
        .get(OFFICE, "/source-address-updates/pending")
        .await
        .unwrap();
    assert_eq!(waiting["items"], json!([]));
    assert_eq!(home.status().await, 202);
}

#[tokio::test(flavor = "multi_thread")]
async fn limit_is_refused_where_nobody_proves_who_sends() {
    let scheme = TestScheme::demo().unwrap();
    scheme.add_operators(World::APPLICANTS).unwrap();
    let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    let office = Office::of(&world.scheme, &world.host, &PEOPLE).unwrap();
    let body = json!({ "sourceAddresses": [ELSEWHERE], "reason": "a test" });
    let said = office.post("maya", &updates(PAYER), &body).await.unwrap();
    assert_eq!(
        (said.status, said.problem()),
        (409, "senders-unproven"),
        "{said:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_are_asked_for_and_approved_by_commands() {
    let (world, pki, _) = world("mutual-tls").await;
    let home = Client::of(&world.host, &pki, PAYER, HOME);
    let command = |words: &[&str]| world.host.cli(words).unwrap().success().unwrap();
    let said = command(&[
        "participant",
        "sources",
        PAYER,
        ELSEWHERE,
        "--reason",
        "a test",
        "--as",
        "maya",
    ]);
    assert!(!said.is_empty());
    let waiting = command(&["approve", "--as", "chris"]);
    assert!(
        waiting.contains("payerfsp sends from 127.0.0.2 alone"),
        "{waiting}"
    );
    let id = waiting.split_whitespace().next().unwrap();
    command(&["approve", id, "--as", "chris"]);
    home.until(403).await;
}

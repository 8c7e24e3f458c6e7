//! Access tokens: participants' applications, what a token lets through, and what is refused without a right one.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method};
use rialto_simulator::client::{Answer, BaseUrl, HttpClient};
use rialto_simulator::fsp::Application;
use rialto_tests::catalogue;
use rialto_tests::office::Office;
use rialto_tests::scenes::committed;
use rialto_tests::waiting::until;
use rialto_tests::world::{PAYEE, PAYER};
use rialto_tests::{TestScheme, World, WorldOptions};
use serde_json::{Value, json};

/// Longer than any answer takes.
const SOON: Duration = Duration::from_secs(15);

/// A scheme whose participants show tokens, on a listener without TLS, as behind a proxy.
fn scheme() -> TestScheme {
    let scheme = TestScheme::demo().unwrap();
    scheme.add_operators(World::APPLICANTS).unwrap();
    let reader = "[operators.audit]\nroles = [\"context\", \"reader\"]\n";
    scheme.add_host_settings(reader).unwrap();
    scheme
        .replace("scheme.toml", "fsps = \"none\"", "fsps = \"bearer\"")
        .unwrap();
    let fsps = "[listeners.fsps]\n";
    let tokens = "[listeners.fsps]\nplaintext-tokens = true\n";
    scheme.replace("rialto.toml", fsps, tokens).unwrap();
    scheme
}

async fn world() -> World {
    let options = WorldOptions {
        applications: true,
        ..WorldOptions::default()
    };
    World::of(scheme(), &options).await.unwrap()
}

/// A client of the participants' listener.
struct Client {
    http: HttpClient,
    hub: BaseUrl,
}

impl Client {
    fn of(world: &World) -> Self {
        Self::with(world, HttpClient::new(SOON))
    }

    fn with(world: &World, http: HttpClient) -> Self {
        Self {
            http,
            hub: world.host.url("fsps").unwrap().parse().unwrap(),
        }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            let name = http::HeaderName::try_from(*name).unwrap();
            all.append(name, HeaderValue::from_str(value).unwrap());
        }
        let uri = self.hub.join(path).unwrap();
        let body = Bytes::from(body.to_owned());
        self.http.send(method, uri, all, body).await.unwrap()
    }

    /// Ask for a party in the name of a participant: the status and the error code.
    async fn outcome(&self, source: &str, authorization: &[&str]) -> (u16, String) {
        let answer = self.ask(source, authorization).await;
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let code = &body["errorInformation"]["errorCode"];
        (
            answer.status.as_u16(),
            code.as_str().unwrap_or_default().to_owned(),
        )
    }

    async fn ask(&self, source: &str, authorization: &[&str]) -> Answer {
        let media = "application/vnd.interoperability.parties+json;version=1.1";
        let mut headers = vec![
            ("accept", media),
            ("content-type", media),
            ("date", "Tue, 15 Nov 2044 08:12:31 GMT"),
            ("fspiop-source", source),
        ];
        headers.extend(authorization.iter().map(|value| ("authorization", *value)));
        let path = "/parties/MSISDN/27710000000";
        self.send(Method::GET, path, &headers, "").await
    }

    /// The answer to an id and a secret.
    async fn basic(&self, id: &str, secret: &str) -> (u16, Value) {
        let body = json!({ "id": id, "secret": secret }).to_string();
        let headers = [("content-type", "application/json")];
        let answer = self
            .send(Method::POST, "/app-basic-auth", &headers, &body)
            .await;
        (
            answer.status.as_u16(),
            serde_json::from_slice(&answer.body).unwrap(),
        )
    }

    /// A new token.
    async fn token(&self, application: &Application) -> String {
        let (status, said) = self.basic(&application.id, &application.secret).await;
        assert_eq!(status, 200, "{said}");
        said["accessToken"].as_str().unwrap().to_owned()
    }

    async fn document(&self, path: &str) -> Value {
        let answer = self.send(Method::GET, path, &[], "").await;
        assert_eq!(answer.status, 200);
        serde_json::from_slice(&answer.body).unwrap()
    }
}

fn office(world: &World) -> Office {
    Office::of(&world.scheme, &world.host, &["maya", "chris", "audit"]).unwrap()
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

fn seen(case: &str, rows: &[&str]) {
    catalogue::seen(case, rows.iter().copied()).unwrap();
}

/// A token of these parts.
fn made(header: &Value, claims: &Value, signature: &[u8]) -> String {
    let part = |text: String| URL_SAFE_NO_PAD.encode(text);
    let signature = URL_SAFE_NO_PAD.encode(signature);
    format!(
        "{}.{}.{signature}",
        part(header.to_string()),
        part(claims.to_string())
    )
}

fn parts(token: &str) -> (Value, Value, Vec<u8>) {
    let parts: Vec<&str> = token.split('.').collect();
    let bytes = |part: &str| URL_SAFE_NO_PAD.decode(part).unwrap();
    let json = |part: &str| serde_json::from_slice(&bytes(part)).unwrap();
    (json(parts[0]), json(parts[1]), bytes(parts[2]))
}

#[tokio::test(flavor = "multi_thread")]
async fn payments_with_access_tokens_are_committed() {
    let mut world = world().await;
    committed(&world.pay("12.5", "USD").await).unwrap();
    committed(&world.pay("3", "RWF").await).unwrap();
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    world.no_complaints().unwrap();
    // Neither the log nor the store has a token or a secret.
    let office = office(&world);
    let application = office.application("maya", "chris", PAYER).await.unwrap();
    let token = Client::of(&world).token(&application).await;
    world.host.kill().unwrap();
    let log = world.host.log();
    let signature = token.rsplit('.').next().unwrap();
    for secret in [signature, application.secret.as_str()] {
        assert!(!log.contains(secret));
        for entry in fs::read_dir(world.scheme.state()).unwrap() {
            let path = entry.unwrap().path();
            let Ok(content) = fs::read(&path) else {
                continue;
            };
            let found = content
                .windows(secret.len())
                .any(|part| part == secret.as_bytes());
            assert!(!found, "{}", path.display());
        }
    }
    seen("tokens/payments", &["C-app-register", "C-app-basic-auth"]);
}

/// What is tried, in whose name, with which `Authorization` headers, and the answer: status and code.
type Attack = (&'static str, &'static str, Vec<String>, (u16, &'static str));

#[tokio::test(flavor = "multi_thread")]
async fn each_attack_with_a_token_is_refused_without_effect() {
    let world = world().await;
    let (office, client) = (office(&world), Client::of(&world));
    let payer = office.application("maya", "chris", PAYER).await.unwrap();
    let payee = office.application("maya", "chris", PAYEE).await.unwrap();
    let (token, other) = (client.token(&payer).await, client.token(&payee).await);
    let (header, claims, signature) = parts(&token);
    let with = |value: &Value, member: &str, new: Value| {
        let mut changed = value.clone();
        changed[member] = new;
        changed
    };
    let public = client.document("/.well-known/jwks.json").await["keys"][0].clone();
    let none = made(&with(&header, "alg", json!("none")), &claims, b"");
    let confused = made(&with(&header, "alg", json!("HS256")), &claims, &signature);
    let brings_key = made(&with(&header, "jwk", public), &claims, &signature);
    let raised = made(&header, &with(&claims, "sub", json!(PAYEE)), &signature);
    let longer = made(
        &header,
        &with(&claims, "exp", json!(9_999_999_999_u64)),
        &signature,
    );
    let unknown = made(&with(&header, "kid", json!("unknown")), &claims, &signature);
    let swapped = made(&header, &claims, &parts(&other).2);
    let basic = STANDARD.encode(format!("{}:{}", payer.id, payer.secret));
    let before = world.payer().received().callbacks;
    let attacks: Vec<Attack> = vec![
        ("no token", PAYER, vec![], (401, "3102")),
        (
            "another participant's token",
            PAYER,
            vec![bearer(&other)],
            (400, "3100"),
        ),
        (
            "no text of a token",
            PAYER,
            vec!["Bearer".to_owned()],
            (401, "3101"),
        ),
        ("an empty token", PAYER, vec![bearer("..")], (401, "3101")),
        (
            "id and secret instead of a token",
            PAYER,
            vec![format!("Basic {basic}")],
            (401, "3102"),
        ),
        (
            "two tokens",
            PAYER,
            vec![bearer(&token), bearer(&token)],
            (401, "3101"),
        ),
        (
            "algorithm `none`",
            PAYER,
            vec![bearer(&none)],
            (401, "3101"),
        ),
        (
            "algorithm HS256",
            PAYER,
            vec![bearer(&confused)],
            (401, "3101"),
        ),
        (
            "a key in the header",
            PAYER,
            vec![bearer(&brings_key)],
            (401, "3101"),
        ),
        (
            "another name in the claims",
            PAYEE,
            vec![bearer(&raised)],
            (401, "3101"),
        ),
        (
            "a later end in the claims",
            PAYER,
            vec![bearer(&longer)],
            (401, "3101"),
        ),
        (
            "an unknown key",
            PAYER,
            vec![bearer(&unknown)],
            (401, "3101"),
        ),
        (
            "another token's signature",
            PAYER,
            vec![bearer(&swapped)],
            (401, "3101"),
        ),
    ];
    println!("{:<40} answer", "attack");
    for (attack, source, authorization, expected) in &attacks {
        let authorization: Vec<&str> = authorization.iter().map(String::as_str).collect();
        let (status, code) = client.outcome(source, &authorization).await;
        println!("{attack:<40} {status} {code}");
        assert_eq!((status, code.as_str()), *expected, "{attack}");
    }
    let challenged = client.ask(PAYER, &[]).await;
    let challenge = challenged.headers["www-authenticate"].to_str().unwrap();
    assert!(challenge.starts_with("Bearer"), "{challenge}");
    // The right one passes, also after all that, and of all lookups it alone has an outcome.
    let passes = client.outcome(PAYER, &[&bearer(&token)]).await;
    assert_eq!(passes, (202, String::new()));
    world.host.nothing_failed().await.unwrap();
    assert_eq!(world.payer().received().callbacks, before + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_a_revoked_application_end() {
    let mut world = world().await;
    let (office, client) = (office(&world), Client::of(&world));
    let application = office.application("maya", "chris", PAYER).await.unwrap();
    let token = bearer(&client.token(&application).await);
    assert_eq!(client.outcome(PAYER, &[&token]).await.0, 202);
    let path = format!("/app-register/{}/revocation", application.id);
    let said = office.post("chris", &path, &Value::Null).await.unwrap();
    assert_eq!(
        (said.status, &said.body["state"]),
        (200, &json!("REVOKED")),
        "{said:?}"
    );
    until("the token ends", SOON, async || {
        let (status, _) = client.outcome(PAYER, &[&token]).await;
        Ok((status == 401).then_some(()).ok_or(format!("{status}")))
    })
    .await
    .unwrap();
    assert_eq!(
        client.basic(&application.id, &application.secret).await.0,
        401
    );
    // It stays so, and the others' tokens are still good.
    world.host.kill().unwrap();
    world.host.restart().unwrap();
    let client = Client::of(&world);
    assert_eq!(
        client.outcome(PAYER, &[&token]).await,
        (401, "3101".to_owned())
    );
    committed(&world.pay("1", "USD").await).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn applications_need_two_operators_and_a_participant() {
    let world = world().await;
    let (office, client) = (office(&world), Client::of(&world));
    let asked = json!({ "participant": "nobody", "label": "l" });
    let said = office.post("maya", "/app-register", &asked).await.unwrap();
    assert_eq!((said.status, said.problem()), (404, "participant-unknown"));
    let asked = json!({ "participant": PAYER, "label": "l" });
    let said = office.post("chris", "/app-register", &asked).await.unwrap();
    assert_eq!((said.status, said.problem()), (403, "role-missing"));
    let said = office
        .post("office", "/app-register", &asked)
        .await
        .unwrap();
    assert_eq!(said.status, 201, "{said:?}");
    let id = said.body["application"]["id"].as_str().unwrap().to_owned();
    let secret = said.body["secret"].as_str().unwrap().to_owned();
    assert_eq!(client.basic(&id, &secret).await.0, 401);
    let path = format!("/app-register/{id}/decision");
    let approve = json!({ "decision": "APPROVE" });
    let said = office.post("office", &path, &approve).await.unwrap();
    assert_eq!((said.status, said.problem()), (403, "maker-is-checker"));
    let said = office.post("chris", &path, &approve).await.unwrap();
    assert_eq!(said.status, 200, "{said:?}");
    assert_eq!(client.basic(&id, &secret).await.0, 200);
    let listed = office.get("audit", "/app-register").await.unwrap();
    let text = listed.to_string();
    assert!(text.contains(&id) && !text.contains(&secret), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_secrets_are_alerted_and_slow_down_who_sends_them() {
    let world = world().await;
    let (office, client) = (office(&world), Client::of(&world));
    let application = office.application("maya", "chris", PAYER).await.unwrap();
    let mut answers = BTreeSet::new();
    // What is unknown has the same answer.
    let unknown = "00000000-0000-4000-8000-000000000000";
    for id in [[application.id.as_str(); 6], [unknown; 6]].concat() {
        let (status, said) = client.basic(id, "wrong").await;
        answers.insert(format!("{status} {said}"));
    }
    assert_eq!(answers.len(), 1, "{answers:?}");
    // Now this sender has to wait. On a slow machine a second may be over already: then the next wait is longer.
    let refused = async |path: &str, media: &str, body: String| loop {
        let headers = [("content-type", media)];
        let told = client.send(Method::POST, path, &headers, &body).await;
        if told.status.as_u16() != 401 {
            return told;
        }
    };
    let body = json!({ "id": application.id, "secret": "wrong" }).to_string();
    let told = refused("/app-basic-auth", "application/json", body).await;
    assert_eq!(told.status.as_u16(), 429);
    assert!(told.headers.contains_key("retry-after"));
    let said: Value = serde_json::from_slice(&told.body).unwrap();
    assert_eq!(said["type"], "urn:rialto:problem:too-many-attempts");
    let id = &application.id;
    let form = format!("grant_type=client_credentials&client_id={id}&client_secret=wrong");
    let told = refused("/oauth2/token", "application/x-www-form-urlencoded", form).await;
    assert_eq!(told.status.as_u16(), 429);
    // The right secret passes after that.
    until("the wait is over", SOON, async || {
        let (status, said) = client.basic(&application.id, &application.secret).await;
        Ok(if status == 200 {
            Ok(())
        } else {
            Err(format!("{status} {said}"))
        })
    })
    .await
    .unwrap();
    let log = world.host.log();
    assert!(log.contains("ALERT: 6 wrong secrets in a row"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_verified_by_the_published_key() {
    let world = world().await;
    let (office, client) = (office(&world), Client::of(&world));
    let application = office.application("maya", "chris", PAYER).await.unwrap();
    let discovery = client
        .document("/.well-known/oauth-authorization-server")
        .await;
    let issuer = discovery["issuer"].as_str().unwrap();
    let [tokens, keys] = ["token_endpoint", "jwks_uri"].map(|name| {
        discovery[name]
            .as_str()
            .unwrap()
            .strip_prefix(issuer)
            .unwrap()
    });
    let basic = STANDARD.encode(format!("{}:{}", application.id, application.secret));
    let basic = format!("Basic {basic}");
    let headers = [
        ("authorization", basic.as_str()),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    let body = "grant_type=client_credentials";
    let answer = client.send(Method::POST, tokens, &headers, body).await;
    assert_eq!(
        (answer.status.as_u16(), &answer.headers["cache-control"]),
        (200, &"no-store".parse().unwrap())
    );
    let issued: Value = serde_json::from_slice(&answer.body).unwrap();
    let token = issued["access_token"].as_str().unwrap();
    let (header, claims, signature) = parts(token);
    assert_eq!(
        (&claims["sub"], &claims["iss"]),
        (&json!(PAYER), &discovery["issuer"])
    );
    let published = client.document(keys).await;
    let published = published["keys"].as_array().unwrap();
    let key = published
        .iter()
        .find(|key| key["kid"] == header["kid"])
        .unwrap();
    // OpenSSL takes the key as PEM and the signature as DER.
    let folder = tempfile::tempdir().unwrap();
    let number = |member: &str| {
        URL_SAFE_NO_PAD
            .decode(key[member].as_str().unwrap())
            .unwrap()
    };
    let head = URL_SAFE_NO_PAD
        .decode("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE")
        .unwrap();
    let spki = [head, number("x"), number("y")].concat();
    let pem = STANDARD.encode(spki);
    let pem = format!(
        "-----BEGIN PUBLIC KEY-----\n{}\n{}\n-----END PUBLIC KEY-----\n",
        &pem[..64],
        &pem[64..]
    );
    let (signed, _) = token.rsplit_once('.').unwrap();
    let integer = |number: &[u8]| {
        let zeros = number.iter().take_while(|byte| **byte == 0).count();
        let mut bytes = number[zeros..].to_vec();
        if bytes[0] >= 0x80 {
            bytes.insert(0, 0);
        }
        [&[2, u8::try_from(bytes.len()).unwrap()], &bytes[..]].concat()
    };
    let content = [integer(&signature[..32]), integer(&signature[32..])].concat();
    let der = [&[0x30, u8::try_from(content.len()).unwrap()], &content[..]].concat();
    for (name, content) in [
        ("key.pem", pem.as_bytes()),
        ("signed", signed.as_bytes()),
        ("der", &der),
    ] {
        fs::write(folder.path().join(name), content).unwrap();
    }
    let verified = Command::new("openssl")
        .args([
            "dgst",
            "-sha256",
            "-verify",
            "key.pem",
            "-signature",
            "der",
            "signed",
        ])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&verified.stdout), "Verified OK\n");
    // A program of the scheme asks instead.
    let said = office
        .post("audit", "/iam-token-verifty", &json!({ "token": token }))
        .await
        .unwrap();
    assert_eq!(
        (&said.body["active"], &said.body["sub"]),
        (&json!(true), &json!(PAYER)),
        "{said:?}"
    );
    let changed = format!("{token}A");
    let said = office
        .post("audit", "/iam-token-verifty", &json!({ "token": changed }))
        .await
        .unwrap();
    assert_eq!(said.body, json!({ "active": false }));
    seen("tokens/published-key", &["C-iam-token-verifty"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn bound_token_is_of_no_use_on_another_connection() {
    let scheme = TestScheme::demo().unwrap();
    let pki = scheme.secure().unwrap();
    let people = "[operators.maya]\nroles = [\"maker\"]\n\n[operators.chris]\nroles = [\"checker\"]\n\n\
                  [operators.audit]\nroles = [\"context\", \"reader\"]\n";
    scheme.add_host_settings(people).unwrap();
    scheme
        .replace(
            "scheme.toml",
            "fsps = \"mutual-tls\"",
            "fsps = \"mutual-tls+bearer\"",
        )
        .unwrap();
    let options = WorldOptions {
        pki: Some(pki.clone()),
        applications: true,
        ..WorldOptions::default()
    };
    let world = World::of(scheme, &options).await.unwrap();
    committed(&world.pay("2", "USD").await).unwrap();
    let office = office(&world);
    let application = office.application("maya", "chris", PAYER).await.unwrap();
    let tls = |id: &str| HttpClient::with_tls(SOON, pki.fsp(id).unwrap().client().unwrap());
    let (payer, payee) = (
        Client::with(&world, tls(PAYER)),
        Client::with(&world, tls(PAYEE)),
    );
    let token = bearer(&payer.token(&application).await);
    assert_eq!(payer.outcome(PAYER, &[&token]).await, (202, String::new()));
    assert_eq!(payer.outcome(PAYER, &[]).await, (401, "3102".to_owned()));
    for source in [PAYER, PAYEE] {
        assert_eq!(payee.outcome(source, &[&token]).await.0, 401, "{source}");
    }
    // Another certificate of the same participant is another connection too.
    let renewed = pki.authority.issue(PAYER).unwrap();
    let renewed = pki.authority.fsp(&renewed).client().unwrap();
    let renewed = Client::with(&world, HttpClient::with_tls(SOON, renewed));
    assert_eq!(renewed.outcome(PAYER, &[&token]).await.0, 401);
    let again = bearer(&renewed.token(&application).await);
    assert_eq!(renewed.outcome(PAYER, &[&again]).await.0, 202);
    // The id and the secret are of no use with another participant's certificate.
    assert_eq!(
        payee.basic(&application.id, &application.secret).await.0,
        401
    );
    // What a client says of its certificate does not count.
    let forged = [
        ("content-type", "application/json"),
        ("x-rialto-client-certificate", "forged"),
    ];
    let body = json!({ "id": application.id, "secret": application.secret }).to_string();
    let answer = payer
        .send(Method::POST, "/app-basic-auth", &forged, &body)
        .await;
    let said: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_ne!(said["claims"]["cnf"]["x5t#S256"], "forged", "{said}");
}

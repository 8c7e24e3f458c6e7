//! Who may do what: every operation with every role, and changes of that while the host runs.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rialto_openapi::Document;
use rialto_openapi::example::Examples;
use rialto_simulator::client::{BaseUrl, HttpClient};
use rialto_tests::catalogue;
use rialto_tests::office::{Office, Said};
use rialto_tests::waiting::until;
use rialto_tests::{RunningHost, TestScheme};
use serde_json::{Value, json};

/// Longer than any answer takes.
const SOON: Duration = Duration::from_secs(15);
/// One operator for each role.
const ROLES: [&str; 5] = ["reader", "maker", "checker", "context", "admin"];
const PEOPLE: &[(&str, &str)] = &[
    ("anna", r#""reader""#),
    ("maya", r#""maker""#),
    ("chris", r#""checker""#),
    ("both", r#""maker", "checker""#),
    ("switch", r#""context""#),
    ("ada", r#""admin""#),
];

struct Scene {
    office: Office,
    host: RunningHost,
    scheme: TestScheme,
}

impl Scene {
    fn start(people: &[(&str, &str)]) -> Self {
        let scheme = TestScheme::demo().unwrap();
        scheme.add_operators(people).unwrap();
        let host = RunningHost::start(&scheme).unwrap();
        let names: Vec<&str> = people.iter().map(|(name, _)| *name).collect();
        let office = Office::of(&scheme, &host, &names).unwrap();
        Self {
            office,
            host,
            scheme,
        }
    }

    fn restart(&mut self) {
        self.host.restart().unwrap();
        let names: Vec<&str> = PEOPLE.iter().map(|(name, _)| *name).collect();
        self.office = Office::of(&self.scheme, &self.host, &names).unwrap();
    }

    async fn ask(&self, who: &str, path: &str, body: Value) -> Said {
        self.office.post(who, path, &body).await.unwrap()
    }

    /// Maya asks for a change, and chris approves it.
    async fn change(&self, change: Value) -> Value {
        let body = json!({ "change": change, "reason": "of a test" });
        let asked = self.ask("maya", "/authorization-changes", body).await;
        assert_eq!(asked.status, 202, "{asked:?}");
        let id = asked.body["id"].as_str().unwrap();
        let path = format!("/authorization-changes/{id}/decision");
        let decided = self
            .ask("chris", &path, json!({ "decision": "APPROVE" }))
            .await;
        assert_eq!(decided.status, 200, "{decided:?}");
        decided.body
    }

    /// What all operators were told.
    async fn notices(&self) -> anyhow::Result<Vec<String>> {
        let notices = self.office.get("anna", "/notices?audience=operators");
        let notices = notices.await?;
        let items = notices["items"].as_array().into_iter().flatten();
        Ok(items
            .filter_map(|notice| Some(notice["message"].as_str()?.to_owned()))
            .collect())
    }

    /// Status and kind of an attempt to close a batch that does not exist.
    async fn closes(&self, who: &str) -> (u16, String) {
        let path = "/settlement-batches/f81d4fae-7dec-41d0-a765-00a0c91e6bf6/close";
        let said = self.ask(who, path, json!({ "reason": "r" })).await;
        (said.status, said.problem().to_owned())
    }
}

fn refused() -> (u16, String) {
    (403, "role-missing".to_owned())
}

/// The operation was begun, and found no batch.
fn begun() -> (u16, String) {
    (404, "batch-unknown".to_owned())
}

/// The documents on the operators' listener, with the names of their components.
async fn documents(host: &RunningHost, scheme: &TestScheme) -> Vec<(String, Document)> {
    let client = HttpClient::new(SOON).with_answer_bytes_max(1 << 20);
    let url: BaseUrl = host.url("operators").unwrap().parse().unwrap();
    let text = fs::read_to_string(scheme.path().join("scheme.toml")).unwrap();
    let scheme: toml::Table = text.parse().unwrap();
    let mut documents = Vec::new();
    for (name, context) in scheme["contexts"].as_table().unwrap() {
        if context.get("listener").and_then(|on| on.as_str()) != Some("operators") {
            continue;
        }
        let uri = url.join(&format!("/openapi/{name}.yaml")).unwrap();
        let headers = http::HeaderMap::new();
        let answer = client.send(http::Method::GET, uri, headers, bytes::Bytes::new());
        let body = answer.await.unwrap().body;
        let text = String::from_utf8(body.to_vec()).unwrap();
        documents.push((name.to_owned(), Document::parse(&text).unwrap()));
    }
    documents.sort_by(|(a, _), (b, _)| a.cmp(b));
    documents
}

/// Who refuses an operator without the role.
#[derive(Clone, Copy, PartialEq)]
enum Judge {
    /// The host, before it asks the component.
    Host,
    /// The component, in a scheme without security-authz.
    Component,
}

/// Try every operation with every role: the table of who may.
async fn tried(judge: Judge) -> String {
    let scheme = TestScheme::demo().unwrap();
    let people = ROLES.map(|role| (role, format!("\"{role}\"")));
    let people: Vec<(&str, &str)> = people.iter().map(|(n, r)| (*n, r.as_str())).collect();
    scheme.add_operators(&people).unwrap();
    if judge == Judge::Component {
        without_authorization(&scheme);
        scheme.lock().unwrap();
    }
    let host = RunningHost::start(&scheme).unwrap();
    let office = Office::of(&scheme, &host, &ROLES).unwrap();
    let mut table = String::new();
    for (component, document) in &documents(&host, &scheme).await {
        let examples = Examples::of(&document.root);
        for operation in document.operations() {
            let what = format!("{component}/{}", operation.id);
            assert!(!operation.roles.is_empty(), "{what} is of no role");
            let item = &document.root["paths"][&operation.path];
            let example = examples.request(&operation.path, item, &operation.method.to_lowercase());
            let body = example.body.as_deref().unwrap_or("null");
            let body: Value = serde_json::from_str(body).unwrap();
            // The token is the operator's own, and a key would have an answer repeated.
            let left_out = ["authorization", "idempotency-key"];
            let headers = example.headers.iter();
            let headers: Vec<(&str, &str)> = headers
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .filter(|(name, _)| !left_out.contains(&name.to_lowercase().as_str()))
                .collect();
            let mut line = format!("{what:72}");
            for role in ROLES {
                let said = office
                    .send(role, &example.method, &example.target, &headers, &body)
                    .await
                    .unwrap();
                assert!(said.status < 500, "{what} as {role}: {said:?}");
                let may = operation.roles.iter().any(|has| has == role);
                // Who may begin it may still be refused for another cause.
                let is_refused = said.problem() == "role-missing";
                assert_eq!(is_refused, !may, "{what} as {role}: {said:?}");
                if is_refused {
                    let detail = said.body["detail"].as_str().unwrap();
                    let by_host = detail.contains("with the privilege");
                    assert_eq!(by_host, judge == Judge::Host, "{what} as {role}: {detail}");
                }
                write!(line, " {:7}", if may { role } else { "-" }).unwrap();
            }
            writeln!(table, "{}", line.trim_end()).unwrap();
        }
    }
    table
}

/// Take the context out of a scheme's document.
fn without_authorization(scheme: &TestScheme) {
    let path = scheme.path().join("scheme.toml");
    let with = fs::read_to_string(&path).unwrap();
    let begins = with.find("[contexts.security-authz]").unwrap();
    let ends = begins + with[begins..].find("# Rules, and the steps").unwrap();
    fs::write(&path, format!("{}{}", &with[..begins], &with[ends..])).unwrap();
}

/// Who may use an operation of the host, as its document says.
#[derive(Debug)]
enum Allowed {
    Everybody,
    EveryOperator,
    Role(String),
}

impl Allowed {
    /// An operation that says nothing of it fails the test.
    fn of(operation: &Value) -> Self {
        let text = |name: &str| operation[name].as_str().unwrap_or_default();
        let description = text("description");
        if text("summary").contains("Open to everybody") {
            Self::Everybody
        } else if description.starts_with("Every operator") {
            Self::EveryOperator
        } else {
            let role = description
                .strip_prefix("Role `")
                .and_then(|rest| rest.split_once('`'));
            let (role, _) = role.unwrap_or_else(|| panic!("whose is {operation}?"));
            assert!(ROLES.contains(&role), "{operation}");
            Self::Role(role.to_owned())
        }
    }

    fn allows(&self, role: &str) -> bool {
        match self {
            Self::Everybody | Self::EveryOperator => true,
            Self::Role(needed) => needed == role,
        }
    }
}

/// A path of the host's document with values that mean nothing.
fn filled(path: &str) -> String {
    let mut filled = path.to_owned();
    for (name, value) in [
        ("{number}", "99"),
        ("{other}", "98"),
        ("{name}", "no-rule"),
        ("{step}", "no-check"),
        ("{digest}", "sha256:00"),
        ("{component}", "quoting"),
        ("{collection}", "quotes"),
        ("{verb}", "drop"),
        ("{file}", "no-file"),
        ("{id}", "99"),
    ] {
        filled = filled.replace(name, value);
    }
    assert!(!filled.contains('{'), "{filled}");
    if filled == "/live" {
        // A stream would not end.
        filled += "?documents=malformed";
    }
    filled
}

/// Each operation of the host's own API with each role, and with none. One that is new and says nothing of roles fails.
#[tokio::test]
async fn every_operation_of_the_host_is_of_the_role_that_its_document_names() {
    let people = ROLES.map(|role| (role, format!("\"{role}\"")));
    let people: Vec<(&str, &str)> = people.iter().map(|(n, r)| (*n, r.as_str())).collect();
    let scene = Scene::start(&people);
    let client = HttpClient::new(SOON).with_answer_bytes_max(1 << 20);
    let at = scene.host.url("operators").unwrap();
    let ask = async |method: &str, path: &str| {
        let uri = format!("{at}{path}").parse().unwrap();
        let method = method.parse().unwrap();
        let sent = client.send(method, uri, http::HeaderMap::new(), bytes::Bytes::new());
        let answer = sent.await.unwrap();
        (
            answer.status.as_u16(),
            String::from_utf8_lossy(&answer.body).into_owned(),
        )
    };
    let (_, text) = ask("GET", "/openapi/host.yaml").await;
    let document = Document::parse(&text).unwrap();
    let mut tried = 0;
    for (path, item) in document.root["paths"].as_object().unwrap() {
        for method in ["get", "put", "post", "delete", "patch"] {
            let Some(operation) = item.get(method) else {
                continue;
            };
            tried += 1;
            let (allowed, path) = (Allowed::of(operation), filled(path));
            let method = method.to_uppercase();
            let (status, body) = ask(&method, &path).await;
            let is_open = matches!(allowed, Allowed::Everybody);
            assert_eq!(status == 401, !is_open, "{method} {path}: {status} {body}");
            // Not all of what is open answers with JSON.
            for role in ROLES.into_iter().filter(|_| !is_open) {
                let said = scene.office.send(role, &method, &path, &[], &Value::Null);
                let said = said.await.unwrap();
                assert!(said.status != 401, "{method} {path} as {role}: {said:?}");
                let is_refused = said.problem() == "role-missing";
                let may = allowed.allows(role);
                assert_eq!(is_refused, !may, "{method} {path} as {role}: {said:?}");
            }
        }
    }
    assert!(tried > 40, "{tried}");
}

#[tokio::test]
async fn every_operation_is_of_the_roles_that_its_document_names() {
    insta::assert_snapshot!("operations_and_roles", tried(Judge::Host).await);
}

#[tokio::test]
async fn each_component_guards_its_operations_by_itself() {
    let table = tried(Judge::Component).await;
    assert!(table.lines().count() > 70, "{table}");
}

#[tokio::test(flavor = "multi_thread")]
async fn privilege_that_is_withdrawn_while_a_body_arrives_is_gone() {
    let scene = Scene::start(PEOPLE);
    let token = scene.scheme.state().join("operators").join("maya.token");
    let token = fs::read_to_string(token).unwrap();
    let body = r#"{"reason":"r"}"#;
    let address = scene.host.url("operators").unwrap();
    let mut connection = TcpStream::connect(address.trim_start_matches("http://")).unwrap();
    connection.set_read_timeout(Some(SOON)).unwrap();
    write!(
        connection,
        "POST /settlement-batches/f81d4fae-7dec-41d0-a765-00a0c91e6bf6/close HTTP/1.1\r\nhost: h\r\n\
         authorization: Bearer {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         expect: 100-continue\r\nconnection: close\r\n\r\n",
        token.trim(),
        body.len()
    )
    .unwrap();
    // The host reads the body: it has asked about maya, who may.
    let mut seen = [0; 25];
    connection.read_exact(&mut seen).unwrap();
    assert_eq!(&seen, b"HTTP/1.1 100 Continue\r\n\r\n");
    let began = Instant::now();
    let withdraw = json!({ "role": "maker", "withdraw": ["settlements/closeSettlementBatch"] });
    scene.change(json!({ "rolePrivileges": withdraw })).await;
    // After a shorter time nobody is asked again.
    tokio::time::sleep(Duration::from_millis(200).saturating_sub(began.elapsed())).await;
    connection.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert!(
        answer.contains("urn:rialto:problem:role-missing"),
        "{answer}"
    );
}

#[tokio::test]
async fn new_role_holds_for_the_next_request_until_it_is_taken_away() {
    let mut scene = Scene::start(PEOPLE);
    assert_eq!(scene.closes("anna").await, refused());
    assert_eq!(scene.closes("ada").await, refused());
    assert_eq!(scene.closes("maya").await, begun());
    let role = json!({ "role": "treasury", "grant": ["settlements/closeSettlementBatch"] });
    scene.change(json!({ "rolePrivileges": role })).await;
    assert_eq!(
        scene.closes("anna").await,
        refused(),
        "nobody has the role yet"
    );
    let give = json!({ "subject": "operator/anna", "add": ["treasury"] });
    scene.change(json!({ "roleAssignment": give })).await;
    assert_eq!(scene.closes("anna").await, begun());
    assert_eq!(scene.closes("ada").await, refused());
    // Nothing else of the component has come with it.
    let settle = json!({ "reason": "r", "batches": ["f81d4fae-7dec-41d0-a765-00a0c91e6bf6"] });
    let said = scene.ask("anna", "/settlements", settle).await;
    assert_eq!(said.problem(), "role-missing", "{said:?}");
    scene.restart();
    assert_eq!(scene.closes("anna").await, begun());
    let withdraw = json!({ "role": "maker", "withdraw": ["settlements/closeSettlementBatch"] });
    scene.change(json!({ "rolePrivileges": withdraw })).await;
    assert_eq!(scene.closes("maya").await, refused());
    assert_eq!(scene.closes("anna").await, begun());
    let take = json!({ "subject": "operator/anna", "remove": ["treasury"] });
    scene.change(json!({ "roleAssignment": take })).await;
    assert_eq!(scene.closes("anna").await, refused());
    let notices = until("all notices", SOON, async || {
        let told = scene.notices().await?;
        Ok(if told.len() == 4 {
            Ok(told)
        } else {
            Err(format!("{told:?}"))
        })
    })
    .await
    .unwrap();
    assert_eq!(
        notices[1],
        "operator/anna gets the roles treasury: maya asked for it, chris approved it"
    );
}

#[tokio::test]
async fn nobody_gives_themselves_anything() {
    let scene = Scene::start(PEOPLE);
    let approve = json!({ "decision": "APPROVE" });
    let give = |who: &str| {
        let change =
            json!({ "roleAssignment": { "subject": format!("operator/{who}"), "add": ["admin"] } });
        json!({ "change": change, "reason": "r" })
    };
    let path = "/authorization-changes";
    let own = scene.ask("both", path, give("both")).await;
    assert_eq!((own.status, own.problem()), (403, "own-roles"));
    let asked = scene.ask("both", path, give("chris")).await;
    assert_eq!(asked.status, 202, "{asked:?}");
    let decide = format!("{path}/{}/decision", asked.body["id"].as_str().unwrap());
    for (who, kind) in [
        ("both", "maker-is-checker"),
        ("chris", "own-roles"),
        ("maya", "role-missing"),
        ("ada", "role-missing"),
    ] {
        let said = scene.ask(who, &decide, approve.clone()).await;
        assert_eq!((said.status, said.problem()), (403, kind), "{who}");
    }
    // The way to undo changes stays open.
    let needed = json!({ "rolePrivileges": {
        "role": "checker", "withdraw": ["security-authz/decideAuthorizationChange"],
    } });
    let said = scene
        .ask("maya", path, json!({ "change": needed, "reason": "r" }))
        .await;
    assert_eq!((said.status, said.problem()), (422, "privilege-needed"));
    let shown = scene.office.get("anna", "/role-assignments").await.unwrap();
    assert_eq!(shown["items"], json!([]));
    // The host's own API goes by rialto.toml alone.
    let own = scene.ask("chris", "/dead-letters/retry", json!({})).await;
    assert_eq!((own.status, own.problem()), (403, "role-missing"));
}

#[tokio::test]
async fn maker_takes_a_change_back_and_nobody_approves_it() {
    let scene = Scene::start(PEOPLE);
    let path = "/authorization-changes";
    let give = json!({ "roleAssignment": { "subject": "operator/anna", "add": ["maker"] } });
    let body = json!({ "change": give, "reason": "r" });
    let asked = scene.ask("maya", path, body.clone()).await;
    assert_eq!(asked.status, 202, "{asked:?}");
    let time = |name: &str| asked.body[name].as_u64().unwrap();
    assert_eq!(time("lapsesAt") - time("createdAt"), 7 * 86_400_000);
    let id = asked.body["id"].as_str().unwrap();
    let withdrawal = format!("{path}/{id}/withdrawal");
    let said = scene.ask("both", &withdrawal, json!({})).await;
    assert_eq!((said.status, said.problem()), (403, "request-foreign"));
    let said = scene.ask("maya", &withdrawal, json!({})).await;
    assert_eq!(said.status, 200, "{said:?}");
    let decide = format!("{path}/{id}/decision");
    let approve = json!({ "decision": "APPROVE" });
    let said = scene.ask("chris", &decide, approve).await;
    assert_eq!((said.status, said.problem()), (409, "already-decided"));
    let shown = scene.office.get("anna", path).await.unwrap();
    assert_eq!(shown["items"][0]["state"], "WITHDRAWN", "{shown}");
    // It keeps nobody from asking for the same.
    let again = scene.ask("both", path, body).await;
    assert_eq!(again.status, 202, "{again:?}");
}

/// What OpenSSL writes.
pub fn openssl(folder: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("openssl")
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "openssl {arguments:?}: {said}");
    output.stdout
}

/// An assertion that OpenSSL signs with the key in a folder.
pub fn assertion(folder: &Path, kid: &str, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = [part(&json!({ "alg": "RS256", "kid": kid })), part(claims)].join(".");
    fs::write(folder.join("signed"), &signed).unwrap();
    let signature = openssl(
        folder,
        &["dgst", "-sha256", "-sign", "private.pem", "signed"],
    );
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

#[tokio::test]
async fn programs_prove_who_they_are_by_token_and_by_key() {
    let scene = Scene::start(PEOPLE);
    let application = scene
        .office
        .application("maya", "chris", "payerfsp")
        .await
        .unwrap();
    let login = json!({ "id": application.id, "secret": application.secret });
    let client = HttpClient::new(SOON);
    let fsps: BaseUrl = scene.host.url("fsps").unwrap().parse().unwrap();
    let mut headers = http::HeaderMap::new();
    headers.insert("content-type", "application/json".parse().unwrap());
    let answer = client
        .send(
            http::Method::POST,
            fsps.join("/app-basic-auth").unwrap(),
            headers,
            login.to_string().into(),
        )
        .await
        .unwrap();
    let token: Value = serde_json::from_slice(&answer.body).unwrap();
    let token = token["accessToken"].as_str().unwrap();
    let wanted = json!({ "component": "transfers", "name": "listTransfers" });
    let by_token = async || {
        let body = json!({ "token": token, "privilege": wanted });
        scene.ask("switch", "/app-authorize", body).await.body
    };
    let said = by_token().await;
    assert_eq!(
        (&said["authenticated"], &said["authorized"]),
        (&json!(true), &json!(false))
    );
    let subject = format!("application/{}", application.id);
    let give = json!({ "subject": subject, "add": ["reader"] });
    scene.change(json!({ "roleAssignment": give })).await;
    let said = by_token().await;
    assert_eq!(said["authorized"], true, "{said}");
    assert_eq!(said["roles"], json!(["client", "reader"]));

    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (private, public) = ("private.pem", "public.pem");
    openssl(
        folder,
        &[
            "genpkey",
            "-algorithm",
            "RSA",
            "-pkeyopt",
            "rsa_keygen_bits:2048",
            "-out",
            private,
        ],
    );
    openssl(folder, &["pkey", "-in", private, "-pubout", "-out", public]);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let ends = u64::try_from(now.as_millis()).unwrap() + 3_600_000;
    let key = json!({
        "subject": subject, "algorithm": "RS256", "notAfter": ends,
        "publicKey": fs::read_to_string(folder.join(public)).unwrap(),
    });
    let change = scene.change(json!({ "publicKey": key })).await;
    let key = change["id"].as_str().unwrap();
    let claims = |jti: &str| {
        json!({
            "iss": application.id, "sub": application.id, "aud": scheme_name(&scene), "jti": jti,
            "exp": now.as_secs_f64() + 120.0,
        })
    };
    let by_key = async |assertion: &str| {
        let body = json!({ "assertion": assertion, "privilege": wanted });
        let said = scene.ask("switch", "/app-pem-auth", body).await;
        assert_eq!(said.status, 200, "{said:?}");
        said.body
    };
    let first = assertion(folder, key, &claims("1"));
    let said = by_key(&first).await;
    assert_eq!(said["authorized"], true, "{said}");
    assert_eq!(said["participant"], "payerfsp");
    let again = by_key(&first).await;
    assert_eq!(again["reason"], "the assertion was used before");
    let mut changed = assertion(folder, key, &claims("2"));
    let flipped = if changed.pop() == Some('A') { 'Q' } else { 'A' };
    changed.push(flipped);
    assert_eq!(by_key(&changed).await["authenticated"], false);
    let revoked = format!("/app-register/{}/revocation", application.id);
    let said = scene.ask("maya", &revoked, json!({})).await;
    assert_eq!(said.status, 200, "{said:?}");
    let said = by_key(&assertion(folder, key, &claims("3"))).await;
    assert_eq!(said["reason"], "the application is not active");
    assert_eq!(by_token().await["authenticated"], false);
    let revoked = format!("/public-keys/{key}/revocation");
    let said = scene.ask("chris", &revoked, json!({})).await;
    assert_eq!(said.status, 200, "{said:?}");
    let message = format!("{subject} loses the public key {key}: chris did it alone");
    until("the notice", SOON, async || {
        let told = scene.notices().await?;
        let is_there = told.contains(&message);
        Ok(is_there.then_some(()).ok_or_else(|| format!("{told:?}")))
    })
    .await
    .unwrap();
    let rows = ["C-app-authorize", "C-app-pem-auth"];
    catalogue::seen(
        "authorization::programs_prove_who_they_are_by_token_and_by_key",
        rows.into_iter(),
    )
    .unwrap();
}

fn scheme_name(scene: &Scene) -> String {
    let text = fs::read_to_string(scene.scheme.path().join("scheme.toml")).unwrap();
    let document: toml::Table = text.parse().unwrap();
    document["name"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn without_the_context_the_roles_of_the_documents_hold() {
    let scene = Scene::start(PEOPLE);
    let role = json!({ "role": "reader", "grant": ["settlements/closeSettlementBatch"] });
    scene.change(json!({ "rolePrivileges": role })).await;
    assert_eq!(scene.closes("anna").await, begun());
    let path = scene.scheme.path().join("scheme.toml");
    let with = fs::read_to_string(&path).unwrap();
    without_authorization(&scene.scheme);
    let apply = |scene: &Scene| {
        scene.scheme.lock().unwrap();
        let path = scene.scheme.path().to_str().unwrap();
        let applied = scene
            .host
            .cli(&["release", "apply", path, "--as", "office"]);
        applied.unwrap().success().unwrap();
    };
    apply(&scene);
    assert_eq!(scene.closes("anna").await, refused());
    assert_eq!(scene.closes("maya").await, begun());
    fs::write(&path, with).unwrap();
    apply(&scene);
    assert_eq!(
        scene.closes("anna").await,
        begun(),
        "the documents are still there"
    );
}

//! Bad input over real HTTP: what is refused, with which status and FSPIOP error code, at once or by a
//! callback; and that the ledger is unchanged afterwards.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeMap;
use std::time::Duration;

use http::{Method, StatusCode};
use rialto_simulator::client::Answer;
use rialto_simulator::fsp::RawRequest;
use rialto_tests::World;
use rialto_tests::books::documents;
use rialto_tests::messages::{quote, transfer};
use rialto_tests::world::{PAYEE, PAYER};
use serde_json::{Value, json};

/// How long a callback may take.
const CALLBACK_WITHIN: Duration = Duration::from_secs(15);
/// The longest body of the API definition, in bytes.
const BODY_MAX: usize = 5_242_880;
/// The longest header section of the API definition, in bytes.
const HEADERS_MAX: usize = 65_536;
/// 2020-01-01: past.
const LONG_AGO: &str = "2020-01-01T00:00:00.000Z";

/// A host, and what its ledger held before anything bad came in.
struct Scene {
    world: World,
    before: BTreeMap<String, Value>,
    wrong: Vec<String>,
}

impl Scene {
    async fn open() -> Self {
        let world = World::demo().await.unwrap();
        let before = documents(&world.host, "accounts-and-balances", "accounts").unwrap();
        assert!(!before.is_empty(), "the demonstration scheme has accounts");
        Self {
            world,
            before,
            wrong: Vec::new(),
        }
    }

    fn payer(&self, method: Method, path: &str) -> RawRequest<'_> {
        self.world.payer().raw(method, path)
    }

    /// A request for a transfer, changed.
    fn transfer(&self, change: impl FnOnce(&mut Value)) -> RawRequest<'_> {
        let body = transfer(&self.world.payer().new_id(), change).to_string();
        self.payer(Method::POST, "/transfers").to(PAYEE).body(body)
    }

    /// A request for a quote, changed.
    fn quote(&self, change: impl FnOnce(&mut Value)) -> RawRequest<'_> {
        let body = quote(&self.world.payer().new_id(), change).to_string();
        self.payer(Method::POST, "/quotes").to(PAYEE).body(body)
    }

    fn fulfilment(&self, change: impl FnOnce(&mut Value)) -> RawRequest<'_> {
        let path = format!("/transfers/{}", self.world.payer().new_id());
        let mut body = json!({
            "fulfilment": "A".repeat(43),
            "transferState": "COMMITTED",
        });
        change(&mut body);
        let payee = self.world.payee();
        payee
            .raw(Method::PUT, &path)
            .to(PAYER)
            .body(body.to_string())
    }

    /// Note what is wrong with the answer, so that one run shows the whole table.
    fn judge(&mut self, what: &str, answer: &Answer, status: u16, code: &str) {
        let found = (answer.status.as_u16(), error_code(&answer.body));
        if found != (status, code.to_owned()) {
            let body = String::from_utf8_lossy(&answer.body);
            let note = format!("{what}: expected {status} {code:?}, got {found:?}: {body}");
            self.wrong.push(note);
        }
    }

    /// The whole table was as expected; nothing failed; the ledger is as it was.
    async fn close(self) {
        assert!(self.wrong.is_empty(), "{}", self.wrong.join("\n"));
        self.world.host.nothing_failed().await.unwrap();
        let after: BTreeMap<String, Value> =
            documents(&self.world.host, "accounts-and-balances", "accounts").unwrap();
        assert_eq!(after, self.before, "the ledger has changed");
        let log = self.world.host.log();
        assert!(!log.contains("panicked"), "the host panicked:\n{log}");
    }
}

/// Send a request and judge its answer: `refused!(scene, what, request, status, code)`.
macro_rules! refused {
    ($scene:expr, $what:expr, $request:expr, $status:expr, $code:expr) => {{
        let answer = { $request.send().await };
        match answer {
            Ok(answer) => $scene.judge($what, &answer, $status, $code),
            Err(error) => $scene.wrong.push(format!("{}: no answer: {error}", $what)),
        }
    }};
}

fn error_code(body: &[u8]) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let code = body["errorInformation"]["errorCode"].as_str();
    code.unwrap_or_default().to_owned()
}

fn remove(member: &'static str) -> impl FnOnce(&mut Value) {
    move |body| {
        let removed = body.as_object_mut().unwrap().remove(member);
        assert!(removed.is_some(), "there is no {member} to leave out");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_headers_are_refused_with_their_code() {
    let mut scene = Scene::open().await;
    for name in ["accept", "date", "content-type", "fspiop-source"] {
        let what = format!("no {name}");
        refused!(
            scene,
            &what,
            scene.transfer(|_| ()).without(name),
            400,
            "3102"
        );
    }
    let json_only = "application/json";
    let other = "application/vnd.interoperability.quotes+json;version=1.1";
    let long = "f".repeat(33);
    let one = "application/vnd.interoperability.transfers+json;version=1.1";
    let two = format!("{one}, {one}");
    let malformed = [
        ("accept", json_only),
        ("accept", other),
        ("accept", "*/*"),
        ("date", "yesterday"),
        ("date", "2026-01-01T00:00:00.000Z"),
        ("content-type", json_only),
        ("content-type", other),
        (
            "content-type",
            "application/vnd.interoperability.transfers+json;version=1",
        ),
        (
            "content-type",
            "application/vnd.interoperability.transfers+json",
        ),
        ("content-type", two.as_str()),
        ("content-encoding", "gzip"),
        ("content-encoding", "identity, identity"),
        ("fspiop-source", long.as_str()),
        ("fspiop-destination", long.as_str()),
    ];
    for (name, value) in malformed {
        let what = format!("{name}: {value}");
        let request = scene.transfer(|_| ()).header(name, value);
        refused!(scene, &what, request, 400, "3101");
    }
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unsupported_version_is_answered_with_the_supported_ones() {
    let mut scene = Scene::open().await;
    for (name, version) in [("accept", "9"), ("accept", "9.1"), ("content-type", "9.0")] {
        let value = format!("application/vnd.interoperability.transfers+json;version={version}");
        let request = scene.transfer(|_| ()).header(name, &value);
        let answer = request.send().await.unwrap();
        scene.judge(&format!("{name} {version}"), &answer, 406, "3001");
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        let listed = &body["errorInformation"]["extensionList"]["extension"];
        let expected = json!([
            { "key": "1", "value": "0" },
            { "key": "1", "value": "1" },
            { "key": "1", "value": "2" },
        ]);
        assert_eq!(*listed, expected, "{name} {version}");
    }
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_and_methods_that_there_are_not_are_refused() {
    let mut scene = Scene::open().await;
    let id = scene.world.payer().new_id();
    for path in [
        "/",
        "/nothing",
        "/Transfers",
        "/transfers/a/b/c",
        "/transfers/../quotes",
    ] {
        refused!(scene, path, scene.payer(Method::POST, path), 404, "3002");
    }
    let transfer_path = format!("/transfers/{id}");
    let wrong = [
        (Method::DELETE, "/transfers".to_owned(), vec!["POST"]),
        (Method::PUT, "/quotes".to_owned(), vec!["POST"]),
        (
            Method::DELETE,
            transfer_path.clone(),
            vec!["GET", "PATCH", "PUT"],
        ),
        (Method::GET, format!("{transfer_path}/error"), vec!["PUT"]),
    ];
    for (method, path, allowed) in wrong {
        let what = format!("{method} {path}");
        let answer = scene.payer(method, &path).send().await.unwrap();
        scene.judge(&what, &answer, 405, "3000");
        let allow = answer.headers.get("allow").unwrap().to_str().unwrap();
        let mut found: Vec<&str> = allow.split(", ").collect();
        found.sort_unstable();
        assert_eq!(found, allowed, "{what}");
    }
    let patch = scene.payer(Method::PATCH, &transfer_path).body("{}");
    refused!(scene, "PATCH of a transfer", patch, 501, "2002");
    for id in [
        "not-an-id",
        "B51EC534-EE48-4575-B6A9-EAD2955B8069",
        "%00",
        "%ff",
    ] {
        let path = format!("/transfers/{id}");
        refused!(scene, &path, scene.payer(Method::GET, &path), 400, "3101");
    }
    let kind = scene.payer(Method::GET, "/parties/SHOE_SIZE/44");
    refused!(scene, "an unknown kind of party", kind, 400, "3101");
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_cannot_be_read_are_refused() {
    let mut scene = Scene::open().await;
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    // A later reader of such a body might use the other value.
    let id = scene.world.payer().new_id();
    let whole = transfer(&id, |_| ()).to_string();
    let twice = |name: &str| whole.replacen('{', &format!("{{\"{name}\":\"{id}\","), 1);
    let hidden = json!({ "$serde_json::private::RawValue": whole }).to_string();
    let bodies: [(&str, Vec<u8>, &str); 12] = [
        ("a member twice", twice("transferId").into_bytes(), "3101"),
        (
            "a member twice, but for case",
            twice("TransferID").into_bytes(),
            "3101",
        ),
        (
            "a transfer in a private name of serde_json",
            hidden.into_bytes(),
            "3101",
        ),
        ("an empty body", Vec::new(), "3102"),
        ("half a body", br#"{"transferId":"#.to_vec(), "3101"),
        ("text", b"hello".to_vec(), "3101"),
        ("a list", b"[]".to_vec(), "3101"),
        ("null", b"null".to_vec(), "3101"),
        (
            "what is not UTF-8",
            b"{\"transferId\":\"\xff\xfe\"}".to_vec(),
            "3101",
        ),
        ("two bodies", b"{} {}".to_vec(), "3101"),
        ("a deep body", deep.into_bytes(), "3101"),
        ("an empty object", b"{}".to_vec(), "3102"),
    ];
    for (what, body, code) in bodies {
        let request = scene.payer(Method::POST, "/transfers").body(body);
        refused!(scene, what, request, 400, code);
    }
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn too_large_is_refused_and_largest_is_read() {
    let mut scene = Scene::open().await;
    let request = scene
        .payer(Method::POST, "/transfers")
        .body(vec![b' '; BODY_MAX + 1]);
    refused!(scene, "a body of one byte more", request, 400, "3104");
    let full = transfer("not-an-id", |_| ()).to_string();
    let full = format!("{full}{}", " ".repeat(BODY_MAX - full.len()));
    let request = scene.payer(Method::POST, "/transfers").body(full);
    refused!(scene, "a body of the greatest size", request, 400, "3101");
    let request = scene
        .transfer(|_| ())
        .header("x-much", &"x".repeat(HEADERS_MAX));
    refused!(scene, "headers that are too large", request, 400, "3104");
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_members_are_refused_with_their_code() {
    let mut scene = Scene::open().await;
    for member in [
        "transferId",
        "payerFsp",
        "payeeFsp",
        "amount",
        "condition",
        "expiration",
    ] {
        let what = format!("a transfer without {member}");
        refused!(scene, &what, scene.transfer(remove(member)), 400, "3102");
    }
    for member in [
        "quoteId",
        "payer",
        "payee",
        "amountType",
        "amount",
        "transactionType",
    ] {
        let what = format!("a quote without {member}");
        refused!(scene, &what, scene.quote(remove(member)), 400, "3102");
    }
    for amount in [
        "1.50", "-1", "+1", "01", "1.", ".5", "1e3", "1,5", "", " 1", "NaN", "1.23456",
    ] {
        let what = format!("the amount {amount:?}");
        let request = scene.transfer(|t| t["amount"]["amount"] = amount.into());
        refused!(scene, &what, request, 400, "3101");
    }
    let values = [
        ("transferId", json!("B51EC534-EE48-4575-B6A9-EAD2955B8069")),
        ("transferId", json!(7)),
        ("amount", json!("12.5 USD")),
        ("payeeFsp", json!("f".repeat(33))),
        ("payeeFsp", json!("")),
        ("payeeFsp", json!("a\u{0}b")),
        ("condition", json!("A".repeat(42))),
        ("condition", json!("+".repeat(43))),
        ("expiration", json!("2099-01-01T00:00:00Z")),
        ("expiration", json!("2099-02-30T00:00:00.000Z")),
        ("expiration", json!(4_070_908_800_000_u64)),
        ("ilpPacket", json!("not base64url!")),
        ("ilpPacket", json!("A".repeat(32_769))),
    ];
    for (member, value) in values {
        let what = format!("{member} = {value:.60}");
        let request = scene.transfer(|t| t[member] = value);
        refused!(scene, &what, request, 400, "3101");
    }
    for (currency, code) in [("XYZ", "3101"), ("usd", "3101"), ("EUR", "3100")] {
        let what = format!("the currency {currency}");
        let request = scene.transfer(|t| t["amount"]["currency"] = currency.into());
        refused!(scene, &what, request, 400, code);
    }
    for (currency, amount) in [("USD", "1.234"), ("RWF", "1.5")] {
        let what = format!("{amount} {currency}");
        let money = json!({ "currency": currency, "amount": amount });
        let request = scene.transfer(|t| t["amount"] = money);
        refused!(scene, &what, request, 400, "3101");
    }
    for (count, code) in [(0, "3102"), (17, "3103")] {
        let what = format!("{count} extensions");
        let extension = vec![json!({ "key": "k", "value": "v" }); count];
        let list = json!({ "extension": extension });
        let request = scene.transfer(|t| t["extensionList"] = list);
        refused!(scene, &what, request, 400, code);
    }
    for state in ["committed", "DONE", ""] {
        let what = format!("the transfer state {state:?}");
        let request = scene.fulfilment(|f| f["transferState"] = state.into());
        refused!(scene, &what, request, 400, "3101");
    }
    let nothing = scene.transfer(|t| t["amount"]["amount"] = "0".into());
    refused!(scene, "a transfer of nothing", nothing, 400, "3100");
    let stolen = scene.transfer(|t| t["payerFsp"] = PAYEE.into());
    refused!(
        scene,
        "a payerFsp that is not the source",
        stolen,
        400,
        "3100"
    );
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_the_schemes_state_is_refused_by_a_callback() {
    let scene = Scene::open().await;
    let world = &scene.world;
    let payer = world.payer();
    let callback = async |what: &str, request: RawRequest<'_>, path: String, code: &str| {
        let answer = request.send().await.unwrap();
        assert!(answer.status.is_success(), "{what}: {answer:?}");
        let path = format!("{path}/error");
        let found = payer
            .expect_callback(Method::PUT, &path, CALLBACK_WITHIN)
            .await;
        let found = found.unwrap_or_else(|e| panic!("{what}: {e}"));
        let told = found.json();
        assert_eq!(
            told["errorInformation"]["errorCode"], code,
            "{what}: {told}"
        );
        assert_eq!(found.header("fspiop-destination"), PAYER, "{what}");
    };
    type Spoil = fn(&mut Value);
    let transfers: [(&str, &str, Spoil); 3] = [
        ("an unknown payee FSP", "3203", |t| {
            t["payeeFsp"] = "nobody".into()
        }),
        ("an expired transfer", "3303", |t| {
            t["expiration"] = LONG_AGO.into()
        }),
        ("a transfer to oneself", "3100", |t| {
            t["payeeFsp"] = PAYER.into()
        }),
    ];
    for (what, code, change) in transfers {
        let id = payer.new_id();
        let mut destination = String::new();
        let body = transfer(&id, |t| {
            change(t);
            destination = t["payeeFsp"].as_str().unwrap().to_owned();
        });
        let body = body.to_string();
        let request = payer
            .raw(Method::POST, "/transfers")
            .to(&destination)
            .body(body);
        callback(what, request, format!("/transfers/{id}"), code).await;
    }
    let id = payer.new_id();
    let body = quote(&id, |q| q["expiration"] = LONG_AGO.into()).to_string();
    let request = payer.raw(Method::POST, "/quotes").to(PAYEE).body(body);
    callback("an expired quote", request, format!("/quotes/{id}"), "3302").await;
    let id = payer.new_id();
    let body = quote(&id, |q| {
        q["payee"]["partyIdInfo"]["fspId"] = "nobody".into()
    });
    let body = body.to_string();
    let request = payer.raw(Method::POST, "/quotes").to("nobody").body(body);
    callback(
        "a quote of an unknown FSP",
        request,
        format!("/quotes/{id}"),
        "3201",
    )
    .await;
    for (resource, code) in [("transfers", "3208"), ("quotes", "3205")] {
        let path = format!("/{resource}/{}", payer.new_id());
        let request = payer.raw(Method::GET, &path);
        callback(&format!("unknown {resource}"), request, path, code).await;
    }
    let path = "/parties/MSISDN/999".to_owned();
    let request = payer.raw(Method::GET, &path);
    callback("an unknown party", request, path.clone(), "3204").await;
    let request = payer.raw(Method::GET, &path).to("nobody");
    callback("a lookup at an unknown FSP", request, path, "3201").await;
    let path = format!("/transfers/{}", payer.new_id());
    let body = json!({ "fulfilment": "A".repeat(43), "transferState": "COMMITTED" });
    let request = payer
        .raw(Method::PUT, &path)
        .to(PAYEE)
        .body(body.to_string());
    callback("a fulfilment of an unknown transfer", request, path, "3208").await;
    scene.close().await;
}

/// A request to an FSP without callback address ends soon, with an error to its sender.
#[tokio::test(flavor = "multi_thread")]
async fn request_to_an_fsp_without_endpoint_is_answered_unreachable() {
    let scene = Scene::open().await;
    let payer = scene.world.payer();
    scene.world.payee().stop().await;
    let id = payer.new_id();
    let party = format!("/parties/MSISDN/{}", scene.world.party(PAYEE).identifier());
    let requests = [
        (
            payer
                .raw(Method::POST, "/quotes")
                .to(PAYEE)
                .body(quote(&id, |_| ()).to_string()),
            format!("/quotes/{id}/error"),
        ),
        (payer.raw(Method::GET, &party), format!("{party}/error")),
    ];
    for (request, path) in requests {
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status, StatusCode::ACCEPTED, "{path}: {answer:?}");
        let told = payer.expect_callback(Method::PUT, &path, CALLBACK_WITHIN);
        let told = told.await.unwrap_or_else(|e| panic!("{path}: {e}"));
        assert_eq!(
            error_code(told.json().to_string().as_bytes()),
            "1001",
            "{path}"
        );
    }
    scene.close().await;
}

/// There is no callback address for an error. That must not affect others.
#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_gets_no_further_than_the_door() {
    let scene = Scene::open().await;
    let payer = scene.world.payer();
    let stranger = "stranger";
    let id = payer.new_id();
    let body = transfer(&id, |t| t["payerFsp"] = stranger.into()).to_string();
    let stranger_quote = quote(&id, |q| {
        q["payer"]["partyIdInfo"]["fspId"] = stranger.into();
    });
    let stranger_quote = stranger_quote.to_string();
    let requests = [
        payer.raw(Method::POST, "/transfers").to(PAYEE).body(body),
        payer.raw(Method::GET, &format!("/transfers/{id}")),
        payer.raw(Method::GET, "/parties/MSISDN/27713803900"),
        payer
            .raw(Method::POST, "/quotes")
            .to(PAYEE)
            .body(stranger_quote),
    ];
    for request in requests {
        let answer = request
            .header("fspiop-source", stranger)
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{answer:?}");
        assert_eq!(error_code(&answer.body), "3200");
    }
    let payment = scene.world.pay("1", "USD").await;
    assert!(payment.is_committed(), "{payment:#?}");
    scene.world.host.nothing_failed().await.unwrap();
    let books = scene.world.settled_books().await.unwrap();
    assert_eq!(books.state(&id), "", "nothing is stored for a stranger");
    assert_eq!(books.problems().unwrap(), [""; 0]);
}

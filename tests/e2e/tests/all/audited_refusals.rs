//! The audit log has who was refused: without proof of who they are, or without the right to what they want. Floods are
//! counted.

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method};
use rialto_simulator::client::HttpClient;
use rialto_simulator::pki::Authority;
use rialto_simulator::tls::FspTls;
use rialto_tests::office::{OFFICE, Office};
use rialto_tests::waiting::until;
use rialto_tests::world::{PAYEE, PAYER};
use rialto_tests::{RunningHost, TestScheme, World};
use serde_json::{Value, json};

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(30);
const PEOPLE: &[(&str, &str)] = &[("anna", r#""reader""#), ("switch", r#""context""#)];
/// How often a stranger tries.
const TRIES: u64 = 40;

/// The entries of an action, when there are so many.
pub async fn entries(office: &Office, action: &str, count: usize) -> Vec<Value> {
    let query = json!({ "action": action, "limit": 100 });
    let mut found = Vec::new();
    until(&format!("entries of {action}"), SOON, async || {
        let said = office.post(OFFICE, "/read-audit-log", &query).await?;
        found.clear();
        let items = said.body["items"].as_array().cloned().unwrap_or_default();
        found.extend(items.iter().map(|item| item["entry"].clone()));
        let is_there = found.len() >= count;
        Ok(is_there.then_some(()).ok_or(format!("{said:?}")))
    })
    .await
    .unwrap();
    found
}

/// Who was refused what, with what end.
pub fn told(entry: &Value) -> [&str; 4] {
    assert_eq!(entry["outcome"], "refused", "{entry}");
    [
        &entry["actor"]["kind"],
        &entry["actor"]["name"],
        &entry["writer"],
        &entry["about"],
    ]
    .map(|text| text.as_str().unwrap_or_default())
}

/// How many refusals entries tell of.
fn count(entries: &[Value]) -> u64 {
    let counts = entries.iter();
    counts
        .map(|entry| entry["details"]["count"].as_u64().unwrap_or(1))
        .sum()
}

async fn status(host: &RunningHost, token: &str, path: &str) -> u16 {
    let mut headers = HeaderMap::new();
    let value = HeaderValue::from_str(&format!("Bearer {token}")).unwrap();
    headers.insert("authorization", value);
    let uri = format!("{}{path}", host.url("operators").unwrap());
    let client = HttpClient::new(SOON);
    let sent = client.send(Method::GET, uri.parse().unwrap(), headers, Bytes::new());
    sent.await.unwrap().status.as_u16()
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_who_are_not_known_or_may_not_are_in_the_log() {
    let scheme = TestScheme::demo().unwrap();
    scheme.add_operators(PEOPLE).unwrap();
    let mut host = RunningHost::start(&scheme).unwrap();
    let office = Office::of(&scheme, &host, &["anna", "switch"]).unwrap();

    // What a component serves, and what the host itself does.
    for _ in 0..TRIES / 2 {
        assert_eq!(status(&host, "guessed-secret", "/participants").await, 401);
        assert_eq!(status(&host, "guessed-secret", "/releases").await, 401);
    }
    let unknown = entries(&office, "authentication.refused", 1).await;
    let stranger = "address 127.0.0.1";
    assert_eq!(
        told(&unknown[0]),
        ["client", stranger, "host", "GET /participants"]
    );

    // A person without the privilege: refused by the host before the component is asked, also where nothing changes.
    let said = office
        .post("anna", "/participants", &json!({}))
        .await
        .unwrap();
    assert_eq!(said.status, 403, "{said:?}");
    let said = office
        .send("switch", "GET", "/releases", &[], &Value::Null)
        .await
        .unwrap();
    assert_eq!(said.status, 403, "{said:?}");
    let refused = entries(&office, "authorization.refused", 2).await;
    assert_eq!(
        told(&refused[0]),
        ["operator", "anna", "host", "POST /participants"]
    );
    assert_eq!(
        told(&refused[1]),
        ["operator", "switch", "host", "GET /releases"]
    );

    // The flood has two entries in a minute, whatever it sends, and none of it is lost.
    host.stop().unwrap();
    host.restart().unwrap();
    let office = Office::of(&scheme, &host, &[]).unwrap();
    let all = entries(&office, "authentication.refused", 2).await;
    assert_eq!(count(&all), TRIES);
    assert!(all.len() <= 4, "{all:?}");
    let text = serde_json::to_string(&all).unwrap();
    assert!(!text.contains("guessed-secret"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_are_not_who_they_say_are_in_the_log() {
    let (world, pki) = World::secure().await.unwrap();
    let office = Office::of(&world.scheme, &world.host, &[]).unwrap();
    let uri = world.host.url("fsps").unwrap();
    let uri: http::Uri = format!("{uri}/parties/MSISDN/27710000000").parse().unwrap();
    let ask = async |tls: &FspTls, address: &str| {
        let address: IpAddr = address.parse().unwrap();
        let media = "application/vnd.interoperability.parties+json;version=1.1";
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("accept", media),
            ("content-type", media),
            ("date", "Tue, 15 Nov 2044 08:12:31 GMT"),
            ("fspiop-source", PAYEE),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        let client = HttpClient::from_address(SOON, tls.client().unwrap(), Some(address));
        let sent = client.send(Method::GET, uri.clone(), headers, Bytes::new());
        sent.await.ok().map(|answer| answer.status.as_u16())
    };
    // A certificate of another authority.
    let stranger = Authority::new("an authority for tests").unwrap();
    let forged = FspTls {
        ca: pki.authority.certificate(),
        ..stranger.fsp(&stranger.issue(PAYER).unwrap())
    };
    assert_eq!(ask(&forged, "127.0.0.2").await, None);
    let refused = entries(&office, "authentication.refused", 1).await;
    let who = "address 127.0.0.2";
    assert_eq!(told(&refused[0]), ["client", who, "host", "TLS handshake"]);
    assert!(
        refused[0]["note"]
            .as_str()
            .unwrap()
            .contains("invalid peer certificate"),
        "{refused:?}"
    );
    // Its own certificate, and another's name.
    assert_eq!(ask(&pki.fsp(PAYER).unwrap(), "127.0.0.1").await, Some(400));
    let refused = entries(&office, "sender.refused", 1).await;
    let wanted = "queryParty";
    assert_eq!(
        told(&refused[0]),
        ["client", PAYER, "fsp-interop-api", wanted]
    );
    assert!(
        refused[0]["note"].as_str().unwrap().contains(PAYEE),
        "{refused:?}"
    );
    world.host.nothing_failed().await.unwrap();
}

//! Texts that participants choose run nowhere, and the console's files are what they say.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use http::{HeaderMap, Method};
use rialto_simulator::client::HttpClient;
use rialto_tests::world::PAYER;
use serde_json::{Value, json};

use super::{SOON, Scene};

/// A text that sets `hacked` wherever it becomes a part of a page.
const EVIL: &str = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>";

#[tokio::test(flavor = "multi_thread")]
async fn texts_of_participants_run_nowhere() {
    let scene = Scene::begin().await;
    let body = json!({
        "id": "evilfsp", "name": EVIL, "type": "DFSP", "reason": EVIL,
        "endpoints": [{ "type": "FSPIOP", "value": "http://127.0.0.1:9" }],
        "accounts": [{ "currency": "USD", "name": EVIL }],
    });
    let asked = scene
        .office
        .post("anna", "/participants", &body)
        .await
        .unwrap();
    assert_eq!(asked.status, 201, "{asked:?}");
    let payment = scene.world.pay("3", "USD").await;
    let funds = json!({
        "type": "DEPOSIT", "accountId": "USD", "amount": { "currency": "USD", "amount": "1" },
        "externalReference": EVIL, "reason": EVIL,
    });
    let path = format!("/participants/{PAYER}/funds");
    let asked = scene.office.post("anna", &path, &funds).await.unwrap();
    assert_eq!(asked.status, 201, "{asked:?}");

    let desk = scene.signed_in("ben").await;
    for page in ["participants", "participants/evilfsp", "requests"] {
        desk.open(page).await;
        desk.shows("onerror=window.hacked=1").await;
    }
    desk.open(&format!("story/{}", payment.transfer_id)).await;
    desk.shows("What happened").await;
    desk.open(&format!(
        "story/{}",
        "%3Cimg%20src%3Dx%20onerror%3Dwindow.hacked%3D1%3E"
    ))
    .await;
    desk.shows("Nothing is known of this id.").await;
    assert_eq!(desk.0.value("window.hacked === undefined").await, true);
    let images = desk.0.value("document.images.length").await;
    assert_eq!(images, json!(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_the_console_are_bound_to_this_host() {
    let scene = Scene::begin().await;
    let client = HttpClient::new(SOON);
    let get = async |path: &str, headers: HeaderMap| {
        let uri = scene.url(path).parse().unwrap();
        client
            .send(Method::GET, uri, headers, bytes::Bytes::new())
            .await
            .unwrap()
    };
    let page = get("/console", HeaderMap::new()).await;
    let text = String::from_utf8(page.body.to_vec()).unwrap();
    assert_eq!(page.status, 200, "{text}");
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(
        policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"),
        "{policy}"
    );
    assert!(!policy.contains("unsafe"), "{policy}");
    assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    for inline in ["<style", " style=", "onclick", "javascript:", "<script>"] {
        assert!(!text.contains(inline), "{inline}: {text}");
    }
    let (_, rest) = text.split_once("src=\"").unwrap();
    let (script, _) = rest.split_once('"').unwrap();
    let mut gzip = HeaderMap::new();
    gzip.insert("accept-encoding", "gzip".parse().unwrap());
    let small = get(script, gzip).await;
    assert_eq!(small.headers["content-encoding"], "gzip");
    assert!(
        small.headers["cache-control"]
            .to_str()
            .unwrap()
            .contains("immutable")
    );
    let whole = get(script, HeaderMap::new()).await;
    assert!(!whole.headers.contains_key("content-encoding"));
    assert!(small.body.len() < whole.body.len() / 2);
    for nothing in [
        "/console/none.js",
        "/console/..%2FCargo.toml",
        "/console/.gitignore",
    ] {
        let answer = get(nothing, HeaderMap::new()).await;
        let problem: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(
            (answer.status.as_u16(), &problem["status"]),
            (404, &json!(404)),
            "{nothing}"
        );
    }
}

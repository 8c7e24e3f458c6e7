//! Texts that participants choose run nowhere, and the console's files are what they say.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use http::{HeaderMap, Method};
use rialto_simulator::client::HttpClient;
use rialto_tests::messages::quote;
use rialto_tests::waiting::until;
use rialto_tests::world::{PAYEE, PAYER};
use serde_json::{Value, json};

use super::{Desk, SOON, Scene};

/// A text that sets `hacked` wherever it becomes a part of a page.
const EVIL: &str = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>";

/// A shorter one.
const IMAGE: &str = "<img src=x onerror=window.hacked=1>";
/// The same in an address.
const ENCODED: &str = "%3Cimg%20src%3Dx%20onerror%3Dwindow.hacked%3D1%3E";

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
    // Everything that can be said about a participant: reasons, notes, names of accounts, labels.
    let path = format!("/participants/{PAYER}");
    for (below, body) in [
        (
            "accounts/USD/limit-updates",
            json!({ "limit": null, "reason": EVIL }),
        ),
        (
            "accounts/USD/threshold-updates",
            json!({ "threshold": null, "reason": EVIL }),
        ),
        (
            "state-updates",
            json!({ "state": "DISABLED", "reason": EVIL }),
        ),
        (
            "endpoint-updates",
            json!({ "reason": EVIL, "endpoints": [{ "type": "FSPIOP", "value": format!("http://127.0.0.1:9/{ENCODED}") }] }),
        ),
    ] {
        let path = format!("{path}/{below}");
        let asked = scene.office.post("anna", &path, &body).await.unwrap();
        // A threshold of none is no change; its refusal is in the audit log.
        if asked.status != 201 {
            continue;
        }
        let decision = json!({ "decision": "REJECT", "note": EVIL });
        let path = format!("{path}/{}/approval", asked.body["id"].as_str().unwrap());
        let said = scene.office.post("ben", &path, &decision).await.unwrap();
        assert_eq!(said.status, 200, "{said:?}");
    }
    let label = json!({ "participant": PAYER, "label": IMAGE });
    let asked = scene.office.post("anna", "/app-register", &label).await;
    assert_eq!(asked.unwrap().status, 201);
    desk.open(&format!("participants/{PAYER}")).await;
    desk.shows("onerror=window.hacked=1").await;
    desk.press("main", "All changes").await;
    desk.shows("each names the hash of the one before it").await;
    desk.open(&format!("story/{}", payment.transfer_id)).await;
    desk.shows("What happened").await;
    desk.open(&format!(
        "story/{}",
        "%3Cimg%20src%3Dx%20onerror%3Dwindow.hacked%3D1%3E"
    ))
    .await;
    desk.shows("Nothing is known of this id.").await;
    unharmed(&desk).await;
}

/// Nothing of a text has become a part of the page.
async fn unharmed(desk: &Desk) {
    assert_eq!(desk.0.value("window.hacked === undefined").await, true);
    let parts =
        "document.images.length + document.querySelectorAll('main script, main iframe').length";
    assert_eq!(desk.0.value(parts).await, json!(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_of_messages_run_nowhere() {
    let scene = Scene::begin().await;
    let world = &scene.world;
    let extensions = json!({ "extension": [{ "key": "note", "value": EVIL }] });
    // A quote with texts wherever the API has room for them.
    let quote_id = world.payer().new_id();
    let quote = quote(&quote_id, |quote| {
        quote["note"] = json!(EVIL);
        quote["extensionList"] = extensions.clone();
        quote["payer"]["name"] = json!(EVIL);
        quote["payer"]["personalInfo"] = json!({ "complexName": { "firstName": "Eve" } });
    });
    let sent = world.payer().raw(Method::POST, "/quotes").to(PAYEE);
    let sent = sent.body(quote.to_string()).send().await.unwrap();
    assert_eq!(sent.status, 202, "{sent:?}");
    // A transfer that the payee declines with such a text.
    world
        .payee_behaves(r#"{"transfer":{"delay":"30s"}}"#)
        .unwrap();
    let (payer, request) = (world.payer().clone(), world.request("4", "USD"));
    let payment = tokio::spawn(async move { payer.pay(&request).await });
    let transfer = until("a prepared transfer", SOON, async || {
        let all = scene.office.get("rita", "/transfers").await?;
        let one = &all["items"][0]["transferId"];
        Ok(one
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| all.to_string()))
    })
    .await
    .unwrap();
    let error = json!({ "errorInformation": {
        "errorCode": "5104", "errorDescription": EVIL, "extensionList": extensions,
    } });
    let path = format!("/transfers/{transfer}/error");
    let sent = world.payee().raw(Method::PUT, &path).to(PAYER);
    let sent = sent.body(error.to_string()).send().await.unwrap();
    assert_eq!(sent.status, 200, "{sent:?}");
    payment.await.unwrap();
    // An address with such a text, which is refused or looked up.
    let path = format!("/parties/MSISDN/{ENCODED}");
    let asked = world.payer().raw(Method::GET, &path).send().await.unwrap();
    assert!(asked.status.as_u16() < 500, "{asked:?}");

    let desk = scene.signed_in("ben").await;
    let about = |page: &str, id: &str| format!("{page}/{id}");
    let mut pages = vec![about("story", &transfer), about("story", &quote_id)];
    let named = ["story", "ledger", "settlement", "participants"];
    pages.extend(named.map(|page| about(page, ENCODED)));
    let lists = ["transfers", "live", "deliveries", "audit", "settlement"];
    pages.extend(lists.map(str::to_owned));
    for page in pages {
        desk.open(&page).await;
        desk.has("main #title").await;
        desk.has("main:not(:has(.loading))").await;
        unharmed(&desk).await;
    }
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

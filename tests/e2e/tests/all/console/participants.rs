//! Every request about a participant, asked for by one person in one browser and decided by another one in another.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use rialto_tests::waiting::until;
use rialto_tests::world::{PAYEE, PAYER};
use serde_json::{Value, json};

use super::{Desk, SOON, Scene};
use crate::certificates::{fingerprint, requested};

const USD: &str = "article[aria-label=USD]";
const SUMMARY: &str = "main .summary";
const WHY: (&str, &str) = ("reason", "as agreed");

struct Two {
    scene: Scene,
    maker: Desk,
    checker: Desk,
}

impl Two {
    async fn begin() -> Self {
        Self::of(Scene::begin().await).await
    }

    async fn of(scene: Scene) -> Self {
        let (maker, checker) = (scene.signed_in("anna").await, scene.signed_in("ben").await);
        Self {
            scene,
            maker,
            checker,
        }
    }

    /// The maker asks on the page of a participant, as it is now: a request about an earlier version is refused.
    async fn ask(&self, id: &str, within: &str, words: &str, fields: &[(&str, &str)]) {
        self.fresh(id).await;
        self.maker.ask(within, words, fields).await;
    }

    /// The maker's page of a participant, read anew.
    async fn fresh(&self, id: &str) {
        self.maker.open("participants").await;
        self.maker.has("main input[type=search]").await;
        self.maker.open(&format!("participants/{id}")).await;
        self.maker.has(USD).await;
    }

    /// The maker has asked: the checker decides on the page of requests.
    async fn decided(&self, kind: &str, about: &str, decision: &str) {
        self.maker
            .shows("The request waits for another operator.")
            .await;
        self.maker.closed().await;
        self.checker.open("requests").await;
        let card = format!("article[aria-label='{kind}, {about}']");
        self.checker.has(&card).await;
        self.checker.press(&card, decision).await;
        self.checker.press("dialog", decision).await;
        self.checker.closed().await;
        let gone = format!("document.querySelector({card:?}) === null");
        let look = async || {
            let is_gone = self.checker.0.value(&gone).await == Value::Bool(true);
            Ok(if is_gone {
                Ok(())
            } else {
                Err(self.checker.text().await)
            })
        };
        until(&format!("no request {card}"), SOON, look)
            .await
            .unwrap();
    }

    async fn participant(&self, id: &str) -> Value {
        let path = format!("/participants/{id}");
        self.scene.office.get("rita", &path).await.unwrap()
    }

    /// Wait until a part of a participant has a value.
    async fn becomes(&self, id: &str, pointer: &str, value: Value) {
        let look = async || {
            let participant = self.participant(id).await;
            let is = participant.pointer(pointer).cloned().unwrap_or_default();
            Ok(if is == value {
                Ok(())
            } else {
                Err(participant.to_string())
            })
        };
        until(&format!("{id}{pointer}"), SOON, look).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn participant_is_added_changed_and_disabled_by_two_persons() {
    let two = Two::begin().await;
    let callback = format!(
        "http://127.0.0.1:{}",
        two.scene.world.scheme.callbacks()[PAYEE]
    );
    two.maker.open("participants").await;
    two.maker.press("main", "New participant").await;
    for (name, text) in [
        ("id", "newfsp"),
        ("name", "New Bank"),
        ("url", callback.as_str()),
        ("currency-0", "USD"),
        ("cap-0", "5000"),
        ("threshold-0", "100"),
        WHY,
    ] {
        two.maker.fill(name, text).await;
    }
    two.maker.shows("5,000.00 USD").await;
    two.maker.press("dialog", "New participant").await;
    two.decided("new participant", "newfsp", "Approve").await;
    two.becomes("newfsp", "/state", json!("APPROVED")).await;
    two.becomes("newfsp", "/accounts/0/limit/value/amount", json!("5000"))
        .await;

    let maker = &two.maker;
    let fields = [("currency", "RWF"), ("cap", "70"), WHY];
    two.ask("newfsp", SUMMARY, "Open an account", &fields).await;
    two.decided("new account", "newfsp", "Approve").await;
    two.becomes("newfsp", "/accounts/1/currency", json!("RWF"))
        .await;

    // The tried endpoint is the one of another FSP, so that somebody answers.
    let other = format!(
        "http://127.0.0.1:{}",
        two.scene.world.scheme.callbacks()[PAYER]
    );
    two.fresh("newfsp").await;
    maker.press(SUMMARY, "Another endpoint").await;
    maker.has("dialog [name=url]").await;
    clear(maker, "dialog [name=url]").await;
    maker.fill("url", &other).await;
    maker.fill(WHY.0, WHY.1).await;
    maker.press("dialog", "Another endpoint").await;
    two.decided("endpoints", "newfsp", "Approve").await;
    two.becomes("newfsp", "/endpoints/0/value", json!(other))
        .await;

    two.ask("newfsp", SUMMARY, "Ask to disable", &[WHY]).await;
    two.decided("state", "newfsp", "Reject").await;
    two.becomes("newfsp", "/state", json!("APPROVED")).await;
    two.ask("newfsp", SUMMARY, "Ask to disable", &[WHY]).await;
    two.decided("state", "newfsp", "Approve").await;
    two.becomes("newfsp", "/state", json!("DISABLED")).await;
    two.ask("newfsp", SUMMARY, "Ask to enable", &[WHY]).await;
    two.decided("state", "newfsp", "Approve").await;
    two.becomes("newfsp", "/state", json!("APPROVED")).await;

    maker.press("main", "All changes").await;
    maker
        .shows("each names the hash of the one before it")
        .await;
    assert_eq!(maker.0.complaints().await, [""; 0]);
}

/// Empty a field, as a person does.
async fn clear(desk: &Desk, selector: &str) {
    let by = json!({ "using": "css selector", "value": selector });
    let found = desk.0.command("/element", by).await;
    let id = found.as_object().unwrap().values().next().unwrap();
    let path = format!("/element/{}/clear", id.as_str().unwrap());
    desk.0.command(&path, json!({})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn account_is_changed_by_two_persons() {
    let two = Two::begin().await;
    let maker = &two.maker;
    let account = "/accounts/0";

    let fields = [("amount", "7000"), WHY];
    two.ask(PAYER, USD, "Another cap", &fields).await;
    two.decided("net debit cap", PAYER, "Approve").await;
    let cap = format!("{account}/limit/value/amount");
    two.becomes(PAYER, &cap, json!("7000")).await;
    two.fresh(PAYER).await;
    maker.press(USD, "Another cap").await;
    maker.has("dialog [name=none]").await;
    maker.0.click("dialog [name=none]").await;
    maker.fill(WHY.0, WHY.1).await;
    maker.press("dialog", "Another cap").await;
    two.decided("net debit cap", PAYER, "Approve").await;
    two.becomes(PAYER, &cap, Value::Null).await;

    let fields = [("amount", "999"), WHY];
    two.ask(PAYER, USD, "Another threshold", &fields).await;
    two.decided("warning threshold", PAYER, "Approve").await;
    let threshold = format!("{account}/threshold/amount");
    two.becomes(PAYER, &threshold, json!("999")).await;

    let fields = [("amount", "25.50"), ("reference", "BANK-1"), WHY];
    two.ask(PAYER, USD, "Deposit or withdraw", &fields).await;
    two.decided("funds", PAYER, "Approve").await;
    maker.shows("1,000,025.50 USD").await;
    two.fresh(PAYER).await;
    maker.press(USD, "Deposit or withdraw").await;
    maker.choose("type", "WITHDRAWAL").await;
    for (name, text) in [("amount", "5.50"), ("reference", "BANK-2"), WHY] {
        maker.fill(name, text).await;
    }
    maker.press("dialog", "Deposit or withdraw").await;
    two.decided("funds", PAYER, "Approve").await;
    maker.shows("1,000,020.00 USD").await;

    let fields = [("amount", "20"), WHY];
    two.ask(PAYER, USD, "Set aside as cover", &fields).await;
    two.decided("liquidity cover", PAYER, "Approve").await;
    two.becomes(
        PAYER,
        &format!("{account}/cover/amount/amount"),
        json!("20"),
    )
    .await;
    two.fresh(PAYER).await;
    maker.press(USD, "Set aside as cover").await;
    maker.choose("by", "percentage").await;
    for (name, text) in [("percentage", "10"), WHY] {
        maker.fill(name, text).await;
    }
    maker.press("dialog", "Set aside as cover").await;
    two.decided("liquidity cover", PAYER, "Approve").await;
    let tenth = json!("100002");
    two.becomes(PAYER, &format!("{account}/cover/amount/amount"), tenth)
        .await;

    two.ask(PAYER, USD, "Disable the account", &[WHY]).await;
    two.decided("state of an account", PAYER, "Approve").await;
    two.becomes(PAYER, &format!("{account}/status"), json!("DISABLED"))
        .await;
    // What the host refuses is told in its words, and nothing has changed.
    maker
        .ask(USD, "Set aside as cover", &[("amount", "1"), WHY])
        .await;
    maker.shows("The host refused this").await;
    maker.shows("Nothing was changed.").await;
    assert_eq!(two.participant(PAYER).await["openRequests"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn certificate_is_ordered_issued_and_revoked() {
    let authority = "[certificates]\nprovider = \"software\"\nreference = \"secrets/authority.reference\"\n\
                     authority = \"tls/authority.pem\"\n";
    let two =
        Two::of(Scene::with(|scheme| scheme.add_host_settings(authority).unwrap()).await).await;
    let (maker, checker) = (&two.maker, &two.checker);
    let folder = tempfile::tempdir().unwrap();
    let (order, _) = requested(folder.path(), "/CN=payerfsp", &[]);
    let key = fingerprint(folder.path());
    let fields = [("certificateRequest", order.as_str()), WHY];
    two.ask(PAYER, "main", "Order a certificate", &fields).await;
    // Who approves compares the key with the participant.
    checker.open("requests").await;
    checker.shows(&key).await;
    two.decided("certificate", PAYER, "Approve").await;
    two.fresh(PAYER).await;
    let table = "[aria-label=Certificates]";
    maker.has(table).await;
    maker.shows("valid").await;
    maker.ask(table, "Revoke", &[WHY]).await;
    maker.shows("The certificate is revoked.").await;
    maker.shows("by anna: as agreed").await;
    let path = format!("/participants/{PAYER}/certificates");
    let all = two.scene.office.get("rita", &path).await.unwrap();
    assert_eq!(all["items"][0]["revocation"]["by"], "anna", "{all}");
    assert_eq!(all["items"][0]["fingerprint"], key.as_str(), "{all}");
}

#[tokio::test(flavor = "multi_thread")]
async fn application_is_asked_for_approved_and_revoked() {
    let two = Two::begin().await;
    let maker = &two.maker;
    maker.open(&format!("participants/{PAYER}")).await;
    maker
        .ask("main", "New application", &[("label", "Core banking")])
        .await;
    maker.shows("The secret is shown this once.").await;
    let secret = "[...document.querySelectorAll('dialog code')].at(-1).innerText.length";
    assert_eq!(maker.0.value(secret).await, json!(64));
    maker.press("dialog", "Close").await;
    two.decided("application", PAYER, "Approve").await;
    maker.open("participants").await;
    maker.open(&format!("participants/{PAYER}")).await;
    maker.has("[aria-label=Applications]").await;
    maker.ask("[aria-label=Applications]", "Revoke", &[]).await;
    maker.shows("The application is revoked.").await;
    let all = two.scene.office.get("rita", "/app-register").await.unwrap();
    assert_eq!(all["items"][0]["state"], "REVOKED", "{all}");
}

#[tokio::test(flavor = "multi_thread")]
async fn source_addresses_and_certificates_are_refused_where_nobody_proves_anything() {
    let two = Two::begin().await;
    let maker = &two.maker;
    maker.open(&format!("participants/{PAYER}")).await;
    let fields = [("addresses", "192.0.2.0/24"), WHY];
    maker.ask(SUMMARY, "Other source addresses", &fields).await;
    maker.shows("do not prove who they are").await;
    maker.press("dialog", "Cancel").await;
    let fields = [("certificateRequest", "no request"), WHY];
    maker.ask("main", "Order a certificate", &fields).await;
    maker.shows("The host refused this").await;
    maker.press("dialog", "Cancel").await;
    // One's own request cannot be decided on the participant's page either.
    maker
        .ask(USD, "Another threshold", &[("amount", "5"), WHY])
        .await;
    maker.shows("You have asked for this").await;
    let decisions = maker.buttons().await;
    assert!(
        !decisions.iter().any(|words| words == "Approve"),
        "{decisions:?}"
    );
    two.checker.open("requests").await;
    two.checker.shows("5.00 USD").await;
}

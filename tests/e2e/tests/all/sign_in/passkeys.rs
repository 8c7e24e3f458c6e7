//! The pages for passkeys, in a browser with a virtual authenticator.

use http::Method;
use rialto_tests::waiting::until;
use rialto_tests::world::PAYER;
use rialto_webauthn::authenticator::Authenticator;
use serde_json::{Value, json};

use super::browser::Browser;
use super::provider::Provider;
use super::{Scene, problem, scheme};
use crate::console::Desk;
use crate::passkeys::deposit;
use crate::webdriver::{Chromium, SOON};

/// Ben signs in. The robot has a token in a file: it asks for what ben approves, and approves his passkey.
const PEOPLE: &str = r#"
[passkeys]
required = false

[operators.ben]
roles = ["reader", "checker"]
subject = "b-7"

[operators.robot]
roles = ["reader", "maker", "checker"]

"#;

/// The text of the page, once it has these words.
async fn page_with(browser: &Chromium, words: &str) -> String {
    until(words, SOON, async || {
        let text = browser.value("document.body.innerText").await;
        let text = text.as_str().unwrap_or_default().to_owned();
        Ok(if text.contains(words) {
            Ok(text)
        } else {
            Err(text)
        })
    })
    .await
    .unwrap()
}

impl Scene {
    /// Send JSON as the robot.
    async fn by_robot(&self, path: &str, body: &Value) -> Value {
        let robot = self.robot();
        let token = robot.trim_start_matches("Bearer ");
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let said = self.with(token, Method::POST, path, &body).await;
        assert!((200..300).contains(&said.status), "{path}: {said:?}");
        said.json()
    }

    /// Register a passkey for the robot: its id.
    async fn robots_passkey(&self) -> String {
        let begun = self.by_robot("/passkeys/registrations", &Value::Null).await;
        let credential =
            Authenticator::new(1, "localhost", &self.address).create(&begun["publicKey"]);
        let body = json!({ "id": begun["id"], "label": "<b>robot</b>", "credential": credential });
        let made = self.by_robot("/passkeys", &body).await;
        made["id"].as_str().unwrap().to_owned()
    }

    async fn passkeys(&self) -> Value {
        let robot = self.robot();
        let token = robot.trim_start_matches("Bearer ");
        self.with(token, Method::GET, "/passkeys", "").await.json()
    }
}

/// A browser that is signed in as ben: the one with a screen, and the one with his cookie.
async fn signed_in(scene: &Scene) -> (Chromium, Browser) {
    let mut cookies = Browser::new();
    let landed = cookies.sign_in(&scene.url("/sign-in"), "b-7").await;
    assert_eq!(landed.status, 303, "{landed:?}");
    let session = &cookies.cookies[&scene.address]["rialto-session"];
    let browser = Chromium::start(&scene.url("/health/live")).await;
    let cookie = json!({ "name": "rialto-session", "value": session });
    browser
        .command("/cookie", json!({ "cookie": cookie }))
        .await;
    (browser, cookies)
}

#[tokio::test(flavor = "multi_thread")]
async fn person_registers_a_passkey_and_confirms_with_it() {
    let (scheme, address) = scheme();
    // Browsers take passkeys for names alone.
    let address = address.replace("127.0.0.1", "localhost");
    let provider = Provider::start(&address);
    let mut scene = Scene::with_people(scheme, &address, &provider.issuer, PEOPLE);
    let page = [("accept", "text/html")];
    let nobody = Browser::new()
        .send(Method::GET, &scene.url("/passkeys"), &page, "")
        .await;
    assert_eq!(
        (nobody.status, nobody.header("location")),
        (303, "/sign-in?return=%2Fpasskeys")
    );

    let (browser, mut cookies) = signed_in(&scene).await;
    browser.authenticator(true).await;
    browser.go(&scene.url("/passkeys")).await;
    page_with(&browser, "You have none.").await;
    browser.write("#label", "blue key").await;
    browser.click("[data-action=register]").await;
    page_with(&browser, "waits for the approval of another person").await;
    let registered = scene.passkeys().await;
    let id = registered[0]["id"].as_str().unwrap();
    assert_eq!(
        (&registered[0]["person"], &registered[0]["label"]),
        (&"ben".into(), &"blue key".into())
    );
    scene
        .by_robot(&format!("/passkeys/{id}/approve"), &Value::Null)
        .await;
    let (from, to) = ("required = false", "required = true");
    scene.scheme.replace("rialto.toml", from, to).unwrap();
    scene.host.restart().unwrap();

    // Ben confirms an approval on its page.
    let path = format!("/participants/{PAYER}/funds");
    let asked = scene.by_robot(&path, &deposit("BANK-1")).await;
    let approve = format!("{path}/{}/approval", asked["id"].as_str().unwrap());
    let decision = json!({ "decision": "APPROVE" }).to_string();
    let refused = scene
        .act(&mut cookies, Method::POST, &approve, &decision)
        .await;
    assert_eq!(problem(&refused), "confirmation-required");
    let wanted = json!({ "method": "POST", "target": approve, "body": decision });
    let begun = scene
        .act(
            &mut cookies,
            Method::POST,
            "/confirmations",
            &wanted.to_string(),
        )
        .await
        .json();
    browser.go(begun["page"].as_str().unwrap()).await;
    let shown = page_with(&browser, "Confirm only what you have begun yourself").await;
    assert!(
        shown.contains(&format!("POST {approve}")) && shown.contains(&decision),
        "{shown}"
    );
    browser.click("[data-action=confirm]").await;
    page_with(&browser, "Confirmed. You can close this page.").await;
    let headers = [
        ("origin", scene.address.as_str()),
        ("content-type", "application/json"),
        ("x-rialto-confirmation", begun["id"].as_str().unwrap()),
    ];
    let approved = cookies
        .send(Method::POST, &scene.url(&approve), &headers, &decision)
        .await;
    assert_eq!(approved.status, 200, "{approved:?}");

    // He approves the passkey of the robot: the page begins, confirms and sends by itself.
    let robots = scene.robots_passkey().await;
    browser.go(&scene.url("/passkeys")).await;
    let shown = page_with(&browser, &robots).await;
    assert!(shown.contains("<b>robot</b>"), "{shown}");
    browser.click("[data-action=approve]").await;
    page_with(&browser, "None waits.").await;
    let all = scene.passkeys().await;
    let all = all.as_array().unwrap().iter();
    let approved: Vec<_> = all
        .map(|one| (&one["person"], &one["approvedBy"]))
        .collect();
    let (ben, robot): (Value, Value) = ("ben".into(), "robot".into());
    assert_eq!(approved, [(&ben, &robot), (&robot, &ben)]);

    // He ends his own.
    browser.click("[data-action=end]").await;
    browser.command("/alert/accept", json!({})).await;
    page_with(&browser, "You have none.").await;
    assert_eq!(scene.passkeys().await[0]["state"], "ENDED");
}

/// The windows of a browser, and the one that it does not look at.
async fn other_window(browser: &Chromium) -> String {
    let (_, own) = browser.send(Method::GET, "/window", &Value::Null).await;
    until("another window", SOON, async || {
        let (_, all) = browser
            .send(Method::GET, "/window/handles", &Value::Null)
            .await;
        let all = all.as_array().unwrap().clone();
        let other = all.iter().find(|handle| **handle != own);
        Ok(other
            .map(|handle| handle.as_str().unwrap().to_owned())
            .ok_or_else(|| format!("{all:?}")))
    })
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn approval_in_the_console_is_confirmed_with_a_passkey() {
    let (scheme, address) = scheme();
    let address = address.replace("127.0.0.1", "localhost");
    let provider = Provider::start(&address);
    let mut scene = Scene::with_people(scheme, &address, &provider.issuer, PEOPLE);
    let (browser, _) = signed_in(&scene).await;
    browser.resize(1280, 900).await;
    let device = browser.authenticator(true).await;
    browser.go(&scene.url("/passkeys")).await;
    page_with(&browser, "You have none.").await;
    browser.write("#label", "blue key").await;
    browser.click("[data-action=register]").await;
    page_with(&browser, "waits for the approval of another person").await;
    let registered = scene.passkeys().await;
    let approve = format!(
        "/passkeys/{}/approve",
        registered[0]["id"].as_str().unwrap()
    );
    scene.by_robot(&approve, &Value::Null).await;
    let (from, to) = ("required = false", "required = true");
    scene.scheme.replace("rialto.toml", from, to).unwrap();
    scene.host.restart().unwrap();
    let path = format!("/participants/{PAYER}/funds");
    let asked = scene.by_robot(&path, &deposit("BANK-1")).await;

    let desk = Desk(browser);
    desk.0.go(&scene.url("/console#/requests")).await;
    desk.press("article", "Approve").await;
    desk.press("dialog", "Approve").await;
    desk.shows("This approval must be confirmed with a passkey.")
        .await;
    // While it waits, what is confirmed cannot be changed.
    let is_fixed = "document.querySelector('dialog fieldset').disabled";
    assert_eq!(desk.0.value(is_fixed).await, true);
    desk.0.click("dialog .passkey a").await;

    // The page of the confirmation is in a window of its own, with the same authenticator.
    let own = desk.0.send(Method::GET, "/window", &Value::Null).await.1;
    let path = format!("{device}/credentials");
    let (_, credentials) = desk.0.send(Method::GET, &path, &Value::Null).await;
    let other = other_window(&desk.0).await;
    desk.0.command("/window", json!({ "handle": other })).await;
    let same = desk.0.authenticator(true).await;
    let credential = credentials[0].clone();
    desk.0
        .command(&format!("{same}/credential"), credential)
        .await;
    let shown = page_with(&desk.0, "Confirm only what you have begun yourself").await;
    assert!(shown.contains(asked["id"].as_str().unwrap()), "{shown}");
    desk.0.click("[data-action=confirm]").await;
    page_with(&desk.0, "Confirmed. You can close this page.").await;

    desk.0.command("/window", json!({ "handle": own })).await;
    desk.shows("It is approved.").await;
    desk.shows("No request waits for a decision.").await;
    let approved = scene.audited("confirm").await;
    assert_eq!((approved.len(), approved[0].0.as_str()), (1, "ben"));
}

#[tokio::test(flavor = "multi_thread")]
async fn approval_without_a_passkey_leads_to_registering_one() {
    let (scheme, address) = scheme();
    let address = address.replace("127.0.0.1", "localhost");
    let provider = Provider::start(&address);
    let people = PEOPLE.replace("required = false", "required = true");
    let scene = Scene::with_people(scheme, &address, &provider.issuer, &people);
    let path = format!("/participants/{PAYER}/funds");
    scene.by_robot(&path, &deposit("BANK-1")).await;
    let (browser, _) = signed_in(&scene).await;
    browser.resize(1280, 900).await;
    let desk = Desk(browser);
    desk.0.go(&scene.url("/console#/requests")).await;
    desk.press("article", "Approve").await;
    desk.press("dialog", "Approve").await;
    desk.shows("Register a passkey.").await;
    let led = "document.querySelector('dialog .problem a').getAttribute('href')";
    assert_eq!(desk.0.value(led).await, "/passkeys");
}

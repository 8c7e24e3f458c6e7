//! The operators' console with a session: who has signed in acts by the cookie, and it is over at once by a sign-out.

use http::Method;
use serde_json::json;

use super::browser::Browser;
use super::provider::Provider;
use super::{Scene, scheme};
use crate::console::Desk;
use crate::console::live::Stream;
use crate::webdriver::Chromium;

#[tokio::test(flavor = "multi_thread")]
async fn session_acts_in_the_console_until_it_is_signed_out() {
    let (scheme, address) = scheme();
    let provider = Provider::start(&address);
    let scene = Scene::of(scheme, &address, &provider.issuer);
    let desk = Desk(Chromium::start(&scene.url("/console")).await);
    desk.0.resize(1280, 900).await;
    desk.shows("Sign in with your provider").await;
    let led = "document.querySelector('a.button').getAttribute('href')";
    assert_eq!(desk.0.value(led).await, "/sign-in?return=%2Fconsole");

    let mut cookies = Browser::new();
    let landed = cookies.sign_in(&scene.url("/sign-in"), "anna").await;
    assert_eq!(landed.status, 303, "{landed:?}");
    let session = &cookies.cookies[&scene.address]["rialto-session"];
    let cookie = json!({ "name": "rialto-session", "value": session, "httpOnly": true });
    let cookie = json!({ "cookie": cookie });
    desk.0.command("/cookie", cookie).await;
    desk.0.go(&scene.url("/console#/rules")).await;
    desk.0.go(&scene.url("/console?again#/rules")).await;
    desk.shows("session, until").await;
    assert_eq!(desk.0.value("document.cookie").await, "");

    desk.press("[data-rule='amount-limits']", "Suspend").await;
    desk.0.write("dialog input[name=reason]", "a drill").await;
    desk.press("dialog", "Suspend").await;
    desk.shows("waits for confirmation").await;
    let suspended = scene.audited("rule-suspend").await;
    assert_eq!(suspended[0].0, "anna", "{suspended:?}");

    // A stream of this session ends with it, within a second.
    let shown = format!("cookie: rialto-session={session}");
    let mut stream = Stream::open(&scene.address, "/live", &shown).await;
    assert_eq!(stream.status, 200);
    stream.next("health").await.unwrap();
    desk.press("nav", "Sign out").await;
    desk.shows("Sign in with your provider").await;
    let end = stream.next("end").await;
    assert_eq!(end, Some(json!({ "why": "unauthorized" })));
    let over = cookies
        .send(Method::GET, &scene.url("/session"), &[], "")
        .await;
    assert_eq!(over.status, 401, "{over:?}");
    desk.0.go(&scene.url("/console?once-more#/rules")).await;
    desk.shows("Sign in with your provider").await;
}

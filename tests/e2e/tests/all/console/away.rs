//! Dead ends: what pages say when there is nothing yet, and when the host is away.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use serde_json::{Value, json};

use super::pages::PAGES;
use super::{Desk, Scene};

/// Wait until no part of the page says that it loads.
async fn loaded(desk: &Desk) {
    let look = async || {
        let script = "document.querySelectorAll('main .loading').length";
        let left = desk.0.value(script).await;
        Ok(if left == json!(0) {
            Ok(())
        } else {
            Err(desk.text().await)
        })
    };
    rialto_tests::waiting::until("the page is loaded", super::SOON, look)
        .await
        .unwrap();
}

/// The empty parts of the page that do not say what to do.
async fn speechless(desk: &Desk) -> Value {
    let script = "[...document.querySelectorAll('main .empty')].filter(e => !e.querySelector('.hint')).map(e => e.innerText)";
    desk.0.value(script).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_of_an_empty_host_says_what_to_do() {
    let scene = Scene::begin().await;
    let desk = scene.signed_in("anna").await;
    let mut all = Vec::new();
    for page in PAGES.map(|(page, _)| page).into_iter().chain(["story"]) {
        desk.open(page).await;
        loaded(&desk).await;
        for one in speechless(&desk).await.as_array().unwrap() {
            all.push(format!("{page}: {one}"));
        }
        let title = desk.0.value("document.querySelector('h1').innerText").await;
        assert_ne!(title, "", "{page}");
    }
    assert!(all.is_empty(), "{all:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_says_that_the_host_is_away_and_none_is_blank() {
    let mut scene = Scene::begin().await;
    let desk = scene.signed_in("anna").await;
    desk.open("deliveries").await;
    desk.shows("No delivery was given up.").await;
    scene.world.host.kill().unwrap();
    // What was there stays, with its time.
    desk.shows("the host has not answered since").await;
    desk.shows("No delivery was given up.").await;
    for (page, _) in PAGES.into_iter().filter(|(page, _)| *page != "nowhere") {
        desk.open(page).await;
        desk.shows("The host does not answer.").await;
        desk.has("main [role=alert] button, main .stale").await;
        let broken = desk.text().await.contains("This page has failed");
        assert!(!broken, "{page}");
    }
    // A session for a token ends with the host. The page says so, and goes on where it was when somebody has signed in again.
    scene.world.host.restart().unwrap();
    desk.open("deliveries").await;
    desk.shows("Your session has ended.").await;
    desk.0
        .write("input[name=token]", &scene.token("anna"))
        .await;
    desk.0.click("button[type=submit]").await;
    desk.shows("No delivery was given up.").await;
}

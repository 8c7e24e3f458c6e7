//! Each page of the console shows what the scheme has, without complaints of the browser, for everybody.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::path::PathBuf;

use rialto_simulator::fsp::Step;
use rialto_tests::handbook::root;
use rialto_tests::scenes::{committed, refused};
use serde_json::Value;

use super::{Desk, Scene};

/// Pages, and what each shows in a scheme with two payments.
pub const PAGES: [(&str, &[&str]); 22] = [
    (
        "live",
        &["Payments a second", "committed", "requestTransfer"],
    ),
    // The address of searches before there were others.
    ("transfers", &["1 found", "12.50 USD"]),
    ("search/quotes", &["2 found", "accepted", "rejected"]),
    ("search/parties", &["found, as of", "MSISDN", "payeefsp"]),
    ("search/participants", &["2 found", "Payer FSP"]),
    (
        "health",
        &["Free disk", "Verify now", "No delivery was given up."],
    ),
    ("participants", &["Payer FSP", "active"]),
    (
        "participants/payerfsp",
        &[
            "Use of the net debit cap",
            "Who may: a person with the role maker",
        ],
    ),
    ("requests", &["No request waits for a decision."]),
    (
        "rules",
        &["transfer-prepare-check", "amount-limits", "in force"],
    ),
    ("releases", &["current", "first release"]),
    (
        "releases/1",
        &["New turns run on this release.", "amount-limits"],
    ),
    (
        "releases/new",
        &[
            "Rules by step",
            "transfer-matches-quote",
            "Show what would change",
        ],
    ),
    (
        "releases/backtests",
        &["Start a backtest", "No backtest is kept."],
    ),
    (
        "rules/wiring",
        &["quoting/get-agreement", "asks the rules at", "%"],
    ),
    ("settlement", &["DEFERRED_NET", "open"]),
    (
        "ledger",
        &[
            "in balance",
            "payerfsp:USD:LIQUIDITY",
            "Nobody has checked them",
        ],
    ),
    (
        "ledger/payerfsp%3AUSD%3ALIQUIDITY",
        &["TRANSFER_PREPARE", "999,987.50", "The newest first"],
    ),
    ("deliveries", &["reached", "No delivery was given up."]),
    ("audit", &["host-start", "without a gap", "Verify now"]),
    ("configuration", &["quoting", "No listener uses TLS files."]),
    ("nowhere", &["There is no such page"]),
];

/// The words of labels do not count as text that is seen; the page of an account has one.
const LABELS: [&str; 1] = ["Use of the net debit cap"];

async fn shows(desk: &Desk, what: &str) {
    if LABELS.contains(&what) {
        desk.has(&format!("[aria-label='{what}']")).await;
    } else {
        desk.shows(what).await;
    }
}

/// The rules of accessibility that the page breaks, by axe-core: WCAG 2.2 AA.
async fn violations(desk: &Desk) -> Vec<String> {
    let axe: PathBuf = root().join("console/node_modules/axe-core/axe.min.js");
    let axe = std::fs::read_to_string(&axe)
        .unwrap_or_else(|e| panic!("{axe:?}: {e}; `cargo xtask build` installs it"));
    desk.0
        .value(&format!("(() => {{ {axe}; return true; }})()"))
        .await;
    let run = "const done = arguments[arguments.length - 1]; \
         const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']; \
         axe.run({ runOnly: { type: 'tag', values: tags } }).then( \
           r => done(r.violations.flatMap(v => v.nodes.map(n => `${v.id}: ${n.html} ${n.failureSummary}`))), \
           e => done([String(e)]));";
    let found = desk.0.value_later(run).await;
    let all = found.as_array().unwrap().iter();
    all.map(|v| v.as_str().unwrap().to_owned()).collect()
}

/// Whether the page is wider than the window.
async fn overflows(desk: &Desk) -> bool {
    let script = "document.documentElement.scrollWidth > innerWidth";
    desk.0.value(script).await == Value::Bool(true)
}

/// Addresses that the page has asked, other than the host's own.
async fn foreign(desk: &Desk) -> Value {
    let script = "performance.getEntriesByType('resource').map(e => e.name).filter(n => !n.startsWith(location.origin + '/'))";
    desk.0.value(script).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_shows_its_data_to_everybody() {
    let scene = Scene::begin().await;
    let payment = scene.world.pay("12.5", "USD").await;
    committed(&payment).unwrap();
    refused(&scene.world.pay("10001", "USD").await, Step::Quote, "4200").unwrap();
    let desk = scene.signed_in("anna").await;
    let story = format!("story/{}", payment.transfer_id);
    let told: &[&str] = &["What happened", "transfer-prepare-requested", "12.50 USD"];
    let pages = PAGES.iter().copied();
    for (page, words) in pages.chain([(story.as_str(), told)]) {
        desk.open(page).await;
        for what in words {
            shows(&desk, what).await;
        }
        for theme in ["light", "dark"] {
            let choose = format!("document.querySelector('input[value={theme}]').click()");
            desk.0.value(&choose).await;
            let found = violations(&desk).await;
            assert!(found.is_empty(), "{page}, {theme}: {found:#?}");
        }
        for width in [400, 2560] {
            desk.0.resize(width, 900).await;
            assert!(!overflows(&desk).await, "{page} at {width} pixels");
        }
        desk.0.resize(1280, 900).await;
        assert_eq!(desk.0.complaints().await, [""; 0], "{page}");
    }
    assert_eq!(foreign(&desk).await, serde_json::json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn arrow_of_a_story_opens_its_turn_and_a_receipt_is_judged_again() {
    let scene = Scene::begin().await;
    let payment = scene.world.pay("12.5", "USD").await;
    committed(&payment).unwrap();
    let desk = scene.signed_in("rita").await;
    desk.open(&format!("story/{}", payment.transfer_id)).await;
    desk.has("button.mark.note").await;
    desk.0.click("button.mark.note").await;
    desk.shows("An event was handled").await;
    desk.shows("amount-limits: allow").await;
    desk.0.click("details.receipt:not(.stored) summary").await;
    desk.press("details.receipt[open]", "Judge again").await;
    desk.shows("The same bytes say the same").await;
    desk.press("details.receipt[open]", "Ask the current rules")
        .await;
    desk.shows("Release 1 would say: ").await;
    desk.shows("TRANSFER_FULFIL".to_lowercase().replace('_', " ").as_str())
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sign_in_page_says_what_is_wrong_and_keeps_no_token() {
    let scene = Scene::begin().await;
    let desk = Desk(crate::webdriver::Chromium::start(&scene.url("/console")).await);
    desk.shows("Sign in").await;
    let found = violations(&desk).await;
    assert!(found.is_empty(), "{found:#?}");
    desk.0.write("input[name=token]", "wrong").await;
    desk.0.click("button[type=submit]").await;
    desk.shows("The host does not know this token.").await;

    let desk = scene.signed_in("anna").await;
    let kept = "JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage), document.cookie])";
    let kept = desk.0.value(kept).await;
    assert!(
        !kept.as_str().unwrap().contains(&scene.token("anna")),
        "{kept}"
    );
    // The session outlives the page, and no script reads it.
    assert_eq!(desk.0.value("document.cookie").await, "");
    desk.0.command("/refresh", serde_json::json!({})).await;
    desk.shows("Signed in as").await;
    desk.press("nav", "Sign out").await;
    desk.shows("It is exchanged for a session").await;
}

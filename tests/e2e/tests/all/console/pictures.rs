//! Pictures of every page, light and dark. `RIALTO_PICTURES=refresh` puts those of docs/console.md in their place.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fs;
use std::path::PathBuf;

use rialto_simulator::fsp::Step;
use rialto_tests::TestScheme;
use rialto_tests::handbook::root;
use rialto_tests::scenes::{committed, refused};
use rialto_tests::world::PAYER;
use serde_json::{Value, json};

use super::{Desk, Scene};

/// The pictures of the document: page, theme and file.
const IN_DOCUMENT: [(&str, &str, &str); 8] = [
    ("live", "light", "live.png"),
    ("story", "light", "story.png"),
    ("search-quotes", "light", "search.png"),
    ("health", "light", "health.png"),
    ("rules", "dark", "rules.png"),
    ("requests", "light", "requests.png"),
    ("participants-payerfsp", "light", "participant.png"),
    ("rules-wiring", "light", "wiring.png"),
];
/// Pages, and what they show when they are whole.
const PAGES: [(&str, &str); 16] = [
    ("search/transfers", "committed"),
    ("search/quotes", "accepted"),
    ("search/parties", "MSISDN"),
    ("participants", "Payer FSP"),
    ("participants/payerfsp", "Accounts"),
    ("requests", "less volume"),
    ("rules", "amount-limits"),
    ("releases", "first release"),
    ("settlement", "DEFERRED_NET"),
    ("ledger", "payerfsp:USD:LIQUIDITY"),
    ("health", "Free disk"),
    ("deliveries", "reached"),
    ("audit", "host-start"),
    ("configuration", "quoting"),
    ("rules/wiring", "accounts-and-balances"),
    // The last: by now the host remembers the payments.
    ("live", "requestTransfer"),
];
/// A curve of Live that has begun.
const CURVE: &str = ".charts svg path.curve[d^='M']";

/// Numbers that do not stand at the right with figures of one width, and texts that are cut.
const UNTIDY: &str = "(() => { const bad = []; \
    for (const cell of document.querySelectorAll('main td.number, main th.number')) { \
      const style = getComputedStyle(cell); \
      if (style.textAlign !== 'right') bad.push(`not at the right: ${cell.innerText}`); \
      if (cell.tagName === 'TD' && !style.fontVariantNumeric.includes('tabular-nums')) bad.push(`figures: ${cell.innerText}`); \
    } \
    for (const part of document.querySelectorAll('h1, h2, h3, th, button, .badge, .lane, .tile, dt, dd, label span')) { \
      if (part.closest('.hidden, dialog') || getComputedStyle(part).textOverflow === 'ellipsis') continue; \
      if (part.scrollWidth > part.clientWidth + 1 && getComputedStyle(part).overflow !== 'visible') bad.push(`cut: ${part.innerText}`); \
    } \
    return bad; })()";

fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("rialto-pictures-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

async fn take(desk: &Desk, folder: &std::path::Path, page: &str) {
    for theme in ["light", "dark"] {
        let choose = format!("document.querySelector('input[value={theme}]').click()");
        desk.0.value(&choose).await;
        let untidy = desk.0.value(UNTIDY).await;
        assert_eq!(untidy, json!([]), "{page}, {theme}");
        let picture = desk.0.picture().await;
        assert_eq!(&picture[1..4], b"PNG");
        fs::write(folder.join(format!("{page}-{theme}.png")), picture).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pictures_of_every_page_are_tidy() {
    let keeps = |scheme: &TestScheme| {
        let history = "[history]\nmessages = true\n";
        scheme.add_host_settings(history).unwrap();
    };
    let scene = Scene::with(keeps).await;
    let desk = scene.signed_in("ben").await;
    desk.0.resize(1440, 1000).await;
    let mut last = String::new();
    for amount in [
        "12.5", "250", "3.2", "1499.99", "75", "20", "8400", "66.6", "310", "5", "42", "19.95",
    ] {
        let payment = scene.world.pay(amount, "USD").await;
        committed(&payment).unwrap();
        last = payment.transfer_id;
    }
    for amount in ["10001", "12000"] {
        refused(&scene.world.pay(amount, "USD").await, Step::Quote, "4200").unwrap();
    }
    let limit = json!({ "limit": { "type": "NET_DEBIT_CAP", "value": { "currency": "USD", "amount": "20000" } }, "reason": "less volume" });
    let path = format!("/participants/{PAYER}/accounts/USD/limit-updates");
    let asked = scene.office.post("anna", &path, &limit).await.unwrap();
    assert_eq!(asked.status, 201, "{asked:?}");

    let folder = folder();
    for (page, words) in PAGES {
        desk.open(page).await;
        desk.shows(words).await;
        if page == "live" {
            desk.has(CURVE).await;
        }
        take(&desk, &folder, &page.replace('/', "-")).await;
    }
    desk.open(&format!("story/{last}")).await;
    desk.has("button.mark.message").await;
    let press = "(() => { const mark = [...document.querySelectorAll('button.mark.message')] \
         .find(m => m.innerText.startsWith('POST /transfers')); mark?.click(); return mark !== undefined; })()";
    assert_eq!(desk.0.value(press).await, Value::Bool(true));
    desk.shows("fspiop-source").await;
    desk.0
        .value("document.querySelector('.section-head h2').scrollIntoView()")
        .await;
    take(&desk, &folder, "story").await;
    println!("pictures: {}", folder.display());

    if std::env::var_os("RIALTO_PICTURES").is_some_and(|wanted| wanted == "refresh") {
        let document = root().join("docs/console");
        for (page, theme, file) in IN_DOCUMENT {
            let from = folder.join(format!("{page}-{theme}.png"));
            fs::copy(from, document.join(file)).unwrap();
        }
    }
}

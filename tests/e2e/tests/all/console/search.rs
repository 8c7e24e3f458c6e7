//! Searches: fifty thousand rows, and those that an operator saves.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use rialto_tests::measured::measured;
use rialto_tests::scenes::committed;
use serde_json::{Value, json};

use super::{Desk, Scene};

/// Rows of the long table.
const ROWS: u64 = 50_000;
/// The most rows that are drawn at a time, in a window of 900 pixels.
const DRAWN_MAX: u64 = 80;
/// Keys, as WebDriver has them.
const DOWN: &str = "\u{e015}";
const PAGE_DOWN: &str = "\u{e00f}";
const END: &str = "\u{e010}";
const HOME: &str = "\u{e011}";
const ENTER: &str = "\u{e007}";

/// Answers to searches are made in the page: so many transfers take a host an hour.
fn many() -> String {
    format!(
        "(() => {{ const own = window.fetch; window.fetch = (path, init) => {{ \
           if (!String(path).startsWith('/transfers?')) return own(path, init); \
           const first = Number(new URLSearchParams(String(path).split('?')[1]).get('cursor') ?? 0); \
           const items = Array.from({{ length: 1000 }}, (_, n) => ({{ transferId: 'row-' + (first + n), payerFsp: 'green', \
             payeeFsp: 'blue', amount: {{ amount: String(first + n), currency: 'USD' }}, state: 'COMMITTED', expiration: 0, \
             beganAt: 1.7e12 + first + n, endedAt: 1.7e12 + first + n + 20, rejection: null, reason: null }})); \
           const next = first + 1000; \
           const page = {{ items, ...(next < {ROWS} ? {{ nextCursor: String(next) }} : {{}}) }}; \
           return Promise.resolve(new Response(JSON.stringify(page), {{ status: 200 }})); }}; return true; }})()"
    )
}

/// The rows that are drawn, and those of the whole table.
async fn drawn(desk: &Desk) -> (u64, u64) {
    let script = "[document.querySelectorAll('.long tbody tr:not(.space)').length, \
                   Number(document.querySelector('.long table').getAttribute('aria-rowcount')) - 1]";
    let counts = desk.0.value(script).await;
    (counts[0].as_u64().unwrap(), counts[1].as_u64().unwrap())
}

/// The row that has the focus: its place in the table, and its id. It must be seen as a whole.
async fn focused(desk: &Desk) -> (u64, String) {
    let script = "(() => { const row = document.activeElement; const box = row.closest('.long'); \
         if (row.tagName !== 'TR' || !box) return [0, row.outerHTML.slice(0, 200)]; \
         const [r, b] = [row.getBoundingClientRect(), box.getBoundingClientRect()]; \
         const head = box.querySelector('th').getBoundingClientRect().bottom; \
         if (r.top < head - 1 || r.bottom > b.bottom + 1) return [0, `hidden: ${r.top} ${r.bottom} in ${head} ${b.bottom}`]; \
         return [Number(row.getAttribute('aria-rowindex')) - 1, row.querySelector('a').innerText]; })()";
    let found = desk.0.value(script).await;
    (
        found[0].as_u64().unwrap(),
        found[1].as_str().unwrap().to_owned(),
    )
}

/// Wait until the focus is at a row.
async fn at_row(desk: &Desk, row: u64) {
    // The newest is first, so the ids run down.
    let expected = (row, format!("row-{}", ROWS - row));
    let look = async || {
        let found = focused(desk).await;
        Ok(if found == expected {
            Ok(())
        } else {
            Err(format!("{found:?} instead of {expected:?}"))
        })
    };
    rialto_tests::waiting::until(&format!("the focus at row {row}"), super::SOON, look)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_thousand_rows_are_reached_and_few_are_drawn() {
    let scene = Scene::begin().await;
    let desk = scene.signed_in("rita").await;
    assert_eq!(desk.0.value(&many()).await, true);
    desk.open("search/transfers").await;
    desk.shows("50,000 found").await;
    let (few, all) = drawn(&desk).await;
    assert!(few > 5 && few <= DRAWN_MAX, "{few} rows are drawn");
    assert_eq!(all, ROWS);

    desk.0
        .value("document.querySelector('.long').focus()")
        .await;
    desk.0.keys(DOWN).await;
    at_row(&desk, 1).await;
    desk.0.keys(DOWN).await;
    at_row(&desk, 2).await;
    desk.0.keys(END).await;
    at_row(&desk, ROWS).await;
    desk.shows("row-0").await;
    assert!(drawn(&desk).await.0 <= DRAWN_MAX);
    desk.0.keys(HOME).await;
    at_row(&desk, 1).await;
    desk.0.keys(PAGE_DOWN).await;
    let (after_page, _) = focused(&desk).await;
    assert!(after_page > 2, "{after_page}");

    // A long way with the wheel: a frame for each step.
    let frames = "const done = arguments[arguments.length - 1]; const box = document.querySelector('.long'); \
         const times = []; let drawn = 0; let last = performance.now(); let at = 0; \
         const step = now => { times.push(now - last); last = now; \
           drawn = Math.max(drawn, document.querySelectorAll('.long tbody tr').length); \
           box.scrollTop = at; at += 7001; \
           if (at < box.scrollHeight) requestAnimationFrame(step); else done([times, drawn]); }; \
         requestAnimationFrame(step);";
    let seen = desk.0.value_later(frames).await;
    let mut times: Vec<f64> = seen[0]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_f64)
        .collect();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    measured(format_args!(
        "{} frames through {ROWS} rows: p50 {:.1} ms, p99 {:.1} ms, {:.1} ms at most",
        times.len(),
        at(0.5),
        at(0.99),
        at(1.0)
    ));
    assert!(seen[1].as_u64().unwrap() <= DRAWN_MAX);
    assert!(times.len() > 100, "{}", times.len());
    // What is seen in the middle is what belongs there.
    let middle = "(() => { const box = document.querySelector('.long'); box.scrollTop = 25000 * 36; return true; })()";
    desk.0.value(middle).await;
    desk.shows("row-24990").await;
    desk.0
        .value("document.querySelector('.long').focus()")
        .await;
    desk.0.keys(DOWN).await;
    let (row, id) = focused(&desk).await;
    assert_eq!(id, format!("row-{}", ROWS - row));
    assert!((24_990..25_010).contains(&row), "{row}");
    desk.0.keys(ENTER).await;
    desk.shows("Nothing is known of this id.").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_come_page_by_page() {
    let scene = Scene::begin().await;
    for amount in ["1", "2", "3"] {
        committed(&scene.world.pay(amount, "USD").await).unwrap();
    }
    let ids = async |query: &str| {
        let path = format!("/documents/quoting/quotes?{query}");
        let found = scene.office.get("rita", &path).await.unwrap();
        let found = found.as_array().unwrap().iter();
        let ids = found.map(|one| one["id"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>()
    };
    let all = ids("").await;
    assert_eq!(all.len(), 3);
    let mut paged = Vec::new();
    let mut after = String::new();
    loop {
        let page = ids(&format!("limit=1&after={after}")).await;
        let Some(last) = page.last() else { break };
        after.clone_from(last);
        paged.extend(page);
    }
    assert_eq!(paged, all);
    // Before the prefix, behind it, and behind everything.
    let prefix = &all[1][..8];
    assert_eq!(
        ids(&format!("prefix={prefix}&after={}", all[0])).await,
        [all[1].clone()]
    );
    for after in [all[1].as_str(), "zzz", "%00", "%F4%8F%BF%BF"] {
        let found = ids(&format!("prefix={prefix}&after={after}")).await;
        let expected = if after == "%00" {
            vec![all[1].clone()]
        } else {
            Vec::new()
        };
        assert_eq!(found, expected, "{after}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn saved_search_is_there_again_and_finds_the_same() {
    let scene = Scene::begin().await;
    for amount in ["5", "12.5"] {
        committed(&scene.world.pay(amount, "USD").await).unwrap();
    }
    let desk = scene.signed_in("rita").await;
    desk.open("search/quotes").await;
    desk.shows("2 found").await;
    desk.0.write("input[name=currency]", "USD").await;
    desk.0.write("input[name=amountAtLeast]", "10").await;
    desk.press(".filters", "Search").await;
    desk.shows("1 found of 2 looked at").await;
    desk.0
        .value("document.querySelector('details.saved').open = true")
        .await;
    desk.0.write(".saved input[name=name]", "large ones").await;
    desk.press(".saved form", "Save").await;
    desk.shows("Saved searches (1)").await;
    // What was found is not kept, and neither is who is signed in.
    let kept = desk
        .0
        .value("localStorage.getItem('rialto.searches')")
        .await;
    let kept: Value = serde_json::from_str(kept.as_str().unwrap()).unwrap();
    assert_eq!(
        kept,
        json!([{ "name": "large ones", "kind": "quotes", "fields": {
            "since": "3600000", "currency": "USD", "amountAtLeast": "10",
        } }])
    );
    desk.open("search/participants").await;
    desk.shows("Payer FSP").await;
    desk.0.click(".saved li button").await;
    desk.shows("1 found of 2 looked at").await;
    desk.shows("12.50 USD").await;
    desk.0.click(".saved li button:last-child").await;
    desk.shows("Saved searches").await;
    assert_eq!(
        desk.0
            .value("localStorage.getItem('rialto.searches')")
            .await,
        "[]"
    );
}

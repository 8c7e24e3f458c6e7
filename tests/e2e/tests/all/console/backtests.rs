//! A draft is backtested in the console: what it would decide otherwise, down to one input with both verdicts.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use rialto_tests::scenes::committed;
use serde_json::json;

use super::Scene;
use super::swap::{BOUND, MAXIMUM};

#[tokio::test(flavor = "multi_thread")]
async fn draft_is_backtested_down_to_one_input() {
    let scene = Scene::begin().await;
    committed(&scene.world.pay("12.5", "USD").await).unwrap();
    let desk = scene.signed_in("anna").await;
    desk.open("releases/new").await;
    desk.press(BOUND, "Change").await;
    desk.set(MAXIMUM, "input", "5").await;
    desk.press("dialog", "Keep in the draft").await;
    desk.has_not("dialog").await;

    desk.open("releases/backtests").await;
    desk.set("select[name=of]", "change", "draft").await;
    desk.press("form.filters", "Start").await;
    desk.shows("refuse 4200 by amount-limits").await;
    desk.0.click("details.inline summary").await;
    desk.0.click("details.inline a").await;
    desk.shows("Verdicts of the candidate").await;
    desk.shows("refuse 4200 by amount-limits").await;
    desk.shows("allow").await;

    // The draft is still there, and its plan knows of the report.
    desk.open("releases/new").await;
    desk.press("main", "Show what would change").await;
    desk.shows("A backtest of this draft has judged").await;

    let all = scene
        .office
        .get("rita", "/releases/backtests")
        .await
        .unwrap();
    assert_eq!(
        (&all[0]["person"], &all[0]["state"]),
        (&json!("anna"), &json!("DONE"))
    );
    let path = "/releases/backtests";
    let hour = json!({ "release": 1, "since": 0 });
    let said = scene.office.post("rita", path, &hour).await.unwrap();
    assert_eq!(said.status, 403, "{said:?}");
    for wrong in [
        json!({ "release": 1, "since": 4_000_000_000_000_000_u64 }),
        json!({ "since": 0 }),
        json!({ "release": 1, "plan": "sha256:0", "since": 0 }),
    ] {
        let said = scene.office.post("anna", path, &wrong).await.unwrap();
        assert_eq!(said.status, 400, "{wrong}: {said:?}");
    }
}

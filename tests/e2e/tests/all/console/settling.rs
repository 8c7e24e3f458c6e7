//! Settling in the console: a batch is settled by one person, and the settlement aborted and completed by another one.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use rialto_tests::scenes::committed;
use rialto_tests::waiting::until;
use serde_json::{Value, json};

use super::{Desk, SOON, Scene};

impl Scene {
    /// The settlements, by their states, once there are so many.
    async fn settlements(&self, states: &[&str]) -> Vec<Value> {
        let look = async || {
            let found = self.office.get("rita", "/settlements").await?;
            let mut all = found["items"].as_array().unwrap().clone();
            all.sort_by_key(|one| one["created"]["at"].as_u64());
            let are: Vec<&str> = all
                .iter()
                .map(|one| one["state"].as_str().unwrap())
                .collect();
            Ok(if are == states {
                Ok(all)
            } else {
                Err(found.to_string())
            })
        };
        until(&format!("settlements {states:?}"), SOON, look)
            .await
            .unwrap()
    }

    /// The one batch, once it has this state.
    async fn batch(&self, state: &str) -> String {
        let look = async || {
            let found = self.office.get("rita", "/settlement-batches").await?;
            let one = &found["items"][0];
            Ok(if one["state"] == state {
                Ok(one["id"].as_str().unwrap().to_owned())
            } else {
                Err(found.to_string())
            })
        };
        until(&format!("a batch that is {state}"), SOON, look)
            .await
            .unwrap()
    }
}

async fn settle(maker: &Desk, batch: &str) {
    maker.open(&format!("settlement/batch%3A{batch}")).await;
    maker.shows("What is paid is what is received").await;
    maker
        .ask("main .summary", "Settle", &[("reason", "end of the day")])
        .await;
    maker.closed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn settlement_is_aborted_and_then_completed_by_another_person() {
    let scene = Scene::begin().await;
    committed(&scene.world.pay("12.5", "USD").await).unwrap();
    let batch = scene.batch("OPEN").await;
    let (maker, checker) = (scene.signed_in("anna").await, scene.signed_in("ben").await);
    settle(&maker, &batch).await;
    let pending = scene.settlements(&["PENDING"]).await;
    let id = pending[0]["id"].as_str().unwrap();

    // Who has asked sees why there is no button, and is refused by hand.
    maker.open(&format!("settlement/{id}")).await;
    maker.shows("You have asked for this settlement").await;
    let buttons = maker.buttons().await;
    assert!(
        !buttons.iter().any(|b| b == "Complete" || b == "Abort"),
        "{buttons:?}"
    );
    for verb in ["complete", "abort"] {
        let path = format!("/settlements/{id}/{verb}");
        assert_eq!(maker.post(&path, r#"{"reason":"mine"}"#).await, json!(403));
    }

    checker.open(&format!("settlement/{id}")).await;
    checker.shows("What net payers owe is set aside").await;
    checker.shows("▼").await;
    checker.shows("12.50").await;
    checker
        .ask(
            "main .summary",
            "Abort",
            &[("reason", "the bank was closed")],
        )
        .await;
    checker.shows("aborted").await;
    scene.settlements(&["ABORTED"]).await;
    checker.shows("the bank was closed").await;
    assert_eq!(scene.batch("CLOSED").await, batch);

    settle(&maker, &batch).await;
    let all = scene.settlements(&["ABORTED", "PENDING"]).await;
    let id = all[1]["id"].as_str().unwrap();
    checker.open(&format!("settlement/{id}")).await;
    checker
        .ask(
            "main .summary",
            "Complete",
            &[("reason", "the bank has moved it")],
        )
        .await;
    checker.shows("Every member is settled").await;
    scene.settlements(&["ABORTED", "COMPLETED"]).await;
    scene.batch("SETTLED").await;
    for desk in [&maker, &checker] {
        let complaints = desk.0.complaints().await;
        // What was refused by hand is told by the browser.
        assert!(
            complaints.iter().all(|one| one.contains("403")),
            "{complaints:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn batch_is_closed_and_settled_from_the_list() {
    let scene = Scene::begin().await;
    committed(&scene.world.pay("12.5", "USD").await).unwrap();
    let batch = scene.batch("OPEN").await;
    let desk = scene.signed_in("anna").await;
    desk.open(&format!("settlement/batch%3A{batch}")).await;
    desk.shows("has the settled funds that it pays").await;
    desk.ask("main .summary", "Close", &[("reason", "an emergency")])
        .await;
    desk.closed().await;
    assert_eq!(scene.batch("CLOSED").await, batch);
    desk.open("settlement").await;
    desk.has("main input[type=checkbox]").await;
    desk.0.click("main input[type=checkbox]").await;
    desk.ask("main", "Settle", &[("reason", "after all")]).await;
    desk.closed().await;
    scene.settlements(&["PENDING"]).await;
}

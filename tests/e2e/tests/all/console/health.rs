//! Health: the check of the audit log, and what becomes of many dead letters.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use rialto_simulator::PaymentRequest;
use rialto_tests::waiting::until;
use rialto_tests::world::PAYEE;
use rialto_tests::{RunningHost, TestScheme};
use serde_json::{Value, json};

use super::{SOON, Scene};
use crate::dead_letters::{SICK, apply};
use crate::postgres::is_standby;

/// The log's key.
const AUDIT: &str = r#"
[audit]
origin = "hub.example/audit"
provider = "software"
reference = "secrets/audit.reference"
"#;

#[tokio::test(flavor = "multi_thread")]
async fn audit_log_is_verified_in_the_console() {
    let scene = Scene::with(|scheme: &TestScheme| scheme.add_host_settings(AUDIT).unwrap()).await;
    let path = "/audit-log/verification";
    let before = scene.office.get("rita", path).await.unwrap();
    assert_eq!(before, json!({}));
    let desk = scene.signed_in("rita").await;
    desk.open("health").await;
    desk.shows("Not checked since the host’s start").await;
    // The first checkpoint comes with the host's start, or soon after it.
    let verified = async || {
        desk.press(".verification", "Verify now").await;
        let ended = async || {
            let now = scene.office.get("rita", path).await?;
            let is_over = now["runningSince"].is_null() && !now["last"].is_null();
            Ok(if is_over {
                Ok(now["last"].clone())
            } else {
                Err(now.to_string())
            })
        };
        let last = until("the check ends", SOON, ended).await?;
        let holds = last["findings"] == json!([]) && last["failed"].is_null();
        Ok(if holds {
            Ok(last)
        } else {
            Err(last.to_string())
        })
    };
    let last = until("the log is verified", SOON, verified).await.unwrap();
    assert_eq!(last["person"], "rita");
    assert!(last["signed"].as_u64().unwrap() > 0, "{last}");
    desk.shows("The log is the one that was signed").await;
    desk.shows("Checked for rita at").await;
    desk.open("audit").await;
    desk.shows("The log is the one that was signed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_of_a_scheme_and_a_missing_standby_are_shown() {
    let scene = Scene::with(|scheme: &TestScheme| {
        scheme.on_postgres().unwrap();
    })
    .await;
    let desk = scene.signed_in("rita").await;
    desk.open("health").await;
    desk.shows("There is no standby").await;
    let other = scene.world.scheme.for_another_host().unwrap();
    let standby = RunningHost::standby(&other).unwrap();
    is_standby(&other).await;
    desk.shows("(this one)").await;
    desk.has_not("p.warned").await;
    drop(standby);
}

#[tokio::test(flavor = "multi_thread")]
async fn log_without_checkpoints_is_not_called_verified() {
    let scene = Scene::begin().await;
    let desk = scene.signed_in("rita").await;
    desk.open("audit").await;
    desk.press(".verification", "Verify now").await;
    desk.shows("there is no signed checkpoint").await;
    desk.shows("Nothing is signed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_are_dropped_in_bulk_with_a_reason() {
    let short = |scheme: &TestScheme| {
        let engine = "[engine]\nturn-attempts-max = 1\n\n[store]";
        scheme.replace("rialto.toml", "[store]", engine).unwrap();
        scheme.lock().unwrap();
    };
    let scene = Scene::with(short).await;
    apply(&scene.world, SICK);
    let payer = scene.world.payer().clone();
    let request = PaymentRequest::new(scene.world.party(PAYEE).clone(), "5", "USD");
    let paying = tokio::spawn(async move { payer.pay(&request).await });
    let letters = async || scene.office.get("rita", "/dead-letters").await;
    let some = async || {
        let all = letters().await?;
        let count = all.as_array().map_or(0, Vec::len);
        Ok(if count > 0 {
            Ok(count)
        } else {
            Err(all.to_string())
        })
    };
    until("a dead letter", SOON, some).await.unwrap();

    let nobody = json!({ "note": "the payer was told" });
    let refused = scene
        .office
        .post("rita", "/dead-letters/drop", &nobody)
        .await
        .unwrap();
    assert_eq!(refused.status, 403, "{refused:?}");
    let without = scene
        .office
        .post("anna", "/dead-letters/drop", &json!({}))
        .await
        .unwrap();
    assert_eq!(without.status, 400, "{without:?}");

    let desk = scene.signed_in("anna").await;
    desk.open("health").await;
    desk.has(".tile.warns").await;
    desk.open("deliveries").await;
    desk.press(".section", "Drop all").await;
    desk.0
        .write("dialog input[name=reason]", "the payer was told")
        .await;
    desk.press("dialog", "Drop all").await;
    let none = async || {
        let all = letters().await?;
        Ok(if all == Value::Array(Vec::new()) {
            Ok(())
        } else {
            Err(all.to_string())
        })
    };
    until("no dead letter", SOON, none).await.unwrap();
    let log = scene
        .office
        .get("rita", "/audit-log?about=dead%20letters")
        .await
        .unwrap();
    let dropped = log.as_array().unwrap().iter();
    let dropped: Vec<_> = dropped
        .filter(|e| e["action"] == "dead-letters-drop")
        .collect();
    assert!(!dropped.is_empty(), "{log}");
    assert_eq!(dropped[0]["person"], "anna");
    assert_eq!(dropped[0]["note"], "the payer was told");
    paying.abort();
}

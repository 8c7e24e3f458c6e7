//! The three timeouts: while funds are being prepared, before they are committed, after that.

use std::time::Duration;

use anyhow::{Result, ensure};
use http::Method;
use rialto_tests::world::{PAYEE, PAYER};
use serde_json::{Value, json};

use crate::case;
use crate::case::Case;
use crate::compare::{TEXT, TIME};
use crate::payment::{Leg, Payment, events};
use crate::stage::{Stage, fsp_error};

pub(super) const CASES: [Case; 5] = [
    case!(
        "timeouts/while-preparing",
        "state table: timeout while funds are prepared: payer told (T-07)",
        while_preparing
    ),
    case!(
        "timeouts/before-commit",
        "state table: timeout before commit: both told 3303 (T-08)",
        before_commit
    ),
    case!(
        "timeouts/late-commitments",
        "decision 2: a late PUT is answered again with the error",
        late_commitments
    ),
    case!(
        "timeouts/late-decline",
        "3.4: a late refusal changes nothing",
        late_decline
    ),
    case!(
        "timeouts/after-commit",
        "decision 1: timeout after commit: stays COMMITTED, nobody told (T-09)",
        after_commit
    ),
];

/// Long enough to be prepared in, on a busy machine too.
const SHORTLY: Duration = Duration::from_secs(3);
const GIVEN_BACK: [Leg; 2] = [Leg::Prepare, Leg::Release];

fn told_timeout() -> Vec<&'static str> {
    events::told("transfer-fulfil-commit-request-timedout-callback-report")
}

/// A transfer that expired while its payee FSP was awaited, and both FSPs have been told.
async fn expired(stage: &Stage) -> Result<Payment> {
    let payment = Payment::new(stage).expiring_in(SHORTLY);
    payment.prepare(stage).await?;
    for fsp in [PAYER, PAYEE] {
        stage.hub_refuses(fsp, &payment.path(), "3303").await?;
    }
    Ok(payment)
}

async fn while_preparing(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    payment.agree(stage).await?;
    let mut body = payment.transfer();
    body["expiration"] = "2020-01-01T00:00:00.000Z".into();
    payment.post(stage, &body).await?;
    stage.hub_refuses(PAYER, &payment.path(), "3303").await?;
    let told = events::told("transfer-prepare-request-timedout-callback-report");
    let events = [
        &events::ASKED[..],
        &["transfer-prepare-request-timedout"],
        &told,
    ];
    payment.ends(stage, "REJECTED", &[], &events).await
}

async fn before_commit(stage: &Stage) -> Result<()> {
    let payment = expired(stage).await?;
    let events = [&events::prepared()[..], &events::timed_out()];
    payment.ends(stage, "REJECTED", &GIVEN_BACK, &events).await
}

async fn late_commitments(stage: &Stage) -> Result<()> {
    let payment = expired(stage).await?;
    payment
        .put(
            stage,
            PAYEE,
            PAYER,
            &payment.path(),
            &payment.fulfil("COMMITTED"),
        )
        .await?;
    stage.hub_refuses(PAYEE, &payment.path(), "3303").await?;
    payment
        .put(
            stage,
            PAYEE,
            PAYER,
            &payment.path(),
            &payment.fulfil("RESERVED"),
        )
        .await?;
    let patch = json!({
        "completedTimestamp": TIME,
        "transferState": "ABORTED",
        "extensionList": { "extension": [{ "key": "cause", "value": TEXT }] },
    });
    let told = stage
        .hub_tells(PAYEE, Method::PATCH, &payment.path(), &patch)
        .await?;
    let cause = told.json()["extensionList"]["extension"][0]["value"].clone();
    ensure!(
        cause
            .as_str()
            .is_some_and(|cause| cause.starts_with("3303: ")),
        "the cause is {cause}"
    );
    let late = [
        "transfer-fulfil-committed-requested",
        "transfer-fulfil-comit-request-timedout",
    ];
    let late = [&late[..], &told_timeout()].concat();
    let events = [&events::prepared()[..], &events::timed_out(), &late, &late];
    payment.ends(stage, "REJECTED", &GIVEN_BACK, &events).await
}

async fn late_decline(stage: &Stage) -> Result<()> {
    let payment = expired(stage).await?;
    payment
        .put(
            stage,
            PAYEE,
            PAYER,
            &payment.error_path(),
            &fsp_error("5104"),
        )
        .await?;
    stage.hub_refuses(PAYEE, &payment.path(), "3303").await?;
    let late = [
        "transfer-reject-requested",
        "transfer-fulfil-comit-request-timedout",
    ];
    let late = [&late[..], &told_timeout()].concat();
    let events = [&events::prepared()[..], &events::timed_out(), &late];
    payment.ends(stage, "REJECTED", &GIVEN_BACK, &events).await
}

async fn after_commit(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage).expiring_in(SHORTLY);
    let watch = Payment::new(stage).expiring_in(SHORTLY + Duration::from_millis(200));
    payment.prepare(stage).await?;
    payment.commit(stage).await?;
    // Another one that expires after it says when its time is over.
    watch.prepare(stage).await?;
    for fsp in [PAYER, PAYEE] {
        stage.hub_refuses(fsp, &watch.path(), "3303").await?;
    }
    let events = [&events::prepared()[..], &events::committed()];
    let paid = [Leg::Prepare, Leg::Fulfil];
    payment.ends(stage, "COMMITTED", &paid, &events).await?;
    stage
        .sends(PAYER, Method::GET, &payment.path())
        .accepted()
        .await?;
    let state: Value = json!({
        "fulfilment": payment.fulfilment, "completedTimestamp": TIME, "transferState": "COMMITTED"
    });
    stage
        .hub_tells(PAYER, Method::PUT, &payment.path(), &state)
        .await?;
    let queried = events::answered("transfer-query-received");
    let events = [&events.concat()[..], &queried];
    payment.ends(stage, "COMMITTED", &paid, &events).await?;
    let events = [&events::prepared()[..], &events::timed_out()];
    watch.ends(stage, "REJECTED", &GIVEN_BACK, &events).await
}

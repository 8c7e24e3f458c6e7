//! A request for a transfer again: the three kinds of duplicate.

use anyhow::Result;
use http::Method;
use rialto_tests::world::{PAYEE, PAYER};
use serde_json::{Value, json};

use crate::case;
use crate::case::Case;
use crate::compare::{TEXT, TIME};
use crate::payment::{Leg, Payment, events};
use crate::stage::{STRANGER, Stage, fsp_error};

pub(super) const CASES: [Case; 6] = [
    case!(
        "duplicates/resend",
        "state table: duplicate, response wanted: status by PUT (T-04)",
        resend
    ),
    case!(
        "duplicates/resend-aborted",
        "4.5: duplicate of one that was aborted: PUT with ABORTED",
        resend_aborted
    ),
    case!(
        "duplicates/ignore",
        "state table: duplicate, no response needed: nothing is sent (T-05)",
        ignore
    ),
    case!(
        "duplicates/no-match",
        "state table: non-matching duplicate: 3106 to the payer (T-10)",
        no_match
    ),
    case!(
        "duplicates/other-sender",
        "decision 12: a second FSP that uses an id again gets 3106",
        other_sender
    ),
    case!(
        "duplicates/agreement-again",
        "an agreement pays once: another transfer on it is refused",
        agreement_again
    ),
];

fn resent() -> Vec<&'static str> {
    let told = events::told("transfer-query-response-callback-report");
    [&events::ASKED[..], &["transfer-query-response"], &told].concat()
}

fn mismatched() -> Vec<&'static str> {
    let told = events::told("transfer-prepare-duplicate-check-failed-callback-report");
    [
        &events::ASKED[..],
        &["transfer-prepare-duplicate-check-failed"],
        &told,
    ]
    .concat()
}

/// The same request with its members the other way round, in one line.
fn turned(body: &Value) -> Vec<u8> {
    let mut members: Vec<_> = body.as_object().into_iter().flatten().collect();
    members.reverse();
    let members = members
        .into_iter()
        .map(|(name, value)| (name.clone(), value.clone()));
    Value::from(members.collect::<serde_json::Map<_, _>>())
        .to_string()
        .into_bytes()
}

async fn resend(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    let body = payment.prepare(stage).await?;
    payment.commit(stage).await?;
    let state = json!({
        "fulfilment": payment.fulfilment, "completedTimestamp": TIME, "transferState": "COMMITTED"
    });
    payment.post(stage, &body).await?;
    stage
        .hub_tells(PAYER, Method::PUT, &payment.path(), &state)
        .await?;
    let ask = stage.sends(PAYER, Method::POST, "/transfers").to(PAYEE);
    ask.body(turned(&body)).accepted().await?;
    stage
        .hub_tells(PAYER, Method::PUT, &payment.path(), &state)
        .await?;
    let events = [
        &events::prepared()[..],
        &events::committed(),
        &resent(),
        &resent(),
    ];
    payment
        .ends(stage, "COMMITTED", &[Leg::Prepare, Leg::Fulfil], &events)
        .await
}

async fn resend_aborted(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    let body = payment.prepare(stage).await?;
    payment.decline(stage, &fsp_error("5104")).await?;
    payment.post(stage, &body).await?;
    let state = json!({
        "completedTimestamp": TIME,
        "transferState": "ABORTED",
        "extensionList": { "extension": [{ "key": "cause", "value": TEXT }] },
    });
    stage
        .hub_tells(PAYER, Method::PUT, &payment.path(), &state)
        .await?;
    let events = [&events::prepared()[..], &events::declined(), &resent()];
    payment
        .ends(stage, "REJECTED", &[Leg::Prepare, Leg::Release], &events)
        .await
}

async fn ignore(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    let body = payment.prepare(stage).await?;
    payment.post(stage, &body).await?;
    payment.post(stage, &body).await?;
    let events = [&events::prepared()[..], &events::ASKED, &events::ASKED];
    payment
        .ends(stage, "PREPARED", &[Leg::Prepare], &events)
        .await?;
    payment.commit(stage).await?;
    let events = [&events.concat()[..], &events::committed()];
    payment
        .ends(stage, "COMMITTED", &[Leg::Prepare, Leg::Fulfil], &events)
        .await
}

async fn no_match(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    let body = payment.prepare(stage).await?;
    let mut other = body.clone();
    other["amount"]["amount"] = "4".into();
    payment.post(stage, &other).await?;
    stage.hub_refuses(PAYER, &payment.path(), "3106").await?;
    let events = [&events::prepared()[..], &mismatched()];
    payment
        .ends(stage, "PREPARED", &[Leg::Prepare], &events)
        .await?;
    payment.commit(stage).await?;
    // Also when it has ended.
    payment.post(stage, &other).await?;
    stage.hub_refuses(PAYER, &payment.path(), "3106").await?;
    let events = [&events.concat()[..], &events::committed(), &mismatched()];
    payment
        .ends(stage, "COMMITTED", &[Leg::Prepare, Leg::Fulfil], &events)
        .await
}

async fn other_sender(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    let body = payment.prepare(stage).await?;
    let mut stolen = body.clone();
    stolen["payerFsp"] = STRANGER.into();
    let ask = stage.sends(STRANGER, Method::POST, "/transfers").to(PAYEE);
    ask.json(&stolen).accepted().await?;
    stage.hub_refuses(STRANGER, &payment.path(), "3106").await?;
    payment.commit(stage).await?;
    let events = [&events::prepared()[..], &mismatched(), &events::committed()];
    payment
        .ends(stage, "COMMITTED", &[Leg::Prepare, Leg::Fulfil], &events)
        .await
}

async fn agreement_again(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    payment.prepare(stage).await?;
    payment.commit(stage).await?;
    let again = Payment {
        transfer_id: stage.id(),
        ..payment.clone()
    };
    again.post(stage, &again.transfer()).await?;
    stage.hub_refuses(PAYER, &again.path(), "3100").await?;
    again
        .ends(stage, "FAILED", &[], &[&events::against_rules()])
        .await
}

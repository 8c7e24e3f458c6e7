//! Commitments that do not fit: wrong ones, repeated ones, those of others.

use anyhow::Result;
use http::Method;
use rialto_tests::world::{PAYEE, PAYER};
use serde_json::{Value, json};

use crate::case;
use crate::case::Case;
use crate::compare::{TEXT, TIME};
use crate::payment::{Leg, Payment, events};
use crate::stage::{STRANGER, Stage, fsp_error};

pub(super) const CASES: [Case; 11] = [
    case!(
        "fulfilment/invalid",
        "4.6: fulfilment does not match: 3100 to both, transfer aborted",
        invalid
    ),
    case!(
        "fulfilment/loose-bits",
        "2.1, 4.7: 43 characters of base64url, whatever their last two bits: compared as bytes",
        loose_bits
    ),
    case!(
        "fulfilment/invalid-reserved",
        "4.6: the same in RESERVED mode: PATCH with ABORTED",
        invalid_reserved
    ),
    case!(
        "fulfilment/unknown-transfer",
        "3.4: fulfil for an unknown id, 3208 to the sender",
        unknown_transfer
    ),
    case!(
        "fulfilment/wrong-destination",
        "4.3: a commitment for another than the payer FSP: 3100 to both, transfer aborted",
        wrong_destination
    ),
    case!(
        "fulfilment/decline-for-another",
        "a refusal for another than the payer FSP counts, and the hub tells both",
        decline_for_another
    ),
    case!(
        "fulfilment/missing",
        "4.6: no fulfilment is a wrong one: 3100 to both, transfer aborted",
        missing
    ),
    case!(
        "fulfilment/again",
        "4.5: fulfil duplicate, equal: the result again",
        again
    ),
    case!(
        "fulfilment/again-changed",
        "3.4: fulfil duplicate, different body, 3106",
        again_changed
    ),
    case!(
        "fulfilment/decline-after-commit",
        "3.4: in a state that does not wait for it, 3100",
        decline_after_commit
    ),
    case!(
        "fulfilment/bad-form",
        "4.6, 3.3: RESERVED in 1.0, ABORTED, times, codes",
        bad_form
    ),
];

fn no_fulfilment(payment: &Payment, state: &str) -> Value {
    let mut body = payment.fulfil(state);
    body["fulfilment"] = "A".repeat(43).into();
    body
}

/// The scheme refuses the payee FSP's commitment, and both are told.
fn refused_events() -> Vec<&'static str> {
    let told = events::told("transfer-reject-request-processed-callback-report");
    let events = [
        "transfer-fulfil-committed-requested",
        "transfer-reject-request-processed",
    ];
    [&events[..], &told, &told].concat()
}

const GIVEN_BACK: [Leg; 2] = [Leg::Prepare, Leg::Release];
const PAID: [Leg; 2] = [Leg::Prepare, Leg::Fulfil];

async fn invalid(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    payment.prepare(stage).await?;
    let body = no_fulfilment(&payment, "COMMITTED");
    payment
        .put(stage, PAYEE, PAYER, &payment.path(), &body)
        .await?;
    for fsp in [PAYER, PAYEE] {
        stage.hub_refuses(fsp, &payment.path(), "3100").await?;
    }
    let events = [&events::prepared()[..], &refused_events()];
    payment
        .ends(stage, "REJECTED", &GIVEN_BACK, &events)
        .await?;
    // The right one is too late.
    payment
        .put(
            stage,
            PAYEE,
            PAYER,
            &payment.path(),
            &payment.fulfil("COMMITTED"),
        )
        .await?;
    stage.hub_refuses(PAYEE, &payment.path(), "3106").await?;
    let events = [
        &events.concat()[..],
        &events::answered("transfer-fulfil-committed-requested"),
    ];
    payment.ends(stage, "REJECTED", &GIVEN_BACK, &events).await
}

/// The same 32 bytes with the last two bits set, which belong to none of them.
fn loose(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let (most, last) = text.split_at(text.len() - 1);
    let digit = DIGITS.iter().position(|d| last.as_bytes().contains(d));
    let digit = digit.unwrap_or_default() | 3;
    format!("{most}{}", char::from(DIGITS[digit]))
}

async fn loose_bits(stage: &Stage) -> Result<()> {
    let mut payment = Payment::new(stage);
    payment.condition = loose(&payment.condition);
    payment.fulfilment = loose(&payment.fulfilment);
    payment.prepare(stage).await?;
    payment.commit(stage).await?;
    let events = [&events::prepared()[..], &events::committed()];
    payment.ends(stage, "COMMITTED", &PAID, &events).await?;
    // A wrong one that has the form is a wrong fulfilment, not a malformed one.
    let payment = Payment::new(stage);
    payment.prepare(stage).await?;
    let mut body = payment.fulfil("COMMITTED");
    body["fulfilment"] = "B".repeat(43).into();
    payment
        .put(stage, PAYEE, PAYER, &payment.path(), &body)
        .await?;
    for fsp in [PAYER, PAYEE] {
        stage.hub_refuses(fsp, &payment.path(), "3100").await?;
    }
    let events = [&events::prepared()[..], &refused_events()];
    payment.ends(stage, "REJECTED", &GIVEN_BACK, &events).await
}

async fn invalid_reserved(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    payment.prepare(stage).await?;
    let body = no_fulfilment(&payment, "RESERVED");
    payment
        .put(stage, PAYEE, PAYER, &payment.path(), &body)
        .await?;
    stage.hub_refuses(PAYER, &payment.path(), "3100").await?;
    let patch = json!({
        "completedTimestamp": TIME,
        "transferState": "ABORTED",
        "extensionList": { "extension": [{ "key": "cause", "value": TEXT }] },
    });
    let told = stage
        .hub_tells(PAYEE, Method::PATCH, &payment.path(), &patch)
        .await?;
    let cause = told.json()["extensionList"]["extension"][0]["value"].clone();
    let cause = cause.as_str().unwrap_or_default();
    anyhow::ensure!(cause.starts_with("3100: "), "the cause is {cause:?}");
    let events = [&events::prepared()[..], &refused_events()];
    payment.ends(stage, "REJECTED", &GIVEN_BACK, &events).await
}

async fn unknown_transfer(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    payment
        .put(
            stage,
            PAYEE,
            PAYER,
            &payment.path(),
            &payment.fulfil("COMMITTED"),
        )
        .await?;
    stage.hub_refuses(PAYEE, &payment.path(), "3208").await?;
    payment
        .put(
            stage,
            PAYEE,
            PAYER,
            &payment.error_path(),
            &fsp_error("5104"),
        )
        .await?;
    stage.hub_refuses(PAYEE, &payment.path(), "3208").await?;
    let events = [
        &events::answered("transfer-fulfil-committed-requested")[..],
        &events::answered("transfer-reject-requested"),
    ];
    payment.ends(stage, "null", &[], &events).await
}

async fn wrong_destination(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    payment.prepare(stage).await?;
    payment
        .put(
            stage,
            PAYEE,
            STRANGER,
            &payment.path(),
            &payment.fulfil("COMMITTED"),
        )
        .await?;
    for fsp in [PAYER, PAYEE] {
        stage.hub_refuses(fsp, &payment.path(), "3100").await?;
    }
    let events = [&events::prepared()[..], &refused_events()];
    payment.ends(stage, "REJECTED", &GIVEN_BACK, &events).await
}

async fn decline_for_another(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    payment.prepare(stage).await?;
    payment
        .put(
            stage,
            PAYEE,
            STRANGER,
            &payment.error_path(),
            &fsp_error("5104"),
        )
        .await?;
    for fsp in [PAYER, PAYEE] {
        stage.hub_refuses(fsp, &payment.path(), "5104").await?;
    }
    let told = events::told("transfer-reject-request-processed-callback-report");
    let events = [&events::prepared()[..], &events::declined(), &told];
    payment.ends(stage, "REJECTED", &GIVEN_BACK, &events).await
}

async fn missing(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    payment.prepare(stage).await?;
    let body = json!({ "transferState": "COMMITTED" });
    payment
        .put(stage, PAYEE, PAYER, &payment.path(), &body)
        .await?;
    for fsp in [PAYER, PAYEE] {
        stage.hub_refuses(fsp, &payment.path(), "3100").await?;
    }
    let events = [&events::prepared()[..], &refused_events()];
    payment.ends(stage, "REJECTED", &GIVEN_BACK, &events).await
}

async fn again(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    payment.prepare(stage).await?;
    payment.commit(stage).await?;
    payment
        .put(
            stage,
            PAYEE,
            PAYER,
            &payment.path(),
            &payment.fulfil("COMMITTED"),
        )
        .await?;
    let state = json!({
        "fulfilment": payment.fulfilment, "completedTimestamp": TIME, "transferState": "COMMITTED"
    });
    stage
        .hub_tells(PAYEE, Method::PUT, &payment.path(), &state)
        .await?;
    let events = [
        &events::prepared()[..],
        &events::committed(),
        &events::answered("transfer-fulfil-committed-requested"),
    ];
    payment.ends(stage, "COMMITTED", &PAID, &events).await
}

async fn again_changed(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    payment.prepare(stage).await?;
    payment.commit(stage).await?;
    let body = no_fulfilment(&payment, "COMMITTED");
    payment
        .put(stage, PAYEE, PAYER, &payment.path(), &body)
        .await?;
    stage.hub_refuses(PAYEE, &payment.path(), "3106").await?;
    let events = [
        &events::prepared()[..],
        &events::committed(),
        &events::answered("transfer-fulfil-committed-requested"),
    ];
    payment.ends(stage, "COMMITTED", &PAID, &events).await
}

async fn decline_after_commit(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    payment.prepare(stage).await?;
    payment.commit(stage).await?;
    payment
        .put(
            stage,
            PAYEE,
            PAYER,
            &payment.error_path(),
            &fsp_error("5104"),
        )
        .await?;
    stage.hub_refuses(PAYEE, &payment.path(), "3100").await?;
    let events = [
        &events::prepared()[..],
        &events::committed(),
        &events::answered("transfer-reject-requested"),
    ];
    payment.ends(stage, "COMMITTED", &PAID, &events).await
}

async fn bad_form(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    payment.prepare(stage).await?;
    let sends =
        |path: &str, body: &Value| stage.sends(PAYEE, Method::PUT, path).to(PAYER).json(body);
    let old = "application/vnd.interoperability.transfers+json;version=1.0";
    let reserved = sends(&payment.path(), &payment.fulfil("RESERVED"));
    reserved
        .header("content-type", old)
        .refused(400, "3100")
        .await?;
    for (state, code) in [
        ("ABORTED", "3100"),
        ("RECEIVED", "3100"),
        ("committed", "3101"),
        ("reserved", "3101"),
    ] {
        sends(&payment.path(), &payment.fulfil(state))
            .refused(400, code)
            .await?;
    }
    let with = |member: &str, value: Value| {
        let mut body = payment.fulfil("COMMITTED");
        body[member] = value;
        body
    };
    for (body, code) in [
        (with("fulfilment", "A".repeat(42).into()), "3101"),
        (
            with("completedTimestamp", "2020-01-01T00:00:00.000Z".into()),
            "3100",
        ),
        (
            with("completedTimestamp", "2099-01-01T00:00:00.000Z".into()),
            "3100",
        ),
        (with("completedTimestamp", "now".into()), "3101"),
    ] {
        sends(&payment.path(), &body).refused(400, code).await?;
    }
    for (error, code) in [
        ("9999", "3100"),
        ("0100", "3101"),
        ("51", "3101"),
        ("6001", "3100"),
    ] {
        sends(&payment.error_path(), &fsp_error(error))
            .refused(400, code)
            .await?;
    }
    sends(&payment.error_path(), &json!({}))
        .refused(400, "3102")
        .await?;
    // None of it counts.
    payment
        .ends(stage, "PREPARED", &[Leg::Prepare], &[&events::prepared()])
        .await?;
    payment.commit(stage).await
}

//! Transfers that go as they should, and questions about them.

use anyhow::Result;
use http::Method;
use rialto_tests::world::{PAYEE, PAYER};
use serde_json::json;

use crate::case;
use crate::case::Case;
use crate::compare::{TEXT, TIME};
use crate::payment::{Leg, Payment, events};
use crate::stage::{STRANGER, Stage, fsp_error};

pub(super) const CASES: [Case; 7] = [
    case!(
        "transfers/universal-mode",
        "state table: POST, Prepared, PUT committed, Committed (T-01)",
        universal_mode
    ),
    case!(
        "transfers/payee-confirmation",
        "state table: PUT reserved, Reserved, PUT and PATCH (T-02)",
        payee_confirmation
    ),
    case!(
        "transfers/query",
        "state table: GET, unchanged, information by PUT (T-03)",
        query
    ),
    case!(
        "transfers/query-aborted",
        "decision 9: Failed and Rejected are ABORTED outside",
        query_aborted
    ),
    case!(
        "transfers/query-unknown",
        "3.4: GET of an unknown transfer, or by a stranger, 3208",
        query_unknown
    ),
    case!(
        "transfers/declined",
        "state table: PUT error from the payee FSP, Rejected (T-06)",
        declined
    ),
    case!(
        "transfers/each-payee-code",
        "3.4: payee declines: its own code is relayed",
        each_payee_code
    ),
];

async fn universal_mode(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage).of(1_234);
    payment.prepare(stage).await?;
    payment
        .ends(stage, "PREPARED", &[Leg::Prepare], &[&events::prepared()])
        .await?;
    payment.commit(stage).await?;
    let legs = [Leg::Prepare, Leg::Fulfil];
    let events = [&events::prepared()[..], &events::committed()];
    payment.ends(stage, "COMMITTED", &legs, &events).await
}

/// The hub's message about a committed transfer.
fn committed(payment: &Payment) -> serde_json::Value {
    json!({
        "fulfilment": payment.fulfilment, "completedTimestamp": TIME, "transferState": "COMMITTED"
    })
}

async fn payee_confirmation(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    payment.prepare(stage).await?;
    let body = payment.fulfil("RESERVED");
    payment
        .put(stage, PAYEE, PAYER, &payment.path(), &body)
        .await?;
    stage
        .hub_tells(PAYER, Method::PUT, &payment.path(), &committed(&payment))
        .await?;
    let patch = json!({ "completedTimestamp": TIME, "transferState": "COMMITTED" });
    stage
        .hub_tells(PAYEE, Method::PATCH, &payment.path(), &patch)
        .await?;
    let second = events::told("transfer-fulfil-committed-callback-report");
    let events = [&events::prepared()[..], &events::committed(), &second];
    payment
        .ends(stage, "COMMITTED", &[Leg::Prepare, Leg::Fulfil], &events)
        .await?;
    // It went through Reserved, and may be asked for again: by PATCH.
    let document = stage.document("transfers", "transfers", &payment.transfer_id)?;
    let history = document["history"].as_array();
    let states: Vec<&str> = history
        .into_iter()
        .flatten()
        .filter_map(|step| step["state"].as_str())
        .collect();
    anyhow::ensure!(
        states == ["RECEIVED", "PREPARED", "RESERVED", "COMMITTED"],
        "the transfer went through {states:?}"
    );
    payment
        .put(stage, PAYEE, PAYER, &payment.path(), &body)
        .await?;
    stage
        .hub_tells(PAYEE, Method::PATCH, &payment.path(), &patch)
        .await?;
    let again = events::answered("transfer-fulfil-committed-requested");
    let events = [&events.concat()[..], &again];
    payment
        .ends(stage, "COMMITTED", &[Leg::Prepare, Leg::Fulfil], &events)
        .await
}

async fn query(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    payment.prepare(stage).await?;
    let reserved = json!({ "transferState": "RESERVED" });
    for fsp in [PAYER, PAYEE] {
        stage
            .sends(fsp, Method::GET, &payment.path())
            .accepted()
            .await?;
        stage
            .hub_tells(fsp, Method::PUT, &payment.path(), &reserved)
            .await?;
    }
    stage.transfer_is(&payment.transfer_id, "PREPARED")?;
    payment.commit(stage).await?;
    for fsp in [PAYER, PAYEE] {
        stage
            .sends(fsp, Method::GET, &payment.path())
            .accepted()
            .await?;
        stage
            .hub_tells(fsp, Method::PUT, &payment.path(), &committed(&payment))
            .await?;
    }
    let queried = events::answered("transfer-query-received");
    let events = [
        &events::prepared()[..],
        &events::committed(),
        &queried.repeat(4),
    ];
    payment
        .ends(stage, "COMMITTED", &[Leg::Prepare, Leg::Fulfil], &events)
        .await
}

/// The hub's message about an aborted transfer.
fn aborted() -> serde_json::Value {
    json!({
        "completedTimestamp": TIME,
        "transferState": "ABORTED",
        "extensionList": { "extension": [{ "key": "cause", "value": TEXT }] },
    })
}

async fn query_aborted(stage: &Stage) -> Result<()> {
    let rejected = Payment::new(stage);
    rejected.prepare(stage).await?;
    rejected.decline(stage, &fsp_error("5104")).await?;
    let failed = Payment::new(stage);
    failed.post(stage, &failed.transfer()).await?;
    stage.hub_refuses(PAYER, &failed.path(), "3205").await?;
    for payment in [&rejected, &failed] {
        stage
            .sends(PAYER, Method::GET, &payment.path())
            .accepted()
            .await?;
        stage
            .hub_tells(PAYER, Method::PUT, &payment.path(), &aborted())
            .await?;
    }
    let queried = events::answered("transfer-query-received");
    let events = [&events::prepared()[..], &events::declined(), &queried];
    let legs = [Leg::Prepare, Leg::Release];
    rejected.ends(stage, "REJECTED", &legs, &events).await?;
    let events = [&events::against_rules()[..], &queried];
    failed.ends(stage, "FAILED", &[], &events).await
}

async fn query_unknown(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    stage
        .sends(PAYER, Method::GET, &payment.path())
        .accepted()
        .await?;
    stage.hub_refuses(PAYER, &payment.path(), "3208").await?;
    payment.prepare(stage).await?;
    payment.commit(stage).await?;
    stage
        .sends(STRANGER, Method::GET, &payment.path())
        .accepted()
        .await?;
    stage.hub_refuses(STRANGER, &payment.path(), "3208").await?;
    let queried = events::answered("transfer-query-received");
    let events = [
        &queried.repeat(2)[..],
        &events::prepared(),
        &events::committed(),
    ];
    payment
        .ends(stage, "COMMITTED", &[Leg::Prepare, Leg::Fulfil], &events)
        .await
}

async fn declined(stage: &Stage) -> Result<()> {
    // Codes that deployments add to the API's are passed on as well.
    for code in ["6000", "7204"] {
        let payment = Payment::new(stage);
        payment.prepare(stage).await?;
        payment.decline(stage, &fsp_error(code)).await?;
        let legs = [Leg::Prepare, Leg::Release];
        let events = [&events::prepared()[..], &events::declined()];
        payment.ends(stage, "REJECTED", &legs, &events).await?;
    }
    let payment = Payment::new(stage);
    payment.prepare(stage).await?;
    let refusal = fsp_error("5104");
    payment.decline(stage, &refusal).await?;
    let legs = [Leg::Prepare, Leg::Release];
    let events = [&events::prepared()[..], &events::declined()];
    payment.ends(stage, "REJECTED", &legs, &events).await?;
    // The same again is owed no answer; another reason and a commitment are refused.
    payment
        .put(stage, PAYEE, PAYER, &payment.error_path(), &refusal)
        .await?;
    payment
        .put(
            stage,
            PAYEE,
            PAYER,
            &payment.error_path(),
            &fsp_error("5105"),
        )
        .await?;
    stage.hub_refuses(PAYEE, &payment.path(), "3106").await?;
    payment
        .put(
            stage,
            PAYEE,
            PAYER,
            &payment.path(),
            &payment.fulfil("COMMITTED"),
        )
        .await?;
    stage.hub_refuses(PAYEE, &payment.path(), "3100").await?;
    let more = [
        &["transfer-reject-requested"][..],
        &events::answered("transfer-reject-requested"),
        &events::answered("transfer-fulfil-committed-requested"),
    ]
    .concat();
    let events = [&events::prepared()[..], &events::declined(), &more];
    payment.ends(stage, "REJECTED", &legs, &events).await
}

async fn each_payee_code(stage: &Stage) -> Result<()> {
    for code in ["5100", "5105", "5200", "5001", "2003", "5142"] {
        let payment = Payment::new(stage);
        payment.prepare(stage).await?;
        payment.decline(stage, &fsp_error(code)).await?;
        let events = [&events::prepared()[..], &events::declined()];
        payment
            .ends(stage, "REJECTED", &[Leg::Prepare, Leg::Release], &events)
            .await?;
    }
    Ok(())
}

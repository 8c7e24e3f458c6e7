//! Requests for a transfer that the scheme refuses before the payee FSP is asked.

use anyhow::{Context as _, Result};
use http::Method;
use rialto_tests::world::{PAYEE, PAYER};
use serde_json::{Value, json};

use crate::case;
use crate::case::Case;
use crate::payment::{Leg, Payment, events};
use crate::stage::{BARRED, CAPPED, NOBODY, POOR, Stage, fsp_error};

pub(super) const CASES: [Case; 12] = [
    case!(
        "prepare/liquidity",
        "state table: liquidity check failure, Failed, 4001 (T-11)",
        liquidity
    ),
    case!(
        "prepare/net-debit-cap",
        "decision 8: the cap is exceeded, 4200",
        net_debit_cap
    ),
    case!(
        "prepare/barred-payer",
        "state table: invalid payer, Failed, told: 4400 (T-13)",
        barred_payer
    ),
    case!(
        "prepare/unknown-payer",
        "state table: invalid payer, unknown (T-13): refused at once, 400 3200",
        unknown_payer
    ),
    case!(
        "prepare/payer-without-account",
        "3.4: no account for the currency, payer: 4103",
        payer_without_account
    ),
    case!(
        "prepare/unknown-payee",
        "state table: invalid payee, Failed, 3203 (T-14)",
        unknown_payee
    ),
    case!(
        "prepare/barred-payee",
        "3.4: payee FSP may not transact, 3201",
        barred_payee
    ),
    case!(
        "prepare/payee-without-account",
        "3.4: no account for the currency, payee: 5106",
        payee_without_account
    ),
    case!(
        "prepare/payer-is-payee",
        "3.4: payer and payee FSP are the same, 3100",
        payer_is_payee
    ),
    case!(
        "prepare/no-quote",
        "a rule on transfers: no agreed quote, 3205",
        no_quote
    ),
    case!(
        "prepare/other-terms",
        "a rule on transfers: not what the quote agreed on, 3100",
        other_terms
    ),
    case!(
        "prepare/unreachable-payee",
        "decision 18: reserved until it expires, then 3303",
        unreachable_payee
    ),
];

fn invalid_payer() -> Vec<&'static str> {
    let report = "transfer-prepare-invalid-payer-check-failed-callback-report";
    events::refused("transfer-prepare-invalid-payer-check-failed", report)
}

fn invalid_payee() -> Vec<&'static str> {
    let report = "transfer-prepare-invalid-payee-check-failed-callback-report";
    events::refused("transfer-prepare-invalid-payee-check-failed", report)
}

/// Requests a transfer with this body, without a quote: the payer FSP gets this code, no other FSP gets a
/// message, and no money moves.
async fn fails(
    stage: &Stage,
    payment: &Payment,
    body: &Value,
    code: &str,
    events: &[&str],
) -> Result<()> {
    payment.post(stage, body).await?;
    stage
        .hub_refuses(payment.payer, &payment.path(), code)
        .await?;
    payment.ends(stage, "FAILED", &[], &[events]).await
}

/// The same of a transfer on an agreed quote.
async fn fails_for_money(stage: &Stage, payment: &Payment, code: &str) -> Result<()> {
    payment.agree(stage).await?;
    let body = payment.transfer();
    fails(stage, payment, &body, code, &events::short_of_liquidity()).await
}

/// A transfer that is exactly covered is prepared; the payee FSP gives it back.
async fn is_covered(stage: &Stage, payment: &Payment) -> Result<()> {
    payment.prepare(stage).await?;
    payment.decline(stage, &fsp_error("5104")).await?;
    payment.ledger(stage, &[Leg::Prepare, Leg::Release]).await
}

async fn liquidity(stage: &Stage) -> Result<()> {
    let one_cent_more = Payment::between(stage, POOR, PAYEE).of(2_001);
    fails_for_money(stage, &one_cent_more, "4001").await?;
    is_covered(stage, &Payment::between(stage, POOR, PAYEE).of(2_000)).await
}

async fn net_debit_cap(stage: &Stage) -> Result<()> {
    let one_cent_more = Payment::between(stage, CAPPED, PAYEE).of(3_001);
    fails_for_money(stage, &one_cent_more, "4200").await?;
    is_covered(stage, &Payment::between(stage, CAPPED, PAYEE).of(3_000)).await
}

async fn barred_payer(stage: &Stage) -> Result<()> {
    let payment = Payment::between(stage, BARRED, PAYEE);
    fails(
        stage,
        &payment,
        &payment.transfer(),
        "4400",
        &invalid_payer(),
    )
    .await
}

async fn unknown_payer(stage: &Stage) -> Result<()> {
    let payment = Payment {
        payer: NOBODY,
        ..Payment::new(stage)
    };
    let ask = stage.sends(PAYER, Method::POST, "/transfers").to(PAYEE);
    let ask = ask.header("fspiop-source", NOBODY);
    ask.json(&payment.transfer()).refused(400, "3200").await?;
    payment.ends(stage, "null", &[], &[]).await
}

fn in_rwf(payment: &Payment) -> Value {
    let mut body = payment.transfer();
    body["amount"] = json!({ "currency": "RWF", "amount": "5" });
    body
}

async fn payer_without_account(stage: &Stage) -> Result<()> {
    let payment = Payment::between(stage, POOR, PAYEE);
    fails(stage, &payment, &in_rwf(&payment), "4103", &invalid_payer()).await
}

async fn unknown_payee(stage: &Stage) -> Result<()> {
    let payment = Payment::between(stage, PAYER, NOBODY);
    fails(
        stage,
        &payment,
        &payment.transfer(),
        "3203",
        &invalid_payee(),
    )
    .await
}

async fn barred_payee(stage: &Stage) -> Result<()> {
    let payment = Payment::between(stage, PAYER, BARRED);
    fails(
        stage,
        &payment,
        &payment.transfer(),
        "3201",
        &invalid_payee(),
    )
    .await
}

async fn payee_without_account(stage: &Stage) -> Result<()> {
    let payment = Payment::between(stage, PAYER, POOR);
    fails(stage, &payment, &in_rwf(&payment), "5106", &invalid_payee()).await
}

async fn payer_is_payee(stage: &Stage) -> Result<()> {
    let payment = Payment::between(stage, PAYER, PAYER);
    fails(
        stage,
        &payment,
        &payment.transfer(),
        "3100",
        &invalid_payee(),
    )
    .await
}

async fn no_quote(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    fails(
        stage,
        &payment,
        &payment.transfer(),
        "3205",
        &events::against_rules(),
    )
    .await
}

async fn other_terms(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    payment.agree(stage).await?;
    let dearer = Payment {
        cents: 501,
        ..payment.clone()
    };
    fails(
        stage,
        &dearer,
        &dearer.transfer(),
        "3100",
        &events::against_rules(),
    )
    .await
}

async fn unreachable_payee(stage: &Stage) -> Result<()> {
    // It has agreed to the quote, and then its server was gone.
    let payment = stage.agreed_with_gone.clone();
    let payment = payment.context("the stage has agreed with it")?;
    payment.post(stage, &payment.transfer()).await?;
    stage.hub_refuses(PAYER, &payment.path(), "3303").await?;
    let events = [events::prepared(), events::timed_out()].concat();
    let legs = [Leg::Prepare, Leg::Release];
    payment.ends(stage, "REJECTED", &legs, &[&events]).await
}

//! Warnings of a participant's liquidity (choreography 6.9 to 6.11, decision 9).

use anyhow::Result;
use rialto_tests::world::PAYER;

use crate::case;
use crate::case::Case;
use crate::payment::{Leg, Payment, events};
use crate::stage::{Stage, WARNED};

/// The effects of a crossed threshold. The call ends after its effects are staged.
const WARNING: [&str; 2] = [
    "participant-liquidity-threshold-exceeded",
    "liquidity-threshold-exceeded",
];

pub(super) const CASES: [Case; 1] = [case!(
    "liquidity/threshold",
    "E: LiquidityThresholdExceeded, once until it has recovered (P-08, P-10)",
    threshold
)];

async fn threshold(stage: &Stage) -> Result<()> {
    let sentence = format!("{WARNED} has 14.99 USD left, less than its threshold of 15");
    // 20 dollars, then exactly 15: not below.
    committed(stage, &Payment::between(stage, WARNED, PAYER).of(500), &[]).await?;
    committed(
        stage,
        &Payment::between(stage, WARNED, PAYER).of(1),
        &WARNING,
    )
    .await?;
    stage.alerts(WARNED, &[&sentence], &WARNING).await?;
    committed(stage, &Payment::between(stage, WARNED, PAYER).of(1), &[]).await?;
    // At the threshold again, and below it again.
    committed(stage, &Payment::between(stage, PAYER, WARNED).of(2), &[]).await?;
    committed(
        stage,
        &Payment::between(stage, WARNED, PAYER).of(1),
        &WARNING,
    )
    .await?;
    stage
        .alerts(WARNED, &[sentence.as_str(); 2], &WARNING)
        .await
}

async fn committed(stage: &Stage, payment: &Payment, warnings: &[&str]) -> Result<()> {
    payment.prepare(stage).await?;
    payment.commit(stage).await?;
    let legs = [Leg::Prepare, Leg::Fulfil];
    let events = [&events::prepared()[..], &events::committed()];
    payment.ends(stage, "COMMITTED", &legs, &events).await?;
    stage.warnings(&payment.transfer_id, warnings).await
}

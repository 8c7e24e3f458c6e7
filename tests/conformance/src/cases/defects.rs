//! Known defects of the deployed switch and of its successor, and that they are not here.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use rialto_simulator::time::datetime;
use rialto_tests::waiting::until;
use rialto_tests::world::{PAYEE, PAYER};

use crate::case;
use crate::case::Case;
use crate::payment::{Leg, Payment, events};
use crate::stage::{CAPPED, POOR, SIGNER, STRANGER, Stage, fsp_error};

pub(super) const CASES: [Case; 6] = [
    case!(
        "defects/strangers-put",
        "4.3: a PUT of a stranger aborts a transfer",
        strangers_put
    ),
    case!(
        "defects/strangers-put-after-commit",
        "4.3: the same of a committed transfer",
        strangers_put_after_commit
    ),
    case!(
        "defects/liquidity-check-that-adds",
        "6.3: a batch overshoots the cover: 4001",
        liquidity_that_adds
    ),
    case!(
        "defects/cap-check-that-adds",
        "6.3: a batch overshoots the cap: 4200",
        cap_that_adds
    ),
    case!(
        "defects/reminder-at-the-exact-instant",
        "4.4: a reminder in the very millisecond is lost",
        reminder_at_the_instant
    ),
    case!(
        "defects/re-serialised-jws",
        "5.4: a signature is checked over the body as another writer would write it",
        reserialised_jws
    ),
];

/// A stranger and the payer FSP commit and decline a transfer. Each gets an error, and nobody else is told.
/// Returns the events.
async fn intrude(stage: &Stage, payment: &Payment) -> Result<Vec<&'static str>> {
    let mut events = Vec::new();
    for (fsp, to) in [(STRANGER, PAYER), (PAYER, PAYEE)] {
        payment
            .put(
                stage,
                fsp,
                to,
                &payment.path(),
                &payment.fulfil("COMMITTED"),
            )
            .await?;
        stage.hub_refuses(fsp, &payment.path(), "3100").await?;
        payment
            .put(stage, fsp, to, &payment.error_path(), &fsp_error("5104"))
            .await?;
        stage.hub_refuses(fsp, &payment.path(), "3100").await?;
        events.extend(events::answered("transfer-fulfil-committed-requested"));
        events.extend(events::answered("transfer-reject-requested"));
    }
    Ok(events)
}

async fn strangers_put(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    payment.prepare(stage).await?;
    let intruded = intrude(stage, &payment).await?;
    let events = [&events::prepared()[..], &intruded];
    payment
        .ends(stage, "PREPARED", &[Leg::Prepare], &events)
        .await?;
    payment.commit(stage).await?;
    let events = [&events.concat()[..], &events::committed()];
    payment
        .ends(stage, "COMMITTED", &[Leg::Prepare, Leg::Fulfil], &events)
        .await
}

async fn strangers_put_after_commit(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    payment.prepare(stage).await?;
    payment.commit(stage).await?;
    let intruded = intrude(stage, &payment).await?;
    let events = [&events::prepared()[..], &events::committed(), &intruded];
    payment
        .ends(stage, "COMMITTED", &[Leg::Prepare, Leg::Fulfil], &events)
        .await
}

/// Many concurrent requests of one payer, of which a number are covered: these are prepared, the others are
/// refused with this code. The payee FSP declines the prepared ones.
async fn overshoot(
    stage: &Stage,
    payer: &'static str,
    cents: u64,
    covered: usize,
    code: &str,
) -> Result<()> {
    const AT_ONCE: usize = 10;
    let payments: Vec<Payment> = (0..AT_ONCE)
        .map(|_| Payment::between(stage, payer, PAYEE).of(cents))
        .collect();
    for payment in &payments {
        payment.agree(stage).await?;
    }
    let bodies: Vec<_> = payments.iter().map(Payment::transfer).collect();
    let mut posts = tokio::task::JoinSet::new();
    for body in bodies {
        let fsp = stage.world.fsp(payer).clone();
        posts.spawn(async move {
            let request = fsp.raw(http::Method::POST, "/transfers").to(PAYEE);
            request
                .body(body.to_string())
                .send()
                .await
                .map(|answer| answer.status.as_u16())
        });
    }
    while let Some(post) = posts.join_next().await {
        let status = post??;
        ensure!(status == 202, "POST /transfers is answered with {status}");
    }
    let state = |payment: &Payment| -> Result<String> {
        let document = stage.document("transfers", "transfers", &payment.transfer_id)?;
        Ok(document["state"].as_str().unwrap_or_default().to_owned())
    };
    let states = until(
        "all requests are judged",
        Duration::from_secs(30),
        async || {
            let states: Vec<String> = payments.iter().map(state).collect::<Result<_>>()?;
            let judged = states
                .iter()
                .all(|state| state == "PREPARED" || state == "FAILED");
            Ok(if judged {
                Ok(states)
            } else {
                Err(format!("{states:?}"))
            })
        },
    )
    .await?;
    let prepared = states.iter().filter(|state| *state == "PREPARED").count();
    ensure!(
        prepared == covered,
        "{prepared} transfers are prepared, {covered} are covered"
    );
    for (payment, state) in payments.iter().zip(states) {
        if state == "PREPARED" {
            stage.told(PAYEE, http::Method::POST, "/transfers").await?;
            payment.decline(stage, &fsp_error("5104")).await?;
            let events = [&events::prepared()[..], &events::declined()];
            let legs = [Leg::Prepare, Leg::Release];
            payment.ends(stage, "REJECTED", &legs, &events).await?;
        } else {
            stage.hub_refuses(payer, &payment.path(), code).await?;
            let events = events::short_of_liquidity();
            payment.ends(stage, "FAILED", &[], &[&events]).await?;
        }
    }
    Ok(())
}

async fn liquidity_that_adds(stage: &Stage) -> Result<()> {
    overshoot(stage, POOR, 500, 4, "4001").await
}

async fn cap_that_adds(stage: &Stage) -> Result<()> {
    overshoot(stage, CAPPED, 1_000, 3, "4200").await
}

/// Transfers that expire one millisecond after the other: whenever the clock looks, it is the very
/// millisecond of some. All of them end.
async fn reminder_at_the_instant(stage: &Stage) -> Result<()> {
    const TRANSFERS: u64 = 25;
    let mut payments = Vec::new();
    for _ in 0..TRANSFERS {
        let payment = Payment::new(stage).of(100);
        payment.agree(stage).await?;
        payments.push(payment);
    }
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .context("the clock")?;
    let first = u64::try_from(now.as_millis())? + 4_000;
    for (payment, n) in payments.iter().zip(0..) {
        let mut body = payment.transfer();
        body["expiration"] = datetime(first + n).into();
        let sent = payment.post(stage, &body).await?;
        stage.forwarded(&sent, PAYEE).await?;
    }
    for payment in &payments {
        for fsp in [PAYER, PAYEE] {
            stage.hub_refuses(fsp, &payment.path(), "3303").await?;
        }
        let events = [&events::prepared()[..], &events::timed_out()];
        let legs = [Leg::Prepare, Leg::Release];
        payment.ends(stage, "REJECTED", &legs, &events).await?;
    }
    Ok(())
}

/// A body that no serializer writes so: blanks, numbers like 1.0, escapes that need not be, members in
/// any order. Its signature holds, and it goes on octet for octet.
async fn reserialised_jws(stage: &Stage) -> Result<()> {
    let payment = Payment::between(stage, SIGNER, PAYEE);
    let text = payment.quote().to_string();
    let rest = text.strip_prefix('{').context("a body is an object")?;
    let body = format!(
        "\r\n{{ \t\"zz\" : [1.0, 1.50e+2, -0, 100000000000000000000000],\n\
         \"aa\": \"\\/\\u002f\\u00E9\u{e9}\",  {rest}  \n"
    );
    ensure!(
        serde_json::to_string(&serde_json::from_str::<serde_json::Value>(&body)?)? != body,
        "the body is as a serializer writes it"
    );
    let ask = stage.sends(SIGNER, http::Method::POST, "/quotes").to(PAYEE);
    let ask = ask.body(body.into_bytes()).signed(&stage.signer(SIGNER)?);
    let sent = ask.accepted().await?;
    stage.forwarded(&sent, PAYEE).await?;
    let events = events::quote_asked();
    stage.events(&payment.quote_subject(), &events).await
}

//! Quote rule 1: a request is validated, goes to the payee FSP, and its answer to the payer FSP.

use anyhow::Result;
use http::Method;
use serde_json::Value;

use rialto_tests::world::{PAYEE, PAYER};

use crate::case;
use crate::case::Case;
use crate::payment::{Payment, events};
use crate::stage::{STRANGER, Stage, fsp_error};

pub(super) const CASES: [Case; 10] = [
    case!(
        "quotes/agreed",
        "quote rule 1: POST forwarded, PUT persisted and forwarded",
        agreed
    ),
    case!(
        "quotes/destination-alone",
        "decision 49: the payee's fspId is absent, FSPIOP-Destination names it",
        destination_alone
    ),
    case!(
        "quotes/query",
        "section A: GET /quotes/{ID}, answered by PUT, to either FSP",
        query
    ),
    case!(
        "quotes/query-pending",
        "1.10: GET of a quote without an answer: no error, its own callback comes",
        query_pending
    ),
    case!(
        "quotes/query-unknown",
        "3.4: GET of an unknown quote, or by a stranger, 3205",
        query_unknown
    ),
    case!(
        "quotes/refused-by-payee",
        "section A: PUT /quotes/{ID}/error is relayed",
        refused_by_payee
    ),
    case!(
        "quotes/duplicate-pending",
        "1.10: same request, unfinished: ignored",
        duplicate_pending
    ),
    case!(
        "quotes/duplicate-final",
        "1.10: same request, finished: the callback again",
        duplicate_final
    ),
    case!(
        "quotes/terms-again",
        "the same terms again change nothing, other terms are 3106",
        terms_again
    ),
    case!(
        "quotes/strangers-terms",
        "terms of another than the payee FSP are refused to their sender",
        strangers_terms
    ),
];

fn queried() -> Vec<&'static str> {
    events::quote_answered("quote-query-received")
}

fn refused_to_sender() -> Vec<&'static str> {
    events::quote_answered("quote-response-received")
}

/// Send terms in the name of an FSP.
async fn terms(stage: &Stage, payment: &Payment, fsp: &str, body: &Value) -> Result<()> {
    let sends = stage.sends(fsp, Method::PUT, &payment.quote_path());
    sends.to(payment.payer).json(body).accepted().await?;
    Ok(())
}

async fn agreed(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    let sent = payment.ask(stage).await?;
    stage.forwarded(&sent, PAYEE).await?;
    stage.quote_is(&payment.quote_id, "PENDING")?;
    let answer = stage.sends(PAYEE, Method::PUT, &payment.quote_path());
    let sent = answer.to(PAYER).json(&payment.terms()).accepted().await?;
    stage.forwarded(&sent, PAYER).await?;
    stage
        .events(&payment.quote_subject(), &events::agreed())
        .await?;
    stage.quote_is(&payment.quote_id, "ACCEPTED")?;
    stage.ledger(&payment.quote_id, &[]).await
}

async fn destination_alone(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    let mut body = payment.quote();
    if let Some(id) = body["payee"]["partyIdInfo"].as_object_mut() {
        id.remove("fspId");
    }
    let sends = stage.sends(PAYER, Method::POST, "/quotes").to(PAYEE);
    let sent = sends.json(&body).accepted().await?;
    stage.forwarded(&sent, PAYEE).await?;
    let answer = stage.sends(PAYEE, Method::PUT, &payment.quote_path());
    let sent = answer.to(PAYER).json(&payment.terms()).accepted().await?;
    stage.forwarded(&sent, PAYER).await?;
    stage
        .events(&payment.quote_subject(), &events::agreed())
        .await
}

async fn query(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    payment.agree(stage).await?;
    stage
        .events(&payment.quote_subject(), &events::agreed())
        .await?;
    let document = stage.document("quoting", "quotes", &payment.quote_id)?;
    let terms: Value = serde_json::from_str(document["responseBody"].as_str().unwrap_or_default())?;
    for fsp in [PAYER, PAYEE] {
        stage
            .sends(fsp, Method::GET, &payment.quote_path())
            .accepted()
            .await?;
        stage
            .hub_tells(fsp, Method::PUT, &payment.quote_path(), &terms)
            .await?;
    }
    let events = [events::agreed(), queried(), queried()].concat();
    stage.events(&payment.quote_subject(), &events).await?;
    let after = stage.document("quoting", "quotes", &payment.quote_id)?;
    anyhow::ensure!(
        after["state"] == document["state"],
        "a query changes nothing: {after}"
    );
    Ok(())
}

async fn query_pending(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    let sent = payment.ask(stage).await?;
    stage.forwarded(&sent, PAYEE).await?;
    for fsp in [PAYER, PAYEE] {
        stage
            .sends(fsp, Method::GET, &payment.quote_path())
            .accepted()
            .await?;
    }
    let answer = stage.sends(PAYEE, Method::PUT, &payment.quote_path());
    let sent = answer.to(PAYER).json(&payment.terms()).accepted().await?;
    stage.forwarded(&sent, PAYER).await?;
    let asked = ["quote-query-received"; 2];
    let events = [&events::agreed()[..], &asked].concat();
    stage.events(&payment.quote_subject(), &events).await?;
    stage.quote_is(&payment.quote_id, "ACCEPTED")
}

async fn query_unknown(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    stage
        .sends(PAYER, Method::GET, &payment.quote_path())
        .accepted()
        .await?;
    stage
        .hub_refuses(PAYER, &payment.quote_path(), "3205")
        .await?;
    stage.events(&payment.quote_subject(), &queried()).await?;
    payment.agree(stage).await?;
    stage
        .sends(STRANGER, Method::GET, &payment.quote_path())
        .accepted()
        .await?;
    stage
        .hub_refuses(STRANGER, &payment.quote_path(), "3205")
        .await?;
    stage.expects(&payment.quote_subject(), &queried());
    Ok(())
}

async fn refused_by_payee(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    let sent = payment.ask(stage).await?;
    stage.forwarded(&sent, PAYEE).await?;
    let path = format!("{}/error", payment.quote_path());
    let refusal = stage.sends(PAYEE, Method::PUT, &path).to(PAYER);
    let sent = refusal.json(&fsp_error("5103")).accepted().await?;
    stage.forwarded(&sent, PAYER).await?;
    let events = [
        &events::quote_asked()[..],
        &["quote-reject-requested", "quote-reject-request-processed"],
        &events::told(""),
    ];
    stage
        .events(&payment.quote_subject(), &events.concat())
        .await?;
    stage.quote_is(&payment.quote_id, "REJECTED")?;
    // Late terms: their sender gets the reason.
    terms(stage, &payment, PAYEE, &payment.terms()).await?;
    stage
        .hub_refuses(PAYEE, &payment.quote_path(), "5103")
        .await?;
    stage.expects(&payment.quote_subject(), &refused_to_sender());
    stage.quote_is(&payment.quote_id, "REJECTED")
}

async fn duplicate_pending(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    let sent = payment.ask(stage).await?;
    stage.forwarded(&sent, PAYEE).await?;
    let again = stage.sends(PAYER, Method::POST, "/quotes").to(PAYEE);
    again.body(sent.body.to_vec()).accepted().await?;
    let answer = stage.sends(PAYEE, Method::PUT, &payment.quote_path());
    let sent = answer.to(PAYER).json(&payment.terms()).accepted().await?;
    stage.forwarded(&sent, PAYER).await?;
    let events = [&events::agreed()[..], &["quote-request-received"]].concat();
    stage.events(&payment.quote_subject(), &events).await
}

async fn duplicate_final(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    let sent = payment.ask(stage).await?;
    stage.forwarded(&sent, PAYEE).await?;
    let body = payment.terms();
    let answer = stage.sends(PAYEE, Method::PUT, &payment.quote_path());
    let answer = answer.to(PAYER).json(&body).accepted().await?;
    stage.forwarded(&answer, PAYER).await?;
    // The same but for the order of members and for spaces.
    let request = sent.json();
    let mut members: Vec<_> = request.as_object().into_iter().flatten().collect();
    members.reverse();
    let turned: serde_json::Map<String, Value> = members
        .into_iter()
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let again = stage.sends(PAYER, Method::POST, "/quotes").to(PAYEE);
    again
        .body(Value::from(turned).to_string().into_bytes())
        .accepted()
        .await?;
    stage
        .hub_tells(PAYER, Method::PUT, &payment.quote_path(), &body)
        .await?;
    let repeated = ["quote-request-received", "quote-query-response"];
    let events = [&events::agreed()[..], &repeated, &events::told("")].concat();
    stage.events(&payment.quote_subject(), &events).await
}

async fn terms_again(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    let sent = payment.ask(stage).await?;
    stage.forwarded(&sent, PAYEE).await?;
    let body = payment.terms();
    let answer = stage.sends(PAYEE, Method::PUT, &payment.quote_path());
    let sent = answer.to(PAYER).json(&body).accepted().await?;
    stage.forwarded(&sent, PAYER).await?;
    terms(stage, &payment, PAYEE, &body).await?;
    let mut other = body.clone();
    other["transferAmount"]["amount"] = "4".into();
    terms(stage, &payment, PAYEE, &other).await?;
    stage
        .hub_refuses(PAYEE, &payment.quote_path(), "3106")
        .await?;
    let repeated = ["quote-response-received"];
    let events = [&events::agreed()[..], &repeated, &refused_to_sender()].concat();
    stage.events(&payment.quote_subject(), &events).await?;
    stage.quote_is(&payment.quote_id, "ACCEPTED")
}

async fn strangers_terms(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    let sent = payment.ask(stage).await?;
    stage.forwarded(&sent, PAYEE).await?;
    for fsp in [STRANGER, PAYER] {
        terms(stage, &payment, fsp, &payment.terms()).await?;
        stage
            .hub_refuses(fsp, &payment.quote_path(), "3100")
            .await?;
        let path = format!("{}/error", payment.quote_path());
        let refusal = stage.sends(fsp, Method::PUT, &path).to(PAYER);
        refusal.json(&fsp_error("5103")).accepted().await?;
        stage
            .hub_refuses(fsp, &payment.quote_path(), "3100")
            .await?;
        let refused = [
            refused_to_sender(),
            events::quote_answered("quote-reject-requested"),
        ];
        stage.expects(&payment.quote_subject(), &refused.concat());
    }
    stage.quote_is(&payment.quote_id, "PENDING")?;
    let answer = stage.sends(PAYEE, Method::PUT, &payment.quote_path());
    let sent = answer.to(PAYER).json(&payment.terms()).accepted().await?;
    stage.forwarded(&sent, PAYER).await?;
    stage.expects(&payment.quote_subject(), &events::agreed());
    stage.quote_is(&payment.quote_id, "ACCEPTED")
}

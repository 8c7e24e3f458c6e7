//! Quote rules 2 to 5: the scheme's refusals, and who is told.

use anyhow::Result;
use http::Method;
use rialto_tests::world::{PAYEE, PAYER};
use serde_json::{Value, json};

use crate::case;
use crate::case::Case;
use crate::payment::{Payment, events};
use crate::stage::{BARRED, GONE, NOBODY, POOR, STRANGER, Stage};

pub(super) const CASES: [Case; 17] = [
    case!(
        "quotes/expired",
        "quote rule 2: request expired, 3302",
        expired
    ),
    case!(
        "quotes/duplicate-of-another",
        "3.4: same quoteId, different body or sender, 3106",
        duplicate_of_another
    ),
    case!(
        "quotes/invalid-payee-fsp",
        "quote rule 3: payee FSP unknown or barred, 3201",
        invalid_payee_fsp
    ),
    case!(
        "quotes/payee-fsp-not-named",
        "decision 49: neither fspId nor FSPIOP-Destination, party unknown, 3201",
        payee_fsp_not_named
    ),
    case!(
        "quotes/payee-with-another-fsp",
        "the payee FSP is not the one that account lookup says has the payee, 3204",
        payee_with_another_fsp
    ),
    case!(
        "quotes/part-with-another-fsp",
        "the payee is a part, associated by nobody, of a business that is with another FSP, 3204",
        part_with_another_fsp
    ),
    case!(
        "quotes/on-us",
        "3.4, as with transfers: payer FSP = payee FSP, 3100 unless enabled",
        on_us
    ),
    case!(
        "quotes/invalid-payer-fsp",
        "quote rule 3: payer FSP barred, 3202",
        invalid_payer_fsp
    ),
    case!(
        "quotes/unknown-payer-fsp",
        "quote rule 3: payer FSP unknown: refused at once, 400 3200",
        unknown_payer_fsp
    ),
    case!(
        "quotes/unsupported-currency",
        "3.4: an FSP has no account in the currency, 4103 or 5106",
        unsupported_currency
    ),
    case!(
        "quotes/rule-broken-in-request",
        "quote rule 4: scheme rules in the request, payer told",
        rule_broken_in_request
    ),
    case!(
        "quotes/rule-broken-in-response",
        "quote rule 5: scheme rules in the response, both told",
        rule_broken_in_response
    ),
    case!(
        "quotes/response-expired",
        "quote rule 5: terms expired before they came, 3302 to both",
        response_expired
    ),
    case!(
        "quotes/unreachable-payee",
        "3.4: payee unreachable, 1001",
        unreachable_payee
    ),
    case!(
        "quotes/payee-answers-4xx",
        "3.4: payee answers 4xx synchronously, 3000",
        payee_answers_4xx
    ),
    case!(
        "quotes/payee-answers-3xx",
        "1.1: no redirection is followed: 1001",
        payee_answers_3xx
    ),
    case!(
        "quotes/payee-answers-5xx",
        "3.4: payee answers 5xx, 1001",
        payee_answers_5xx
    ),
];

/// Requests a quote with this body, which the hub refuses: only its sender is told.
async fn refused(
    stage: &Stage,
    payment: &Payment,
    body: &Value,
    code: &str,
    (event, report): (&'static str, &'static str),
) -> Result<()> {
    let sends = stage
        .sends(payment.payer, Method::POST, "/quotes")
        .to(payment.payee);
    sends.json(body).accepted().await?;
    stage
        .hub_refuses(payment.payer, &payment.quote_path(), code)
        .await?;
    let events = events::quote_refused(event, report);
    stage.events(&payment.quote_subject(), &events).await
}

const INVALID_REQUEST: (&str, &str) = (
    "invalid-quote-request",
    "invalid-quote-request-callback-report",
);
const INVALID_FSP: (&str, &str) = (
    "invalid-fsp-in-quote-request",
    "invalid-fsp-in-quote-request-callback-report",
);
const RULE: (&str, &str) = (
    "rule-violated-in-quote-request",
    "rule-violated-in-quote-request-callback-report",
);

async fn expired(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    let mut body = payment.quote();
    body["expiration"] = "2020-01-01T00:00:00.000Z".into();
    refused(stage, &payment, &body, "3302", INVALID_REQUEST).await?;
    stage.quote_is(&payment.quote_id, "EXPIRED")
}

async fn duplicate_of_another(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    let sent = payment.ask(stage).await?;
    stage.forwarded(&sent, PAYEE).await?;
    let other = payment.clone().of(400);
    other.ask(stage).await?;
    stage
        .hub_refuses(PAYER, &payment.quote_path(), "3106")
        .await?;
    let stolen = Payment {
        payer: STRANGER,
        ..payment.clone()
    };
    stolen.ask(stage).await?;
    stage
        .hub_refuses(STRANGER, &payment.quote_path(), "3106")
        .await?;
    let accepted = ["quote-request-received", "quote-request-accepted"];
    let refused = events::quote_refused(INVALID_REQUEST.0, INVALID_REQUEST.1);
    let told = events::told("quote-received-callback-report");
    let events = [&accepted[..], &told, &refused, &refused].concat();
    stage.events(&payment.quote_subject(), &events).await?;
    stage.quote_is(&payment.quote_id, "PENDING")
}

async fn invalid_payee_fsp(stage: &Stage) -> Result<()> {
    for payee in [NOBODY, BARRED] {
        let payment = Payment::between(stage, PAYER, payee);
        refused(stage, &payment, &payment.quote(), "3201", INVALID_FSP).await?;
        stage.quote_is(&payment.quote_id, "REJECTED")?;
    }
    Ok(())
}

async fn payee_fsp_not_named(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    let mut body = payment.quote();
    let number = stage.party().replace("MSISDN/", "");
    body["payee"]["partyIdInfo"] = json!({ "partyIdType": "MSISDN", "partyIdentifier": number });
    let sends = stage.sends(PAYER, Method::POST, "/quotes");
    sends.json(&body).accepted().await?;
    stage
        .hub_refuses(PAYER, &payment.quote_path(), "3201")
        .await?;
    let events = events::quote_refused(INVALID_FSP.0, INVALID_FSP.1);
    stage.events(&payment.quote_subject(), &events).await
}

async fn payee_with_another_fsp(stage: &Stage) -> Result<()> {
    let party = stage.party();
    has_payee(stage, &party).await?;
    // A forged answer of an FSP that was not asked.
    let payment = Payment::between(stage, PAYER, STRANGER);
    let mut body = payment.quote();
    let number = party.replace("MSISDN/", "");
    body["payee"]["partyIdInfo"]["partyIdentifier"] = number.into();
    refused(stage, &payment, &body, "3204", INVALID_FSP).await?;
    stage.quote_is(&payment.quote_id, "REJECTED")
}

/// The payee FSP has this party.
async fn has_payee(stage: &Stage, party: &str) -> Result<()> {
    let path = format!("/participants/{party}");
    let association = json!({ "fspId": PAYEE });
    let sends = stage.sends(PAYEE, Method::POST, &path);
    sends.json(&association).accepted().await?;
    stage
        .hub_tells(PAYEE, Method::PUT, &path, &association)
        .await?;
    let associated = [
        "participant-association-request-received",
        "participant-association-created",
    ];
    let events = [&associated[..], &events::told("")].concat();
    stage.expects(&format!("party:{party}"), &events);
    Ok(())
}

async fn part_with_another_fsp(stage: &Stage) -> Result<()> {
    let name = stage.party().replace("MSISDN/", "");
    has_payee(stage, &format!("BUSINESS/{name}")).await?;
    let payment = Payment::between(stage, PAYER, STRANGER);
    let mut body = payment.quote();
    body["payee"]["partyIdInfo"] = json!({
        "partyIdType": "BUSINESS", "partyIdentifier": name, "partySubIdOrType": "till1",
        "fspId": STRANGER,
    });
    refused(stage, &payment, &body, "3204", INVALID_FSP).await?;
    stage.quote_is(&payment.quote_id, "REJECTED")
}

async fn on_us(stage: &Stage) -> Result<()> {
    let payment = Payment::between(stage, PAYER, PAYER);
    refused(stage, &payment, &payment.quote(), "3100", INVALID_FSP).await?;
    stage.quote_is(&payment.quote_id, "REJECTED")
}

async fn invalid_payer_fsp(stage: &Stage) -> Result<()> {
    let payment = Payment::between(stage, BARRED, PAYEE);
    refused(stage, &payment, &payment.quote(), "3202", INVALID_FSP).await?;
    stage.quote_is(&payment.quote_id, "REJECTED")
}

async fn unknown_payer_fsp(stage: &Stage) -> Result<()> {
    let payment = Payment {
        payer: NOBODY,
        ..Payment::new(stage)
    };
    let sends = stage.sends(PAYER, Method::POST, "/quotes").to(PAYEE);
    let sends = sends.header("fspiop-source", NOBODY);
    sends.json(&payment.quote()).refused(400, "3200").await?;
    stage.no_events(&payment.quote_subject())?;
    stage.quote_is(&payment.quote_id, "null")
}

async fn unsupported_currency(stage: &Stage) -> Result<()> {
    for (payer, payee, code) in [(POOR, PAYEE, "4103"), (PAYER, POOR, "5106")] {
        let payment = Payment::between(stage, payer, payee);
        let mut body = payment.quote();
        body["amount"] = json!({ "currency": "RWF", "amount": "5" });
        refused(stage, &payment, &body, code, INVALID_FSP).await?;
    }
    Ok(())
}

async fn rule_broken_in_request(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage).of(1_000_001);
    refused(stage, &payment, &payment.quote(), "4200", RULE).await?;
    stage.quote_is(&payment.quote_id, "REJECTED")
}

/// The payee FSP's terms are refused with this code, and both FSPs are told.
async fn terms_refused(stage: &Stage, payment: &Payment, terms: &Value, code: &str) -> Result<()> {
    let sent = payment.ask(stage).await?;
    stage.forwarded(&sent, PAYEE).await?;
    let answer = stage.sends(PAYEE, Method::PUT, &payment.quote_path());
    answer.to(PAYER).json(terms).accepted().await?;
    for fsp in [PAYER, PAYEE] {
        stage.hub_refuses(fsp, &payment.quote_path(), code).await?;
    }
    let told = events::told("rule-violated-in-quote-response-callback-report");
    let events = [
        &["quote-request-received", "quote-request-accepted"][..],
        &events::told("quote-received-callback-report"),
        &["quote-response-received", "rule-violated-in-quote-response"],
        &told,
        &told,
    ];
    stage
        .events(&payment.quote_subject(), &events.concat())
        .await
}

async fn rule_broken_in_response(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    let mut terms = payment.terms();
    terms["transferAmount"] = json!({ "currency": "RWF", "amount": "5" });
    terms_refused(stage, &payment, &terms, "3100").await?;
    stage.quote_is(&payment.quote_id, "REJECTED")?;
    // A query is answered with the reason for missing terms.
    stage
        .sends(PAYER, Method::GET, &payment.quote_path())
        .accepted()
        .await?;
    stage
        .hub_refuses(PAYER, &payment.quote_path(), "3100")
        .await?;
    let queried = events::quote_answered("quote-query-received");
    stage.expects(&payment.quote_subject(), &queried);
    Ok(())
}

async fn response_expired(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    let mut terms = payment.terms();
    terms["expiration"] = "2020-01-01T00:00:00.000Z".into();
    terms_refused(stage, &payment, &terms, "3302").await?;
    stage.quote_is(&payment.quote_id, "EXPIRED")
}

async fn unreachable_payee(stage: &Stage) -> Result<()> {
    let payment = Payment::between(stage, PAYER, GONE);
    payment.ask(stage).await?;
    undelivered(stage, &payment, "1001").await
}

async fn undelivered(stage: &Stage, payment: &Payment, code: &str) -> Result<()> {
    stage
        .hub_refuses(PAYER, &payment.quote_path(), code)
        .await?;
    let events = [
        &["quote-request-received", "quote-request-accepted"][..],
        &events::told("quote-received-callback-report"),
        &events::quote_answered("quote-request-undelivered"),
    ];
    stage
        .events(&payment.quote_subject(), &events.concat())
        .await?;
    stage.quote_is(&payment.quote_id, "REJECTED")
}

async fn payee_answers_4xx(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    stage.behaves(PAYEE, r#"{"quote":{"answer":{"status":400}}}"#)?;
    let sent = payment.ask(stage).await?;
    stage.forwarded(&sent, PAYEE).await?;
    let outcome = undelivered(stage, &payment, "3000").await;
    stage.behaves_silently(PAYEE)?;
    outcome
}

async fn payee_answers_3xx(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    stage.behaves(
        PAYEE,
        r#"{"quote":{"answer":{"status":307},"silent":"100%"}}"#,
    )?;
    let sent = payment.ask(stage).await?;
    // Once: it is neither followed nor tried again.
    stage.forwarded(&sent, PAYEE).await?;
    let outcome = undelivered(stage, &payment, "1001").await;
    stage.behaves_silently(PAYEE)?;
    outcome
}

async fn payee_answers_5xx(stage: &Stage) -> Result<()> {
    // A part of the requests is retried: how often is not this case's to say.
    let payment = Payment::new(stage);
    stage.behaves(PAYEE, r#"{"quote":{"answer":{"status":503}}}"#)?;
    let sent = payment.ask(stage).await?;
    stage.forwarded(&sent, PAYEE).await?;
    let outcome = undelivered(stage, &payment, "1001").await;
    stage.behaves_silently(PAYEE)?;
    for _ in 1..stage.inbound(PAYEE).len() {
        stage.forwarded(&sent, PAYEE).await?;
    }
    outcome
}

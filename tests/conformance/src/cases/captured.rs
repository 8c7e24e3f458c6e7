//! Forged messages in the name of a participant with a key: unsigned, or captured and repeated, unchanged or
//! with another `Date`. They have no effect.

use anyhow::Result;
use http::Method;
use rialto_simulator::Recorded;
use rialto_simulator::jws::Signer;
use rialto_tests::world::{PAYEE, PAYER};
use serde_json::{Value, json};

use super::participants::{
    association, disassociation, failed, is_with, is_with_nobody, path, subject,
};
use crate::ask::Ask;
use crate::case;
use crate::case::Case;
use crate::payment::{Payment, events};
use crate::stage::{SIGNER, STRANGER, Stage, fsp_error};

pub(super) const CASES: [Case; 3] = [
    case!(
        "signatures/disassociation",
        "who has a key signs DELETE too, with its query; a party is not taken over without: 3105",
        disassociated
    ),
    case!(
        "signatures/party-answer",
        "who has a key signs PUT /parties and its error: 3105",
        party_answer
    ),
    case!(
        "signatures/replayed",
        "captured bytes, with any Date, within the window and after it: 3105",
        replayed
    ),
];

/// A date of long ago, and one of times to come.
const OTHER_TIMES: [&str; 2] = [
    "Tue, 15 Nov 1994 08:12:31 GMT",
    "Fri, 31 Dec 9999 23:59:59 GMT",
];

/// Associate a party with the signer, by this body.
async fn associated(stage: &Stage, party: &str, body: &Value) -> Result<Recorded> {
    let ask = stage.sends(SIGNER, Method::POST, &path(party)).json(body);
    let sent = ask.signed(&stage.signer(SIGNER)?).accepted().await?;
    let told = json!({ "fspId": SIGNER });
    stage
        .hub_tells(SIGNER, Method::PUT, &path(party), &told)
        .await?;
    stage.expects(&subject(party), &association());
    Ok(sent)
}

/// End the association, by a path with or without a query.
async fn ended(stage: &Stage, party: &str, asks: &str) -> Result<Recorded> {
    let ask = stage.sends(SIGNER, Method::DELETE, asks);
    let sent = ask.signed(&stage.signer(SIGNER)?).accepted().await?;
    stage
        .hub_tells(SIGNER, Method::PUT, &path(party), &json!({}))
        .await?;
    stage.expects(&subject(party), &disassociation());
    Ok(sent)
}

/// The earlier message, byte for byte.
fn again<'a>(stage: &'a Stage, sent: &Recorded) -> Ask<'a> {
    let mut ask = stage.sends(SIGNER, sent.method.clone(), &sent.path);
    for name in [
        "date",
        "fspiop-destination",
        "fspiop-uri",
        "fspiop-http-method",
        "fspiop-signature",
    ] {
        ask = match sent.header(name) {
            "" => ask.without(name),
            value => ask.header(name, value),
        };
    }
    ask.body(sent.body.to_vec())
}

/// The earlier message is refused, unchanged and with another `Date`.
async fn refused_again(stage: &Stage, sent: &Recorded) -> Result<()> {
    again(stage, sent).refused(400, "3105").await?;
    let now = stage.world.fsp(SIGNER).date();
    for date in [now.as_str(), OTHER_TIMES[0], OTHER_TIMES[1]] {
        let other = again(stage, sent).header("date", date);
        other.refused(400, "3105").await?;
    }
    Ok(())
}

/// A message that protects everything but `Date`.
fn without_date<'a>(
    stage: &'a Stage,
    signer: &Signer,
    (method, path): (Method, &str),
    body: &str,
) -> Ask<'a> {
    let protected = json!({
        "alg": signer.algorithm(),
        "FSPIOP-URI": path,
        "FSPIOP-HTTP-Method": method.as_str(),
        "FSPIOP-Source": SIGNER,
    });
    let value = signer.signature(&protected.to_string(), body.as_bytes());
    let ask = stage.sends(SIGNER, method.clone(), path);
    ask.header("fspiop-uri", path)
        .header("fspiop-http-method", method.as_str())
        .header("fspiop-signature", &value)
        .body(body.as_bytes().to_vec())
}

async fn disassociated(stage: &Stage) -> Result<()> {
    let party = stage.party();
    let signer = stage.signer(SIGNER)?;
    let body = json!({ "fspId": SIGNER, "currency": "USD" });
    associated(stage, &party, &body).await?;
    let (whole, of) = (path(&party), |currency: &str| {
        format!("{}?currency={currency}", path(&party))
    });
    // A stranger in its name: without a signature, and with one that the signer made for something else.
    for asks in [&whole, &of("USD")] {
        let bare = stage.sends(SIGNER, Method::DELETE, asks);
        bare.refused(400, "3105").await?;
    }
    let other = stage.party();
    for signed_for in [
        &of("RWF"),
        &whole,
        &path(&other),
        &of("USD").replace("USD", "%55SE"),
    ] {
        let ask = stage
            .sends(SIGNER, Method::DELETE, signed_for)
            .signed(&signer);
        let moved = ask.onto(&of("USD"));
        moved.refused(400, "3105").await?;
    }
    // So it cannot be taken over.
    let body = json!({ "fspId": STRANGER, "currency": "USD" });
    let taking = stage.sends(STRANGER, Method::POST, &whole).json(&body);
    taking.accepted().await?;
    stage.hub_refuses(STRANGER, &whole, "3003").await?;
    let refused = failed("participant-association-request-received");
    stage.expects(&subject(&party), &refused);
    is_with(stage, PAYER, &party, SIGNER).await?;
    // Its own word ends it.
    ended(stage, &party, &of("USD")).await?;
    is_with_nobody(stage, PAYER, &party).await
}

async fn party_answer(stage: &Stage) -> Result<()> {
    let party = stage.party();
    associated(stage, &party, &json!({ "fspId": SIGNER })).await?;
    let question = format!("/parties/{party}");
    let asked = stage.sends(PAYER, Method::GET, &question).accepted();
    stage.forwarded(&asked.await?, SIGNER).await?;
    let number = party.replace("MSISDN/", "");
    let id = json!({ "partyIdType": "MSISDN", "partyIdentifier": number, "fspId": SIGNER });
    let person = json!({ "party": { "partyIdInfo": id, "name": "Zoë" } });
    let put = |path: &str, body: &Value| {
        let ask = stage.sends(SIGNER, Method::PUT, path).to(PAYER);
        ask.json(body)
    };
    let error = format!("{question}/error");
    let stranger = stage.signer(crate::stage::CURVED)?;
    for ask in [
        put(&question, &person),
        put(&error, &fsp_error("3204")),
        put(&question, &person).signed(&stranger),
        put(&error, &fsp_error("3204")).signed(&stranger),
    ] {
        ask.refused(400, "3105").await?;
    }
    let sent = put(&question, &person).signed(&stage.signer(SIGNER)?);
    let sent = sent.accepted().await?;
    stage.forwarded(&sent, PAYER).await?;
    let told = events::told("");
    let lookup = [
        "party-query-received",
        "party-info-requested",
        "party-info-available",
        "party-query-response",
    ];
    let events = [&lookup[..], &told, &told].concat();
    stage.expects(&subject(&party), &events);
    // The stage has it that no answer comes twice, not even at once.
    refused_again(stage, &sent).await
}

async fn replayed(stage: &Stage) -> Result<()> {
    let signer = stage.signer(SIGNER)?;
    // What has an id: its `Date` is of now, protected or not, and is not changed if it is.
    for date in OTHER_TIMES {
        let payment = Payment::between(stage, SIGNER, PAYEE);
        let quote = || {
            let ask = stage.sends(SIGNER, Method::POST, "/quotes").to(PAYEE);
            ask.json(&payment.quote())
        };
        let old = || quote().header("date", date).signed(&signer);
        old().refused(400, "3105").await?;
        let now = stage.world.fsp(SIGNER).date();
        old().header("date", &now).refused(400, "3105").await?;
        let body = payment.quote().to_string();
        let open = without_date(stage, &signer, (Method::POST, "/quotes"), &body);
        open.header("date", date).refused(400, "3105").await?;
        stage.quote_is(&payment.quote_id, "null")?;
        stage.no_events(&payment.quote_subject())?;
    }
    // What has none: an association that was ended does not come back, nor does its end.
    let party = stage.party();
    let first = associated(stage, &party, &json!({ "fspId": SIGNER })).await?;
    refused_again(stage, &first).await?;
    let end = ended(stage, &party, &path(&party)).await?;
    refused_again(stage, &first).await?;
    is_with_nobody(stage, PAYER, &party).await?;
    let body = json!({ "fspId": SIGNER, "note": "again" });
    associated(stage, &party, &body).await?;
    refused_again(stage, &end).await?;
    // Without a protected `Date` there would be no end of it.
    let now = stage.world.fsp(SIGNER).date();
    for date in [now.as_str(), OTHER_TIMES[0], OTHER_TIMES[1]] {
        for (method, body) in [
            (Method::POST, first_body()),
            (Method::DELETE, String::new()),
        ] {
            let open = without_date(stage, &signer, (method, path(&party).as_str()), &body);
            open.header("date", date).refused(400, "3105").await?;
        }
    }
    is_with(stage, PAYER, &party, SIGNER).await
}

fn first_body() -> String {
    json!({ "fspId": SIGNER }).to_string()
}

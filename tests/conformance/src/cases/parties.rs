//! Party queries: forwarded to the party's FSP, and its answer to the requester.

use anyhow::{Result, ensure};
use http::Method;
use rialto_simulator::Recorded;
use rialto_tests::world::{PAYEE, PAYER};
use serde_json::{Value, json};

use crate::case;
use crate::case::Case;
use crate::payment::events;
use crate::stage::{BARRED, GONE, NOBODY, STRANGER, Stage, fsp_error};

pub(super) const CASES: [Case; 15] = [
    case!(
        "parties/query",
        "section A: GET /parties forwarded, PUT /parties to the requester",
        query
    ),
    case!("parties/sub-id", "1.7: GET and PUT with {SubId}", sub_id),
    case!(
        "parties/known-destination",
        "2.5: FSPIOP-Destination given: straight to it",
        known_destination
    ),
    case!(
        "parties/refused",
        "1.8: PUT …/error of the party's FSP is relayed",
        refused
    ),
    case!(
        "parties/refused-sub-id",
        "1.8: PUT …/{SubId}/error is relayed",
        refused_sub_id
    ),
    case!(
        "parties/unknown",
        "3.4: party not registered, 3204",
        unknown
    ),
    case!(
        "parties/unknown-destination",
        "3.4: given destination unknown or barred, 3201",
        unknown_destination
    ),
    case!(
        "parties/unreachable",
        "3.4: payee FSP unreachable, 1001",
        unreachable
    ),
    case!(
        "parties/payee-answers-4xx-or-5xx",
        "3.4, as with quotes: the party's FSP refuses the question, 3000, or fails, 1001",
        payee_answers_with_an_error
    ),
    case!(
        "parties/no-answer",
        "3.4: no answer from the payee FSP in time, 2004",
        no_answer
    ),
    case!(
        "parties/strangers-answer",
        "an answer of an FSP that was not asked is dropped",
        strangers_answer
    ),
    case!(
        "parties/two-at-once",
        "questions of two FSPs for one party have their own answers",
        two_at_once
    ),
    case!(
        "parties/answer-names-another-fsp",
        "the payee FSP is the one that answers: an answer that names another is refused 3101 to both",
        answer_names_another_fsp
    ),
    case!(
        "parties/answer-is-of-another-party",
        "the party is the one of the path, however it is spelt: an answer about another is refused 3101 to both",
        answer_is_of_another_party
    ),
    case!(
        "parties/blocked-by-nobody",
        "whoever asks again and again, with headers as long as they may be, blocks nobody else's questions",
        blocked_by_nobody
    ),
];

const ASKED: [&str; 2] = ["party-query-received", "party-info-requested"];
const ANSWERED: [&str; 2] = ["party-info-available", "party-query-response"];

fn path(party: &str) -> String {
    format!("/parties/{party}")
}

/// The body of PUT /parties.
fn person(party: &str, fsp: &str) -> Value {
    let mut parts = party.split('/');
    let mut next = || parts.next().unwrap_or_default();
    let mut id = json!({ "partyIdType": next(), "partyIdentifier": next(), "fspId": fsp });
    if let Some(sub_id) = parts.next() {
        id["partySubIdOrType"] = sub_id.into();
    }
    json!({ "party": { "partyIdInfo": id, "name": "Zoë", "unknownMember": [1, 2.50] } })
}

/// A party of the case's own, with the payee.
async fn associated(stage: &Stage, party: &str) -> Result<()> {
    let (path, body) = (format!("/participants/{party}"), json!({ "fspId": PAYEE }));
    stage
        .sends(PAYEE, Method::POST, &path)
        .json(&body)
        .accepted()
        .await?;
    stage.hub_tells(PAYEE, Method::PUT, &path, &body).await?;
    stage.expects(&subject(party), &association());
    Ok(())
}

async fn mine(stage: &Stage) -> Result<String> {
    let party = stage.party();
    associated(stage, &party).await?;
    Ok(party)
}

/// An FSP asks for a party, and the payee is asked. Gives the question as the payee got it.
async fn asked(stage: &Stage, asks: &str, party: &str) -> Result<Recorded> {
    let sent = stage
        .sends(asks, Method::GET, &path(party))
        .accepted()
        .await?;
    let found = stage.forwarded(&sent, PAYEE).await?;
    ensure!(found.body.is_empty(), "a GET with a body");
    stage.expects(&subject(party), &[&ASKED[..], &events::told("")].concat());
    Ok(found)
}

/// The payee FSP answers a party query, and the requester gets the answer.
async fn answered(stage: &Stage, asks: &str, party: &str) -> Result<()> {
    let answer = stage.sends(PAYEE, Method::PUT, &path(party)).to(asks);
    let sent = answer.json(&person(party, PAYEE)).accepted().await?;
    stage.forwarded(&sent, asks).await?;
    stage.expects(
        &subject(party),
        &[&ANSWERED[..], &events::told("")].concat(),
    );
    Ok(())
}

fn subject(party: &str) -> String {
    format!("party:{party}")
}

/// The events of an association.
fn association() -> Vec<&'static str> {
    let associated = [
        "participant-association-request-received",
        "participant-association-created",
    ];
    [&associated[..], &events::told("")].concat()
}

/// The events of an association and of one question with its answer.
fn whole() -> Vec<&'static str> {
    let told = events::told("");
    [&association()[..], &ASKED, &told, &ANSWERED, &told].concat()
}

async fn query(stage: &Stage) -> Result<()> {
    let party = mine(stage).await?;
    asked(stage, PAYER, &party).await?;
    answered(stage, PAYER, &party).await?;
    stage.events(&format!("party:{party}"), &whole()).await
}

async fn sub_id(stage: &Stage) -> Result<()> {
    let party = format!("BUSINESS/{}/till1", stage.party().replace("MSISDN/", ""));
    associated(stage, &party).await?;
    asked(stage, PAYER, &party).await?;
    answered(stage, PAYER, &party).await?;
    stage.events(&format!("party:{party}"), &whole()).await
}

async fn known_destination(stage: &Stage) -> Result<()> {
    // No association is needed.
    let party = stage.party();
    let sent = stage
        .sends(PAYER, Method::GET, &path(&party))
        .to(PAYEE)
        .accepted()
        .await?;
    stage.forwarded(&sent, PAYEE).await?;
    answered(stage, PAYER, &party).await?;
    let told = events::told("");
    let events = [&ASKED[..], &told, &ANSWERED, &told].concat();
    stage.events(&format!("party:{party}"), &events).await
}

async fn relayed_refusal(stage: &Stage, party: &str) -> Result<()> {
    associated(stage, party).await?;
    asked(stage, PAYER, party).await?;
    let error = format!("{}/error", path(party));
    let refusal = stage.sends(PAYEE, Method::PUT, &error).to(PAYER);
    let sent = refusal.json(&fsp_error("3204")).accepted().await?;
    stage.forwarded(&sent, PAYER).await?;
    stage.events(&format!("party:{party}"), &whole()).await
}

async fn refused(stage: &Stage) -> Result<()> {
    relayed_refusal(stage, &stage.party()).await
}

async fn refused_sub_id(stage: &Stage) -> Result<()> {
    let party = format!("BUSINESS/{}/till1", stage.party().replace("MSISDN/", ""));
    relayed_refusal(stage, &party).await
}

async fn unknown(stage: &Stage) -> Result<()> {
    let party = stage.party();
    stage
        .sends(PAYER, Method::GET, &path(&party))
        .accepted()
        .await?;
    stage.hub_refuses(PAYER, &path(&party), "3204").await?;
    let events = [
        &["party-query-received", "account-lookup-failed"][..],
        &events::told(""),
    ];
    stage
        .events(&format!("party:{party}"), &events.concat())
        .await
}

async fn unknown_destination(stage: &Stage) -> Result<()> {
    let party = mine(stage).await?;
    for destination in [NOBODY, BARRED] {
        stage
            .sends(PAYER, Method::GET, &path(&party))
            .to(destination)
            .accepted()
            .await?;
        stage.hub_refuses(PAYER, &path(&party), "3201").await?;
        let refused = ["party-query-received", "account-lookup-failed"];
        stage.expects(
            &subject(&party),
            &[&refused[..], &events::told("")].concat(),
        );
    }
    Ok(())
}

async fn unreachable(stage: &Stage) -> Result<()> {
    let party = stage.party();
    stage
        .sends(PAYER, Method::GET, &path(&party))
        .to(GONE)
        .accepted()
        .await?;
    stage.hub_refuses(PAYER, &path(&party), "1001").await?;
    let told = events::told("");
    let events = [&ASKED[..], &told, &ANSWERED, &told].concat();
    stage.events(&format!("party:{party}"), &events).await
}

async fn payee_answers_with_an_error(stage: &Stage) -> Result<()> {
    for (status, code) in [(400, "3000"), (503, "1001")] {
        let party = mine(stage).await?;
        stage.behaves(
            PAYEE,
            &format!(r#"{{"lookup":{{"answer":{{"status":{status}}}}}}}"#),
        )?;
        let sent = stage
            .sends(PAYER, Method::GET, &path(&party))
            .accepted()
            .await?;
        stage.forwarded(&sent, PAYEE).await?;
        let outcome = stage.hub_refuses(PAYER, &path(&party), code).await;
        stage.behaves_silently(PAYEE)?;
        outcome?;
        // A question that failed is asked again: how often is not this case's to say.
        let asked = |m: &Recorded| m.method == Method::GET && m.path == path(&party);
        for _ in 1..stage.inbound(PAYEE).into_iter().filter(asked).count() {
            stage.forwarded(&sent, PAYEE).await?;
        }
        stage.events(&subject(&party), &whole()).await?;
    }
    Ok(())
}

async fn no_answer(stage: &Stage) -> Result<()> {
    let party = mine(stage).await?;
    asked(stage, PAYER, &party).await?;
    stage.hub_refuses(PAYER, &path(&party), "2004").await?;
    // Too late: the query has ended.
    let answer = stage.sends(PAYEE, Method::PUT, &path(&party)).to(PAYER);
    answer.json(&person(&party, PAYEE)).accepted().await?;
    let associated = [
        "participant-association-request-received",
        "participant-association-created",
    ];
    let told = events::told("");
    let late = ["account-lookup-failed", "party-info-available"];
    let events = [&associated[..], &told, &ASKED, &told, &late, &told].concat();
    stage.events(&format!("party:{party}"), &events).await
}

async fn strangers_answer(stage: &Stage) -> Result<()> {
    let party = mine(stage).await?;
    asked(stage, PAYER, &party).await?;
    let lie = stage.sends(STRANGER, Method::PUT, &path(&party)).to(PAYER);
    lie.json(&person(&party, STRANGER)).accepted().await?;
    answered(stage, PAYER, &party).await?;
    let events = [&whole()[..], &["party-info-available"]].concat();
    stage.events(&format!("party:{party}"), &events).await
}

async fn two_at_once(stage: &Stage) -> Result<()> {
    let party = mine(stage).await?;
    asked(stage, PAYER, &party).await?;
    asked(stage, STRANGER, &party).await?;
    answered(stage, STRANGER, &party).await?;
    answered(stage, PAYER, &party).await
}

async fn blocked_by_nobody(stage: &Stage) -> Result<()> {
    let party = mine(stage).await?;
    let one = "application/vnd.interoperability.parties+json;version=1.0";
    let accept = vec![one; 1_000].join(",");
    // More than would fit into one document of a mebibyte.
    for _ in 0..20 {
        let asks = stage.sends(STRANGER, Method::GET, &path(&party));
        let sent = asks.header("accept", &accept).accepted().await?;
        stage.forwarded(&sent, PAYEE).await?;
        stage.expects(&subject(&party), &[&ASKED[..], &events::told("")].concat());
    }
    asked(stage, PAYER, &party).await?;
    answered(stage, PAYER, &party).await?;
    for _ in 0..20 {
        answered(stage, STRANGER, &party).await?;
    }
    Ok(())
}

async fn answer_names_another_fsp(stage: &Stage) -> Result<()> {
    let party = mine(stage).await?;
    let lie = |fsp| stage.sends(fsp, Method::PUT, &path(&party)).to(PAYER);
    asked(stage, PAYER, &party).await?;
    // One that was not asked changes nothing.
    lie(STRANGER)
        .json(&person(&party, PAYEE))
        .accepted()
        .await?;
    lie(PAYEE)
        .json(&person(&party, STRANGER))
        .accepted()
        .await?;
    for fsp in [PAYER, PAYEE] {
        stage.hub_refuses(fsp, &path(&party), "3101").await?;
    }
    let told = events::told("");
    let refused = ["party-info-refused"; 2];
    let failed = ["account-lookup-failed"; 2];
    let events = [
        &association()[..],
        &ASKED,
        &told,
        &refused,
        &failed,
        &told,
        &told,
    ]
    .concat();
    stage.events(&subject(&party), &events).await?;
    // The next question has its own answer.
    asked(stage, PAYER, &party).await?;
    answered(stage, PAYER, &party).await
}

async fn answer_is_of_another_party(stage: &Stage) -> Result<()> {
    let party = mine(stage).await?;
    let answer = || stage.sends(PAYEE, Method::PUT, &path(&party)).to(PAYER);
    asked(stage, PAYER, &party).await?;
    let other = person(&format!("{party}0"), PAYEE);
    answer().json(&other).accepted().await?;
    for fsp in [PAYER, PAYEE] {
        stage.hub_refuses(fsp, &path(&party), "3101").await?;
    }
    let told = events::told("");
    let events = [
        &association()[..],
        &ASKED,
        &told,
        &["party-info-refused"],
        &["account-lookup-failed"; 2],
        &told,
        &told,
    ]
    .concat();
    stage.events(&subject(&party), &events).await?;
    // A telephone number is the same with and without its plus sign.
    asked(stage, PAYER, &party).await?;
    let mut same = person(&party, PAYEE);
    let number = party.replace("MSISDN/", "");
    let spelt = format!("+{number}");
    same["party"]["partyIdInfo"]["partyIdentifier"] = spelt.into();
    let sent = answer().json(&same).accepted().await?;
    stage.forwarded(&sent, PAYER).await?;
    stage.expects(
        &subject(&party),
        &[&ANSWERED[..], &events::told("")].concat(),
    );
    Ok(())
}

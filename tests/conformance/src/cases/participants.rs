//! Which FSP a party is with: associate, query, disassociate.

use anyhow::Result;
use http::Method;
use rialto_tests::world::{PAYEE, PAYER};
use serde_json::{Value, json};

use crate::case;
use crate::case::Case;
use crate::compare::TEXT;
use crate::payment::events;
use crate::stage::{BARRED, HUB, NOBODY, STRANGER, Stage, fsp_error};

pub(super) const CASES: [Case; 12] = [
    case!(
        "participants/associate",
        "section A: POST /participants/{Type}/{ID}, answered by PUT",
        associate
    ),
    case!(
        "participants/query",
        "section A: GET /participants/{Type}/{ID}, answered by PUT",
        query
    ),
    case!(
        "participants/disassociate",
        "section A: DELETE /participants/{Type}/{ID}, answered by PUT",
        disassociate
    ),
    case!(
        "participants/sub-id",
        "1.7: POST, GET and DELETE with {SubId}",
        sub_id
    ),
    case!(
        "participants/currency",
        "1.7: ?currency= on GET and DELETE, currency in POST",
        currency
    ),
    case!(
        "participants/query-unknown",
        "3.4: party not registered, 3204 on the error twin",
        query_unknown
    ),
    case!(
        "participants/disassociate-anothers",
        "3.4: DELETE by an FSP that does not own it, 3204",
        disassociate_anothers
    ),
    case!(
        "participants/associate-anothers",
        "3.4: add failed, 3003",
        associate_anothers
    ),
    case!(
        "participants/batch",
        "2.4: POST /participants, answered by PUT /participants/{ID} with each party's error",
        batch
    ),
    case!(
        "participants/batch-refused",
        "2.4: a batch with no party is refused at once, and one of a barred FSP by PUT …/error",
        batch_refused
    ),
    case!(
        "participants/barred-source",
        "3.4: source FSP may not take part, 3200",
        barred_source
    ),
    case!(
        "participants/unknown-source",
        "3.4: source FSP unknown: each message is refused at once, 400 3200",
        unknown_source
    ),
];

pub(super) fn path(party: &str) -> String {
    format!("/participants/{party}")
}

pub(super) fn subject(party: &str) -> String {
    format!("party:{party}")
}

fn answered(asked: &'static str, outcome: &'static str) -> Vec<&'static str> {
    [&[asked, outcome][..], &events::told("")].concat()
}

pub(super) fn association() -> Vec<&'static str> {
    answered(
        "participant-association-request-received",
        "participant-association-created",
    )
}

pub(super) fn disassociation() -> Vec<&'static str> {
    answered(
        "participant-disassociate-request-received",
        "participant-association-removed",
    )
}

pub(super) fn failed(asked: &'static str) -> Vec<&'static str> {
    answered(asked, "account-lookup-failed")
}

/// Associates a party with an FSP, which gets a callback.
async fn associated(stage: &Stage, fsp: &str, party: &str) -> Result<()> {
    let body = json!({ "fspId": fsp });
    stage
        .sends(fsp, Method::POST, &path(party))
        .json(&body)
        .accepted()
        .await?;
    stage
        .hub_tells(fsp, Method::PUT, &path(party), &body)
        .await?;
    stage.expects(&subject(party), &association());
    Ok(())
}

/// An FSP queries a party, and gets this FSP.
pub(super) async fn is_with(stage: &Stage, asks: &str, party: &str, fsp: &str) -> Result<()> {
    stage
        .sends(asks, Method::GET, &path(party))
        .accepted()
        .await?;
    stage
        .hub_tells(asks, Method::PUT, &path(party), &json!({ "fspId": fsp }))
        .await?;
    let events = answered("participant-query-received", "participant-query-response");
    stage.expects(&subject(party), &events);
    Ok(())
}

/// An FSP queries a party, and learns that no FSP has it.
pub(super) async fn is_with_nobody(stage: &Stage, asks: &str, party: &str) -> Result<()> {
    stage
        .sends(asks, Method::GET, &path(party))
        .accepted()
        .await?;
    let events = failed("participant-query-received");
    stage.expects(&subject(party), &events);
    stage.hub_refuses(asks, &path(party), "3204").await
}

async fn associate(stage: &Stage) -> Result<()> {
    let party = stage.party();
    associated(stage, PAYEE, &party).await?;
    let events = association();
    stage.events(&subject(&party), &events).await?;
    // Again: it creates and it updates.
    associated(stage, PAYEE, &party).await?;
    stage
        .events(&subject(&party), &[&events[..], &events].concat())
        .await?;
    is_with(stage, PAYER, &party, PAYEE).await
}

async fn query(stage: &Stage) -> Result<()> {
    let party = stage.party();
    associated(stage, PAYEE, &party).await?;
    let before = association();
    for asks in [PAYER, PAYEE, STRANGER] {
        is_with(stage, asks, &party, PAYEE).await?;
    }
    let one = answered("participant-query-received", "participant-query-response");
    stage
        .events(&subject(&party), &[&before[..], &one, &one, &one].concat())
        .await
}

async fn disassociate(stage: &Stage) -> Result<()> {
    let party = stage.party();
    associated(stage, PAYEE, &party).await?;
    stage
        .sends(PAYEE, Method::DELETE, &path(&party))
        .accepted()
        .await?;
    stage
        .hub_tells(PAYEE, Method::PUT, &path(&party), &json!({}))
        .await?;
    let events = [association(), disassociation()];
    stage.events(&subject(&party), &events.concat()).await?;
    is_with_nobody(stage, PAYER, &party).await?;
    // Free for others.
    associated(stage, STRANGER, &party).await?;
    is_with(stage, PAYER, &party, STRANGER).await
}

async fn sub_id(stage: &Stage) -> Result<()> {
    let number = stage.party().replace("MSISDN/", "");
    let (whole, part) = (
        format!("BUSINESS/shop{number}"),
        format!("BUSINESS/shop{number}/till1"),
    );
    associated(stage, PAYEE, &part).await?;
    let events = association();
    stage.events(&subject(&part), &events).await?;
    is_with(stage, PAYER, &part, PAYEE).await?;
    is_with_nobody(stage, PAYER, &whole).await?;
    stage
        .sends(PAYEE, Method::DELETE, &path(&part))
        .accepted()
        .await?;
    stage
        .hub_tells(PAYEE, Method::PUT, &path(&part), &json!({}))
        .await?;
    stage.expects(&subject(&part), &disassociation());
    is_with_nobody(stage, PAYER, &part).await
}

async fn currency(stage: &Stage) -> Result<()> {
    let party = stage.party();
    let body = json!({ "fspId": PAYEE, "currency": "USD" });
    stage
        .sends(PAYEE, Method::POST, &path(&party))
        .json(&body)
        .accepted()
        .await?;
    let with_payee = json!({ "fspId": PAYEE });
    stage
        .hub_tells(PAYEE, Method::PUT, &path(&party), &with_payee)
        .await?;
    let asks = |currency: &str| format!("{}?currency={currency}&unknown=1", path(&party));
    stage
        .sends(PAYER, Method::GET, &asks("USD"))
        .accepted()
        .await?;
    stage
        .hub_tells(PAYER, Method::PUT, &path(&party), &with_payee)
        .await?;
    for (method, asks) in [(Method::GET, asks("RWF")), (Method::DELETE, asks("RWF"))] {
        stage.sends(PAYEE, method, &asks).accepted().await?;
        stage.hub_refuses(PAYEE, &path(&party), "3204").await?;
    }
    stage
        .sends(PAYEE, Method::DELETE, &asks("USD"))
        .accepted()
        .await?;
    stage
        .hub_tells(PAYEE, Method::PUT, &path(&party), &json!({}))
        .await?;
    let queried = answered("participant-query-received", "participant-query-response");
    let events = [
        association(),
        queried,
        failed("participant-query-received"),
        failed("participant-disassociate-request-received"),
        disassociation(),
    ];
    stage.events(&subject(&party), &events.concat()).await?;
    is_with_nobody(stage, PAYER, &party).await?;
    let strange = format!("{}?currency=EUR", path(&party));
    stage
        .sends(PAYER, Method::GET, &strange)
        .refused(400, "3100")
        .await?;
    let wrong = format!("{}?currency=dollars", path(&party));
    stage
        .sends(PAYER, Method::GET, &wrong)
        .refused(400, "3101")
        .await?;
    Ok(())
}

async fn query_unknown(stage: &Stage) -> Result<()> {
    let party = stage.party();
    is_with_nobody(stage, PAYER, &party).await?;
    let events = failed("participant-query-received");
    stage.events(&subject(&party), &events).await?;
    let part = format!("BUSINESS/{}/till1", party.replace("MSISDN/", ""));
    is_with_nobody(stage, PAYER, &part).await
}

async fn disassociate_anothers(stage: &Stage) -> Result<()> {
    let party = stage.party();
    associated(stage, PAYEE, &party).await?;
    stage
        .sends(STRANGER, Method::DELETE, &path(&party))
        .accepted()
        .await?;
    stage.hub_refuses(STRANGER, &path(&party), "3204").await?;
    let refused = failed("participant-disassociate-request-received");
    stage.expects(&subject(&party), &refused);
    is_with(stage, PAYER, &party, PAYEE).await
}

async fn associate_anothers(stage: &Stage) -> Result<()> {
    let party = stage.party();
    associated(stage, PAYEE, &party).await?;
    // Another FSP's party, and a party in the name of another FSP.
    for fsp in [STRANGER, PAYER] {
        let body = json!({ "fspId": fsp });
        stage
            .sends(STRANGER, Method::POST, &path(&party))
            .json(&body)
            .accepted()
            .await?;
        stage.hub_refuses(STRANGER, &path(&party), "3003").await?;
        let refused = failed("participant-association-request-received");
        stage.expects(&subject(&party), &refused);
    }
    is_with(stage, PAYER, &party, PAYEE).await
}

async fn barred_source(stage: &Stage) -> Result<()> {
    let party = stage.party();
    let body = json!({ "fspId": BARRED });
    stage
        .sends(BARRED, Method::POST, &path(&party))
        .json(&body)
        .accepted()
        .await?;
    stage.hub_refuses(BARRED, &path(&party), "3200").await?;
    for method in [Method::GET, Method::DELETE] {
        stage
            .sends(BARRED, method, &path(&party))
            .accepted()
            .await?;
        stage.hub_refuses(BARRED, &path(&party), "3200").await?;
    }
    for asked in [
        "participant-association-request-received",
        "participant-query-received",
        "participant-disassociate-request-received",
    ] {
        stage.expects(&subject(&party), &failed(asked));
    }
    is_with_nobody(stage, PAYER, &party).await
}

async fn unknown_source(stage: &Stage) -> Result<()> {
    let party = stage.party();
    let body = json!({ "fspId": NOBODY });
    let error = fsp_error("5100");
    let id = stage.id();
    let mistyped = PAYER.to_uppercase();
    for (method, path, body) in [
        (Method::POST, path(&party), Some(&body)),
        (Method::GET, path(&party), None),
        (Method::DELETE, path(&party), None),
        (Method::GET, format!("/parties/{party}"), None),
        (Method::PUT, format!("/parties/{party}/error"), Some(&error)),
        (Method::GET, format!("/quotes/{id}"), None),
        (Method::PUT, format!("/quotes/{id}/error"), Some(&error)),
        (Method::GET, format!("/transfers/{id}"), None),
        (Method::PUT, format!("/transfers/{id}/error"), Some(&error)),
    ] {
        for source in [NOBODY, HUB, &mistyped] {
            let ask = stage.sends(PAYER, method.clone(), &path);
            let ask = ask.header("fspiop-source", source);
            let ask = match body {
                Some(body) => ask.json(body),
                None => ask,
            };
            ask.refused(400, "3200").await?;
        }
    }
    stage.no_events(&subject(&party))?;
    is_with_nobody(stage, PAYER, &party).await
}

async fn batch(stage: &Stage) -> Result<()> {
    let (free, others, taken) = (stage.party(), stage.party(), stage.party());
    associated(stage, STRANGER, &taken).await?;
    let id = stage.id();
    let party = |party: &str, fsp: &str| {
        let (kind, identifier) = party.split_once('/').unwrap_or_default();
        json!({ "partyIdType": kind, "partyIdentifier": identifier, "fspId": fsp })
    };
    let mut unnamed = party(&free, PAYEE);
    if let Some(members) = unnamed.as_object_mut() {
        members.remove("fspId");
    }
    let asked = json!({ "requestId": id, "currency": "USD", "partyList": [
        unnamed,
        party(&others, STRANGER),
        party(&taken, PAYEE),
        party("MSISDN/no-number", PAYEE),
    ] });
    let refused = |told: Value, code: &str| {
        let error = json!({ "errorCode": code, "errorDescription": TEXT });
        json!({ "partyId": told, "errorInformation": error })
    };
    let told = json!({ "currency": "USD", "partyList": [
        { "partyId": party(&free, PAYEE) },
        refused(party(&others, STRANGER), "3204"),
        refused(party(&taken, PAYEE), "3003"),
        refused(party("MSISDN/no-number", PAYEE), "3101"),
    ] });
    let batch = || {
        stage
            .sends(PAYEE, Method::POST, "/participants")
            .json(&asked)
    };
    let answer = format!("/participants/{id}");
    let once = answered(
        "participants-association-request-received",
        "participants-association-processed",
    );
    // Once more, which changes nothing and is answered alike.
    for _ in 0..2 {
        batch().accepted().await?;
        stage.hub_tells(PAYEE, Method::PUT, &answer, &told).await?;
    }
    let events = [&once[..], &once].concat();
    stage.events(&format!("parties:{id}"), &events).await?;
    is_with(stage, PAYER, &free, PAYEE).await?;
    is_with(stage, PAYER, &taken, STRANGER).await?;
    is_with_nobody(stage, PAYER, &others).await
}

async fn batch_refused(stage: &Stage) -> Result<()> {
    let id = stage.id();
    let party = json!({ "partyIdType": "MSISDN", "partyIdentifier": "1" });
    let body = |list: Value| json!({ "requestId": id, "partyList": list });
    let sends = |fsp| stage.sends(fsp, Method::POST, "/participants");
    let empty = sends(PAYEE).json(&body(json!([])));
    empty.refused(400, "3102").await?;
    let many = sends(PAYEE).json(&body(vec![party.clone(); 1_001].into()));
    many.refused(400, "3103").await?;
    sends(BARRED).json(&body(json!([party]))).accepted().await?;
    let answer = format!("/participants/{id}");
    stage.hub_refuses(BARRED, &answer, "3200").await?;
    let events = answered(
        "participants-association-request-received",
        "participants-association-failed",
    );
    stage.events(&format!("parties:{id}"), &events).await
}

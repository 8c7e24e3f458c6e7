//! Headers: what is demanded, which versions are spoken, what goes on and what does not.

use anyhow::{Context as _, Result, ensure};
use http::Method;
use rialto_simulator::client::Answer;
use rialto_tests::messages;
use rialto_tests::world::{PAYEE, PAYER};
use serde_json::{Value, json};

use crate::ask::Ask;
use crate::case;
use crate::case::Case;
use crate::payment::{Payment, events};
use crate::stage::Stage;

pub(super) const CASES: [Case; 8] = [
    case!(
        "headers/missing",
        "1.5 steps 4, 7, 9, 12: missing header, 3102",
        missing
    ),
    case!(
        "headers/malformed",
        "1.5 steps 5, 8, 10: malformed header, 3101",
        malformed
    ),
    case!(
        "headers/versions",
        "1.5 steps 6, 11: unsupported version, 406 3001 with the list",
        versions
    ),
    case!("headers/order", "1.5: which check comes first", order),
    case!(
        "headers/accept",
        "1.4: what Accept may list; the answer is in the version asked for",
        accept
    ),
    case!(
        "headers/refusal-as-json",
        "1.3: the body of a refusal is application/json to whoever takes that",
        refusal_as_json
    ),
    case!(
        "headers/forwarded",
        "1.9: what the switch keeps, fills in and drops",
        forwarded
    ),
    case!(
        "headers/tolerated",
        "1.1, 1.2, 1.4: unknown headers, queries and members are tolerated",
        tolerated
    ),
];

const MEDIA: &str = "application/vnd.interoperability.transfers+json";

/// A sound request for a transfer that comes to nothing.
fn transfer(stage: &Stage) -> Ask<'_> {
    let body = messages::transfer(&stage.id(), |_| ());
    stage
        .sends(PAYER, Method::POST, "/transfers")
        .to(PAYEE)
        .json(&body)
}

/// The description of a refusal.
fn words(answer: &Answer) -> Result<String> {
    let body: Value = serde_json::from_slice(&answer.body)?;
    let words = body["errorInformation"]["errorDescription"].as_str();
    Ok(words.context("a description")?.to_owned())
}

async fn missing(stage: &Stage) -> Result<()> {
    let path = format!("/transfers/{}", stage.id());
    for name in ["Accept", "Date", "Content-Type", "FSPIOP-Source"] {
        let header = name.to_ascii_lowercase();
        let query = stage.sends(PAYER, Method::GET, &path);
        for ask in [transfer(stage), query] {
            let found = words(&ask.without(&header).refused(400, "3102").await?)?;
            // Words that clients compare.
            let expected = format!("Missing mandatory element - {name} is required");
            ensure!(found == expected, "{found:?}, not {expected:?}");
        }
    }
    Ok(())
}

async fn malformed(stage: &Stage) -> Result<()> {
    let long = "f".repeat(33);
    let two = format!("{MEDIA};version=1.1, {MEDIA};version=1.1");
    let other = "application/vnd.interoperability.quotes+json;version=1.1";
    let (major, none) = (format!("{MEDIA};version=1"), MEDIA.to_owned());
    for (name, value) in [
        ("accept", "application/json"),
        ("accept", other),
        ("accept", "*/*"),
        ("date", "yesterday"),
        ("date", "2026-01-01T00:00:00.000Z"),
        ("content-type", "application/json"),
        ("content-type", other),
        ("content-type", &major),
        ("content-type", &none),
        ("content-type", &two),
        ("fspiop-source", &long),
        ("fspiop-destination", &long),
    ] {
        transfer(stage)
            .header(name, value)
            .refused(400, "3101")
            .await?;
    }
    Ok(())
}

async fn versions(stage: &Stage) -> Result<()> {
    let listed = |answer: &Answer| -> Result<Value> {
        let body: Value = serde_json::from_slice(&answer.body)?;
        Ok(body["errorInformation"]["extensionList"]["extension"].clone())
    };
    let minors = |minors: &[&str]| -> Value {
        minors
            .iter()
            .map(|minor| json!({ "key": "1", "value": minor }))
            .collect()
    };
    for (name, version) in [
        ("accept", "9"),
        ("accept", "9.1"),
        ("accept", "2.0"),
        ("content-type", "9.0"),
    ] {
        let value = format!("{MEDIA};version={version}");
        let answer = transfer(stage)
            .header(name, &value)
            .refused(406, "3001")
            .await?;
        let found = listed(&answer)?;
        ensure!(
            found == minors(&["0", "1", "2"]),
            "{name} {version}: the list is {found}"
        );
        let found = words(&answer)?;
        let expected = if name == "accept" {
            "Unacceptable version requested - The Client requested an unsupported version, see extension list for supported version(s)."
        } else {
            "Unacceptable version requested - Client supplied a protocol version which is not supported by the server"
        };
        ensure!(found == expected, "{found:?}, not {expected:?}");
    }
    let path = format!("/quotes/{}", stage.id());
    let value = "application/vnd.interoperability.quotes+json;version=1.2";
    let query = stage
        .sends(PAYER, Method::GET, &path)
        .header("accept", value);
    let found = listed(&query.refused(406, "3001").await?)?;
    ensure!(
        found == minors(&["0", "1"]),
        "the list of quotes is {found}"
    );
    Ok(())
}

async fn order(stage: &Stage) -> Result<()> {
    // Each request is wrong in two ways: the one that comes first in the table counts.
    let wrong_version = format!("{MEDIA};version=9.0");
    let nothing = stage
        .sends(PAYER, Method::POST, "/nothing")
        .without("accept");
    nothing.refused(404, "3002").await?;
    let method = stage
        .sends(PAYER, Method::DELETE, "/transfers")
        .without("accept");
    method.refused(405, "3000").await?;
    transfer(stage)
        .without("accept")
        .without("date")
        .refused(400, "3102")
        .await?;
    let accept = transfer(stage).header("accept", &wrong_version);
    accept.without("date").refused(406, "3001").await?;
    let date = transfer(stage).header("date", "yesterday");
    date.header("content-type", &wrong_version)
        .refused(400, "3101")
        .await?;
    let version = transfer(stage).header("content-type", &wrong_version);
    version
        .without("fspiop-source")
        .refused(406, "3001")
        .await?;
    let source = transfer(stage).without("fspiop-source").body(b"{".to_vec());
    source.refused(400, "3102").await?;
    Ok(())
}

async fn accept(stage: &Stage) -> Result<()> {
    for (accept, spoken) in [
        (MEDIA.to_owned(), "1.2"),
        (format!("{MEDIA};version=1"), "1.1"),
        (format!("text/plain, {MEDIA};version=1.0"), "1.0"),
        (format!("{MEDIA};version=1.0"), "1.0"),
        (format!("{MEDIA} ; version=1.0"), "1.0"),
        (format!("{MEDIA};version=1.2"), "1.2"),
        (format!("{MEDIA};version=2.0, {MEDIA};version=1.0"), "1.0"),
        (format!("{MEDIA};version=1.0,{MEDIA};version=1.1"), "1.0"),
        (format!("{MEDIA};version=2.0\n{MEDIA};version=1.0"), "1.0"),
        (format!("text/plain\n{MEDIA};version=1.2"), "1.2"),
    ] {
        let id = stage.id();
        let path = format!("/transfers/{id}");
        let query = stage.sends(PAYER, Method::GET, &path);
        // A line of the list is a line of the header: several lines are one list.
        let mut lines = accept.split('\n');
        let query = query.header("accept", lines.next().unwrap_or_default());
        let query = lines.fold(query, |query, line| query.and_header("accept", line));
        let query = query.accepted().await;
        query.with_context(|| format!("Accept: {accept}"))?;
        let queried = events::answered("transfer-query-received");
        stage.expects(&format!("transfer:{id}"), &queried);
        let told = stage
            .told(PAYER, Method::PUT, &format!("{path}/error"))
            .await?;
        let found = told.header("content-type");
        ensure!(
            found == format!("{MEDIA};version={spoken}"),
            "Accept: {accept} is answered in {found}"
        );
    }
    Ok(())
}

async fn refusal_as_json(stage: &Stage) -> Result<()> {
    let wrong = || transfer(stage).body(b"{".to_vec());
    for (accept, found) in [
        (
            format!("{MEDIA};version=1.1"),
            format!("{MEDIA};version=1.1"),
        ),
        (
            format!("{MEDIA};version=1.1, application/json"),
            "application/json".to_owned(),
        ),
    ] {
        let answer = wrong()
            .header("accept", &accept)
            .refused(400, "3101")
            .await?;
        let told = answer.headers.get("content-type");
        let told = told.and_then(|value| value.to_str().ok());
        ensure!(
            told == Some(found.as_str()),
            "Accept: {accept} is refused in {told:?}"
        );
    }
    Ok(())
}

async fn forwarded(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let ask = stage
        .sends(PAYER, Method::POST, "/quotes")
        .to(PAYEE)
        .json(&payment.quote())
        .header("date", "Tue, 15 Nov 1994 08:12:31 GMT")
        .header(
            "content-type",
            "application/vnd.interoperability.quotes+json;version=1.0",
        )
        // This one is not verified, so these may have any value.
        .header("fspiop-uri", "elsewhere")
        .header("fspiop-http-method", "STEAL")
        .header("fspiop-encryption", "{\"encryptedFields\":[]}")
        .header("traceparent", &format!("00-{trace}-b7ad6b7169203331-01"))
        .header("tracestate", "vendor=1")
        .header("x-forwarded-for", "192.0.2.1")
        .header("authorization", "Bearer secret")
        .header("x-client-id", PAYER)
        .header("x-private", "1");
    let sent = ask.accepted().await?;
    let found = stage.forwarded(&sent, PAYEE).await?;
    stage.expects(&payment.quote_subject(), &events::quote_asked());
    for name in [
        "fspiop-uri",
        "fspiop-http-method",
        "fspiop-encryption",
        "tracestate",
        "x-forwarded-for",
    ] {
        let (found, sent) = (found.header(name), sent.header(name));
        ensure!(found == sent, "{name} is {found:?}, not {sent:?}");
    }
    for name in ["authorization", "x-client-id", "x-private"] {
        let found = found.header(name);
        ensure!(found.is_empty(), "{name} goes on: {found:?}");
    }
    let found = found.header("traceparent");
    ensure!(found.contains(trace), "the trace is {found:?}");
    // The destination was open, in one of three ways: it is filled in.
    for open in [None, Some(""), Some("Hub")] {
        let payment = Payment::new(stage);
        let ask = stage
            .sends(PAYER, Method::POST, "/quotes")
            .json(&payment.quote());
        let ask = match open {
            Some(destination) => ask.to(destination),
            None => ask,
        };
        let sent = ask.accepted().await?;
        stage.forwarded(&sent, PAYEE).await?;
        stage.expects(&payment.quote_subject(), &events::quote_asked());
    }
    Ok(())
}

async fn tolerated(stage: &Stage) -> Result<()> {
    let payment = Payment::new(stage);
    let mut body = payment.quote();
    body["unknownMember"] = json!({ "deep": [null, 1.50, "\u{1F600}"] });
    body["payer"]["unknownToo"] = true.into();
    let ask = stage
        .sends(PAYER, Method::POST, "/quotes?unknown=1&unknown=2")
        .to(PAYEE);
    let sent = ask.json(&body).header("x-unknown", "1").accepted().await?;
    stage.forwarded(&sent, PAYEE).await?;
    // Accept has no meaning on a PUT: it is tolerated, and does not go on.
    let answer = stage
        .sends(PAYEE, Method::PUT, &payment.quote_path())
        .to(PAYER);
    let answer = answer.header(
        "accept",
        "application/vnd.interoperability.quotes+json;version=1",
    );
    let sent = answer.json(&payment.terms()).accepted().await?;
    stage.forwarded(&sent, PAYER).await?;
    let events = events::agreed();
    stage.events(&payment.quote_subject(), &events).await
}

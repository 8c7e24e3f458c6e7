//! Two hundred prepares by one payer at once, against a limit that fits exactly one hundred: exactly one
//! hundred are prepared, with any number of workers, each time.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rialto_simulator::client::HttpClient;
use rialto_simulator::sink::{Said, Sink};
use rialto_tests::messages::transfer;
use rialto_tests::waiting::until;
use rialto_tests::world::PAYEE;
use rialto_tests::{RunningHost, TestScheme};
use serde_json::json;
use tokio::task::JoinSet;

/// Longer than a round takes.
const SOON: Duration = Duration::from_secs(60);
/// Rounds with each number of workers.
const ROUNDS: usize = 100;
const PREPARES: usize = 200;
const FITTING: usize = 100;

/// A payer for each round, with liquidity or a net debit cap of a hundred dollars. Odd ones have the cap, even
/// ones the liquidity.
fn payers(url: &str) -> String {
    let mut text = String::new();
    for round in 0..ROUNDS {
        let (liquidity, cap) = if round % 2 == 0 {
            ("100.00", "")
        } else {
            ("1000000.00", "net-debit-cap = \"100.00\"\n")
        };
        write!(
            text,
            "[[participants]]\nid = \"payer{round}\"\nname = \"Payer\"\ncallback-base-url = \"{url}\"\n\n\
             [[participants.accounts]]\ncurrency = \"USD\"\nopening-liquidity = \"{liquidity}\"\n{cap}\n"
        )
        .unwrap();
    }
    text
}

fn host(url: &str, workers: usize) -> (TestScheme, RunningHost) {
    let scheme = TestScheme::demo().unwrap();
    scheme
        .edit("requireQuote = true", "requireQuote = false")
        .unwrap();
    scheme
        .edit_with(|text| {
            let lines = text.lines().map(|line| {
                if line.starts_with("callback-base-url") {
                    format!("callback-base-url = \"{url}\"\n")
                } else {
                    format!("{line}\n")
                }
            });
            let text: String = lines.collect();
            text.replacen("[[errors]]", &format!("{}[[errors]]", payers(url)), 1)
        })
        .unwrap();
    let engine = format!("[engine]\nworkers = {workers}\n\n[store]");
    scheme.replace("rialto.toml", "[store]", &engine).unwrap();
    scheme.lock().unwrap();
    let host = RunningHost::start(&scheme).unwrap();
    (scheme, host)
}

/// Sends two hundred concurrent prepares of a dollar. Returns their ids.
async fn prepare_all(client: &HttpClient, hub: &str, workers: usize, round: usize) -> Vec<String> {
    let mut sending = JoinSet::new();
    for number in 0..PREPARES {
        let id = format!("{workers:08x}-0000-4000-8000-{round:04x}{number:08x}");
        let payer = format!("payer{round}");
        let body = transfer(&id, |body| {
            body["payerFsp"] = json!(payer);
            body["amount"]["amount"] = json!("1");
        });
        let mut headers = http::HeaderMap::new();
        for (name, value) in [
            (
                "content-type",
                "application/vnd.interoperability.transfers+json;version=1.1",
            ),
            (
                "accept",
                "application/vnd.interoperability.transfers+json;version=1.1",
            ),
            ("date", "Sun, 22 Nov 2026 00:00:00 GMT"),
            ("fspiop-source", payer.as_str()),
            ("fspiop-destination", PAYEE),
        ] {
            headers.insert(http::HeaderName::from_static(name), value.parse().unwrap());
        }
        let (client, uri) = (client.clone(), format!("{hub}/transfers").parse().unwrap());
        sending.spawn(async move {
            let body = body.to_string().into();
            let answer = client
                .send(http::Method::POST, uri, headers, body)
                .await
                .unwrap();
            assert_eq!(answer.status, 202, "{answer:?}");
            id
        });
    }
    sending.join_all().await
}

async fn exactly_a_hundred_fit(workers: usize) {
    // The messages about each transfer, to any FSP.
    let heard: Arc<Mutex<BTreeMap<String, Vec<Said>>>> = Arc::default();
    let hearing = Arc::clone(&heard);
    let everybody = Sink::start(move |id, said| {
        let mut heard = hearing.lock().unwrap();
        heard.entry(id.to_owned()).or_default().push(said);
    });
    let everybody = everybody.await.unwrap();
    let (_scheme, host) = host(everybody.url(), workers);
    let client = HttpClient::new(SOON);
    let hub = host.url("fsps").unwrap().to_owned();
    for round in 0..ROUNDS {
        let ids = prepare_all(&client, &hub, workers, round).await;
        let expected = if round % 2 == 0 { "4001" } else { "4200" };
        let said = until("each prepare is decided", SOON, async || {
            let heard = heard.lock().unwrap();
            let of_round: Vec<Vec<Said>> =
                ids.iter().filter_map(|id| heard.get(id).cloned()).collect();
            Ok(if of_round.len() == PREPARES {
                Ok(of_round)
            } else {
                Err(format!("{} of {PREPARES}", of_round.len()))
            })
        })
        .await
        .unwrap();
        let count = |what: Said| said.iter().filter(|said| **said == [what.clone()]).count();
        assert_eq!(
            (
                count(Said::Prepare),
                count(Said::Error(expected.to_owned()))
            ),
            (FITTING, PREPARES - FITTING),
            "{workers} workers, round {round}"
        );
    }
    let checked = host.cli(&["ledger", "check"]).unwrap();
    assert_eq!(checked.code, 0, "{checked}");
    drop(host);
}

#[tokio::test(flavor = "multi_thread")]
async fn exactly_a_hundred_fit_with_one_worker() {
    exactly_a_hundred_fit(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exactly_a_hundred_fit_with_two_workers() {
    exactly_a_hundred_fit(2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exactly_a_hundred_fit_with_eight_workers() {
    exactly_a_hundred_fit(8).await;
}

//! A settlement of a thousand payers whose host is killed again and again. It continues, the ledger is valid
//! after each kill, and each participant pays once.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rialto_engine::store::StoreError;
use rialto_simulator::client::HttpClient;
use rialto_simulator::ilp::{Secret, condition, text32};
use rialto_simulator::sink::{Said, Sink};
use rialto_store_sqlite::{Order, Snapshot};
use rialto_tests::messages::transfer;
use rialto_tests::waiting::until;
use rialto_tests::world::PAYEE;
use rialto_tests::{Office, RunningHost, TestScheme, audited, binaries};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(60);
const PAYERS: usize = 1_000;
/// The opening balance of each, in cents.
const OPENING: i64 = 10_000;
const PEOPLE: [(&str, &str); 2] = [
    ("anna", "\"reader\", \"maker\", \"checker\""),
    ("ben", "\"reader\", \"maker\", \"checker\""),
];

/// The amount of the payer with this number, in whole dollars.
const fn amount(payer: usize) -> usize {
    1 + payer % 7
}

fn name(payer: usize) -> String {
    format!("fsp{payer:04}")
}

/// The transfer of this payer.
fn id(payer: usize) -> String {
    format!("{payer:08x}-0000-4000-8000-000000000000")
}

fn scheme(url: &str) -> TestScheme {
    let scheme = TestScheme::demo().unwrap();
    scheme.add_operators(&PEOPLE).unwrap();
    scheme
        .edit("requireQuote = true", "requireQuote = false")
        .unwrap();
    let mut payers = String::new();
    for payer in 0..PAYERS {
        write!(
            payers,
            "[[participants]]\nid = \"{}\"\nname = \"Payer\"\ncallback-base-url = \"{url}\"\n\n\
             [[participants.accounts]]\ncurrency = \"USD\"\nopening-liquidity = \"{}\"\n\n",
            name(payer),
            OPENING / 100
        )
        .unwrap();
    }
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
            text.replacen("[[errors]]", &format!("{payers}[[errors]]"), 1)
        })
        .unwrap();
    scheme.lock().unwrap();
    scheme
}

/// Send a message about a transfer to the hub.
async fn send(
    client: &HttpClient,
    method: http::Method,
    url: String,
    (from, to): (&str, &str),
    body: &Value,
) {
    const MEDIA: &str = "application/vnd.interoperability.transfers+json;version=1.1";
    let mut headers = http::HeaderMap::new();
    for (name, value) in [
        ("content-type", MEDIA),
        ("date", "Sun, 22 Nov 2026 00:00:00 GMT"),
        ("fspiop-source", from),
        ("fspiop-destination", to),
    ] {
        headers.insert(http::HeaderName::from_static(name), value.parse().unwrap());
    }
    if method == http::Method::POST {
        headers.insert("accept", MEDIA.parse().unwrap());
    }
    let answer = client.send(
        method,
        url.parse().unwrap(),
        headers,
        body.to_string().into(),
    );
    let answer = answer.await.unwrap();
    assert!(answer.status.is_success(), "{answer:?}");
}

/// Every payer pays the payee.
async fn all_pay(hub: &str, mut prepared: mpsc::UnboundedReceiver<String>) {
    let client = HttpClient::new(SOON);
    let fulfilment = |id: &str| Secret::from_name(PAYEE).fulfilment(id.as_bytes());
    let fulfils = tokio::spawn({
        let (client, hub) = (client.clone(), hub.to_owned());
        async move {
            for _ in 0..PAYERS {
                let id = prepared.recv().await.unwrap();
                let payer = usize::from_str_radix(&id[..8], 16).unwrap();
                let body = json!({
                    "fulfilment": text32(&fulfilment(&id)), "transferState": "COMMITTED",
                });
                let url = format!("{hub}/transfers/{id}");
                let ends = (PAYEE, name(payer));
                let ends = (ends.0, ends.1.as_str());
                send(&client, http::Method::PUT, url, ends, &body).await;
            }
        }
    });
    let mut sending = JoinSet::new();
    for payer in 0..PAYERS {
        let id = id(payer);
        let body = transfer(&id, |body| {
            body["payerFsp"] = json!(name(payer));
            body["amount"]["amount"] = json!(amount(payer).to_string());
            body["condition"] = json!(text32(&condition(&fulfilment(&id))));
        });
        let (client, url) = (client.clone(), format!("{hub}/transfers"));
        sending.spawn(async move {
            let payer = name(payer);
            send(&client, http::Method::POST, url, (&payer, PAYEE), &body).await;
        });
        while sending.len() >= 64 {
            sending.join_next().await.unwrap().unwrap();
        }
    }
    sending.join_all().await;
    fulfils.await.unwrap();
}

/// The documents of a collection as they are on disk, whether a host runs or not.
async fn on_disk(
    state: &Path,
    component: &'static str,
    collection: &'static str,
) -> BTreeMap<String, Value> {
    let state = state.to_owned();
    let read = tokio::task::spawn_blocking(move || {
        let mut found = BTreeMap::new();
        let mut snapshot = Snapshot::open(&state).unwrap();
        let Some(collection) = snapshot.collection(component, collection) else {
            return found;
        };
        let visited =
            snapshot.visit::<StoreError>(&[collection], Order::ById, &mut |_, document| {
                let body = serde_json::from_str(&document.body).unwrap();
                found.insert(document.id.to_string(), body);
                Ok(())
            });
        visited.unwrap();
        found
    });
    read.await.unwrap()
}

/// The balance of each account whose id ends like this, in cents.
async fn balances(state: &Path, kind: &str) -> BTreeMap<String, i64> {
    let accounts = on_disk(state, "accounts-and-balances", "accounts").await;
    let units = |body: &Value, name: &str| body[name].as_str().unwrap().parse::<i64>().unwrap();
    let of_kind = accounts.iter().filter_map(|(id, body)| {
        let participant = id.strip_suffix(kind)?;
        let balance = units(body, "creditBalance") - units(body, "debitBalance");
        Some((participant.to_owned(), balance))
    });
    of_kind.collect()
}

/// The only settlement: its phase and how many steps it has done.
async fn progress(state: &Path) -> (String, u64) {
    let all = on_disk(state, "settlements", "settlements").await;
    let settlement = all.values().next().unwrap();
    let phase = settlement["state"].as_str().unwrap().to_owned();
    (phase, settlement["step"].as_u64().unwrap())
}

/// A host that may be killed before it is ready.
fn spawn(folder: &Path) -> Child {
    Command::new(binaries::rialto().unwrap())
        .arg("serve")
        .arg(folder)
        .env_remove("RIALTO_STATE")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

struct Scene {
    scheme: TestScheme,
    state: PathBuf,
    host: RunningHost,
}

impl Scene {
    /// Kills the host at each progress of the settlement, and starts another, until it is in this phase.
    /// Returns the phases at the kills.
    async fn killed_until(&mut self, last: &str) -> BTreeSet<String> {
        let mut killed = BTreeSet::new();
        let mut seen = progress(&self.state).await;
        self.host.kill().unwrap();
        loop {
            let now = progress(&self.state).await;
            let checked = self.host.cli(&["ledger", "check"]).unwrap();
            assert_eq!(checked.code, 0, "{now:?}: {checked}");
            if now.0 == last {
                return killed;
            }
            killed.insert(now.0.clone());
            assert!(now.1 >= seen.1, "{now:?} after {seen:?}");
            seen = now;
            let mut host = spawn(self.scheme.path());
            let went_on = until("the settlement goes on", SOON, async || {
                let now = progress(&self.state).await;
                Ok(if now == seen {
                    Err(format!("{now:?}"))
                } else {
                    Ok(())
                })
            });
            let went_on = went_on.await;
            host.kill().unwrap();
            host.wait().unwrap();
            went_on.unwrap();
        }
    }

    /// Each posting of a settlement has its entry in the audit log, and each entry its posting.
    async fn is_audited(&self, settlement: &str) {
        let entries = on_disk(&self.state, "accounts-and-balances", "entries").await;
        let posted = entries.values();
        let posted = posted.filter(|entry| entry["correlationId"] == *settlement);
        let posted = posted.count() as u64;
        assert!(posted > PAYERS as u64, "{posted}");
        let office = Office::of(&self.scheme, &self.host, &[]).unwrap();
        let about = format!("settlement:{settlement}");
        let query = json!({ "action": "settlement.posted", "about": about });
        // Entries are found a second after they were written.
        until("the entries of the last postings", SOON, async || {
            let (mut steps, mut told) = (BTreeSet::new(), 0);
            for entry in audited::entries(&office, query.clone()).await? {
                assert_eq!(entry["outcome"], "done", "{entry}");
                let step = entry["details"]["step"].to_string();
                assert!(steps.insert(step), "posted twice: {entry}");
                told += entry["details"]["entries"].as_u64().unwrap();
            }
            let (told, steps) = (told, steps.len());
            Ok((told == posted)
                .then_some(())
                .ok_or(format!("{told} in {steps} steps; {posted} were posted")))
        })
        .await
        .unwrap();
    }

    async fn post(&self, who: &str, path: &str, mut body: Value) -> Value {
        body["reason"] = json!("end of day");
        let office = Office::of(&self.scheme, &self.host, &["anna", "ben"]).unwrap();
        let said = office.post(who, path, &body).await.unwrap();
        assert!(matches!(said.status, 200..=202), "{said:?}");
        said.body
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settlement_of_a_thousand_survives_kills_anywhere() {
    let (tell, prepared) = mpsc::unbounded_channel();
    let ended: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let ending = Arc::clone(&ended);
    let everybody = Sink::start(move |id, said| match said {
        Said::Prepare => tell.send(id.to_owned()).unwrap(),
        Said::Other => _ = ending.lock().unwrap().insert(id.to_owned()),
        Said::Error(code) => panic!("{id}: {code}"),
    });
    let everybody = everybody.await.unwrap();
    let scheme = scheme(everybody.url());
    let host = RunningHost::start(&scheme).unwrap();
    let state = scheme.path().join("state");
    let mut scene = Scene {
        scheme,
        state,
        host,
    };
    let settled = balances(&scene.state, ":USD:SETTLEMENT").await;
    all_pay(scene.host.url("fsps").unwrap(), prepared).await;
    let total: i64 = (0..PAYERS).map(|payer| amount(payer) as i64 * 100).sum();
    until("all transfers are in the batch", SOON, async || {
        let positions = on_disk(&scene.state, "accounts-and-balances", "accounts").await;
        let of_payee = format!("{PAYEE}:USD:SETTLEMENT_POSITION");
        let of_payee = positions.iter().find(|(id, _)| id.starts_with(&of_payee));
        let received = of_payee.map_or(json!(null), |(_, body)| body["creditBalance"].clone());
        Ok(if received == json!(total.to_string()) {
            Ok(())
        } else {
            Err(received.to_string())
        })
    })
    .await
    .unwrap();

    let batches = on_disk(&scene.state, "settlements", "batches").await;
    let batch = batches.keys().next().unwrap().clone();
    let asked = scene
        .post("anna", "/settlements", json!({ "batches": [batch] }))
        .await;
    let settlement = asked["id"].as_str().unwrap().to_owned();
    let mut killed = scene.killed_until("PENDING").await;

    scene.host.restart().unwrap();
    let complete = format!("/settlements/{settlement}/complete");
    scene.post("ben", &complete, json!({})).await;
    killed.append(&mut scene.killed_until("COMPLETED").await);
    for phase in ["HOLDING", "SETTLING"] {
        assert!(killed.contains(phase), "only killed while {killed:?}");
    }

    scene.host.restart().unwrap();
    let after = balances(&scene.state, ":USD:SETTLEMENT").await;
    for payer in 0..PAYERS {
        let name = name(payer);
        assert_eq!(
            settled[&name] - after[&name],
            amount(payer) as i64 * 100,
            "{name}"
        );
    }
    assert_eq!(after[PAYEE] - settled[PAYEE], total);
    for kind in [":USD:SETTLEMENT_RESERVED", ":USD:POSITION"] {
        let all = balances(&scene.state, kind).await;
        assert!(all.len() > PAYERS, "{} of {kind}", all.len());
        assert!(all.values().all(|balance| *balance == 0), "{all:?}");
    }
    let batches = on_disk(&scene.state, "settlements", "batches").await;
    assert_eq!(batches[&batch]["state"], "SETTLED");
    scene.is_audited(&settlement).await;
    let checked = scene.host.cli(&["ledger", "check"]).unwrap();
    assert_eq!(checked.code, 0, "{checked}");
}

//! The control API, and the load generator over it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::switch::Switch;
use bytes::Bytes;
use http::{HeaderMap, Method};
use rialto_simulator::bench::{self, BenchError, BenchSettings, Extent, Load, Payments, Progress};
use rialto_simulator::client::{Answer, BaseUrl, HttpClient};
use rialto_simulator::{Fsp, FspSettings, PaymentRequest};
use serde_json::{Value, json};

async fn world(record: bool) -> (Switch, Fsp, Fsp) {
    let switch = Switch::start().await;
    let fsp = |id: &str, party: &str| FspSettings {
        record,
        ..FspSettings::new(
            id.parse().expect("an id"),
            vec![party.parse().expect("a party")],
        )
    };
    let payer = switch.fsp(fsp("payerfsp", "MSISDN/27710000001")).await;
    let payee = switch.fsp(fsp("payeefsp", "MSISDN/27713803912")).await;
    (switch, payer, payee)
}

async fn control(fsp: &Fsp, method: Method, path: &str, body: Value) -> Answer {
    let base: BaseUrl = fsp.url().parse().expect("an address");
    let uri = base.join(&format!("/_control/{path}")).expect("an address");
    let body = if body.is_null() {
        Bytes::new()
    } else {
        body.to_string().into()
    };
    let client = HttpClient::new(Duration::from_secs(10));
    client
        .send(method, uri, HeaderMap::new(), body)
        .await
        .expect("an answer")
}

fn body(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).expect("JSON")
}

#[tokio::test]
async fn another_process_can_have_payments_made() {
    let (_switch, payer, payee) = world(true).await;
    let order = json!({ "to": "MSISDN/27713803912", "amount": "10", "currency": "USD" });
    let answer = control(&payer, Method::POST, "payments", order.clone()).await;
    assert_eq!(answer.status, 200);
    let outcome = body(&answer);
    assert_eq!(outcome["transferState"], "COMMITTED", "{outcome}");
    assert_eq!(outcome["steps"][1]["step"], "quote");

    let refuse = json!({ "quote": { "refuse": "100%" } });
    assert_eq!(
        control(&payee, Method::PUT, "behaviour", refuse)
            .await
            .status,
        204
    );
    let outcome = body(&control(&payer, Method::POST, "payments", order).await);
    assert_eq!(outcome["failure"]["errorCode"], "5103", "{outcome}");
    assert_eq!(outcome["failure"]["kind"], "error-callback");
}

#[tokio::test]
async fn the_recording_can_be_read_and_forgotten() {
    let (_switch, payer, payee) = world(true).await;
    let associated = control(&payee, Method::POST, "associate", Value::Null).await;
    assert_eq!(body(&associated), json!({ "associated": 1 }));
    let lines = control(&payee, Method::GET, "messages", Value::Null)
        .await
        .body;
    let lines: Vec<Value> = String::from_utf8_lossy(&lines)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["path"], "/participants/MSISDN/27713803912");
    assert_eq!(lines[0]["body"]["fspId"], "payeefsp");
    assert_eq!(
        control(&payee, Method::DELETE, "messages", Value::Null)
            .await
            .status,
        204
    );
    assert!(payee.recorder().messages().is_empty());
    control(&payee, Method::PUT, "recording", json!({ "on": false })).await;
    control(&payee, Method::POST, "associate", Value::Null).await;
    assert!(payee.recorder().messages().is_empty());
    let state = body(&control(&payer, Method::GET, "state", Value::Null).await);
    assert_eq!(state["id"], "payerfsp");
    assert_eq!(state["recording"], true);
}

#[tokio::test]
async fn bad_orders_are_refused_with_a_reason() {
    let (_switch, payer, _payee) = world(false).await;
    for (method, path, order, status, word) in [
        (
            Method::POST,
            "payments",
            json!({ "to": "MSISDN/1" }),
            400,
            "missing field",
        ),
        (
            Method::POST,
            "payments",
            json!({ "to": "PHONE/1" }),
            400,
            "PHONE",
        ),
        (Method::PUT, "behaviour", json!({ "sead": 1 }), 400, "sead"),
        (
            Method::PUT,
            "hub",
            json!({ "url": "nowhere" }),
            400,
            "nowhere",
        ),
        (
            Method::GET,
            "payments",
            Value::Null,
            404,
            "/_control/payments",
        ),
    ] {
        let answer = control(&payer, method, path, order).await;
        assert_eq!(answer.status, status);
        let text = body(&answer)["error"].as_str().expect("a text").to_owned();
        assert!(text.contains(word), "{text}");
    }
}

fn bench(load: Load, extent: Extent) -> BenchSettings {
    BenchSettings {
        load,
        extent,
        warm_up: Duration::from_millis(100),
        processes: vec![("this".to_owned(), std::process::id())],
        ..BenchSettings::default()
    }
}

fn payments(payer: &Fsp) -> Arc<Payments> {
    let to = "MSISDN/27713803912".parse().expect("a party");
    let payment = PaymentRequest::new(to, "1", "USD");
    let payments = Payments::new(&[payer.url()], &[payment], Duration::from_secs(60));
    Arc::new(payments.expect("payments"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_loop_counts_what_ends_in_its_window() {
    let (_switch, payer, _payee) = world(false).await;
    let settings = bench(Load::Closed { concurrency: 4 }, Extent::Payments(40));
    let progress = Arc::new(Progress::default());
    let result = bench::run(&settings, payments(&payer), Arc::clone(&progress))
        .await
        .expect("a result");
    assert!(result.payments >= 36, "{result}");
    assert_eq!(result.failed, 0, "{result}");
    assert!(result.payments_per_second > 0.0);
    let latency = &result.latency;
    assert!(latency.p50_ms > 0.0 && latency.p50_ms <= latency.p99_ms);
    assert!(latency.p99_ms <= latency.max_ms);
    assert_eq!(result.cpu[0].name, "this");
    assert!(progress.committed.load(Ordering::Relaxed) >= result.payments);
    let json = serde_json::to_value(&result).expect("JSON");
    assert_eq!(json["load"], json!({ "kind": "closed", "concurrency": 4 }));
    assert!(json["p99_ms"].is_number());
}

#[tokio::test(flavor = "multi_thread")]
async fn open_loop_counts_the_wait_before_the_begin() {
    let (_switch, payer, payee) = world(false).await;
    payee.set_behaviour(
        serde_json::from_value(json!({ "quote": { "delay": "150ms" } })).expect("a behaviour"),
    );
    let load = Load::Open { per_second: 100 };
    let settings = bench(load, Extent::For(Duration::from_millis(500)));
    let result = bench::run(&settings, payments(&payer), Arc::default())
        .await
        .expect("a result");
    assert_eq!(
        result.payments, 50,
        "all that were due in the window: {result}"
    );
    assert!(result.latency.p50_ms >= 150.0, "{result}");
    assert!(
        result.seconds >= 0.6,
        "the window stays open until the last one ends: {result}"
    );
}

#[tokio::test]
async fn failures_are_counted_by_their_reason() {
    let (_switch, payer, payee) = world(false).await;
    payee.set_behaviour(
        serde_json::from_value(json!({ "transfer": { "refuse": "100%" } })).expect("a behaviour"),
    );
    let settings = bench(Load::Closed { concurrency: 2 }, Extent::Payments(6));
    let result = bench::run(&settings, payments(&payer), Arc::default())
        .await
        .expect("a result");
    assert_eq!(result.payments, 0);
    assert!(result.failed >= 5);
    let reasons: Vec<&String> = result.failures.keys().collect();
    assert_eq!(reasons, ["transfer error-callback 5105"]);
    assert!(result.to_string().contains("transfer error-callback 5105"));
    let account = result.account;
    let failed: u64 = account.failed.values().sum();
    assert_eq!((account.committed, account.unended), (0, 0), "{account:?}");
    assert!(account.begun >= 6 && failed == account.begun, "{account:?}");
    assert_eq!(account.unpaid.len() as u64, failed, "{account:?}");
    for unpaid in account.unpaid {
        assert!(!unpaid.transfer_id.is_empty(), "{unpaid:?}");
        assert_eq!(unpaid.trace_id.len(), 32, "{unpaid:?}");
    }
}

#[tokio::test]
async fn a_benchmark_of_nothing_is_refused() {
    let (_switch, payer, _payee) = world(false).await;
    let good = bench(Load::Closed { concurrency: 1 }, Extent::Payments(1));
    let refused = async |settings: BenchSettings| {
        bench::run(&settings, payments(&payer), Arc::default())
            .await
            .expect_err("refused")
            .to_string()
    };
    let none = Payments::new(&[payer.url()], &[], Duration::from_secs(1));
    let none = none.expect_err("refused").to_string();
    assert!(none.contains("a payment"), "{none}");
    let idle = BenchSettings {
        load: Load::Open { per_second: 0 },
        ..good.clone()
    };
    assert!(refused(idle).await.contains("zero"));
    let gone = BenchSettings {
        processes: vec![("gone".to_owned(), u32::MAX)],
        ..good
    };
    let error = bench::run(&gone, payments(&payer), Arc::default())
        .await
        .expect_err("refused");
    assert!(matches!(error, BenchError::Process { .. }), "{error}");
}

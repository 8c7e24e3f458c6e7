//! Spans of a payment at a collector: a whole transfer in one trace. Log lines reach it too. An absent or silent collector
//! does not affect payments.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rialto_simulator::recorder::{Direction, Recorded};
use rialto_tests::office::Office;
use rialto_tests::scenes::committed;
use rialto_tests::waiting::until;
use rialto_tests::{TestScheme, World, WorldOptions};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Longer than any span takes to be exported.
const EXPORTED_WITHIN: Duration = Duration::from_secs(15);
/// Payments beside a collector that does not answer.
const PAYMENTS: usize = 20;

/// A program outside.
const PROGRAMS: &[(&str, &str)] = &[("switch", r#""context""#)];
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
/// The hub's messages in a payment: three requests and three answers.
const MESSAGES_OUT: usize = 6;

/// A span as it arrived.
#[derive(Clone, Debug)]
struct Span {
    trace: String,
    id: String,
    /// Empty for none.
    parent: String,
    name: String,
    kind: u64,
    attributes: BTreeMap<String, Value>,
}

impl Span {
    fn of(json: &Value) -> Self {
        let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
        Self {
            trace: text("traceId"),
            id: text("spanId"),
            parent: text("parentSpanId"),
            name: text("name"),
            kind: json["kind"].as_u64().unwrap(),
            attributes: attributes(json),
        }
    }

    fn text(&self, attribute: &str) -> &str {
        self.attributes
            .get(attribute)
            .and_then(|value| value["stringValue"].as_str())
            .unwrap_or_default()
    }

    fn is_turn_of(&self, component: &str) -> bool {
        !self.text("rialto.kind").is_empty() && self.text("rialto.component") == component
    }
}

pub(crate) fn attributes(of: &Value) -> BTreeMap<String, Value> {
    let all = of["attributes"].as_array().unwrap().iter();
    all.map(|a| (a["key"].as_str().unwrap().to_owned(), a["value"].clone()))
        .collect()
}

/// A collector that takes everything, unless it is away.
#[derive(Clone, Default)]
pub(crate) struct Collector {
    exports: Arc<Mutex<Vec<Value>>>,
    /// Exports of log records.
    logs: Arc<Mutex<Vec<Value>>>,
    is_away: Arc<AtomicBool>,
    /// A text that no accepted export has.
    refused: Arc<Mutex<Option<String>>>,
}

impl Collector {
    pub(crate) async fn start() -> (Self, SocketAddr) {
        let collector = Self::default();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = collector.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let collector = serving.clone();
                let service = service_fn(move |request| {
                    let collector = collector.clone();
                    async move {
                        if collector.is_away.load(Ordering::SeqCst) {
                            return Err(std::io::Error::other("nobody is here"));
                        }
                        Ok(collector.take(request).await)
                    }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        (collector, address)
    }

    /// Break each connection from now on, or answer again.
    pub(crate) fn goes_away(&self, is_away: bool) {
        self.is_away.store(is_away, Ordering::SeqCst);
    }

    /// Refuse for good each export that has this text.
    pub(crate) fn refuses(&self, text: &str) {
        *self.refused.lock().unwrap() = Some(text.to_owned());
    }

    async fn take(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let exports = match request.uri().path() {
            "/v1/traces" => &self.exports,
            "/v1/logs" => &self.logs,
            other => panic!("{other} is no path of the protocol"),
        };
        assert_eq!(request.headers()["content-type"], "application/json");
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let refused = self.refused.lock().unwrap().clone();
        let text = String::from_utf8_lossy(&body);
        if refused.is_some_and(|refused| text.contains(&refused)) {
            let mut answer = Response::default();
            *answer.status_mut() = StatusCode::BAD_REQUEST;
            return answer;
        }
        let export = serde_json::from_slice(&body).unwrap();
        exports.lock().unwrap().push(export);
        Response::new(Full::new(Bytes::from_static(b"{}")))
    }

    /// All spans so far, as they came.
    pub(crate) fn spans(&self) -> String {
        Value::from(self.exports.lock().unwrap().clone()).to_string()
    }

    /// All log records so far.
    pub(crate) fn log_records(&self) -> Vec<Value> {
        let logs = self.logs.lock().unwrap();
        let resources = logs.iter().flat_map(|export| list(export, "resourceLogs"));
        let scopes = resources.flat_map(|resource| list(resource, "scopeLogs"));
        scopes
            .flat_map(|scope| list(scope, "logRecords").clone())
            .collect()
    }

    /// All spans of a trace so far.
    fn trace(&self, trace: &str) -> Vec<Span> {
        let exports = self.exports.lock().unwrap();
        let resources = exports.iter().flat_map(|e| list(e, "resourceSpans"));
        let mut spans = Vec::new();
        for resource in resources {
            let service = attributes(&resource["resource"])["service.name"].clone();
            assert_eq!(service["stringValue"], "hub-under-test");
            for scope in list(resource, "scopeSpans") {
                spans.extend(list(scope, "spans").iter().map(Span::of));
            }
        }
        spans.retain(|span| span.trace == trace);
        spans
    }
}

fn list<'v>(of: &'v Value, key: &str) -> &'v Vec<Value> {
    of[key].as_array().unwrap()
}

/// The demonstration scheme, with a collector at this address.
async fn world(collector: SocketAddr) -> World {
    let scheme = TestScheme::demo().unwrap();
    scheme.add_operators(PROGRAMS).unwrap();
    let path = scheme.path().join("rialto.toml");
    let mut text = fs::read_to_string(&path).unwrap();
    text += &format!(
        "\n[telemetry]\nendpoint = \"http://{collector}\"\nservice-name = \"hub-under-test\"\nlogs = true\n"
    );
    fs::write(&path, text).unwrap();
    World::of(scheme, &WorldOptions::default()).await.unwrap()
}

/// The one message of an FSP that went this way with this method and path.
fn message(all: &[Recorded], way: Direction, method: &str, path: &str) -> Recorded {
    let mut found = all
        .iter()
        .filter(|m| m.direction == way && m.method.as_str() == method && m.path == path);
    let first = found.next().unwrap().clone();
    assert!(found.next().is_none(), "{method} {path} once");
    first
}

/// Trace id, span id and flags.
fn context(message: &Recorded) -> (String, String, String) {
    let mut parts = message.header("traceparent").split('-').skip(1);
    let mut part = || parts.next().unwrap().to_owned();
    (part(), part(), part())
}

/// How many of these spans stand for messages that went out and have the turn of their report.
fn reported(spans: &[Span]) -> usize {
    let out = spans.iter().filter(|span| span.kind == 3);
    out.filter(|out| {
        let mut children = spans.iter().filter(|span| span.parent == out.id);
        children.any(|span| span.text("rialto.kind") == "report")
    })
    .count()
}

/// Spans of the host's own making whose cause is not there. Requests from the outside have theirs with
/// the FSPs.
fn orphans(spans: &[Span]) -> Vec<&Span> {
    let known: HashSet<&str> = spans.iter().map(|span| span.id.as_str()).collect();
    let orphan = |span: &&Span| span.kind != 2 && !known.contains(span.parent.as_str());
    spans.iter().filter(orphan).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payment_is_one_trace_from_request_to_report() {
    let (collector, address) = Collector::start().await;
    let world = world(address).await;
    let outcome = world.pay("12.5", "USD").await;
    committed(&outcome).unwrap();
    world.settled_books().await.unwrap();
    let one = format!("/transfers/{}", outcome.transfer_id);
    let (payer, payee) = (
        world.payer().recorder().messages(),
        world.payee().recorder().messages(),
    );
    let prepare = context(&message(&payer, Direction::Out, "POST", "/transfers"));
    let prepare_in = context(&message(&payee, Direction::In, "POST", "/transfers"));
    let fulfil = context(&message(&payee, Direction::Out, "PUT", &one));
    let fulfil_in = context(&message(&payer, Direction::In, "PUT", &one));
    for other in [&prepare_in, &fulfil, &fulfil_in] {
        assert_eq!(other.0, prepare.0, "one trace");
        assert_eq!(other.2, "01", "it is recorded");
    }

    let spans = until("all reports", EXPORTED_WITHIN, async || {
        let spans = collector.trace(&prepare.0);
        let (reported, orphans) = (reported(&spans), orphans(&spans));
        Ok(if (reported, orphans.len()) == (MESSAGES_OUT, 0) {
            Ok(spans)
        } else {
            Err(format!(
                "{reported} reports; without their cause {orphans:#?}"
            ))
        })
    })
    .await
    .unwrap();

    let by_id: HashMap<&str, &Span> = spans.iter().map(|s| (s.id.as_str(), s)).collect();
    assert_eq!(by_id.len(), spans.len(), "each span has an id of its own");
    let named = |name: &str| spans.iter().find(|s| s.name == name).unwrap();
    // What comes from an FSP hangs under the span that the FSP named.
    let (prepared, fulfilled) = (named("POST /transfers"), named("PUT /transfers/{ID}"));
    assert_eq!((prepared.kind, &prepared.parent), (2, &prepare.1));
    assert_eq!((fulfilled.kind, &fulfilled.parent), (2, &fulfil.1));
    // The way of the request to the payee, from its end to its beginning.
    let mut way = Vec::new();
    let mut at = by_id[prepare_in.1.as_str()];
    assert_eq!((at.kind, at.text("http.request.method")), (3, "POST"));
    while at.id != prepared.id {
        way.push(at.text("rialto.component"));
        at = by_id[at.parent.as_str()];
    }
    assert_eq!(
        way,
        [
            "notifications-and-alerts",
            "notifications-and-alerts",
            "fsp-interop-api",
            "transfers",
            "settlements",
            "fsp-interop-api",
        ]
    );
    assert_eq!(by_id[fulfil_in.1.as_str()].kind, 3);
    let turn = spans.iter().find(|s| s.is_turn_of("transfers")).unwrap();
    let subjects = turn.attributes["rialto.subjects"].to_string();
    assert!(subjects.contains(&outcome.transfer_id), "{subjects}");
    assert_eq!(turn.attributes["rialto.release"]["intValue"], "1");
    assert_eq!(turn.text("rialto.ended"), "executed");
    world.no_complaints().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn absent_or_silent_collector_slows_no_payment() {
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let silent_at = silent.local_addr().unwrap();
    // It takes each connection, and says nothing.
    let asked = Arc::new(Mutex::new(Vec::new()));
    let hearing = asked.clone();
    tokio::spawn(async move {
        while let Ok((connection, _)) = silent.accept().await {
            hearing.lock().unwrap().push(connection);
        }
    });
    let away = {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        listener.local_addr().unwrap()
    };
    for collector in [silent_at, away] {
        let world = world(collector).await;
        for _ in 0..PAYMENTS {
            committed(&world.pay("1", "USD").await).unwrap();
        }
        if collector == silent_at {
            // A payment that waited for the collector would have waited until the exporter gave up and
            // asked again, each for itself.
            until("the collector is asked", EXPORTED_WITHIN, async || {
                let asked = asked.lock().unwrap().len();
                Ok((asked > 0).then_some(()).ok_or("never".to_owned()))
            })
            .await
            .unwrap();
            let asked = asked.lock().unwrap().len();
            assert!(asked < PAYMENTS, "asked {asked} times");
        }
        let books = world.settled_books().await.unwrap();
        assert_eq!(books.problems().unwrap(), Vec::<String>::new());
        world.no_complaints().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_lines_of_host_components_and_programs_reach_the_collector() {
    let (collector, address) = Collector::start().await;
    let world = world(address).await;
    let office = Office::of(&world.scheme, &world.host, &["switch"]).unwrap();
    let entry = json!({
        "level": "WARN", "message": "the queue of cards is long", "about": "card:1", "trace": TRACE, "at": 1_700_000_000_000_u64,
    });
    let long = format!("{}é", "x".repeat(2_000));
    let entries = [
        json!({ "level": "DEBUG", "message": "only for the log" }),
        json!({ "level": "INFO", "message": long }),
        entry,
    ];
    let body = json!({ "entries": entries });
    let said = office.post("switch", "/log-read-build-log", &body).await;
    let said = said.unwrap();
    assert_eq!(said.status, 201, "{said:?}");
    let find = |text: &str| {
        let records = collector.log_records();
        let mut found = records.into_iter().filter(|record| {
            let body = record["body"]["stringValue"].as_str().unwrap();
            body.contains(text)
        });
        found.next()
    };
    let wanted = [
        "THIS IS A SANDBOX",
        "participant payerfsp created",
        "the queue of cards is long",
    ];
    let [of_host, of_component, of_program] = wanted;
    until("all lines", EXPORTED_WITHIN, async || {
        let missing: Vec<&str> = wanted
            .into_iter()
            .filter(|text| find(text).is_none())
            .collect();
        Ok(missing.is_empty().then_some(()).ok_or(missing.join(", ")))
    })
    .await
    .unwrap();
    let of_host = find(of_host).unwrap();
    assert_eq!(
        (&of_host["severityText"], &of_host["severityNumber"]),
        (&"WARN".into(), &13.into())
    );
    assert_eq!(
        attributes(&of_host)["rialto.target"]["stringValue"],
        "rialto::starting"
    );
    let of_component = find(of_component).unwrap();
    assert_eq!(of_component["severityText"], "INFO");
    assert_eq!(
        attributes(&of_component)["rialto.component"]["stringValue"],
        "participant-lifecycle-management"
    );
    assert_eq!(of_component["traceId"].as_str().unwrap().len(), 32);
    let of_program = find(of_program).unwrap();
    assert_eq!(
        [&of_program["severityText"], &of_program["traceId"]],
        ["WARN", TRACE]
    );
    let told = attributes(&of_program);
    assert_eq!(told["writer"]["stringValue"], "switch");
    assert_eq!(told["about"]["stringValue"], "card:1");
    assert_eq!(told["written_at"]["intValue"], "1700000000000");
    // Those before it: none below `info`, and a long one is cut.
    assert!(find("only for the log").is_none());
    let cut = find("xxxx").unwrap();
    let cut = cut["body"]["stringValue"].as_str().unwrap();
    assert_eq!(cut, "x".repeat(1_024));
    // The host's own log has no lines of programs.
    assert!(!world.host.log().contains("the queue of cards"));
}

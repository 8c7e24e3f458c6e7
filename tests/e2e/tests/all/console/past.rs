//! Figures of longer ago, from a Prometheus that the operator's document names.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rialto_tests::office::Office;
use rialto_tests::{TestScheme, World, WorldOptions};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{PEOPLE, Scene};

/// Answers as Prometheus does, and keeps what it was asked.
#[derive(Clone, Default)]
struct Prometheus {
    asked: Arc<Mutex<Vec<String>>>,
    fails: Arc<Mutex<bool>>,
}

/// The value of a form's member.
fn member(form: &str, name: &str) -> String {
    let mut pairs = form.split('&').filter_map(|pair| pair.split_once('='));
    let found = pairs.find(|(known, _)| *known == name).unwrap();
    let mut parts = found.1.split('%');
    let mut text = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        text.push(u8::from_str_radix(&part[..2], 16).unwrap());
        text.extend(&part.as_bytes()[2..]);
    }
    String::from_utf8(text).unwrap()
}

impl Prometheus {
    async fn start() -> (Self, SocketAddr) {
        let prometheus = Self::default();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = prometheus.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let prometheus = serving.clone();
                let service = service_fn(move |request| {
                    let prometheus = prometheus.clone();
                    async move { Ok::<_, std::io::Error>(prometheus.answer(request).await) }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        (prometheus, address)
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        assert_eq!(request.method(), "POST");
        assert_eq!(request.uri().path(), "/prometheus/api/v1/query_range");
        assert!(request.headers().get("authorization").is_none());
        let form = request.into_body().collect().await.unwrap().to_bytes();
        let form = String::from_utf8(form.to_vec()).unwrap();
        let query = member(&form, "query");
        let [start, end, step] =
            ["start", "end", "step"].map(|name| member(&form, name).parse::<u64>().unwrap());
        self.asked.lock().unwrap().push(query.clone());
        if *self.fails.lock().unwrap() {
            let mut answer = Response::new(Full::new(Bytes::from_static(b"no")));
            *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            return answer;
        }
        let values = |value: &str| -> Value {
            let all = (start..=end).step_by(usize::try_from(step).unwrap());
            all.map(|at| json!([at, value])).collect()
        };
        let result = if query.contains("http_requests_total") {
            let metric = json!({ "operation": "fulfilTransfer", "status": "200" });
            json!([{ "metric": metric, "values": values("42.5") }])
        } else if query.contains("__name__") {
            json!([
                { "metric": { "__name__": "rialto_circuits_open" }, "values": values("3") },
                { "metric": { "__name__": "another_system" }, "values": values("1") },
            ])
        } else {
            json!([])
        };
        let data = json!({ "resultType": "matrix", "result": result });
        let body = json!({ "status": "success", "data": data }).to_string();
        Response::new(Full::new(Bytes::from(body)))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn longer_ago_is_from_prometheus_by_fixed_queries() {
    let (prometheus, address) = Prometheus::start().await;
    let scheme = TestScheme::demo().unwrap();
    scheme.add_operators(&PEOPLE).unwrap();
    let table =
        format!("[console]\nprometheus = \"http://{address}/prometheus\"\njob = \"the-hub\"\n");
    scheme.add_host_settings(&table).unwrap();
    let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    let names: Vec<&str> = PEOPLE.iter().map(|(name, _)| *name).collect();
    let office = Office::of(&world.scheme, &world.host, &names).unwrap();
    let scene = Scene { world, office };
    let past = scene
        .office
        .get("rita", "/live/past?hours=24&points=48")
        .await
        .unwrap();
    assert_eq!(
        (&past["from"], &past["longer"]),
        (&json!("prometheus"), &json!(true))
    );
    assert_eq!(past["at"].as_array().unwrap().len(), 48, "{past}");
    assert_eq!(past["everyMs"], 1_800_000);
    let series = past["series"].as_array().unwrap();
    let named: Vec<&str> = series
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        named,
        ["circuits_open", "requests"],
        "and of no other system"
    );
    assert!(
        series[1]["values"]
            .as_array()
            .unwrap()
            .iter()
            .all(|value| *value == 42.5)
    );
    let asked = prometheus.asked.lock().unwrap().clone();
    assert!(
        asked.iter().all(|query| query.contains("job=\"the-hub\"")),
        "{asked:?}"
    );
    assert!(
        asked.iter().all(|query| query.contains("rialto_")),
        "{asked:?}"
    );

    let desk = scene.signed_in("rita").await;
    desk.press("main", "24 hours").await;
    // Nobody has paid: only Prometheus knows of payments.
    desk.has(".charts section:first-child path.curve[d^='M']")
        .await;
    *prometheus.fails.lock().unwrap() = true;
    let refused = scene
        .office
        .send("rita", "GET", "/live/past?hours=24", &[], &Value::Null)
        .await;
    let refused = refused.unwrap();
    assert_eq!(
        (refused.status, refused.problem()),
        (503, "past-away"),
        "{refused:?}"
    );
    let near = scene
        .office
        .get("rita", "/live/past?hours=2")
        .await
        .unwrap();
    assert_eq!(near["from"], "memory", "the host's own memory is there");
    desk.press("main", "7 days").await;
    desk.shows("answered 503").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_prometheus_longer_ago_is_not_offered() {
    let scene = Scene::begin().await;
    let refused = scene
        .office
        .send("rita", "GET", "/live/past?hours=24", &[], &Value::Null)
        .await;
    let refused = refused.unwrap();
    assert_eq!(
        (refused.status, refused.problem()),
        (404, "past-not-kept"),
        "{refused:?}"
    );
    let desk = scene.signed_in("rita").await;
    desk.shows("as of ").await;
    let buttons = desk.buttons().await;
    assert!(buttons.contains(&"2 hours".to_owned()), "{buttons:?}");
    assert!(!buttons.contains(&"24 hours".to_owned()), "{buttons:?}");
}

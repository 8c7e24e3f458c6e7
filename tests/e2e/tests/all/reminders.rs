//! Reminders of programs outside: HTTP callbacks, their failures, whose they are, and a restart.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use http_body_util::{BodyExt as _, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rialto_tests::office::{Office, Said};
use rialto_tests::waiting::until;
use rialto_tests::{RunningHost, TestScheme};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(30);
const PEOPLE: &[(&str, &str)] = &[
    ("anna", r#""reader""#),
    ("switch", r#""context""#),
    ("till", r#""context""#),
];
const NAMES: &[&str] = &["anna", "switch", "till"];

/// A receiver of callbacks. `/fails` is answered 500, and all else 204.
#[derive(Clone, Default)]
struct Receiver {
    got: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Receiver {
    async fn start() -> (Self, SocketAddr) {
        let receiver = Self::default();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = receiver.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let receiver = serving.clone();
                let service = service_fn(move |request| {
                    let receiver = receiver.clone();
                    async move { Ok::<_, Infallible>(receiver.take(request).await) }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        (receiver, address)
    }

    async fn take(&self, request: Request<Incoming>) -> Response<Empty<Bytes>> {
        let path = request.uri().path().to_owned();
        let key = request.headers()["idempotency-key"].to_str().unwrap();
        let key = key.to_owned();
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap();
        let of_body = format!("{}/{}", body["id"].as_str().unwrap(), body["due"]);
        assert_eq!(key, of_body);
        self.got.lock().unwrap().push((path.clone(), body));
        let status = if path == "/fails" { 500 } else { 204 };
        let answer = Response::builder().status(status);
        answer.body(Empty::new()).unwrap()
    }

    fn at(&self, path: &str) -> Vec<Value> {
        let got = self.got.lock().unwrap();
        let here = got.iter().filter(|(to, _)| to == path);
        here.map(|(_, body)| body.clone()).collect()
    }
}

fn in_ms(millis: u64) -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    u64::try_from(now.unwrap().as_millis()).unwrap() + millis
}

async fn ask(office: &Office, who: &str, method: &str, path: &str) -> Said {
    let said = office.send(who, method, path, &[], &Value::Null).await;
    said.unwrap()
}

async fn create(office: &Office, who: &str, wanted: &Value) -> Said {
    office.post(who, "/reminders", wanted).await.unwrap()
}

/// Wait until a reminder of `switch` is in a state.
async fn reaches(office: &Office, id: &str, state: &str) -> Value {
    let path = format!("/reminders/{id}");
    let reached = until("the reminder's state", SOON, async || {
        let shown = office.get("switch", &path).await?;
        Ok((shown["state"] == state)
            .then(|| shown.clone())
            .ok_or(shown.to_string()))
    });
    reached.await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn callbacks_arrive_once_and_failing_ones_are_given_up() {
    let (receiver, address) = Receiver::start().await;
    let scheme = TestScheme::demo().unwrap();
    scheme.add_operators(PEOPLE).unwrap();
    let host = RunningHost::start(&scheme).unwrap();
    let office = Office::of(&scheme, &host, NAMES).unwrap();

    let due = in_ms(300);
    let good = json!({ "id": "good", "at": due, "transport": "HTTP_POST",
        "url": format!("http://{address}/works"), "payload": "{\"close\":1}" });
    let said = create(&office, "switch", &good).await;
    assert_eq!(said.status, 201, "{said:?}");
    assert_eq!(said.headers["location"], "/reminders/good");
    let bad = json!({ "id": "bad", "at": in_ms(300), "transport": "HTTP_POST",
        "url": format!("http://{address}/fails"), "recovery": { "attempts": 2, "pauseMs": 100 },
        "alert": true });
    assert_eq!(create(&office, "switch", &bad).await.status, 201);
    let shown = reaches(&office, "good", "ELAPSED").await;
    assert_eq!(shown["lastRun"]["outcome"], "DELIVERED");
    let expected = json!({ "id": "good", "due": due, "payload": "{\"close\":1}" });
    assert_eq!(receiver.at("/works"), [expected]);

    let shown = reaches(&office, "bad", "GIVEN_UP").await;
    assert_eq!(shown["lastRun"]["attempts"], 2);
    assert_eq!(receiver.at("/fails").len(), 2);
    let told = until("the notice", SOON, async || {
        let notices = office.get("anna", "/notices?audience=operators").await?;
        let items = notices["items"].as_array().cloned().unwrap_or_default();
        let mut of_it = items.into_iter().filter(|n| n["kind"] == "reminder");
        Ok(of_it.next().ok_or(notices.to_string()))
    });
    let notice = told.await.unwrap();
    assert_eq!(notice["reminder"], "program:switch/bad");

    let said = ask(&office, "switch", "DELETE", "/reminders/good").await;
    assert_eq!((said.status, said.problem()), (409, "reminder-elapsed"));
    let said = create(&office, "switch", &good).await;
    assert_eq!(said.status, 400, "its time is past: {said:?}");
    let mut again = good.clone();
    again["at"] = in_ms(3_600_000).into();
    let said = create(&office, "switch", &again).await;
    assert_eq!((said.status, said.problem()), (409, "reminder-exists"));
    let mut elsewhere = again.clone();
    elsewhere["id"] = "elsewhere".into();
    elsewhere["url"] = "http://169.254.169.254/latest".into();
    let said = create(&office, "switch", &elsewhere).await;
    assert_eq!(said.status, 400, "{said:?}");
    assert!(said.body["detail"].as_str().unwrap().contains("`outbound`"));
}

#[tokio::test(flavor = "multi_thread")]
async fn reminders_are_their_clients_and_survive_a_restart() {
    let (receiver, address) = Receiver::start().await;
    let scheme = TestScheme::demo().unwrap();
    scheme.add_operators(PEOPLE).unwrap();
    let mut host = RunningHost::start(&scheme).unwrap();
    let office = Office::of(&scheme, &host, NAMES).unwrap();
    let daily = json!({ "id": "daily", "cron": "0 3 * * *", "payload": "p" });
    let said = create(&office, "switch", &daily).await;
    assert_eq!(said.status, 201, "{said:?}");
    let next = said.body["nextAt"].clone();
    let bad_cron = json!({ "cron": "0 3 * * * *" });
    assert_eq!(create(&office, "switch", &bad_cron).await.status, 400);
    let soon = json!({ "id": "soon", "at": in_ms(1_500), "transport": "HTTP_POST",
        "url": format!("http://{address}/works") });
    assert_eq!(create(&office, "switch", &soon).await.status, 201);

    // Another program neither sees nor deletes it.
    for method in ["GET", "DELETE"] {
        let said = ask(&office, "till", method, "/reminders/daily").await;
        assert_eq!((said.status, said.problem()), (404, "reminder-unknown"));
    }
    let none = office.get("till", "/reminders").await.unwrap();
    assert_eq!(none["items"], json!([]));
    let said = ask(&office, "anna", "DELETE", "/reminders/daily").await;
    assert_eq!(said.status, 403, "{said:?}");
    let all = office.get("anna", "/reminders").await.unwrap();
    assert_eq!(all["items"].as_array().unwrap().len(), 2, "{all}");

    host.restart().unwrap();
    let office = Office::of(&scheme, &host, NAMES).unwrap();
    reaches(&office, "soon", "ELAPSED").await;
    // The host may have been killed after the answer, before it had noted it. Then it has sent the callback again.
    let got = receiver.at("/works");
    assert!(
        !got.is_empty() && got.iter().all(|body| *body == got[0]),
        "{got:?}"
    );
    let shown = office.get("switch", "/reminders/daily").await.unwrap();
    assert_eq!(shown["nextAt"], next);
    let said = ask(&office, "switch", "DELETE", "/reminders/daily").await;
    assert_eq!(said.status, 204, "{said:?}");
    let said = ask(&office, "switch", "GET", "/reminders/daily").await;
    assert_eq!(said.status, 404, "{said:?}");
}

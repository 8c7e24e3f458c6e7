//! What happens, as it happens: the stream, who may read it and how long, and the figures of the time before.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::time::{Duration, Instant};

use rialto_simulator::fsp::Step;
use rialto_tests::measured::measured;
use rialto_tests::office::Office;
use rialto_tests::scenes::{committed, refused};
use rialto_tests::waiting::until;
use rialto_tests::{TestScheme, World, WorldOptions};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::TcpStream;

use super::{Desk, PEOPLE, SOON, Scene};

/// As the console opens it.
const STREAM: &str = "/live?documents=transfers/transfers";
/// Streams of one person at a time.
const OF_ONE_PERSON: usize = 16;

/// A stream of events.
pub(crate) struct Stream {
    lines: Lines<BufReader<TcpStream>>,
    /// The status of the answer.
    pub status: u16,
}

impl Stream {
    /// Open one, with this header of who asks. By HTTP/1.0, an answer has no chunks.
    pub async fn open(origin: &str, path: &str, shown: &str) -> Self {
        let address = origin.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!("GET {path} HTTP/1.0\r\nhost: {address}\r\n{shown}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut lines = BufReader::new(stream).lines();
        let first = lines.next_line().await.unwrap().unwrap();
        let status = first.split(' ').nth(1).unwrap().parse().unwrap();
        while !lines.next_line().await.unwrap().unwrap().is_empty() {}
        Self { lines, status }
    }

    /// The data of the next event of this kind; none if the stream ends before.
    pub async fn next(&mut self, kind: &str) -> Option<Value> {
        let reading = async {
            let mut event = String::new();
            while let Some(line) = self.lines.next_line().await.unwrap() {
                if let Some(named) = line.strip_prefix("event: ") {
                    event = named.to_owned();
                } else if let Some(data) = line.strip_prefix("data: ")
                    && event == kind
                {
                    return Some(serde_json::from_str(data).unwrap());
                }
            }
            None
        };
        tokio::time::timeout(SOON, reading)
            .await
            .unwrap_or_else(|_| panic!("no event `{kind}` within {SOON:?}"))
    }
}

impl Scene {
    async fn stream(&self, who: &str) -> Stream {
        self.stream_with(&self.token(who)).await
    }

    async fn stream_with(&self, token: &str) -> Stream {
        let shown = format!("authorization: Bearer {token}");
        Stream::open(&self.url(""), STREAM, &shown).await
    }
}

/// A figure of an event, by its name and labels.
fn figure(event: &Value, name: &str, labels: &Value) -> Option<f64> {
    let mut all = event["figures"].as_array().unwrap().iter();
    let found = all.find(|one| one["name"] == name && &one["labels"] == labels)?;
    found["value"].as_f64()
}

/// Wait until a stream has told that a transfer is in a state.
async fn told(stream: &mut Stream, id: &str, state: &str) {
    let started = Instant::now();
    loop {
        assert!(started.elapsed() < SOON, "{id} is not told as {state}");
        let told = stream.next("documents").await.unwrap();
        assert_eq!(told["component"], "transfers");
        let documents = told["documents"].as_array().unwrap();
        assert!(documents.len() <= 20, "{told}");
        let is_it = |body: &Value| body["transferId"] == id && body["state"] == state;
        if documents.iter().any(|one| is_it(&one["body"])) {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_tells_documents_figures_and_health() {
    let scene = Scene::begin().await;
    let mut stream = scene.stream("rita").await;
    assert_eq!(stream.status, 200);
    let health = stream.next("health").await.unwrap();
    assert_eq!(health["ready"], true, "{health}");
    // Figures are of what has happened since the last ones.
    stream.next("figures").await.unwrap();
    let payment = scene.world.pay("12.5", "USD").await;
    committed(&payment).unwrap();
    told(&mut stream, &payment.transfer_id, "COMMITTED").await;
    refused(&scene.world.pay("10001", "USD").await, Step::Quote, "4200").unwrap();
    let labels = json!({ "operation": "requestQuote", "status": "202" });
    let started = Instant::now();
    loop {
        assert!(started.elapsed() < SOON, "no figure of requests for quotes");
        let told = stream.next("figures").await.unwrap();
        assert!(
            figure(&told, "disk_free_bytes", &Value::Null) > Some(0.0),
            "{told}"
        );
        assert_eq!(figure(&told, "live_streams", &Value::Null), Some(1.0));
        if figure(&told, "requests", &labels) > Some(0.0) {
            let labels = json!({ "operation": "requestQuote" });
            let (p50, p99) = (figure(&told, "p50", &labels), figure(&told, "p99", &labels));
            assert!(p50 > Some(0.0) && p50 <= p99, "{told}");
            break;
        }
    }
    let metrics = scene.office.page("rita", "/metrics").await.unwrap();
    let refusals = metrics.lines().find(|line| {
        line.starts_with("rialto_rule_verdicts_total{")
            && line.contains("verdict=\"refuse\"")
            && line.contains("code=\"4200\"")
            && line.contains("rule=\"amount-limits\"")
    });
    assert!(
        refusals.is_some_and(|line| line.ends_with("} 1")),
        "{metrics}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_is_for_readers_and_few_of_one_person() {
    let scheme = TestScheme::demo().unwrap();
    let people = [PEOPLE[2], ("mara", r#""maker""#), ("ron", r#""reader""#)];
    scheme.add_operators(&people).unwrap();
    let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    let names: Vec<&str> = people.iter().map(|(name, _)| *name).collect();
    let office = Office::of(&world.scheme, &world.host, &names).unwrap();
    let scene = Scene { world, office };
    let without = Stream::open(&scene.url(""), STREAM, "accept: */*").await;
    assert_eq!(without.status, 401);
    assert_eq!(scene.stream("mara").await.status, 403);
    let rita = format!("authorization: Bearer {}", scene.token("rita"));
    for path in [
        "/live?documents=transfers",
        "/live?documents=a/1,a/2,a/3,a/4,a/5",
        "/live/past?hours=0",
        "/live/past?hours=9999",
        "/live/past?points=0",
    ] {
        let wrong = Stream::open(&scene.url(""), path, &rita).await;
        assert_eq!(wrong.status, 400, "{path}");
    }
    let mut open = Vec::new();
    for _ in 0..OF_ONE_PERSON {
        open.push(scene.stream("rita").await);
    }
    assert!(open.iter().all(|stream| stream.status == 200));
    assert_eq!(scene.stream("rita").await.status, 429);
    assert_eq!(scene.stream("ron").await.status, 200, "another person");
    open.pop();
    let again = async || {
        let status = scene.stream("rita").await.status;
        Ok(if status == 200 {
            Ok(())
        } else {
            Err(status.to_string())
        })
    };
    until("a place is free again", SOON, again).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_ends_with_its_token_and_with_the_host() {
    let mut scene = Scene::begin().await;
    let wanted = json!({ "label": "a", "roles": ["reader"] });
    let made = scene.office.post("rita", "/tokens", &wanted).await.unwrap();
    let (token, id) = (made.body["token"].as_str(), made.body["id"].as_str());
    let (token, id) = (token.unwrap_or_else(|| panic!("{made:?}")), id.unwrap());
    let mut of_token = scene.stream_with(token).await;
    let mut of_file = scene.stream("rita").await;
    of_token.next("health").await.unwrap();
    of_file.next("health").await.unwrap();
    let path = format!("/tokens/{id}");
    let ended = scene
        .office
        .send("rita", "DELETE", &path, &[], &Value::Null)
        .await;
    assert_eq!(ended.unwrap().status, 204);
    let end = of_token.next("end").await;
    assert_eq!(end, Some(json!({ "why": "unauthorized" })));
    assert_eq!(of_token.next("figures").await, None, "it is over");
    assert!(of_file.next("figures").await.is_some(), "the other goes on");
    scene.world.host.stop().unwrap();
    assert_eq!(
        of_file.next("end").await,
        Some(json!({ "why": "stopping" }))
    );
    assert_eq!(of_file.next("figures").await, None);
}

/// The points of a figure that the host remembers.
async fn points(scene: &Scene, name: &str, operation: &str) -> Vec<f64> {
    let past = scene
        .office
        .get("rita", "/live/past?points=1440")
        .await
        .unwrap();
    let series = past["series"].as_array().unwrap().iter();
    let found = series.filter(|one| one["name"] == name && one["labels"]["operation"] == operation);
    let values = found.flat_map(|one| one["values"].as_array().unwrap());
    values.filter_map(Value::as_f64).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn live_has_the_time_before_it_was_opened_and_transfers_as_they_come() {
    let scene = Scene::begin().await;
    committed(&scene.world.pay("12.5", "USD").await).unwrap();
    let remembered = async || {
        let all = points(&scene, "requests", "requestTransfer").await;
        let is_there = all.len() > 1 && all.iter().any(|value| *value > 0.0);
        Ok(if is_there {
            Ok(())
        } else {
            Err(format!("{all:?}"))
        })
    };
    until("the host remembers a transfer", SOON, remembered)
        .await
        .unwrap();
    let desk = scene.signed_in("rita").await;
    desk.has(".charts svg path.curve[d^='M']").await;
    desk.shows("12.50 USD").await;
    let now = desk.0.value("performance.now()").await;
    committed(&scene.world.pay("7.77", "USD").await).unwrap();
    desk.shows("7.77 USD").await;
    let asked = format!(
        "performance.getEntriesByType('resource').filter(e => e.name.includes('/transfers?') && e.startTime > {now}).length"
    );
    assert_eq!(desk.0.value(&asked).await, 0, "the stream told it");
    desk.press("main", "Hold").await;
    desk.shows("new ones are not shown").await;
    let mut stream = scene.stream("rita").await;
    let payment = scene.world.pay("8.88", "USD").await;
    committed(&payment).unwrap();
    told(&mut stream, &payment.transfer_id, "COMMITTED").await;
    assert!(!desk.text().await.contains("8.88 USD"));
    desk.press("main", "Go on").await;
    desk.shows("8.88 USD").await;
    desk.press("main", "15 minutes").await;
    desk.has("button[aria-pressed=true]").await;
    // A payment that a rule has refused is told by rule and code.
    refused(&scene.world.pay("10001", "USD").await, Step::Quote, "4200").unwrap();
    desk.has("[aria-label='Refusals by rule and code'] code")
        .await;
    assert_eq!(desk.0.complaints().await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn host_that_is_gone_is_said_and_found_again() {
    let mut scene = Scene::begin().await;
    let desk = scene.signed_in("rita").await;
    desk.shows("as of ").await;
    scene.world.host.stop().unwrap();
    desk.shows("the host has not answered since").await;
    scene.world.host.restart().unwrap();
    let found = async || {
        let text = desk.text().await;
        let is_gone = text.contains("has not answered since");
        Ok(if is_gone { Err(text) } else { Ok(()) })
    };
    until("the page has found the host again", SOON, found)
        .await
        .unwrap();
}

/// Longer than the time that a browser takes to draw the page.
const LOAD: Duration = Duration::from_secs(8);

#[tokio::test(flavor = "multi_thread")]
async fn time_to_first_useful_paint_under_load_is_printed() {
    use rialto_simulator::bench::{self, BenchSettings, Extent, Load, Payments, Progress};
    /// Payments begun in a second.
    const PER_SECOND: u32 = 300;
    let scene = Scene::begin().await;
    let settings = BenchSettings {
        load: Load::Open {
            per_second: PER_SECOND,
        },
        warm_up: Duration::ZERO,
        extent: Extent::For(LOAD),
        ..BenchSettings::default()
    };
    let payer = scene.world.payer().url();
    let payments = [scene.world.request("1", "USD")];
    let payments = Payments::new(&[payer], &payments, settings.timeout).unwrap();
    let progress = std::sync::Arc::new(Progress::default());
    let payments = std::sync::Arc::new(payments);
    let load = tokio::spawn(async move { bench::run(&settings, payments, progress).await });
    let desk = Desk(crate::webdriver::Chromium::start(&scene.url("/console")).await);
    desk.0.resize(1280, 900).await;
    desk.shows("Sign in").await;
    desk.0
        .write("input[name=token]", &scene.token("rita"))
        .await;
    // Useful: the last transfers are there, and the figures.
    let script = "const done = arguments[arguments.length - 1]; const began = performance.now(); \
         document.querySelector('button[type=submit]').click(); \
         const look = () => { \
           const rows = document.querySelectorAll('.steady tbody tr').length > 0; \
           const checks = document.querySelector('.checks li') !== null; \
           if (rows && checks) done(performance.now() - began); else requestAnimationFrame(look); \
         }; look();";
    let took = desk.0.value_later(script).await;
    let took = took.as_f64().unwrap();
    let result = load.await.unwrap().unwrap();
    measured(format_args!(
        "the first useful paint of Live took {took:.0} ms, at {:.0} of {PER_SECOND} payments a second",
        result.payments_per_second
    ));
    assert!(result.payments > 0);
}

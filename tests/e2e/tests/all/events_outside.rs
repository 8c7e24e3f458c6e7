//! Events for programs outside, at a real NATS server: they arrive once, in order and without a gap; NATS may be away, full or
//! lose all its data, and payments go on.

mod nats;

use std::collections::BTreeSet;
use std::time::Duration;

use nats::{Message, Nats};
use rialto_tests::metrics::Metrics;
use rialto_tests::scenes::committed;
use rialto_tests::waiting::until;
use rialto_tests::{RunningHost, TestScheme, World, WorldOptions};
use serde_json::{Value, json};

/// Longer than any event takes to arrive, the host's longest pause included.
const SOON: Duration = Duration::from_secs(90);
/// The stream that the host makes.
const STREAM: &str = "RIALTO";
/// The last event of a payment.
const COMMITTED: &str = "rialto.0.transfers.transfer-committed-fulfiled";

/// The scheme, whose host sends events of transfers.
fn scheme(nats: &Nats, more: &str) -> TestScheme {
    let scheme = TestScheme::demo().unwrap();
    let settings = format!(
        r#"
[events.publish]
nats = "{}"
subjects = ["transfer"]
{more}

[events.publish.events]
"transfers/*" = ["transfer-id"]
"transfers/transfer-committed-fulfiled" = ["transfer-id", "amount"]
"quoting/quote-response-accepted" = []
"#,
        nats.url()
    );
    scheme.add_host_settings(&settings).unwrap();
    scheme
}

async fn world(nats: &Nats) -> World {
    World::of(scheme(nats, ""), &WorldOptions::default())
        .await
        .unwrap()
}

/// A payment, and its id.
async fn paid(world: &World) -> String {
    let outcome = world.pay("1", "USD").await;
    committed(&outcome).unwrap();
    outcome.transfer_id
}

/// The events at a server, without the one with which the log begins.
fn events(nats: &Nats) -> Vec<Message> {
    let all = nats.messages(STREAM).into_iter();
    all.filter(|message| message.number() > 0).collect()
}

/// Wait until these payments' last events are there. Returns all messages.
async fn arrived(nats: &Nats, transfers: &[String]) -> Vec<Message> {
    until("the events of the payments", SOON, async || {
        let all = events(nats);
        let missing = transfers.iter().find(|transfer| {
            let is_it = |m: &&Message| m.subject == COMMITTED && m.data.contains(*transfer);
            !all.iter().any(|message| is_it(&message))
        });
        Ok(match missing {
            None => Ok(all),
            Some(id) => Err(format!("{id} is not among {} messages", all.len())),
        })
    })
    .await
    .unwrap()
}

/// The numbers of messages, in their order.
fn numbers(all: &[Message]) -> Vec<u64> {
    all.iter().map(Message::number).collect()
}

/// Assert that numbers count up from 1 without a gap and without a repetition.
fn assert_gapless(all: &[Message]) {
    let wanted: Vec<u64> = (1..).take(all.len()).collect();
    assert_eq!(numbers(all), wanted);
}

fn status(world: &World) -> Value {
    let said = world
        .scheme
        .rialto(&["events", "status", "--json", "--at"])
        .unwrap();
    serde_json::from_str(&said.success().unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_of_payments_arrive_once_in_order_and_gapless() {
    let nats = Nats::start();
    let mut world = world(&nats).await;
    let first = paid(&world).await;
    let all = arrived(&nats, std::slice::from_ref(&first)).await;
    assert_gapless(&all);
    let begin = nats.messages(STREAM).swap_remove(0);
    assert_eq!(begin.subject, "rialto.0.log-begins");
    let of = |subject: &str| all.iter().find(|m| m.subject == subject).unwrap();
    let message = of(COMMITTED);
    let header = |name: &str| message.headers[name].as_str();
    assert_eq!(header("ce-specversion"), "1.0");
    assert_eq!(header("ce-source"), "/rialto/0");
    assert_eq!(
        header("ce-type"),
        "rialto.transfers.transfer-committed-fulfiled"
    );
    assert_eq!(header("ce-subject"), format!("transfer:{first}"));
    assert_eq!(header("ce-partition"), "0");
    assert_eq!(header("ce-datacontenttype"), "application/json");
    assert_eq!(header("Nats-Msg-Id"), header("ce-id"));
    // What is listed goes out, and nothing else.
    let data: Value = serde_json::from_str(&message.data).unwrap();
    let members: BTreeSet<&str> = data.as_object().unwrap().keys().map(|k| &**k).collect();
    assert_eq!(members, BTreeSet::from(["transfer-id", "amount"]));
    assert_eq!(data["amount"]["currency"], "USD");
    assert_eq!(of("rialto.0.quoting.quote-response-accepted").data, "{}");
    let prepared = of("rialto.0.transfers.transfer-prepared");
    assert_eq!(prepared.data, json!({ "transfer-id": first }).to_string());
    assert!(prepared.number() < message.number());

    // A host that was killed goes on, and JetStream takes no event twice.
    let mut transfers = vec![first];
    for _ in 0..3 {
        transfers.push(paid(&world).await);
        world.host.kill().unwrap();
        world.host.restart().unwrap();
    }
    transfers.push(paid(&world).await);
    let all = arrived(&nats, &transfers).await;
    assert_gapless(&all);
    let last = all.last().unwrap().number();
    until("all is acknowledged", SOON, async || {
        let status = status(&world);
        let is_so = status["waiting"] == 0 && status["acknowledged"] == last;
        Ok(is_so.then_some(()).ok_or(status.to_string()))
    })
    .await
    .unwrap();
    let metrics = Metrics::of(&world.host).await.unwrap();
    assert_eq!(metrics.get("rialto_events_publish_waiting").unwrap(), 0);
    assert_eq!(metrics.get("rialto_events_publish_lost_total").unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_that_nats_has_lost_are_sent_again() {
    let mut nats = Nats::start();
    let world = world(&nats).await;
    let mut transfers = vec![paid(&world).await, paid(&world).await];
    arrived(&nats, &transfers).await;
    until("all is acknowledged", SOON, async || {
        let status = status(&world);
        Ok((status["waiting"] == 0)
            .then_some(())
            .ok_or(status.to_string()))
    })
    .await
    .unwrap();
    // It loses what it has acknowledged, and is away for some payments.
    nats.lose_everything();
    for _ in 0..3 {
        transfers.push(paid(&world).await);
    }
    until("events wait", SOON, async || {
        let metrics = Metrics::of(&world.host).await?;
        let waiting = metrics.get("rialto_events_publish_waiting")?;
        let failures = metrics.get("rialto_events_publish_failures_total")?;
        let is_so = waiting >= 3 && failures >= 1;
        Ok(is_so
            .then_some(())
            .ok_or(format!("{waiting} wait, {failures} failures")))
    })
    .await
    .unwrap();
    let log = world.host.log();
    assert!(
        log.contains("ALERT: events are not sent to NATS, and wait in the store"),
        "{log}"
    );
    nats.go_on();
    let all = arrived(&nats, &transfers[2..]).await;
    // Consumers see by the first number what is missing.
    let first = all[0].number();
    assert!(first > 1, "{first}");
    let wanted: Vec<u64> = (first..).take(all.len()).collect();
    assert_eq!(numbers(&all), wanted);
    // A range is sent again beside the running host.
    let to = (first - 1).to_string();
    let again = world
        .scheme
        .rialto(&["events", "publish", "--from", "1", "--to", &to, "--at"])
        .unwrap();
    let said = again.success().unwrap();
    assert!(
        said.contains(&format!("{to} events were sent again")),
        "{said}"
    );
    let all = arrived(&nats, &transfers).await;
    let mut found = numbers(&all);
    found.sort_unstable();
    let wanted: Vec<u64> = (1..).take(found.len()).collect();
    assert_eq!(found, wanted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_go_on_while_nats_is_away_or_full() {
    let mut nats = Nats::stopped("jetstream { store_dir: DATA }");
    // It cannot be reached: the host starts all the same.
    let world = world(&nats).await;
    let mut transfers = vec![paid(&world).await];
    let log = world.host.log();
    assert!(
        log.contains("ALERT: events are not sent to NATS") && log.contains("cannot be reached"),
        "{log}"
    );
    nats.go_on();
    arrived(&nats, &transfers).await;
    // The stream takes nothing more.
    let stream = format!("$JS.API.STREAM.UPDATE.{STREAM}");
    let limited = |messages: i64| {
        json!({
            "name": STREAM,
            "subjects": ["rialto.>"],
            "storage": "file",
            "retention": "limits",
            "discard": "new",
            "max_msgs": messages,
            "max_bytes": -1,
            "max_age": 0,
            "max_consumers": -1,
            "num_replicas": 1,
            "duplicate_window": 120_000_000_000_u64,
        })
    };
    let has = nats.messages(STREAM).len();
    let updated = nats.ask(&stream, &limited(i64::try_from(has).unwrap()));
    assert!(
        updated.as_ref().unwrap().get("error").is_none(),
        "{updated:?}"
    );
    transfers.push(paid(&world).await);
    until("the log says that it is full", SOON, async || {
        let log = world.host.log();
        let is_said = log.contains("maximum messages exceeded") || log.contains("has no room");
        Ok(is_said.then_some(()).ok_or(log))
    })
    .await
    .unwrap();
    transfers.push(paid(&world).await);
    nats.ask(&stream, &limited(-1)).unwrap();
    let all = arrived(&nats, &transfers).await;
    assert_gapless(&all);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_that_is_too_large_is_told_as_a_gap() {
    let nats = Nats::with("jetstream { store_dir: DATA }\nmax_payload: 1024");
    let scheme = scheme(&nats, "");
    // All of it, with the message to forward.
    let all = r#""transfers/transfer-prepared" = ["*"]"#;
    let some = r#""transfers/*" = ["transfer-id"]"#;
    let both = format!("{some}\n{all}");
    scheme.replace("rialto.toml", some, &both).unwrap();
    let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    let transfer = paid(&world).await;
    let all = arrived(&nats, &[transfer]).await;
    assert_gapless(&all);
    let told = all.iter().find(|message| message.subject == "rialto.0.gap");
    let told = told.unwrap();
    let gap: Value = serde_json::from_str(&told.data).unwrap();
    assert_eq!(
        (&gap["from"], &gap["to"]),
        (&json!(told.number()), &json!(told.number()))
    );
    let prepared = "rialto.0.transfers.transfer-prepared";
    assert!(all.iter().all(|message| message.subject != prepared));
}

/// What a host says that does not start.
fn refused(nats: &Nats, more: &str) -> String {
    match RunningHost::start(&scheme(nats, more)) {
        Ok(_) => panic!("it starts"),
        Err(error) => format!("{error:#}"),
    }
}

#[test]
fn a_host_refuses_a_nats_that_cannot_take_events() {
    let without = Nats::with("");
    let said = refused(&without, "");
    assert!(said.contains("has no JetStream"), "{said}");
    assert!(said.contains("nats-server --jetstream"), "{said}");

    let full = Nats::with("jetstream { store_dir: DATA, max_file_store: 1000 }");
    let other = json!({ "name": "OTHER", "subjects": ["other"] });
    full.ask("$JS.API.STREAM.CREATE.OTHER", &other).unwrap();
    while full.ask("other", &other).unwrap().get("error").is_none() {}
    let said = refused(&full, "");
    assert!(
        said.contains("has no room for the stream `RIALTO`"),
        "{said}"
    );

    let other = Nats::start();
    let taken = json!({ "name": STREAM, "subjects": ["elsewhere.>"] });
    other
        .ask(&format!("$JS.API.STREAM.CREATE.{STREAM}"), &taken)
        .unwrap();
    let said = refused(&other, "");
    assert!(said.contains("does not take `rialto.>`"), "{said}");

    let users = r#"
jetstream { store_dir: DATA }
authorization {
  users = [
    { user: host, password: sesame, permissions: { publish: ["rialto.>", "$JS.API.STREAM.INFO.*"], subscribe: ["_INBOX.>"] } }
  ]
}
"#;
    let guarded = Nats::with(users);
    let said = refused(&guarded, "");
    assert!(said.contains("does not let the host in"), "{said}");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "host\nsesame\n").unwrap();
    let said = refused(&guarded, &format!("password = {:?}", file.path()));
    assert!(said.contains("may not make it"), "{said}");
    assert!(!said.contains("sesame"), "{said}");
}

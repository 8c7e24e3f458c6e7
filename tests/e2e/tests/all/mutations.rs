//! Thousands of random messages: none makes the host fail, and a refused one changes nothing. A failure prints
//! its seed, for `RIALTO_TEST_SEED`.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use rialto_simulator::Direction;
use rialto_simulator::client::{Answer, HttpClient};
use rialto_tests::World;
use rialto_tests::kept::{at_rest, effects};
use rialto_tests::mutations::{Message, Mutations};
use rialto_tests::world::{PAYEE, PAYER};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// How many messages are made.
const MESSAGES: usize = 3_000;
/// How many are on their way at a time: fewer than make a host say that it has too much to do.
const AT_A_TIME: usize = 6;
/// Longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(60);
/// Another seed than a random one: to repeat a failure.
const SEED_VARIABLE: &str = "RIALTO_TEST_SEED";
/// Codes that this many messages must provoke, or the mutations are not effective.
const MET: [&str; 6] = ["3000", "3001", "3002", "3100", "3101", "3102"];

fn seed() -> u64 {
    match std::env::var(SEED_VARIABLE) {
        Ok(text) => text.parse().unwrap(),
        Err(_) => rand::random(),
    }
}

/// The codes that the document announces, as it lists them.
fn announced() -> BTreeSet<&'static str> {
    let document = include_str!("../../../../plugins/contexts/fsp-interop-api/openapi.yaml");
    let lines = document.lines();
    let entries = lines.filter_map(|line| line.trim().strip_prefix("- {code: '"));
    entries.map(|entry| &entry[..4]).collect()
}

/// How a message was answered: its status, and the code of a refusal.
type Told = (u16, String);

async fn send(client: &HttpClient, hub: &str, message: &Message) -> Option<Answer> {
    let method = Method::from_bytes(message.method.as_bytes()).ok()?;
    let uri: Uri = format!("{hub}{}", message.path).parse().ok()?;
    let mut headers = HeaderMap::new();
    for (name, value) in &message.headers {
        let name: HeaderName = name.parse().ok()?;
        headers.append(name, HeaderValue::from_bytes(value.as_bytes()).ok()?);
    }
    let body = Bytes::from(message.body.clone());
    let answer = client.send(method, uri, headers, body).await;
    Some(answer.unwrap_or_else(|error| panic!("no answer to {message:?}: {error}")))
}

/// Checks an answer, and returns its code.
fn told(message: &Message, answer: &Answer) -> Told {
    let status = answer.status.as_u16();
    if answer.status.is_success() {
        return (status, String::new());
    }
    let is_patch = message.method == "PATCH" && status == 501;
    assert!(
        answer.status.is_client_error() || is_patch,
        "{message:?} is answered {answer:?}"
    );
    // An answer to HEAD has no body.
    if message.method == "HEAD" {
        return (status, String::new());
    }
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let text = |member| {
        body["errorInformation"][member]
            .as_str()
            .unwrap_or_default()
    };
    let (code, description) = (text("errorCode"), text("errorDescription"));
    assert!(
        announced().contains(code) && (1..=128).contains(&description.chars().count()),
        "{message:?} is answered {answer:?}"
    );
    assert_eq!(status == 405, answer.headers.contains_key("allow"));
    let list = &body["errorInformation"]["extensionList"]["extension"];
    assert_eq!(status == 406, list.is_array(), "{message:?}: {body}");
    (status, code.to_owned())
}

/// Sends messages, several at a time, and returns those that HTTP can carry, with their codes.
async fn throw(world: &World, messages: Vec<Message>) -> Vec<(Message, Told)> {
    let client = HttpClient::new(PATIENCE);
    let hub: Arc<str> = world.host.url("fsps").unwrap().into();
    let places = Arc::new(Semaphore::new(AT_A_TIME));
    let mut under_way = JoinSet::new();
    for message in messages {
        let place = places.clone().acquire_owned().await.unwrap();
        let (client, hub) = (client.clone(), hub.clone());
        under_way.spawn(async move {
            let answer = send(&client, &hub, &message).await;
            drop(place);
            answer.map(|answer| {
                let told = told(&message, &answer);
                (message, told)
            })
        });
    }
    under_way.join_all().await.into_iter().flatten().collect()
}

fn is_refused((_, (status, _)): &(Message, Told)) -> bool {
    *status >= 400
}

/// No message makes the host fail. Gives those that it refused.
async fn refused_of_all(messages: Vec<Message>) -> Vec<(Message, Told)> {
    let world = World::demo().await.unwrap();
    let all = throw(&world, messages).await;
    let count = all.len();
    let refused: Vec<_> = all.into_iter().filter(is_refused).collect();
    let mut codes: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, (_, code)) in &refused {
        *codes.entry(code).or_default() += 1;
    }
    println!("{count} messages, {} refused: {codes:?}", refused.len());
    assert!(refused.len() > MESSAGES / 4 && count - refused.len() > MESSAGES / 20);
    for code in MET {
        assert!(
            codes.contains_key(code),
            "none was refused {code}: {codes:?}"
        );
    }
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), [""; 0]);
    world.host.nothing_failed().await.unwrap();
    assert!(!world.host.log().contains("panicked"), "the host panicked");
    refused
}

#[tokio::test(flavor = "multi_thread")]
async fn mutated_messages_never_fail_the_host_or_half_apply() {
    let seed = seed();
    println!("seed {seed} (set {SEED_VARIABLE} to repeat the messages)");
    let mut mutations = Mutations::of(seed).unwrap();
    let messages = (0..MESSAGES).map(|_| mutations.draw()).collect();
    let refused = refused_of_all(messages).await;

    // Refused messages go to an idle host, so that any change is their effect.
    let mut world = World::demo().await.unwrap();
    let before = at_rest(&mut world).await.unwrap();
    assert!(!before.documents.is_empty(), "a host at rest has documents");
    world.host.restart().unwrap();
    for fsp in [PAYER, PAYEE] {
        world.fsp(fsp).recorder().clear();
    }
    let messages = refused.iter().map(|(message, _)| message.clone());
    let mut again = throw(&world, messages.collect()).await;
    let key = |(message, _): &(Message, Told)| message.id.clone();
    let mut first = refused;
    first.sort_by_key(key);
    again.sort_by_key(key);
    for (first, again) in first.iter().zip(&again) {
        assert_eq!(first, again, "a refusal depends on what was there before");
    }
    assert_eq!(first.len(), again.len());
    world.host.nothing_failed().await.unwrap();
    for fsp in [PAYER, PAYEE] {
        let heard = world.fsp(fsp).recorder().messages();
        let heard: Vec<_> = heard
            .iter()
            .filter(|m| m.direction == Direction::In)
            .collect();
        assert!(heard.is_empty(), "{fsp} was sent {heard:#?}");
    }
    let after = at_rest(&mut world).await.unwrap();
    assert_eq!(after, before, "refused messages have changed the store");
    let subjects = again.iter().flat_map(|(message, _)| {
        ["transfer", "quote"].map(|kind| format!("{kind}:{}", message.id))
    });
    let (turns, effects) = effects(&world, subjects.collect()).await.unwrap();
    assert!(turns > 0, "no component has refused a message");
    assert_eq!(effects, [""; 0], "turns of refused messages did something");
}

//! Quotes whose terms have expired leave the store. What stays of them names nobody, and what the archive has is
//! encrypted for the parties.

use std::path::PathBuf;
use std::time::Duration;

use rialto_store_sqlite::retention::RetentionError;
use rialto_tests::kept;
use rialto_tests::scenes::committed;
use rialto_tests::waiting::until;
use rialto_tests::{TestScheme, World, WorldOptions};
use serde_json::Value;

use crate::telemetry::Collector;

/// Longer than terms last and their archive takes.
const SOON: Duration = Duration::from_secs(120);
const KEPT: &str = "path = \"state\"\nkeep = { quotes = \"1 s\" }";
const PERSONAL_DATA: &str = r#"
[personal-data]
subjects = ["party"]
keys = "people/people.keys"
"#;

/// What the archives have about a quote: by the ids of the documents' collections.
fn shown(world: &World, quote: &str) -> Vec<(String, Value)> {
    let subject = format!("quote:{quote}");
    let said = world.host.cli(&["archive", "show", &subject]).unwrap();
    let items = said.stdout.lines();
    let items = items.map(|line| serde_json::from_str::<Value>(line).unwrap());
    items
        .map(|item| (item["collection"].as_str().unwrap().to_owned(), item))
        .collect()
}

/// The lines of all archives of documents.
fn lines(world: &World) -> String {
    let folder: PathBuf = world.scheme.path().join("state/archives");
    let mut all = String::new();
    for file in std::fs::read_dir(folder).unwrap() {
        rialto_archive::lines::<RetentionError>(&file.unwrap().path(), &mut |line| {
            all.push_str(line);
            Ok(())
        })
        .unwrap();
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn archived_quotes_are_encrypted_and_what_stays_names_nobody() {
    let scheme = TestScheme::demo().unwrap();
    scheme
        .replace("rialto.toml", "path = \"state\"", KEPT)
        .unwrap();
    let (collector, address) = Collector::start().await;
    let telemetry = format!("[telemetry]\nendpoint = \"http://{address}\"\n");
    scheme
        .add_host_settings(&format!("{PERSONAL_DATA}\n{telemetry}"))
        .unwrap();
    let options = WorldOptions {
        expires_in: Duration::from_secs(15),
        ..WorldOptions::default()
    };
    let mut world = World::of(scheme, &options).await.unwrap();
    let payment = world.pay("5", "USD").await;
    committed(&payment).unwrap();
    let quote = payment.quote_id.clone();
    let (payer, payee) = (
        world.party("payerfsp").clone(),
        world.party("payeefsp").clone(),
    );
    let numbers = [payer.identifier().to_owned(), payee.identifier().to_owned()];

    // Spans of the lookup have arrived, without whom it was about.
    until("spans of the lookup", SOON, async || {
        let spans = collector.spans();
        let are_there = spans.contains("/parties/{Type}/{ID}") && spans.contains("PUT 127.0.0.1");
        Ok(are_there.then_some(()).ok_or(spans))
    })
    .await
    .unwrap();
    let spans = collector.spans();
    for number in &numbers {
        assert!(!spans.contains(number), "{spans}");
    }

    // Until the terms expire, the quote is what it was.
    let (callback, _) = world.payer().query_quote(&quote).await.unwrap();
    assert!(!callback.error, "{callback:?}");
    let archived = until("the quote is archived and taken out", SOON, async || {
        let items = shown(&world, &quote);
        let list = world.host.cli(&["archive", "list", "--json"])?;
        let is_done = !list.stdout.contains("\"done\":false");
        let is_there = items.len() == 2 && is_done;
        Ok(is_there
            .then_some(())
            .ok_or(format!("{items:?} {list}"))
            .map(|()| items))
    })
    .await
    .unwrap();
    assert_eq!(archived[0].0, "quotes");
    assert_eq!(archived[1].0, "agreements");
    let request = &archived[0].1["document"]["request"];
    assert_eq!(request["payee"]["identifier"], *numbers[1], "{archived:?}");
    let file = lines(&world);
    assert!(file.contains("\"sealed\":true"), "{file}");
    for number in &numbers {
        assert!(!file.contains(number), "{file}");
    }
    world
        .host
        .cli(&["archive", "verify"])
        .unwrap()
        .success()
        .unwrap();

    // Both FSPs are told that it has expired, and its id is used.
    for party in [world.payer(), world.payee()] {
        let told = party.query_quote(&quote).await.unwrap_err();
        assert_eq!(told.error_code.as_deref(), Some("3302"), "{told:?}");
    }
    let left = kept::at_rest(&mut world).await.unwrap();
    for (key, (_, body)) in &left.documents {
        // Who is with which FSP is known as long as the FSP says so.
        if key[0] != "account-lookup" {
            let names = numbers.iter().any(|number| body.contains(number));
            assert!(!names, "{key:?}: {body}");
        }
    }
    let of_quotes = |key: &&[String; 3]| key[1] == "quotes" || key[1] == "agreements";
    assert_eq!(left.documents.keys().filter(of_quotes).count(), 2);

    // With the key of one party destroyed, nobody reads it any more.
    world.host.restart().unwrap();
    let person = format!("party:{}/{}", payee.kind(), payee.identifier());
    let shred = ["personal-data", "shred", &person, "--note", "request 17"];
    world.host.cli(&shred).unwrap().success().unwrap();
    for (_, item) in shown(&world, &quote) {
        assert_eq!(item["sealed"], true, "{item}");
        assert!(item["document"].is_string(), "{item}");
    }
    committed(&world.pay("7", "USD").await).unwrap();
    world.host.nothing_failed().await.unwrap();
}

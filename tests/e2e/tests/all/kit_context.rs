//! A context of one's own: the repository that `rialto plugin new --context` makes is built, tested, bound and asked.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rialto_tests::office::{OFFICE, Office};
use rialto_tests::scenes::committed;
use rialto_tests::waiting::until;
use rialto_tests::world::{PAYEE, PAYER};
use rialto_tests::{CliOutput, World, author, binaries};
use serde_json::{Value, json};

const NAME: &str = "paid-totals";
/// How long an event may take until it was counted.
const COUNTED_WITHIN: Duration = Duration::from_secs(20);

fn run(program: impl AsRef<OsStr>, folder: &Path, arguments: &[&str]) -> CliOutput {
    author::run(program, folder, arguments).unwrap()
}

fn rialto(folder: &Path, arguments: &[&str]) -> String {
    let said = run(binaries::rialto().unwrap(), folder, arguments);
    said.success().unwrap()
}

/// A new repository, its tests, and its component. The commands that are told next are those that this test runs.
fn built(folder: &Path) -> PathBuf {
    let said = rialto(folder, &["plugin", "new", NAME, "--context"]);
    for words in [
        "  cargo test\n",
        "  rialto plugin build\n",
        "  rialto plugin check paid-totals.wasm\n",
        "  rialto lock SCHEME\n",
        "[contexts.paid-totals]\n",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let own = folder.join(NAME);
    let tested = run("cargo", &own, &["test"]).success().unwrap();
    assert!(tested.contains("test result: ok."), "{tested}");
    rialto(&own, &["plugin", "build"]);
    own.join(format!("{NAME}.wasm"))
}

fn checked(component: &Path) {
    let file = component.to_str().unwrap();
    let folder = component.parent().unwrap();
    let said = rialto(folder, &["plugin", "check", file, "--json"]);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["kind"], "context", "{said}");
    assert_eq!(
        said["imports"],
        json!([
            "rialto:host/storage@0.1.0",
            "rialto:host/configuration@0.1.0",
            "rialto:host/logging@0.1.0"
        ])
    );
    let consumed = json!("rialto:transfers/transfer-committed-fulfiled@0.1.0");
    let exports = said["exports"].as_array().unwrap();
    assert!(exports.contains(&consumed), "{said}");
}

/// Binds the component in a scheme by the lines of its repository.
fn bind(world: &World, component: &Path) {
    fs::copy(component, world.scheme.component(NAME)).unwrap();
    let lines = fs::read_to_string(component.with_file_name("binding.toml")).unwrap();
    let bound = world.scheme.edit_with(|text| format!("{text}{lines}"));
    bound.unwrap();
    world.scheme.lock().unwrap();
}

fn apply(world: &World) -> CliOutput {
    let scheme = world.scheme.path().to_str().unwrap();
    world.host.cli(&["release", "apply", scheme]).unwrap()
}

/// The totals of a participant, as soon as so many transfers were counted.
async fn totals(office: &Office, participant: &str, transfers: u64) -> Value {
    let path = format!("/{NAME}/{participant}");
    let counted = until("the transfers are counted", COUNTED_WITHIN, async || {
        let said = office.send(OFFICE, "GET", &path, &[], &Value::Null).await?;
        let total = &said.body["totals"][0];
        let count = |side: &str| total[side]["count"].as_u64().unwrap_or(0);
        Ok(if count("sent") + count("received") == transfers {
            Ok(said.body)
        } else {
            Err(format!("{said:?}"))
        })
    });
    counted.await.unwrap()
}

fn expected(participant: &str, sent: (u64, &str), received: (u64, &str)) -> Value {
    let sum = |(count, amount): (u64, &str)| json!({ "count": count, "amount": amount });
    let total = json!({ "currency": "USD", "sent": sum(sent), "received": sum(received) });
    json!({ "participant": participant, "totals": [total] })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn context_from_nothing_sums_up_payments() {
    let folder = tempfile::tempdir().unwrap();
    let component = built(folder.path());
    checked(&component);

    let mut world = World::demo().await.unwrap();
    committed(&world.pay("7", "USD").await).unwrap();
    bind(&world, &component);
    // Settings that the context refuses.
    let (right, wrong) = ("currencies = []", "currencies = [\"usd\"]");
    world.scheme.edit(right, wrong).unwrap();
    let said = apply(&world);
    assert_ne!(said.code, 0, "{said}");
    assert!(said.said().contains("\"usd\" is no currency"), "{said}");
    world.scheme.edit(wrong, "currencies = [\"USD\"]").unwrap();
    apply(&world).success().unwrap();

    let office = Office::of(&world.scheme, &world.host, &[]).unwrap();
    let path = format!("/{NAME}/{PAYER}");
    let said = office.send(OFFICE, "GET", &path, &[], &Value::Null).await;
    let said = said.unwrap();
    assert_eq!((said.status, said.problem()), (404, "participant-unknown"));

    committed(&world.pay("0.1", "USD").await).unwrap();
    committed(&world.pay("0.2", "USD").await).unwrap();
    // Another currency is not counted.
    committed(&world.pay("5", "RWF").await).unwrap();
    committed(&world.pay("12.25", "USD").await).unwrap();
    let payer = expected(PAYER, (3, "12.55"), (0, "0"));
    let payee = expected(PAYEE, (0, "0"), (3, "12.55"));
    assert_eq!(totals(&office, PAYER, 3).await, payer);
    assert_eq!(totals(&office, PAYEE, 3).await, payee);

    // A host that ends at once and starts again counts nothing twice.
    world.host.restart().unwrap();
    let office = Office::of(&world.scheme, &world.host, &[]).unwrap();
    committed(&world.pay("1", "USD").await).unwrap();
    let payer = expected(PAYER, (4, "13.55"), (0, "0"));
    assert_eq!(totals(&office, PAYER, 4).await, payer);
    let listed = office.get(OFFICE, &format!("/{NAME}")).await.unwrap();
    assert_eq!(listed["items"].as_array().unwrap().len(), 2, "{listed}");
    assert_eq!(listed["items"][1], payer, "{listed}");
    world.no_complaints().unwrap();
}

#[test]
fn plugin_is_either_a_rule_or_a_context_in_rust() {
    let folder = tempfile::tempdir().unwrap();
    let step = ["--step", "transfer-prepare-check"];
    let cases: [(&[&str], &str); 4] = [
        (&[], "--context"),
        (&["--context", step[0], step[1]], "cannot be used with"),
        (&["--context", "--language", "python"], "in Rust alone"),
        (&["--context", "--language", "javascript"], "in Rust alone"),
    ];
    for (more, words) in cases {
        let arguments = [&["plugin", "new", NAME][..], more].concat();
        let said = run(binaries::rialto().unwrap(), folder.path(), &arguments);
        assert_ne!(said.code, 0, "{more:?}: {said}");
        assert!(said.stderr.contains(words), "{more:?}: {said}");
        assert!(!folder.path().join(NAME).exists(), "{more:?}");
    }
}

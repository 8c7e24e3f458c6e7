//! Messages to FSPs for operators: outcomes, failed attempts, and states of destinations; and errors to FSPs
//! when the other FSP is absent.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::time::Duration;

use http::Method;
use rialto_simulator::fsp::Step;
use rialto_tests::host::CliOutput;
use rialto_tests::scenes::{committed, refused};
use rialto_tests::waiting::until;
use rialto_tests::world::{PAYEE, PAYER};
use rialto_tests::{TestScheme, World, WorldOptions};
use serde_json::Value;

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(40);
/// A circuit that opens early and looks often.
const BREAKER: &str = "[outbound]\nbreaker-failures = 3\nbreaker-pause = \"100 ms\"\nbreaker-pause-max = \"400 ms\"\n\n[ceilings]";
/// An FSP that resets each connection.
const RESETS: &str = r#"{"lookup":{"answer":{"reset":"100%"}},"quote":{"answer":{"reset":"100%"}},"transfer":{"answer":{"reset":"100%"}},"callbacks":{"reset":"100%"}}"#;

fn objects(output: CliOutput) -> Vec<Value> {
    let text = output.success().unwrap();
    let lines = text.lines();
    lines.map(|l| serde_json::from_str(l).unwrap()).collect()
}

fn asked(world: &World, command: &[&str]) -> Vec<Value> {
    objects(world.host.cli(command).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn each_message_about_a_transfer_has_its_outcome() {
    let world = World::demo().await.unwrap();
    let outcome = world.pay("5", "USD").await;
    committed(&outcome).unwrap();
    let id = outcome.transfer_id;
    // The payer pays by its callback, whose report comes a little later.
    let all = until("both reports", SOON, async || {
        let all = asked(&world, &["deliveries", &id, "--json"]);
        let ended = all.iter().all(|d| !d["outcome"].is_null()) && all.len() == 2;
        Ok(ended.then(|| all.clone()).ok_or_else(|| format!("{all:?}")))
    })
    .await
    .unwrap();
    let told: Vec<(&str, &str)> = all
        .iter()
        .map(|d| {
            (
                d["message"].as_str().unwrap(),
                d["outcome"].as_str().unwrap(),
            )
        })
        .collect();
    let callback = |id: &str| format!("http://127.0.0.1:{}", world.scheme.callbacks()[id]);
    let sent = format!("POST {}/transfers", callback(PAYEE));
    let answered = format!("PUT {}/transfers/{id}", callback(PAYER));
    assert_eq!(
        told,
        [
            (sent.as_str(), "202 after 1 attempt"),
            (answered.as_str(), "200 after 1 attempt")
        ]
    );
    let text = world.host.cli(&["deliveries", &id]).unwrap();
    let text = text.success().unwrap();
    assert!(text.starts_with(&format!("transfer:{id}\n")), "{text}");
    assert_eq!(text.matches(" after 1 attempt, ").count(), 2, "{text}");

    let none = world
        .host
        .cli(&["deliveries", "nothing-of-the-kind"])
        .unwrap();
    assert_eq!((none.code, none.stdout.as_str()), (1, ""), "{none}");
    let none = world.host.cli(&["deliveries", "--to", PAYER]).unwrap();
    assert_eq!((none.code, none.stdout.as_str()), (0, ""), "{none}");
    assert!(none.stderr.contains("needed a second attempt"), "{none}");
}

#[tokio::test(flavor = "multi_thread")]
async fn open_circuit_spares_an_fsp_and_refuses_at_once() {
    let scheme = TestScheme::demo().unwrap();
    scheme
        .replace("rialto.toml", "[ceilings]", BREAKER)
        .unwrap();
    let options = WorldOptions::default();
    let world = World::of(scheme, &options).await.unwrap();
    world.payee_behaves(RESETS).unwrap();
    // The first one waits for as long as a lookup is worth; its attempts open the circuit.
    refused(&world.pay("5", "USD").await, Step::Lookup, "1001").unwrap();
    let payee = format!("127.0.0.1:{}", world.scheme.callbacks()[PAYEE]);
    let standing = |world: &World| {
        let all = asked(world, &["deliveries", "--json"]);
        all.into_iter()
            .find(|d| d["destination"] == *payee)
            .unwrap()
    };
    let before = standing(&world);
    assert_ne!(before["circuit"], "closed", "{before}");
    assert!(
        before["lastFailure"].as_str().unwrap().len() > 10,
        "{before}"
    );
    let text = world.host.cli(&["deliveries"]).unwrap().success().unwrap();
    assert!(text.contains("met nobody: "), "{text}");

    // Each of these would take seconds if it waited. Now and then one is the probe itself.
    for _ in 0..20 {
        refused(&world.pay("5", "USD").await, Step::Lookup, "1001").unwrap();
    }
    let reports = asked(&world, &["deliveries", "--to", PAYEE, "--json"]);
    assert_eq!(reports.len(), 21, "{reports:?}");
    let untried = reports.iter().filter(|report| report["attempts"] == 0);
    assert!(
        untried.count() >= 5,
        "most were not even tried: {reports:?}"
    );
    for report in &reports {
        assert_eq!(report["delivered"], false);
        assert_eq!(
            (&report["method"], &report["destination"]),
            (&"GET".into(), &PAYEE.into())
        );
        // A report stays for good, so it does not say which party.
        assert_eq!(
            (&report["subject"], &report["path"]),
            (&"party".into(), &"/parties".into())
        );
        assert!(
            report["reason"].as_str().unwrap().contains(": "),
            "{report}"
        );
    }
    let few = ["deliveries", "--to", PAYEE, "--limit", "3"];
    let few = world.host.cli(&few).unwrap();
    assert!(few.stderr.contains("a higher --limit"), "{few}");
    assert_eq!(few.success().unwrap().matches("not delivered: ").count(), 3);

    world.payee_behaves("{}").unwrap();
    until("the payee is found again", SOON, async || {
        Ok(committed(&world.pay("5", "USD").await).map_err(|problem| problem.to_string()))
    })
    .await
    .unwrap();
    let after = standing(&world);
    assert_eq!(
        (&after["circuit"], &after["failures"]),
        (&"closed".into(), &0.into())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_wait_for_an_absent_fsp_across_restarts() {
    let scheme = TestScheme::demo().unwrap();
    scheme
        .replace("rialto.toml", "[ceilings]", BREAKER)
        .unwrap();
    let options = WorldOptions::default();
    let mut world = World::of(scheme, &options).await.unwrap();
    world
        .payer()
        .set_behaviour(serde_json::from_str(RESETS).unwrap());
    for n in 0..8 {
        let path = format!("/participants/MSISDN/2799000000{n}");
        let answer = world.payer().raw(Method::GET, &path).send().await.unwrap();
        assert_eq!(answer.status, 202);
    }
    let payer = format!("127.0.0.1:{}", world.scheme.callbacks()[PAYER]);
    let waiting = async |world: &World| {
        until("eight answers wait", SOON, async || {
            let all = asked(world, &["deliveries", "--json"]);
            let eight = |d: &Value| d["destination"] == *payer && d["requests"] == 8;
            let they_wait = all.iter().any(eight);
            Ok(they_wait.then_some(()).ok_or_else(|| format!("{all:?}")))
        })
        .await
        .unwrap();
    };
    waiting(&world).await;
    world.host.kill().unwrap();
    world.host.restart().unwrap();
    waiting(&world).await;
    world.payer().recorder().clear();
    world
        .payer()
        .set_behaviour(rialto_simulator::Behaviour::default());
    until("all eight answers", SOON, async || {
        let messages = world.payer().recorder().messages();
        let errors = messages.iter().filter(|m| m.path.ends_with("/error"));
        let errors = errors.count();
        Ok((errors == 8)
            .then_some(())
            .ok_or_else(|| errors.to_string()))
    })
    .await
    .unwrap();
}

//! A component that fails on an event: the event waits where an operator sees it, also after a
//! restart, until it is tried again with a release that cures the component, or dropped.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::time::Duration;

use rialto_simulator::fsp::Step;
use rialto_simulator::{PaymentOutcome, PaymentRequest};
use rialto_tests::metrics::{Metrics, idle};
use rialto_tests::scenes::committed;
use rialto_tests::waiting::until;
use rialto_tests::world::PAYEE;
use rialto_tests::{TestScheme, World, WorldOptions};
use tokio::task::JoinHandle;

/// Longer than all attempts of a turn take.
const SOON: Duration = Duration::from_secs(30);
/// Attempts after which a delivery is a dead letter.
const ATTEMPTS_MAX: u64 = 3;
/// Payments that meet a component that is paused.
const PAYMENTS: u64 = 4;
/// The component whose turn fails: it cannot reserve funds.
const COMPONENT: &str = "transfers";
/// The ledger's disease: fuel that is enough to start and not to answer.
pub const SICK: &str = "[contexts.accounts-and-balances.limits]\nfuel = 3000\n\n[contexts.accounts-and-balances.grants]";
pub const HEALTHY: &str = "[contexts.accounts-and-balances.grants]";

async fn world() -> World {
    let engine = format!("turn-attempts-max = {ATTEMPTS_MAX}\nretry-initial = \"10 ms\"");
    world_with(&engine).await
}

/// With these settings of the engine.
async fn world_with(engine: &str) -> World {
    let scheme = TestScheme::demo().unwrap();
    let engine = format!("[engine]\n{engine}\n\n[store]");
    scheme.replace("rialto.toml", "[store]", &engine).unwrap();
    scheme.lock().unwrap();
    let options = WorldOptions {
        callback_timeout: Duration::from_secs(60),
        expires_in: Duration::from_secs(120),
        query_on_timeout: false,
        ..WorldOptions::default()
    };
    // It falls ill later: it needs its health to learn of the participants.
    let world = World::of(scheme, &options).await.unwrap();
    apply(&world, SICK);
    world
}

/// Put the healthy or the sick component into force.
pub fn apply(world: &World, state: &str) {
    let twin = world.scheme.twin().unwrap();
    twin.edit(HEALTHY, state).unwrap();
    let folder = twin.path().to_str().unwrap();
    let applied = world.host.cli(&["release", "apply", folder]).unwrap();
    applied.success().unwrap();
}

/// Begin a payment and do not wait for its end.
fn paying(world: &World) -> JoinHandle<PaymentOutcome> {
    let payer = world.payer().clone();
    let request = PaymentRequest::new(world.party(PAYEE).clone(), "5", "USD");
    tokio::spawn(async move { payer.pay(&request).await })
}

/// All dead letters, as an operator sees them.
fn letters(world: &World) -> Vec<String> {
    let said = world.host.cli(&["dead-letters"]).unwrap();
    let said = said.success().unwrap();
    said.lines().map(str::to_owned).collect()
}

/// The one dead letter, when it is there: its id and its line.
pub async fn parked(world: &World) -> (String, String) {
    until("a dead letter", SOON, async || {
        let letters = letters(world);
        Ok(match letters.as_slice() {
            [one] => Ok((one.split(' ').next().unwrap().to_owned(), one.clone())),
            other => Err(format!("{other:?}")),
        })
    })
    .await
    .unwrap()
}

async fn none_left(world: &World) {
    until("the letter is gone", SOON, async || {
        let letters = letters(world);
        Ok(if letters.is_empty() {
            Ok(())
        } else {
            Err(format!("{letters:?}"))
        })
    })
    .await
    .unwrap();
}

fn liquidity(world: &World) -> i128 {
    let books = world.books().unwrap();
    books.balance("payerfsp:USD:LIQUIDITY").unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failing_event_waits_until_its_component_is_cured() {
    let mut world = world().await;
    let before = liquidity(&world);
    let payment = paying(&world);
    let (id, line) = parked(&world).await;
    for part in [
        COMPONENT,
        "transfer-prepare-accounts-allocated",
        "after 3 attempts",
        "fuel",
        "transfer:",
    ] {
        assert!(line.contains(part), "`{part}` in `{line}`");
    }
    assert!(!payment.is_finished(), "the payer waits");
    assert_eq!(liquidity(&world), before);
    assert_eq!(world.books().unwrap().transfers().len(), 0);

    // It is on disk, and a restart does not try it again by itself.
    world.host.restart().unwrap();
    idle(&world.host).await.unwrap();
    assert_eq!(letters(&world), std::slice::from_ref(&line));

    // Tried again with the same disease, it fails again and waits again, under another id.
    let retry = ["dead-letters", "retry", &id];
    world.host.cli(&retry).unwrap().success().unwrap();
    let again = until("the retry fails", SOON, async || {
        let letters = letters(&world);
        let other = letters
            .iter()
            .find(|letter| !letter.starts_with(&format!("{id} ")));
        Ok(other.cloned().ok_or(format!("{letters:?}")))
    });
    let again = again.await.unwrap();
    assert_eq!(letters(&world), std::slice::from_ref(&again));
    let gone = world.host.cli(&retry).unwrap();
    assert_eq!(gone.code, 1, "{gone}");
    assert!(gone.stderr.contains(&id), "{gone}");

    apply(&world, HEALTHY);
    idle(&world.host).await.unwrap();
    assert_eq!(
        letters(&world),
        std::slice::from_ref(&again),
        "a release tries nothing by itself"
    );
    // Of another component there is none.
    let all = [
        "dead-letters",
        "retry",
        "--all",
        "--since",
        "1 h",
        "--component",
    ];
    let of = |component| [&all[..], &[component]].concat();
    let none = world.host.cli(&of("quoting")).unwrap();
    assert!(none.stderr.contains("0 dead letters"), "{none}");
    assert_eq!(letters(&world), std::slice::from_ref(&again));
    let one = world.host.cli(&of(COMPONENT)).unwrap();
    assert!(one.stderr.contains("1 dead letter"), "{one}");
    committed(&payment.await.unwrap()).unwrap();
    none_left(&world).await;
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    assert_eq!(liquidity(&world), before - 500);
    world.host.nothing_waits().await.unwrap();
    world.no_complaints().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_that_is_dropped_never_happens() {
    let mut world = world().await;
    let before = liquidity(&world);
    let payment = paying(&world);
    let (id, _) = parked(&world).await;
    let drop = ["dead-letters", "drop", &id, "--note", "sent again by hand"];
    let dropped = world.host.cli(&drop).unwrap();
    assert_eq!(dropped.code, 0, "{dropped}");
    assert!(
        dropped
            .stderr
            .contains(&format!("dead letter {id} is dropped")),
        "{dropped}"
    );
    none_left(&world).await;
    // After its removal, the audit log has its description.
    let about = format!("dead letter {id}: {COMPONENT} ");
    let told = world.host.cli(&["audit", "--about", &about]).unwrap();
    let told = told.success().unwrap();
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.contains(" dead-letter-drop "), "{told}");
    assert!(told.contains("“sent again by hand”: done"), "{told}");
    for verb in ["drop", "retry"] {
        let gone = world.host.cli(&["dead-letters", verb, &id]).unwrap();
        assert_eq!(gone.code, 1, "{gone}");
    }
    payment.abort();

    apply(&world, HEALTHY);
    world.host.restart().unwrap();
    world.host.nothing_failed().await.unwrap();
    // What comes later is handled, and the dropped one is as if it had never been.
    let outcome = world.pay("5", "USD").await;
    committed(&outcome).unwrap();
    assert_eq!(outcome.steps.last().map(|s| s.step), Some(Step::Transfer));
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    assert_eq!(books.transfers().len(), 1);
    assert_eq!(liquidity(&world), before - 500);
    world.host.nothing_failed().await.unwrap();
    world.no_complaints().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failing_component_is_paused_until_cured() {
    // All FSPs of this test come from one address. Unless its component is paused, a delivery that fails
    // is tried again after half a minute at the earliest, and is a dead letter after three attempts.
    let engine = format!(
        "pause-subjects = 3\npause-senders = 1\nprobe-initial = \"100 ms\"\nprobe-max = \"200 ms\"\n\
         turn-attempts-max = {ATTEMPTS_MAX}\nretry-initial = \"1 min\""
    );
    let world = world_with(&engine).await;
    let before = liquidity(&world);
    let payments: Vec<_> = (0..PAYMENTS).map(|_| paying(&world)).collect();
    let paused = |world: &World| {
        let said = world.host.cli(&["dead-letters", "paused"]).unwrap();
        said.success().unwrap()
    };
    until("it is paused", SOON, async || {
        let paused = paused(&world);
        let is = paused.starts_with(COMPONENT) && paused.contains("fuel");
        Ok(if is { Ok(()) } else { Err(paused) })
    })
    .await
    .unwrap();
    until("a delivery fails more often than that", SOON, async || {
        let metrics = Metrics::of(&world.host).await?;
        let failed = metrics.get("rialto_turns_failed_total")?;
        Ok(if failed > ATTEMPTS_MAX * PAYMENTS {
            Ok(())
        } else {
            Err(format!("{failed} failures"))
        })
    })
    .await
    .unwrap();
    assert_eq!(letters(&world), Vec::<String>::new(), "nothing is given up");
    let shown = world.host.cli(&["dead-letters"]).unwrap();
    assert!(shown.stderr.contains("paused: transfers since"), "{shown}");

    apply(&world, HEALTHY);
    for payment in payments {
        committed(&payment.await.unwrap()).unwrap();
    }
    until("the pause is over", SOON, async || {
        let paused = paused(&world);
        Ok(if paused.is_empty() {
            Ok(())
        } else {
            Err(paused)
        })
    })
    .await
    .unwrap();
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    assert_eq!(liquidity(&world), before - i128::from(PAYMENTS) * 500);
    world.host.nothing_waits().await.unwrap();
}

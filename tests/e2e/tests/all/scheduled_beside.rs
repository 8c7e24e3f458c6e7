//! Scheduled releases beside what else decides about a release: officers, a host that is killed, and a candidate that is
//! held back.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::time::Duration;

use rialto_simulator::fsp::Step;
use rialto_tests::scenes::{committed, refused};
use rialto_tests::waiting::until;
use rialto_tests::{TestScheme, World, WorldOptions};

use crate::plans::{Scene, text};
use crate::scheduled_releases::{SOON, from_now, is_refused, with_maximum};

/// Less than what a host takes to make a scheduled release ready.
const LEAD: Duration = Duration::from_millis(1_500);

/// Wait until a time before an instant, or after it.
async fn await_time(at: jiff::Timestamp) {
    until("it is time", SOON, async || {
        let now = jiff::Timestamp::now();
        let is_time = now > at;
        Ok(is_time.then_some(()).ok_or_else(|| now.to_string()))
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn plan_whose_instant_has_passed_is_not_applied() {
    let scene = Scene::of("").await;
    let lower = scene.with_limit("60");
    let from = from_now(3);
    scene
        .plan(&lower, "p", &["--effective-from", &from])
        .success()
        .unwrap();
    for officer in ["ada", "ben"] {
        scene.sign("p", officer, officer).success().unwrap();
    }
    await_time(from.parse().unwrap()).await;
    is_refused(&scene.apply("p", &["ada", "ben"]), "has passed");
    committed(&scene.world.pay("70", "USD").await).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn host_killed_just_before_the_instant_has_the_release_in_force_after_it() {
    let options = WorldOptions::default();
    let scheme = TestScheme::demo().unwrap();
    let mut world = World::of(scheme, &options).await.unwrap();
    let twin = with_maximum(&world, "60");
    let from = from_now(12);
    let folder = text(twin.path());
    let command = ["release", "apply", folder, "--effective-from", &from];
    world.host.cli(&command).unwrap().success().unwrap();
    // The host is at the release's activation now, and payments go on.
    let at: jiff::Timestamp = from.parse().unwrap();
    await_time(at - LEAD).await;
    committed(&world.pay("70", "USD").await).unwrap();
    world.host.kill().unwrap();
    tokio::task::block_in_place(|| world.host.restart()).unwrap();
    await_time(at).await;
    // What comes while the release is made ready is refused, never judged by the one before.
    until("the release is in force", SOON, async || {
        let outcome = world.pay("70", "USD").await;
        assert!(outcome.failure.is_some(), "{outcome:#?}");
        Ok(refused(&outcome, Step::Quote, "4200").map_err(|error| error.to_string()))
    })
    .await
    .unwrap();
    committed(&world.pay("50", "USD").await).unwrap();
    world.settled_books().await.unwrap();
}

#[tokio::test]
async fn scheduled_release_with_a_held_back_candidate_has_requests_refused_until_it_is_withdrawn() {
    let terms =
        "settings = { do = \"trap\" }\nto = { hash = \"100 %\" }\nhold-back = { failures = 2 }";
    let scheme = crate::canaries::scheme("hostile-rule", terms);
    let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    let twin = with_maximum(&world, "9000");
    let from = from_now(15);
    let folder = text(twin.path());
    let command = ["release", "apply", folder, "--effective-from", &from];
    world.host.cli(&command).unwrap().success().unwrap();
    // The candidate fails, and is held back: the scheduled release would bring it again.
    for _ in 0..2 {
        committed(&world.pay("50", "USD").await).unwrap();
    }
    until("requests are refused", SOON, async || {
        let outcome = world.pay("50", "USD").await;
        Ok(refused(&outcome, Step::Lookup, "2003").map_err(|error| error.to_string()))
    })
    .await
    .unwrap();
    assert!(jiff::Timestamp::now() >= from.parse().unwrap());
    let log = world.host.log();
    assert!(
        log.contains("a scheduled release is not ready") && log.contains("was held back"),
        "{log}"
    );
    let withdraw = world.host.cli(&["release", "withdraw", "2"]).unwrap();
    withdraw.success().unwrap();
    committed(&world.pay("50", "USD").await).unwrap();
    world.settled_books().await.unwrap();
}

//! Releases that come into force at an instant, end at one, and are withdrawn.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rialto_simulator::fsp::Step;
use rialto_tests::metrics::Metrics;
use rialto_tests::scenes::{committed, refused};
use rialto_tests::waiting::until;
use rialto_tests::{CliOutput, TestScheme, World, WorldOptions, offers};
use serde_json::Value;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

/// Longer than a host takes.
pub const SOON: Duration = Duration::from_secs(90);
const HIGHEST: &str = "maximum = \"10000\"";

async fn world() -> World {
    let scheme = TestScheme::demo().unwrap();
    World::of(scheme, &WorldOptions::default()).await.unwrap()
}

/// An instant so many seconds from now, as commands take it.
pub fn from_now(seconds: i64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seconds = i64::try_from(now.as_secs()).unwrap() + seconds;
    jiff::Timestamp::from_second(seconds).unwrap().to_string()
}

/// The scheme's folder, with another highest amount.
pub fn with_maximum(world: &World, maximum: &str) -> TestScheme {
    let twin = world.scheme.twin().unwrap();
    let new = format!("maximum = \"{maximum}\"");
    let file = twin.path().join("scheme.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(HIGHEST), "{text}");
    std::fs::write(&file, text.replace(HIGHEST, &new)).unwrap();
    twin
}

fn release(world: &World, command: &[&str]) -> CliOutput {
    let all: Vec<&str> = std::iter::once("release")
        .chain(command.iter().copied())
        .collect();
    world.host.cli(&all).unwrap()
}

/// A command was refused, with these words.
pub fn is_refused(said: &CliOutput, words: &str) {
    assert_ne!(said.code, 0, "{}", said.said());
    assert!(said.said().contains(words), "{words:?}: {}", said.said());
}

fn schedule(world: &World, twin: &TestScheme, dates: &[&str]) -> CliOutput {
    let folder = twin.path().to_str().unwrap();
    let command: Vec<&str> = ["apply", folder]
        .into_iter()
        .chain(dates.iter().copied())
        .collect();
    release(world, &command)
}

/// The numbers of the releases that are current and that come later, by their marks.
fn marked(world: &World, mark: char) -> Vec<String> {
    let list = release(world, &["list"]).success().unwrap();
    let lines = list.lines().filter(|line| line.starts_with(mark));
    let numbers = lines.filter_map(|line| line.split_whitespace().nth(1));
    numbers.map(str::to_owned).collect()
}

/// Pay until the quotes of an amount are refused, or are not.
pub async fn await_limit(world: &World, amount: &str, is_refused: bool) {
    until("the other limit is in force", SOON, async || {
        let outcome = world.pay(amount, "USD").await;
        let found = if is_refused {
            refused(&outcome, Step::Quote, "4200").map_err(|error| error.to_string())
        } else {
            committed(&outcome).map_err(|error| error.to_string())
        };
        Ok(found)
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn release_comes_into_force_at_its_instant_and_ends() {
    let world = world().await;
    let twin = with_maximum(&world, "60");
    let (from, end) = (from_now(20), from_now(50));
    let folder = twin.path().to_str().unwrap();
    let dates = ["--effective-from", &from, "--effective-until", &end];
    let plan: Vec<&str> = ["plan", folder].into_iter().chain(dates).collect();
    let planned = release(&world, &plan).success().unwrap();
    assert!(
        planned.contains("release 2 comes into force")
            && planned.contains("release 3 comes into force"),
        "{planned}"
    );
    let said = schedule(&world, &twin, &dates).success().unwrap();
    assert!(said.contains("release 2 comes into force at"), "{said}");
    assert_eq!(
        (marked(&world, '*'), marked(&world, '>')),
        (vec!["1".to_owned()], vec!["2".to_owned(), "3".to_owned()])
    );
    committed(&world.pay("70", "USD").await).unwrap();
    // What will be in force is known.
    let shown = release(&world, &["show", "--as-of", &from])
        .success()
        .unwrap();
    assert!(shown.starts_with("release 2 is scheduled"), "{shown}");

    await_limit(&world, "70", true).await;
    assert_eq!(marked(&world, '*'), ["2"]);
    is_refused(
        &release(&world, &["withdraw", "2"]),
        "release 2 is not scheduled",
    );

    await_limit(&world, "70", false).await;
    assert_eq!(marked(&world, '*'), ["3"]);
    assert_eq!(marked(&world, '>'), Vec::<String>::new());
    for (at, number) in [(&from, "2"), (&end, "3")] {
        let shown = release(&world, &["show", "--as-of", at]).success().unwrap();
        assert!(shown.starts_with(&format!("release {number} ")), "{shown}");
    }
    // Every receipt is of the release that was in force at its instant.
    let from: jiff::Timestamp = from.parse().unwrap();
    let end: jiff::Timestamp = end.parse().unwrap();
    let last = world.pay("50", "USD").await;
    committed(&last).unwrap();
    let receipts = world
        .host
        .cli(&["receipts", &last.transfer_id, "--json"])
        .unwrap();
    let receipts = receipts.success().unwrap();
    let receipts = receipts.lines().map(serde_json::from_str);
    let all: Vec<Value> = receipts.collect::<Result<_, _>>().unwrap();
    assert!(!all.is_empty());
    for receipt in &all {
        let at = receipt["at"].as_i64().unwrap();
        let number = receipt["receipt"]["release"].as_u64().unwrap();
        let expected = match at {
            at if at < from.as_millisecond() => 1,
            at if at < end.as_millisecond() => 2,
            _ => 3,
        };
        assert_eq!(number, expected, "{receipt}");
    }
    let audit = world.host.cli(&["audit"]).unwrap().success().unwrap();
    assert!(audit.contains("release-in-force"), "{audit}");
}

#[tokio::test(flavor = "multi_thread")]
async fn release_is_in_force_although_the_host_was_down_at_its_instant() {
    let mut world = world().await;
    let twin = with_maximum(&world, "60");
    let from = from_now(8);
    schedule(&world, &twin, &["--effective-from", &from])
        .success()
        .unwrap();
    world.host.stop().unwrap();
    let at = from.parse::<jiff::Timestamp>().unwrap();
    until("the instant has passed", SOON, async || {
        let now = jiff::Timestamp::now();
        Ok(if now > at {
            Ok(())
        } else {
            Err(format!("it is {now}"))
        })
    })
    .await
    .unwrap();
    tokio::task::block_in_place(|| world.host.restart()).unwrap();
    // The first payment is judged by it.
    refused(&world.pay("70", "USD").await, Step::Quote, "4200").unwrap();
    assert_eq!(marked(&world, '*'), ["2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn scheduled_release_survives_a_restart_and_is_withdrawn() {
    let mut world = world().await;
    let twin = with_maximum(&world, "60");
    let (from, end) = (from_now(3_600), from_now(7_200));
    let dates = ["--effective-from", &from, "--effective-until", &end];
    schedule(&world, &twin, &dates).success().unwrap();
    tokio::task::block_in_place(|| world.host.restart()).unwrap();
    assert_eq!(marked(&world, '>'), ["2", "3"]);
    until("the next one is ready", SOON, async || {
        let metrics = Metrics::of(&world.host).await?;
        Ok(match metrics.get("rialto_scheduled_release_ready")? {
            1 => Ok(()),
            other => Err(format!("ready: {other}")),
        })
    })
    .await
    .unwrap();
    let metrics = Metrics::of(&world.host).await.unwrap();
    let left = metrics.get("rialto_scheduled_release_seconds").unwrap();
    assert!((1..=3_600).contains(&left), "{left}");
    assert_eq!(metrics.get("rialto_scheduled_releases").unwrap(), 2);

    // Nothing else is changed meanwhile.
    let other = with_maximum(&world, "80");
    for dates in [&[][..], &["--effective-from", &end]] {
        is_refused(
            &schedule(&world, &other, dates),
            "release 2 comes into force at",
        );
    }
    let said = release(&world, &["withdraw", "2", "--note", "too early"])
        .success()
        .unwrap();
    assert!(
        said.contains("release 2 is withdrawn") && said.contains("release 3 is withdrawn"),
        "{said}"
    );
    assert_eq!(marked(&world, '>'), Vec::<String>::new());
    let metrics = Metrics::of(&world.host).await.unwrap();
    assert_eq!(metrics.get("rialto_scheduled_releases").unwrap(), 0);
    assert!(metrics.get("rialto_scheduled_release_seconds").is_err());
    is_refused(
        &release(&world, &["withdraw", "2"]),
        "release 2 is not scheduled",
    );
    is_refused(
        &release(&world, &["withdraw", "1"]),
        "release 1 is not scheduled",
    );
    is_refused(
        &release(&world, &["withdraw", "99"]),
        "there is no release 99",
    );
    let audit = world.host.cli(&["audit"]).unwrap().success().unwrap();
    assert!(
        audit.contains("release-withdraw") && audit.contains("too early"),
        "{audit}"
    );
    schedule(&world, &other, &[]).success().unwrap();
    committed(&world.pay("70", "USD").await).unwrap();
}

#[tokio::test]
async fn rollback_withdraws_what_is_scheduled() {
    let world = world().await;
    schedule(&world, &with_maximum(&world, "80"), &[])
        .success()
        .unwrap();
    let later = with_maximum(&world, "60");
    schedule(&world, &later, &["--effective-from", &from_now(3_600)])
        .success()
        .unwrap();
    assert_eq!(marked(&world, '>'), ["3"]);
    release(&world, &["rollback", "1"]).success().unwrap();
    assert_eq!(
        (marked(&world, '*'), marked(&world, '>')),
        (vec!["1".to_owned()], Vec::new())
    );
}

#[tokio::test]
async fn dates_of_a_release_that_cannot_be_are_refused() {
    let world = world().await;
    let twin = with_maximum(&world, "60");
    for (dates, words) in [
        (
            &["--effective-from", "2020-01-01T00:00:00Z"][..],
            "has passed",
        ),
        (
            &["--effective-from", "2999-01-01T00:00:00Z"],
            "more than ten years ahead",
        ),
        (&["--effective-from", "tomorrow"], "in UTC"),
        (
            &[
                "--effective-from",
                &from_now(60),
                "--effective-until",
                &from_now(60),
            ],
            "before it begins",
        ),
        (
            &["--effective-until", "2999-01-01T00:00:00Z"],
            "--effective-from",
        ),
    ] {
        let folder = twin.path().to_str().unwrap();
        for verb in ["plan", "apply"] {
            let command: Vec<&str> = [verb, folder]
                .into_iter()
                .chain(dates.iter().copied())
                .collect();
            is_refused(&release(&world, &command), words);
        }
    }
    assert_eq!(marked(&world, '>'), Vec::<String>::new());
    committed(&world.pay("70", "USD").await).unwrap();
}

/// Takes a component out of the store of a host that does not run.
async fn lose(world: &World, component: &Path) {
    let bytes = std::fs::read(component).unwrap();
    let options = SqliteConnectOptions::new().filename(world.scheme.state().join("rialto.db"));
    let mut connection = options.connect().await.unwrap();
    let deleting = sqlx::query("DELETE FROM components WHERE bytes = ?").bind(bytes);
    let deleted = deleting.execute(&mut connection).await.unwrap();
    assert_eq!(deleted.rows_affected(), 1);
    connection.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_refused_while_a_scheduled_release_cannot_be_prepared() {
    let mut world = world().await;
    let twin = world.scheme.twin().unwrap();
    let other = offers::another_build(&world.scheme, "amount-limits", "later").unwrap();
    let component = twin.component("amount-limits");
    std::fs::copy(other, &component).unwrap();
    twin.lock().unwrap();
    let from = from_now(20);
    schedule(&world, &twin, &["--effective-from", &from])
        .success()
        .unwrap();
    world.host.stop().unwrap();
    lose(&world, &component).await;
    tokio::task::block_in_place(|| world.host.restart()).unwrap();
    // The release before it is in force until the instant, and operators can see what will come.
    let metrics = Metrics::of(&world.host).await.unwrap();
    assert_eq!(metrics.get("rialto_scheduled_release_ready").unwrap(), 0);
    until("requests are refused", SOON, async || {
        let outcome = world.pay("5", "USD").await;
        Ok(refused(&outcome, Step::Lookup, "2003").map_err(|error| error.to_string()))
    })
    .await
    .unwrap();
    assert_eq!(marked(&world, '*'), ["1"]);
    let log = world.host.log();
    assert!(log.contains("a scheduled release is not ready"), "{log}");
    release(&world, &["withdraw", "2"]).success().unwrap();
    until("requests are taken again", SOON, async || {
        let outcome = world.pay("5", "USD").await;
        Ok(committed(&outcome).map_err(|error| error.to_string()))
    })
    .await
    .unwrap();
}

//! Hosts on PostgreSQL: a payment, a standby that takes over, and what a host refuses before it serves anything.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::{Duration, Instant};

use rialto_postgres_server::{Server, shared};
use rialto_simulator::fsp::FailureKind;
use rialto_simulator::ports;
use rialto_tests::front::Front;
use rialto_tests::measured::measured;
use rialto_tests::scenes::committed;
use rialto_tests::waiting::until;
use rialto_tests::wire::Wire;
use rialto_tests::{CliOutput, RunningHost, TestScheme, World, WorldOptions, binaries};
use serde_json::{Value, json};

use crate::contracts::get;
use crate::relayed::passes;
use crate::torment::{self, LIQUIDITY};

/// How often the host that serves is killed under load, unless the variable says otherwise. Even: the first host serves at the
/// end, too.
const KILLS: u32 = 4;
/// Another even number of kills.
const KILLS_VARIABLE: &str = "RIALTO_TEST_KILLS";
/// How often a host is cut off, or killed, in turn. Even, too.
const CUTS: u32 = 2;
/// Longer than a standby takes to start.
const SOON: Duration = Duration::from_secs(60);

/// A demonstration scheme on a database of its own, and the database's name.
pub(crate) fn on_postgres() -> (TestScheme, String) {
    let scheme = TestScheme::demo().unwrap();
    let database = scheme.on_postgres().unwrap();
    (scheme, database)
}

/// The address of a listener that rialto.toml names.
pub(crate) fn address(scheme: &TestScheme, listener: &str) -> String {
    let text = fs::read_to_string(scheme.path().join("rialto.toml")).unwrap();
    let table: toml::Table = text.parse().unwrap();
    let address = table["listeners"][listener]["address"].as_str().unwrap();
    format!("http://{address}")
}

/// Wait until a host says that it is a standby.
pub(crate) async fn is_standby(scheme: &TestScheme) {
    let operators = address(scheme, "operators");
    let host = operators.strip_prefix("http://").unwrap();
    until("the other host is a standby", SOON, async || {
        if tokio::net::TcpStream::connect(host).await.is_err() {
            return Ok(Err("it does not listen".to_owned()));
        }
        let ready = tokio::task::block_in_place(|| get(&operators, "/health/ready"));
        let is = ready.starts_with("HTTP/1.1 503") && ready.contains("standby");
        Ok(is.then_some(()).ok_or(ready))
    })
    .await
    .unwrap();
    let live = tokio::task::block_in_place(|| get(&operators, "/health/live"));
    assert!(live.starts_with("HTTP/1.1 200"), "{live}");
}

/// A host, its standby's folder, and what stands before both.
pub(crate) async fn pair(options: WorldOptions, scheme: TestScheme) -> (World, TestScheme, Front) {
    let front = Front::start().await.unwrap();
    let options = WorldOptions {
        front: Some(front.clone()),
        ..options
    };
    let world = World::of(scheme, &options).await.unwrap();
    let other = world.scheme.for_another_host().unwrap();
    (world, other, front)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_on_postgres_is_in_the_database() {
    let (scheme, database) = on_postgres();
    let mut world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    committed(&world.pay("12.5", "USD").await).unwrap();
    let ready = get(world.host.url("operators").unwrap(), "/health/ready");
    assert!(ready.starts_with("HTTP/1.1 200"), "{ready}");
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    let check = world.host.cli(&["ledger", "check"]).unwrap().success();
    assert!(!check.unwrap().contains("WRONG"));
    assert!(!world.scheme.state().join("rialto.db").exists());
    let sql = "SELECT count(*) FROM rialto.named_documents WHERE component = 'transfers' AND collection = 'transfers'
               AND body::jsonb ->> 'state' = 'COMMITTED'";
    assert_eq!(shared().sql(&database, sql), "1");
    // The release, the operators' log and the history are there after a restart, too.
    let transfer = books.transfers().keys().next().unwrap().clone();
    for command in [
        &["events", &transfer][..],
        &["receipts", &transfer],
        &["release", "list"],
        &["audit"],
    ] {
        let said = world.host.cli(command).unwrap().success().unwrap();
        assert!(!said.is_empty(), "{command:?}");
    }
    world.host.restart().unwrap();
    committed(&world.pay("1", "USD").await).unwrap();
    world.no_complaints().unwrap();
    // What reads a store's folder says what to do instead.
    for (command, words) in [
        (&["backup", "copy"][..], "pg_dump"),
        (&["archive", "list"], "writes no archives"),
    ] {
        let said = world.host.cli(command).unwrap();
        assert_ne!(said.code, 0, "{said}");
        assert!(said.said().contains(words), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_takes_over_from_a_killed_host_and_loses_nothing() {
    let started = Instant::now();
    let mut moments = torment::moments();
    let scheme = torment::scheme();
    scheme.on_postgres().unwrap();
    let (mut world, other, front) = pair(torment::options(), scheme).await;
    let before = world.books().unwrap().balance(LIQUIDITY).unwrap();
    let mut standby = Some(RunningHost::standby(&other).unwrap());
    is_standby(&other).await;
    let mut took = Vec::new();
    let kills = std::env::var(KILLS_VARIABLE).map_or(KILLS, |kills| kills.parse().unwrap());
    let outcomes = torment::torment(&mut world, &mut moments, kills, |world, _, kill| {
        let folder = if kill % 2 == 1 { &world.scheme } else { &other };
        let next = if kill % 2 == 1 { &other } else { &world.scheme };
        let wait = tokio::runtime::Handle::current();
        wait.block_on(is_standby(next));
        world.host.kill().unwrap();
        let killed = Instant::now();
        let mut serving = standby.take().unwrap();
        serving.wait_until_ready().unwrap();
        took.push(killed.elapsed());
        front.lead_to(&serving).unwrap();
        world.host = serving;
        standby = Some(RunningHost::standby(folder).unwrap());
    })
    .await;
    took.sort_unstable();
    let (middle, last) = (took[took.len() / 2], took[took.len() - 1]);
    measured(format_args!(
        "hosts took over from killed ones {kills} times: p50 {middle:?}, at most {last:?}"
    ));
    torment::judge(&world, before, &outcomes, kills, started).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_fails_over_to_its_synchronous_standby_loses_nothing() {
    let started = Instant::now();
    let mut moments = torment::moments();
    let mut primary = Server::new();
    let database = primary.make_database();
    let replica = Server::replica_of(&primary);
    primary.wait_for_replica();
    // What an operator's tool moves: the name of the primary.
    let names = tempfile::tempdir().unwrap();
    fs::set_permissions(names.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let name = names.path().join("primary");
    symlink(primary.folder(), &name).unwrap();
    let scheme = torment::scheme();
    let url = format!("postgres:///{database}?host={}&user=rialto", name.display());
    scheme.on_database(&url).unwrap();
    // Without a standby, which would take over: the lease ends while the database is away.
    let mut world = torment::world(scheme).await;
    let before = world.books().unwrap().balance(LIQUIDITY).unwrap();
    let mut took = Duration::ZERO;
    let outcomes = torment::torment(&mut world, &mut moments, 1, |world, _, _| {
        primary.kill();
        let killed = Instant::now();
        replica.promote();
        fs::remove_file(&name).unwrap();
        symlink(replica.folder(), &name).unwrap();
        let wait = tokio::runtime::Handle::current();
        let paid = wait.block_on(until("a payment on the other database", SOON, async || {
            let outcome = world.pay("1", "USD").await;
            Ok(outcome
                .is_committed()
                .then_some(())
                .ok_or(format!("{outcome:?}")))
        }));
        paid.unwrap();
        took = killed.elapsed();
    })
    .await;
    measured(format_args!(
        "a payment was committed {took:?} after the database's primary was killed"
    ));
    torment::judge(&world, before, &outcomes, 1, started).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_was_frozen_past_its_lease_ends_without_an_act() {
    let (scheme, database) = on_postgres();
    let (mut world, other, front) = pair(WorldOptions::default(), scheme).await;
    let mut standby = RunningHost::standby(&other).unwrap();
    is_standby(&other).await;
    committed(&world.pay("1", "USD").await).unwrap();
    world.host.freeze(true).unwrap();
    standby.wait_until_ready().unwrap();
    front.lead_to(&standby).unwrap();
    reaches(&world).await;
    let mut old = std::mem::replace(&mut world.host, standby);
    committed(&world.pay("2", "USD").await).unwrap();
    let groups_of_old =
        "SELECT count(*) FROM rialto.journal j JOIN rialto.partitions p USING (partition)
                         WHERE j.epoch < p.epoch";
    let before = shared().sql(&database, groups_of_old);
    old.freeze(false).unwrap();
    assert_eq!(old.wait_for_end().unwrap(), 3);
    assert!(
        old.log().contains("another host has taken over"),
        "{}",
        old.log()
    );
    assert_eq!(shared().sql(&database, groups_of_old), before);
    committed(&world.pay("3", "USD").await).unwrap();
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    world.no_complaints().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_is_cut_off_from_its_database_is_replaced_and_loses_nothing() {
    let started = Instant::now();
    let mut moments = torment::moments();
    let scheme = torment::scheme();
    let database = shared().make_database();
    let wire = Wire::to(shared().folder()).await.unwrap();
    let cut = shared().url(&database).replace(
        &*shared().folder().to_string_lossy(),
        &wire.folder().to_string_lossy(),
    );
    scheme.on_database(&cut).unwrap();
    scheme.in_cluster("").unwrap();
    let (mut world, other, front) = pair(torment::options(), scheme).await;
    // The other host's wire is whole.
    other
        .replace("rialto.toml", &cut, &shared().url(&database))
        .unwrap();
    let before = world.books().unwrap().balance(LIQUIDITY).unwrap();
    let mut standby = Some(RunningHost::standby(&other).unwrap());
    let mut took = Vec::new();
    let outcomes = torment::torment(&mut world, &mut moments, CUTS, |world, _, end| {
        let wait = tokio::runtime::Handle::current();
        let is_cut = end % 2 == 1;
        let next = if is_cut { &other } else { &world.scheme };
        wait.block_on(passes(next));
        if is_cut {
            wire.cut(true);
        } else {
            world.host.kill().unwrap();
        }
        let ended = Instant::now();
        let mut serving = standby.take().unwrap();
        serving.wait_until_ready().unwrap();
        took.push(ended.elapsed());
        front.lead_to(&serving).unwrap();
        let mut old = std::mem::replace(&mut world.host, serving);
        if is_cut {
            // It is alive, for whoever would end it otherwise, and no load balancer leads to it.
            let operators = address(&world.scheme, "operators");
            for (path, status) in [("/health/live", "200"), ("/health/ready", "503")] {
                let said = get(&operators, path);
                assert!(said.starts_with(&format!("HTTP/1.1 {status}")), "{said}");
            }
            // What it had sent comes now, and so does the answer that it serves no more.
            wire.cut(false);
            assert_eq!(old.wait_for_end().unwrap(), 3, "{}", old.log());
            standby = Some(RunningHost::standby(&world.scheme).unwrap());
        } else {
            standby = Some(RunningHost::standby(&other).unwrap());
        }
    })
    .await;
    measured(format_args!(
        "hosts took over from one that was cut off, and from one that was killed, in turn after {took:?}"
    ));
    torment::judge(&world, before, &outcomes, CUTS, started).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_is_told_to_stop_hands_over_at_once() {
    let (scheme, _) = on_postgres();
    let (mut world, other, front) = pair(WorldOptions::default(), scheme).await;
    let mut standby = RunningHost::standby(&other).unwrap();
    is_standby(&other).await;
    committed(&world.pay("1", "USD").await).unwrap();
    hosts(&world, "a standby", "standby ").await;
    let status = world.host.cli(&["cluster", "status", "--json"]).unwrap();
    let status: Value = serde_json::from_str(&status.success().unwrap()).unwrap();
    let states: Vec<_> = status["hosts"].as_array().unwrap().iter().collect();
    let states: Vec<_> = states.iter().map(|h| (&h["state"], &h["isThis"])).collect();
    assert_eq!(
        states,
        [
            (&json!("SERVING"), &json!(true)),
            (&json!("STANDBY"), &json!(false))
        ]
    );
    let before = status["partitions"][0]["epoch"].as_u64().unwrap();
    assert_eq!(status["partitions"][0]["owner"], status["hosts"][0]["id"]);
    world.host.stop().unwrap();
    standby.wait_until_ready().unwrap();
    front.lead_to(&standby).unwrap();
    reaches(&world).await;
    world.host = standby;
    // The host that has stopped is no host any more, and nobody is left to take over.
    hosts(&world, "no standby", "NO STANDBY").await;
    let status = world.host.cli(&["cluster", "status", "--json"]).unwrap();
    let status: Value = serde_json::from_str(&status.success().unwrap()).unwrap();
    let after = status["partitions"][0]["epoch"].as_u64().unwrap();
    assert!(after > before, "{after} after {before}");
    assert_eq!(status["hosts"].as_array().unwrap().len(), 1, "{status}");
    let metrics = get(world.host.url("operators").unwrap(), "/metrics");
    assert!(
        metrics.contains("rialto_cluster_hosts{state=\"serving\"} 1"),
        "{metrics}"
    );
    committed(&world.pay("2", "USD").await).unwrap();
    assert_eq!(world.settled_books().await.unwrap().transfers().len(), 2);
}

/// Wait until FSPs reach the host that they are led to. What stands before the hosts has cut their connections to the other
/// one, and their first messages after that may be lost, so each asks for something until it is answered.
pub(crate) async fn reaches(world: &World) {
    let nothing = "00000000-0000-4000-8000-000000000000";
    for fsp in [world.payer(), world.payee()] {
        until("an FSP reaches the other host", SOON, async || {
            let told = fsp.query_transfer(nothing).await.map(|_| ());
            let failure = told.expect_err("there is no such transfer");
            let is_cut = failure.kind == FailureKind::Unreachable;
            Ok((!is_cut).then_some(()).ok_or(failure.to_string()))
        })
        .await
        .unwrap();
    }
}

/// Wait until the host that serves says this of the hosts.
pub(crate) async fn hosts(world: &World, what: &str, words: &str) {
    until(what, SOON, async || {
        let said = world.host.cli(&["cluster", "status"])?.success()?;
        Ok(said.contains(words).then_some(()).ok_or(said))
    })
    .await
    .unwrap();
}

/// What a host says that must not serve.
fn refusal(scheme: &TestScheme) -> String {
    let said = CliOutput::of(binaries::rialto().unwrap(), |c| {
        c.arg("serve").arg(scheme.path());
    })
    .unwrap();
    assert_ne!(said.code, 0, "{said}");
    assert_eq!(said.stdout, "", "it served: {said}");
    said.said()
}

/// A database that SQL has spoilt, as a scheme's.
fn spoilt(sql: &[&str]) -> TestScheme {
    let (scheme, database) = on_postgres();
    for text in sql {
        shared().sql("postgres", &text.replace("{}", &database));
    }
    scheme
}

#[test]
fn a_bad_database_is_refused_with_what_to_do() {
    let server = shared();
    let on = |url: &str| {
        let scheme = TestScheme::demo().unwrap();
        scheme.on_database(url).unwrap();
        scheme
    };
    let port = ports::free().unwrap();
    let replica = Server::replica_of(server);
    let newer = spoilt(&[]);
    let name = |scheme: &TestScheme| {
        let text = fs::read_to_string(scheme.path().join("rialto.toml")).unwrap();
        let rest = text.split_once("url = \"postgres:///").unwrap().1;
        rest.split('?').next().unwrap().to_owned()
    };
    let layouts = "CREATE SCHEMA rialto; CREATE TABLE rialto.layouts (version integer PRIMARY KEY, oldest_host integer,
                   applied_at timestamptz DEFAULT now()); INSERT INTO rialto.layouts VALUES (999, 999)";
    server.sql(&name(&newer), layouts);
    // A clock of the database's own, an hour ahead.
    let wrong_clock = spoilt(&["ALTER DATABASE {} SET search_path = wrong, pg_catalog, public"]);
    server.sql(
        &name(&wrong_clock),
        "CREATE SCHEMA wrong; CREATE FUNCTION wrong.clock_timestamp() RETURNS timestamptz LANGUAGE sql
         AS $$ SELECT pg_catalog.clock_timestamp() + interval '1 hour' $$",
    );
    let asynchronous = spoilt(&[]);
    let url = "url = \"postgres";
    let wanted = format!("synchronous-standby = true\n{url}");
    asynchronous.replace("rialto.toml", url, &wanted).unwrap();
    let archived = spoilt(&[]);
    let keep = format!("keep = {{ history = \"90 days\" }}\n{url}");
    archived.replace("rialto.toml", url, &keep).unwrap();
    let with_store = spoilt(&[]);
    fs::create_dir_all(with_store.state()).unwrap();
    fs::write(with_store.state().join("rialto.db"), "").unwrap();
    let cases = BTreeMap::from([
        (
            "nobody listens",
            (
                on(&format!("postgres://127.0.0.1:{port}/a")),
                "start the server, or correct the host",
            ),
        ),
        (
            "no database",
            (on(&server.url("nothing")), "create the database"),
        ),
        (
            "no TLS",
            (on("postgres://db.example/a"), "sslmode=verify-full"),
        ),
        (
            "a password",
            (on("postgres://a:secret@127.0.0.1/a"), "PGPASSFILE"),
        ),
        (
            "read-only",
            (
                spoilt(&["ALTER DATABASE {} SET default_transaction_read_only = on"]),
                "default_transaction_read_only",
            ),
        ),
        (
            "a replica",
            (on(&replica.url("postgres")), "give the URL of the primary"),
        ),
        ("a newer layout", (newer, "use a newer host")),
        ("another clock", (wrong_clock, "set both by NTP")),
        ("asynchronous", (asynchronous, "synchronous_standby_names")),
        ("archives", (archived, "keeps everything")),
        ("two stores", (with_store, "another folder")),
    ]);
    for (name, (scheme, words)) in &cases {
        let said = refusal(scheme);
        assert!(said.contains(words), "{name}: {said}");
        assert!(!said.contains("secret"), "{name}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_takes_no_second_scheme() {
    let (scheme, database) = on_postgres();
    let host = RunningHost::start(&scheme).unwrap();
    let other = TestScheme::demo().unwrap();
    other.on_database(&shared().url(&database)).unwrap();
    other.edit("name = \"demo\"", "name = \"another\"").unwrap();
    let said = refusal(&other);
    assert!(said.contains("give each scheme its own database"), "{said}");
    drop(host);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_host_without_the_keys_of_the_first_makes_none() {
    let (scheme, _) = on_postgres();
    let host = RunningHost::start(&scheme).unwrap();
    let other = scheme.for_another_host().unwrap();
    let key = other.path().join("secrets/master.key");
    fs::remove_file(&key).unwrap();
    let said = refusal(&other);
    assert!(said.contains("another host of this scheme has"), "{said}");
    assert!(said.contains("copy the files"), "{said}");
    assert!(!key.exists(), "it has made a key of its own");
    drop(host);
}

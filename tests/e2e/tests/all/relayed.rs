//! Hosts that pass requests to each other: any of them can be asked, whoever serves, and a handover refuses nothing.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rialto_grpc_client::api::rialto::participant_lifecycle_management::v0_1::GetParticipantInfoRequest;
use rialto_grpc_client::connection::connect;
use rialto_grpc_client::tonic::Code;
use rialto_grpc_client::{Caller, reflected};
use rialto_simulator::pki::Authority;
use rialto_simulator::{Fsp, PaymentOutcome, PaymentRequest, ports};
use rialto_tests::front::Front;
use rialto_tests::measured::measured;
use rialto_tests::scenes::committed;
use rialto_tests::waiting::until;
use rialto_tests::world::PAYEE;
use rialto_tests::{RunningHost, TestScheme, World, WorldOptions};
use serde_json::Value;

use crate::contracts::get;
use crate::grpc::support::{ALL, Clients, listen, token};
use crate::postgres::{address, hosts, on_postgres, pair, reaches};
use crate::torment;

/// Payments at a time while a host hands over.
const AT_A_TIME: usize = 8;
/// How long payments run before and after it.
const AROUND: Duration = Duration::from_secs(1);
/// Longer than a standby takes to start.
const SOON: Duration = Duration::from_secs(60);

/// A host that serves, and one that does not, with addresses for each other.
async fn two(options: WorldOptions) -> (World, TestScheme, RunningHost, Front) {
    two_of(on_postgres().0, options).await
}

async fn two_of(
    scheme: TestScheme,
    options: WorldOptions,
) -> (World, TestScheme, RunningHost, Front) {
    scheme.in_cluster("").unwrap();
    // An earlier version does not say how far a standby has followed.
    let is_of_today = options.program.is_none();
    let (world, other, front) = pair(options, scheme).await;
    let standby = RunningHost::standby(&other).unwrap();
    hosts(
        &world,
        "a standby that has prepared the release",
        "release 1 prepared, clock",
    )
    .await;
    if is_of_today {
        hosts(&world, "a standby that follows", "groups behind").await;
    }
    passes(&other).await;
    (world, other, standby, front)
}

/// Where a host takes messages of FSPs, by its rialto.toml.
fn fsps(scheme: &TestScheme) -> SocketAddr {
    let url = address(scheme, "fsps");
    url.strip_prefix("http://").unwrap().parse().unwrap()
}

/// Wait until a host says that it passes requests to the one that serves.
pub(crate) async fn passes(scheme: &TestScheme) {
    let operators = address(scheme, "operators");
    let host = operators.strip_prefix("http://").unwrap();
    until("the other host passes requests", SOON, async || {
        if tokio::net::TcpStream::connect(host).await.is_err() {
            return Ok(Err("it does not listen".to_owned()));
        }
        let ready = tokio::task::block_in_place(|| get(&operators, "/health/ready"));
        let is = ready.starts_with("HTTP/1.1 200") && ready.contains("passes requests");
        Ok(is.then_some(()).ok_or(ready))
    })
    .await
    .unwrap();
}

/// Lead FSPs to a host.
async fn lead_to(front: &Front, scheme: &TestScheme, world: &World) {
    front.lead_to_address(fsps(scheme));
    reaches(world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_does_not_serve_takes_requests_for_the_one_that_does() {
    let (world, other, standby, front) = two(WorldOptions::default()).await;
    lead_to(&front, &other, &world).await;
    for amount in ["12.5", "1"] {
        committed(&world.pay(amount, "USD").await).unwrap();
    }
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.transfers().len(), 2);
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    // The operators' API, with its own refusals, and the APIs' documents are passed as well.
    let operators = address(&other, "operators");
    let refused = tokio::task::block_in_place(|| get(&operators, "/releases"));
    assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
    let document = tokio::task::block_in_place(|| get(&operators, "/openapi"));
    assert!(document.starts_with("HTTP/1.1 200"), "{document}");
    world.no_complaints().unwrap();
    drop(standby);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_are_passed_to_the_host_that_serves() {
    let scheme = TestScheme::demo().unwrap();
    let free = ports::free().unwrap();
    let serves = ALL.replace("    \"hostile-context/*\",\n", "");
    let serves = serves.replace("    \"hostile-context/happened\",\n", "");
    listen(&scheme, &format!("127.0.0.1:{free}"), &serves);
    scheme.on_postgres().unwrap();
    let (world, other, _standby, _front) = two_of(scheme, WorldOptions::default()).await;
    let url = address(&other, "grpc");
    let caller = Caller::with_token(&token(&world.scheme));
    let clients = Clients::over(connect(&url, caller, None).await.unwrap());
    let listed = reflected::methods(clients.connection.clone()).await;
    let listed = listed.unwrap();
    assert!(listed.len() > 4, "{listed:?}");
    let about = || GetParticipantInfoRequest {
        participant: "payerfsp".to_owned(),
    };
    let ask = async |clients: &Clients| {
        let mut participants = clients.participants.clone();
        let told = participants.get_participant_info(about()).await;
        told.map(|told| told.into_inner())
    };
    let passed = ask(&clients).await.unwrap();
    assert!(passed.result.is_some());
    let own = Clients::of(&world.host, &world.scheme).await;
    assert_eq!(passed, ask(&own).await.unwrap());
    // Whoever may not call is told so by the host that serves.
    let nobody = Clients::over(connect(&url, Caller::nobody(), None).await.unwrap());
    let refused = ask(&nobody).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated, "{refused}");
    world.no_complaints().unwrap();
}

/// What `[cluster]` has beside the address, with the files of [`certify`].
const CERTIFIED: &str = "certificate = \"secrets/host.pem\"\nkey = \"secrets/host.key\"\nca = \"secrets/hosts-ca.pem\"\n";

/// Give a host a certificate of this authority, and have it believe no other one.
fn certify(scheme: &TestScheme, authority: &Authority) {
    let folder = scheme.path().join("secrets");
    if !folder.exists() {
        fs::DirBuilder::new().mode(0o700).create(&folder).unwrap();
    }
    let issued = authority.issue("a host").unwrap();
    for (name, text) in [
        ("hosts-ca.pem", authority.certificate()),
        ("host.pem", issued.certificate),
        ("host.key", issued.key),
    ] {
        let next = folder.join("next");
        fs::write(&next, text).unwrap();
        fs::set_permissions(&next, fs::Permissions::from_mode(0o600)).unwrap();
        fs::rename(&next, folder.join(name)).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_read_new_certificates_while_they_run() {
    let (scheme, _) = on_postgres();
    let (before, after) = ["now", "later"]
        .map(|name| Authority::new(name).unwrap())
        .into();
    certify(&scheme, &before);
    scheme.in_cluster(CERTIFIED).unwrap();
    let (world, other, front) = pair(WorldOptions::default(), scheme).await;
    certify(&world.scheme, &after);
    until("the host has read its new files", SOON, async || {
        let log = world.host.cli(&["audit", "--json"])?.success()?;
        let read = log.lines().filter(|line| {
            line.contains("tls-files") && line.contains("\"cluster\"") && line.contains("SHA-256")
        });
        Ok((read.count() > 0).then_some(()).ok_or(log))
    })
    .await
    .unwrap();
    // One that knows only the new authority passes requests to it.
    certify(&other, &after);
    let standby = RunningHost::standby(&other).unwrap();
    passes(&other).await;
    lead_to(&front, &other, &world).await;
    committed(&world.pay("1", "USD").await).unwrap();
    drop(standby);
}

/// Pay again and again until told to stop.
async fn pay_on(
    payer: Fsp,
    request: PaymentRequest,
    stops: Arc<AtomicBool>,
) -> Vec<PaymentOutcome> {
    let mut outcomes = Vec::new();
    while !stops.load(Ordering::Relaxed) {
        outcomes.push(payer.pay(&request).await);
    }
    outcomes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handover_under_load_refuses_nothing() {
    let options = WorldOptions {
        parties_each: AT_A_TIME,
        ..torment::options()
    };
    let (mut world, _other, _front) = handed_over(on_postgres().0, options).await;
    let log = world
        .host
        .cli(&["audit", "--json"])
        .unwrap()
        .success()
        .unwrap();
    let entry = log
        .lines()
        .find(|line| line.contains("cluster-handover"))
        .unwrap();
    let entry: Value = serde_json::from_str(entry).unwrap();
    assert_eq!(entry["note"], "an upgrade", "{entry}");
    world.no_complaints().unwrap();
    world.host.stop().unwrap();
}

/// The variable that names the folder of an earlier version: its repository, with what it builds.
const EARLIER: &str = "RIALTO_EARLIER";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs an earlier version: `cargo xtask test --upgrade-from COMMIT` builds it"]
async fn an_upgrade_from_an_earlier_version_refuses_nothing() {
    let earlier = PathBuf::from(std::env::var_os(EARLIER).unwrap());
    let scheme = TestScheme::demo_of(&earlier.join("schemes/demo")).unwrap();
    scheme.on_postgres().unwrap();
    let options = WorldOptions {
        parties_each: AT_A_TIME,
        program: Some(earlier.join("target/debug/rialto")),
        ..torment::options()
    };
    let (world, other, _front) = handed_over(scheme, options).await;
    // The hosts are new ones, with the old release. The new one follows.
    let new = TestScheme::demo().unwrap();
    for entry in fs::read_dir(new.path().join("components")).unwrap() {
        let from = entry.unwrap().path();
        let to = other
            .path()
            .join("components")
            .join(from.file_name().unwrap());
        fs::copy(from, to).unwrap();
    }
    rialto_manifest::lock(other.path()).unwrap();
    let folder = other.path().to_str().unwrap();
    let applied = world.host.cli(&["release", "apply", folder]).unwrap();
    applied.success().unwrap();
    committed(&world.pay("4", "USD").await).unwrap();
    world.no_complaints().unwrap();
}

/// Payments while a host hands over to one of the version under test. Returns the world with
/// that one, its folder, and what stands before the hosts.
async fn handed_over(scheme: TestScheme, options: WorldOptions) -> (World, TestScheme, Front) {
    let (mut world, other, mut standby, front) = two_of(scheme, options).await;
    // Nobody is led elsewhere: the host that hands over goes on taking requests.
    front.lead_to(&world.host).unwrap();
    let stops = Arc::new(AtomicBool::new(false));
    let payers: Vec<_> = (0..AT_A_TIME)
        .map(|n| {
            let party = world.parties(PAYEE)[n].clone();
            let request = PaymentRequest::new(party, "1", "USD");
            tokio::spawn(pay_on(world.payer().clone(), request, stops.clone()))
        })
        .collect();
    tokio::time::sleep(AROUND).await;
    let begun = Instant::now();
    let said = world
        .host
        .cli(&["cluster", "handover", "--note", "an upgrade"])
        .unwrap();
    let said = said.success().unwrap();
    assert!(said.contains("ready: "), "{said}");
    tokio::task::block_in_place(|| standby.wait_until_ready()).unwrap();
    measured(format_args!(
        "another host served {:?} after the command began",
        begun.elapsed()
    ));
    tokio::time::sleep(AROUND).await;
    stops.store(true, Ordering::Relaxed);
    let mut outcomes = Vec::new();
    for payer in payers {
        outcomes.extend(payer.await.unwrap());
    }
    let slowest = outcomes.iter().map(|one| one.total_ms).fold(0.0, f64::max);
    measured(format_args!(
        "the slowest of {} payments around a handover took {slowest:.0} ms",
        outcomes.len()
    ));
    for outcome in &outcomes {
        committed(outcome).unwrap();
    }
    // The old host passes requests, and takes over no more. It can be stopped.
    let mut old = std::mem::replace(&mut world.host, standby);
    hosts(&world, "the old host passes", "passes   ").await;
    committed(&world.pay("2", "USD").await).unwrap();
    lead_to(&front, &other, &world).await;
    old.stop().unwrap();
    hosts(&world, "the old host is gone", "NO STANDBY").await;
    committed(&world.pay("3", "USD").await).unwrap();
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.transfers().len(), outcomes.len() + 2);
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    (world, other, front)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_waits_while_no_host_serves() {
    let (mut world, other, mut standby, front) = two(torment::options()).await;
    committed(&world.pay("1", "USD").await).unwrap();
    lead_to(&front, &other, &world).await;
    world.host.kill().unwrap();
    let outcome = world.pay("2", "USD").await;
    committed(&outcome).unwrap();
    measured(format_args!(
        "a payment that began when the host was killed took {:.0} ms",
        outcome.total_ms
    ));
    standby.wait_until_ready().unwrap();
    world.host = standby;
    assert_eq!(world.settled_books().await.unwrap().transfers().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_that_are_connected_to_each_other_end_well() {
    let (mut world, other, mut standby, front) = two(WorldOptions::default()).await;
    lead_to(&front, &other, &world).await;
    committed(&world.pay("1", "USD").await).unwrap();
    // First the one that passes requests, and then the one that took them over the same connection.
    standby.stop().unwrap();
    let again = RunningHost::standby(&other).unwrap();
    passes(&other).await;
    lead_to(&front, &other, &world).await;
    committed(&world.pay("2", "USD").await).unwrap();
    world.host.stop().unwrap();
    let ended = [standby.log(), world.host.log()];
    let mut next = std::mem::replace(&mut world.host, again);
    world.host.wait_until_ready().unwrap();
    committed(&world.pay("3", "USD").await).unwrap();
    for log in ended {
        assert!(!log.contains("panicked"), "{log}");
    }
    next.kill().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handover_without_a_standby_is_refused() {
    let (scheme, _) = on_postgres();
    let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    let said = world.host.cli(&["cluster", "handover"]).unwrap();
    assert_ne!(said.code, 0);
    assert!(
        said.said().contains("rialto.toml has no [cluster]"),
        "{said}"
    );
    drop(world);
    let (scheme, _) = on_postgres();
    scheme.in_cluster("").unwrap();
    let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    let said = world.host.cli(&["cluster", "handover"]).unwrap();
    assert_ne!(said.code, 0);
    assert!(said.said().contains("no standby with [cluster]"), "{said}");
    committed(&world.pay("1", "USD").await).unwrap();
}

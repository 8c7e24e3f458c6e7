//! The power is cut again and again under load, and unsynced data is lost. The host must keep all that it
//! acknowledged.

use std::time::{Duration, Instant};

use rand::RngExt as _;
use rand::rngs::StdRng;
use rialto_power_cut::{PowerCut, Survives};
use rialto_tests::{RunningHost, TestScheme, World};

use crate::torment::{self, LIQUIDITY};

/// How often the power goes under load; the store by itself has more of it (`store-sqlite`).
const CUTS: u32 = 15;
/// Another number of cuts, to look longer.
const CUTS_VARIABLE: &str = "RIALTO_TEST_CUTS";
/// How often it goes while a host starts for the first time.
const FIRST_STARTS: u32 = 8;
/// The number of changes and syncs after which the disk fails, if it fails before the host.
const LAST_OPERATIONS: std::ops::Range<u64> = 0..40;
/// How long a host that serves payments may take until it has written so much.
const WRITES_WITHIN: Duration = Duration::from_secs(60);

/// Keep a scheme's store on a disk that may lose its power.
fn on_disk(scheme: &TestScheme, disk: &PowerCut) {
    let path = disk.path().join("state");
    let path = format!("path = \"{}\"", path.display());
    scheme
        .replace("rialto.toml", "path = \"state\"", &path)
        .unwrap();
}

fn survives(moments: &mut StdRng) -> Survives {
    match moments.random_range(0..4) {
        0 => Survives::Nothing,
        1 => Survives::Everything,
        _ => Survives::Some,
    }
}

/// End the host and cut the power: the host first, or the disk a moment before it.
fn cut(world: &mut World, disk: &mut PowerCut, moments: &mut StdRng) {
    if moments.random() {
        disk.die_after(moments.random_range(LAST_OPERATIONS));
        let began = Instant::now();
        while !disk.is_dead() {
            assert!(began.elapsed() < WRITES_WITHIN, "the host writes nothing");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    world.host.kill().unwrap();
    disk.cut(survives(moments), moments.random()).unwrap();
    world.host.restart().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn power_cut_under_load_keeps_what_was_acknowledged() {
    let started = Instant::now();
    let mut moments = torment::moments();
    let mut disk = PowerCut::mount().unwrap();
    let scheme = torment::scheme();
    on_disk(&scheme, &disk);
    let mut world = torment::world(scheme).await;
    let before = world.books().unwrap().balance(LIQUIDITY).unwrap();
    let cuts = std::env::var(CUTS_VARIABLE).map_or(CUTS, |text| text.parse().unwrap());
    let cut = |world: &mut World, moments: &mut StdRng, _| cut(world, &mut disk, moments);
    let outcomes = torment::torment(&mut world, &mut moments, cuts, cut).await;
    torment::judge(&world, before, &outcomes, cuts, started).await;
    // The disk cannot be unmounted under it.
    world.host.kill().unwrap();
}

#[test]
fn host_recovers_from_a_power_cut_at_first_start() {
    let mut moments = torment::moments();
    for start in 0..FIRST_STARTS {
        let mut disk = PowerCut::mount().unwrap();
        let scheme = TestScheme::demo().unwrap();
        on_disk(&scheme, &disk);
        // Later ones come after what is written once: the store, the keys, the tokens, the release.
        let life = moments.random_range(0..40 << start);
        disk.die_after(life);
        let (survives, seed) = (survives(&mut moments), moments.random());
        match RunningHost::start(&scheme) {
            Ok(mut host) => host.kill().unwrap(),
            Err(ended) => assert!(disk.is_dead(), "{ended:?}"),
        }
        disk.cut(survives, seed).unwrap();
        let again = RunningHost::start(&scheme);
        let mut host = again
            .unwrap_or_else(|e| panic!("after {life} operations, {survives:?} with {seed}: {e:?}"));
        host.cli(&["release", "list"]).unwrap().success().unwrap();
        host.kill().unwrap();
    }
}

//! The host is killed again and again under load. It must keep all that it acknowledged.

use std::time::{Duration, Instant};

use rand::RngExt as _;

use crate::torment::{self, LIQUIDITY};

/// How often the host is killed.
const KILLS: u32 = 50;
/// After some kills, the host is killed once more during its start: before it has read the pending work, in the
/// middle, or just when it is ready.
const STILLBORN_EVERY: u32 = 4;
/// How long such a host lives, in milliseconds.
const STILLBORN_MS: std::ops::Range<u64> = 1..250;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn host_killed_under_load_keeps_what_it_acknowledged() {
    let started = Instant::now();
    let mut moments = torment::moments();
    let mut world = torment::world(torment::scheme()).await;
    let before = world.books().unwrap().balance(LIQUIDITY).unwrap();
    let outcomes = torment::torment(&mut world, &mut moments, KILLS, |world, moments, kill| {
        if kill.is_multiple_of(STILLBORN_EVERY) {
            let life = Duration::from_millis(moments.random_range(STILLBORN_MS));
            world.host.start_and_kill(life).unwrap();
        }
        world.host.restart().unwrap();
    })
    .await;
    torment::judge(&world, before, &outcomes, KILLS, started).await;
}

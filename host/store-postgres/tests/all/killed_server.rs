//! The server is killed at any moment. Nothing acknowledged is lost, nothing is there twice, and no half of a group is.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rand::RngExt as _;
use rialto_engine::store::{Store as _, StoreError};
use rialto_store_postgres::{PostgresStore, Settings, Submitted};

use crate::database::{Database, settings};
use crate::written;
use rialto_postgres_server::Server;

const KILLS: usize = 6;
/// The longest that a server lives after it answers.
const LIFE_MAX: Duration = Duration::from_millis(300);
/// Groups that are submitted before the first of them is durable.
const AHEAD: usize = 3;

/// Wait for the moment of death, which is what these tests vary.
fn live() {
    std::thread::sleep(LIFE_MAX.mul_f64(rand::rng().random()));
}

/// Write groups from this position on until one fails or it is over. Returns the last position that is durable.
fn write(store: &PostgresStore, last: u64, over: &AtomicBool) -> (u64, Option<StoreError>) {
    let (mut last, mut next) = (last, last + 1);
    let mut on_their_way: VecDeque<Submitted> = VecDeque::new();
    loop {
        let goes_on = !over.load(Ordering::Acquire);
        while goes_on && on_their_way.len() < AHEAD {
            match store.submit(&written::at(next)) {
                Ok(submitted) => on_their_way.push_back(submitted),
                Err(error) => return (last, Some(error)),
            }
            next += 1;
        }
        let Some(first) = on_their_way.pop_front() else {
            return (last, None);
        };
        if let Err(error) = first.wait() {
            return (last, Some(error));
        }
        last += 1;
    }
}

#[test]
fn a_host_outlives_its_server() {
    let mut server = Server::new();
    let name = Database::on(&server).name.clone();
    let patient = Settings {
        outage_max: Duration::from_secs(60),
        ..settings()
    };
    let store = PostgresStore::open(&server.url(&name), patient).unwrap();
    store.recover().unwrap();
    let over = AtomicBool::new(false);
    let (last, error) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| write(&store, 0, &over));
        for _ in 0..KILLS {
            live();
            server.kill();
            server.restart();
        }
        live();
        over.store(true, Ordering::Release);
        writer.join().unwrap()
    });
    assert_eq!(error, None);
    drop(store);
    let store = PostgresStore::open(&server.url(&name), settings()).unwrap();
    assert_eq!(written::judge(&store, last..=last), last);
    println!("{last} groups over {KILLS} deaths of the server");
}

#[test]
fn a_host_that_gives_up_has_lost_nothing_acknowledged() {
    let mut server = Server::new();
    let name = Database::on(&server).name.clone();
    let mut last = 0;
    for _ in 0..KILLS {
        let impatient = Settings {
            outage_max: Duration::ZERO,
            // The host before could not hand its lease over.
            owner: "the only host".to_owned(),
            ..settings()
        };
        let store = PostgresStore::open(&server.url(&name), impatient).unwrap();
        // Those on their way may have been written without a word about it.
        last = written::judge(&store, last..=last + AHEAD as u64);
        let never = AtomicBool::new(false);
        let (acknowledged, error) = std::thread::scope(|scope| {
            let writer = scope.spawn(|| write(&store, last, &never));
            live();
            server.kill();
            writer.join().unwrap()
        });
        let error = error.expect("the server was killed");
        assert!(matches!(error, StoreError::Failed(_)), "{error}");
        last = acknowledged;
        drop(store);
        server.restart();
    }
    println!("{last} groups in {KILLS} lives");
}

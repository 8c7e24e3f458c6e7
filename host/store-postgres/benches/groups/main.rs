//! How many groups a second one writer puts into PostgreSQL, by each of the ways that were weighed, on a socket and over a
//! network with a round trip of a millisecond. Decision 025 says which one the store takes.
//!
//! `cargo bench --package rialto-store-postgres --bench groups`

#![allow(
    clippy::unwrap_used,
    reason = "a failed unwrap in a benchmark is a failed benchmark"
)]
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

mod distance;
mod groups;
mod other;

use std::collections::VecDeque;
use std::task::Poll;
use std::time::{Duration, Instant};

use rialto_engine::store::{Group, Store as _};
use rialto_postgres_server::Server;
use rialto_store_postgres::{PostgresStore, Settings};
use sqlx::{Connection as _, PgConnection};

use groups::{DOCUMENTS_OF_A_GROUP, Groups};
use other::{Other, Rows};

/// Groups of a measurement.
const GROUPS: usize = 250;
/// Groups before it.
const WARM_UP: usize = 40;
/// Times that all is measured.
const ROUNDS: usize = 3;
/// One way over the network.
const ONE_WAY: Duration = Duration::from_micros(500);

/// A way to write groups.
#[derive(Clone, Copy, Debug)]
enum Way {
    Sqlx { ahead: usize },
    SqlxCtes,
    TokioFunction { ahead: usize },
    TokioPipelined { ahead: usize },
}

const WAYS: [(&str, Way); 7] = [
    ("sqlx, function, one connection", Way::Sqlx { ahead: 1 }),
    ("sqlx, function, two connections", Way::Sqlx { ahead: 3 }),
    ("sqlx, one statement with CTEs", Way::SqlxCtes),
    ("tokio-postgres, function", Way::TokioFunction { ahead: 1 }),
    (
        "tokio-postgres, function, next one sent ahead",
        Way::TokioFunction { ahead: 3 },
    ),
    (
        "tokio-postgres, statements at once",
        Way::TokioPipelined { ahead: 1 },
    ),
    (
        "tokio-postgres, statements at once, ahead",
        Way::TokioPipelined { ahead: 3 },
    ),
];

fn settings() -> Settings {
    Settings {
        lease: Duration::from_secs(600),
        renew_every: Duration::from_secs(100),
        ..Settings::default()
    }
}

/// Seconds for the groups after the warm-up.
fn measured(mut write: impl FnMut(usize)) -> f64 {
    for n in 0..WARM_UP {
        write(n);
    }
    let began = Instant::now();
    for n in WARM_UP..WARM_UP + GROUPS {
        write(n);
    }
    began.elapsed().as_secs_f64()
}

fn by_store(store: &PostgresStore, groups: &[Group], ahead: usize) -> f64 {
    let mut on_their_way = VecDeque::new();
    measured(|n| {
        on_their_way.push_back(store.submit(&groups[n]).unwrap());
        if on_their_way.len() == ahead {
            on_their_way.pop_front().unwrap().wait().unwrap();
        }
    })
}

fn by_other(config: &str, epoch: i64, rows: &'static [Rows], way: Way) -> f64 {
    let runtime = runtime();
    let other: &Other = Box::leak(Box::new(runtime.block_on(Other::connect(config))));
    let (ahead, pipelined) = match way {
        Way::TokioPipelined { ahead } => (ahead, true),
        Way::TokioFunction { ahead } => (ahead, false),
        Way::Sqlx { .. } | Way::SqlxCtes => unreachable!("those are not of this client"),
    };
    let mut on_their_way = VecDeque::new();
    measured(|n| {
        let seq = n as i64 + 1;
        // Polled in this order: a spawned task may be overtaken.
        let mut writing: std::pin::Pin<Box<dyn Future<Output = ()> + Send>> = if pipelined {
            Box::pin(other.pipelined(&rows[n], epoch, seq))
        } else {
            Box::pin(other.function(&rows[n], epoch, seq))
        };
        let sent = std::future::poll_fn(|context| Poll::Ready(writing.as_mut().poll(context)));
        // It may have been answered meanwhile.
        if runtime.block_on(sent).is_pending() {
            on_their_way.push_back(writing);
        }
        if on_their_way.len() == ahead {
            runtime.block_on(on_their_way.pop_front().unwrap());
        }
    })
}

fn by_ctes(url: &str, epoch: i64, rows: &[Rows]) -> f64 {
    let runtime = runtime();
    let connecting = PgConnection::connect(url);
    let mut connection = runtime.block_on(connecting).unwrap();
    let settings =
        "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
        SET plan_cache_mode = force_generic_plan";
    let set = sqlx::Executor::execute(&mut connection, settings);
    runtime.block_on(set).unwrap();
    measured(|n| {
        let seq = n as i64 + 1;
        runtime.block_on(other::with_ctes(&mut connection, &rows[n], epoch, seq));
    })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap()
}

/// Groups a second.
fn rate(
    server: &Server,
    name: &str,
    port: Option<u16>,
    way: Way,
    groups: &[Group],
    rows: &'static [Rows],
) -> f64 {
    server.sql(
        "postgres",
        &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"),
    );
    server.sql("postgres", &format!("CREATE DATABASE {name}"));
    server.sql("postgres", "CHECKPOINT");
    let (url, config) = match port {
        None => (
            server.url(name),
            format!(
                "host={} user=rialto dbname={name}",
                server.folder().display()
            ),
        ),
        Some(port) => (
            format!("postgres://rialto@127.0.0.1:{port}/{name}"),
            format!("host=127.0.0.1 port={port} user=rialto dbname={name}"),
        ),
    };
    let store = PostgresStore::open(&url, settings()).unwrap();
    store.recover().unwrap();
    let epoch = store.lease().unwrap().epoch as i64;
    let seconds = match way {
        Way::Sqlx { ahead } => by_store(&store, groups, ahead),
        Way::SqlxCtes => by_ctes(&url, epoch, rows),
        Way::TokioFunction { .. } | Way::TokioPipelined { .. } => {
            by_other(&config, epoch, rows, way)
        }
    };
    GROUPS as f64 / seconds
}

fn main() {
    let server = Server::new();
    let mut maker = Groups::new();
    let groups: Vec<Group> = (0..WARM_UP + GROUPS).map(|_| maker.next()).collect();
    let rows: &'static [Rows] = groups.iter().map(Rows::of).collect::<Vec<_>>().leak();
    let port = distance::port(&server.folder().join(".s.PGSQL.5432"), ONE_WAY);
    for (place, port) in [
        ("on a socket", None),
        ("with a round trip of 1 ms", Some(port)),
    ] {
        let mut rates = vec![Vec::new(); WAYS.len()];
        for _ in 0..ROUNDS {
            for (n, (_, way)) in WAYS.iter().enumerate() {
                rates[n].push(rate(&server, "bench", port, *way, &groups, rows));
            }
        }
        println!("{place}: median and best of {ROUNDS} rounds, groups/s and documents/s");
        for ((name, _), rates) in WAYS.iter().zip(&mut rates) {
            rates.sort_by(f64::total_cmp);
            let (median, best) = (rates[ROUNDS / 2], rates[ROUNDS - 1]);
            let documents = DOCUMENTS_OF_A_GROUP as f64;
            println!(
                "  {name:48} {median:6.0} ({best:6.0}) groups/s  {:7.0} documents/s",
                median * documents
            );
        }
    }
}

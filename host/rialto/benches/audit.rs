//! What the audit log can do with a million entries: how fast entries are written, signed, searched and verified.
//!
//! Entries have the size of those of a transfer, and are written a hundred in a group. The key is in software: a checkpoint
//! has one signature, whatever its number of entries.
//!
//! `cargo bench --package rialto --bench audit`; `RIALTO_BENCH_ENTRIES` is another number of entries.

#![allow(
    clippy::unwrap_used,
    reason = "a failed unwrap in a benchmark is a failed benchmark"
)]
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use rialto::audit_key::AuditKey;
use rialto::audit_reader::AuditReader;
use rialto::checkpoints::{Checkpoints, Signed};
use rialto_audit::{Actor, ActorKind, Entry};
use rialto_components::audit_log::{AuditLog as _, Filter};
use rialto_engine::store::{AuditEntry, Group, Store as _};
use rialto_engine::time::SystemClock;
use rialto_engine::{Lsn, Timestamp};
use rialto_manifest::Operator;
use rialto_store_sqlite::SqliteStore;

const ENTRIES: u64 = 1_000_000;
/// Entries of a group.
const TOGETHER: u64 = 100;
/// The instant of the first entry, and milliseconds between two of them.
const BEGAN: u64 = 1_800_000_000_000;
const APART: u64 = 100;
/// How often one subject is searched for.
const SEARCHES: u32 = 5;

const DOCUMENT: &str = r#"
[listeners.operators]
address = "127.0.0.1:0"
[store]
path = "state"
[keys]
master-key = { file = "secrets/master.key" }
[keys.providers.software]
kind = "software"
[audit]
origin = "bench.example/audit"
provider = "software"
reference = "secrets/audit.reference"
"#;

fn main() {
    let count = std::env::var("RIALTO_BENCH_ENTRIES");
    let count = count.map_or(ENTRIES, |count| count.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let scheme = folder.path();
    std::fs::write(scheme.join("rialto.toml"), DOCUMENT).unwrap();
    let store = SqliteStore::open(&scheme.join("state")).unwrap();
    store.recover().unwrap();

    let begun = Instant::now();
    for first in (0..count).step_by(TOGETHER as usize) {
        store.write(&group(first, count)).unwrap();
    }
    tell("written", count, begun);
    // What is in the journal comes into the tables at the end.
    let begun = Instant::now();
    drop(store);
    println!(
        "{:<10} {:>10.2} s for what was in the journal",
        "flushed",
        begun.elapsed().as_secs_f64()
    );

    let store = Arc::new(SqliteStore::open(&scheme.join("state")).unwrap());
    store.recover().unwrap();
    let operator = Operator::parse(DOCUMENT).unwrap();
    let keys = rialto::keys::open(&operator, scheme).unwrap();
    let key = AuditKey::open(&operator, scheme, &keys).unwrap().unwrap();
    let public = AuditKey::all(Some(&key));
    let (clock, signed) = (Arc::new(SystemClock::default()), Arc::<Signed>::default());
    let mut checkpoints = Checkpoints::new(
        store.clone(),
        clock,
        key,
        ("bench.example/audit", None),
        signed,
    );
    let begun = Instant::now();
    checkpoints.look().unwrap();
    tell("signed", count, begun);

    let reader = AuditReader::new(store.clone(), public, folder.path().join("archives"), None);
    let begun = Instant::now();
    for n in 1..=SEARCHES {
        let place = count / u64::from(SEARCHES) * u64::from(n) - 1;
        search(&reader, place);
    }
    tell("searched", count * u64::from(SEARCHES), begun);
    let begun = Instant::now();
    let filter = Filter {
        since: Some(BEGAN + (count - 100) * APART),
        until: None,
        texts: Vec::new(),
    };
    let found = all(&reader, &filter);
    println!(
        "{:<10} {:>10.2} ms for the last {found} entries, by time",
        "searched",
        begun.elapsed().as_secs_f64() * 1e3
    );
    drop((reader, checkpoints, store));

    let begun = Instant::now();
    verify(scheme);
    tell("verified", count, begun);
}

/// So many entries from this one on.
fn group(first: u64, count: u64) -> Group {
    let entries = first..count.min(first + TOGETHER);
    Group {
        lsn: Lsn(first + TOGETHER),
        turns: 1,
        next_id: first + TOGETHER + 1,
        audit: entries.map(entry).collect(),
        ..Group::default()
    }
}

fn subject(place: u64) -> String {
    format!("transfer:7c23e80c-d078-4077-8263-{place:012x}")
}

fn entry(place: u64) -> AuditEntry {
    let at = BEGAN + place * APART;
    let entry = Entry {
        at,
        actor: Actor {
            kind: ActorKind::Component,
            name: "transfers".to_owned(),
            operator: String::new(),
            credential: String::new(),
        },
        writer: "transfers".to_owned(),
        action: "transfer.committed".to_owned(),
        about: subject(place),
        outcome: "done".to_owned(),
        note: String::new(),
        details: Some(serde_json::json!({
            "payer": "payerfsp", "payee": "payeefsp", "currency": "USD", "amount": "12.5",
            "completed": "2027-01-15T08:00:00.000Z", "batch": "DEFERRED_NET.USD.2027.01.15.08.00.000001",
        })),
        sealed: String::new(),
        release: Some(1),
        turn: Some(place * 43),
        trace: format!("00-{place:032x}-{place:016x}-01"),
    };
    AuditEntry {
        at: Timestamp(at),
        body: serde_json::to_string(&entry).unwrap().into(),
    }
}

fn tell(what: &str, entries: u64, begun: Instant) {
    let took = begun.elapsed();
    println!(
        "{what:<10} {:>10.0} entries/s, {entries} in {:.2} s",
        entries as f64 / took.as_secs_f64(),
        took.as_secs_f64()
    );
}

/// Find one entry by its subject among all.
fn search(reader: &AuditReader, place: u64) {
    let filter = Filter {
        since: None,
        until: None,
        texts: vec![format!("\"about\":\"{}\"", subject(place))],
    };
    assert_eq!(all(reader, &filter), 1);
}

/// How many entries a filter finds in the whole log, page by page.
fn all(reader: &AuditReader, filter: &Filter) -> usize {
    let (mut found, mut first) = (0, 0);
    loop {
        let page = reader.search(filter, first, 100).unwrap();
        found += page.entries.len();
        match page.next {
            Some(next) => first = next,
            None => return found,
        }
    }
}

/// Run the command that an operator runs.
fn verify(scheme: &Path) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rialto"));
    let status = command
        .args(["audit", "verify", "--at"])
        .arg(scheme)
        .status();
    assert!(status.unwrap().success());
}

//! What the two parts of the store that have one thread each can do alone, in payments a second: the committer's
//! write of groups, and the flush of the journal into the tables. Then how long a start takes after a crash that has left a
//! million groups in the journal.
//!
//! A payment is what one leaves behind: documents, requests, receipts, history, in the numbers and sizes of
//! `docs/performance.md`. Groups have four payments, as under full load. Nothing else runs, so these figures are
//! ceilings for any number of cores.
//!
//! `cargo bench --package rialto-store-sqlite --bench ceiling`

#![allow(
    clippy::unwrap_used,
    reason = "a failed unwrap in a benchmark is a failed benchmark"
)]
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use rialto_engine::history::{Ended, Kind, Record, Step};
use rialto_engine::network::{DeliveryPolicy, OutboundRequest, WhileAway};
use rialto_engine::store::{Collection, DocumentWrite, Group, Receipt, Store as _, StoredReminder};
use rialto_engine::{CollectionId, Lsn, Name, Timestamp, Trace, TurnId};
use rialto_store_sqlite::{FlushPolicy, Risk, SqliteStore};

/// Payments in all: what the journal holds before a group would have to wait for the flush.
const PAYMENTS: u64 = 3_000;
/// Payments of a group.
const TOGETHER: u64 = 4;
/// Times that all is measured.
const ROUNDS: usize = 3;

/// New documents of a payment.
const DOCUMENTS: u64 = 12;
/// Documents that all payments change, such as accounts.
const SHARED: u64 = 3;
/// Requests of a payment.
const REQUESTS: u64 = 6;
/// Verdicts of a payment.
const VERDICTS: u64 = 3;
/// Turns of a payment.
const TURNS: u64 = 43;
/// Groups in the journal of the store that has crashed.
const CRASHED_GROUPS: u64 = 1_000_000;
/// Bytes of a document, of a request's body and of a receipt.
const BYTES: usize = 900;

/// Makes groups.
struct Payments {
    chance: StdRng,
    /// The next id, of anything.
    next_id: u64,
    lsn: u64,
    /// Version of the shared documents.
    version: u64,
    /// The requests of the group before, which are answered now.
    unanswered: Vec<u64>,
}

impl Payments {
    fn new() -> Self {
        Self {
            chance: StdRng::seed_from_u64(1),
            next_id: 1,
            lsn: 0,
            version: 0,
            unanswered: Vec::new(),
        }
    }

    fn fresh_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// 32 hexadecimal digits.
    fn digits(&mut self) -> String {
        format!("{:032x}", self.chance.random::<u128>())
    }

    /// A JSON object of a size, part of which is the same in all.
    fn body(&mut self) -> String {
        let mut body = String::from("{");
        while body.len() < BYTES {
            let digits = self.digits();
            body += &format!(
                "\"transferId\":\"{digits}\",\"payerFsp\":\"payerfsp\",\"amount\":{{\"currency\":\"USD\",\"scale\":2,\"minorUnits\":\"100\"}},"
            );
        }
        body + "\"state\":\"COMMITTED\"}"
    }

    fn group(&mut self) -> Group {
        let mut group = Group {
            outbound_removed: std::mem::take(&mut self.unanswered),
            ..Group::default()
        };
        if self.lsn == 0 {
            group.collections = (1..=DOCUMENTS + 1).map(collection).collect();
        }
        for _ in 0..TOGETHER {
            self.payment(&mut group);
        }
        self.version += 1;
        for n in 0..SHARED {
            let id = format!("account-{n}").into();
            let body = self.body();
            group
                .documents
                .push(document(DOCUMENTS + 1, id, self.version, body));
        }
        self.lsn += TURNS * TOGETHER;
        group.lsn = Lsn(self.lsn);
        group.turns = (TURNS * TOGETHER) as usize;
        group.next_id = self.next_id + 1;
        group
    }

    fn payment(&mut self, group: &mut Group) {
        let subject: Name = format!("transfer:{}", self.digits()).into();
        for n in 1..=DOCUMENTS {
            let (id, body) = (self.digits().into(), self.body());
            group.documents.push(document(n, id, 1, body));
        }
        for _ in 0..REQUESTS {
            let request = self.request(&subject);
            self.unanswered.push(request.id);
            group.outbound_added.push(Arc::new(request));
        }
        for _ in 0..VERDICTS {
            group.receipts.push(Receipt {
                id: self.fresh_id(),
                subject: subject.clone(),
                at: Timestamp(self.lsn),
                body: self.body().into(),
            });
        }
        group.reminders_set.push(StoredReminder {
            component: "transfers".into(),
            id: (&*subject).into(),
            due: Timestamp(u64::MAX >> 1),
            generation: self.fresh_id(),
            payload: String::new(),
            subjects: vec![subject.clone()],
            trace: Trace::default(),
        });
        for _ in 0..TURNS {
            let record = self.record(&subject);
            group.history.push(Arc::new(record));
        }
    }

    fn request(&mut self, subject: &Name) -> OutboundRequest {
        let header = |name: &str| (name.to_owned(), format!("the value of {name}"));
        OutboundRequest {
            id: self.fresh_id(),
            component: "notifications-and-alerts".into(),
            method: "PUT".into(),
            url: format!("http://127.0.0.1:4002/transfers/{subject}"),
            headers: ["content-type", "date", "fspiop-source", "traceparent"]
                .map(header)
                .into(),
            body: Some(self.body()),
            signature: None,
            policy: DeliveryPolicy {
                attempts_max: 5,
                attempt_timeout_ms: 1_000,
                deadline: Timestamp(u64::MAX >> 1),
                backoff_initial_ms: 100,
                backoff_max_ms: 1_000,
                while_away: WhileAway::default(),
            },
            correlation: self.body(),
            traceparent: format!("00-{}-0000000000000001-01", self.digits()),
            subjects: vec![subject.clone()],
        }
    }

    fn record(&mut self, subject: &Name) -> Record {
        let step = Step::Published {
            event: "notify-requested".into(),
            to: vec!["notifications-and-alerts".into()],
        };
        Record {
            turn: TurnId(self.fresh_id()),
            cause: Some(TurnId(self.next_id - 1)),
            at: Timestamp(self.lsn),
            took_us: 20,
            release: 1,
            kind: Kind::Event,
            component: "fsp-interop-api".into(),
            function: "transfer-prepared".into(),
            trace: self.chance.random(),
            subjects: vec![subject.clone()],
            steps: vec![step],
            ended: Ended::Executed,
        }
    }
}

fn collection(number: u64) -> Collection {
    Collection {
        id: CollectionId(number as u32),
        component: format!("component-{number}").into(),
        name: "documents".into(),
    }
}

fn document(collection: u64, id: Name, version: u64, body: String) -> DocumentWrite {
    DocumentWrite {
        collection: CollectionId(collection as u32),
        id,
        version,
        body: Some(body.into()),
    }
}

/// How many payments a second these take.
fn rate(took: Duration) -> f64 {
    PAYMENTS as f64 / took.as_secs_f64()
}

/// The journal is flushed when the store is closed, not before.
fn at_its_close() -> FlushPolicy {
    FlushPolicy {
        after: Duration::from_secs(3_600),
        bytes: usize::MAX,
        ..FlushPolicy::default()
    }
}

/// A small group: one of a thousand documents changes.
fn small(lsn: u64) -> Group {
    let mut group = Group {
        lsn: Lsn(lsn),
        turns: 1,
        next_id: lsn + 1,
        ..Group::default()
    };
    if lsn == 1 {
        group.collections = vec![collection(1)];
    }
    let id = format!("{}", lsn % 1_000).into();
    let body = format!("{{\"position\":{lsn}}}");
    group
        .documents
        .push(document(1, id, lsn.div_ceil(1_000), body));
    group
}

/// Copy a folder and all in it, which is what a crash leaves.
fn copy(from: &Path, to: &Path) {
    rialto_files::folder(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn start_after_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let (state, crashed) = (folder.path().join("state"), folder.path().join("crashed"));
    // It writes a million groups: syncing each is not what is measured.
    let store = SqliteStore::open_at_risk(&state, at_its_close(), Risk::NoJournalSync).unwrap();
    store.recover().unwrap();
    for lsn in 1..=CRASHED_GROUPS {
        store.write(&small(lsn)).unwrap();
    }
    copy(&state, &crashed);
    let begun = Instant::now();
    let store = SqliteStore::open(&crashed).unwrap();
    let recovered = store.recover().unwrap();
    let took = begun.elapsed();
    assert_eq!(recovered.lsn, Lsn(CRASHED_GROUPS));
    println!(
        "start with {CRASHED_GROUPS} groups in the journal: {:.2} s",
        took.as_secs_f64()
    );
}

fn main() {
    for _ in 0..ROUNDS {
        let folder = tempfile::tempdir().unwrap();
        let when = at_its_close();
        let store = SqliteStore::open_with(&folder.path().join("state"), when).unwrap();
        store.recover().unwrap();
        let mut payments = Payments::new();
        let groups: Vec<Group> = (0..PAYMENTS / TOGETHER).map(|_| payments.group()).collect();
        let begun = Instant::now();
        for group in &groups {
            store.write(group).unwrap();
        }
        let committed = begun.elapsed();
        let begun = Instant::now();
        drop(store);
        let flushed = begun.elapsed();
        println!(
            "committer {:>6.0} payments/s, {:>4.0} us a group of {TOGETHER}; flush {:>6.0} payments/s",
            rate(committed),
            committed.as_secs_f64() * 1e6 / groups.len() as f64,
            rate(flushed),
        );
    }
    start_after_a_crash();
}

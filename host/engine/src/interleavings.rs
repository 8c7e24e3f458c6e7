//! Tests the engine under many interleavings of its threads, which the library shuttle chooses.
//!
//! Programs are lists of reads, writes, scans and reminders. Worker threads run them as turns while another
//! thread commits. Then the test replays the log in order and compares: each turn must have seen exactly
//! what the turns before it in the log have left, and no turn may fail because it read a mix of states.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner, thread};

use crate::commit::{Executed, Log};
use crate::engine::{Engine, Environment, Handled, Handler};
use crate::history::{Ended, Kind};
use crate::ids::{CollectionId, Lsn, Name, TurnId};
use crate::limits::Limits;
use crate::network::{Network, OutboundRequest, Report};
use crate::queue::Queue;
use crate::stimulus::{Delivery, Failure, Reply, Stimulus, Trace, Waiter};
use crate::store::{DeadLetter, Group, Recovered, ScanRange, Store, StoreError, StoredDocument};
use crate::sync::AtomicU64;
use crate::time::{Clock, Entropy, Timestamp};
use crate::turn::{Interrupt, Turn};

const OWNER: &str = "tried";
const DOCUMENTS: &str = "documents";
/// How many interleavings of each set of programs are tried.
const TRIES: usize = 2_000;
/// Changes of thread in an interleaving of the PCT scheduler.
const CHANGES: usize = 3;
/// Stack of a thread that shuttle runs.
const STACK_BYTES: usize = 1 << 18;

/// What a program does, step by step.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Read a document.
    Read(&'static str),
    /// Read a document and lock it.
    Hold(&'static str),
    /// Write the program's name into a document.
    Write(&'static str),
    /// Remove a document.
    Remove(&'static str),
    /// Scan all documents whose ids begin with this.
    Scan(&'static str),
    /// Set a reminder.
    Remind(&'static str),
    /// Cancel a reminder.
    Cancel(&'static str),
    /// Fail if the results of the last two steps differ.
    FailUnlessSame,
}

/// What a step saw.
#[derive(Clone, Debug, PartialEq)]
enum Seen {
    Document(Option<String>),
    Documents(Vec<(String, String)>),
    Waited(bool),
}

type Program = (&'static str, &'static [Step]);

/// Runs programs, and keeps what the last run of each saw.
#[derive(Default)]
struct Programs {
    seen: Mutex<BTreeMap<&'static str, Vec<Seen>>>,
}

impl Programs {
    fn run(&self, (name, steps): Program, turn: &mut Turn) -> Result<(), Interrupt> {
        let mut seen = Vec::new();
        let ended = steps.iter().try_for_each(|step| {
            seen.extend(done(name, *step, &seen, turn)?);
            Ok(())
        });
        self.seen.lock().unwrap().insert(name, seen);
        ended
    }
}

/// What a program writes: its name, as JSON.
fn body_of(name: &str) -> String {
    format!("\"{name}\"")
}

fn done(
    name: &str,
    step: Step,
    before: &[Seen],
    turn: &mut Turn,
) -> Result<Option<Seen>, Interrupt> {
    let text = |body: Option<Name>| Seen::Document(body.map(|body| body.to_string()));
    let key = |turn: &Turn, id| turn.key(OWNER, DOCUMENTS, id);
    Ok(match step {
        Step::Read(id) => Some(text(turn.read(key(turn, id)?)?)),
        Step::Hold(id) => Some(text(turn.read_for_update(key(turn, id)?)?)),
        Step::Write(id) => {
            turn.write(key(turn, id)?, body_of(name).into())?;
            None
        }
        Step::Remove(id) => {
            turn.delete(key(turn, id)?)?;
            None
        }
        Step::Scan(prefix) => {
            let page = turn.scan(OWNER, DOCUMENTS, &ScanRange::prefix(prefix), 100)?;
            let found = page.documents.iter();
            let found = found.map(|d| (d.id.to_string(), d.body.to_string()));
            Some(Seen::Documents(found.collect()))
        }
        Step::Remind(id) => {
            turn.set_reminder(&OWNER.into(), id, Timestamp(u64::MAX), name.into())?;
            None
        }
        Step::Cancel(id) => Some(Seen::Waited(turn.cancel_reminder(&OWNER.into(), id)?)),
        Step::FailUnlessSame => match before {
            [.., a, b] if a != b => {
                return Err(Interrupt::Misuse(format!("{a:?} is not {b:?}")));
            }
            _ => None,
        },
    })
}

impl Handler for Programs {
    fn handle(&self, stimulus: &Stimulus, mut turn: Turn) -> Handled {
        let Stimulus::Request { argument, .. } = stimulus else {
            panic!("only requests are tried");
        };
        let program = *argument.downcast_ref::<Program>().unwrap();
        let ran = self.run(program, &mut turn);
        Handled {
            turn: Some(turn),
            outcome: match ran {
                Ok(()) => Ok(Box::new(()) as Reply),
                Err(interrupt) => Err(Failure::Handler {
                    component: OWNER.into(),
                    reason: interrupt.to_string(),
                }),
            },
        }
    }
    fn reminder_function(&self) -> (Name, Name) {
        ("reminders".into(), "due".into())
    }
    fn report_function(&self) -> (Name, Name) {
        ("reports".into(), "reported".into())
    }
}

/// A store in memory that keeps the order of turns.
#[derive(Default)]
struct Disk {
    documents: Mutex<BTreeMap<(CollectionId, Name), StoredDocument>>,
    /// The programs of executed turns, in log order.
    order: Mutex<Vec<String>>,
    reminders: Mutex<BTreeSet<Name>>,
}

impl Store for Disk {
    fn recover(&self) -> Result<Recovered, StoreError> {
        Ok(Recovered {
            lsn: Lsn(0),
            next_id: 1,
            ..Recovered::default()
        })
    }

    fn read(&self, c: CollectionId, id: &str) -> Result<Option<StoredDocument>, StoreError> {
        // The store is slow: other threads run meanwhile.
        thread::yield_now();
        let documents = self.documents.lock().unwrap();
        Ok(documents.get(&(c, id.into())).cloned())
    }

    fn scan(
        &self,
        c: CollectionId,
        range: &ScanRange,
        limit: u32,
    ) -> Result<Vec<StoredDocument>, StoreError> {
        thread::yield_now();
        let documents = self.documents.lock().unwrap();
        let within = documents
            .iter()
            .filter(|((of, id), _)| *of == c && range.contains(id));
        let found = within.map(|(_, document)| document.clone());
        Ok(found.take(limit as usize).collect())
    }

    fn write(&self, group: &Group) -> Result<(), StoreError> {
        thread::yield_now();
        let mut documents = self.documents.lock().unwrap();
        for write in &group.documents {
            let key = (write.collection, write.id.clone());
            let before = documents.get(&key).map_or(0, |d| d.version);
            assert!(write.version > before, "versions only grow");
            match &write.body {
                Some(body) => {
                    let document = StoredDocument {
                        id: write.id.clone(),
                        version: write.version,
                        body: body.clone(),
                    };
                    documents.insert(key, document);
                }
                None => {
                    documents.remove(&key);
                }
            }
        }
        let mut reminders = self.reminders.lock().unwrap();
        reminders.extend(group.reminders_set.iter().map(|r| r.id.clone()));
        for (_, id) in &group.reminders_removed {
            reminders.remove(id);
        }
        let executed = group.history.iter().filter(|r| r.ended == Ended::Executed);
        let names = executed.map(|record| record.function.to_string());
        self.order.lock().unwrap().extend(names);
        Ok(())
    }

    fn count_overdue(&self, _: Timestamp) -> Result<Vec<(Name, Name, u32)>, StoreError> {
        Ok(Vec::new())
    }

    fn note_poison_candidate(&self, _: Option<&str>) -> Result<(), StoreError> {
        Ok(())
    }

    fn poison_candidate(&self) -> Result<Option<String>, StoreError> {
        Ok(None)
    }

    fn deliveries(&self, _: &[u64]) -> Result<Vec<Delivery>, StoreError> {
        Ok(Vec::new())
    }

    fn outbound(&self, _: &[u64]) -> Result<Vec<OutboundRequest>, StoreError> {
        Ok(Vec::new())
    }

    fn dead_letters(&self) -> Result<Vec<DeadLetter>, StoreError> {
        Ok(Vec::new())
    }
}

/// A network without destinations, a clock that stands still, and no randomness.
struct Nothing;

impl Network for Nothing {
    fn send(&self, _: Arc<OutboundRequest>, _: Box<dyn FnOnce(Report) + Send>) {}
}

impl Clock for Nothing {
    fn now(&self) -> Timestamp {
        Timestamp(1)
    }
    fn monotonic_us(&self) -> u64 {
        1
    }
}

impl Entropy for Nothing {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(7);
    }
}

/// The state while the log is replayed.
#[derive(Default)]
struct Replayed {
    documents: BTreeMap<String, String>,
    reminders: BTreeSet<Name>,
}

impl Replayed {
    /// Replay a program. Returns what it must have seen.
    fn run(&mut self, (name, steps): Program) -> Vec<Seen> {
        let mut seen = Vec::new();
        for step in steps {
            match *step {
                Step::Read(id) | Step::Hold(id) => {
                    seen.push(Seen::Document(self.documents.get(id).cloned()));
                }
                Step::Write(id) => {
                    self.documents.insert(id.into(), body_of(name));
                }
                Step::Remove(id) => {
                    self.documents.remove(id);
                }
                Step::Scan(prefix) => {
                    let all = self.documents.iter();
                    let found = all.filter(|(id, _)| id.starts_with(prefix));
                    let found = found.map(|(id, body)| (id.clone(), body.clone()));
                    seen.push(Seen::Documents(found.collect()));
                }
                Step::Remind(id) => {
                    self.reminders.insert(id.into());
                }
                Step::Cancel(id) => seen.push(Seen::Waited(self.reminders.remove(id))),
                Step::FailUnlessSame => {}
            }
        }
        seen
    }
}

/// Run the first programs one after the other, then the others at once on this many workers, which wait so long for a
/// document of another turn. Compare the results with the replay.
fn tried(first: &[Program], at_once: &[Program], workers: usize, lock_wait_us: u64) {
    let store = Arc::new(Disk::default());
    let handler = Arc::new(Programs::default());
    let nothing = Arc::new(Nothing);
    let environment = Environment {
        store: store.clone(),
        network: nothing.clone(),
        clock: nothing.clone(),
        entropy: nothing,
        spans: None,
        personal_data: None,
        receipt_log: None,
        publications: None,
    };
    let limits = Limits {
        lock_wait_us,
        ..Limits::default()
    };
    let (engine, _) = Engine::open(environment, handler.clone(), limits).unwrap();
    let failed: Arc<Mutex<Vec<Failure>>> = Arc::default();
    for program in first {
        submit(&engine, *program, &failed);
        while engine.run(0) {}
        engine.commit().unwrap();
    }
    for program in at_once {
        submit(&engine, *program, &failed);
    }
    let running: Vec<_> = (0..workers)
        .map(|_| {
            let engine = engine.clone();
            thread::spawn(move || while engine.run(0) {})
        })
        .collect();
    let committing = engine.clone();
    let committing = thread::spawn(move || {
        for _ in 0..2 {
            committing.commit().unwrap();
            thread::yield_now();
        }
    });
    for thread in running {
        thread.join().unwrap();
    }
    committing.join().unwrap();
    while engine.run(0) {}
    engine.commit().unwrap();
    let failed = failed.lock().unwrap();
    assert!(failed.is_empty(), "turns failed: {failed:?}");
    let order = store.order.lock().unwrap();
    assert_eq!(order.len(), first.len() + at_once.len(), "all are executed");
    let mut again = Replayed::default();
    let seen = handler.seen.lock().unwrap();
    for name in order.iter() {
        let mut all = first.iter().chain(at_once);
        let program = all.find(|(known, _)| known == name).unwrap();
        assert_eq!(
            seen[program.0],
            again.run(*program),
            "{name} saw what the turns before it in the log have not left: {order:?}"
        );
    }
    let documents = store.documents.lock().unwrap();
    let documents = documents
        .iter()
        .map(|((_, id), d)| (id.to_string(), d.body.to_string()));
    assert_eq!(documents.collect::<BTreeMap<_, _>>(), again.documents);
    assert_eq!(*store.reminders.lock().unwrap(), again.reminders);
    assert_eq!(engine.load().reminders, again.reminders.len());
}

fn submit(engine: &Engine, program: Program, failed: &Arc<Mutex<Vec<Failure>>>) {
    let failed = failed.clone();
    let waiter = move |outcome: Result<Reply, Failure>| {
        failed.lock().unwrap().extend(outcome.err());
    };
    let submitted = engine.submit(
        OWNER.into(),
        program.0.into(),
        Arc::new(program),
        Trace::default(),
        Box::new(waiter),
    );
    submitted.unwrap();
}

fn explore(first: &'static [Program], at_once: &'static [Program], workers: usize) {
    interleaved(move || tried(first, at_once, workers, 0));
}

fn interleaved(run: impl Fn() + Clone + std::marker::Send + Sync + 'static) {
    let mut config = Config::new();
    config.stack_size = STACK_BYTES;
    Runner::new(RandomScheduler::new(TRIES), config.clone()).run(run.clone());
    // Few changes of thread, at random points: finds errors that need one thread to stand still for long.
    Runner::new(PctScheduler::new(CHANGES, TRIES), config).run(run);
}

#[test]
fn write_skew_between_two_turns_is_prevented() {
    explore(
        &[],
        &[
            ("one", &[Step::Read("a"), Step::Write("b")]),
            ("other", &[Step::Read("b"), Step::Write("a")]),
        ],
        2,
    );
}

#[test]
fn no_write_is_lost() {
    explore(
        &[("first", &[Step::Write("a")])],
        &[
            ("one", &[Step::Read("a"), Step::Write("a")]),
            ("other", &[Step::Hold("a"), Step::Write("a")]),
            ("third", &[Step::Read("a"), Step::Remove("a")]),
        ],
        3,
    );
}

/// A wait ends by the release alone here: there is no time. So a release that wakes nobody would be a deadlock.
#[test]
fn a_turn_waits_until_another_one_releases_a_document() {
    const PROGRAMS: [Program; 3] = [
        ("one", &[Step::Write("a")]),
        ("other", &[Step::Hold("a"), Step::Write("a")]),
        ("reader", &[Step::Read("a")]),
    ];
    interleaved(|| tried(&[], &PROGRAMS, 3, 1));
}

#[test]
fn a_read_comes_before_later_writes() {
    explore(
        &[],
        &[
            ("reader", &[Step::Read("a"), Step::Write("b")]),
            ("writer", &[Step::Write("a")]),
            (
                "last",
                &[Step::Read("a"), Step::Read("b"), Step::Write("c")],
            ),
        ],
        3,
    );
}

#[test]
fn what_a_turn_read_holds_when_its_reminders_change() {
    explore(
        &[],
        &[
            ("one", &[Step::Read("a"), Step::Remind("r")]),
            ("other", &[Step::Write("a"), Step::Cancel("r")]),
        ],
        2,
    );
}

#[test]
fn two_turns_that_find_nothing_do_not_both_insert() {
    explore(
        &[],
        &[
            ("one", &[Step::Scan("x"), Step::Write("x1")]),
            ("other", &[Step::Scan("x"), Step::Write("x2")]),
        ],
        2,
    );
}

#[test]
fn a_scan_sees_exactly_the_turns_before_it() {
    explore(
        &[("first", &[Step::Write("x1"), Step::Write("x2")])],
        &[
            ("scan", &[Step::Scan("x"), Step::Write("sum")]),
            ("change", &[Step::Write("x1"), Step::Write("x3")]),
            ("remove", &[Step::Remove("x2"), Step::Read("sum")]),
        ],
        3,
    );
}

#[test]
fn a_turn_that_failed_on_mixed_documents_reruns() {
    explore(
        &[("first", &[Step::Write("a"), Step::Write("b")])],
        &[
            (
                "reader",
                &[Step::Read("a"), Step::Read("b"), Step::FailUnlessSame],
            ),
            ("writer", &[Step::Write("a"), Step::Write("b")]),
        ],
        2,
    );
}

#[test]
fn a_turn_that_failed_on_an_outdated_scan_reruns() {
    explore(
        &[("first", &[Step::Write("x1"), Step::Write("y1")])],
        &[
            (
                "reader",
                &[
                    Step::Scan("x1"),
                    Step::Read("b"),
                    Step::Scan("x1"),
                    Step::Scan("x1"),
                    Step::FailUnlessSame,
                ],
            ),
            ("writer", &[Step::Write("x1"), Step::Write("b")]),
        ],
        2,
    );
}

/// Jobs arrive while workers wait, and no timer looks at the workers. A lost signal leaves all threads
/// waiting, which shuttle reports as a deadlock.
#[test]
fn each_job_is_taken_by_a_worker_that_waits() {
    const JOBS: u64 = 4;
    for at_once in [1, 2] {
        interleaved(move || {
            let queue = Arc::new(Queue::new(JOBS as usize, &[]));
            queue.set_at_once(at_once);
            let left = Arc::new(AtomicU64::new(JOBS));
            let workers: Vec<_> = (0..3)
                .map(|_| {
                    let (queue, left) = (queue.clone(), left.clone());
                    thread::spawn(move || {
                        let worker = queue.worker();
                        while let Some(job) = queue.pop_wait(&worker) {
                            drop(job);
                            queue.done();
                            if left.fetch_sub(1, Ordering::AcqRel) == 1 {
                                queue.close();
                            }
                        }
                    })
                })
                .collect();
            for turn in 1..=JOBS {
                let stimulus = Stimulus::Request {
                    kind: Kind::Request,
                    component: OWNER.into(),
                    function: "job".into(),
                    argument: Arc::new(()),
                    trace: Trace::default(),
                };
                queue.push(queue.job(TurnId(turn), stimulus, None));
            }
            for worker in workers {
                worker.join().unwrap();
            }
            assert_eq!(left.load(Ordering::Acquire), 0);
        });
    }
}

/// Who waits for the disk returns when all that was executed before is there, or when it never will be.
#[test]
fn a_wait_for_the_disk_ends_when_its_turns_are_durable() {
    const TURNS: u64 = 3;
    for breaks_after in [None, Some(1)] {
        interleaved(move || {
            let log = Arc::new(Log::default());
            let readers: Vec<_> = (0..2)
                .map(|_| {
                    let log = log.clone();
                    thread::spawn(move || {
                        let last = log.last();
                        let durable = log.wait_until_durable();
                        assert!(!durable || log.committed() >= last);
                        assert!(durable || breaks_after.is_some());
                    })
                })
                .collect();
            let appender = {
                let log = log.clone();
                thread::spawn(move || {
                    for _ in 0..TURNS {
                        if log.append(Executed::default(), None, 0).is_err() {
                            assert!(breaks_after.is_some());
                        }
                    }
                    log.close();
                })
            };
            let mut groups = 0;
            while log.wait(0, || 0, || true) {
                let Some(batch) = log.take() else { break };
                if breaks_after == Some(groups) {
                    drop(log.give_up());
                    break;
                }
                log.written(batch.lsn);
                groups += 1;
            }
            appender.join().unwrap();
            for reader in readers {
                reader.join().unwrap();
            }
        });
    }
}

#[test]
fn a_turn_without_an_output_is_written_with_the_next_one() {
    interleaved(|| {
        let log = Arc::new(Log::default());
        let appender = {
            let log = log.clone();
            thread::spawn(move || {
                assert!(log.append(Executed::default(), None, 0).is_ok());
                log.idle();
                let waiter: Waiter = Box::new(|_| ());
                let answer = (waiter, Box::new(()) as Reply);
                assert!(log.append(Executed::default(), Some(answer), 0).is_ok());
                log.idle();
            })
        };
        assert!(log.wait(1, || 0, || true));
        assert_eq!(log.take().unwrap().turns.len(), 2);
        appender.join().unwrap();
    });
}

//! The thread that sends requests, and callers that wait for it for a bounded time.
//!
//! There are at most so many calls at once as the operator says. Beyond that, calls fail at once. A call whose caller
//! has gone has ended too, or ends soon: it gives its room back then.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rialto_fatal::CatchPanic;
use rialto_keys::KeyError;
use rialto_keys::contained::panicked;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout_at;

use crate::configuration::{Configuration, OpenError};
use crate::failure::Failure;
use crate::service::{Service, written};
use crate::wire::Operation;

/// How long something that makes a key goes on after its caller has gone, so that the key is known and destroyed.
const LATE: Duration = Duration::from_secs(30);
/// Who is called, for people.
const WHOM: &str = "AWS KMS";

/// The service, called from any thread.
pub(crate) struct Worker {
    service: Arc<Service>,
    runtime: Handle,
    /// One for each call that is under way.
    room: Arc<Semaphore>,
    calls: usize,
    timeout: Duration,
    /// Whether the host stops.
    is_closed: AtomicBool,
    /// The thread ends when it is dropped.
    _stop: oneshot::Sender<()>,
}

/// Where an answer is put.
struct Reply<T> {
    stage: Mutex<Stage<T>>,
    done: Condvar,
}

enum Stage<T> {
    Waiting,
    Done(Result<T, Failure>),
    /// The caller has gone.
    Abandoned,
}

/// The right to answer once, and the room of the call. The room is given back before the caller has the answer, so that
/// the caller's next call finds it.
struct Answering<T> {
    reply: Arc<Reply<T>>,
    room: Option<OwnedSemaphorePermit>,
}

/// An outcome whose caller has gone. It keeps the room of the call.
struct Late<T> {
    outcome: Result<T, Failure>,
    _room: Option<OwnedSemaphorePermit>,
}

impl Worker {
    /// Start the thread. It makes connections when there is something to do.
    pub(crate) fn start(configuration: &Configuration) -> Result<Self, OpenError> {
        let service = Arc::new(Service::open(configuration)?);
        let calls = configuration.calls.clamp(1, Semaphore::MAX_PERMITS);
        let (stop, runtime) = start_thread(calls).map_err(OpenError::Thread)?;
        Ok(Self {
            service,
            runtime,
            room: Arc::new(Semaphore::new(calls)),
            calls,
            timeout: configuration.timeout,
            is_closed: AtomicBool::new(false),
            _stop: stop,
        })
    }

    /// The region of the service.
    pub(crate) fn region(&self) -> &str {
        &self.service.region
    }

    /// Calls under way.
    pub(crate) fn busy(&self) -> usize {
        self.calls - self.room.available_permits()
    }

    /// Refuse calls from now on, and wait until those under way have ended, but not beyond this instant. Returns how
    /// many have not. Must not be called from a task.
    pub(crate) fn close(&self, deadline: Instant) -> usize {
        self.is_closed.store(true, Ordering::Release);
        let all = u32::try_from(self.calls).unwrap_or(u32::MAX);
        // The log has how many are left. The semaphore is never closed.
        let _ended = self.runtime.block_on(async {
            let room = self.room.acquire_many(all);
            timeout_at(deadline.into(), room).await.map(drop)
        });
        self.busy()
    }

    /// Ask for something and wait for the answer.
    pub(crate) fn call<T: DeserializeOwned + Send + 'static>(
        &self,
        operation: Operation,
        request: &impl Serialize,
    ) -> Result<T, Failure> {
        let body = written(request)?;
        self.run(
            move |service, deadline| async move { service.call(operation, body, deadline).await },
        )
    }

    /// Do a piece of work and wait for it. It ends at its time by itself.
    pub(crate) fn run<T: Send + 'static, F>(
        &self,
        work: impl FnOnce(Arc<Service>, Instant) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>> + Send + 'static,
    {
        let deadline = Instant::now() + self.timeout;
        let (reply, answering) = Reply::new(self.take_room()?);
        let work = work(self.service.clone(), deadline);
        self.runtime.spawn(async move {
            let _late = answering.give(contained(work).await);
        });
        self.wait(&reply, deadline)
    }

    /// Do a piece of work that makes something, and wait for it. If the caller has gone when it is done, it is undone.
    pub(crate) fn run_or_undo<T: Send + 'static, F, U>(
        &self,
        work: impl FnOnce(Arc<Service>, Instant) -> F,
        undo: impl FnOnce(Arc<Service>, T) -> U + Send + 'static,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>> + Send + 'static,
        U: Future<Output = ()> + Send + 'static,
    {
        let deadline = Instant::now() + self.timeout;
        let service = self.service.clone();
        let (reply, answering) = Reply::new(self.take_room()?);
        let work = work(service.clone(), deadline + LATE);
        self.runtime.spawn(async move {
            let late = answering.give(contained(work).await);
            if let Some(Late {
                outcome: Ok(made),
                _room,
            }) = late
            {
                let undone = CatchPanic::secretly(undo(service, made)).await;
                // The log has it.
                let _failed = undone.map_err(|panic| panicked(WHOM, &panic));
            }
        });
        self.wait(&reply, deadline)
    }

    /// The room of one call, unless there are as many as there may be.
    fn take_room(&self) -> Result<OwnedSemaphorePermit, Failure> {
        if self.is_closed.load(Ordering::Acquire) {
            let why = "AWS KMS is not called any more: the host stops";
            return Err(Failure::NotDone(why.to_owned()));
        }
        self.room.clone().try_acquire_owned().map_err(|_| {
            let why = format!("{} calls of AWS KMS are under way", self.calls);
            Failure::NotDone(why)
        })
    }

    fn wait<T>(&self, reply: &Reply<T>, deadline: Instant) -> Result<T, Failure> {
        reply
            .wait(deadline)
            .unwrap_or_else(|| Err(self.service.no_answer()))
    }
}

/// The outcome of a piece of work. A panic ends it alone.
async fn contained<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    CatchPanic::secretly(work)
        .await
        .unwrap_or_else(|panic| Err(panicked(WHOM, &panic).into()))
}

/// A thread that does what is spawned, until the sender is dropped.
fn start_thread(calls: usize) -> io::Result<(oneshot::Sender<()>, Handle)> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        // They look up names, which cannot be cancelled.
        .max_blocking_threads(calls)
        .build()?;
    let handle = runtime.handle().clone();
    let (stop, stopped) = oneshot::channel();
    std::thread::Builder::new()
        .name("aws-kms".to_owned())
        .spawn(move || {
            // It is an error: nothing is ever sent.
            let _dropped: Result<(), _> = runtime.block_on(stopped);
            runtime.shutdown_background();
        })?;
    Ok((stop, handle))
}

impl<T> Reply<T> {
    fn new(room: OwnedSemaphorePermit) -> (Arc<Self>, Answering<T>) {
        let reply = Arc::new(Self {
            stage: Mutex::new(Stage::Waiting),
            done: Condvar::new(),
        });
        let answering = Answering {
            reply: reply.clone(),
            room: Some(room),
        };
        (reply, answering)
    }

    /// The answer, or none at this time.
    fn wait(&self, deadline: Instant) -> Option<Result<T, Failure>> {
        let mut stage = self.stage.lock();
        while matches!(*stage, Stage::Waiting) {
            if self.done.wait_until(&mut stage, deadline).timed_out() {
                break;
            }
        }
        match std::mem::replace(&mut *stage, Stage::Abandoned) {
            Stage::Done(outcome) => Some(outcome),
            Stage::Waiting | Stage::Abandoned => None,
        }
    }
}

impl<T> Answering<T> {
    /// Answer. Returns the outcome if the caller has gone.
    fn give(mut self, outcome: Result<T, Failure>) -> Option<Late<T>> {
        let room = self.room.take();
        let mut stage = self.reply.stage.lock();
        if matches!(*stage, Stage::Abandoned) {
            return Some(Late {
                outcome,
                _room: room,
            });
        }
        drop(room);
        *stage = Stage::Done(outcome);
        self.reply.done.notify_one();
        None
    }
}

impl<T> Drop for Answering<T> {
    /// A task that ends without an answer has failed.
    fn drop(&mut self) {
        self.room = None;
        let mut stage = self.reply.stage.lock();
        if matches!(*stage, Stage::Waiting) {
            let why = "the host failed in a call of AWS KMS: see its log";
            *stage = Stage::Done(Err(KeyError::ProviderAway(why.to_owned()).into()));
            self.reply.done.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// The room of one call, which is taken.
    fn rooms() -> (Arc<Semaphore>, OwnedSemaphorePermit) {
        let rooms = Arc::new(Semaphore::new(1));
        let room = rooms.clone().try_acquire_owned().unwrap();
        (rooms, room)
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(600)
    }

    #[test]
    fn caller_with_an_answer_finds_room() {
        for outcome in [Some(Ok(1)), None] {
            let (rooms, room) = rooms();
            let (reply, answering) = Reply::new(room);
            let waiting = std::thread::spawn(move || {
                let answer = reply.wait(soon());
                (answer, rooms.available_permits())
            });
            match outcome {
                Some(outcome) => assert!(answering.give(outcome).is_none()),
                // The task has failed.
                None => drop(answering),
            }
            let (answer, free) = waiting.join().unwrap();
            assert_eq!((answer.is_some(), free), (true, 1));
        }
    }

    #[test]
    fn late_outcome_returns_with_its_room() {
        let (rooms, room) = rooms();
        let (reply, answering) = Reply::new(room);
        assert_eq!(reply.wait(Instant::now()), None);
        let late = answering.give(Ok(2)).unwrap();
        assert_eq!((&late.outcome, rooms.available_permits()), (&Ok(2), 0));
        drop(late);
        assert_eq!(rooms.available_permits(), 1);
    }

    #[test]
    fn failed_task_is_an_answer() {
        let (reply, answering) = Reply::<u8>::new(rooms().1);
        drop(answering);
        let failed = reply.wait(soon());
        assert!(matches!(
            failed,
            Some(Err(Failure::Answer(KeyError::ProviderAway(_))))
        ));
    }

    /// A worker for a service that is not there. The folder has its credentials.
    fn worker() -> (Worker, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("credentials");
        let text = "[default]\naws_access_key_id = AKID\naws_secret_access_key = secret\n";
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let worker = Worker::start(&Configuration {
            region: "eu-central-1".to_owned(),
            endpoint: Some("http://127.0.0.1:1".to_owned()),
            ca: None,
            credentials: crate::configuration::CredentialsSource::File(file),
            calls: 1,
            timeout: Duration::from_secs(600),
        });
        (worker.unwrap(), folder)
    }

    /// The name of the test that a child process runs.
    const CHILD: &str = "worker::tests::child_whose_call_panics";
    const SECRET: &str = "a part of a key";

    #[test]
    fn panic_in_a_call_fails_it_alone() {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", CHILD, "--ignored", "--nocapture"]);
        let ended = child.output().unwrap();
        let said = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
        assert!(ended.status.success(), "{said}");
        assert!(said.contains("1 passed"), "{said}");
        assert!(!said.contains(SECRET), "{said}");
    }

    /// In a process that a panic ends, as a host's: only for the test before it.
    #[test]
    #[ignore = "it ends its process if it fails"]
    fn child_whose_call_panics() {
        rialto_fatal::end_process_on_panic();
        let (worker, _folder) = worker();
        for _ in 0..3 {
            let failed = worker.run(|_, _| async {
                // So that a panic is not the first thing that the task does.
                tokio::task::yield_now().await;
                std::panic::panic_any(SECRET)
            });
            let failed: Result<(), Failure> = failed;
            assert!(matches!(
                failed,
                Err(Failure::Answer(KeyError::ProviderAway(why))) if why.contains("the host failed")
            ));
            assert_eq!(worker.run(|_, _| async { Ok(1) }), Ok(1));
        }
    }

    #[test]
    fn closed_worker_ends_calls_under_way_and_refuses_others() {
        let (worker, _folder) = worker();
        let worker = Arc::new(worker);
        let (begun, begins) = std::sync::mpsc::channel();
        let (end, ended) = oneshot::channel();
        let caller = std::thread::spawn({
            let worker = worker.clone();
            move || {
                worker.run(|_, _| async move {
                    begun.send(()).unwrap();
                    Ok(ended.await.unwrap())
                })
            }
        });
        begins.recv().unwrap();
        assert_eq!(worker.close(Instant::now()), 1);
        let refused: Result<(), _> = worker.run(|_, _| async { Ok(()) });
        assert!(matches!(refused, Err(Failure::NotDone(why)) if why.contains("the host stops")));
        end.send(7).unwrap();
        assert_eq!(worker.close(soon()), 0);
        assert_eq!(caller.join().unwrap(), Ok(7));
    }
}

//! The thread that sends requests, and callers that wait for it for a bounded time.
//!
//! There are at most so many calls at once as the operator says. Beyond that, calls fail at once. A call whose caller
//! has gone has ended too, or ends soon: it gives its room back then.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rialto_keys::KeyError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::configuration::{Configuration, OpenError};
use crate::failure::Failure;
use crate::service::{Service, written};
use crate::wire::Operation;

/// How long something that makes a key goes on after its caller has gone, so that the key is known and destroyed.
const LATE: Duration = Duration::from_secs(30);

/// The service, called from any thread.
pub(crate) struct Worker {
    service: Arc<Service>,
    runtime: Handle,
    /// One for each call that is under way.
    room: Arc<Semaphore>,
    calls: usize,
    timeout: Duration,
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
            let _late = answering.give(work.await);
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
            let late = answering.give(work.await);
            if let Some(Late {
                outcome: Ok(made),
                _room,
            }) = late
            {
                undo(service, made).await;
            }
        });
        self.wait(&reply, deadline)
    }

    /// The room of one call, unless there are as many as there may be.
    fn take_room(&self) -> Result<OwnedSemaphorePermit, Failure> {
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
}

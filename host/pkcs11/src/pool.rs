//! The threads that call the module, and callers that wait for them for a bounded time.
//!
//! A call of a module cannot be cancelled. A caller whose time is over gets an error, and the thread stays in the
//! call: it is *stuck* until the module returns. While all threads are stuck, calls fail at once.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rialto_keys::KeyError;
use rialto_keys::contained::contained;

use crate::connection::{Connection, Token};

/// Who is called, for people.
const WHOM: &str = "the token";

/// The threads, each with a session of its own.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    timeout: Duration,
}

struct Shared {
    state: Mutex<State>,
    /// Notified when there is a job, and when the pool is closed.
    jobs: Condvar,
    /// Notified when a thread has ended.
    ended: Condvar,
    threads: usize,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    next: u64,
    /// Threads whose callers have gone.
    stuck: usize,
    /// Threads that have not ended.
    alive: usize,
    is_closed: bool,
}

struct Job {
    number: u64,
    run: Box<dyn FnOnce(&mut Connection) + Send>,
}

/// Where an answer is put.
struct Reply<T> {
    stage: Mutex<Stage<T>>,
    done: Condvar,
}

enum Stage<T> {
    Waiting,
    Running,
    Done(Result<T, KeyError>),
    /// The caller has gone.
    Abandoned,
}

impl Pool {
    /// Start threads for this token. They open their sessions when there is something to do.
    pub(crate) fn start(
        token: &Arc<Token>,
        threads: usize,
        timeout: Duration,
    ) -> std::io::Result<Self> {
        let threads = threads.max(1);
        let pool = Self {
            shared: Arc::new(Shared {
                state: Mutex::default(),
                jobs: Condvar::new(),
                ended: Condvar::new(),
                threads,
            }),
            timeout,
        };
        for number in 0..threads {
            let (shared, connection) = (pool.shared.clone(), Connection::new(token.clone()));
            pool.shared.state.lock().alive += 1;
            std::thread::Builder::new()
                .name(format!("pkcs11-{number}"))
                .spawn(move || shared.serve(connection))
                .inspect_err(|_| pool.shared.state.lock().alive -= 1)?;
        }
        Ok(pool)
    }

    /// Do a piece of work on a thread.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, KeyError> + Send + 'static,
    ) -> Result<T, KeyError> {
        self.call_or_undo(1, work, |_, _| ())
    }

    /// Do a piece of work on a thread, and undo it there if the caller has gone when it is done. It may last so many times
    /// as long as a usual call.
    pub(crate) fn call_or_undo<T: Send + 'static>(
        &self,
        times: u32,
        work: impl FnOnce(&mut Connection) -> Result<T, KeyError> + Send + 'static,
        undo: impl FnOnce(&mut Connection, T) + Send + 'static,
    ) -> Result<T, KeyError> {
        let patience = self.timeout.saturating_mul(times);
        let deadline = Instant::now() + patience;
        let reply = Arc::new(Reply {
            stage: Mutex::new(Stage::Waiting),
            done: Condvar::new(),
        });
        let number = self.submit(reply.clone(), work, undo)?;
        let mut stage = reply.stage.lock();
        while matches!(*stage, Stage::Waiting | Stage::Running) {
            if reply.done.wait_until(&mut stage, deadline).timed_out() {
                break;
            }
        }
        match std::mem::replace(&mut *stage, Stage::Abandoned) {
            Stage::Done(outcome) => outcome,
            Stage::Running => {
                self.shared.state.lock().stuck += 1;
                Err(away("the token has not answered", patience))
            }
            Stage::Waiting | Stage::Abandoned => {
                let mut state = self.shared.state.lock();
                state.waiting.retain(|job| job.number != number);
                Err(away("all sessions of the token were busy", patience))
            }
        }
    }

    /// Threads whose callers have gone.
    pub(crate) fn stuck(&self) -> usize {
        self.shared.state.lock().stuck
    }

    /// Refuse calls from now on, and wait until those that are there have ended and all sessions are closed, but not
    /// beyond this instant. Returns how many threads may be in the module still.
    pub(crate) fn close(&self, deadline: Instant) -> usize {
        let mut state = self.shared.state.lock();
        state.is_closed = true;
        self.shared.jobs.notify_all();
        while state.alive > 0 {
            if (self.shared.ended)
                .wait_until(&mut state, deadline)
                .timed_out()
            {
                break;
            }
        }
        state.alive
    }

    /// Give a job to the threads, unless all are stuck.
    fn submit<T: Send + 'static>(
        &self,
        reply: Arc<Reply<T>>,
        work: impl FnOnce(&mut Connection) -> Result<T, KeyError> + Send + 'static,
        undo: impl FnOnce(&mut Connection, T) + Send + 'static,
    ) -> Result<u64, KeyError> {
        let shared = self.shared.clone();
        let run = move |connection: &mut Connection| {
            reply.run(connection, work, undo, || shared.state.lock().stuck -= 1);
        };
        let mut state = self.shared.state.lock();
        if state.is_closed {
            let why = "the token is not called any more: the host stops";
            return Err(KeyError::ProviderAway(why.to_owned()));
        }
        if state.stuck >= self.shared.threads {
            let why = "all sessions of the token wait for calls that have not returned";
            return Err(KeyError::ProviderAway(why.to_owned()));
        }
        let number = state.next;
        state.next += 1;
        state.waiting.push_back(Job {
            number,
            run: Box::new(run),
        });
        self.shared.jobs.notify_one();
        Ok(number)
    }
}

fn away(what: &str, patience: Duration) -> KeyError {
    KeyError::ProviderAway(format!("{what} for {} ms", patience.as_millis()))
}

impl Drop for Pool {
    /// The threads close their sessions and end. A process that exits meanwhile would take the module from under
    /// them, so they are waited for, but no longer than for a call.
    fn drop(&mut self) {
        self.close(Instant::now() + self.timeout);
    }
}

impl Shared {
    fn serve(&self, mut connection: Connection) {
        while let Some(job) = self.next() {
            (job.run)(&mut connection);
        }
        // The log has the reason if the session cannot be closed.
        let _logged = contained(WHOM, || {
            drop(connection);
            Ok(())
        });
        self.state.lock().alive -= 1;
        self.ended.notify_all();
    }

    fn next(&self) -> Option<Job> {
        let mut state = self.state.lock();
        loop {
            if let Some(job) = state.waiting.pop_front() {
                return Some(job);
            }
            if state.is_closed {
                return None;
            }
            self.jobs.wait(&mut state);
        }
    }
}

impl<T> Reply<T> {
    fn run(
        &self,
        connection: &mut Connection,
        work: impl FnOnce(&mut Connection) -> Result<T, KeyError>,
        undo: impl FnOnce(&mut Connection, T),
        no_longer_stuck: impl FnOnce(),
    ) {
        {
            let mut stage = self.stage.lock();
            if matches!(*stage, Stage::Abandoned) {
                return;
            }
            *stage = Stage::Running;
        }
        let outcome = caught(connection, work);
        let mut stage = self.stage.lock();
        if !matches!(*stage, Stage::Abandoned) {
            *stage = Stage::Done(outcome);
            self.done.notify_one();
            return;
        }
        drop(stage);
        if let Ok(made) = outcome {
            let _undone = caught(connection, |connection| {
                undo(connection, made);
                Ok(())
            });
        }
        no_longer_stuck();
    }
}

/// A panic ends the piece of work, and its session, whose state is not known; neither the thread nor the host.
fn caught<T>(
    connection: &mut Connection,
    work: impl FnOnce(&mut Connection) -> Result<T, KeyError>,
) -> Result<T, KeyError> {
    let mut has_returned = false;
    let outcome = contained(WHOM, || {
        let outcome = work(connection);
        has_returned = true;
        outcome
    });
    if !has_returned {
        let closed = contained(WHOM, || {
            connection.close();
            Ok(())
        });
        // What could not be closed is forgotten. The log has the reason.
        let _logged = closed;
    }
    outcome
}

//! The threads that call the module, and callers that wait for them for a bounded time.
//!
//! A call of a module cannot be cancelled. A caller whose time is over gets an error, and the thread stays in the
//! call: it is *stuck* until the module returns. While all threads are stuck, calls fail at once.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rialto_keys::KeyError;

use crate::connection::{Connection, Token};

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
        self.call_or_undo(work, |_, _| ())
    }

    /// Do a piece of work on a thread, and undo it there if the caller has gone when it is done.
    pub(crate) fn call_or_undo<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, KeyError> + Send + 'static,
        undo: impl FnOnce(&mut Connection, T) + Send + 'static,
    ) -> Result<T, KeyError> {
        let deadline = Instant::now() + self.timeout;
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
                Err(self.away("the token has not answered"))
            }
            Stage::Waiting | Stage::Abandoned => {
                let mut state = self.shared.state.lock();
                state.waiting.retain(|job| job.number != number);
                Err(self.away("all sessions of the token were busy"))
            }
        }
    }

    /// Threads whose callers have gone.
    pub(crate) fn stuck(&self) -> usize {
        self.shared.state.lock().stuck
    }

    fn away(&self, what: &str) -> KeyError {
        KeyError::ProviderAway(format!("{what} for {} ms", self.timeout.as_millis()))
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

impl Drop for Pool {
    /// The threads close their sessions and end. A process that exits meanwhile would take the module from under
    /// them, so they are waited for, but no longer than for a call.
    fn drop(&mut self) {
        let deadline = Instant::now() + self.timeout;
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
    }
}

impl Shared {
    fn serve(&self, mut connection: Connection) {
        while let Some(job) = self.next() {
            (job.run)(&mut connection);
        }
        drop(connection);
        self.state.lock().alive -= 1;
        self.ended.notify_all();
    }

    fn next(&self) -> Option<Job> {
        let mut state = self.state.lock();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(job) = state.waiting.pop_front() {
                return Some(job);
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

/// A panic ends the piece of work, not the thread.
fn caught<T>(
    connection: &mut Connection,
    work: impl FnOnce(&mut Connection) -> Result<T, KeyError>,
) -> Result<T, KeyError> {
    let outcome = catch_unwind(AssertUnwindSafe(|| work(connection)));
    outcome.unwrap_or_else(|_| {
        connection.close();
        let why = "the host failed in a call of the token: see its log";
        Err(KeyError::ProviderAway(why.to_owned()))
    })
}

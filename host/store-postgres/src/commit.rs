//! Writes groups in their order, two at a time.
//!
//! Groups go by turns to two connections. While the server syncs one group, the next one is already there and waits for
//! its row lock, so no round trip is lost between the two. The database refuses a group whose predecessor is not
//! committed. That happens when the later one overtakes the earlier one on its way, and then it is sent again.
//!
//! A lost connection leaves open whether its group was committed. The same group is then sent again under its number;
//! the database writes it unless it has it. So an outage of the server stops the writer for that time and does no harm.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rialto_engine::store::{Group, StoreError};
use sqlx::PgConnection;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};

use crate::columns::{Columns, Outcome};
use crate::connections::Connector;
use crate::failures::failed;
use crate::lease;
use crate::rows::signed;

/// Connections that write groups.
const CONNECTIONS: usize = 2;
/// Groups that may wait for a connection.
const WAITING: usize = 1;

/// How far the log is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    /// The highest number up to which all groups are committed, as far as this host knows.
    pub seq: u64,
    /// The epoch of this recovery. Groups of an earlier one change nothing here.
    pub epoch: i64,
    /// Why nothing more can be written.
    pub failure: Option<StoreError>,
}

/// A group that was given to the writers.
#[must_use = "a group is durable only when `wait` has returned"]
pub struct Submitted {
    outcome: oneshot::Receiver<Result<(), StoreError>>,
}

impl Submitted {
    /// Wait until the group is durable.
    ///
    /// # Errors
    /// When it is not: [`StoreError::Fenced`] if another host has taken over.
    pub fn wait(self) -> Result<(), StoreError> {
        let ended = || StoreError::Failed("the store was closed with a group on its way".into());
        self.outcome.blocking_recv().map_err(|_| ended())?
    }
}

struct Job {
    seq: u64,
    epoch: i64,
    columns: Columns,
    outcome: oneshot::Sender<Result<(), StoreError>>,
}

/// The writers of one partition.
pub(crate) struct Committer {
    jobs: Vec<mpsc::Sender<Job>>,
    /// The number of the next group. One thread writes groups.
    next: AtomicU64,
    /// The last number of an event for the outside.
    published: AtomicU64,
    progress: Arc<watch::Sender<Progress>>,
}

impl Committer {
    pub fn new(runtime: &Handle, connector: &Connector, partition: i32) -> Self {
        let progress = Arc::new(watch::Sender::new(Progress {
            failure: Some(not_recovered()),
            ..Progress::default()
        }));
        let jobs = (0..CONNECTIONS).map(|_| {
            let (sender, jobs) = mpsc::channel(WAITING);
            let writer = Writer {
                connector: connector.clone(),
                connection: None,
                partition,
                progress: progress.clone(),
            };
            runtime.spawn(writer.run(jobs));
            sender
        });
        Self {
            jobs: jobs.collect(),
            next: AtomicU64::new(1),
            published: AtomicU64::new(0),
            progress,
        }
    }

    /// Begin after the group with this number. `published` is the last number of an event for the outside until then.
    pub fn begin(&self, (seq, published): (u64, u64), epoch: i64) {
        self.next.store(seq + 1, Ordering::Release);
        self.published.store(published, Ordering::Release);
        self.progress.send_replace(Progress {
            seq,
            epoch,
            failure: None,
        });
    }

    /// Give the next event for the outside the number after this one.
    pub fn continue_after(&self, published: u64) {
        self.published.store(published, Ordering::Release);
    }

    /// Write nothing more, for this reason, unless there is one already.
    pub fn stop(&self, failure: StoreError) {
        self.progress.send_if_modified(|now| stop(now, failure));
    }

    /// Why nothing more is written.
    pub fn failure(&self) -> Option<StoreError> {
        self.progress.borrow().failure.clone()
    }

    /// Give a group to a writer. Waits while two are on their way and another waits for each.
    pub fn submit(&self, group: &Group, epoch: i64) -> Result<Submitted, StoreError> {
        if let Some(failure) = self.failure() {
            return Err(failure);
        }
        let events = group.publications.len() as u64;
        let published = self.published.load(Ordering::Acquire);
        let columns = Columns::of(group, published)?;
        self.published.store(published + events, Ordering::Release);
        let seq = self.next.fetch_add(1, Ordering::AcqRel);
        let (outcome, submitted) = oneshot::channel();
        let job = Job {
            seq,
            epoch,
            columns,
            outcome,
        };
        let writer = usize::from(!seq.is_multiple_of(2));
        let sent = self.jobs[writer].blocking_send(job);
        sent.map_err(|_| StoreError::Failed("the store's writer has ended".into()))?;
        Ok(Submitted { outcome: submitted })
    }

    /// Wait until every group that was submitted is written, or nothing more is.
    pub async fn settled(&self) {
        let last = self.next.load(Ordering::Acquire) - 1;
        let mut progress = self.progress.subscribe();
        let settled = progress.wait_for(|now| now.seq >= last || now.failure.is_some());
        drop(settled.await);
    }
}

/// The failure of a store that may not write yet.
pub(crate) fn not_recovered() -> StoreError {
    StoreError::Failed("the store has not been recovered".into())
}

fn stop(now: &mut Progress, failure: StoreError) -> bool {
    let first = now.failure.is_none();
    now.failure.get_or_insert(failure);
    first
}

/// One connection and its groups.
struct Writer {
    connector: Connector,
    connection: Option<PgConnection>,
    partition: i32,
    progress: Arc<watch::Sender<Progress>>,
}

impl Writer {
    async fn run(mut self, mut jobs: mpsc::Receiver<Job>) {
        while let Some(job) = jobs.recv().await {
            let written = self.write(&job).await;
            self.progress.send_if_modified(|now| match &written {
                _ if now.epoch != job.epoch => false,
                Ok(()) => {
                    let further = job.seq > now.seq;
                    now.seq = now.seq.max(job.seq);
                    further
                }
                Err(failure) => stop(now, failure.clone()),
            });
            // Nobody may be waiting any more.
            let _ = job.outcome.send(written);
        }
    }

    /// Write a group, again after an outage and after the group before it.
    async fn write(&mut self, job: &Job) -> Result<(), StoreError> {
        let at = (self.partition, job.epoch, signed(job.seq)?);
        let mut attempts = self.connector.attempts();
        loop {
            let before_is_known = self.progress.borrow().seq + 1 >= job.seq;
            match self.attempt(&job.columns, at).await {
                Ok(Outcome::Written) => return Ok(()),
                Ok(Outcome::Fenced) => return Err(StoreError::Fenced),
                Ok(Outcome::Gap) if before_is_known => {
                    self.note_loss(at).await;
                    return Err(lost(job.seq));
                }
                Ok(Outcome::Gap) => {
                    self.wait_for(job.seq - 1).await?;
                    attempts = self.connector.attempts();
                }
                Err(error) => attempts.again(error).await.map_err(failed)?,
            }
        }
    }

    /// Have the database remember that it has lost something, so that no host serves before somebody has accepted that.
    async fn note_loss(&mut self, (partition, epoch, seq): (i32, i64, i64)) {
        let noting = async {
            let mut connection = match self.connection.take() {
                Some(connection) => connection,
                None => self.connector.connect().await?,
            };
            sqlx::query(
                "INSERT INTO rialto.facts
                 SELECT $3, $4 FROM rialto.partitions WHERE partition = $1 AND epoch = $2
                 ON CONFLICT DO NOTHING",
            )
            .bind(partition)
            .bind(epoch)
            .bind(lease::lost_fact(partition))
            .bind((seq - 1).to_string())
            .execute(&mut connection)
            .await
        };
        if let Err(error) = self.connector.in_time(noting).await {
            tracing::error!(%error, "ALERT: the database has lost what it acknowledged, and does not remember that: stop the other hosts");
        }
    }

    async fn attempt(
        &mut self,
        columns: &Columns,
        at: (i32, i64, i64),
    ) -> Result<Outcome, sqlx::Error> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connector.connect().await?,
        };
        let writing = columns.write(&mut connection, at);
        let outcome = self.connector.in_time(writing).await?;
        self.connection = Some(connection);
        Ok(outcome)
    }

    /// Wait until the group with this number is committed.
    async fn wait_for(&self, seq: u64) -> Result<(), StoreError> {
        let mut progress = self.progress.subscribe();
        let now = progress
            .wait_for(|now| now.seq >= seq || now.failure.is_some())
            .await;
        let now = now.map_err(|_| StoreError::Failed("the store was closed".into()))?;
        match &now.failure {
            Some(failure) if now.seq < seq => Err(failure.clone()),
            _ => Ok(()),
        }
    }
}

/// A group was acknowledged, and the database does not have it.
fn lost(seq: u64) -> StoreError {
    StoreError::Failed(format!(
        "ALERT: the database has lost the group with number {} after it was acknowledged: it was restored, or a replica \
         without synchronous replication has become the primary. No host serves until somebody accepts the loss, which the \
         operators' document explains",
        seq - 1
    ))
}

//! Sends the audit log to the operator's collector: each entry as a log record, in the log's order, but those about
//! receipts.
//!
//! A thread looks for new entries each second and sends them in batches. It reads them from the store, where they stay, and
//! remembers in the store how far it came. So an entry is sent at least once: while the collector is away, entries wait, and
//! after a crash the last second's are sent again. Each record has the entry's index. No payment waits for the thread.
//!
//! An entry that the collector refuses for good keeps the others waiting only as long as it refuses these too.

mod metrics;
mod record;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rialto_edge::collector::{BatchRefused, Rejected};
use rialto_engine::store::StoreError;
use rialto_manifest::operator::Telemetry;
use rialto_receipts::log;
use rialto_store::{HostStore, StoredEntry};
use rialto_store_sqlite::retention::ArchivedEntries;
use rialto_store_sqlite::retention::ReadArchives as _;
use rialto_telemetry::Metrics;
use rialto_telemetry::otlp::{EXPORT_TARGET, Resource};
use rialto_telemetry::records::Record;
use tokio::runtime::Handle;

use crate::audit_lines::Format;
use crate::sender::{Host, Sender, pause_after};
use metrics::{Sent, SentCollector};
use record::record;

/// The time between two looks for new entries.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Entries of one batch.
const BATCH: u32 = 256;
/// Bytes of the bodies of one batch, roughly: collectors refuse what is too long.
const BATCH_BYTES: usize = 1 << 20;
/// Entries behind a refused one that are tried at once.
const TRIED: usize = 8;
/// Pages of entries among which these are looked for.
const PAGES_TRIED: u32 = 64;
/// The time between two writes of how far it came, while there is more to send.
const REMEMBERED_EVERY: Duration = Duration::from_secs(1);

/// The work of the thread.
struct Export {
    store: Arc<dyn HostStore>,
    /// Entries that were archived before they were to be sent.
    archived: ArchivedEntries,
    format: Format,
    collector: rialto_edge::Collector,
    resource: Resource,
    host: Host,
    sent: Arc<Sent>,
    /// The index of the entry to send next; none before the first look.
    next: Option<u64>,
    /// The index that the store remembers, and when it was written.
    remembered: (u64, Instant),
    /// Entries of the next batch at most. After a refused batch they are sent one by one.
    batch: u32,
}

/// How a look ended.
enum Looked {
    /// All is sent.
    Done,
    /// The host stops.
    Stopped,
}

/// Why a look ended early.
#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error("the collector does not accept entries from index {0} on: {1}")]
    Refused(u64, BatchRefused),
    #[error("the store cannot be used: {0}")]
    Store(#[from] StoreError),
}

impl Export {
    /// Send what is there.
    fn look(&mut self) -> Result<Looked, Failed> {
        loop {
            let next = self.next()?;
            let archived = &mut self.archived;
            let entries = self.store.all_audit_entries(archived, next, self.batch)?;
            for unread in self.archived.take_unread() {
                tracing::error!(target: EXPORT_TARGET, "{unread}. They are not sent");
            }
            let size = self.store.audit_size()?;
            let waiting = size.saturating_sub(next);
            self.sent.waiting.store(waiting, Ordering::Relaxed);
            if entries.is_empty() {
                self.remember(next)?;
                return Ok(Looked::Done);
            }
            let (batch, end) = self.batch_of(next, &entries);
            if batch.is_empty() {
                self.next = Some(end);
                if self.remembered.1.elapsed() >= REMEMBERED_EVERY {
                    self.remember(end)?;
                    // A host that stops is not to wait for what is not sent.
                    if self.host.stops() {
                        return Ok(Looked::Stopped);
                    }
                }
                continue;
            }
            match self.send(&batch) {
                None => return Ok(Looked::Stopped),
                Some(Ok(rejected)) => self.accepted(&batch, (next, end), rejected),
                Some(Err(refused)) => {
                    self.sent.failures.fetch_add(1, Ordering::Relaxed);
                    let is_one = batch.len() == 1;
                    // Perhaps it is too much at once, or one of them is not taken.
                    if !refused.worth_a_retry && !is_one {
                        self.batch = 1;
                        continue;
                    }
                    if !refused.worth_a_retry && self.leaves_out(next, &refused)? {
                        continue;
                    }
                    // What was accepted before is not to be sent again.
                    self.remember(next)?;
                    return Err(Failed::Refused(next, refused));
                }
            }
            self.next = Some(end);
            if self.remembered.1.elapsed() >= REMEMBERED_EVERY {
                self.remember(end)?;
            }
        }
    }

    /// Leave out an entry that the collector refuses for good, and those behind it that it refuses too, if it accepts one
    /// after them. If it accepts none of those that are tried, the fault may be the collector's, and all wait.
    fn leaves_out(&mut self, next: u64, refused: &BatchRefused) -> Result<bool, Failed> {
        let mut tried = self.sendable(next)?.into_iter();
        let Some(first) = tried.next().map(|entry| entry.index) else {
            return Ok(false);
        };
        for (before, entry) in (1..).zip(tried) {
            match self.send(&[record(self.format, &entry)]) {
                Some(Ok(Rejected(0))) => {
                    let last = entry.index - 1;
                    tracing::error!(target: EXPORT_TARGET, "the collector refuses the entries {first} to {last} of the audit log ({refused}) and accepts the one behind them: they are left out, and `rialto audit export --format` has them");
                    self.sent.rejected.fetch_add(before, Ordering::Relaxed);
                    self.sent.sent.fetch_add(1, Ordering::Relaxed);
                    self.next = Some(entry.index + 1);
                    return Ok(true);
                }
                // It takes the batch and not the entry: this one is refused too.
                Some(Ok(Rejected(1..))) => {}
                Some(Err(other)) if !other.worth_a_retry => {}
                Some(Err(_)) | None => return Ok(false),
            }
        }
        Ok(false)
    }

    /// The next entries that are sent, as many as are tried, among the next ones.
    fn sendable(&mut self, mut next: u64) -> Result<Vec<StoredEntry>, StoreError> {
        let mut found = Vec::new();
        for _ in 0..PAGES_TRIED {
            let archived = &mut self.archived;
            let entries = self.store.all_audit_entries(archived, next, BATCH)?;
            let Some(last) = entries.last() else { break };
            next = last.index + 1;
            found.extend(entries.into_iter().filter(|entry| !is_left_out(entry)));
            if found.len() > TRIED {
                break;
            }
        }
        found.truncate(TRIED + 1);
        Ok(found)
    }

    /// The index of the entry to send next.
    fn next(&mut self) -> Result<u64, StoreError> {
        if let Some(next) = self.next {
            return Ok(next);
        }
        let (next, size) = (self.store.audit_sent()?, self.store.audit_size()?);
        if next > size {
            tracing::error!(target: EXPORT_TARGET, entries = size, sent = next, "the audit log is shorter than what was sent of it: `rialto audit verify` names what is missing. New entries are sent");
        }
        let next = next.min(size);
        self.next = Some(next);
        self.remembered.0 = next;
        Ok(next)
    }

    /// The records of the first entries, and the index after these entries.
    fn batch_of(&self, next: u64, entries: &[StoredEntry]) -> (Vec<Record>, u64) {
        let mut bytes = 0;
        let mut expected = next;
        let mut batch = Vec::new();
        for entry in entries {
            if entry.index > expected {
                let last = entry.index - 1;
                tracing::error!(target: EXPORT_TARGET, "entries {expected} to {last} of the audit log are missing in the store, and are not sent: `rialto audit verify` names all that differs");
            }
            expected = entry.index + 1;
            if is_left_out(entry) {
                continue;
            }
            let record = record(self.format, entry);
            bytes += record.body.len();
            batch.push(record);
            if bytes >= BATCH_BYTES {
                break;
            }
        }
        (batch, expected)
    }

    /// Send a batch. None if the host stops before the answer is there.
    fn send(&mut self, batch: &[Record]) -> Option<Result<Rejected, BatchRefused>> {
        let answered = self.collector.export(&self.resource, batch);
        self.host.run(answered)
    }

    fn accepted(&mut self, batch: &[Record], (next, end): (u64, u64), rejected: Rejected) {
        let count = batch.len() as u64;
        let Rejected(rejected) = rejected;
        let rejected = rejected.min(count);
        self.sent
            .sent
            .fetch_add(count - rejected, Ordering::Relaxed);
        if rejected > 0 {
            self.sent.rejected.fetch_add(rejected, Ordering::Relaxed);
            let last = end - 1;
            tracing::error!(target: EXPORT_TARGET, "the collector has rejected {rejected} of the entries {next} to {last} of the audit log: `rialto audit export --format` has them");
        }
        self.batch = (self.batch * 2).min(BATCH);
    }

    /// Have the store remember how far it came.
    fn remember(&mut self, next: u64) -> Result<(), StoreError> {
        if self.remembered.0 != next {
            self.store.set_audit_sent(next)?;
        }
        self.remembered = (next, Instant::now());
        Ok(())
    }

    /// Look again and again, until the host stops.
    fn run(mut self) {
        let mut failing: Option<Duration> = None;
        loop {
            let is_last = self.host.is_last_look();
            let pause = match self.look() {
                Ok(Looked::Stopped) => break,
                Ok(Looked::Done) => {
                    if failing.take().is_some() {
                        tracing::info!(target: EXPORT_TARGET, url = %self.collector.url(), "entries of the audit log are sent again");
                    }
                    LOOK_EVERY
                }
                Err(error) => {
                    let pause = pause_after(failing);
                    if failing.replace(pause).is_none() {
                        tracing::warn!(target: EXPORT_TARGET, url = %self.collector.url(), "entries of the audit log are not sent, and wait in the store: {error}");
                    }
                    pause
                }
            };
            if is_last {
                break;
            }
            self.host.pause(pause);
        }
        let remembered = self.next.map_or(Ok(()), |next| self.remember(next));
        if let Err(error) = remembered {
            tracing::warn!(target: EXPORT_TARGET, "the last entries of the audit log will be sent again: {error}");
        }
    }
}

/// Whether an entry is not sent. Those about receipts are hashes, and there is one for most commits of the host.
fn is_left_out(entry: &StoredEntry) -> bool {
    log::text_is_about_receipts(&entry.body)
}

/// Start the thread, if the operator wants it.
///
/// # Errors
/// When the collector's URL is none, or the system has no room for a thread.
pub fn start(
    wanted: Option<&Telemetry>,
    (store, archives): (&Arc<dyn HostStore>, &Path),
    metrics: &Metrics,
    handle: &Handle,
) -> anyhow::Result<Option<Sender>> {
    let Some((wanted, format)) = wanted.and_then(|wanted| Some((wanted, wanted.audit?))) else {
        return Ok(None);
    };
    let url = wanted.endpoint.to_string();
    let collector = rialto_edge::Collector::new::<Record>(&url);
    let collector = collector.with_context(|| format!("sending the audit log to {url}"))?;
    let sent = Arc::new(Sent::default());
    metrics.add_collector(Box::new(SentCollector(sent.clone())));
    let (store, archived) = (store.clone(), ArchivedEntries::new(archives, &[]));
    let resource = Resource {
        service: wanted.service_name.clone(),
        version: env!("CARGO_PKG_VERSION"),
    };
    let sender = Sender::start("audit-export", handle, move |host| {
        let export = Export {
            store,
            archived,
            format: format.into(),
            collector,
            resource,
            host,
            sent,
            next: None,
            remembered: (0, Instant::now()),
            batch: BATCH,
        };
        export.run();
    });
    let sender = sender.context("starting the thread that sends the audit log")?;
    Ok(Some(sender))
}

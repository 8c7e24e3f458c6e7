//! What leaves: groups to the disk, then answers to those who wait and requests to the outside;
//! and what comes back from there.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::commit::group;
use crate::engine::Engine;
use crate::network::{OutboundRequest, Report};
use crate::stimulus::{Cause, Delivery, Failure, Payload, Trace};
use crate::store::{Group, StoreError};

impl Engine {
    /// Write all executed turns that wait in one group, and let their outputs go. Answers how many
    /// turns there were. After an error the engine takes nothing more: what was executed and not
    /// written is lost with it, and nobody has been told otherwise. Of the group itself nobody can
    /// say whether it is on disk; what was executed behind it surely is not.
    pub fn commit(&self) -> Result<usize, StoreError> {
        let shared = &self.shared;
        if let Some(error) = shared.failed.get() {
            return Err(error.clone());
        }
        let Some(batch) = shared.log.take() else {
            return Ok(0);
        };
        let started_us = shared.environment.clock.monotonic_us();
        let mut group = group(&batch);
        group.next_id = shared.next_id.load(Ordering::Relaxed);
        group.collections = shared.collections.unstored();
        if let Err(error) = shared.environment.store.write(&group) {
            tracing::error!(%error, "a group could not be written; the host stops");
            let _ = shared.failed.set(error.clone());
            for (waiter, _) in batch.answers {
                waiter(Err(Failure::Store(error.to_string())));
            }
            for behind in shared.log.give_up() {
                behind.tell();
            }
            return Err(error);
        }
        shared.collections.stored(&group.collections);
        shared.log.written(batch.lsn);
        self.count_commit(&group, started_us);
        for request in &group.outbound_added {
            self.send_out(request.clone());
        }
        for (waiter, reply) in batch.answers {
            waiter(Ok(reply));
        }
        shared.documents.trim(batch.lsn);
        Ok(group.turns)
    }

    fn count_commit(&self, group: &Group, started_us: u64) {
        let counters = &self.shared.counters;
        let took = self
            .shared
            .environment
            .clock
            .monotonic_us()
            .saturating_sub(started_us);
        let add = |counter: &AtomicU64, n: usize| {
            counter.fetch_add(n as u64, Ordering::Relaxed);
        };
        add(&counters.commits, 1);
        add(&counters.committed_turns, group.turns);
        add(&counters.documents_written, group.documents.len());
        add(&counters.deliveries_written, group.deliveries_added.len());
        counters.commit_us.fetch_add(took, Ordering::Relaxed);
    }

    pub(crate) fn send_out(&self, request: Arc<OutboundRequest>) {
        let engine = self.clone();
        self.shared.outbound.fetch_add(1, Ordering::Relaxed);
        let sent = request.clone();
        self.shared.environment.network.send(
            request,
            Box::new(move |report| engine.reported(&sent, report)),
        );
    }

    fn reported(&self, request: &OutboundRequest, report: Report) {
        let shared = &self.shared;
        shared.outbound.fetch_sub(1, Ordering::Relaxed);
        let (interface, function) = shared.handler.report_function();
        self.enqueue_delivery(Arc::new(Delivery {
            id: shared.fresh_id(),
            cause: Cause::Report { id: request.id },
            component: request.component.clone(),
            interface,
            function,
            payload: Payload::Live(Arc::new(report)),
            by: None,
            trace: Trace::parse(&request.traceparent).unwrap_or_default(),
            subjects: request.subjects.clone(),
            hops: 0,
            starts: 0,
        }));
    }
}

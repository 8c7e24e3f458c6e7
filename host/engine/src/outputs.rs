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
        self.send_more();
        if let Some(spans) = &shared.environment.spans {
            let ended = batch.turns.iter().filter_map(|turn| turn.span.as_ref());
            ended.for_each(|span| spans.ended(span));
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
        let shared = &self.shared;
        let each_max = shared.limits.requests_waiting_per_destination_max;
        if shared.outlets.admit(&request, each_max) {
            self.send_now(request);
        }
    }

    /// Send some of those that waited on disk, as far as there is room. Each request that ends has a
    /// turn of its report, so a commit comes after it and finds the room that it left.
    fn send_more(&self) {
        let shared = &self.shared;
        let each_max = shared.limits.requests_waiting_per_destination_max;
        let ids = shared.outlets.read_back(each_max);
        if ids.is_empty() {
            return;
        }
        match shared.environment.store.outbound(&ids) {
            Ok(requests) => {
                for request in requests {
                    self.send_now(Arc::new(request));
                }
            }
            // They are still on disk, and go out after the next start.
            Err(error) => {
                tracing::error!(%error, requests = ids.len(), "requests that waited on disk could not be read back; they are sent when the host starts again");
            }
        }
    }

    fn send_now(&self, request: Arc<OutboundRequest>) {
        let engine = self.clone();
        let sent = request.clone();
        self.shared.environment.network.send(
            request,
            Box::new(move |report| engine.reported(&sent, report)),
        );
    }

    fn reported(&self, request: &OutboundRequest, report: Report) {
        let shared = &self.shared;
        shared.outlets.ended(request);
        let (interface, function) = shared.handler.report_function();
        let sent_by = Trace::parse(&request.traceparent).unwrap_or_default();
        let trace = Trace {
            parent: report.span.unwrap_or(sent_by.parent),
            ..sent_by
        };
        self.enqueue_delivery(Arc::new(Delivery {
            id: shared.fresh_id(),
            cause: Cause::Report { id: request.id },
            component: request.component.clone(),
            interface,
            function,
            payload: Payload::Live(Arc::new(report)),
            by: None,
            trace,
            subjects: request.subjects.clone(),
            hops: 0,
            starts: 0,
        }));
    }
}

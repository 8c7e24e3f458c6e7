//! What leaves: groups to the disk, then answers to those who wait and requests to the outside;
//! and what comes back from there.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::commit::{Batch, Executed, group};
use crate::engine::Engine;
use crate::failing::durable;
use crate::network::{OutboundRequest, Report};
use crate::origin::Origin;
use crate::outlets::destination;
use crate::stimulus::{Cause, Delivery, Failure, Payload, Reply, Trace, Waiter};
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
        let deliveries = group.deliveries_added.iter().map(|d| d.id);
        let ids = deliveries.chain(group.outbound_added.iter().map(|o| o.id));
        let highest = ids.max().unwrap_or_default();
        assert!(
            highest < group.next_id,
            "id {highest} is in use, and the next one is {}",
            group.next_id
        );
        let turns = group.history.iter().map(|record| record.turn.0);
        let letters = group.dead_letters_added.iter();
        let ids = turns.chain(letters.map(|letter| letter.delivery.id));
        let highest = ids.max().unwrap_or_default();
        assert!(
            highest < group.next_id,
            "id {highest} is in the history, and the next one is {}",
            group.next_id
        );
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
        self.leave(&batch, shared.environment.clock.monotonic_us());
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

    /// What turns that are on disk send leaves, unless it waits for an answer.
    fn leave(&self, batch: &Batch, now_us: u64) {
        for turn in batch.turns.iter() {
            for request in &turn.outbound {
                let answers = &self.shared.answers;
                let answer = turn.answer.as_ref();
                if !answer.is_some_and(|answer| answers.keeps(answer, request, now_us)) {
                    self.send_out(request.clone());
                }
            }
        }
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
        if self.shared.outlets.admit(&request) {
            self.send_now(request);
        }
    }

    /// Send some of those that waited on disk, as far as there is room. Each request that ends has a
    /// turn of its report, so a commit comes after it and finds the room that it left.
    pub(crate) fn send_more(&self) {
        let shared = &self.shared;
        let now_us = shared.environment.clock.monotonic_us();
        let taken = shared.outlets.read_back(now_us);
        if taken.is_empty() {
            return;
        }
        let ids: Vec<u64> = taken.iter().map(|(id, _)| *id).collect();
        match shared.environment.store.outbound(&ids) {
            Ok(requests) => {
                assert_eq!(
                    requests.len(),
                    ids.len(),
                    "requests that wait for room at their destination are in the store"
                );
                for request in requests {
                    self.send_now(Arc::new(request));
                }
            }
            Err(error) => {
                tracing::error!(%error, requests = ids.len(), "requests that wait on disk could not be read back; the store is asked again in a moment");
                shared.outlets.put_back(taken, now_us);
            }
        }
    }

    fn send_now(&self, request: Arc<OutboundRequest>) {
        let engine = self.clone();
        let sent = request.clone();
        self.shared.environment.network.send(
            request,
            // On a thread of the network.
            Box::new(move |report| {
                let body = || engine.reported(&sent, report);
                engine.shared.guarded("the engine, told of a report,", body);
            }),
        );
    }

    fn reported(&self, request: &OutboundRequest, report: Report) {
        let shared = &self.shared;
        assert!(
            report.id == request.id,
            "the network reports of request {} what became of request {}",
            request.id,
            report.id
        );
        shared.outlets.ended(request);
        let (interface, function) = shared.handler.report_function();
        let sent_by = Trace::parse(&request.traceparent).unwrap_or_default();
        let trace = Trace {
            parent: report.span.unwrap_or(sent_by.parent),
            ..sent_by
        };
        let report = Arc::new(Delivery {
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
            redeliveries: 0,
            origin: Origin::of(destination(&request.url).into()),
        });
        if request.id < shared.first_id {
            self.report_by_the_store(&report);
        } else {
            self.enqueue_delivery(report);
        }
    }

    /// The report of a request from before this start. Perhaps its turn ended the process: it becomes a
    /// delivery on disk before it runs, so that the next start counts it.
    fn report_by_the_store(&self, report: &Arc<Delivery>) {
        let shared = &self.shared;
        let mut executed = Executed::default();
        let delivery = durable(report, shared.environment.clock.now(), &mut executed);
        // Whoever commits may have it handled at once.
        shared.logged(&executed.deliveries);
        let engine = self.weak();
        let written: Waiter = Box::new(move |outcome| {
            // Otherwise the request is in the store still, and is sent again by the next start.
            if let (Ok(_), Some(engine)) = (outcome, engine.get()) {
                engine.enqueue_delivery(delivery);
            }
        });
        let now_us = shared.environment.clock.monotonic_us();
        let answer = (written, Box::new(()) as Reply);
        if let Err(refused) = shared.log.append(executed, Some(answer), now_us) {
            refused.tell();
        }
    }
}

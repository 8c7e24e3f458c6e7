//! The commit of a group and the outputs that it releases.
//!
//! `commit` writes a group of executed turns to the store. Then it gives their answers to the waiters and
//! their outbound requests to the network. The report of a request that has ended becomes a delivery.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::commit::{Batch, Executed};
use crate::engine::Engine;
use crate::failing::durable;
use crate::merging::{entries_about_receipts, group};
use crate::network::{OutboundRequest, Report};
use crate::origin::Origin;
use crate::outbound_queues::destination;
use crate::stimulus::{Cause, Delivery, Failure, Payload, Reply, Trace, Waiter};
use crate::store::{Group, StoreError, Submitted};

/// A group that the store was given and that may not be durable yet.
pub(crate) struct SubmittedGroup {
    batch: Batch,
    group: Group,
    submitted: Box<dyn Submitted>,
    started_us: u64,
}

impl Engine {
    /// Write all executed turns that wait as one group, then release their answers and outbound requests.
    /// Returns how many turns the group had.
    ///
    /// After an error the engine accepts nothing more. Turns that were executed and not written are lost;
    /// no answer was given for them. The failed group may be on disk or not, and so may groups that were sent ahead
    /// behind it; turns behind those are not.
    pub fn commit(&self) -> Result<usize, StoreError> {
        match self.begin_commit()? {
            Some(group) => self.end_commit(group),
            None => Ok(0),
        }
    }

    /// Give all executed turns that wait to the store, as one group. None if no turn waits. Errors are those of
    /// `commit`.
    pub(crate) fn begin_commit(&self) -> Result<Option<SubmittedGroup>, StoreError> {
        let shared = &self.shared;
        if let Some(error) = shared.failed.get() {
            return Err(error.clone());
        }
        let Some(batch) = shared.log.take() else {
            return Ok(None);
        };
        let started_us = shared.environment.clock.monotonic_us();
        let mut group = group(&batch);
        if let Some(log) = &shared.environment.receipt_log {
            let now = shared.environment.clock.now();
            let entries = entries_about_receipts(&batch, &**log, now);
            group.audit.extend(entries);
        }
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
        match shared.environment.store.submit(&group) {
            Ok(submitted) => Ok(Some(SubmittedGroup {
                batch,
                group,
                submitted,
                started_us,
            })),
            Err(error) => Err(self.not_written(batch, error)),
        }
    }

    /// Wait until a group is durable, then release its outputs. Groups are finished in their order.
    pub(crate) fn end_commit(&self, group: SubmittedGroup) -> Result<usize, StoreError> {
        let SubmittedGroup {
            batch,
            group,
            submitted,
            started_us,
        } = group;
        let shared = &self.shared;
        // Behind a group that has failed nothing leaves, whatever became of this one.
        let written = submitted.wait();
        let failed = shared.failed.get().cloned().map_or(Ok(()), Err);
        if let Err(error) = failed.and(written) {
            return Err(self.not_written(batch, error));
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
        if let Some(observer) = shared.observer.get()
            && !group.receipts.is_empty()
        {
            observer.committed(&group.receipts);
        }
        if let Some(observer) = shared.commit_observer.get() {
            observer.committed(&group);
        }
        shared.documents.trim(batch.lsn);
        Ok(group.turns)
    }

    /// Note that a group could not be written: the engine has failed. Tells all who wait.
    fn not_written(&self, batch: Batch, error: StoreError) -> StoreError {
        let shared = &self.shared;
        if shared.failed.set(error.clone()).is_ok() {
            tracing::error!(%error, "a group could not be written; the host stops");
        }
        for (waiter, _) in batch.answers {
            waiter(Err(Failure::Store(error.to_string())));
        }
        for behind in shared.log.give_up() {
            behind.tell();
        }
        error
    }

    /// Send the outbound requests of turns that are on disk. Those that must follow an answer wait for it.
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
        if self.shared.outbound_queues.admit(&request) {
            self.send_now(request);
        }
    }

    /// Send requests that waited on disk, as far as there is memory. Each request that ends causes a turn
    /// for its report. The commit of that turn calls this again.
    pub(crate) fn send_more(&self) {
        let shared = &self.shared;
        let now_us = shared.environment.clock.monotonic_us();
        let taken = shared.outbound_queues.read_back(now_us);
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
                tracing::error!(%error, requests = ids.len(), "requests that wait on disk could not be read from the store; the host tries again in a moment");
                shared.outbound_queues.put_back(taken, now_us);
            }
        }
    }

    fn send_now(&self, request: Arc<OutboundRequest>) {
        let engine = self.clone();
        let sent = request.clone();
        self.shared.environment.network.send(
            request,
            // Runs on a thread of the network.
            Box::new(move |report| {
                let body = || engine.reported(&sent, report);
                engine
                    .shared
                    .guarded("the engine's handling of a report", body);
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
        shared.outbound_queues.ended(request);
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

    /// Store the report of a request from before this start as a delivery before its turn runs. The turn may
    /// be what ended the process; the next start then counts one more redelivery of it.
    fn report_by_the_store(&self, report: &Arc<Delivery>) {
        let shared = &self.shared;
        let mut executed = Executed::default();
        let delivery = durable(report, shared.environment.clock.now(), &mut executed);
        // A thread that commits may run the delivery at once.
        shared.logged(&executed.deliveries);
        let engine = self.weak();
        let written: Waiter = Box::new(move |outcome| {
            // Otherwise the request is still in the store, and the next start sends it again.
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

//! Metrics of the engine's counters and load, and of the destinations' status.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use rialto_edge::Outbound;
use rialto_engine::Engine;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::allocations::allocations;
use crate::one_metric::{counter, gauge};

/// Reads an engine and its network when metrics are asked for.
#[derive(Clone)]
pub struct EngineCollector(pub Engine, pub Arc<Outbound>);

impl std::fmt::Debug for EngineCollector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EngineCollector")
    }
}

impl Collector for EngineCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let counters = self.0.counters();
        let counted = [
            ("turns_executed", "Turns executed", &counters.executed),
            (
                "turns_failed",
                "Runs of turns that failed",
                &counters.failed,
            ),
            (
                "turn_conflicts",
                "Runs of turns that a conflict with another turn interrupted",
                &counters.conflicts,
            ),
            (
                "outside_calls",
                "Calls of services outside the host that turns made, such as of PKCS #11 tokens",
                &counters.outside_calls,
            ),
            (
                "dead_letters",
                "Deliveries that became dead letters",
                &counters.dead_letters,
            ),
            ("commits", "Groups written to disk", &counters.commits),
            (
                "turns_committed",
                "Turns in the groups written",
                &counters.committed_turns,
            ),
            (
                "documents_written",
                "Documents in the groups written",
                &counters.documents_written,
            ),
            (
                "deliveries_written",
                "Deliveries still pending when their group was written",
                &counters.deliveries_written,
            ),
            (
                "commit_microseconds",
                "Microseconds spent on writing groups",
                &counters.commit_us,
            ),
            (
                "requests_shed",
                "Requests refused because the engine was overloaded",
                &counters.refused,
            ),
            (
                "component_pauses",
                "Pauses of components because deliveries to them failed",
                &counters.pauses,
            ),
        ];
        for (name, help, value) in counted {
            counter(&mut encoder, name, help, value.load(Ordering::Relaxed))?;
        }
        if let Some((count, bytes)) = allocations() {
            for (name, help, value) in [
                ("allocations", "Allocations of memory", count),
                ("allocated_bytes", "Bytes of memory allocated", bytes),
            ] {
                counter(&mut encoder, name, help, value)?;
            }
        }
        let load = self.0.load();
        let destinations = self.1.destinations();
        let away = destinations.iter().filter(|d| d.circuit != "closed");
        let gauges = [
            (
                "turns_active",
                "Turns that are ready or running",
                load.turns_active,
            ),
            (
                "turns_alive",
                "Turns that are not finished, including those that wait",
                load.turns_alive,
            ),
            (
                "turns_outside",
                "Turns that wait for a service outside the host, such as a PKCS #11 token",
                load.turns_outside,
            ),
            (
                "turns_delayed",
                "Deliveries that wait for another attempt",
                load.turns_delayed,
            ),
            (
                "turns_kept",
                "Deliveries that wait for a paused component",
                load.turns_kept,
            ),
            (
                "turns_on_disk",
                "Waiting deliveries that are not in memory",
                load.turns_on_disk,
            ),
            (
                "components_paused",
                "Components that are paused because deliveries to them failed",
                load.components_paused,
            ),
            (
                "turns_uncommitted",
                "Executed turns that wait for the disk",
                load.turns_uncommitted,
            ),
            (
                "reminders_waiting",
                "Reminders that have not run yet",
                load.reminders,
            ),
            (
                "reminders_held",
                "Due reminders that wait for earlier deliveries",
                load.reminders_blocked,
            ),
            (
                "reminders_held_by_dead_letters",
                "Due reminders that wait for dead letters",
                load.reminders_blocked_by_letters,
            ),
            (
                "requests_outbound",
                "Outbound requests under way, in memory",
                load.outbound,
            ),
            (
                "requests_outbound_on_disk",
                "Outbound requests that wait on disk for a free connection slot of their destination",
                load.outbound_on_disk,
            ),
            (
                "circuits_open",
                "Destinations with an open circuit breaker, because they cannot be reached",
                away.count(),
            ),
            (
                "document_bytes",
                "Bytes of documents in memory",
                load.document_bytes,
            ),
        ];
        for (name, help, value) in gauges {
            gauge(&mut encoder, name, help, value)?;
        }
        Ok(())
    }
}

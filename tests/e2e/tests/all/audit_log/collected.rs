//! The audit log at an OpenTelemetry collector.

use std::net::SocketAddr;

use super::export::stored;
use super::*;
use crate::telemetry::{Collector, attributes};

/// The entries at a collector: index and line, in the order in which they came.
pub(super) fn arrived(collector: &Collector) -> Vec<(u64, String)> {
    let records = collector.log_records().into_iter();
    records
        .map(|record| {
            let index = &attributes(&record)["rialto.audit.index"]["intValue"];
            let index = index.as_str().unwrap().parse().unwrap();
            let line = record["body"]["stringValue"].as_str().unwrap();
            (index, line.to_owned())
        })
        .collect()
}

/// The lines that the command writes.
fn exported(world: &World) -> Vec<String> {
    let at = world.scheme.path().to_str().unwrap();
    let output = audit(&["export", "--format", "ocsf"], &["--at", at]);
    assert_eq!(output.code, 0, "{output}");
    output.stdout.lines().map(str::to_owned).collect()
}

/// The scheme, whose host sends each entry to this collector.
async fn world(collector: SocketAddr) -> World {
    let scheme = TestScheme::demo().unwrap();
    let settings = format!("\n[telemetry]\nendpoint = \"http://{collector}\"\naudit = \"ocsf\"\n");
    scheme.add_host_settings(&settings).unwrap();
    World::of(scheme, &WorldOptions::default()).await.unwrap()
}

/// Wait until all entries about a transfer, and all before them, have arrived.
async fn committed_entry(collector: &Collector, transfer: &str) {
    until("the entry of the transfer", SOON, async || {
        let all = arrived(collector);
        let is_there = all.iter().any(|(_, line)| {
            line.contains(transfer) && line.contains("\"event_code\":\"transfer.committed\"")
        });
        Ok(is_there.then_some(()).ok_or(format!("{all:?}")))
    })
    .await
    .unwrap();
}

/// A payment, and its id.
async fn paid(world: &World) -> String {
    let outcome = world.pay("1", "USD").await;
    committed(&outcome).unwrap();
    outcome.transfer_id
}

/// Each entry without those that came twice: they are as at first.
pub(super) fn without_repeats(all: &[(u64, String)]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (index, line) in all {
        let index = usize::try_from(*index).unwrap();
        match found.get(index) {
            Some(before) => assert_eq!(before, line),
            None => {
                assert_eq!(index, found.len(), "an entry is missing before it");
                found.push(line.clone());
            }
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn collector_gets_each_entry_in_order_and_none_is_lost() {
    let (collector, address) = Collector::start().await;
    let mut world = world(address).await;
    let first = paid(&world).await;
    committed_entry(&collector, &first).await;
    let wanted = exported(&world);
    let all = arrived(&collector);
    // Nothing went wrong: none came twice.
    let indexes: Vec<u64> = all.iter().map(|(index, _)| *index).collect();
    let in_order: Vec<u64> = (0..).take(indexes.len()).collect();
    assert_eq!(indexes, in_order);
    let lines: Vec<String> = all.into_iter().map(|(_, line)| line).collect();
    let count = lines.len().min(wanted.len());
    assert_eq!(lines[..count], wanted[..count]);
    let record = collector
        .log_records()
        .into_iter()
        .find(|record| {
            attributes(record)["rialto.audit.action"]["stringValue"] == "transfer.committed"
        })
        .unwrap();
    let event: Value =
        serde_json::from_str(record["body"]["stringValue"].as_str().unwrap()).unwrap();
    let text = |name: &str| attributes(&record)[name]["stringValue"].clone();
    assert_eq!(text("rialto.audit.writer"), "transfers");
    assert_eq!(text("rialto.audit.outcome"), "done");
    assert_eq!(text("rialto.audit.about"), format!("transfer:{first}"));
    assert_eq!(text("rialto.audit.format"), "ocsf");
    assert_eq!(record["severityText"], "INFO");
    let nanoseconds = format!("{}000000", event["time"]);
    assert_eq!(record["timeUnixNano"], nanoseconds);
    let parent = event["metadata"]["correlation_uid"].as_str().unwrap();
    assert_eq!(record["traceId"], parent.split('-').nth(1).unwrap());

    // While the collector is away payments go on, and entries wait.
    let before = arrived(&collector).len();
    collector.goes_away(true);
    for _ in 0..3 {
        paid(&world).await;
    }
    until("entries wait", SOON, async || {
        let metrics = Metrics::of(&world.host).await.unwrap();
        let waiting = metrics.get("rialto_audit_export_waiting").unwrap();
        let failures = metrics.get("rialto_audit_export_failures_total").unwrap();
        let is_so = waiting >= 3 && failures >= 1;
        Ok(is_so
            .then_some(())
            .ok_or(format!("{waiting} wait, {failures} failures")))
    })
    .await
    .unwrap();
    let log = world.host.log();
    assert!(
        log.contains("entries of the audit log are not sent, and wait in the store"),
        "{log}"
    );
    // What waits survives a crash too.
    world.host.kill().unwrap();
    world.host.restart().unwrap();
    let away = paid(&world).await;
    assert_eq!(arrived(&collector).len(), before, "it is away");
    collector.goes_away(false);
    committed_entry(&collector, &away).await;
    let found = without_repeats(&arrived(&collector));
    let wanted = exported(&world);
    let count = found.len().min(wanted.len());
    assert!(count > before + 8, "{found:?}");
    assert_eq!(found[..count], wanted[..count]);

    // A host that was stopped goes on behind the last entry that arrived.
    world.host.stop().unwrap();
    let before = arrived(&collector);
    world.host.restart().unwrap();
    let last = paid(&world).await;
    committed_entry(&collector, &last).await;
    let after = arrived(&collector);
    let next = before.last().unwrap().0 + 1;
    assert_eq!(after[before.len()].0, next);
    let found = without_repeats(&after);
    let stored = stored(&world.scheme.state()).await;
    for (line, (_, _, body)) in found.iter().zip(&stored) {
        let event: Value = serde_json::from_str(line).unwrap();
        assert_eq!(event["raw_data"], **body);
    }
    world.no_complaints().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_entry_that_the_collector_refuses_keeps_no_others_waiting() {
    let (collector, address) = Collector::start().await;
    let world = world(address).await;
    let first = paid(&world).await;
    committed_entry(&collector, &first).await;
    let refused = arrived(&collector).last().unwrap().0 + 2;
    collector.refuses(&format!(
        r#"{{"key":"rialto.audit.index","value":{{"intValue":"{refused}"}}}}"#
    ));
    for _ in 0..2 {
        paid(&world).await;
    }
    let last = paid(&world).await;
    committed_entry(&collector, &last).await;
    let mut indexes: Vec<u64> = arrived(&collector).into_iter().map(|one| one.0).collect();
    indexes.dedup();
    let end = indexes.last().unwrap() + 1;
    let all_others: Vec<u64> = (0..end).filter(|index| *index != refused).collect();
    assert_eq!(indexes, all_others);
    let metrics = Metrics::of(&world.host).await.unwrap();
    let rejected = metrics.get("rialto_audit_export_rejected_total");
    assert_eq!(rejected.unwrap(), 1);
    let told = format!("the collector refuses the entries {refused} to {refused} of the audit log");
    let log = world.host.log();
    assert!(log.contains(&told), "{log}");
}

//! Writes entries of the audit log about receipts: each commit that makes receipts has one with their hashes. So the
//! checkpoints of the log sign receipts too.

use rialto_engine::store::AuditEntry;
use rialto_engine::{ReceiptHash, ReceiptLog, Timestamp};
use rialto_receipts::log::{self, RECEIPTS_PER_ENTRY};

/// Writes the entries.
#[derive(Clone, Copy, Debug)]
pub struct HostReceiptLog;

impl ReceiptLog for HostReceiptLog {
    fn entries(&self, at: Timestamp, receipts: &[ReceiptHash]) -> Vec<AuditEntry> {
        let hashes = |part: &[ReceiptHash]| -> Vec<_> {
            part.iter()
                .copied()
                .map(rialto_receipts::ReceiptHash)
                .collect()
        };
        let parts = receipts.chunks(RECEIPTS_PER_ENTRY).map(hashes);
        let entries = parts.map(|part| log::entry(at.0, &part));
        let bodies = entries.filter_map(|entry| match serde_json::to_string(&entry) {
            Ok(body) => Some(body.into()),
            Err(error) => {
                tracing::error!(%error, "an entry of the audit log about receipts cannot be written down");
                None
            }
        });
        bodies.map(|body| AuditEntry { at, body }).collect()
    }
}

//! Receipts of committed turns for who looks at them afterwards, entries of the audit log about them, and receipts that
//! belong to no turn.

use std::sync::Arc;

use crate::commit::Executed;
use crate::engine::Engine;
use crate::fatal::Critical;
use crate::stimulus::Failure;
use crate::store::{AuditEntry, Receipt};
use crate::time::Timestamp;

/// Looks at receipts when they are on disk.
pub trait ReceiptObserver: Send + Sync + 'static {
    /// Take the receipts of a group. The committer calls it after it has released all outputs; it must not block.
    fn committed(&self, receipts: &[Receipt]);
}

/// The hash of a receipt, by which the audit log has it.
pub type ReceiptHash = [u8; 32];

/// Makes entries of the audit log about receipts.
pub trait ReceiptLog: Send + Sync + 'static {
    /// The entries about the receipts of a group, which are on disk with it. The committer waits for them.
    fn entries(&self, at: Timestamp, receipts: &[ReceiptHash]) -> Vec<AuditEntry>;
}

impl Engine {
    /// Whether the audit log has the receipts that have a hash.
    #[must_use]
    pub fn logs_receipts(&self) -> bool {
        self.shared.environment.receipt_log.is_some()
    }

    /// The instant now, by the engine's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.shared.environment.clock.now()
    }

    /// Have the receipts of all later groups looked at. The first observer stays.
    pub fn observe_receipts(&self, observer: Arc<dyn ReceiptObserver>) {
        let _ = self.shared.observer.set(observer);
    }

    /// Keep a receipt that belongs to no turn, with its hash for the audit log. It is on disk with the next group. Returns
    /// its id.
    ///
    /// # Errors
    /// When it never will be, because the host ends.
    pub fn keep_receipt(
        &self,
        at: Timestamp,
        subject: &str,
        (body, hash): (String, Option<ReceiptHash>),
    ) -> Result<u64, Failure> {
        let _critical = Critical::begin();
        let shared = &self.shared;
        let id = shared.fresh_id();
        let executed = Executed {
            receipts: vec![Receipt {
                id,
                subject: subject.into(),
                at,
                body: body.into(),
            }],
            receipt_hashes: hash.into_iter().collect(),
            ..Executed::default()
        };
        let now_us = shared.environment.clock.monotonic_us();
        match shared.log.append(executed, None, now_us) {
            Ok(_) => Ok(id),
            Err(refused) => {
                refused.tell();
                Err(Failure::Shutdown)
            }
        }
    }
}

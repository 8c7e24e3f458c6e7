//! Receipts of committed turns for who looks at them afterwards, and receipts that belong to no turn.

use std::sync::Arc;

use crate::commit::Executed;
use crate::engine::Engine;
use crate::fatal::Critical;
use crate::stimulus::Failure;
use crate::store::Receipt;

/// Looks at receipts when they are on disk.
pub trait ReceiptObserver: Send + Sync + 'static {
    /// Take the receipts of a group. The committer calls it after it has released all outputs; it must not block.
    fn committed(&self, receipts: &[Receipt]);
}

impl Engine {
    /// Have the receipts of all later groups looked at. The first observer stays.
    pub fn observe_receipts(&self, observer: Arc<dyn ReceiptObserver>) {
        let _ = self.shared.observer.set(observer);
    }

    /// Keep a receipt that belongs to no turn. It is on disk with the next group. Returns its id.
    ///
    /// # Errors
    /// When it never will be, because the host ends.
    pub fn keep_receipt(&self, subject: &str, body: String) -> Result<u64, Failure> {
        let _critical = Critical::begin();
        let shared = &self.shared;
        let id = shared.fresh_id();
        let executed = Executed {
            receipts: vec![Receipt {
                id,
                subject: subject.into(),
                at: shared.environment.clock.now(),
                body: body.into(),
            }],
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

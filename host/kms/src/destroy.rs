//! Destroying keys. The service destroys a key after a period, at least [`WINDOW_DAYS`]. Until then the key cannot be
//! used, and an administrator of the account can keep it.

use std::time::Instant;

use crate::failure::Failure;
use crate::material::Arn;
use crate::service::{Service, written};
use crate::wire::{Described, Done, OfKey, Operation, ScheduleKeyDeletion};

/// The shortest period that the service has.
const WINDOW_DAYS: u8 = 7;

/// Schedule the deletion of a key. A key that is gone, or whose deletion is scheduled, is no error.
pub(crate) async fn schedule(
    service: &Service,
    arn: &Arn,
    deadline: Instant,
) -> Result<(), Failure> {
    let body = written(&ScheduleKeyDeletion {
        key_id: arn.text(),
        pending_window_in_days: WINDOW_DAYS,
    })?;
    let operation = Operation::ScheduleKeyDeletion;
    let scheduled: Result<Done, _> = service.call(operation, body, deadline).await;
    match scheduled {
        Ok(Done {}) => Ok(()),
        Err(Failure::Answer(rialto_keys::KeyError::NoKey(_))) => Ok(()),
        Err(Failure::WrongState) if is_pending(service, arn, deadline).await? => Ok(()),
        Err(failure) => Err(failure),
    }
}

/// Whether the key waits for its deletion.
async fn is_pending(service: &Service, arn: &Arn, deadline: Instant) -> Result<bool, Failure> {
    let body = written(&OfKey { key_id: arn.text() })?;
    let told: Described = service.call(Operation::DescribeKey, body, deadline).await?;
    Ok(matches!(
        told.key_metadata.key_state.as_str(),
        "PendingDeletion" | "PendingReplicaDeletion"
    ))
}
